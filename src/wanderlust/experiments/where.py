"""Conditions on the columns of a table, such as `world == "prison" and kappa > 1`.

A condition is a Python expression of column names, numbers, texts, comparisons, `in`, `and`, `or`, `not` and
arithmetic. Anything else is refused before it is evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

from wanderlust.core.errors import InvalidSetting, UnknownName, shown, unknown_name

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Name, ast.Load, ast.Constant,
    ast.Tuple, ast.List, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
)  # fmt: skip
_MAX_LENGTH = 10_000
_EXAMPLE = "'world == \"prison\" and kappa > 1'"


def condition(text: str, columns: Collection[str]) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that tells whether a row fulfils a condition; a comparison with a missing value is false."""
    if len(text) > _MAX_LENGTH:
        raise InvalidSetting(f"the condition is too long: {len(text):,} characters.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidSetting(f"the condition {shown(text)} is not valid ({reason}); an example: {_EXAMPLE}.") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise InvalidSetting(
                f"the condition {shown(text)} contains {type(node).__name__.lower()}, which is not allowed; it may "
                f"contain columns, numbers, texts, comparisons, in, and, or, not, + - * /. An example: {_EXAMPLE}."
            )
        if isinstance(node, ast.Name) and node.id not in columns:
            raise UnknownName(f"{unknown_name('column', node.id, columns)} A text is in quotes: {_EXAMPLE}.")
    # Safe: only the kinds of nodes above are left, none of which can call or look up anything but a column.
    code = compile(tree, "<condition>", "eval")

    def fulfilled(row: Mapping[str, Any]) -> bool:
        try:
            return bool(eval(code, {"__builtins__": {}}, dict.fromkeys(columns) | dict(row)))
        except (TypeError, ZeroDivisionError, OverflowError):
            return False  # A row without the option that is compared.

    return fulfilled
