"""Maps in a terminal: cells of several characters if they fit, otherwise half blocks of one or more cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from wanderlust.worlds.base import CellKind, Layout
from wanderlust.worlds.drawing import AGENT, describe_layer, is_dark, rgb

Colors = NDArray[np.uint8]
"""[row, column, (red, green, blue)]"""

MAX_SCALE = 3
"""Maximum number of lines per cell."""

VISITS = ("#1b2330", "#2c5580", "#59a9c4", "#f1eecb")
EXPLORATION = ("#271a33", "#7c2d6b", "#dd6a3f", "#fbe38e")
_UNKNOWN = "#12161d"
_WALL = "#565c68"
_AGENT = "#ff3d8b"
_KIND_COLORS = {CellKind.TREASURE: "#43d675", CellKind.REWARD: "#43d675", CellKind.PENALTY: "#ff5d5d"}


class CellSize(NamedTuple):
    """The size of cells: `scale` lines each; if that is 0, half a line for each square of `pooled` x `pooled` cells."""

    scale: int
    pooled: int

    @property
    def lines_per_cell(self) -> float:
        """The height of one cell."""
        return float(self.scale) if self.scale else 0.5 / self.pooled


def fit_size(rows: int, columns: int, width: int, height: int) -> CellSize:
    """Return the largest cell size at which a map fits into `width` characters and `height` lines."""
    for scale in range(MAX_SCALE, 0, -1):
        if 2 * scale * columns <= width and scale * rows <= height:
            return CellSize(scale, 1)
    # A line of half blocks shows two rows.
    return CellSize(0, max(-(-columns // max(width, 1)), -(-rows // max(2 * height, 1)), 1))


def cell_colors(intensity: NDArray[np.float64], is_wall: NDArray[np.bool_], palette: Sequence[str]) -> Colors:
    """Return the color of each cell, interpolated from the first color at intensity 0 to the last at 1."""
    stops = np.array([rgb(color) for color in palette], dtype=np.float64)
    known = ~np.isnan(intensity)
    position = np.where(known, intensity, 0.0).clip(0, 1) * (len(palette) - 1)
    mixed = np.stack([np.interp(position, np.arange(len(palette)), channel) for channel in stops.T], axis=-1)
    mixed[~known] = rgb(_UNKNOWN)
    mixed[is_wall] = rgb(_WALL)
    return mixed.round().astype(np.uint8)


def draw_map(layout: Layout, state: int, colors: Colors, size: CellSize) -> list[Text]:
    """Return the lines of a map: colored cells with their contents and the agent."""
    if size.scale:
        return _draw_cells(layout, state, colors, size.scale)
    return _draw_half_blocks(layout, state, colors, size.pooled)


def _draw_cells(layout: Layout, state: int, colors: Colors, scale: int) -> list[Text]:
    """Return cells of 2 `scale` characters by `scale` lines, each with its letter in the middle."""
    layer = int(layout.layer[state])
    drawn = describe_layer(layout, layer).letter
    drawn[np.isin(layout.kind[layer], (CellKind.FLOOR, CellKind.WALL))] = " "
    drawn[layout.row[state], layout.column[state]] = AGENT
    lines = []
    for row in range(layout.rows):
        for line in range(scale):
            text = Text(no_wrap=True)
            for column in range(layout.columns):
                letter = str(drawn[row, column]) if line == scale // 2 else " "
                is_agent = (row, column) == (layout.row[state], layout.column[state])
                text.append(letter.center(2 * scale), _style(colors[row, column], is_agent=is_agent))
            lines.append(text)
    return lines


def _style(color: NDArray[np.uint8], *, is_agent: bool) -> Style:
    if is_agent:
        return Style(color="white", bgcolor=_AGENT, bold=True)
    red, green, blue = (int(part) for part in color)
    return Style(color="white" if is_dark(color) else "black", bgcolor=Color.from_rgb(red, green, blue), bold=True)


def _draw_half_blocks(layout: Layout, state: int, colors: Colors, pooled: int) -> list[Text]:
    """Return half blocks; a block of several cells shows the agent, else a reward, a wall or the brightest cell."""
    marked = colors.copy()
    priority = colors.astype(np.int64).sum(axis=2)
    kinds = layout.kind[int(layout.layer[state])]
    priority[kinds == CellKind.WALL] = 900
    for kind, color in _KIND_COLORS.items():
        marked[kinds == kind] = rgb(color)
        priority[kinds == kind] = 1_000
    agent = int(layout.row[state]), int(layout.column[state])
    marked[agent], priority[agent] = rgb(_AGENT), 2_000
    blocks = _pool(marked, priority, pooled)
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


def _pool(colors: Colors, priority: NDArray[np.int64], pooled: int) -> Colors:
    """Return one cell for each square of `pooled` x `pooled` cells: the one with the highest priority."""
    rows, columns = (-(-length // pooled) for length in priority.shape)
    best = np.full((rows, columns), -1)
    chosen = np.zeros((rows, columns, 3), dtype=np.uint8)
    for row in range(pooled):
        for column in range(pooled):
            part = priority[row::pooled, column::pooled]
            region = slice(part.shape[0]), slice(part.shape[1])
            better = part > best[region]
            chosen[region][better] = colors[row::pooled, column::pooled][better]
            best[region][better] = part[better]
    return chosen
