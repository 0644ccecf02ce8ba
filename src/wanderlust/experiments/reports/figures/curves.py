"""Learning curves: states discovered and return by step, means with bands of 95 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports.figures.style import WIDTH, Style, add_legend, new_figure, say_empty, styled
from wanderlust.experiments.reports.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 100
"""More would not be seen in a panel, and would make large files."""
_MARKS = 5
"""Markers along a line."""
_LINEAR_BELOW = 0.1
"""Percent below which a logarithmic axis is linear, so that zero and less have a place."""
_MARGIN = 4.0
"""Percent above the best and below the worst."""
_MEASURES = {"discovery": "states discovered (%)", "success": "return (% of the best)"}


@dataclass(frozen=True)
class Curves:
    """The mean curves of a group of seeds in percent, each with its ±."""

    steps: FloatArray
    discovery: tuple[FloatArray, FloatArray]
    success: tuple[FloatArray, FloatArray]

    def points(self) -> FloatArray:
        """Return [point, 5]: step, mean and ± of the discovery, mean and ± of the success."""
        return np.stack([self.steps, *self.discovery, *self.success], axis=1)


def mean_curves(runs: Sequence[FloatArray]) -> Curves:
    """Return the mean of the curves of some runs, each [steps, discovery, success] by evaluation."""
    length = min(curves.shape[1] for curves in runs)
    stacked = np.stack([curves[:, :length] for curves in runs])
    return Curves(stacked[0, 0], paper_curve(stacked[:, 1]), paper_curve(stacked[:, 2]))


@styled
def curves_figure(
    title: str,
    columns: Mapping[str, Mapping[str, Curves]],
    styles: Mapping[str, Style],
    *,
    note: str = "",
    logarithmic: bool = False,
) -> Figure:
    """Draw discovery above return, one column per scenario; `columns` is column, then line, then its curves.

    `styles` gives the style of each line, in the order of the legend. `logarithmic` is for returns that differ by
    orders of magnitude.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(title, min(WIDTH, 1.2 + 3.1 * len(columns)), 5.2)
    axes = figure.subplots(2, len(columns), sharex="col", sharey="row", squeeze=False)
    handles: dict[str, object] = {}
    for column, (scenario, lines) in enumerate(columns.items()):
        axes[0, column].set_title(scenario)
        axes[1, column].set_xlabel("step")
        axes[1, column].xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axes[1, column].xaxis.set_major_formatter("{x:,.0f}")
        for row, measure in enumerate(_MEASURES):
            handles |= _draw_lines(axes[row, column], lines, styles, measure)
    for row, name in enumerate(_MEASURES.values()):
        axes[row, 0].set_ylabel(name)
        _set_limits(axes[row], logarithmic=logarithmic and row == 1)
    add_legend(figure, {label: handles[label] for label in styles if label in handles}, note)
    return figure


def _draw_lines(
    axes: Axes, lines: Mapping[str, Curves], styles: Mapping[str, Style], measure: str
) -> dict[str, object]:
    handles: dict[str, object] = {}
    for rank, label in enumerate(styles):
        if label not in lines:
            continue
        keep = _thinned(len(lines[label].steps))
        steps, (mean, ci) = lines[label].steps[keep], getattr(lines[label], measure)
        mean, ci = mean[keep], ci[keep]
        if not np.isfinite(mean).any():
            continue
        style = styles[label]
        # The first of the legend lies on top.
        above = 3 + (len(styles) - rank) / len(styles)
        axes.fill_between(steps, mean - ci, mean + ci, color=style.colour, alpha=0.15, linewidth=0, zorder=above - 1)
        every = max(1, len(steps) // _MARKS)
        (handles[label],) = axes.plot(
            steps,
            mean,
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markevery=(rank * every // len(styles), every),
            zorder=above,
        )
    if not handles:
        say_empty(axes)
    return handles


def _set_limits(row: Sequence[Axes], *, logarithmic: bool) -> None:
    """Let the means decide what is shown: a band that leaves what is possible is cut off."""
    lowest = min((np.nanmin(line.get_ydata()) for axes in row for line in axes.get_lines()), default=0.0)
    if logarithmic:
        row[0].set_yscale("symlog", linthresh=_LINEAR_BELOW)
        row[0].set_ylim(1.3 * min(lowest, 0.0) - 0.02, 150.0)
    else:
        row[0].set_ylim(lowest - _MARGIN, 100.0 + _MARGIN)


def _thinned(length: int) -> slice:
    """Return every n-th of many points, the last one included."""
    every = -(-length // _POINTS)
    return slice((length - 1) % every, None, every)
