"""Rendering of a world and the agent as an image.

An image has three levels: the colours of the cells, shaded by visit count; the symbols, drawn once for each layer of
the layout; and the agent. A line of text is below the grid.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.drawing import by_cell, passenger_numbers
from wanderlust.worlds.svg import COLOURS as CELL_COLOURS

Pixels = NDArray[np.uint8]

MAX_GRID_SIZE = 640
MAX_CELL_SIZE = 72
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


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


class Renderer:
    """Draws frames of one world."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        n_cells = max(layout.rows, layout.columns)
        self.cell = min(max(MAX_GRID_SIZE // n_cells, 1), MAX_CELL_SIZE)
        # Video codecs need even sizes.
        self.width = (max(layout.columns * self.cell, MIN_WIDTH) + 1) // 2 * 2
        self.text_height = 28
        self.height = (layout.rows * self.cell + self.text_height + 1) // 2 * 2
        self.left = (self.width - layout.columns * self.cell) // 2
        self._symbols: dict[int, Image.Image] = {}

    def frame(self, state: int, visits: NDArray[np.int64], title: str) -> Pixels:
        """Return the image [row, column, colour] of the agent in a state, with a line of text."""
        layout, layer = self.layout, int(self.layout.layer[state])
        image = Image.new("RGB", (self.width, self.height), _BACKGROUND)
        cells = Image.fromarray(self._cells(layer, visits))
        image.paste(cells, (self.left, 0))
        if layer not in self._symbols:
            self._symbols[layer] = self._draw_symbols(layer)
        image.paste(self._symbols[layer], (self.left, 0), self._symbols[layer])
        x, y = self.left + int(layout.column[state]) * self.cell, int(layout.row[state]) * self.cell
        margin = (self._agent.width - self.cell) // 2
        image.paste(self._agent, (x - margin, y - margin), self._agent)
        self._write_title(image, title)
        return np.asarray(image)

    def _cells(self, layer: int, visits: NDArray[np.int64]) -> Pixels:
        """Return the coloured cells: the colour of the kind, mixed with blue by the logarithm of the visit count."""
        kinds = self.layout.kind[layer]
        palette = np.array([_rgb(CELL_COLOURS[kind]) for kind in CellKind], dtype=np.float64)
        counts = np.nan_to_num(by_cell(self.layout, visits.astype(np.float64), largest=False))
        intensity = np.log1p(counts) / np.log1p(max(float(counts.max()), 9.0))
        strength = np.where(kinds == CellKind.WALL, 0.0, 0.75 * intensity)
        # The colour of these kinds must remain recognisable.
        strength *= np.where(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD)), 0.35, 1.0)
        shades = palette[kinds] + strength[:, :, None] * (np.array(_rgb(_VISITED)) - palette[kinds])
        pixels: Pixels = shades.round().astype(np.uint8).repeat(self.cell, axis=0).repeat(self.cell, axis=1)
        if self.cell >= _MIN_CELL_WITH_LINES:
            line = np.array(_rgb(_LINE), dtype=np.uint8)
            is_wall = (kinds == CellKind.WALL).repeat(self.cell, axis=0).repeat(self.cell, axis=1)
            edge = np.zeros(pixels.shape[:2], dtype=np.bool_)
            edge[:: self.cell] = edge[:, :: self.cell] = True
            pixels[edge & ~is_wall] = line
        return pixels

    def _draw_symbols(self, layer: int) -> Image.Image:
        """Return the symbols of a layer on a transparent image."""
        layout, size = self.layout, self.cell
        symbols = Image.new("RGBA", (layout.columns * size, layout.rows * size), (0, 0, 0, 0))
        for row, column in np.argwhere(~np.isin(layout.kind[layer], (CellKind.FLOOR, CellKind.WALL))):
            kind, value = CellKind(int(layout.kind[layer, row, column])), float(layout.value[layer, row, column])
            number = int(self._passengers[row, column])
            symbols.alpha_composite(_symbol(kind, value, number, size), (int(column) * size, int(row) * size))
        if size < _MIN_CELL_WITH_TEXT:
            self._write_values_beside(symbols, layer)
        if layout.entry is not None and size >= _MIN_CELL_WITH_LINES:
            draw = ImageDraw.Draw(symbols)
            for row, column in np.argwhere(layout.entry != 15):
                _draw_closed_sides(draw, int(column) * size, int(row) * size, size, int(layout.entry[row, column]))
        return symbols

    def _write_values_beside(self, symbols: Image.Image, layer: int) -> None:
        """Write the values of treasures and penalties next to cells that are too small for them."""
        kinds, size = self.layout.kind[layer], self.cell
        terminal_cells = np.argwhere(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY)))
        if len(terminal_cells) > _MAX_VALUES_BESIDE:
            return
        draw, half = ImageDraw.Draw(symbols), _SMALL_FONT / 2
        for row, column in terminal_cells:
            text = f"{self.layout.value[layer, row, column]:g}"
            font = _font_for(text, self.width, _SMALL_FONT)
            y = min(max((row + 0.5) * size, half), symbols.height - half)
            right = (column + 1) * size + 3
            fits = right + font.getlength(text) < symbols.width
            x, anchor = (right, "lm") if fits else (column * size - 3, "rm")
            outline = _rgb(CELL_COLOURS[CellKind.FLOOR])
            draw.text((x, y), text, fill=_TEXT, font=font, anchor=anchor, stroke_width=2, stroke_fill=outline)

    def _write_title(self, image: Image.Image, title: str) -> None:
        y = self.layout.rows * self.cell + self.text_height // 2
        draw = ImageDraw.Draw(image)
        draw.text((6, y), title, fill=_TEXT, font=_font_for(title, self.width - 12, 14), anchor="lm")

    @cached_property
    def _passengers(self) -> NDArray[np.int64]:
        return passenger_numbers(self.layout)

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
def _symbol(kind: CellKind, value: float, number: int, size: int) -> Image.Image:
    """Return the symbol of one cell on a transparent square."""
    scaled = size * _SUPERSAMPLING
    symbol = Image.new("RGBA", (scaled, scaled), (0, 0, 0, 0))
    draw = ImageDraw.Draw(symbol)
    if kind is CellKind.PRISON:
        _draw_bars(draw, scaled)
    elif kind is CellKind.PASSENGER:
        _draw_passenger(draw, scaled)
    elif size < _MIN_CELL_WITH_TEXT and kind in (CellKind.START, CellKind.TREASURE, CellKind.PENALTY):
        # Too small for text: the whole cell gets a strong colour.
        strong = {CellKind.START: "#2f9e44", CellKind.TREASURE: "#f08c00", CellKind.PENALTY: "#c92a2a"}
        draw.rectangle((0, 0, scaled, scaled), fill=strong[kind])
    text = _label(kind, value, number)
    if text and size >= _MIN_CELL_WITH_TEXT:
        font, centre = _font_for(text, 0.8 * scaled, 0.34 * scaled), (scaled / 2, scaled / 2)
        if kind is CellKind.PRISON:
            left, top, right, bottom = draw.textbbox(centre, text, font=font, anchor="mm")
            edge = 0.05 * scaled
            draw.rectangle((left - edge, top - edge, right + edge, bottom + edge), fill=CELL_COLOURS[kind])
        draw.text(centre, text, fill=_TEXT, font=font, anchor="mm")
    return symbol.resize((size, size), Image.Resampling.LANCZOS)


def _label(kind: CellKind, value: float, number: int) -> str:
    if kind is CellKind.START:
        return "S"
    if kind is CellKind.PASSENGER:
        return str(number)
    if kind is CellKind.PRISON:
        return f"{value:g}" if value else ""
    return f"{value:g}"


def _draw_bars(draw: ImageDraw.ImageDraw, size: int) -> None:
    for i in range(1, 5):
        x = size * i / 5
        draw.line((x, size * 0.08, x, size * 0.92), fill="#6d6578", width=max(size // 16, 1))


def _draw_passenger(draw: ImageDraw.ImageDraw, size: int) -> None:
    draw.ellipse(
        (size * 0.18, size * 0.18, size * 0.82, size * 0.82), fill="#b197fc", outline="#6741d9", width=size // 24
    )


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
            draw.rectangle(bars[move], fill=_rgb(CELL_COLOURS[CellKind.WALL]))


@lru_cache(maxsize=256)
def _font_for(text: str, width: float, height: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font of the given height, or a smaller one if the text would exceed the width."""
    font = ImageFont.load_default(height)
    length = font.getlength(text)
    return font if length <= width else ImageFont.load_default(max(height * width / length, 1.0))
