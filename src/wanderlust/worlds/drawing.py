"""Text maps of worlds, and values of states aggregated per cell."""

from __future__ import annotations

import math
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import counted
from wanderlust.worlds.base import CellKind, Layout, World

MAX_ROW_LENGTH = 50
"""A world that is a single row of more cells is wrapped into several rows."""
AGENT = "@"
MAX_TEXT_ROWS, MAX_TEXT_COLUMNS = 30, 80
"""The largest map in the text of a world."""

_LETTERS = {CellKind.FLOOR: ".", CellKind.WALL: "#", CellKind.START: "S", CellKind.PRISON: "P"}
_FREE_LETTERS = "".join(letter for letter in ascii_uppercase if letter not in _LETTERS.values())
_FALLBACK = {CellKind.TREASURE: "$", CellKind.PENALTY: "!", CellKind.REWARD: "+", CellKind.PUDDLE: "~"}


def world_text(world: World) -> str:
    """Return a summary of a world in a few lines, with its map if that fits a terminal."""
    low, high = world.mdp.reward_range
    kind = "deterministic" if world.mdp.deterministic else "stochastic"
    lines = [
        f"World {world.name}: {counted(world.n_states, 'state')}, "
        f"{counted(world.n_actions, 'action')} ({', '.join(world.action_names)}), {kind}",
        f"rewards from {low:g} to {high:g}, horizon {world.defaults.horizon:,}, budget {world.defaults.budget:,}",
    ]
    layout = world.layout
    if layout is not None and layout.rows <= MAX_TEXT_ROWS and layout.columns <= MAX_TEXT_COLUMNS:
        drawn, meanings = letters(layout, 0)
        lines += ["", *("".join(row) for row in drawn)]
        legend = [f"{letter} = {meaning}" for letter, meaning in meanings.items()]
        lines += ["", ", ".join(legend)] if legend else []
    return "\n".join(lines)


def display_layout(world: World) -> Layout:
    """Return the world's layout, wrapped if it is one long row; without a layout, the states in index order."""
    layout = world.layout
    if layout is None:
        kind = np.where(world.mdp.start > 0, CellKind.START, CellKind.FLOOR)
        layout = _wrapped_layout(kind, np.zeros(world.n_states), MAX_ROW_LENGTH)
    elif layout.rows == layout.n_layers == 1 and layout.columns > MAX_ROW_LENGTH:
        cells = layout.kind[0, 0, layout.column], layout.value[0, 0, layout.column]
        layout = _wrapped_layout(*cells, math.ceil(math.sqrt(layout.columns)))
    return layout


def _wrapped_layout(kind: NDArray[np.uint8], value: NDArray[np.float64], max_columns: int) -> Layout:
    """Return a layout with the states in index order, row by row; unused cells of the last row are walls."""
    n_states = len(kind)
    columns = min(n_states, max_columns)
    rows = math.ceil(n_states / columns)
    row, column = np.divmod(np.arange(n_states, dtype=np.int32), np.int32(columns))
    kinds = np.full((1, rows, columns), CellKind.WALL, dtype=np.uint8)
    values = np.zeros((1, rows, columns))
    kinds[0, row, column], values[0, row, column] = kind, value
    layer = np.zeros(n_states, dtype=np.int32)
    return Layout(rows=rows, columns=columns, row=row, column=column, layer=layer, kind=kinds, value=values)


def letters(layout: Layout, layer: int) -> tuple[NDArray[np.str_], dict[str, str]]:
    """Return a letter for each cell of a layer, and the meanings of the letters that are not built in."""
    kinds, values = layout.kind[layer], layout.value[layer]
    drawn = np.empty(kinds.shape, dtype="U1")
    meanings: dict[str, str] = {}
    upper, lower = iter(_FREE_LETTERS), iter(ascii_lowercase)
    for kind in (CellKind(int(code)) for code in np.unique(kinds)):
        of_kind = kinds == kind
        if kind is CellKind.PASSENGER:
            drawn[of_kind] = [str(number) for number in passenger_numbers(layout)[of_kind]]
        elif kind in _LETTERS:
            drawn[of_kind] = _LETTERS[kind]
        else:
            for value in np.unique(values[of_kind]):
                letter = next(lower if kind is CellKind.PUDDLE else upper, _FALLBACK[kind])
                drawn[of_kind & (values == value)] = letter
                meanings[letter] = f"{kind.name.lower()} {value:g}" if letter != _FALLBACK[kind] else kind.name.lower()
    return drawn, meanings


def passenger_numbers(layout: Layout) -> NDArray[np.int64]:
    """Return [row, column]: the number of the passenger in the cell, counted row by row from 1, or 0."""
    has_passenger = (layout.kind == CellKind.PASSENGER).any(axis=0)
    return np.where(has_passenger, np.cumsum(has_passenger).reshape(has_passenger.shape), 0)


def text_map(layout: Layout, state: int) -> str:
    """Return the text map of a state's layer with the agent in that state, and a legend."""
    drawn, meanings = letters(layout, int(layout.layer[state]))
    drawn[layout.row[state], layout.column[state]] = AGENT
    lines = ["".join(row) for row in drawn]
    legend = [f"{letter} = {meaning}" for letter, meaning in meanings.items()]
    return "\n".join([*lines, "", *legend, ""]) if legend else "\n".join([*lines, ""])


def by_cell(layout: Layout, values: NDArray[np.float64], *, largest: bool) -> NDArray[np.float64]:
    """Return [row, column]: the sum, or with `largest` the maximum, of the values of all states in a cell.

    States with the value NaN are ignored. Walls and cells without any value are NaN.
    """
    is_open = layout.kind[layout.layer, layout.row, layout.column] != CellKind.WALL
    used = is_open & ~np.isnan(values)
    cells = np.full((layout.rows, layout.columns), -np.inf if largest else 0.0)
    (np.maximum if largest else np.add).at(cells, (layout.row[used], layout.column[used]), values[used])
    has_value = np.zeros(cells.shape, dtype=np.bool_)
    has_value[layout.row[used], layout.column[used]] = True
    return np.where(has_value, cells, np.nan)


SHADES = " ·░▒▓█"


def shaded(intensity: NDArray[np.float64], *, width: int = 2) -> list[str]:
    """Return the rows of a text map whose characters get darker as the intensity of a cell goes from 0 to 1."""
    shade = np.ceil(np.nan_to_num(intensity) * (len(SHADES) - 1)).astype(int).clip(0, len(SHADES) - 1)
    return ["".join(SHADES[i] * width for i in row) for row in shade]


def logarithmic(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return log(1 + counts), divided by its maximum if that is greater than 1."""
    largest = float(np.nanmax(counts)) if np.isfinite(counts).any() else 0.0
    return np.asarray(np.log1p(counts) / max(float(np.log1p(largest)), 1.0))
