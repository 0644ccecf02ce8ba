"""The decorators that compile functions with numba.

With `NUMBA_DISABLE_JIT=1` nothing is compiled, numba is not imported, and every run gives the same results, slowly.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wanderlust._numba.cache import SealedCache, source_hash

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
C = TypeVar("C", bound=type)

JIT_ENABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# The wrappers with which Python calls a function take longer to compile than most functions.
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def numba_version() -> str:
    """Return the version of numba, or 'off'."""
    if not JIT_ENABLED:
        return "off"
    import numba

    return str(numba.__version__)


def compiled(function: F) -> F:
    """Compile a function that only compiled functions call."""
    return njit(function, source_hash(), **_INTERNAL) if JIT_ENABLED else function


def inlined(function: F) -> F:
    """Insert a function into each of its compiled callers; Python cannot call it."""
    return njit(function, source_hash(), inline="always", **_INTERNAL) if JIT_ENABLED else function


def formula(function: F) -> F:
    """Insert a function of a few numbers into each of its compiled callers; Python can call it, too."""
    return njit(function, source_hash(), inline="always") if JIT_ENABLED else function


def entry(function: F) -> F:
    """Compile a function that Python calls."""
    if JIT_ENABLED:
        return njit(function, source_hash(), no_cfunc_wrapper=True)

    @functools.wraps(function)
    def plain(*args: Any) -> Any:
        # The random streams count modulo 2**64 by letting integers overflow.
        with np.errstate(over="ignore"):
            return function(*args)

    return plain  # type: ignore[return-value]


def njit(function: F, dependencies: str | None, **options: Any) -> F:
    """Compile with numba; the machine code is cached unless `dependencies`, which identifies it, is None."""
    import numba

    _tune_compilation()
    dispatcher: Any = numba.njit(**_OPTIONS, **options)(function)
    dispatcher._cache = SealedCache(function, dependencies)
    return dispatcher  # type: ignore[no-any-return]


def internal_njit(function: F, dependencies: str | None) -> F:
    """Do the same for a function that only compiled code calls."""
    return njit(function, dependencies, **_INTERNAL)


@functools.cache
def _tune_compilation() -> None:
    """Set numba's process-wide options while one of our functions is compiled, and restore them afterwards.

    * SLP vectorisation makes the dense sweep fast. numba turns it off by default.
    * A called function becomes part of its caller and is optimised again with it, level by level. So functions between
      the outermost one and those that call nothing are optimised lightly. Optimising the latter lightly, too, would
      slow down the dense sweep.
    * Garbage collection is paused: numba creates millions of objects that all live until compilation ends.
    """
    from numba.core import config, event

    class Tuning(event.Listener):
        def __init__(self) -> None:
            # numba compiles one function at a time, and within it the functions that it calls.
            self.depth, self.before = 0, (config.OPT, config.SLP_VECTORIZE)
            self.gc_was_enabled = gc.isenabled()

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                if not isinstance(event.data["dispatcher"]._cache, SealedCache):
                    return
                self.before = config.OPT, config.SLP_VECTORIZE
                self.gc_was_enabled = gc.isenabled()
                gc.disable()
            self.depth += 1
            config.OPT, config.SLP_VECTORIZE = self.before[0], 1

        def on_end(self, event: Any) -> None:
            if self.depth == 0:
                return
            self.depth -= 1
            if self.depth == 0:
                config.OPT, config.SLP_VECTORIZE = self.before
                if self.gc_was_enabled:
                    gc.enable()
            else:
                config.OPT = self.before[0] if self.depth == 1 else 1

    event.register("numba:compile", Tuning())


@inlined
def as_int64(number: Any) -> int:
    """Return an integer with 64 bits.

    numba compiles a function again for every integer width, and for every literal, that it is called with.
    """
    return np.int64(number)  # type: ignore[return-value]


def always_by_pointer(cls: C) -> C:
    """Let compiled functions take a NamedTuple of numbers by pointer also where it is a field of another struct."""
    cls.is_by_pointer = True  # type: ignore[attr-defined]
    return cls


def by_pointer(struct: T) -> T:
    """Return a NamedTuple in the form in which compiled functions take it cheaply; see `wanderlust._numba.structs`."""
    if not JIT_ENABLED:
        return struct
    from wanderlust._numba.structs import StructPointer

    return StructPointer(struct)  # type: ignore[return-value]
