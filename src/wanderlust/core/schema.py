"""Data from outside by a declared schema: msgspec checks names, types and ranges, and its error becomes one sentence.

class Point(Strict, frozen=True):
    x: Annotated[int, Meta(ge=0, le=9)] = 0

checked("a point", {"x": 10}, Point)  # InvalidSetting: a point, x: expected int <= 9.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeVar

import msgspec

from wanderlust.core.errors import BadFile, InvalidSetting

T = TypeVar("T")

MAX_DOTS = 20
"""The most dots outside of texts and numbers in a line of TOML."""
_NUMBERS = re.compile(r"(?<![\w.])[+-]?\d[\d_]*\.\d[\d_]*(?:[eE][+-]?\d+)?(?![\w.])")
_TEXTS_AND_COMMENTS = re.compile(
    r"""'''.*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL | re.VERBOSE
)


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of known fields. Fields that have their default are left out of its plain values."""


def checked(what: str, value: Any, schema: type[T]) -> T:
    """Return plain values, such as those of JSON or TOML, as the type of a schema; or raise `InvalidSetting`."""
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        raise invalid(what, error) from None


def invalid(what: str, error: Exception) -> InvalidSetting:
    """Return the error for data that are not valid JSON or not of a schema: where it is, and what is wrong there."""
    reason, _, path = str(error).rstrip("`").partition(" - at `$")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", reason)
    if unknown:
        reason = f"has no field {unknown[1]!r}"
    else:  # In the words of Python and TOML.
        reason = reason.replace("`", "").replace("array", "list").replace("object", "table")
        reason = f"{reason[:1].lower()}{reason[1:]}"
    place = path.lstrip(".")
    return InvalidSetting(f"{what}{f', {place}' if place else ''}: {reason}.")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text, or raise `BadFile`."""
    # The parser needs memory that grows with the square of the parts of a dotted key, a.b.c...
    for number, line in enumerate(_TEXTS_AND_COMMENTS.sub(_line_breaks, text).split("\n"), start=1):
        line = _NUMBERS.sub("", line)
        if line.count(".") > MAX_DOTS:
            raise BadFile(f"not a TOML file: line {number} has {line.count('.'):,} dots in names.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise BadFile("not a TOML file: too many nested brackets.") from None
    except ValueError as error:  # A TOMLDecodeError, or an integer with thousands of digits.
        raise BadFile(f"not a TOML file: {error}") from None


def _line_breaks(match: re.Match[str]) -> str:
    """Return the line breaks of a text, so that the numbers of the following lines stay the same."""
    return "\n" * match[0].count("\n")
