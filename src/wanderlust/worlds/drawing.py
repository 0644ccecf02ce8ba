"""Worlds on paper: sheets of cells that every world has, and maps of letters."""

from __future__ import annotations

import math
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.worlds.base import CellKind, Layout, World

LONGEST_ROW = 50
"""A world that is one row of more cells is folded, as a long line of text is."""
AGENT = "@"

_FIXED = {CellKind.FLOOR: ".", CellKind.WALL: "#", CellKind.START: "S", CellKind.PRISON: "P"}
_BIG_LETTERS = "".join(letter for letter in ascii_uppercase if letter not in _FIXED.values())
_SPARE = {CellKind.TREASURE: "$", CellKind.PENALTY: "!", CellKind.REWARD: "+", CellKind.PUDDLE: "~"}


def sheet_of(world: World) -> Layout:
    """Return the world's layout, folded if it is one long row; a world without one has its states side by side."""
    layout = world.layout
    if layout is None:
        is_start = world.mdp.start > 0
        layout = _in_rows(np.where(is_start, CellKind.START, CellKind.FLOOR), np.zeros(world.n_states), LONGEST_ROW)
    elif layout.rows == layout.n_layers == 1 and layout.columns > LONGEST_ROW:
        cells = layout.kind[0, 0, layout.column], layout.value[0, 0, layout.column]
        layout = _in_rows(*cells, math.ceil(math.sqrt(layout.columns)))
    return layout


def _in_rows(kind: NDArray[np.uint8], value: NDArray[np.float64], longest: int) -> Layout:
    """Return a layout with the states one after the other in rows; what is left of the last row is wall."""
    n_states = len(kind)
    columns = min(n_states, longest)
    rows = math.ceil(n_states / columns)
    row, column = np.divmod(np.arange(n_states, dtype=np.int32), np.int32(columns))
    kinds = np.full((1, rows, columns), CellKind.WALL, dtype=np.uint8)
    values = np.zeros((1, rows, columns))
    kinds[0, row, column], values[0, row, column] = kind, value
    layer = np.zeros(n_states, dtype=np.int32)
    return Layout(rows=rows, columns=columns, row=row, column=column, layer=layer, kind=kinds, value=values)


def letters(sheet: Layout, layer: int) -> tuple[NDArray[np.str_], dict[str, str]]:
    """Return a letter for every cell of a layer, and what the letters mean that a map has to explain."""
    kinds, values = sheet.kind[layer], sheet.value[layer]
    drawn = np.empty(kinds.shape, dtype="U1")
    meanings: dict[str, str] = {}
    big, small = iter(_BIG_LETTERS), iter(ascii_lowercase)
    for kind in (CellKind(int(number)) for number in np.unique(kinds)):
        here = kinds == kind
        if kind is CellKind.PASSENGER:
            drawn[here] = [str(number) for number in passenger_numbers(sheet)[here]]
        elif kind in _FIXED:
            drawn[here] = _FIXED[kind]
        else:
            for value in np.unique(values[here]):
                letter = next(small if kind is CellKind.PUDDLE else big, _SPARE[kind])
                drawn[here & (values == value)] = letter
                meanings[letter] = f"{kind.name.lower()} {value:g}" if letter != _SPARE[kind] else kind.name.lower()
    return drawn, meanings


def passenger_numbers(sheet: Layout) -> NDArray[np.int64]:
    """Return [row, column]: the passengers of all layers, numbered from 1 in the order of reading, and else 0."""
    waiting = (sheet.kind == CellKind.PASSENGER).any(axis=0)
    return np.where(waiting, np.cumsum(waiting).reshape(waiting.shape), 0)


def text_map(sheet: Layout, state: int) -> str:
    """Return the layer that a state is on as a map with the agent in that state, and the letters explained."""
    drawn, meanings = letters(sheet, int(sheet.layer[state]))
    drawn[sheet.row[state], sheet.column[state]] = AGENT
    lines = ["".join(row) for row in drawn]
    legend = [f"{letter} = {meaning}" for letter, meaning in meanings.items()]
    return "\n".join([*lines, "", *legend, ""]) if legend else "\n".join([*lines, ""])


def by_cell(sheet: Layout, values: NDArray[np.float64], *, largest: bool) -> NDArray[np.float64]:
    """Return [row, column]: the sum or the largest of the values of all states that are drawn in a cell.

    NaN is for states that have no value, and for cells that have no state: walls.
    """
    drawn = sheet.kind[sheet.layer, sheet.row, sheet.column] != CellKind.WALL
    there = drawn & ~np.isnan(values)
    cells = np.full((sheet.rows, sheet.columns), -np.inf if largest else 0.0)
    (np.maximum if largest else np.add).at(cells, (sheet.row[there], sheet.column[there]), values[there])
    has_value = np.zeros(cells.shape, dtype=np.bool_)
    has_value[sheet.row[there], sheet.column[there]] = True
    return np.where(has_value, cells, np.nan)


SHADES = " ·░▒▓█"


def shaded(depth: NDArray[np.float64], *, width: int = 2) -> list[str]:
    """Return the rows of a map of characters, the darker the nearer its cell's depth is to 1."""
    shade = np.ceil(np.nan_to_num(depth) * (len(SHADES) - 1)).astype(int).clip(0, len(SHADES) - 1)
    return ["".join(SHADES[i] * width for i in row) for row in shade]


def logarithmic(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the logarithms of counts as shares of that of the largest."""
    largest = float(np.nanmax(counts)) if np.isfinite(counts).any() else 0.0
    return np.asarray(np.log1p(counts) / max(float(np.log1p(largest)), 1.0))
