"""The decorators that compile functions with numba, and methods of NamedTuple classes in compiled code.

With `NUMBA_DISABLE_JIT=1` nothing is compiled, numba is not imported, and every run gives the same results, slowly.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wanderlust._numba.cache import JIT_ENABLED, SealedCache, methods_of, source_hash
from wanderlust.core.errors import InvalidSetting, check_integer, check_number, shown

if JIT_ENABLED:
    from wanderlust._numba.pointers import StructPointer, address_of, call_float, call_int, call_none
else:

    def address_of(dispatcher: Any, *args: Any) -> Any:
        """Return the function itself."""
        return dispatcher

    def _call(function: Any, data: Any, *args: Any) -> Any:
        return function(data, *args)

    call_int = call_float = call_none = _call

__all__ = [
    "INTERNAL", "JIT_ENABLED", "address_of", "always_by_pointer", "as_int64", "by_pointer", "call_float", "call_int",
    "call_none", "check_array", "compiled", "entry", "formula", "inlined", "njit", "public_formula", "with_methods",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
C = TypeVar("C", bound=type)

OLDEST_NUMBA, NEWEST_NUMBA = (0, 60), (0, 68)
"""The releases that the tests run with."""
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# The wrappers with which Python calls a function take longer to compile than most functions.
INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: F) -> F:
    """Compile a function that only compiled functions call."""
    return njit(function, source_hash(), **INTERNAL) if JIT_ENABLED else function


def inlined(function: F) -> F:
    """Insert a function into each of its compiled callers; Python cannot call it."""
    return njit(function, source_hash(), inline="always", **INTERNAL) if JIT_ENABLED else function


def formula(function: F) -> F:
    """Insert a function of a few numbers into each of its compiled callers; Python can call it, too."""
    return njit(function, source_hash(), inline="always") if JIT_ENABLED else function


def public_formula(function: F) -> F:
    """Do the same for a public function: a call from Python checks the arguments by their annotations.

    Compiled code does not: it would read and write outside of an array that is too short.
    """
    made: Any = formula(function)
    signature = inspect.signature(function)

    def checked(*args: Any, **kwargs: Any) -> list[Any]:
        given = signature.bind(*args, **kwargs).arguments
        return [_CHECKS[str(signature.parameters[name].annotation)](name, value) for name, value in given.items()]

    if not JIT_ENABLED:
        return functools.wraps(function)(lambda *args, **kwargs: function(*checked(*args, **kwargs)))  # type: ignore[return-value]

    class Checked(type(made)):  # type: ignore[misc]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*checked(*args, **kwargs))

    made.__class__ = Checked
    return made  # type: ignore[no-any-return]


def check_array(name: str, value: Any, dtype: type, n: int) -> Any:
    """Return an array of at least `n` numbers of a type, or raise `InvalidSetting`."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 1 or len(value) < n:
        kind = np.dtype(dtype).name
        raise InvalidSetting(f"{name} must be an array of at least {n} numbers of the type {kind}, got {shown(value)}.")
    return value


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "int": functools.partial(check_integer, low=-(2**63), high=2**63 - 1),
    "float": check_number,
    "Floats": functools.partial(check_array, dtype=np.float64, n=1),
    "Streams": functools.partial(check_array, dtype=np.uint64, n=4),  # `NAMES` of wanderlust.learning.state
}
"""[annotation]: the check of an argument of a public formula."""


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

    prepare_numba()
    dispatcher: Any = numba.njit(**_OPTIONS, **options)(function)
    dispatcher._cache = SealedCache(function, dependencies)
    return dispatcher  # type: ignore[no-any-return]


