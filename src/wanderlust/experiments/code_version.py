"""Hashes of user-defined code, so that stored runs are not used after the code has changed.

No module is imported: files are found by their names, and the imports in them by their syntax. Imports that are
computed while a program runs are not found.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

from wanderlust.core.errors import BadFile

_PACKAGE = "wanderlust"
"""Our own code has versions instead: `ALGORITHM_VERSION` and `ADAPTIVE_VERSION`."""
_CODE_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")


def source_hash(module: str) -> str:
    """Return a hash of the files of a module; "" if it is not found, or part of wanderlust."""
    files = source_files(module)
    if not files:
        return ""
    digest = hashlib.sha256()
    for name in sorted(files):
        file = files[name]
        try:
            stat = file.stat()
            digest.update(f"{name} {_contents_hash(file, stat.st_mtime_ns, stat.st_size)}\n".encode(errors="replace"))
        except OSError as error:
            raise BadFile(f"{file}: code of {module!r} cannot be read ({error.strerror or error}).") from error
    return digest.hexdigest()


def source_files(module: str) -> dict[str, Path]:
    """Return the files that a module may load from its own folder, by their name relative to it.

    These are all files of its top-level package, or the single file of the module, and the modules beside it that they
    import, transitively. Beside installed packages are only other packages, which are not included.
    """
    top = module.partition(".")[0]
    if top == _PACKAGE:
        return {}
    places = _locate(top)
    folders = {place.parent for place in places if not _is_library(place.parent)}
    files: dict[str, Path] = {}
    seen, pending = {top, _PACKAGE}, list(places)
    while pending:
        place = pending.pop()
        found = {file.relative_to(place.parent).as_posix(): file for file in _code_files(place)}
        files |= found
        imported = {name for file in found.values() for name in _imports(file)} if folders else set()
        pending += [path for name in imported - seen for folder in folders for path in _candidates(folder, name)]
        seen |= imported
    return files


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


def _is_library(folder: Path) -> bool:
    return folder.name in _LIBRARY_FOLDERS or folder == Path(sysconfig.get_path("stdlib"))


def _candidates(folder: Path, name: str) -> list[Path]:
    paths = (folder / name, *(folder / f"{name}{suffix}" for suffix in _CODE_SUFFIXES))
    return [path for path in paths if path.exists()]


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


def _imports(file: Path) -> Iterable[str]:
    """Return the top-level names that a file imports absolutely."""
    try:
        stat = file.stat()
    except OSError:
        return ()
    return _imports_of_version(file, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4096)
def _imports_of_version(file: Path, _modified: int, _size: int) -> frozenset[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()  # Not Python, or it cannot be imported either.
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return frozenset(names)
