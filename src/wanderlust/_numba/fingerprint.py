"""A fingerprint of everything that the machine code of a user-defined explorer depends on.

Compiled code contains the values that global names had when it was compiled. So the fingerprint covers the bytecode of
a function, the values of the constants that it uses, and the functions that it calls, wherever they are defined. A
function that uses anything else has no fingerprint, and is compiled in every process.
"""

from __future__ import annotations

import builtins
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wanderlust._numba.methods import methods_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_TRUSTED_MODULES = ("builtins", "math", "numba", "numpy", "typing", "wanderlust")
"""Modules whose functions are identified by name: their versions are part of every cache key."""


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
