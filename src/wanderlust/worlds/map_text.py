"""Parsing of maps, as text or TOML, into a `GridMap`. The format is described in `wanderlust.worlds.grid`.

Both forms are first split into rows and entries that store their location. One parser then handles both, and every
error message names the location.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidMap, WanderlustError, check_integer, check_number, unknown_name
from wanderlust.worlds.base import GRID_ACTIONS, CellKind


@dataclass(frozen=True)
class Cell:
    """The meaning of a letter. `value` is the reward; for a prison, the probability of escape (None: `escape`)."""

    kind: CellKind
    value: float | None = None
    enter: tuple[str, ...] = GRID_ACTIONS


@dataclass(frozen=True)
class GridMap:
    """A parsed and valid map."""

    letters: NDArray[np.str_]
    """[row, column], one letter each."""
    legend: Mapping[str, Cell]
    settings: Mapping[str, Any]
    text: str
    """The plain-text form."""


BUILT_IN = {
    "#": Cell(CellKind.WALL),
    ".": Cell(CellKind.FLOOR, 0.0),
    "S": Cell(CellKind.START, 0.0),
    "P": Cell(CellKind.PRISON),
}
KIND_NAMES = {kind.name.lower(): kind for kind in CellKind if kind is not CellKind.PASSENGER}
_REWARD_BOUNDS = {
    CellKind.TREASURE: (0.0, math.inf),
    CellKind.PENALTY: (-math.inf, 0.0),
    CellKind.REWARD: (-math.inf, math.inf),
    CellKind.PUDDLE: (-math.inf, 0.0),
}


def _name(key: str, value: Any) -> str:
    name = str(value).strip()
    if not name or "\n" in name or ";" in name:
        raise InvalidMap(f"{key} must be non-empty text in one line, without ';', got {value!r}.")
    return name


def _yes_or_no(key: str, value: Any) -> bool:
    if not isinstance(value, bool) and value not in ("yes", "no"):
        raise InvalidMap(f"{key} must be yes or no, got {value!r}.")
    return value is True or value == "yes"


SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    "name": _name,
    "step": check_number,
    "escape": lambda key, value: check_number(key, value, low=0, high=1),
    "treasures_end": _yes_or_no,
    "horizon": lambda key, value: check_integer(key, value, low=1),
    "long_horizon": lambda key, value: check_integer(key, value, low=1),
    "budget": lambda key, value: check_integer(key, value, low=1),
    "discount": lambda key, value: check_number(key, value, low=0, high=1, open_high=True),
}
"""The settings of a map, each with its validation function."""


class _Row(NamedTuple):
    where: str
    first_column: int
    text: str


class _Entry(NamedTuple):
    where: str
    key: str
    value: Any


def read_map(text: str) -> GridMap:
    """Parse the plain-text form of a map."""
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), start=1)]
    while lines and not lines[0][1]:
        lines.pop(0)
    end = next((i for i, (_, line) in enumerate(lines) if not line), len(lines))
    block = lines[:end]
    indent = min((len(line) - len(line.lstrip()) for _, line in block), default=0)
    rows = [_Row(f"line {number}", indent + 1, line[indent:]) for number, line in block]
    entries = []
    for number, full_line in lines[end:]:
        line = full_line.split(";", 1)[0].strip()
        if not line:
            continue
        where = f"line {number}, column {len(full_line) - len(full_line.lstrip()) + 1}"
        key, equals, value = line.partition("=")
        if not equals:
            raise InvalidMap(f"{where}: expected 'letter = kind' or 'setting = value', got {line!r}.")
        entries.append(_Entry(where, key.strip(), _parse_value(value.strip())))
    return _parse(rows, entries, text)


def read_toml_map(text: str) -> GridMap:
    """Parse the TOML form of a map."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidMap(f"not a TOML file: {error}") from None
    block = table.pop("map", None)
    legend = table.pop("legend", {})
    if not isinstance(block, str):
        raise InvalidMap("a TOML map needs a multi-line string 'map'.")
    if not isinstance(legend, dict):
        raise InvalidMap("'legend' must be a table: [legend], then lines such as A = \"treasure 10\".")
    lines = [line.rstrip() for line in dedent(block).strip("\n").splitlines()]
    rows = [_Row(f"map line {number}", 1, line) for number, line in enumerate(lines, start=1)]
    entries = [_Entry(f"legend {letter!r}", letter, meaning) for letter, meaning in legend.items()]
    for entry in entries:
        if len(entry.key) != 1:
            raise InvalidMap(f"{entry.where}: a legend defines single letters.")
    entries += [_Entry(f"setting {key!r}", key, value) for key, value in table.items()]
    definitions = [f"{entry.key} = {_format_value(entry.value)}" for entry in entries]
    return _parse(rows, entries, "\n".join([*lines, "", *definitions, ""]))


