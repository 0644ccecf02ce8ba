"""Hashes of code, so that stored runs are not used after the code has changed.

No module is imported: files are found by their names, and the imports in them by their syntax. What a program reads or
imports otherwise is not found, but any module can declare it: `depends_on = ["maze.csv"]`, relative to its own folder.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

from wanderlust._numba.cache import COMPILED_PACKAGES
from wanderlust._numba.cache import source_hash as package_hash
from wanderlust.core.errors import BadFile

DEPENDS_ON = "depends_on"
NUMERICAL_SOURCES = (
    *COMPILED_PACKAGES, "core/hardness.py", "core/mdp.py", "core/planning.py", "environments", "experiments/run.py",
    "experiments/environment_run.py", "experiments/table.py", "experiments/world_run.py", "training", "worlds",
)  # fmt: skip
"""The files and folders of the library that determine the numbers of a result."""
_PACKAGE = "wanderlust"
_CODE_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")
_STDLIB = Path(os.__file__).parent
_SECONDS_FOR_GIT = 5.0
_INSTALLED: set[str] = set()
"""Installed modules that were found before: to search all folders of `sys.path` takes longest."""


@functools.cache
def library_hash() -> str:
    """Return a hash of the library's numerical sources; "" for an installed release, which has `ALGORITHM_VERSION`.

    A source tree, an editable installation and installed files that were edited are not a release.
    """
    folder = Path(__file__).parents[2]
    recorded = importlib.metadata.files(_PACKAGE) or () if _is_library(folder / _PACKAGE) else ()
    files = {folder / file: file.hash.value for file in recorded if file.suffix == ".py" and file.hash is not None}
    is_release = files and all(_recorded_hash(file) == value for file, value in files.items())
    return "" if is_release else package_hash(NUMERICAL_SOURCES)


def _recorded_hash(file: Path) -> str:
    """Return the hash of a file as an installer records it."""
    with contextlib.suppress(OSError):
        return base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).decode().rstrip("=")
    return ""


def source_hash(module: str) -> str:
    """Return a hash of the files of a module and of what they import; "" if it is not found, or part of wanderlust."""
    files, installed = _sources(module)
    if not files:
        return _session_hash(module) if module.partition(".")[0] != _PACKAGE else ""
    digest = hashlib.sha256("".join(f"{name} {_version(name)}\n" for name in sorted(installed)).encode())
    for name, file in sorted(files):
        try:
            stat = file.stat()
            digest.update(f"{name} {_contents_hash(file, stat.st_mtime_ns, stat.st_size)}\n".encode(errors="replace"))
        except OSError as error:
            raise BadFile(f"{file}: code of {module!r} cannot be read ({error.strerror or error}).") from error
    return digest.hexdigest()


def _session_hash(module: str) -> str:
    """Return a hash of the functions and classes of a module without a file, as in a notebook; "" if it is not loaded.

    It changes when any of them is defined again, and is never that of another process.
    """
    values = list(vars(sys.modules[module]).values()) if module in sys.modules else []
    defined = [each for each in values if isinstance(each, type | FunctionType) and each.__module__ == module]
    return hashlib.sha256("".join(sorted(map(_token, defined))).encode()).hexdigest() if defined else ""


@functools.cache
def _token(_defined: type | FunctionType) -> str:
    return uuid.uuid4().hex


def source_files(module: str) -> dict[str, Path]:
    """Return the files that determine what a module does, by their name relative to a folder of `sys.path`.

    These are all files of its top-level package, or the single file of the module; those of the modules that they
    import, transitively, unless they are installed; and those named by `depends_on` in any of them.
    """
    return dict(_sources(module)[0])


@functools.cache
def git_commit(modules: tuple[str, ...]) -> str:
    """Return the commit of the repository of modules, with "-dirty" if a file of theirs differs; "" if there is none.

    Git runs only in a folder whose code the runs execute anyway: the configuration of a repository can name programs.
    """
    files = [file.resolve() for module in modules if not is_installed(module) for file in source_files(module).values()]
    if not files:
        return ""
    folder, _, commit = _git(files[0].parent, "rev-parse", "--show-toplevel", "HEAD").partition("\n")
    inside = [str(file) for file in files if commit and file.is_relative_to(Path(folder).resolve())]
    is_dirty = inside and _git(files[0].parent, "status", "--porcelain", "--ignored", "--", *inside)
    return f"{commit[:12]}-dirty" if is_dirty else commit[:12]


def _git(folder: Path, *words: str) -> str:
    """Return the output of a command of Git; "" if it fails or takes long."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS_FOR_GIT
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def files_to_send(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules for a worker on another machine; installed packages must be installed there."""
    files = {name: file for module in modules if not is_installed(module) for name, file in _sources(module)[0]}
    return {name: file for name, file in files.items() if not name.startswith("..") and not os.path.isabs(name)}


def is_installed(module: str) -> bool:
    """Return whether a module is part of Python or of an installed distribution; an editable one is not installed."""
    return any(map(_is_library, _locate(module.partition(".")[0])))


def _sources(module: str) -> tuple[set[tuple[str, Path]], set[str]]:
    """Return the names and paths of the files of a module, and the installed modules that they import."""
    top = module.partition(".")[0]
    files: set[tuple[str, Path]] = set()
    installed: set[str] = set()
    seen, pending = {top, _PACKAGE}, [top] if top != _PACKAGE else []
    while pending:
        name = pending.pop()
        if name in _INSTALLED and name != top:
            installed.add(name)
            continue
        for place in _locate(name):
            is_library = _is_library(place)
            if is_library and name != top:
                _INSTALLED.add(name)
                installed.add(name)
                continue
            for file in _code_files(place):
                files.add((_name(file, place), file))
                # An installed module depends on other distributions only.
                about = _Facts() if is_library else _facts(file)
                files |= {(_name(file.parent / each, place), file.parent / each) for each in about.depends_on}
                pending += about.imports - seen
                seen |= about.imports
    return files, installed


def _name(file: Path, place: Path) -> str:
    # With "..", for a file of `depends_on` elsewhere: absolute paths differ between machines.
    return Path(os.path.relpath(file, place.parent)).as_posix()


@functools.cache
def _version(module: str) -> str:
    """Return the version of an installed module; "" for one of Python."""
    if module in sys.stdlib_module_names:
        return ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(module)
    return " ".join(importlib.metadata.version(name) for name in sorted(set(_distributions().get(module, ()))))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _locate(top: str) -> list[Path]:
    """Return the file or the folders of a top-level module."""
    loaded = sys.modules.get(top)
    if loaded is not None:
        file, folders = getattr(loaded, "__file__", None), getattr(loaded, "__path__", None)
    else:
        try:
            # Of a name with dots, `find_spec` would import the package.
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            return []
        if spec is None:
            return []
        file, folders = spec.origin if spec.has_location else None, spec.submodule_search_locations
    places = [Path(file)] if file and not folders else [Path(folder) for folder in folders or ()]
    # Of a module in a zip file, the zip file.
    return [next((path for path in (place, *place.parents) if path.exists()), place) for place in places]


def _is_library(place: Path) -> bool:
    """Return whether a file or folder belongs to Python or to an installed distribution."""
    return any(part in _LIBRARY_FOLDERS for part in place.parts) or place.is_relative_to(_STDLIB)


def _code_files(place: Path) -> Iterator[Path]:
    """Yield a file itself, or the files of code in a folder."""
    if not place.is_dir():
        yield place
        return
    for file in place.rglob("*"):
        if file.name.endswith(_CODE_SUFFIXES) and not file.name.startswith(".") and file.is_file():
            yield file


@functools.lru_cache(maxsize=4096)
def _contents_hash(file: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


class _Facts(NamedTuple):
    """What the syntax of a file tells."""

    imports: frozenset[str] = frozenset()
    """The top-level names that it imports absolutely."""
    depends_on: tuple[str, ...] = ()


def _facts(file: Path) -> _Facts:
    try:
        stat = file.stat()
    except OSError:
        return _Facts()
    return _facts_of_version(file, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4096)
def _facts_of_version(file: Path, _modified: int, _size: int) -> _Facts:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return _Facts()  # Not Python, or it cannot be imported either.
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return _Facts(frozenset(names), tuple(name for node in tree.body for name in _declared(file, node)))


def _declared(file: Path, node: ast.stmt) -> Iterator[str]:
    """Yield the files that a statement `depends_on = [...]` names; raise `BadFile` if it has anything else."""
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not any(isinstance(target, ast.Name) and target.id == DEPENDS_ON for target in targets):
        return
    for name in node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]:
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise BadFile(f"{file}, line {node.lineno}: depends_on must be a list of file names in quotes.")
        if not (file.parent / name.value).is_file():
            raise BadFile(f"{file}, line {node.lineno}: depends_on names {name.value!r}, which is not a file.")
        yield name.value
