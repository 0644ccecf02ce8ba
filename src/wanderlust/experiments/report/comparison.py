"""Learning curves of several explorers in one environment: solved seeds, returns, and states discovered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.style import (
    PAGE_WIDTH,
    add_legend,
    draw_curve,
    explorer_styles,
    literal_label,
    new_figure,
    styled,
)
from wanderlust.experiments.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    figure = new_figure(literal_label(title), min(PAGE_WIDTH, 1.0 + 3.0 * len(names)), 3.4)
    panels = dict(zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True))
    handles: dict[str, object] = {}
    for rank, (explorer, style) in enumerate(styles.items()):
        steps = curves[explorer].steps
        for name, axes in panels.items():
            mean, interval = _mean_curve(curves[explorer], name)
            handles[literal_label(explorer)] = draw_curve(axes, steps, mean, interval, style, rank, len(styles))
    for name, axes in panels.items():
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    if has_threshold:
        panels[names[0]].set_ylim(-4, 104)
    panels[names[-1]].set_ylim(bottom=0)
    add_legend(figure, handles, literal_label(note))
    return figure


def _mean_curve(curves: LearningCurves, name: str) -> tuple[FloatArray, tuple[FloatArray, FloatArray] | None]:
    """Return the mean of a panel's measure, and its interval, None for the share of solved seeds."""
    if name.startswith("solved"):
        assert curves.solved is not None
        return 100.0 * curves.solved, None
    mean, ci = paper_curve(curves.returns if name.startswith("return") else curves.states)
    return mean, (mean - ci, mean + ci)
