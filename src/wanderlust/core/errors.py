"""Error classes, and checks whose messages say what is wrong, where, and what is valid.

All invalid input raises a `WanderlustError`, which is a `ValueError`. The check functions keep the messages uniform.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any


class WanderlustError(ValueError):
    """Base class of all errors that invalid input raises."""

    agent: Any = None
    """The agent at the time of the error, if the error was raised during training."""


class UnknownName(WanderlustError):
    """A name that is not registered; the message lists the known names and the closest one."""


class InvalidSetting(WanderlustError):
    """A setting outside its valid range."""


class InvalidMap(WanderlustError):
    """A text map that cannot be read; the message names the line and the column."""


class InvalidWorld(WanderlustError):
    """A world that breaks the rules of a Markov decision process."""


class InvalidExplorer(WanderlustError):
    """An explorer class that does not implement the protocol."""


class InvalidObservation(WanderlustError):
    """A state, action or reward that is not valid in the environment."""


class InvalidEnvironment(WanderlustError):
    """A Gymnasium environment that cannot be used as it is; the message names the missing options."""


class EnvironmentFailed(WanderlustError):
    """An environment that raised an exception, stored as `__cause__`."""


class MissingPackage(WanderlustError):
    """An optional package that the requested feature needs; the message says how to install it."""


class BadFile(WanderlustError):
    """A stored file that is damaged, of another kind, or from a newer version."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Return the error for an unknown name, with the known names and the closest match."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return UnknownName(f"unknown {kind} {name!r}.{hint} Known: {', '.join(names) or 'none'}.")


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return `value` as a finite float in the given range, or raise `InvalidSetting`."""
    valid = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidSetting(f"{name} must be a number in {valid}, got {value!r}.") from None
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if isinstance(value, bool) or not math.isfinite(number) or below or above:
        raise InvalidSetting(f"{name} must be in {valid}, got {value!r}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return `value` as an integer of at least `low` (and at most `high`), or raise `InvalidSetting`."""
    valid = f"at least {low}" if high is None else f"from {low:,} to {high:,}"
    try:
        number = int(value)
        whole = number == value and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or number < low or (high is not None and number > high):
        raise InvalidSetting(f"{name} must be a whole number {valid}, got {value!r}.")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False, or raise `InvalidSetting`."""
    # NumPy's bool is recognised by its name: importing NumPy here would make `wanderlust --help` 50 % slower.
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
        raise InvalidSetting(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise `UnknownName` with the closest one."""
    known = tuple(choices)
    if value not in known:
        raise unknown_name(f"value of {name}", value, known)
    return str(value)


def check_options(kind: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `UnknownName` for the first option that `kind` does not have."""
    names = tuple(known)
    for option in options:
        if option not in names:
            if not names:
                raise UnknownName(f"{kind} has no options, got {option!r}.")
            raise unknown_name(f"option of {kind}", option, names)
