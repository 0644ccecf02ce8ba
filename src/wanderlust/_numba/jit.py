"""The only file that knows numba: how functions and methods become machine code, and where it is kept.

Two traps are closed here.

* numba keeps compiled code on disk and stamps it with the file of the *outermost* function only, so that editing
  a formula in another file silently gives the old result. The cache folder is therefore named by a hash of the
  sources: ours for everything in the package, ours and the user's for an explorer class of the user's own.
* Compiled code cannot call a method of a Python object. It can, of a `NamedTuple`, once the method's name is
  registered: `with_methods` does so. Explorers are NamedTuples of numbers with ordinary methods, which plain Python
  runs just the same.

With `NUMBA_DISABLE_JIT=1` nothing is compiled, numba is not even imported, and every run gives the same actions.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import getpass
import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
T = TypeVar("T")

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

_PACKAGE = Path(__file__).parents[1]
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# The wrappers by which Python would call a function take longer to compile than most functions.
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_registered_methods: set[str] = set()


def _hash_files(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(str(file).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def source_hash() -> str:
    """Return the hash of every source file that compiled code may come from: not the reports' or the command line's."""
    never_compiled = {"bench", "checks.py", "cli", "envs", "experiments", "training", "worlds"}
    files = [f for f in _PACKAGE.rglob("*.py") if f.relative_to(_PACKAGE).parts[0] not in never_compiled]
    return _hash_files(files)


@functools.cache
def _cache_root() -> Path:
    chosen = os.environ.get("WANDERLUST_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    shared_machine_fallback = Path(tempfile.gettempdir()) / f"wanderlust-cache-{getpass.getuser()}"
    for root in (Path(chosen) if chosen else home / "wanderlust", shared_machine_fallback):
        with contextlib.suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
            if os.access(root, os.W_OK):
                return root
    return Path(tempfile.mkdtemp(prefix="wanderlust-cache-"))


def cache_folder(rule: type | None = None) -> Path | None:
    """Return where machine code is kept for an explorer class (None: for the package's own functions).

    The answer is None for a class that has no source file, such as one typed at the prompt: its code is
    compiled in every process anew.
    """
    if rule is None or rule.__module__.partition(".")[0] == "wanderlust":
        return _cache_root() / source_hash()
    sources = _sources_of(rule)
    return None if sources is None else _cache_root() / f"{source_hash()}-{_hash_files(sources)}"


def _sources_of(rule: type) -> list[Path] | None:
    """Return the files that a user's explorer may draw on: every loaded module of its package or folder."""
    module = sys.modules.get(rule.__module__)
    own = getattr(module, "__file__", None)
    if own is None or rule.__module__ == "__main__":
        return None
    root = Path(own).resolve().parent
    for _ in range(rule.__module__.count(".")):
        root = root.parent
    loaded = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
    files = {Path(f).resolve() for f in loaded if f and f.endswith(".py")}
    return [f for f in files if f.is_relative_to(root) and _PACKAGE not in f.parents and f.exists()]


@contextlib.contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Let functions decorated inside keep their machine code in `folder`."""
    from numba import config

    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


@functools.cache
def _tune_compilation() -> None:
    """Set what numba has as settings of the whole process, while it compiles a kernel of ours and only then.

    A kernel is compiled with vectors of neighbouring values, which makes the dense sweep fast and is off by default.
    What a function calls becomes part of it and is optimised again with it, level after level. So functions between the
    kernel and those that call nothing are optimised lightly. Trap: done to the latter too, it slows the dense sweep.

    Python's garbage collection rests meanwhile: numba makes millions of objects that live until it is done, and looking
    through them again and again takes a twentieth of the time.
    """
    from numba.core import config, event

    class Tuning(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            # numba compiles one function at a time, and within it those that it calls.
            self.depth, self.usual = 0, (config.OPT, config.SLP_VECTORIZE)
            self.collects = gc.isenabled()

        def on_start(self, given: Any) -> None:
            if self.depth == 0:
                if given.data["dispatcher"].py_func.__module__.partition(".")[0] != "wanderlust":
                    return
                self.usual = config.OPT, config.SLP_VECTORIZE
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1
            config.OPT, config.SLP_VECTORIZE = self.usual[0], 1

        def on_end(self, given: Any) -> None:
            if self.depth == 0:
                return
            self.depth -= 1
            if self.depth == 0:
                config.OPT, config.SLP_VECTORIZE = self.usual
                if self.collects:
                    gc.enable()
            else:
                config.OPT = self.usual[0] if self.depth == 1 else 1

    event.register("numba:compile", Tuning())


def _njit(function: F, folder: Path | None, **options: Any) -> F:
    from numba import njit

    _tune_compilation()
    if folder is None:
        compiled_function: F = njit(**_OPTIONS, **options)(function)
        return compiled_function
    with _numba_cache_in(folder):
        cached_function: F = njit(cache=True, **_OPTIONS, **options)(function)
        return cached_function


def compiled(function: F) -> F:
    """Compile a function that other compiled functions call (Python itself cannot)."""
    return _njit(function, cache_folder(), **_INTERNAL) if COMPILED else function


def compiled_for_rule(function: F) -> F:
    """Do the same for a function that is given an explorer. Its code is kept only as part of the kernels that call it.

    Trap: numba's index of cached code names the classes of all arguments. In the package's own folder, a user's class
    would keep everyone who cannot import it from loading anything at all, and its code would go stale when edited.
    """
    return _njit(function, None, **_INTERNAL) if COMPILED else function


def formula(function: F) -> F:
    """Make a function of a few numbers part of each of its compiled callers; Python can call it too."""
    return _njit(function, cache_folder(), inline="always") if COMPILED else function


def inlined(function: F) -> F:
    """Make a function part of each of its compiled callers (Python itself cannot call it)."""
    return _njit(function, cache_folder(), inline="always", **_INTERNAL) if COMPILED else function


@inlined
def as_int64(number: Any) -> int:
    """Return a whole number in 64 bits, to be given to a compiled function.

    numba compiles a function once more for every width that it is called with, and for every number written out.
    """
    return np.int64(number)  # type: ignore[return-value]


def kernel(function: F) -> Callable[[type | None], F]:
    """Make a function that Python calls and that is compiled for each explorer class on its own.

    `kernel(f)(cls)` is the version of `f` for explorer class `cls`; its machine code lies in that class's folder,
    so that code for a class which was edited since is never used.
    """

    @functools.cache
    def version_for(rule: type | None) -> F:
        if COMPILED:
            return _njit(function, cache_folder(rule), no_cfunc_wrapper=True)

        @functools.wraps(function)
        def plain(*args: Any) -> Any:
            # The random streams count modulo 2**64: overflow is what they live on.
            with np.errstate(over="ignore"):
                return function(*args)

        return plain  # type: ignore[return-value]

    return version_for


def entry(function: F) -> F:
    """Make a function that Python calls and that has nothing to do with an explorer."""
    return kernel(function)(None)


def with_methods(cls: C) -> C:
    """Let compiled code call the public methods of a NamedTuple class; return the class."""
    if COMPILED:
        for name, function in vars(cls).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                _register_method(name, function)
    return cls


def _register_method(name: str, function: Callable[..., Any]) -> None:
    if name in _registered_methods:
        return
    from numba import types
    from numba.extending import overload_method

    def method_of(self: Any, *_: Any) -> Callable[..., Any] | None:
        return getattr(self.instance_class, name, None)

    # numba matches calls against the overload's own signature.
    method_of.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    overload_method(types.BaseNamedTuple, name, strict=False, jit_options=_OPTIONS)(method_of)
    _registered_methods.add(name)


def announce(rule: type, driver: str) -> bool:
    """Say on standard error that an explorer must be compiled first, if so; return whether that is the case.

    Call `compiled_now` once it has been compiled.
    """
    if not COMPILED or _is_ready(rule, driver):
        return False
    if (rule, driver) in _announced:
        return True
    _announced.add((rule, driver))
    print(
        f"wanderlust: compiling {rule.__name__} for this machine (once; some seconds) ...",
        file=sys.stderr,
        flush=True,
    )
    return True


def compiled_now(rule: type, driver: str) -> None:
    """Remember, in this process and on this machine, that an explorer is compiled."""
    _ready.add((rule, driver))
    mark = _ready_mark(rule, driver)
    if mark:
        with contextlib.suppress(OSError):
            mark.touch()


def _is_ready(rule: type, driver: str) -> bool:
    mark = _ready_mark(rule, driver)
    return (rule, driver) in _ready or (mark is not None and mark.exists())


def _ready_mark(rule: type, driver: str) -> Path | None:
    folder = cache_folder(rule)
    return folder and folder / f"{rule.__module__}.{rule.__qualname__}.{driver}.ready"


_announced: set[tuple[type, str]] = set()
_ready: set[tuple[type, str]] = set()


def by_reference(struct: T) -> T:
    """Return a NamedTuple of arrays in the form in which kernels take it cheaply; see `wanderlust._numba.structs`."""
    if not COMPILED:
        return struct
    from wanderlust._numba.structs import Reference

    return Reference(struct)  # type: ignore[return-value]
