"""Structs by reference in compiled code: a NamedTuple of numbers, arrays and NamedTuples as one pointer.

numba passes a tuple of arrays by value, seven machine words for each array, counts references to each of them
whenever the tuple changes hands, and takes the tuple apart at every call from Python: tens of microseconds for two
dozen arrays. `Reference(struct)` writes the struct once, as words of 64 bits one after the other; a kernel called with
it gets one pointer. Compiled code reads fields as ever (`learner.values`), and counts nothing: whoever holds the reference
holds the arrays.

The words never change while compiled code runs: a learner that grows is written anew. Compiled code is told so, and
fetches what it needs of them once.
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
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

_WORD = 8
_POINTER = ir.IntType(8).as_pointer()


class ReferenceType(types.Type):
    """The type of a pointer to a struct."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        # The name becomes part of the name of every function that takes such a pointer: a thousand letters if written
        # out, over and over in all that is compiled.
        digest = hashlib.sha256(str(struct).encode()).hexdigest()[:8]
        super().__init__(f"{struct.instance_class.__name__}{digest}")

    @property
    def key(self) -> Any:
        """What tells this type from others: the struct, not its name."""
        return self.struct


@register_model(ReferenceType)
class ReferenceModel(models.PrimitiveModel):
    """A reference is a pointer to words."""

    def __init__(self, manager: Any, kind: ReferenceType) -> None:
        super().__init__(manager, kind, _POINTER)


def _form(kind: Any) -> str:
    """Return how a member is written, one letter for each of its words, in the code of Python's `struct`.

    An array is written as numba has it: two owners, its size, an item's size, its address, its shape, its strides.
    """
    if isinstance(kind, types.Array):
        return "QQqqQ" + 2 * int(kind.ndim) * "q"
    if isinstance(kind, types.BaseNamedTuple):
        return "".join(_form(member) for member in kind.types)
    return "d" if isinstance(kind, types.Float) else "q"


@functools.cache
def _fields(struct: Any) -> dict[str, tuple[int, Any]]:
    """Return the place of each field, in bytes, and its type."""
    places, place = {}, 0
    for name, kind in zip(struct.fields, struct.types, strict=True):
        places[name] = place, kind
        place += _WORD * len(_form(kind))
    return places


@infer_getattr
class ReferenceFields(AttributeTemplate):
    """A field of a struct by reference; a struct within it is a reference again."""

    key = ReferenceType

    def generic_resolve(self, kind: ReferenceType, name: str) -> Any:
        """Return the type of a field."""
        if name not in kind.struct.fields:
            return None
        found = _fields(kind.struct)[name][1]
        return ReferenceType(found) if _by_reference(found) else found


def _by_reference(kind: Any) -> bool:
    """Tell whether a field is itself passed by reference: structs with arrays are, rules made of numbers are not."""
    return isinstance(kind, types.BaseNamedTuple) and any(
        isinstance(member, types.Array) or _by_reference(member) for member in kind.types
    )


@lower_getattr_generic(ReferenceType)
def _load_field(context: Any, builder: Any, kind: ReferenceType, value: Any, name: str) -> Any:
    place, found = _fields(kind.struct)[name]
    start = cgutils.pointer_add(builder, value, place)
    return start if _by_reference(found) else _load(context, builder, found, start)


def _load(context: Any, builder: Any, kind: Any, start: Any) -> Any:
    """Return the value that begins at a pointer."""
    wanted = context.get_value_type(kind)
    if isinstance(kind, types.Array):
        array = _fetch(builder, start, wanted)
        # No owner, so that there is nothing to count: zeros in memory too, but here the compiler can see them.
        for owner in (0, 1):
            array = builder.insert_value(array, _POINTER(None), owner)
        return array
    if isinstance(kind, types.BaseNamedTuple):
        members = [
            _load(context, builder, member, cgutils.pointer_add(builder, start, place))
            for place, member in _fields(kind).values()
        ]
        return context.make_tuple(builder, kind, members)
    if isinstance(kind, types.Float):
        number = _fetch(builder, start, ir.DoubleType())
        return number if wanted == number.type else builder.fptrunc(number, wanted)
    number = _fetch(builder, start, ir.IntType(64))
    return number if wanted == number.type else builder.trunc(number, wanted)


def _fetch(builder: Any, start: Any, kind: Any) -> Any:
    """Return what lies at a pointer and never changes."""
    fetched = builder.load(builder.bitcast(start, kind.as_pointer()))
    fetched.set_metadata("invariant.load", builder.module.add_metadata([]))
    return fetched


def _words(struct: Any) -> Iterator[Any]:
    """Go through the words of a struct, in the order of `_form`."""
    for member in struct:
        if isinstance(member, np.ndarray):
            yield from (0, 0, member.size, member.itemsize, member.ctypes.data)
            yield from member.shape
            yield from member.strides
        elif isinstance(member, tuple):
            yield from _words(member)
        else:
            yield member


def _make_of(struct: Any) -> Hashable:
    """Return what a struct's type follows from: its class and how its members are made."""
    if isinstance(struct, np.ndarray):
        return (struct.dtype, struct.ndim, struct.flags.c_contiguous)
    if isinstance(struct, tuple):
        return (type(struct), *map(_make_of, struct))
    return f"{type(struct).__module__}.{type(struct).__qualname__}"


_known: dict[Hashable, tuple[ReferenceType, packing.Struct]] = {}


def _type_and_form(struct: Any) -> tuple[ReferenceType, packing.Struct]:
    """Return the type of references to a struct and how it is written; numba takes a millisecond to tell, so it is
    asked once.
    """
    make = _make_of(struct)
    if make not in _known:
        kind = typeof(struct)
        _known[make] = ReferenceType(kind), packing.Struct(f"={_form(kind)}")
    return _known[make]


class Reference:
    """A struct that compiled code takes by reference; it keeps the struct's arrays alive."""

    __slots__ = ("_numba_type_", "_words", "address", "struct")

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self._numba_type_, form = _type_and_form(struct)
        self._words = np.frombuffer(form.pack(*_words(struct)), np.uint64).copy()
        self.address = self._words.ctypes.data


@typeof_impl.register(Reference)
def _type_of_reference(value: Reference, context: Any) -> Any:
    return value._numba_type_


@unbox(ReferenceType)
def _unbox_reference(kind: ReferenceType, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)