@functools.cache
def prepare_numba() -> None:
    """Warn of a numba that the package was not tested with, and vectorize our functions while they are compiled.

    SLP vectorization makes the dense sweep half as long; numba has no option of a single function for it. So its
    setting is changed while one of our functions is compiled, which no other thread does then, and restored after it.
    """
    import numba
    from numba.core import config, event

    release = tuple(int(part) for part in re.findall(r"\d+", numba.__version__)[:2])
    if not OLDEST_NUMBA <= release <= NEWEST_NUMBA:
        oldest, newest = (".".join(map(str, each)) for each in (OLDEST_NUMBA, NEWEST_NUMBA))
        warnings.warn(
            f"numba {numba.__version__} is installed, but wanderlust is tested with numba {oldest} to {newest}. If "
            f"something fails: pip install 'numba=={newest}.*', or set NUMBA_DISABLE_JIT=1 to compile nothing.",
            stacklevel=2,
        )

    class Vectorized(event.Listener):
        def __init__(self) -> None:
            # numba compiles one function at a time, and within it the functions that it calls.
            self.depth, self.before = 0, config.SLP_VECTORIZE

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                if not isinstance(event.data["dispatcher"]._cache, SealedCache):
                    return
                self.before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
            self.depth += 1

        def on_end(self, event: Any) -> None:
            if self.depth == 1:
                config.SLP_VECTORIZE = self.before
            self.depth = max(self.depth - 1, 0)

    event.register("numba:compile", Vectorized())


@inlined
def as_int64(number: Any) -> int:
    """Return an integer with 64 bits.

    numba compiles a function again for every integer width, and for every literal, that it is called with.
    """
    return np.int64(number)  # type: ignore[return-value]


def by_pointer(struct: T) -> T:
    """Return a NamedTuple in the form in which compiled functions take it cheaply; see `wanderlust._numba.pointers`."""
    return StructPointer(struct) if JIT_ENABLED else struct  # type: ignore[return-value]


def always_by_pointer(cls: C) -> C:
    """Let compiled functions take a NamedTuple of numbers by pointer also where it is a field of another struct."""
    cls.is_by_pointer = True  # type: ignore[attr-defined]
    return cls


# --- Methods of NamedTuple classes ---------------------------------------------------------------------

_dispatchers: dict[tuple[type, str], Any] = {}


def with_methods(cls: C) -> C:
    """Let compiled code call the methods of a NamedTuple class, of which numba reads only the fields; return the class.

    Two classes may have methods of the same name with different parameters.
    """
    if JIT_ENABLED:
        for name, function in methods_of(cls).items():
            _register(cls, name, function)
    return cls


def _register(cls: type, name: str, function: Callable[..., Any]) -> None:
    """Register one method; its machine code is stored only as a part of the functions that call it."""
    if (cls, name) in _dispatchers:
        return
    _install()
    from numba.core import types as numba_types
    from numba.extending import lower_builtin

    dispatcher = njit(function, None, **INTERNAL)
    _dispatchers[cls, name] = dispatcher

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        callee = numba_types.Dispatcher(dispatcher)
        resolved = callee.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(callee, resolved)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, arguments)

    lower_builtin((cls, name), numba_types.BaseNamedTuple, numba_types.VarArg(numba_types.Any))(lower)


@functools.cache
def _install() -> None:
    """Teach numba's type inference to find registered methods."""
    from numba.core import types as numba_types
    from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
    from numba.extending import infer_getattr

    class Methods(AttributeTemplate):
        key = numba_types.BaseNamedTuple

        def generic_resolve(self, receiver: Any, name: str) -> Any:
            if (receiver.instance_class, name) not in _dispatchers:
                return None
            dispatcher = _dispatchers[receiver.instance_class, name]

            class Method(AbstractTemplate):
                key = (receiver.instance_class, name)

                def generic(self, args: Any, kws: Any) -> Any:
                    callee = numba_types.Dispatcher(dispatcher)
                    found = callee.get_call_type(self.context, (receiver, *args), kws)
                    signature = inspect.signature(dispatcher.py_func)
                    return found.replace(pysig=signature).as_method()

            return numba_types.BoundFunction(Method, receiver)

    infer_getattr(Methods)
