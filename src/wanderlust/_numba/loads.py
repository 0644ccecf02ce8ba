"""Loads of array entries at scattered indices.

Processors have an instruction that gathers several such entries, and compilers prefer it. Where it was measured (AMD
Zen 4), the dense sweep takes a third longer with it than with one load after the other. So indices pass through an
empty piece of inline assembly: the compiler no longer sees several loads that it could gather. Since such a loop is
bound by loads, two 32-bit indices are loaded as one 64-bit word.

On other processors, or with `WANDERLUST_PLAIN_LOADS=1`, ordinary loads are used. The results are the same.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np

from wanderlust._numba.jit import JIT_ENABLED, inlined

HALF_WORD, LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)

UNGATHERED_LOADS = (
    JIT_ENABLED
    and platform.machine().lower() in ("x86_64", "amd64")
    and sys.byteorder == "little"
    and not os.environ.get("WANDERLUST_PLAIN_LOADS")
)

if UNGATHERED_LOADS:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    _WORD = ir.IntType(64)

    @intrinsic
    def opaque(typing_context: Any, word: Any) -> Any:
        """Return the word, of which the compiler no longer knows the origin."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # No instruction at all, declared to compute one register from another, which is the same register.
            return builder.asm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0", arguments, side_effect=False)

        return types.uint64(types.uint64), generate

    @intrinsic
    def load_two_indices(typing_context: Any, indices: Any, place: Any) -> Any:
        """Return two neighbouring 32-bit indices as one word, the first in its lower half."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            first = builder.gep(array.data, [arguments[1]])
            return builder.load(builder.bitcast(first, _WORD.as_pointer()), align=4)

        return types.uint64(indices, types.int64), generate

else:

    @inlined
    def opaque(word: Any) -> Any:
        """Return the word."""
        return word

    @inlined
    def load_two_indices(indices: Any, place: int) -> Any:
        """Return two neighbouring 32-bit indices as one word, the first in its lower half."""
        return np.uint64(indices[place]) | np.uint64(indices[place + 1]) << HALF_WORD


@inlined
def first_index(word: np.uint64) -> np.uint64:
    """Return the first of two indices in a word."""
    return opaque(word & LOW_HALF)  # type: ignore[no-any-return]


@inlined
def second_index(word: np.uint64) -> np.uint64:
    """Return the second of two indices in a word."""
    return opaque(word >> HALF_WORD)  # type: ignore[no-any-return]
