"""Entries of an array from scattered places, fetched one by one.

Processors have an instruction that gathers several such entries at once, and compilers like it. Where it was measured
(AMD's Zen 4) the dense sweep takes a third longer with it than with one load after the other. So indices are handed on
in a way that the compiler cannot look through: it does not see several that could be gathered.
"""

from __future__ import annotations

from typing import Any

from wanderlust.compiled import COMPILED

if COMPILED:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def one_by_one(typing_context: Any, index: Any) -> Any:
        """Return an index without a sign, for an entry that is to be fetched on its own."""
        word = ir.IntType(64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide = context.cast(builder, arguments[0], signature.args[0], types.uint64)
            # An instruction of no letters that is said to make one register from the other, which are the same.
            return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [wide], side_effect=False)

        return types.uint64(index), generate

else:

    def one_by_one(index: Any) -> Any:
        """Return the index."""
        return index
