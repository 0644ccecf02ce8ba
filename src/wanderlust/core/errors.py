"""Error classes, and checks whose messages say what is wrong, where, and what is valid.

All invalid input raises a `WanderlustError`, which is a `ValueError`. The check functions keep the messages uniform.
"""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, TypeVar

__all__ = [
    "BadFile", "CannotWrite", "InsufficientMemory", "InvalidEnvironment", "InvalidExplorer", "InvalidObservation",
    "InvalidReward", "InvalidSetting", "UnknownName", "WanderlustError",
    "check_choice", "check_flag", "check_integer", "check_number", "unknown_name",
]  # fmt: skip

T = TypeVar("T")

MAX_SHOWN = 200
"""The maximum length of a value in an error message."""
MAX_INTEGER = 2**128 - 1
"""The largest integer where no other limit is given: the largest seed of 128 bits."""
_SYNONYMS = {"gamma": "discount", "alpha": "learning_rate", "lr": "learning_rate"}
"""Names of settings in other libraries, which the closest match would confuse with other settings."""
MAX_PAIRS = 2_000_000_000
"""The maximum number of state-action pairs, whose indices have 32 bits."""


class WanderlustError(ValueError):
    """Base class of all errors that invalid input raises."""

    exit_code = 2
    """That of a command that fails with this error."""
    agent: Any = None
    """The agent at the time of the error, if the error was raised during training."""


class ClusterLost(WanderlustError):
    """The connection to a Ray cluster is lost; what is finished is stored."""

    exit_code = 3


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


class InvalidReward(InvalidObservation):
    """A reward that is not a number, or too large."""


class InvalidEnvironment(WanderlustError):
    """A Gymnasium environment that cannot be used as it is; the message names the missing options."""


class EnvironmentFailed(WanderlustError):
    """An environment that raised an exception, stored as `__cause__`."""


class InsufficientMemory(WanderlustError):
    """A training that was stopped before the machine swaps; `agent` is what it has learnt."""


class MissingPackage(WanderlustError):
    """An optional package that the requested feature needs; the message says how to install it."""


class BadFile(WanderlustError):
    """A stored file that is damaged, of another kind, or from a newer version."""


class UntrustedCode(BadFile):
    """A file names code whose module the user has not allowed."""


class CannotWrite(BadFile):
    """A file that cannot be written: the disk is full, a permission is missing, or the path is a folder."""


def counted(number: int, noun: str) -> str:
    """Return a number and a noun in the singular or plural, such as "1 seed" and "1,000 seeds"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(value: object) -> str:
    """Return `repr(value)` for an error message: shortened, and for every object."""
    try:
        text = repr(value)
    except Exception:  # An integer with thousands of digits, a list that contains itself, an object of the user.
        text = f"a value of type {type(value).__name__} that cannot be printed"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar, a Fraction or a Decimal as a plain bool, int, float or str; any other value unchanged."""
    if type(value) in (float, int, bool, str):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "tolist"):
        value = value.tolist()  # NumPy is not imported here: that would make `wanderlust --help` 50 % slower.
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return str(value) if type(value) is not str and isinstance(value, str) else value
    if isinstance(value, Rational) and value.denominator == 1:
        return int(value.numerator)
    try:
        return float(value)
    except (OverflowError, ValueError):  # A huge fraction, a signalling NaN.
        return math.nan


def unknown_name(kind: str, name: object, known: Iterable[str], *, of: str = "") -> UnknownName:
    """Return the error for an unknown name, with the known names and the closest match; `of` says of what it is."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name[:MAX_SHOWN], names, n=1) if isinstance(name, str) else []
    if isinstance(name, str) and _SYNONYMS.get(name) in names:
        close = [_SYNONYMS[name]]
    hint = f" Did you mean {close[0]!r}?" if close else ""
    what = f"{kind} {shown(name)} of {of}" if of else f"{kind} {shown(name)}"
    return UnknownName(f"unknown {what}.{hint} Known: {', '.join(names) or 'none'}.")


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return `value` as a finite float in the given range, or raise `InvalidSetting`. Text is not converted."""
    number = plain_value(value)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    try:
        number = float(number) if is_number else math.nan
    except OverflowError:
        number = math.inf
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if not math.isfinite(number) or below or above:
        valid = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        what = "in" if is_number else "a number in"
        raise InvalidSetting(f"{name} must be {what} {valid}, got {shown(value)}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return `value` as an integer of at least `low` (and at most `high`), or raise `InvalidSetting`.

    Floats without a fractional part are converted, text is not.
    """
    number = plain_value(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number < low or (high is not None and number > high):
        valid = f"at least {low}" if high is None else f"from {low:,} to {high:,}"
        raise InvalidSetting(f"{name} must be a whole number {valid}, got {shown(value)}.")
    if number > MAX_INTEGER:
        raise InvalidSetting(f"{name} must be a whole number of at most 128 bits, got {shown(value)}.")
    return number


def check_index(name: str, value: Any, n: int) -> int:
    """Return `value` as a whole number from 0 to `n` - 1, or raise `InvalidObservation`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        valid = f"must be a whole number from 0 to {n - 1}" if n else "is not known: there is none yet"
        raise InvalidObservation(f"{name} {valid}, got {shown(value)}.")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return `value` as True or False, or raise `InvalidSetting`."""
    flag = plain_value(value)
    if not isinstance(flag, bool):
        raise InvalidSetting(f"{name} must be True or False, got {shown(value)}.")
    return flag


def check_instance(name: str, value: T, kind: type) -> T:
    """Return `value` if it is an object of a class, or raise `InvalidSetting`."""
    if not isinstance(value, kind):
        raise InvalidSetting(f"{name} must be of the type {kind.__name__}, got {shown(value)}.")
    return value


def check_list(name: str, values: Iterable[T], kind: type) -> list[T]:
    """Return the objects of a class that `values` contains, or raise `InvalidSetting`."""
    try:
        listed = list(values)
    except TypeError:
        raise InvalidSetting(f"{name} must be a list, got {shown(values)}.") from None
    return [check_instance(f"each of {name}", value, kind) for value in listed]


def check_choice(name: str, value: Any, valid: Iterable[str]) -> str:
    """Return `value` if it is one of the valid ones, or raise `UnknownName` with the closest one."""
    known = tuple(valid)
    if not isinstance(value, str) or value not in known:
        raise unknown_name(f"value of {name}", value, known)
    return known[known.index(value)]


def check_options(kind: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `UnknownName` for the first option that `kind` does not have."""
    names = tuple(known)
    for option in options:
        if option not in names:
            if not names:
                raise UnknownName(f"{kind} has no options, got {shown(option)}.")
            raise unknown_name("option", option, names, of=kind)


def check_pairs(what: str, n_states: int, n_actions: int) -> None:
    """Raise `InvalidSetting` if there are more state-action pairs than can be stored."""
    if n_states * n_actions > MAX_PAIRS:
        raise InvalidSetting(
            f"{what} has {n_states:,} states × {n_actions:,} actions; at most {MAX_PAIRS:,} pairs are possible."
        )
