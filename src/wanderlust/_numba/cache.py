"""The on-disk cache of compiled functions.

numba's own cache has three weaknesses that this one does not have.

* It compares only the file of the outermost function, so an edited formula in another file gives old results. Here the
  file name contains a hash of everything that the machine code depends on: the package's sources, and for a
  user-defined explorer a fingerprint of its functions and of the constants compiled into them.
* Its files are pickles in whatever folder is configured. Loading a pickle can run code, so the folder, its parents and
  each file must belong to the user and be closed to others; see `CacheFolder`. Otherwise nothing is cached.
* A damaged file gives wrong results or crashes. Here each file starts with its SHA-256 checksum; a file that does not
  match is compiled again and replaced.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import inspect
import os
import stat
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wanderlust.core.errors import BadFile

JIT_ENABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled."""
CACHE_DIR = "WANDERLUST_CACHE_DIR"
"""The environment variable that names the cache folder."""

_PACKAGE = Path(__file__).parents[1]
COMPILED_PACKAGES = ("_numba", "agents", "explorers", "learning")
_SUFFIX = ".machinecode"
_CHECKSUM_BYTES = hashlib.sha256().digest_size
_POSIX, _BINARY = os.name == "posix", getattr(os, "O_BINARY", 0)


def numba_version() -> str:
    """Return the version of numba, or 'off'."""
    if not JIT_ENABLED:
        return "off"
    import numba

    return str(numba.__version__)


