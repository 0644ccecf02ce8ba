"""A grid and the agent as an image: frames of environments.

A frame has three levels: the colors of the cells, shaded by visit count, the symbols, drawn once for each layer of the
layout, and the agent; below the grid there is a line of text.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.drawing import COLORS, by_cell, describe_layer, is_dark, rgb

Pixels = NDArray[np.uint8]

MAX_GRID_SIZE = 640
"""The largest width and height of the grid, in pixels."""
MAX_CELL_SIZE = 72
_TEXT_HEIGHT = 28
MIN_WIDTH = 360
"""Leaves enough space for the line of text."""
_MIN_CELL_WITH_LINES = 5
_MIN_CELL_WITH_TEXT = 22
_MAX_VALUES_BESIDE = 40
_SMALL_FONT = 13.0
_SUPERSAMPLING = 4
"""Symbols are drawn larger by this factor and then reduced, which makes their edges smooth."""

_VISITED = "#5b8fd6"
_LINE = "#d8d4ca"
_TEXT = "#2b2f38"
_AGENT = "#c2255c"
_BACKGROUND = "#ffffff"
_STRONG = {CellKind.START: "#2f9e44", CellKind.TREASURE: "#f08c00", CellKind.PENALTY: "#c92a2a"}


class Renderer:
    """Draws images of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.cell = min(max(MAX_GRID_SIZE // max(layout.rows, layout.columns), 1), MAX_CELL_SIZE)
        # Video codecs need even sizes.
        self.width = (max(layout.columns * self.cell, MIN_WIDTH) + 1) // 2 * 2
        self.height = (layout.rows * self.cell + _TEXT_HEIGHT + 1) // 2 * 2
        self.left = (self.width - layout.columns * self.cell) // 2
        self._symbols: dict[int, tuple[bytes, Image.Image]] = {}

    def frame(self, state: int, visits: NDArray[np.int64], title: str) -> Pixels:
        """Return the image [row, column, color] of the agent in a state, with a line of text."""
        image = Image.new("RGB", (self.width, self.height), _BACKGROUND)
        image.paste(self._grid(state, visits), (self.left, 0))
        y = self.layout.rows * self.cell + _TEXT_HEIGHT // 2
        font = _font_for(title, self.width - 12, 14)
        ImageDraw.Draw(image).text((6, y), title, fill=_TEXT, font=font, anchor="lm")
        return np.asarray(image)

    def _grid(self, state: int, visits: NDArray[np.int64]) -> Image.Image:
        """Return the image of the agent in a state."""
        layout, layer, size = self.layout, int(self.layout.layer[state]), self.cell
        colors = self._shaded_by_visits(layer, visits)
        pixels = colors.repeat(size, axis=0).repeat(size, axis=1)
        if size >= _MIN_CELL_WITH_LINES:
            is_wall = (layout.kind[layer] == CellKind.WALL).repeat(size, axis=0).repeat(size, axis=1)
            edge = np.zeros(pixels.shape[:2], dtype=np.bool_)
            edge[::size] = edge[:, ::size] = True
            pixels[edge & ~is_wall] = rgb(_LINE)
        image = Image.fromarray(pixels)
        dark = is_dark(colors)
        if layer not in self._symbols or self._symbols[layer][0] != dark.tobytes():
            self._symbols[layer] = dark.tobytes(), self._draw_symbols(layer, dark)
        symbols = self._symbols[layer][1]
        image.paste(symbols, (0, 0), symbols)
        margin = (self._agent.width - size) // 2
        place = int(layout.column[state]) * size - margin, int(layout.row[state]) * size - margin
        image.paste(self._agent, place, self._agent)
        return image

    def _shaded_by_visits(self, layer: int, visits: NDArray[np.int64]) -> Pixels:
        """Return the color of the kind of each cell, mixed with blue by the logarithm of its visit count."""
        kinds = self.layout.kind[layer]
        palette = np.array([rgb(COLORS[kind]) for kind in CellKind], dtype=np.float64)
        counts = np.nan_to_num(by_cell(self.layout, visits.astype(np.float64), largest=False))
        intensity = np.log1p(counts) / np.log1p(max(float(counts.max()), 9.0))
        strength = np.where(kinds == CellKind.WALL, 0.0, 0.75 * intensity)
        # The color of these kinds must remain recognizable.
        strength *= np.where(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD)), 0.35, 1.0)
        shades = palette[kinds] + strength[:, :, None] * (np.array(rgb(_VISITED)) - palette[kinds])
        return np.asarray(shades.round().astype(np.uint8))

    def _draw_symbols(self, layer: int, dark: NDArray[np.bool_]) -> Image.Image:
        """Return the symbols of a layer on a transparent image."""
        layout, size = self.layout, self.cell
        symbols = Image.new("RGBA", (layout.columns * size, layout.rows * size), (0, 0, 0, 0))
        labels = describe_layer(layout, layer).label
        for row, column in np.argwhere(labels != ""):
            kind = CellKind(int(layout.kind[layer, row, column]))
            symbol = _symbol(kind, str(labels[row, column]), size, bool(dark[row, column]))
            symbols.alpha_composite(symbol, (int(column) * size, int(row) * size))
        if size < _MIN_CELL_WITH_TEXT:
            self._write_values_beside(symbols, layer, labels)
        if layout.entry is not None and size >= _MIN_CELL_WITH_LINES:
            draw = ImageDraw.Draw(symbols)
            for row, column in np.argwhere(layout.entry != 15):
                _draw_closed_sides(draw, int(column) * size, int(row) * size, size, int(layout.entry[row, column]))
        return symbols

    def _write_values_beside(self, symbols: Image.Image, layer: int, labels: NDArray[np.str_]) -> None:
        """Write the values of treasures and penalties next to cells that are too small for them."""
        terminal_cells = np.argwhere(np.isin(self.layout.kind[layer], (CellKind.TREASURE, CellKind.PENALTY)))
        if len(terminal_cells) > _MAX_VALUES_BESIDE:
            return
        draw, half, size = ImageDraw.Draw(symbols), _SMALL_FONT / 2, self.cell
        for row, column in terminal_cells:
            text = str(labels[row, column])
            font = _font_for(text, self.width, _SMALL_FONT)
            y = min(max((row + 0.5) * size, half), symbols.height - half)
            right = (column + 1) * size + 3
            fits = right + font.getlength(text) < symbols.width
            x, anchor = (right, "lm") if fits else (column * size - 3, "rm")
            outline = rgb(COLORS[CellKind.FLOOR])
            draw.text((x, y), text, fill=_TEXT, font=font, anchor=anchor, stroke_width=2, stroke_fill=outline)

    @cached_property
    def _agent(self) -> Image.Image:
        """A disc with a light border; if cells are tiny it is larger than a cell, to be visible."""
        size = max(self.cell, 9)
        scaled = size * _SUPERSAMPLING
        disc = Image.new("RGBA", (scaled, scaled), (0, 0, 0, 0))
        draw = ImageDraw.Draw(disc)
        inset = scaled * 0.16 if self.cell >= _MIN_CELL_WITH_TEXT else 0.0
        draw.ellipse((inset, inset, scaled - 1 - inset, scaled - 1 - inset), fill=_BACKGROUND)
        inset += scaled * (0.06 if self.cell >= _MIN_CELL_WITH_TEXT else 0.1)
        draw.ellipse((inset, inset, scaled - 1 - inset, scaled - 1 - inset), fill=_AGENT)
        return disc.resize((size, size), Image.Resampling.LANCZOS)


