"""Learning curves of several explorers in one environment: solved seeds, returns, and states discovered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports.figures.style import (
    PAGE_WIDTH,
    Style,
    add_legend,
    explorer_styles,
    new_figure,
    styled,
)
from wanderlust.experiments.reports.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS_PER_LINE = 5


@dataclass(frozen=True)
class LearningCurves:
    """The learning curves of one explorer over several seeds."""

    steps: FloatArray
    """[evaluation]"""
    returns: FloatArray
    """[seed, evaluation]: return of the greedy policy."""
    states: FloatArray
    """[seed, evaluation]: number of states discovered."""
    solved: FloatArray | None
    """[evaluation]: share of the seeds that had solved the environment; None without a reward threshold."""


@styled
def comparison_figure(title: str, curves: Mapping[str, LearningCurves], *, note: str = "") -> Figure:
    """Draw a panel for each measure, a line for each explorer, with 95 % intervals over the seeds."""
    from matplotlib.ticker import MaxNLocator

    styles = explorer_styles(curves)
    has_threshold = any(each.solved is not None for each in curves.values())
    names = [*(["solved (% of seeds)"] if has_threshold else []), "return of the greedy policy", "states discovered"]
    figure = new_figure(title, min(PAGE_WIDTH, 1.0 + 3.0 * len(names)), 3.4)
    panels = dict(zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True))
    handles: dict[str, object] = {}
    for rank, (explorer, style) in enumerate(styles.items()):
        steps = curves[explorer].steps
        zorder = 3 + (len(styles) - rank) / len(styles)
        for name, axes in panels.items():
            mean, ci = _mean_curve(curves[explorer], name)
            if ci is not None:
                axes.fill_between(steps, mean - ci, mean + ci, color=style.colour, alpha=0.15, linewidth=0, zorder=2)
            handles[explorer] = _line(axes, steps, mean, style, rank, len(styles), zorder)
    for name, axes in panels.items():
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    if has_threshold:
        panels[names[0]].set_ylim(-4, 104)
    panels[names[-1]].set_ylim(bottom=0)
    add_legend(figure, handles, note)
    return figure


def _mean_curve(curves: LearningCurves, name: str) -> tuple[FloatArray, FloatArray | None]:
    """Return the mean of a panel's measure, and its ±, None for the share of solved seeds."""
    if name.startswith("solved"):
        assert curves.solved is not None
        return 100.0 * curves.solved, None
    return paper_curve(curves.returns if name.startswith("return") else curves.states)


def _line(
    axes: Axes, steps: FloatArray, mean: FloatArray, style: Style, rank: int, n_lines: int, zorder: float
) -> object:
    every = max(1, len(steps) // _MARKERS_PER_LINE)
    (handle,) = axes.plot(
        steps,
        mean,
        color=style.colour,
        linestyle=style.dash,
        marker=style.marker,
        markevery=(rank * every // n_lines, every),
        zorder=zorder,
    )
    return handle
