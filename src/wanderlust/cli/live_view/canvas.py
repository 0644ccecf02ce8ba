"""Maps in a terminal: cells as large as fit, or, in worlds too large for that, half blocks that stand for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from wanderlust.worlds.base import CellKind, Layout
from wanderlust.worlds.drawing import AGENT, letters

Colours = NDArray[np.uint8]
"""[row, column, (red, green, blue)]"""

LARGEST_SCALE = 3
"""Lines per cell, at most."""

VISITS = ("#1b2330", "#2c5580", "#59a9c4", "#f1eecb")
PROMISE = ("#271a33", "#7c2d6b", "#dd6a3f", "#fbe38e")
_UNKNOWN = "#12161d"
_WALL = "#565c68"
_AGENT = "#ff3d8b"
_MARKS = {CellKind.TREASURE: "#43d675", CellKind.REWARD: "#43d675", CellKind.PENALTY: "#ff5d5d"}


class Size(NamedTuple):
    """How large cells are drawn: `scale` lines each, or, if that is 0, as half a line for `pooled` cells squared."""

    scale: int
    pooled: int

    @property
    def lines_per_cell(self) -> float:
        """How tall one cell is."""
        return float(self.scale) if self.scale else 0.5 / self.pooled


def fitting(rows: int, columns: int, width: int, height: int) -> Size:
    """Return the largest size at which a sheet fits into so many characters and lines."""
    for scale in range(LARGEST_SCALE, 0, -1):
        if 2 * scale * columns <= width and scale * rows <= height:
            return Size(scale, 1)
    # Two cells to a line, one above the other.
    return Size(0, max(-(-columns // max(width, 1)), -(-rows // max(2 * height, 1)), 1))


def colours(depth: NDArray[np.float64], is_wall: NDArray[np.bool_], scale: Sequence[str]) -> Colours:
    """Return the colour of each cell, from the first of the scale where depth is 0 to the last where it is 1."""
    stops = np.array([_rgb(colour) for colour in scale], dtype=np.float64)
    known = ~np.isnan(depth)
    place = np.where(known, depth, 0.0).clip(0, 1) * (len(scale) - 1)
    mixed = np.stack([np.interp(place, np.arange(len(scale)), channel) for channel in stops.T], axis=-1)
    mixed[~known] = _rgb(_UNKNOWN)
    mixed[is_wall] = _rgb(_WALL)
    return mixed.round().astype(np.uint8)


def painted(sheet: Layout, state: int, paint: Colours, size: Size) -> list[Text]:
    """Return the lines of a map: cells in their colours, and upon them what is in them, and the agent."""
    return _large(sheet, state, paint, size.scale) if size.scale else _small(sheet, state, paint, size.pooled)


def _large(sheet: Layout, state: int, paint: Colours, scale: int) -> list[Text]:
    """Return cells of 2 `scale` characters by `scale` lines, each with its letter in the middle."""
    layer = int(sheet.layer[state])
    drawn = letters(sheet, layer)[0]
    drawn[np.isin(sheet.kind[layer], (CellKind.FLOOR, CellKind.WALL))] = " "
    drawn[sheet.row[state], sheet.column[state]] = AGENT
    lines = []
    for row in range(sheet.rows):
        for line in range(scale):
            text = Text(no_wrap=True)
            for column in range(sheet.columns):
                letter = str(drawn[row, column]) if line == scale // 2 else " "
                here = (row, column) == (sheet.row[state], sheet.column[state])
                text.append(letter.center(2 * scale), _style(paint[row, column], here=here))
            lines.append(text)
    return lines


def _style(colour: NDArray[np.uint8], *, here: bool) -> Style:
    if here:
        return Style(color="white", bgcolor=_AGENT, bold=True)
    red, green, blue = (int(part) for part in colour)
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 120
    return Style(color="white" if dark else "black", bgcolor=Color.from_rgb(red, green, blue), bold=True)


def _small(sheet: Layout, state: int, paint: Colours, pooled: int) -> list[Text]:
    """Return half blocks; one that stands for several cells has the colour of what is in them, or of the brightest."""
    marked = paint.copy()
    rank = paint.astype(np.int64).sum(axis=2)
    kinds = sheet.kind[int(sheet.layer[state])]
    rank[kinds == CellKind.WALL] = 900
    for kind, colour in _MARKS.items():
        marked[kinds == kind] = _rgb(colour)
        rank[kinds == kind] = 1_000
    at = int(sheet.row[state]), int(sheet.column[state])
    marked[at], rank[at] = _rgb(_AGENT), 2_000
    blocks = _pool(marked, rank, pooled)
    lines = []
    for upper in range(0, len(blocks), 2):
        text = Text(no_wrap=True)
        for column in range(blocks.shape[1]):
            below = blocks[upper + 1, column] if upper + 1 < len(blocks) else None
            bgcolor = None if below is None else Color.from_rgb(*(int(part) for part in below))
            above = Color.from_rgb(*(int(part) for part in blocks[upper, column]))
            text.append("▀", Style(color=above, bgcolor=bgcolor))
        lines.append(text)
    return lines


def _pool(paint: Colours, rank: NDArray[np.int64], pooled: int) -> Colours:
    """Return one cell for each square of cells: the one of the highest rank."""
    rows, columns = (-(-length // pooled) for length in rank.shape)
    best = np.full((rows, columns), -1)
    chosen = np.zeros((rows, columns, 3), dtype=np.uint8)
    for down in range(pooled):
        for right in range(pooled):
            part = rank[down::pooled, right::pooled]
            here = slice(part.shape[0]), slice(part.shape[1])
            better = part > best[here]
            chosen[here][better] = paint[down::pooled, right::pooled][better]
            best[here][better] = part[better]
    return chosen


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
