"""Learning curves: states discovered and return by step, with 95 % intervals (Figures 8, 10, 12, 16–18, 20, 27, 28)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.style import (
    PAGE_WIDTH,
    Style,
    add_legend,
    draw_curve,
    explorer_styles,
    literal_label,
    mark_empty,
    new_figure,
    styled,
)
from wanderlust.experiments.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curves", "curves_figure", "mean_curves", "thinned"]

_MAX_POINTS = 100
"""More points would not be visible in a panel, and would make large files."""

_LINEAR_THRESHOLD = 0.1
"""Percent below which a logarithmic axis is linear, to show zero and negative returns."""
_MARGIN = 4.0
"""Percent above the optimum and below the lowest mean."""
_MEASURES = {"discovery": "states discovered (%)", "success": "return (% of optimum)"}


@dataclass(frozen=True)
class Curves:
    """The mean curves of a group of seeds in percent, each with its ±."""

    steps: FloatArray
    discovery: tuple[FloatArray, FloatArray]
    success: tuple[FloatArray, FloatArray]

    def points(self) -> FloatArray:
        """Return [point, 5]: step, mean and ± of discovery, mean and ± of success."""
        return np.stack([self.steps, *self.discovery, *self.success], axis=1)


def mean_curves(runs: Sequence[FloatArray]) -> Curves:
    """Return the mean curves of several runs, each [(steps, discovery, success), evaluation]."""
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
    log_scale: bool = False,
    percent: bool = True,
) -> Figure:
    """Draw discovery above return, one column per scenario; `columns` maps column -> line -> curves.

    `styles` has the style of each line, in the order of the legend. `log_scale` is for returns that differ by orders
    of magnitude. Without `percent`, the curves are numbers of states and returns, of different ranges in each column.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(title, min(PAGE_WIDTH, 1.2 + 3.1 * len(columns)), 5.2)
    axes = figure.subplots(2, len(columns), sharex="col", sharey="row" if percent else "none", squeeze=False)
    handles: dict[str, object] = {}
    for column, (scenario, lines) in enumerate(columns.items()):
        axes[0, column].set_title(scenario)
        axes[1, column].set_xlabel("step")
        axes[1, column].xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axes[1, column].xaxis.set_major_formatter("{x:,.0f}")
        for row, measure in enumerate(_MEASURES):
            handles |= _draw_lines(axes[row, column], lines, styles, measure)
    for row, name in enumerate(_MEASURES.values()):
        axes[row, 0].set_ylabel(name if percent else name.partition(" (")[0])
        if percent:
            _set_limits(axes[row], log_scale=log_scale and row == 1)
    add_legend(figure, {label: handles[label] for label in styles if label in handles}, note)
    return figure


def _draw_lines(
    axes: Axes, lines: Mapping[str, Curves], styles: Mapping[str, Style], measure: str
) -> dict[str, object]:
    handles: dict[str, object] = {}
    for rank, label in enumerate(styles):
        if label not in lines:
            continue
        points = thinned(len(lines[label].steps), _MAX_POINTS)
        steps, (mean, ci) = lines[label].steps[points], getattr(lines[label], measure)
        mean, ci = mean[points], ci[points]
        if not np.isfinite(mean).any():
            continue
        handles[label] = draw_curve(axes, steps, mean, (mean - ci, mean + ci), styles[label], rank, len(styles))
    if not handles:
        mark_empty(axes)
    return handles


def _set_limits(row: Sequence[Axes], *, log_scale: bool) -> None:
    """Set the limits from the means; intervals may exceed them."""
    lowest = min((np.nanmin(line.get_ydata()) for axes in row for line in axes.get_lines()), default=0.0)
    if log_scale:
        row[0].set_yscale("symlog", linthresh=_LINEAR_THRESHOLD)
        row[0].set_ylim(1.3 * min(lowest, 0.0) - 0.02, 150.0)
    else:
        row[0].set_ylim(lowest - _MARGIN, 100.0 + _MARGIN)


def thinned(length: int, max_points: int) -> slice:
    """Return a slice of at most `max_points` evenly spaced points, including the last one."""
    every = max(1, -(-length // max_points))
    return slice((length - 1) % every, None, every)


# --- Several explorers in one environment ----------------------------------------------------------------


Panels = Mapping[str, tuple[FloatArray, FloatArray, FloatArray | None]]
"""Panel -> steps, mean over the seeds, and its ± if it has one."""


@styled
def comparison_figure(title: str, curves: Mapping[str, Panels], *, note: str = "") -> Figure:
    """Draw a panel for each measure, a line for each explorer, with 95 % intervals over the seeds."""
    from matplotlib.ticker import MaxNLocator

    styles = explorer_styles(curves)
    names = list(next(iter(curves.values())))
    figure = new_figure(literal_label(title), min(PAGE_WIDTH, 1.0 + 3.0 * len(names)), 3.4)
    handles: dict[str, object] = {}
    for name, axes in zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True):
        for rank, (explorer, style) in enumerate(styles.items()):
            steps, mean, ci = curves[explorer][name]
            interval = None if ci is None else (mean - ci, mean + ci)
            handles[literal_label(explorer)] = draw_curve(axes, steps, mean, interval, style, rank, len(styles))
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        if name.startswith("solved"):
            axes.set_ylim(-4, 104)
        elif name.startswith("states"):
            axes.set_ylim(bottom=0)
    add_legend(figure, handles, literal_label(note))
    return figure
