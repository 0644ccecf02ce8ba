"""Maps of visit counts: the more, the lighter; by the logarithm, since the start is visited far more than the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import BoolArray
from wanderlust.experiments.reports.figures.style import CLOSED, GREY, add_legend, new_figure, say_empty, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = 1.75
"""Width of a map, in inches."""


@dataclass(frozen=True)
class CountMap:
    """How often each cell was visited."""

    title: str
    counts: NDArray[np.int64]
    """[row, column]"""
    closed: BoolArray
    """[row, column]: cells that cannot be reached."""


@styled
def maps_figure(title: str, rows: Mapping[str, Sequence[CountMap]], *, note: str = "") -> Figure:
    """Draw maps side by side, a row for each world. All maps of a row share their colours."""
    across = max(len(maps) for maps in rows.values())
    heights = [_PANEL * min(1.0, _aspect(maps)) + 0.5 for maps in rows.values()]
    figure = new_figure(title, 1.0 + _PANEL * across, 0.8 + sum(heights))
    grid = figure.subplots(len(rows), across, squeeze=False, height_ratios=heights)
    for axes, (name, maps) in zip(grid, rows.items(), strict=True):
        _draw_row(figure, axes, maps)
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _marks([each for maps in rows.values() for each in maps]), note)
    return figure


def _aspect(maps: Sequence[CountMap]) -> float:
    return max((each.counts.shape[0] / each.counts.shape[1] for each in maps), default=1.0)


def _draw_row(figure: Figure, axes: Sequence[Axes], maps: Sequence[CountMap]) -> None:
    from matplotlib.colors import LogNorm

    most = max((int(each.counts.max()) for each in maps), default=1)
    image = None
    for i, each in enumerate(axes):
        each.set(xticks=[], yticks=[])
        each.grid(visible=False)
        each.spines[:].set_visible(True)
        if i < len(maps):
            each.set_title(maps[i].title)
            image = _draw_map(each, maps[i], LogNorm(1, max(most, 2)))
        else:
            say_empty(each)
    if image is not None:
        figure.colorbar(image, ax=list(axes), label="visits", shrink=0.85, pad=0.01, aspect=14)


def _draw_map(axes: Axes, shown: CountMap, norm: Any) -> Any:
    rows, columns = shown.counts.shape
    axes.set_facecolor("white")
    closed = shown.closed & (shown.counts == 0)
    visited = np.ma.masked_where(shown.counts == 0, shown.counts)
    image = axes.imshow(visited, cmap="viridis", norm=norm, interpolation="nearest", aspect="equal")
    grey = np.ma.masked_where(~closed, np.ones(closed.shape))
    axes.imshow(grey, cmap=_one_colour(CLOSED), interpolation="nearest", aspect="equal")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    return image


def _one_colour(colour: str) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])


def _marks(maps: Sequence[CountMap]) -> dict[str, Any]:
    """Return what the colours outside the scale mean, those that occur."""
    from matplotlib.patches import Patch

    marks = {}
    if any(((each.counts == 0) & ~each.closed).any() for each in maps):
        marks["never visited"] = Patch(facecolor="white", edgecolor=GREY, linewidth=0.6)
    if any(((each.counts == 0) & each.closed).any() for each in maps):
        marks["cannot be reached"] = Patch(facecolor=CLOSED, edgecolor=GREY, linewidth=0.6)
    return marks
