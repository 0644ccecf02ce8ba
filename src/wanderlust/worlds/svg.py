"""The map of a world as SVG, for notebooks."""

from __future__ import annotations

import html

import numpy as np

from wanderlust.core.figures import text_html
from wanderlust.worlds.base import CellKind, Layout, World
from wanderlust.worlds.drawing import display_layout, letters, passenger_numbers, world_text

COLOURS = {
    CellKind.FLOOR: "#faf8f3",
    CellKind.WALL: "#3d4657",
    CellKind.START: "#d9ecd6",
    CellKind.PRISON: "#d5d0dc",
    CellKind.TREASURE: "#f6cf57",
    CellKind.PENALTY: "#e0716a",
    CellKind.REWARD: "#f8e6a8",
    CellKind.PUDDLE: "#cfe3ef",
    CellKind.PASSENGER: "#faf8f3",
}
"""The colour of each kind of cell in pictures."""
_CELL, _MAX_SIZE, _MAX_CELLS = 36, 480, 4_000


def world_html(world: World) -> str:
    """Return the first lines of the summary of a world, and its map."""
    return text_html(world_text(world).partition("\n\n")[0]) + (layout_svg(display_layout(world)) or "")


def layout_svg(layout: Layout) -> str | None:
    """Return the first layer of a map as SVG, or None if it has too many cells for a page."""
    if layout.rows * layout.columns > _MAX_CELLS:
        return None
    size = max(min(_CELL, _MAX_SIZE // max(layout.rows, layout.columns)), 3)
    parts = []
    drawn, passengers = letters(layout, 0)[0], passenger_numbers(layout)
    for row, column in np.ndindex(layout.rows, layout.columns):
        kind, value = CellKind(int(layout.kind[0, row, column])), float(layout.value[0, row, column])
        x, y = column * size, row * size
        position = f'x="{x}" y="{y}" width="{size}" height="{size}"'
        parts.append(f'<rect {position} fill="{COLOURS[kind]}" stroke="#d8d4ca"/>')
        label = _label(kind, value, int(passengers[row, column]), str(drawn[row, column]))
        if label and size >= 18:
            font = min(0.42 * size, 1.5 * size / max(len(label), 1))
            centre = f'x="{x + size / 2:g}" y="{y + size / 2:g}" dominant-baseline="central" text-anchor="middle"'
            text = f'font-family="sans-serif" font-size="{font:.3g}" fill="#2b2f38"'
            parts.append(f"<text {centre} {text}>{html.escape(label)}</text>")
    width, height = layout.columns * size, layout.rows * size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def _label(kind: CellKind, value: float, passenger: int, letter: str) -> str:
    if kind in (CellKind.FLOOR, CellKind.WALL):
        return ""
    if kind is CellKind.PASSENGER:
        return str(passenger)
    return letter if kind in (CellKind.START, CellKind.PRISON) else f"{value:g}"
