"""Parsing of maps, as text or TOML, into a `GridMap`, and map files. `wanderlust.worlds.grid` describes the format.

Both forms are first split into rows and entries that store their location. One parser then handles both, and every
error message names the location.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import (
    BadFile,
    InvalidMap,
    WanderlustError,
    check_integer,
    check_number,
    check_pairs,
    plain_value,
    shown,
    unknown_name,
)
from wanderlust.core.files import read_text_file, shown_path
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
MAP_SUFFIXES = (".txt", ".toml")
MAX_BYTES = 10_000_000
"""The largest map file."""
MAX_DOTS = 20
"""The most dots outside of texts in a line of TOML."""
_TEXTS_AND_COMMENTS = re.compile(
    r"""'''.*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL | re.VERBOSE
)
MAX_NAME = 200
MAX_STEPS = 10**12
KIND_NAMES = {kind.name.lower(): kind for kind in CellKind if kind is not CellKind.PASSENGER}
_REWARD_BOUNDS = {
    CellKind.TREASURE: (0.0, math.inf),
    CellKind.PENALTY: (-math.inf, 0.0),
    CellKind.REWARD: (-math.inf, math.inf),
    CellKind.PUDDLE: (-math.inf, 0.0),
}


def _name(key: str, value: Any) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or not name.isprintable() or ";" in name or len(name) > MAX_NAME:
        expected = f"non-empty text in one line, without ';', of at most {MAX_NAME} characters"
        raise InvalidMap(f"{key} must be {expected}, got {shown(value)}.")
    return name


def _yes_or_no(key: str, value: Any) -> bool:
    flag = plain_value(value)
    if not isinstance(flag, bool) and not (isinstance(flag, str) and flag in ("yes", "no")):
        raise InvalidMap(f"{key} must be yes or no, got {shown(value)}.")
    return flag is True or flag == "yes"


SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    "name": _name,
    "step": check_number,
    "escape": lambda key, value: check_number(key, value, low=0, high=1),
    "treasures_end": _yes_or_no,
    "horizon": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
    "long_horizon": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
    "budget": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
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
            raise InvalidMap(f"{where}: expected 'letter = kind' or 'setting = value', got {shown(line)}.")
        key, value = key.strip(), value.strip()
        entries.append(_Entry(where, key, value if key == "name" else parse_number(value)))
    return _parse(rows, entries, text)


def read_toml_map(text: str) -> GridMap:
    """Parse the TOML form of a map."""
    table = parse_toml(text)
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


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text, or raise `InvalidMap`."""
    # The parser needs memory that grows with the square of the parts of a dotted key, a.b.c...
    for number, line in enumerate(_TEXTS_AND_COMMENTS.sub(_line_breaks, text).split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise InvalidMap(f"not a TOML map: line {number} has {line.count('.'):,} dots outside of texts.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidMap("not a TOML map: too many nested brackets.") from None
    except ValueError as error:  # A TOMLDecodeError, or an integer with thousands of digits.
        raise InvalidMap(f"not a TOML file: {error}") from None


def _line_breaks(match: re.Match[str]) -> str:
    """Return the line breaks of a text, so that the numbers of the following lines stay the same."""
    return "\n" * match[0].count("\n")


def read_map_file(path: Path) -> str:
    """Return the text map of a `.txt` or `.toml` file, or raise `InvalidMap` with the path."""
    try:
        text = read_text_file(path, max_bytes=MAX_BYTES)
    except BadFile as error:
        reason = str(error).removeprefix(f"{shown_path(path)}: ")
        raise InvalidMap(f"cannot read the map {shown_path(path)!r}: {reason}") from None
    try:
        return read_toml_map(text).text if path.suffix == ".toml" else text
    except InvalidMap as error:
        raise InvalidMap(f"{shown_path(path)}: {error}") from None


def parse_number(word: str) -> Any:
    """Return the finite number that a word is, or the word."""
    for convert in (int, float):
        try:
            number = convert(word)
        except ValueError:
            continue
        return number if math.isfinite(number) else word
    return word


def _format_value(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else " ".join(str(value).split())


def _parse(rows: list[_Row], entries: list[_Entry], text: str) -> GridMap:
    legend = dict(BUILT_IN)
    settings: dict[str, Any] = {}
    defined: dict[str, str] = {}
    for where, key, value in entries:
        if key in defined:
            raise InvalidMap(f"{where}: {shown(key)} is already defined in {defined[key]}.")
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
    if letter in ";=" or letter.isspace() or not letter.isprintable():
        raise InvalidMap(f"{letter!r} cannot be a letter of a map; choose another one.")
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
        got = shown(" ".join(numbers)) if numbers else "none"
        raise InvalidMap(f"{words[0]} takes {expected}, got {got}.")
    value: float | None = None if kind is CellKind.PRISON else 0.0
    if numbers:
        low, high = _REWARD_BOUNDS.get(kind, (0.0, 1.0))
        value = check_number(f"the value of a {words[0]}", parse_number(numbers[0]), low=low, high=high)
    return Cell(kind, value, tuple(moves) or GRID_ACTIONS)


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
    check_pairs("the map", len(rows) * width, len(GRID_ACTIONS))
    letters = np.array([row.text for row in rows]).view("U1").reshape(len(rows), width)
    unknown = ~np.isin(letters.view(np.uint32), [ord(letter) for letter in legend])
    if unknown.any():
        row, column = (int(i) for i in np.argwhere(unknown)[0])
        letter = rows[row].text[column]  # NumPy drops null characters.
        other_case = letter.swapcase()
        hint = "floor is '.'." if letter == " " else f"did you mean {other_case!r}?" if other_case in legend else None
        if not letter.isprintable():
            hint = "it cannot be printed; is this a text file?"
        hint = hint or f"define it after a blank line, as in '{letter} = treasure 1'."
        known = " ".join(sorted(legend))
        raise InvalidMap(
            f"{rows[row].where}, column {rows[row].first_column + column}: unknown letter {letter!r}; "
            f"{hint} Known: {known}"
        )
    return letters
