"""Structs by reference in compiled code: a NamedTuple of numbers, arrays and NamedTuples as one pointer.

numba passes a tuple of arrays by value, seven machine words for each array, counts references to each of them
whenever the tuple changes hands, and takes the tuple apart at every call from Python: tens of microseconds for two
dozen arrays. `Reference(struct)` does this once and keeps the result; a kernel called with it gets one pointer.
Compiled code reads fields as ever (`mind.values`), and counts nothing: whoever holds the reference holds the arrays.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numba import typeof
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from wanderlust.compiled import kernel


class ReferenceType(types.Type):
    """The type of a pointer to a struct."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        super().__init__(f"Reference({struct})")


@register_model(ReferenceType)
class ReferenceModel(models.PrimitiveModel):
    """A reference is a pointer to the struct as numba lays it out."""

    def __init__(self, manager: Any, kind: ReferenceType) -> None:
        super().__init__(manager, kind, manager[kind.struct].get_value_type().as_pointer())


def _field(struct: Any, name: str) -> tuple[int, Any]:
    i = struct.fields.index(name)
    return i, struct.types[i]


@infer_getattr
class ReferenceFields(AttributeTemplate):
    """A field of a struct by reference; a struct within it is a reference again."""

    key = ReferenceType

    def generic_resolve(self, kind: ReferenceType, name: str) -> Any:
        """Return the type of a field."""
        if name not in kind.struct.fields:
            return None
        found = _field(kind.struct, name)[1]
        return ReferenceType(found) if _by_reference(found) else found


def _by_reference(kind: Any) -> bool:
    """Tell whether a field is itself passed by reference: structs with arrays are, rules made of numbers are not."""
    return isinstance(kind, types.BaseNamedTuple) and any(
        isinstance(member, types.Array) or _by_reference(member) for member in kind.types
    )


@lower_getattr_generic(ReferenceType)
def _load_field(context: Any, builder: Any, kind: ReferenceType, value: Any, name: str) -> Any:
    i, found = _field(kind.struct, name)
    place = cgutils.gep_inbounds(builder, value, 0, i)
    if _by_reference(found):
        return place
    return impl_ret_borrowed(context, builder, found, builder.load(place))


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the struct with every array's owner left out, so that there is nothing to count."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = array.meminfo.type(None)
        array.parent = array.parent.type(None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, member in enumerate(kind):
            kept = _without_owner(context, builder, member, builder.extract_value(value, i))
            value = builder.insert_value(value, kept, i)
    return value


@intrinsic
def _write(typing_context: Any, struct: Any, address: Any) -> Any:
    """Write a struct to an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kept = _without_owner(context, builder, signature.args[0], arguments[0])
        builder.store(kept, builder.inttoptr(arguments[1], kept.type.as_pointer()))
        return context.get_dummy_value()

    return types.none(struct, types.uintp), generate


def _write_to(struct: Any, address: int) -> None:
    _write(struct, np.uintp(address))


# A struct with a user's class goes to the folder of that class; see `compiled_for_rule`.
_write_to_for = kernel(_write_to)


def _guest(struct: Any) -> type | None:
    """Return the class within a struct that is not the package's own, if there is one."""
    if not isinstance(struct, tuple):
        return None
    if type(struct).__module__.partition(".")[0] != __package__:
        return type(struct)
    return next((guest for guest in map(_guest, struct) if guest is not None), None)


def _make_of(struct: Any) -> Hashable:
    """Return what a struct's type follows from: its class and how its members are made."""
    if isinstance(struct, np.ndarray):
        return (struct.dtype, struct.ndim, struct.flags.c_contiguous)
    if isinstance(struct, tuple):
        return (type(struct), *map(_make_of, struct))
    return f"{type(struct).__module__}.{type(struct).__qualname__}"


_known: dict[Hashable, tuple[ReferenceType, int]] = {}


def _type_and_size(make: Hashable, struct: Any) -> tuple[ReferenceType, int]:
    """Return the type of references to a struct and its size; numba takes a millisecond to tell, so it is asked
    once.
    """
    if make not in _known:
        kind = typeof(struct)
        context = cpu_target.target_context
        _known[make] = ReferenceType(kind), context.get_abi_sizeof(context.get_value_type(kind))
    return _known[make]


class Reference:
    """A struct that compiled code takes by reference; it keeps the struct's arrays alive."""

    __slots__ = ("_buffer", "_numba_type_", "address", "struct")

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self._numba_type_, size = _type_and_size(_make_of(struct), struct)
        self._buffer = np.zeros(size // 8 + 1, np.uint64)
        self.address = self._buffer.ctypes.data
        _write_to_for(_guest(struct))(struct, self.address)


@typeof_impl.register(Reference)
def _type_of_reference(value: Reference, context: Any) -> Any:
    return value._numba_type_


@unbox(ReferenceType)
def _unbox_reference(kind: ReferenceType, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.builder.bitcast(c.pyapi.long_as_voidptr(address), c.context.get_value_type(kind))
    c.pyapi.decref(address)
    return NativeValue(pointer)
