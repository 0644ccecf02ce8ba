"""Calls of compiled functions by address.

The training loop is compiled once for all explorers. It calls the methods of an explorer, and the update of the tables,
by address. So another explorer means compiling a few short functions, not the loop.

`call_int(address, data, *args)` calls a function whose first argument is a pointer to a struct, given as such or as a
number. An exception that the function raises reaches the caller. Without numba, addresses are Python functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wanderlust._numba.jit import JIT_ENABLED

if JIT_ENABLED:
    from llvmlite import ir
    from numba import typeof
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    _POINTER = ir.IntType(8).as_pointer()

    def _caller(result: Any) -> Any:
        @intrinsic
        def call(typing_context: Any, address: Any, data: Any, *args: Any) -> Any:
            """Call the function at an address."""
            signature = result(address, data, types.StarArgTuple(args))

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                address, data, others = arguments
                kinds = [signature.args[1], *signature.args[2].types]
                if isinstance(kinds[0], types.Integer):
                    kinds[0], data = types.voidptr, builder.inttoptr(data, _POINTER)
                values = [data, *cgutils.unpack_tuple(builder, others, len(kinds) - 1)]
                function_type = context.call_conv.get_function_type(result, kinds)
                function = builder.inttoptr(address, function_type.as_pointer())
                status, returned = context.call_conv.call_function(builder, function, result, kinds, values)
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
                return returned

            return signature, generate

        return call

    call_int, call_float, call_none = _caller(types.int64), _caller(types.float64), _caller(types.none)

    _addresses: dict[tuple[Any, ...], int] = {}

    def address_of(dispatcher: Any, *args: Any) -> Any:
        """Compile a function for arguments like these, or load it from the cache, and return its address."""
        # numba takes a tenth of a millisecond for each of the calls below, and to compare types by their contents.
        key = (dispatcher, *(id(getattr(argument, "_numba_type_", type(argument))) for argument in args))
        if key not in _addresses:
            kinds = tuple(typeof(argument) for argument in args)
            dispatcher.compile(kinds)
            result = dispatcher.overloads[kinds]
            _addresses[key] = int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
        return _addresses[key]

else:

    def _call(function: Callable[..., Any], data: Any, *args: Any) -> Any:
        return function(data, *args)

    call_int = call_float = call_none = _call

    def address_of(dispatcher: Any, *args: Any) -> Any:
        """Return the function itself."""
        return dispatcher
