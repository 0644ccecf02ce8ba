"""The on-disk cache of compiled functions.

numba's own cache has three weaknesses that this one does not have.

* It compares only the file of the outermost function, so an edited formula in another file gives old results. Here the
  file name contains a hash of everything that the machine code depends on: the package's sources, and for a
  user-defined explorer a fingerprint of its functions and of the constants compiled into them.
* Its files are pickles in whatever folder is configured. Loading a pickle can run code, so the folder must belong to
  the user and be closed to others. Any other folder is refused, and nothing is cached.
* A damaged file gives wrong results or crashes. Here each file starts with its SHA-256 checksum; a file that does not
  match is compiled again and replaced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile

CACHE_DIR = "WANDERLUST_CACHE_DIR"
"""The environment variable that names the cache folder."""

_PACKAGE = Path(__file__).parents[1]
COMPILED_PACKAGES = ("_numba", "agents", "explorers", "learning")
_SUFFIX = ".machinecode"
_CHECKSUM_BYTES = hashlib.sha256().digest_size
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@functools.cache
def source_hash() -> str:
    """Return a hash of every source file of the package that contains compiled functions."""
    digest = hashlib.sha256()
    for package in COMPILED_PACKAGES:
        for file in sorted((_PACKAGE / package).rglob("*.py")):
            digest.update(f"{file.relative_to(_PACKAGE)}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of the cache, or None if there is no folder that is safe to use."""
    try:
        return private_folder(_chosen_folder())
    except (OSError, BadFile) as error:
        reason = error if isinstance(error, BadFile) else f"{error.strerror or error}: {error.filename}"
        _say(
            f"compiled code cannot be cached ({reason}). Every process compiles again; set {CACHE_DIR} to a folder "
            "that only you can write to."
        )
        return None


def _chosen_folder() -> Path:
    if chosen := os.environ.get(CACHE_DIR):
        return Path(chosen).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "wanderlust"
    try:
        return Path.home() / ".cache" / "wanderlust"
    except (RuntimeError, KeyError):  # No HOME and no passwd entry, as in a container with an arbitrary user id.
        raise BadFile("this user has no home folder") from None


def private_folder(folder: Path) -> Path:
    """Create the folder for this user alone, or check that an existing one is; raise `BadFile` if it is not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        raise BadFile(f"{folder} is a link or a file, not a folder")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise BadFile(f"{folder} belongs to another user")
    if os.name == "posix" and found.st_mode & _OTHERS_MAY_WRITE:
        raise BadFile(f"other users may write to {folder}; remove it, or clear it and run chmod 700 on it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadFile(f"{folder} is not writable")
    return folder


def _say(text: str) -> None:
    print(f"wanderlust: {text}", file=sys.stderr, flush=True)


_announced = threading.Event()
_announcing = threading.Lock()


def _announce_compilation() -> None:
    """Tell the user, once, why the first call takes seconds. Worker processes say nothing: their parent has."""
    import multiprocessing

    with _announcing:
        if _announced.is_set() or multiprocessing.parent_process() is not None:
            return
        _announced.set()
    when = "once per machine" if cache_folder() is not None else "in every process"
    _say(f"compiling for this machine ({when}; about ten seconds) ...")


def write_sealed(path: Path, contents: bytes) -> None:
    """Write contents with their checksum; readers see the whole file or none. An unwritable file is not an error."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with contextlib.suppress(OSError):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(contents).digest())
                file.write(contents)
            os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_sealed(path: Path) -> bytes | None:
    """Return the contents of a file whose checksum matches, None if there is no file, or raise `BadFile`."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    checksum, contents = found[:_CHECKSUM_BYTES], found[_CHECKSUM_BYTES:]
    if len(checksum) < _CHECKSUM_BYTES or hashlib.sha256(contents).digest() != checksum:
        raise BadFile(f"{path}: damaged")
    return contents


class SealedCache:
    """The cache of one function, with the interface of numba's `FunctionCache`: one sealed file per signature."""

    def __init__(self, function: Callable[..., Any], dependencies: str | None) -> None:
        self._function = function
        self._dependencies = dependencies
        """A hash of what the machine code depends on; None if that is unknown, and nothing is cached."""

    @property
    def cache_path(self) -> str | None:
        """The folder, as numba asks for it."""
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled function for a signature, or None if it must be compiled."""
        from numba.cloudpickle import loads
        from numba.core.compiler import CompileResult

        target.refresh()
        path = self._path(signature, target)
        if path is not None:
            try:
                contents = read_sealed(path)
                if contents is not None:
                    return CompileResult._rebuild(target, *loads(contents))
            except Exception as error:  # A file that numba cannot load is as good as none.
                _say(f"a cached function is damaged or foreign and is compiled again ({error})")
        _announce_compilation()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a compiled function, unless its code depends on this process."""
        from numba.core.serialize import dumps

        path = self._path(signature, compiled.target_context)
        if path is not None and not compiled.lifted and not compiled.library.has_dynamic_globals:
            write_sealed(path, dumps(compiled._reduce()))

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""

    def flush(self) -> None:
        """Do nothing: a changed function gets another file name."""

    def _path(self, signature: Any, target: Any) -> Path | None:
        folder = cache_folder()
        if folder is None or self._dependencies is None:
            return None
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        key = (name, str(signature), target.codegen().magic_tuple(), _versions(), self._dependencies)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:40]
        return folder / f"{self._function.__name__}-{digest}{_SUFFIX}"


@functools.cache
def _versions() -> tuple[str, ...]:
    import llvmlite
    import numba
    import numpy

    return sys.version, numba.__version__, llvmlite.__version__, numpy.__version__
