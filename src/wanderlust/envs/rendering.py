"""Pictures of a world with the agent in it.

A picture is made of three sheets: the cells' colours, shaded by how often each was visited; upon it the signs, drawn
once for each layer; upon these the agent. Below stands a line of text.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.drawing import by_cell, passenger_numbers

Pixels = NDArray[np.uint8]

LONGEST_SIDE = 640
LARGEST_CELL = 72
SMALLEST_WIDTH = 360
"""Of a picture, so that the line of text has room."""
_SMALLEST_CELL_WITH_LINES = 5
_SMALLEST_CELL_WITH_WORDS = 22
_MAX_VALUES_BESIDE = 40
_SMALL_WORDS = 13.0
_FINER = 4
"""Signs are drawn so many times larger and then shrunk, which makes their edges smooth."""

_COLOURS = {
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
_VISITED = "#5b8fd6"
_LINE = "#d8d4ca"
_INK = "#2b2f38"
_AGENT = "#c2255c"
_PAPER = "#ffffff"


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


class Picture:
    """Draws frames of one world."""

    def __init__(self, sheet: Layout) -> None:
        self.sheet = sheet
        longest = max(sheet.rows, sheet.columns)
        self.cell = min(max(LONGEST_SIDE // longest, 1), LARGEST_CELL)
        # Videos want even numbers.
        self.width = (max(sheet.columns * self.cell, SMALLEST_WIDTH) + 1) // 2 * 2
        self.text_height = 28
        self.height = (sheet.rows * self.cell + self.text_height + 1) // 2 * 2
        self.left = (self.width - sheet.columns * self.cell) // 2
        self._signs: dict[int, Image.Image] = {}

    def frame(self, state: int, visits: NDArray[np.int64], title: str) -> Pixels:
        """Return the picture [row, column, colour] of the agent in a state, with a line of text."""
        sheet, layer = self.sheet, int(self.sheet.layer[state])
        picture = Image.new("RGB", (self.width, self.height), _PAPER)
        cells = Image.fromarray(self._cells(layer, visits))
        picture.paste(cells, (self.left, 0))
        if layer not in self._signs:
            self._signs[layer] = self._draw_signs(layer)
        picture.paste(self._signs[layer], (self.left, 0), self._signs[layer])
        place = self.left + int(sheet.column[state]) * self.cell, int(sheet.row[state]) * self.cell
        margin = (self._agent.width - self.cell) // 2
        picture.paste(self._agent, (place[0] - margin, place[1] - margin), self._agent)
        self._write(picture, title)
        return np.asarray(picture)

    def _cells(self, layer: int, visits: NDArray[np.int64]) -> Pixels:
        """Return the plain cells: their kinds' colours, the bluer the more often visited, by the logarithm."""
        kinds = self.sheet.kind[layer]
        palette = np.array([_rgb(_COLOURS[kind]) for kind in CellKind], dtype=np.float64)
        counts = np.nan_to_num(by_cell(self.sheet, visits.astype(np.float64), largest=False))
        depth = np.log1p(counts) / np.log1p(max(float(counts.max()), 9.0))
        strength = np.where(kinds == CellKind.WALL, 0.0, 0.75 * depth)
        # What tells by its colour what it is keeps most of it.
        strength *= np.where(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD)), 0.35, 1.0)
        shades = palette[kinds] + strength[:, :, None] * (np.array(_rgb(_VISITED)) - palette[kinds])
        pixels: Pixels = shades.round().astype(np.uint8).repeat(self.cell, axis=0).repeat(self.cell, axis=1)
        if self.cell >= _SMALLEST_CELL_WITH_LINES:
            line = np.array(_rgb(_LINE), dtype=np.uint8)
            is_wall = (kinds == CellKind.WALL).repeat(self.cell, axis=0).repeat(self.cell, axis=1)
            edge = np.zeros(pixels.shape[:2], dtype=np.bool_)
            edge[:: self.cell] = edge[:, :: self.cell] = True
            pixels[edge & ~is_wall] = line
        return pixels

    def _draw_signs(self, layer: int) -> Image.Image:
        """Return what stands in the cells of a layer, on a transparent sheet."""
        sheet, size = self.sheet, self.cell
        signs = Image.new("RGBA", (sheet.columns * size, sheet.rows * size), (0, 0, 0, 0))
        for row, column in np.argwhere(~np.isin(sheet.kind[layer], (CellKind.FLOOR, CellKind.WALL))):
            kind, value = CellKind(int(sheet.kind[layer, row, column])), float(sheet.value[layer, row, column])
            number = int(self._passengers[row, column])
            signs.alpha_composite(_sign(kind, value, number, size), (int(column) * size, int(row) * size))
        if size < _SMALLEST_CELL_WITH_WORDS:
            self._write_values_beside(signs, layer)
        if sheet.entry is not None and size >= _SMALLEST_CELL_WITH_LINES:
            pen = ImageDraw.Draw(signs)
            for row, column in np.argwhere(sheet.entry != 15):
                _draw_closed_sides(pen, int(column) * size, int(row) * size, size, int(sheet.entry[row, column]))
        return signs

    def _write_values_beside(self, signs: Image.Image, layer: int) -> None:
        """Write the values of treasures and penalties next to cells that have no room for them."""
        kinds, size = self.sheet.kind[layer], self.cell
        paying = np.argwhere(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY)))
        if len(paying) > _MAX_VALUES_BESIDE:
            return
        pen, half = ImageDraw.Draw(signs), _SMALL_WORDS / 2
        for row, column in paying:
            words = f"{self.sheet.value[layer, row, column]:g}"
            font = _fitting(words, self.width, _SMALL_WORDS)
            middle = min(max((row + 0.5) * size, half), signs.height - half)
            on_the_right = (column + 1) * size + 3
            fits = on_the_right + font.getlength(words) < signs.width
            place, anchor = (on_the_right, "lm") if fits else (column * size - 3, "rm")
            rim = _rgb(_COLOURS[CellKind.FLOOR])
            pen.text((place, middle), words, fill=_INK, font=font, anchor=anchor, stroke_width=2, stroke_fill=rim)

    def _write(self, picture: Image.Image, title: str) -> None:
        middle = self.sheet.rows * self.cell + self.text_height // 2
        pen = ImageDraw.Draw(picture)
        pen.text((6, middle), title, fill=_INK, font=_fitting(title, self.width - 12, 14), anchor="lm")

    @cached_property
    def _passengers(self) -> NDArray[np.int64]:
        return passenger_numbers(self.sheet)

    @cached_property
    def _agent(self) -> Image.Image:
        """A disc with a light rim; in a world of tiny cells it is larger than its cell, to be seen."""
        size = max(self.cell, 9)
        pen_size = size * _FINER
        disc = Image.new("RGBA", (pen_size, pen_size), (0, 0, 0, 0))
        pen = ImageDraw.Draw(disc)
        inset = pen_size * 0.16 if self.cell >= _SMALLEST_CELL_WITH_WORDS else 0.0
        pen.ellipse((inset, inset, pen_size - 1 - inset, pen_size - 1 - inset), fill=_PAPER)
        inset += pen_size * (0.06 if self.cell >= _SMALLEST_CELL_WITH_WORDS else 0.1)
        pen.ellipse((inset, inset, pen_size - 1 - inset, pen_size - 1 - inset), fill=_AGENT)
        return disc.resize((size, size), Image.Resampling.LANCZOS)


