"""What every drawing of a grid shows, and the drawing as text.

`describe_layer` gives the letter, color and label of each cell of a layer. Text has its letters, the figures of
`wanderlust.worlds.pictures` and the images of `wanderlust.worlds.raster` have its colors and labels.
"""

from __future__ import annotations

import math
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import counted
from wanderlust.worlds.base import CellKind, Layout, World, single_layer_layout

__all__ = ["logarithmic", "shaded"]

MAX_ROW_LENGTH = 50
"""A world that is a single row of more cells is wrapped into several rows."""
AGENT = "@"
MAX_TEXT_ROWS, MAX_TEXT_COLUMNS = 30, 80
"""The largest map in the text of a world."""

COLORS = {
    CellKind.FLOOR: "#faf8f3",
    CellKind.WALL: "#3d4657",
    CellKind.START: "#d9ecd6",
    CellKind.PRISON: "#d5d0dc",
    CellKind.TREASURE: "#f6cf57",
    CellKind.PENALTY: "#e0716a",
    CellKind.REWARD: "#b5dfa8",
    CellKind.PUDDLE: "#cfe3ef",
    CellKind.PASSENGER: "#c9b8fb",
}
_LETTERS = {CellKind.FLOOR: ".", CellKind.WALL: "#", CellKind.START: "S", CellKind.PRISON: "P"}
_FREE_LETTERS = "ABCDEFGHIJKLMNOQRTUVWXYZ"
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
        drawn = describe_layer(layout, 0)
        lines += ["", *("".join(row) for row in drawn.letter)]
        lines += ["", ", ".join(drawn.legend)] if drawn.meanings else []
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
    columns = min(len(kind), max_columns)
    shape = math.ceil(len(kind) / columns), columns
    unused = math.prod(shape) - len(kind)
    kinds = np.append(kind, [CellKind.WALL] * unused).astype(np.uint8).reshape(shape)
    return single_layer_layout(kinds, np.append(value, np.zeros(unused)).reshape(shape), n_states=len(kind))


class DrawnLayer(NamedTuple):
    """The contents of the cells of one layer, all [row, column]."""

    letter: NDArray[np.str_]
    """One letter, as in a text map."""
    color: NDArray[np.str_]
    """The color of the kind of cell, as "#rrggbb"."""
    label: NDArray[np.str_]
    """The letter of a start or prison, the number of a passenger, the reward of a cell that has one; else empty."""
    meanings: dict[str, str]
    """The meanings of the letters that are not built in."""

    @property
    def legend(self) -> list[str]:
        """The meanings as lines of a text map."""
        return [f"{letter} = {meaning}" for letter, meaning in self.meanings.items()]


def describe_layer(layout: Layout, layer: int) -> DrawnLayer:
    """Return what a drawing shows in each cell of a layer."""
    kinds, values = layout.kind[layer], layout.value[layer]
    letter, label = np.full(kinds.shape, "", dtype="U1"), np.full(kinds.shape, "", dtype="U16")
    meanings: dict[str, str] = {}
    upper, lower = iter(_FREE_LETTERS), iter(ascii_lowercase)
    for kind in (CellKind(int(code)) for code in np.unique(kinds)):
        of_kind = kinds == kind
        if kind is CellKind.PASSENGER:
            # Counted row by row, over all layers.
            has_passenger = (layout.kind == kind).any(axis=0)
            numbers = np.cumsum(has_passenger).reshape(has_passenger.shape)
            letter[of_kind] = label[of_kind] = [str(number) for number in numbers[of_kind]]
        elif kind in _LETTERS:
            letter[of_kind] = _LETTERS[kind]
            label[of_kind] = "" if kind in (CellKind.FLOOR, CellKind.WALL) else _LETTERS[kind]
        else:
            for value in np.unique(values[of_kind]):
                cells = of_kind & (values == value)
                letter[cells] = name = next(lower if kind is CellKind.PUDDLE else upper, _FALLBACK[kind])
                label[cells] = f"{value:,g}"
                meanings[name] = f"{kind.name.lower()} {value:g}" if name != _FALLBACK[kind] else kind.name.lower()
    escapes = (kinds == CellKind.PRISON) & (values > 0)
    label[escapes] = [f"P {value:g}" for value in values[escapes]]
    return DrawnLayer(letter, np.array([COLORS[kind] for kind in CellKind])[kinds], label, meanings)


def text_map(layout: Layout, state: int) -> str:
    """Return the text map of a state's layer with the agent in that state, and a legend."""
    drawn = describe_layer(layout, int(layout.layer[state]))
    drawn.letter[layout.row[state], layout.column[state]] = AGENT
    lines = ["".join(row) for row in drawn.letter]
    return "\n".join([*lines, "", *drawn.legend, ""] if drawn.meanings else [*lines, ""])


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


def rgb(color: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a color "#rrggbb", from 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def is_dark(colors: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which colors [..., (red, green, blue)] need light text on them."""
    return np.asarray(colors @ np.array([0.299, 0.587, 0.114]) < 120)
