"""Methods of NamedTuple classes in compiled code.

numba can read the fields of a NamedTuple but not call its methods. `with_methods` adds that, class by class: two
classes may have methods of the same name with different parameters.

`class_fingerprint` identifies everything that the machine code of these methods depends on. Compiled code contains the
values that global names had when it was compiled. So the fingerprint covers the bytecode of a function, the values of
the constants that it uses, and the functions that it calls, wherever they are defined. A function that uses anything
else has no fingerprint, and is compiled in every process.
"""

from __future__ import annotations

import builtins
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from wanderlust._numba.jit import JIT_ENABLED, internal_njit

C = TypeVar("C", bound=type)

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_TRUSTED_MODULES = ("builtins", "math", "numba", "numpy", "typing", "wanderlust")
"""Modules whose functions are identified by name: their versions are part of every cache key."""

_dispatchers: dict[tuple[type, str], Any] = {}


def with_methods(cls: C) -> C:
    """Let compiled code call the methods of a NamedTuple class; return the class."""
    if JIT_ENABLED:
        for name, function in methods_of(cls).items():
            _register(cls, name, function)
    return cls


def methods_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the methods that compiled code may call: not those that every NamedTuple has."""
    return {
        name: function
        for name, function in sorted(vars(cls).items())
        if inspect.isfunction(function) and not name.startswith("__") and name not in ("_replace", "_asdict")
    }


def _register(cls: type, name: str, function: Callable[..., Any]) -> None:
    """Register one method; its machine code is stored only as a part of the functions that call it."""
    if (cls, name) in _dispatchers:
        return
    from numba.core import types as numba_types
    from numba.extending import lower_builtin

    dispatcher = internal_njit(function, None)
    _dispatchers[cls, name] = dispatcher

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        callee = numba_types.Dispatcher(dispatcher)
        resolved = callee.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(callee, resolved)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, arguments)

    lower_builtin((cls, name), numba_types.BaseNamedTuple, numba_types.VarArg(numba_types.Any))(lower)


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


if JIT_ENABLED:
    _install()


# --- Fingerprints --------------------------------------------------------------------------------------


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
