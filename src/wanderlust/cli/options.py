"""Options as people type them: name=value."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import Any

from wanderlust.core.errors import InvalidSetting


def read_options(options: Iterable[str], example: str = "kappa=0.1") -> dict[str, Any]:
    """Return options written as name=value; a value that is neither JSON nor a Python literal is a word."""
    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise InvalidSetting(f"an option must be written as name=value, such as {example}, got {option!r}.")
        if name in found:
            raise InvalidSetting(f"option {name!r} is given twice, as {found[name]!r} and as {value!r}.")
        found[name] = read_value(value)
    return found


def read_value(text: str) -> Any:
    """Return the number, list, table, true, false or null that a text stands for, or the text itself."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return text


def as_typed(options: dict[str, Any]) -> list[str]:
    """Return options as they would be typed."""
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]
