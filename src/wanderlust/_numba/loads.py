"""Entries of an array from scattered places, fetched one by one.

Processors have an instruction that gathers several such entries at once, and compilers like it. Where it was measured
(AMD's Zen 4) the dense sweep takes a third longer with it than with one load after the other. So indices are handed on
in a way that the compiler cannot look through: it does not see several that could be gathered. And as loads are what
such a loop waits for, two indices of 32 bits are loaded as one word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust._numba.jit import COMPILED, inlined
HALF, LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)

if COMPILED:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    _WORD = ir.IntType(64)

    @intrinsic
    def opaque(typing_context: Any, word: Any) -> Any:
        """Return a word of which the compiler does not know where it comes from."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # An instruction of no letters that is said to make one register from the other, which are the same.
            return builder.asm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0", arguments, side_effect=False)

        return types.uint64(types.uint64), generate

    @intrinsic
    def load_two_indices(typing_context: Any, indices: Any, place: Any) -> Any:
        """Return two neighbouring indices of 32 bits as one word, the first as its lower half."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            first = builder.gep(array.data, [arguments[1]])
            return builder.load(builder.bitcast(first, _WORD.as_pointer()), align=4)

        return types.uint64(indices, types.int64), generate

else:

    def opaque(word: Any) -> Any:
        """Return the word."""
        return word

    def load_two_indices(indices: Any, place: int) -> Any:
        """Return two neighbouring indices of 32 bits as one word, the first as its lower half."""
        return np.uint64(indices[place]) | np.uint64(indices[place + 1]) << HALF


@inlined
def first_index(two: np.uint64) -> np.uint64:
    """Return the first index of a word, for an entry that is to be fetched on its own."""
    return opaque(two & LOW_HALF)  # type: ignore[no-any-return]


@inlined
def second_index(two: np.uint64) -> np.uint64:
    """Return the second index of a word."""
    return opaque(two >> HALF)  # type: ignore[no-any-return]
