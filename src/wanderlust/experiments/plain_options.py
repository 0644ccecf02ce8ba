"""The options of a run as plain values, which JSON can represent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from wanderlust.core.errors import InvalidSetting

Options = Mapping[str, Any]


def plain_options(name: str, given: Any) -> Options:
    """Return options as JSON reads them back, so that a run equals its copy read from a file."""
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"{name} must be a table of names and values, got {given!r}.")
    try:
        plain = json.loads(json.dumps(dict(given), default=_plain_value, allow_nan=False), parse_int=_plain_integer)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSetting(
            f"{name} must contain numbers, strings, lists or tables of these, got {given!r} ({error})."
        ) from None
    return MappingProxyType(plain)


def _plain_integer(text: str) -> int:
    if abs(number := int(text)) >= 2**63:
        raise ValueError("an integer has more than 64 bits")
    return number


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