@lru_cache(maxsize=256)
def _symbol(kind: CellKind, label: str, size: int, dark: bool) -> Image.Image:
    """Return the symbol of one cell on a transparent square; light text on a dark cell."""
    scaled = size * _SUPERSAMPLING
    symbol = Image.new("RGBA", (scaled, scaled), (0, 0, 0, 0))
    draw = ImageDraw.Draw(symbol)
    if kind is CellKind.PRISON:
        for x in (scaled * i / 5 for i in range(1, 5)):
            color = COLORS[kind] if dark else "#6d6578"
            draw.line((x, scaled * 0.08, x, scaled * 0.92), fill=color, width=max(scaled // 16, 1))
    if size < _MIN_CELL_WITH_TEXT:
        if kind in _STRONG:  # Too small for text: the whole cell gets a strong color.
            draw.rectangle((0, 0, scaled, scaled), fill=_STRONG[kind])
    elif label != "P":  # The bars are enough.
        font, center = _font_for(label, 0.8 * scaled, 0.34 * scaled), (scaled / 2, scaled / 2)
        color = _BACKGROUND if dark else _TEXT
        if kind is CellKind.PRISON:
            left, top, right, bottom = draw.textbbox(center, label, font=font, anchor="mm")
            edge, color = 0.05 * scaled, _TEXT
            draw.rectangle((left - edge, top - edge, right + edge, bottom + edge), fill=COLORS[kind])
        draw.text(center, label, fill=color, font=font, anchor="mm")
    return symbol.resize((size, size), Image.Resampling.LANCZOS)


def _draw_closed_sides(draw: ImageDraw.ImageDraw, x: int, y: int, size: int, entry: int) -> None:
    """Draw a bar at each side through which the cell cannot be entered; moving left enters through the right side."""
    width = max(size // 16, 1)
    far = size - width
    bars = {
        "left": (x + far, y, x + size - 1, y + size - 1),
        "right": (x, y, x + width - 1, y + size - 1),
        "up": (x, y + far, x + size - 1, y + size - 1),
        "down": (x, y, x + size - 1, y + width - 1),
    }
    for action, move in enumerate(GRID_ACTIONS):
        if not entry >> action & 1:
            draw.rectangle(bars[move], fill=rgb(COLORS[CellKind.WALL]))


@lru_cache(maxsize=256)
def _font_for(text: str, width: float, height: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font of the given height, or a smaller one if the text would exceed the width."""
    font = ImageFont.load_default(height)
    length = font.getlength(text)
    return font if length <= width else ImageFont.load_default(max(height * width / length, 1.0))
