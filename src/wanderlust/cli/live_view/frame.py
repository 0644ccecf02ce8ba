"""Frames of the live view: a map of the visits, a map of the exploration values, and the status of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.console import ConsoleDimensions, Group, RenderableType
from rich.text import Text

from wanderlust.cli.live_view import canvas
from wanderlust.cli.live_view.run import Snapshot, WatchedRun
from wanderlust.core.mdp import FloatArray
from wanderlust.worlds.base import CellKind
from wanderlust.worlds.drawing import by_cell, describe_layer, display_layout, logarithmic, shaded, text_map

_GAP = 3
_OTHER_LINES = 3
"""Title, headings and one blank line."""


class Heatmap(NamedTuple):
    """A map of values as intensities."""

    heading: str
    intensity: FloatArray
    """[row, column]: from 0 to 1, NaN for cells without a value."""
    palette: tuple[str, ...]


class FrameRenderer:
    """Renders the frames of one run."""

    def __init__(self, run: WatchedRun, title: str) -> None:
        self.run = run
        self.title = title
        self.layout = display_layout(run.world)

    def frame(
        self, size: ConsoleDimensions, snapshot: Snapshot | None = None, more_status: Sequence[str] = ()
    ) -> RenderableType:
        """Return a frame, by default the current one, in color, with cells as large as the terminal allows."""
        layout = self.layout
        snapshot = self.run.snapshot() if snapshot is None else snapshot
        status, legend = _wrap([*snapshot.status, *more_status], size.width), _wrap(self._legend(snapshot), size.width)
        height = size.height - _OTHER_LINES - len(status) - len(legend)
        beside = canvas.fit_size(layout.rows, layout.columns, (size.width - _GAP) // 2, height)
        stacked = canvas.fit_size(layout.rows, layout.columns, size.width, (height - 1) // 2)
        is_beside = beside.lines_per_cell >= stacked.lines_per_cell
        cell_size = beside if is_beside else stacked
        maps = [self._draw(heatmap, snapshot, cell_size) for heatmap in self.heatmaps(snapshot)]
        lines = _side_by_side(*maps) if is_beside else [*maps[0], *maps[1]]
        # Half blocks show no letters, so they need no legend.
        below = [*legend, *status] if cell_size.scale else status
        return Group(Text(self.heading(snapshot), style="bold", no_wrap=True), *lines, Text(), *map(Text, below))

    def plain_text(self) -> str:
        """Return the current frame as text without colors."""
        snapshot = self.run.snapshot()
        visits, values = self.heatmaps(snapshot)
        columns = self._letters(snapshot), shaded(visits.intensity, width=1), shaded(values.intensity, width=1)
        return "\n".join(
            [
                self.heading(snapshot),
                f"map, {visits.heading}, {values.heading}:",
                *("  |  ".join(row) for row in zip(*columns, strict=True)),
                ", ".join(self._legend(snapshot)),
                *snapshot.status,
                "",
            ]
        )

    def heading(self, snapshot: Snapshot) -> str:
        """Return the title, with the name of the agent's layer if it has one."""
        layer = self.layout.layer_names[self.layout.layer[snapshot.state]]
        return f"{self.title} ({layer})" if layer else self.title

    def _legend(self, snapshot: Snapshot) -> list[str]:
        meanings = describe_layer(self.layout, int(self.layout.layer[snapshot.state])).meanings
        return [f"{letter} {meaning}" for letter, meaning in meanings.items()]

    def _letters(self, snapshot: Snapshot) -> list[str]:
        return text_map(self.layout, snapshot.state).splitlines()[: self.layout.rows]

    def heatmaps(self, snapshot: Snapshot) -> tuple[Heatmap, Heatmap]:
        """Return the map of the visits and that of the exploration values."""
        visits = by_cell(self.layout, snapshot.visits.astype(np.float64), largest=False)
        sign = -1.0 if self.run.minimises else 1.0
        values = by_cell(self.layout, sign * snapshot.exploration_values, largest=True)
        return (
            Heatmap(f"visits up to {np.nanmax(visits):,.0f}", logarithmic(visits), canvas.VISITS),
            Heatmap(f"{self.run.value_name} {_range(sign * values)}", _ranks(values), canvas.EXPLORATION),
        )

    def _draw(self, heatmap: Heatmap, snapshot: Snapshot, size: canvas.CellSize) -> list[Text]:
        is_wall = self.layout.kind[self.layout.layer[snapshot.state]] == CellKind.WALL
        colors = canvas.cell_colors(heatmap.intensity, is_wall, heatmap.palette)
        return [Text(heatmap.heading, no_wrap=True), *canvas.draw_map(self.layout, snapshot.state, colors, size)]


def _wrap(phrases: list[str], width: int) -> list[str]:
    """Return lines with as many phrases as fit; no phrase is broken."""
    lines: list[str] = []
    for phrase in phrases:
        longer = f"{lines[-1]}   {phrase}" if lines else ""
        if lines and len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(phrase)
    return lines


def _side_by_side(left: list[Text], right: list[Text]) -> list[Text]:
    width = max(len(line) for line in left)
    lines = []
    for left_line, right_line in zip(left, right, strict=True):
        left_line.append(" " * (width - len(left_line) + _GAP))
        left_line.append_text(right_line)
        lines.append(left_line)
    return lines


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, scaled so that the largest has rank 1; ranks show order, not differences."""
    known = ~np.isnan(values)
    distinct, index = np.unique(values[known], return_inverse=True)
    ranks = np.full(values.shape, np.nan)
    ranks[known] = (index + 1) / len(distinct)
    return ranks


def _range(values: FloatArray) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "unknown"
    low, high = f"{known.min():.4g}", f"{known.max():.4g}"
    return low if low == high else f"{low} to {high}"
