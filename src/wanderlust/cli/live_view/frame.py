"""One picture of a run: the map by visits beside the map by what draws the explorer, and the state of affairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich.console import ConsoleDimensions, Group, RenderableType
from rich.text import Text

from wanderlust.cli.live_view import canvas
from wanderlust.cli.live_view.run import Look, WatchedRun
from wanderlust.core.mdp import FloatArray
from wanderlust.worlds.base import CellKind
from wanderlust.worlds.drawing import by_cell, display_layout, letters, logarithmic, shaded, text_map

_GAP = 3
_OTHER_LINES = 3
"""Title, headings, and a blank line."""


class _Map(NamedTuple):
    heading: str
    depth: FloatArray
    """[row, column]: from 0 to 1, NaN where there is nothing to show."""
    scale: tuple[str, ...]


class Stage:
    """Draws the frames of one run."""

    def __init__(self, run: WatchedRun, title: str) -> None:
        self.run = run
        self.title = title
        self.sheet = display_layout(run.world)

    def frame(self, size: ConsoleDimensions) -> RenderableType:
        """Return the present as colours, as large as the terminal allows."""
        look, sheet = self.run.look(), self.sheet
        words, meanings = _in_lines(look.words, size.width), _in_lines(self._meanings(look), size.width)
        height = size.height - _OTHER_LINES - len(words) - len(meanings)
        beside = canvas.fitting(sheet.rows, sheet.columns, (size.width - _GAP) // 2, height)
        stacked = canvas.fitting(sheet.rows, sheet.columns, size.width, (height - 1) // 2)
        is_beside = beside.lines_per_cell >= stacked.lines_per_cell
        chosen = beside if is_beside else stacked
        drawn = [self._painted(each, look, chosen) for each in self._maps(look)]
        lines = _side_by_side(*drawn) if is_beside else [*drawn[0], *drawn[1]]
        # Half blocks have no room for letters, so there is nothing to explain.
        below = [*meanings, *words] if chosen.scale else words
        return Group(Text(self._heading(look), style="bold", no_wrap=True), *lines, Text(), *map(Text, below))

    def plain(self) -> str:
        """Return the present as text without colours."""
        look = self.run.look()
        visits, promise = self._maps(look)
        rows = zip(self._letters(look), shaded(visits.depth, width=1), shaded(promise.depth, width=1), strict=True)
        return "\n".join(
            [
                self._heading(look),
                f"the map, {visits.heading}, {promise.heading}:",
                *("  |  ".join(row) for row in rows),
                ", ".join(self._meanings(look)),
                *look.words,
                "",
            ]
        )

    def _heading(self, look: Look) -> str:
        layer = self.sheet.layer_names[self.sheet.layer[look.state]]
        return f"{self.title} ({layer})" if layer else self.title

    def _meanings(self, look: Look) -> list[str]:
        meanings = letters(self.sheet, int(self.sheet.layer[look.state]))[1]
        return [f"{letter} {meaning}" for letter, meaning in meanings.items()]

    def _letters(self, look: Look) -> list[str]:
        return text_map(self.sheet, look.state).splitlines()[: self.sheet.rows]

    def _maps(self, look: Look) -> tuple[_Map, _Map]:
        visits = by_cell(self.sheet, look.visits.astype(np.float64), largest=False)
        sign = -1.0 if self.run.minimises else 1.0
        promise = by_cell(self.sheet, sign * look.promise, largest=True)
        return (
            _Map(f"visits up to {np.nanmax(visits):,.0f}", logarithmic(visits), canvas.VISITS),
            _Map(f"{self.run.promise_name} {_range(sign * promise)}", _by_rank(promise), canvas.PROMISE),
        )

    def _painted(self, each: _Map, look: Look, size: canvas.Size) -> list[Text]:
        is_wall = self.sheet.kind[self.sheet.layer[look.state]] == CellKind.WALL
        paint = canvas.colours(each.depth, is_wall, each.scale)
        return [Text(each.heading, no_wrap=True), *canvas.painted(self.sheet, look.state, paint, size)]


def _in_lines(sentences: list[str], width: int) -> list[str]:
    """Return as many sentences to a line as it has room for, and none that is broken in two."""
    lines: list[str] = []
    for sentence in sentences:
        longer = f"{lines[-1]}   {sentence}" if lines else ""
        if lines and len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(sentence)
    return lines


def _side_by_side(left: list[Text], right: list[Text]) -> list[Text]:
    width = max(len(line) for line in left)
    lines = []
    for one, other in zip(left, right, strict=True):
        one.append(" " * (width - len(one) + _GAP))
        one.append_text(other)
        lines.append(one)
    return lines


def _by_rank(values: FloatArray) -> FloatArray:
    """Return each value's place from 0, the smallest, to 1, the largest; which is which matters, not by how much."""
    known = ~np.isnan(values)
    different, place = np.unique(values[known], return_inverse=True)
    ranks = np.full(values.shape, np.nan)
    ranks[known] = (place + 1) / len(different)
    return ranks


def _range(values: FloatArray) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "not yet known"
    low, high = f"{known.min():.4g}", f"{known.max():.4g}"
    return low if low == high else f"{low} to {high}"