@lru_cache(maxsize=256)
def _sign(kind: CellKind, value: float, number: int, size: int) -> Image.Image:
    """Return the sign of one cell on a transparent square."""
    fine = size * _FINER
    sign = Image.new("RGBA", (fine, fine), (0, 0, 0, 0))
    pen = ImageDraw.Draw(sign)
    if kind is CellKind.PRISON:
        _draw_bars(pen, fine)
    elif kind is CellKind.PASSENGER:
        _draw_passenger(pen, fine)
    elif size < _SMALLEST_CELL_WITH_WORDS and kind in (CellKind.START, CellKind.TREASURE, CellKind.PENALTY):
        # No room for words: the whole cell in a colour that stands out.
        strong = {CellKind.START: "#2f9e44", CellKind.TREASURE: "#f08c00", CellKind.PENALTY: "#c92a2a"}
        pen.rectangle((0, 0, fine, fine), fill=strong[kind])
    words = _words(kind, value, number)
    if words and size >= _SMALLEST_CELL_WITH_WORDS:
        font, middle = _fitting(words, 0.8 * fine, 0.34 * fine), (fine / 2, fine / 2)
        if kind is CellKind.PRISON:
            left, top, right, bottom = pen.textbbox(middle, words, font=font, anchor="mm")
            edge = 0.05 * fine
            pen.rectangle((left - edge, top - edge, right + edge, bottom + edge), fill=_COLOURS[kind])
        pen.text(middle, words, fill=_INK, font=font, anchor="mm")
    return sign.resize((size, size), Image.Resampling.LANCZOS)


def _words(kind: CellKind, value: float, number: int) -> str:
    if kind is CellKind.START:
        return "S"
    if kind is CellKind.PASSENGER:
        return str(number)
    if kind is CellKind.PRISON:
        return f"{value:g}" if value else ""
    return f"{value:g}"


def _draw_bars(pen: ImageDraw.ImageDraw, size: int) -> None:
    for i in range(1, 5):
        x = size * i / 5
        pen.line((x, size * 0.08, x, size * 0.92), fill="#6d6578", width=max(size // 16, 1))


def _draw_passenger(pen: ImageDraw.ImageDraw, size: int) -> None:
    pen.ellipse(
        (size * 0.18, size * 0.18, size * 0.82, size * 0.82), fill="#b197fc", outline="#6741d9", width=size // 24
    )


def _draw_closed_sides(pen: ImageDraw.ImageDraw, x: int, y: int, size: int, entry: int) -> None:
    """Draw a bar at each side through which the cell cannot be entered: to move left is to come in at the right."""
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
            pen.rectangle(bars[move], fill=_rgb(_COLOURS[CellKind.WALL]))


@lru_cache(maxsize=256)
def _fitting(words: str, width: float, height: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font of the given height, or a smaller one in which the words are no wider than that."""
    font = ImageFont.load_default(height)
    wide = font.getlength(words)
    return font if wide <= width else ImageFont.load_default(max(height * width / wide, 1.0))
