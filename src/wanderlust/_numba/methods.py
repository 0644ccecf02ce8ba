"""Methods of NamedTuple classes in compiled code.

numba can read the fields of a NamedTuple but not call its methods. `with_methods` adds that, class by class: two
classes may have methods of the same name with different parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from wanderlust._numba.jit import JIT_ENABLED, internal_njit

C = TypeVar("C", bound=type)

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
    from numba.core import types
    from numba.extending import lower_builtin

    dispatcher = internal_njit(function, None)
    _dispatchers[cls, name] = dispatcher

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        callee = types.Dispatcher(dispatcher)
        resolved = callee.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(callee, resolved)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, arguments)

    lower_builtin((cls, name), types.BaseNamedTuple, types.VarArg(types.Any))(lower)


def _install() -> None:
    """Teach numba's type inference to find registered methods."""
    from numba.core import types
    from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
    from numba.extending import infer_getattr

    class Methods(AttributeTemplate):
        key = types.BaseNamedTuple

        def generic_resolve(self, receiver: Any, name: str) -> Any:
            if (receiver.instance_class, name) not in _dispatchers:
                return None
            dispatcher = _dispatchers[receiver.instance_class, name]

            class Method(AbstractTemplate):
                key = (receiver.instance_class, name)

                def generic(self, args: Any, kws: Any) -> Any:
                    callee = types.Dispatcher(dispatcher)
                    found = callee.get_call_type(self.context, (receiver, *args), kws)
                    signature = inspect.signature(dispatcher.py_func)
                    return found.replace(pysig=signature).as_method()

            return types.BoundFunction(Method, receiver)

    infer_getattr(Methods)


if JIT_ENABLED:
    _install()
