"""Values of a sweep: what a list, a range and a single value stand for; every error names the key.

A list is a list of values to sweep over. A value that is itself a list is written inside another list: `[[0, 1]]` is
one value, the list [0, 1].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wanderlust.core.errors import InvalidSetting, WanderlustError, check_integer, check_number, shown, unknown_name

MAX_VALUES = 1_000_000
_RANGE_KEYS = ("from", "to", "step", "count", "scale")
_RANGE_EXAMPLE = "{from = 0.1, to = 10, count = 5, scale = 'log'} or {from = 1, to = 9, step = 2}"

Key = tuple[str, ...]
"""Where a value is in the description: ("settings", "kappa")."""


class InvalidSweep(InvalidSetting):
    """A description of a sweep that is not valid; `key` tells where."""

    def __init__(self, key: Key, problem: str) -> None:
        super().__init__(f"{'.'.join(key)}: {problem}" if key else problem)
        self.key = key
        self.problem = problem


def at_key(key: Key, error: WanderlustError) -> InvalidSweep:
    """Return an error with the key that caused it."""
    return InvalidSweep(key, str(error))


def values_of(key: Key, given: Any) -> list[Any]:
    """Return the values that a list, a range or a single value stands for."""
    if _is_range(given):
        return _range_values(key, given)
    if isinstance(given, range | np.ndarray | set | frozenset):
        given = sorted(given) if isinstance(given, set | frozenset) else list(given)
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise InvalidSweep(key, "the list is empty; give at least one value, or leave the key out.")
    if len(given) > MAX_VALUES:
        raise InvalidSweep(key, f"{len(given):,} values are too many; the maximum is {MAX_VALUES:,}.")
    # A list may contain ranges.
    return [value for each in given for value in (_range_values(key, each) if _is_range(each) else [each])]


def _is_range(given: Any) -> bool:
    return isinstance(given, Mapping) and "from" in given


def _range_values(key: Key, given: Mapping[str, Any]) -> list[Any]:
    for name in given:
        if name not in _RANGE_KEYS:
            raise at_key((*key, name), unknown_name("key of a range", name, _RANGE_KEYS))
    if "to" not in given or ("step" in given) + ("count" in given) > 1:
        raise InvalidSweep(key, f"a range is written as {_RANGE_EXAMPLE}, got {shown(dict(given))}.")
    try:
        low, high = check_number("from", given["from"]), check_number("to", given["to"])
        if "count" in given:
            count = check_integer("count", given["count"], low=1, high=MAX_VALUES)
            return _spaced(key, low, high, count, given.get("scale", "linear"))
        step = check_number("step", given.get("step", 1), low=0, open_low=True)
    except InvalidSweep:
        raise
    except InvalidSetting as error:
        raise at_key(key, error) from None
    n_steps = math.floor((high - low) / step + 1e-9)
    if n_steps < 0 or n_steps >= MAX_VALUES or "scale" in given:
        raise InvalidSweep(key, f"a range is written as {_RANGE_EXAMPLE}, got {shown(dict(given))}.")
    return [_plain(low + i * step) for i in range(n_steps + 1)]


def _spaced(key: Key, low: float, high: float, count: int, scale: Any) -> list[Any]:
    if scale not in ("linear", "log"):
        raise InvalidSweep((*key, "scale"), f"the scale of a range is 'linear' or 'log', got {shown(scale)}.")
    if scale == "log" and (low <= 0 or high <= 0):
        raise InvalidSweep(key, f"a logarithmic range needs positive ends, got {low:g} and {high:g}.")
    spaced = np.geomspace(low, high, count) if scale == "log" else np.linspace(low, high, count)
    return [_plain(value) for value in spaced.tolist()]


def _plain(value: float) -> float | int:
    """Return a number without the last digits, in which rounding errors would make names of settings unreadable."""
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def product_rows(key: Key, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values of a table of options."""
    names = list(options)
    values = [values_of((*key, name), options[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*values)]


def zipped_rows(key: Key, group: Any) -> list[dict[str, Any]]:
    """Return the rows of a zipped group: the first values together, then the second values, and so on."""
    if not isinstance(group, Mapping) or not group:
        raise InvalidSweep(key, f"a zipped group is a table of lists of equal length, got {shown(group)}.")
    columns = {name: values_of((*key, name), values) for name, values in group.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidSweep(key, f"the lists of a zipped group must have equal length: {described}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_rows(key: Key, given: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return (name, options) for a name, a list of names, or a table of names with tables of options."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        rows = []
        for name, options in given.items():
            if not isinstance(options, Mapping):
                raise InvalidSweep((*key, name), f"the options must be a table, such as {{}}, got {shown(options)}.")
            rows += [(name, row) for row in product_rows((*key, name), options)]
        return rows
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidSweep(
            key, f"must be a name, a list of names, or a table of names and options, got {shown(given)}."
        )
    return [(name, {}) for name in given]


def matches(point: Mapping[str, Any], pattern: Mapping[str, Any], key: Key) -> bool:
    """Return whether a combination has one of the values of each key of a pattern."""
    return all(name in point and point[name] in values_of((*key, name), given) for name, given in pattern.items())


def check_tables(key: Key, given: Any) -> list[Mapping[str, Any]]:
    """Return a list of tables; a single table is a list of one."""
    tables = [given] if isinstance(given, Mapping) else given
    if not isinstance(tables, Iterable) or isinstance(tables, str):
        raise InvalidSweep(key, f"must be a table or a list of tables, got {shown(given)}.")
    tables = list(tables)
    for i, table in enumerate(tables):
        if not isinstance(table, Mapping):
            raise InvalidSweep((*key, str(i)), f"must be a table, got {shown(table)}.")
    return tables