def _parse_value(word: str) -> Any:
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            continue
    return word


def _format_value(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _parse(rows: list[_Row], entries: list[_Entry], text: str) -> GridMap:
    legend = dict(BUILT_IN)
    settings: dict[str, Any] = {}
    defined: dict[str, str] = {}
    for where, key, value in entries:
        if key in defined:
            raise InvalidMap(f"{where}: {key!r} is already defined in {defined[key]}.")
        defined[key] = where
        try:
            if len(key) == 1:
                legend[key] = _read_cell(key, value)
            elif key in SETTINGS:
                settings[key] = SETTINGS[key](key, value)
            else:
                raise unknown_name("setting of a map", key, SETTINGS)
        except WanderlustError as error:
            raise InvalidMap(f"{where}: {error}") from None
    letters = _read_block(rows, legend)
    used = set(np.unique(letters).tolist())
    for key, where in defined.items():
        if len(key) == 1 and key not in used:
            raise InvalidMap(f"{where}: the letter {key!r} does not occur in the map.")
    if not any(legend[letter].kind is CellKind.START for letter in used):
        raise InvalidMap(f"{rows[0].where}, column {rows[0].first_column}: the map has no start; write an 'S'.")
    return GridMap(letters=letters, legend=legend, settings=settings, text=text)


def _read_cell(letter: str, meaning: Any) -> Cell:
    if letter in BUILT_IN:
        raise InvalidMap(f"{letter!r} is built in ({BUILT_IN[letter].kind.name.lower()}); choose another letter.")
    words = str(meaning).split() or [""]
    if words[0] not in KIND_NAMES:
        raise unknown_name("kind of cell", words[0], KIND_NAMES)
    kind = KIND_NAMES[words[0]]
    at = words.index("enter") if "enter" in words else len(words)
    numbers, moves = words[1:at], words[at + 1 :]
    if at < len(words) and not moves:
        raise InvalidMap(f"'enter' must name at least one move: {', '.join(GRID_ACTIONS)}.")
    for move in moves:
        if move not in GRID_ACTIONS:
            raise unknown_name("move after 'enter'", move, GRID_ACTIONS)
    min_numbers, max_numbers = int(kind in _REWARD_BOUNDS), int(kind in _REWARD_BOUNDS or kind is CellKind.PRISON)
    if not min_numbers <= len(numbers) <= max_numbers:
        expected = "one number" if min_numbers else "at most one number" if max_numbers else "no number"
        got = f"{' '.join(numbers)!r}" if numbers else "none"
        raise InvalidMap(f"{words[0]} takes {expected}, as in {_EXAMPLES[kind]!r}, got {got}.")
    value: float | None = None if kind is CellKind.PRISON else 0.0
    if numbers:
        low, high = _REWARD_BOUNDS.get(kind, (0.0, 1.0))
        value = check_number(f"the value of a {words[0]}", numbers[0], low=low, high=high)
    return Cell(kind, value, tuple(moves) or GRID_ACTIONS)


_EXAMPLES = {
    CellKind.FLOOR: "f = floor enter down",
    CellKind.WALL: "w = wall",
    CellKind.START: "s = start",
    CellKind.PRISON: "p = prison 0.01",
    CellKind.TREASURE: "A = treasure 10",
    CellKind.PENALTY: "B = penalty -20",
    CellKind.REWARD: "c = reward 0.1",
    CellKind.PUDDLE: "c = puddle -0.01",
}


def _read_block(rows: list[_Row], legend: Mapping[str, Cell]) -> NDArray[np.str_]:
    if not rows or not rows[0].text:
        raise InvalidMap("line 1, column 1: the map is empty; write at least one line, such as 'S..'.")
    width = len(rows[0].text)
    for where, first_column, text in rows:
        if " = " in text:
            raise InvalidMap(f"{where}, column {first_column}: legend and settings must follow after a blank line.")
        if len(text) != width:
            column = first_column + min(len(text), width)
            raise InvalidMap(f"{where}, column {column}: this line has {len(text)} cells, the first has {width}.")
    letters = np.array([row.text for row in rows]).view("U1").reshape(len(rows), width)
    unknown = ~np.isin(letters.view(np.uint32), [ord(letter) for letter in legend])
    if unknown.any():
        row, column = (int(i) for i in np.argwhere(unknown)[0])
        letter = str(letters[row, column])
        other_case = letter.swapcase()
        hint = "floor is '.'." if letter == " " else f"did you mean {other_case!r}?" if other_case in legend else None
        hint = hint or f"define it after a blank line, as in '{letter} = treasure 1'."
        known = " ".join(sorted(legend))
        raise InvalidMap(
            f"{rows[row].where}, column {rows[row].first_column + column}: unknown letter {letter!r}; "
            f"{hint} Known: {known}"
        )
    return letters
