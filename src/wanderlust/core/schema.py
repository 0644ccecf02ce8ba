"""Data from outside by a declared schema: msgspec checks names, types and ranges, and its error becomes one sentence.

class Point(Strict, frozen=True):
    x: Annotated[int, Meta(ge=0, le=9)] = 0

checked("a point", {"x": 10}, Point)  # InvalidSetting: a point, x: expected int <= 9.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from wanderlust.core.errors import InvalidSetting

T = TypeVar("T")


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