@functools.cache
def source_hash(places: tuple[str, ...] = COMPILED_PACKAGES) -> str:
    """Return a hash of files and folders of the package; by default those with compiled functions."""
    digest = hashlib.sha256()
    for place in places:
        for file in sorted(_PACKAGE.glob(place if place.endswith(".py") else f"{place}/**/*.py")):
            digest.update(f"{file.relative_to(_PACKAGE).as_posix()}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def cache_folder() -> CacheFolder | None:
    """Return the folder of the cache; None, after a warning, if there is no folder that is safe to use."""
    try:
        return CacheFolder(_chosen_folder())
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


class CacheFolder:
    """A folder that only this user can write to; it stays open, so that it cannot be replaced by another.

    Its parents belong to the user or to root, and others cannot write to them, or cannot rename what is not theirs
    (sticky, as /tmp). On Windows neither owners nor permissions are checked, and files are opened by their paths.
    """

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        self.path = Path(os.path.realpath(folder.parent)) / folder.name
        self._handle: int | None = None
        if not stat.S_ISDIR(self.path.lstat().st_mode):
            raise BadFile(f"{folder} is a link or a file, not a folder")
        if _POSIX:
            for parent in self.path.parents:
                _check_private(parent, parent.lstat(), owners=(0, os.geteuid()), unless=stat.S_ISVTX)
            self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            self._check()
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise BadFile(f"{folder} is not writable")

    def _check(self) -> None:
        if self._handle is not None:
            _check_private(self.path, os.fstat(self._handle), owners=(os.geteuid(),))

    def _place(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)

    def write(self, name: str, contents: bytes) -> None:
        """Write contents with their checksum; readers see the whole file or none. A full disk is not an error."""
        self._check()
        partial, folder = self._place(f"{name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.partial"), self._handle
        with contextlib.suppress(OSError):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(contents).digest())
                    file.write(contents)
                os.replace(partial, self._place(name), src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(partial, dir_fd=folder)
                raise

    def read(self, name: str) -> bytes | None:
        """Return the contents of a file whose checksum matches, None if there is no file, or raise `BadFile`."""
        self._check()
        try:
            flags = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(self._place(name), flags, dir_fd=self._handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadFile(f"{self.path / name}: {error.strerror}") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadFile(f"{self.path / name} is not a regular file")
            if _POSIX:
                _check_private(self.path / name, status, owners=(os.geteuid(),))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                checksum, contents = file.read(_CHECKSUM_BYTES), file.read()
        finally:
            os.close(descriptor)
        if len(checksum) < _CHECKSUM_BYTES or hashlib.sha256(contents).digest() != checksum:
            raise BadFile(f"{self.path / name}: damaged")
        return contents


def _check_private(path: Path, status: os.stat_result, *, owners: tuple[int, ...], unless: int = 0) -> None:
    """Raise `BadFile` if another user owns a file or a folder, or may write to it, unless its mode has a bit."""
    if status.st_uid not in owners:
        raise BadFile(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & unless:
        raise BadFile(f"other users may write to {path}; remove it, or clear it and run chmod 700 on it")


@functools.cache
def _say(text: str) -> None:
    """Print a message, and the same one only once."""
    print(f"wanderlust: {text}", file=sys.stderr, flush=True)


_announced = threading.Event()
_announcing = threading.Lock()


def announce_compilation() -> None:
    """Tell the user, once, why the first call takes seconds. Worker processes say nothing: their parent has."""
    import multiprocessing

    with _announcing:
        if _announced.is_set() or multiprocessing.parent_process() is not None:
            return
        _announced.set()
    when = "once per machine" if cache_folder() is not None else "in every process"
    _say(f"compiling for this machine ({when}; about ten seconds) ...")


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
        return None if folder is None else str(folder.path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled function for a signature, or None if it must be compiled."""
        from numba.cloudpickle import loads
        from numba.core.compiler import CompileResult

        target.refresh()
        folder, name = cache_folder(), self._file_name(signature, target)
        if folder is not None and name is not None:
            try:
                contents = folder.read(name)
                if contents is not None:
                    return CompileResult._rebuild(target, *loads(contents))
            except Exception as error:  # A file that numba cannot load is as good as none.
                _say(f"a cached function is damaged or foreign and is compiled again ({error})")
        announce_compilation()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a compiled function, unless its code depends on this process."""
        from numba.core.serialize import dumps

        folder, name = cache_folder(), self._file_name(signature, compiled.target_context)
        if folder is None or name is None or compiled.lifted or compiled.library.has_dynamic_globals:
            return
        with contextlib.suppress(BadFile):  # A folder that has become unsafe: loading has said so.
            folder.write(name, dumps(compiled._reduce()))

    def flush(self) -> None:
        """Do nothing: a changed function gets another file name."""

    def _file_name(self, signature: Any, target: Any) -> str | None:
        if self._dependencies is None:
            return None
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        key = (name, str(signature), target.codegen().magic_tuple(), _versions(), self._dependencies)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:40]
        return f"{self._function.__name__}-{digest}{_SUFFIX}"


@functools.cache
def _versions() -> tuple[str, ...]:
    import llvmlite
    import numba
    import numpy

    return sys.version, numba.__version__, llvmlite.__version__, numpy.__version__


# --- Fingerprints --------------------------------------------------------------------------------------

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_TRUSTED_MODULES = ("builtins", "math", "numba", "numpy", "typing", "wanderlust")
"""Modules whose functions are identified by name: their versions are part of every cache key."""


def methods_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the methods that compiled code may call: not those that every NamedTuple has."""
    return {
        name: function
        for name, function in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("__") and name not in ("_replace", "_asdict")
    }


class NoFingerprint(Exception):
    """A function depends on a value that cannot be described."""


def class_fingerprint(cls: type) -> str | None:
    """Return the fingerprint of the methods that compiled code may call, or None if there is none."""
    seen: dict[int, Any] = {}
    # Compiled code names the class, so a copy of the class in another module needs code of its own.
    digest = hashlib.sha256(f"{cls.__module__}:{cls.__qualname__}\n".encode())
    try:
        for name, function in methods_of(cls).items():
            digest.update(f"{name}: {list(_parts(function, seen))}\n".encode())
    except NoFingerprint:
        return None
    return digest.hexdigest()


def _parts(value: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Describe a value: a constant by its contents, a function by its code and everything that it refers to."""
    value = getattr(value, "py_func", value)
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield type(value).__name__
        for member in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _parts(member, seen)
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    elif _is_trusted(value):
        yield f"{value.__module__}.{getattr(value, '__qualname__', value)}"
    elif isinstance(value, types.FunctionType):
        if id(value) in seen:
            yield value.__qualname__
            return
        seen[id(value)] = value
        yield from _code_parts(value.__code__)
        yield from _parts(value.__defaults__ or (), seen)
        for cell in value.__closure__ or ():
            yield from _parts(cell.cell_contents, seen)
        yield from _global_parts(value, seen)
    elif isinstance(value, type) and issubclass(value, tuple):
        yield f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', ())}"
    else:
        raise NoFingerprint(f"{value!r}")


def _is_trusted(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in _TRUSTED_MODULES


def _code_parts(code: types.CodeType) -> Iterator[str]:
    yield f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _global_parts(function: types.FunctionType, seen: dict[int, Any]) -> Iterator[str]:
    """Describe what a function's global names refer to now, and the attributes of modules among them."""
    names = function.__code__.co_names
    for name in names:
        if name not in function.__globals__:
            if not hasattr(builtins, name):
                yield f"attribute {name}"
            continue
        value = function.__globals__[name]
        yield f"global {name}"
        if not isinstance(value, types.ModuleType):
            yield from _parts(value, seen)
        elif value.__name__.partition(".")[0] not in _TRUSTED_MODULES:
            for attribute in names:
                if hasattr(value, attribute):
                    yield f"{value.__name__}.{attribute}"
                    yield from _parts(getattr(value, attribute), seen)
