"""The chain: which states are visited when, and how far the values learnt are from the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports.figures.style import (
    GREY,
    WIDTH,
    add_legend,
    new_figure,
    say_empty,
    styled,
    styles_of,
)
from wanderlust.experiments.reports.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3
"""Panels in a row."""
_SMALLEST_SHARE = 1e-2
"""Of the least error that is not zero: where zero is drawn on a logarithmic axis."""


@dataclass(frozen=True)
class CountsOverTime:
    """How often each state had been visited, now and then, in one run."""

    steps: NDArray[np.int64]
    """[time], increasing from at least 1."""
    counts: NDArray[np.int64]
    """[time, state]"""

    def __post_init__(self) -> None:
        _check_times("counts", self.steps, len(self.counts))


@dataclass(frozen=True)
class ErrorsOverTime:
    """An error, now and then, of runs that differ in their seed."""

    steps: NDArray[np.int64]
    """[time], increasing from at least 1."""
    errors: FloatArray
    """[seed, time]"""

    def __post_init__(self) -> None:
        _check_times("errors", self.steps, self.errors.shape[1])


def _check_times(what: str, steps: NDArray[np.int64], times: int) -> None:
    if len(steps) != times or len(steps) < 2 or steps[0] < 1 or (np.diff(steps) <= 0).any():
        raise InvalidSetting(
            f"{what} must have one entry for each of at least two steps, increasing from at least 1: "
            f"got {times} for the steps {steps}."
        )


@styled
def counts_figure(title: str, explorers: Mapping[str, CountsOverTime], *, note: str = "") -> Figure:
    """Draw the visits of each state over time, which runs downward, one panel for each explorer."""
    from matplotlib.colors import LogNorm

    rows = math.ceil(len(explorers) / _ACROSS)
    figure = new_figure(title, 8.0, 0.9 + 2.7 * rows)
    grid = figure.subplots(rows, min(_ACROSS, len(explorers)), sharex=True, sharey=True, squeeze=False)
    norm = LogNorm(1, max(2, *(int(each.counts.max()) for each in explorers.values())))
    mesh = None
    for axes, (name, shown) in zip(grid.flat, explorers.items(), strict=False):
        axes.set_title(name)
        mesh = _draw_counts(axes, shown, norm)
    for axes in list(grid.flat)[len(explorers) :]:
        axes.set_axis_off()
    for column in range(grid.shape[1]):
        last = (len(explorers) - 1 - column) // grid.shape[1]
        grid[last, column].set_xlabel("state")
        grid[last, column].tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("step")
    figure.colorbar(mesh, ax=grid, label="visits", shrink=0.8, pad=0.01, aspect=25)
    add_legend(figure, _unvisited(explorers), note)
    return figure


def _draw_counts(axes: Axes, shown: CountsOverTime, norm: Any) -> Any:
    """Draw a heat map: between two steps lies what was counted at the second."""
    states = np.arange(shown.counts.shape[1] + 1) + 0.5
    axes.grid(visible=False)
    axes.set_yscale("log")
    seen = np.ma.masked_equal(shown.counts[1:], 0)
    # As an image: tens of thousands of small squares would make a file slow to open.
    mesh = axes.pcolormesh(states, shown.steps, seen, norm=norm, cmap="viridis", rasterized=True)
    axes.set_ylim(shown.steps[-1], shown.steps[0])
    ticks = sorted({1, shown.counts.shape[1] // 2 + 1, shown.counts.shape[1]})
    axes.set_xticks(ticks)
    return mesh


def _unvisited(explorers: Mapping[str, CountsOverTime]) -> dict[str, Any]:
    from matplotlib.patches import Patch

    if not any((each.counts[1:] == 0).any() for each in explorers.values()):
        return {}
    return {"not yet visited": Patch(facecolor="white", edgecolor=GREY, linewidth=0.6)}


@styled
def msve_figure(title: str, panels: Mapping[str, Mapping[str, ErrorsOverTime]], *, note: str = "") -> Figure:
    """Draw the mean squared value error over time, means with bands of 95 %, on logarithmic axes.

    `panels` is panel, then explorer, then its errors. An error of zero is drawn at the lower edge.
    """
    figure = new_figure(title, min(WIDTH, 1.6 + 3.4 * len(panels)), 3.9)
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    styles = styles_of(explorer for lines in panels.values() for explorer in lines)
    floor = _floor([each.errors for lines in panels.values() for each in lines.values()])
    handles: dict[str, Any] = {}
    for axes, (name, lines) in zip(row, panels.items(), strict=True):
        axes.set(title=name, xlabel="step", xscale="log", yscale="log")
        for rank, (explorer, style) in enumerate(styles.items()):
            if explorer not in lines or not np.isfinite(lines[explorer].errors).any():
                continue
            steps, (mean, ci) = lines[explorer].steps, paper_curve(lines[explorer].errors)
            low, middle, high = (np.maximum(each, floor) for each in (mean - ci, mean, mean + ci))
            axes.fill_between(steps, low, high, color=style.colour, alpha=0.15, linewidth=0)
            every = max(1, len(steps) // 6)
            (handles[explorer],) = axes.plot(
                steps,
                middle,
                color=style.colour,
                linestyle=style.dash,
                marker=style.marker,
                markevery=(rank * every // len(styles), every),
                zorder=4 - rank / len(styles),
            )
        if not axes.get_lines():
            say_empty(axes)
    row[0].set_ylabel("mean squared value error")
    row[0].set_ylim(bottom=floor)
    add_legend(figure, {name: handles[name] for name in styles if name in handles}, note)
    return figure


def _floor(errors: list[FloatArray]) -> float:
    """Return where the axis ends: below every mean that is not zero."""
    means = np.concatenate([each.mean(axis=0) for each in errors]) if errors else np.zeros(0)
    positive = means[np.isfinite(means) & (means > 0)]
    return _SMALLEST_SHARE * float(positive.min()) if len(positive) else _SMALLEST_SHARE
