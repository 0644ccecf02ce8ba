"""Figures of the chain: visit counts over time (Figure 23) and mean squared value error (Figure 26)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.figures import (
    GREY,
    PAGE_WIDTH,
    add_legend,
    draw_curve,
    explorer_styles,
    mark_empty,
    new_figure,
    styled,
)
from wanderlust.experiments.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS_PER_ROW = 3
_ZERO = 1e-8
"""Errors up to this one are drawn as zero, on a line of its own at the lower end of the logarithmic axis."""


class CountsOverTime(NamedTuple):
    """Visits of each state at several steps of one run."""

    steps: NDArray[np.int64]
    """[time], increasing from at least 1."""
    counts: NDArray[np.int64]
    """[time, state]"""


class ErrorsOverTime(NamedTuple):
    """An error at several steps of runs that differ in their seed."""

    steps: NDArray[np.int64]
    """[time], increasing from at least 1."""
    errors: FloatArray
    """[seed, time]"""


@styled
def counts_figure(title: str, explorers: Mapping[str, CountsOverTime], *, note: str = "") -> Figure:
    """Draw the visits of each state over time, one panel for each explorer; time increases downward."""
    from matplotlib.colors import LogNorm

    rows = math.ceil(len(explorers) / _PANELS_PER_ROW)
    figure = new_figure(title, 8.0, 0.9 + 2.7 * rows)
    grid = figure.subplots(rows, min(_PANELS_PER_ROW, len(explorers)), sharex=True, sharey=True, squeeze=False)
    norm = LogNorm(1, max(2, *(int(each.counts.max()) for each in explorers.values())))
    mesh = None
    for axes, (name, data) in zip(grid.flat, explorers.items(), strict=False):
        axes.set_title(name)
        mesh = _draw_counts(axes, data, norm)
    for axes in list(grid.flat)[len(explorers) :]:
        axes.set_axis_off()
    for column in range(grid.shape[1]):
        last = (len(explorers) - 1 - column) // grid.shape[1]
        grid[last, column].set_xlabel("state")
        grid[last, column].tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("step")
    figure.colorbar(mesh, ax=grid, label="visits", shrink=0.8, pad=0.01, aspect=25)
    add_legend(figure, _unvisited_handle(explorers), note)
    return figure


def _draw_counts(axes: Axes, data: CountsOverTime, norm: Any) -> Any:
    """Draw a heat map; the cell between two steps shows the counts at the second."""
    states = np.arange(data.counts.shape[1] + 1) + 0.5
    axes.grid(visible=False)
    axes.set_yscale("log")
    visited = np.ma.masked_equal(data.counts[1:], 0)
    # Rasterized: tens of thousands of vector squares would make the file slow to open.
    mesh = axes.pcolormesh(states, data.steps, visited, norm=norm, cmap="viridis", rasterized=True)
    axes.set_ylim(data.steps[-1], data.steps[0])
    ticks = sorted({1, data.counts.shape[1] // 2 + 1, data.counts.shape[1]})
    axes.set_xticks(ticks)
    return mesh


def _unvisited_handle(explorers: Mapping[str, CountsOverTime]) -> dict[str, Any]:
    from matplotlib.patches import Patch

    if not any((each.counts[1:] == 0).any() for each in explorers.values()):
        return {}
    return {"not yet visited": Patch(facecolor="white", edgecolor=GREY, linewidth=0.6)}


@styled
def msve_figure(title: str, panels: Mapping[str, Mapping[str, ErrorsOverTime]], *, note: str = "") -> Figure:
    """Draw the mean squared value error over time, with 95 % intervals, on logarithmic axes.

    `panels` maps panel -> explorer -> errors. An error of zero is drawn above the lower edge, with the label 0.
    """
    figure = new_figure(title, min(PAGE_WIDTH, 1.6 + 3.4 * len(panels)), 3.9)
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    styles = explorer_styles(explorer for lines in panels.values() for explorer in lines)
    handles: dict[str, Any] = {}
    for axes, (name, lines) in zip(row, panels.items(), strict=True):
        axes.set(title=name, xlabel="step", xscale="log", yscale="log")
        for rank, (explorer, style) in enumerate(styles.items()):
            if explorer not in lines or not np.isfinite(lines[explorer].errors).any():
                continue
            steps, (mean, ci) = lines[explorer].steps, paper_curve(lines[explorer].errors)
            low, middle, high = (np.maximum(each, _ZERO) for each in (mean - ci, mean, mean + ci))
            handles[explorer] = draw_curve(axes, steps, middle, (low, high), style, rank, len(styles))
        if not axes.get_lines():
            mark_empty(axes)
    row[0].set_ylabel("mean squared value error")
    _label_zero(row[0])
    add_legend(
        figure, {name: handles[name] for name in styles if name in handles}, f"{_few_seeds(panels)} {note}".strip()
    )
    return figure


def _few_seeds(panels: Mapping[str, Mapping[str, ErrorsOverTime]]) -> str:
    """Say how many seeds a mean rests on where the median is zero, the spikes of the figure, and how many end above."""
    texts, ends = [], []
    for panel, lines in panels.items():
        above = {name: int((errors[:, -1] > _ZERO).sum()) for name, (_, errors) in lines.items()}
        ends.append(f"{panel}: " + ", ".join(f"{name} {n} of {len(lines[name].errors)}" for name, n in above.items()))
        for name, (_, errors) in lines.items():
            positive = (errors > _ZERO).sum(axis=0)[np.median(errors, axis=0) <= _ZERO]
            if positive.any():
                texts.append(f"{name}, {panel}: at most {positive.max()} of {len(errors)} seeds")
    spikes = f" Seeds with an error where the median is 0: {'; '.join(texts)}." if texts else ""
    return f"Seeds whose error is not 0 at the end: {'; '.join(ends)}.{spikes}"


def _label_zero(axes: Axes) -> None:
    """Label the position of zero, with room below it, so that no line is on the edge."""
    high = axes.get_ylim()[1]
    powers = range(math.ceil(math.log10(_ZERO)) + 2, math.floor(math.log10(max(high, 10 * _ZERO))) + 1, 2)
    axes.set_yticks([_ZERO, *(10.0**power for power in powers)], ["0", *(f"$10^{{{power}}}$" for power in powers)])
    axes.minorticks_off()
    axes.set_ylim(0.2 * _ZERO, high)
