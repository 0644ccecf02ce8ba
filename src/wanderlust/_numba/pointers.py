"""Structs and functions by address in compiled code.

A struct is a NamedTuple of numbers, arrays, records and NamedTuples.
numba passes a tuple of arrays by value, seven machine words per array, counts references to each of them whenever the
tuple is passed on, and takes the tuple apart at every call from Python: tens of microseconds for two dozen arrays.
`StructPointer(struct)` writes the struct once, as consecutive 64-bit words. A compiled function called with it gets one
pointer, reads fields as usual (`learner.values`), and counts no references: the holder of the pointer keeps the arrays
alive.

The words never change while compiled code runs: when arrays grow, a new struct is written. The loads are marked as
invariant, so a function reads each word once. What does change is in the arrays and records that the struct points to.

The training loop is compiled once for all explorers. It calls the methods of an explorer, and the update of the tables,
by address. So another explorer means compiling a few short functions, not the loop. `call_int(address, data, *args)`
calls a function whose first argument is a pointer to a struct, given as such or as a number. An exception that the
function raises reaches the caller.
"""

from __future__ import annotations

import functools
import hashlib
import struct as packing
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
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

_WORD_BYTES = 8
_POINTER = ir.IntType(8).as_pointer()


class StructPointerType(types.Type):
    """The type of a pointer to a struct."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        # The name becomes part of the name of every function that takes such a pointer. Written out, it would be a
        # thousand letters long.
        digest = hashlib.sha256(str(struct).encode()).hexdigest()[:8]
        super().__init__(f"{struct.instance_class.__name__}{digest}")

    @property
    def key(self) -> Any:
        """What distinguishes this type from others: the struct, not its name."""
        return self.struct


@register_model(StructPointerType)
class StructPointerModel(models.PrimitiveModel):
    """The pointer is one machine word."""

    def __init__(self, manager: Any, kind: StructPointerType) -> None:
        super().__init__(manager, kind, _POINTER)


def _format(kind: Any) -> str:
    """Return the format of a member in the code of Python's `struct`, one letter per word.

    An array has numba's layout: two owners, its size, an item's size, its address, its shape, its strides.
    """
    if isinstance(kind, types.Array):
        return "QQqqQ" + 2 * int(kind.ndim) * "q"
    if isinstance(kind, types.BaseNamedTuple):
        return "".join(_format(member) for member in kind.types)
    if isinstance(kind, types.Record):
        return "Q"
    return "d" if isinstance(kind, types.Float) else "q"


@functools.cache
def _fields(struct: Any) -> dict[str, tuple[int, Any]]:
    """Return the offset of each field, in bytes, and its type."""
    offsets, offset = {}, 0
    for name, kind in zip(struct.fields, struct.types, strict=True):
        offsets[name] = offset, kind
        offset += _WORD_BYTES * len(_format(kind))
    return offsets


@infer_getattr
class StructPointerFields(AttributeTemplate):
    """The types of fields; a struct inside a struct is a pointer again."""

    key = StructPointerType

    def generic_resolve(self, kind: StructPointerType, name: str) -> Any:
        """Return the type of a field."""
        if name not in kind.struct.fields:
            return None
        found = _fields(kind.struct)[name][1]
        return StructPointerType(found) if _is_by_pointer(found) else found


def _is_by_pointer(kind: Any) -> bool:
    """Return whether a field is itself a pointer: structs with arrays are, explorers made of numbers are not.

    A class of numbers with the attribute `is_by_pointer` is, too.
    """
    return isinstance(kind, types.BaseNamedTuple) and (
        getattr(kind.instance_class, "is_by_pointer", False)
        or any(isinstance(member, types.Array) or _is_by_pointer(member) for member in kind.types)
    )


@lower_getattr_generic(StructPointerType)
def _load_field(context: Any, builder: Any, kind: StructPointerType, value: Any, name: str) -> Any:
    offset, found = _fields(kind.struct)[name]
    start = cgutils.pointer_add(builder, value, offset)
    return start if _is_by_pointer(found) else _load(context, builder, found, start)


def _load(context: Any, builder: Any, kind: Any, start: Any) -> Any:
    """Return the value that begins at a pointer."""
    wanted = context.get_value_type(kind)
    if isinstance(kind, types.Array):
        array = _load_invariant(builder, start, wanted)
        # No owner, so no reference counting. Memory has zeros there, too, but here the compiler sees them.
        for owner in (0, 1):
            array = builder.insert_value(array, _POINTER(None), owner)
        return array
    if isinstance(kind, types.Record):
        return _load_invariant(builder, start, wanted)
    if isinstance(kind, types.BaseNamedTuple):
        members = [
            _load(context, builder, member, cgutils.pointer_add(builder, start, offset))
            for offset, member in _fields(kind).values()
        ]
        return context.make_tuple(builder, kind, members)
    if isinstance(kind, types.Float):
        number = _load_invariant(builder, start, ir.DoubleType())
        return number if wanted == number.type else builder.fptrunc(number, wanted)
    number = _load_invariant(builder, start, ir.IntType(64))
    return number if wanted == number.type else builder.trunc(number, wanted)


def _load_invariant(builder: Any, start: Any, kind: Any) -> Any:
    """Load a value that never changes."""
    loaded = builder.load(builder.bitcast(start, kind.as_pointer()))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _words(struct: Any) -> Iterator[Any]:
    """Yield the words of a struct, in the order of `_format`."""
    for member in struct:
        if isinstance(member, np.ndarray):
            yield from (0, 0, member.size, member.itemsize, member.ctypes.data)
            yield from member.shape
            yield from member.strides
        elif isinstance(member, np.record):
            yield np.frombuffer(member, np.uint8).ctypes.data
        elif isinstance(member, tuple):
            yield from _words(member)
        else:
            yield member


def _make_of(struct: Any) -> Hashable:
    """Return what the type of a struct depends on: its class and the types of its members."""
    if isinstance(struct, StructPointer):
        return id(struct._numba_type_)
    if isinstance(struct, np.ndarray):
        return (struct.dtype, struct.ndim, struct.flags.c_contiguous)
    if isinstance(struct, np.record):
        return struct.dtype
    if isinstance(struct, tuple):
        return (type(struct), *map(_make_of, struct))
    return f"{type(struct).__module__}.{type(struct).__qualname__}"


_known: dict[Hashable, tuple[StructPointerType, packing.Struct]] = {}


def _type_and_packing(struct: Any) -> tuple[StructPointerType, packing.Struct]:
    """Return the type of pointers to a struct and how to write it; cached, since numba takes a millisecond for it.

    Members that are pointers are not written: their words are copied.
    """
    make = _make_of(struct)
    if make not in _known:
        kind = typeof(type(struct)._make(map(_pointed_to, struct)))
        members = zip(struct, kind.types, strict=True)
        form = "".join(_format(member_kind) for member, member_kind in members if not isinstance(member, StructPointer))
        _known[make] = StructPointerType(kind), packing.Struct(f"={form}")
    return _known[make]


def _pointed_to(member: Any) -> Any:
    return member.struct if isinstance(member, StructPointer) else member


class StructPointer:
    """A struct that compiled code takes by pointer; it keeps the struct's arrays alive.

    The first members of the struct can be pointers to structs themselves. Their words are copied, which is faster than
    writing them again.
    """

    __slots__ = ("_numba_type_", "_words", "address", "struct")

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self._numba_type_, form = _type_and_packing(struct)
        members = list(struct)
        copied = []
        while members and isinstance(members[0], StructPointer):
            copied.append(members.pop(0)._words)
        written = np.frombuffer(form.pack(*_words(members)), np.uint64)
        self._words = np.concatenate([*copied, written])
        self.address = self._words.ctypes.data


@typeof_impl.register(StructPointer)
def _type_of_pointer(value: StructPointer, context: Any) -> Any:
    return value._numba_type_


@unbox(StructPointerType)
def _unbox_pointer(kind: StructPointerType, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


# --- Functions -----------------------------------------------------------------------------------------


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
