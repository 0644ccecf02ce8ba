"""Several explorers in one environment: the share that solved it, returns and states found, by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports.figures.style import WIDTH, Style, add_legend, new_figure, styled, styles_of
from wanderlust.experiments.reports.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = 5
"""Markers along a line."""


@dataclass(frozen=True)
class Course:
    """What an explorer's seeds came to, evaluation by evaluation."""

    steps: FloatArray
    returns: FloatArray
    """[seed, evaluation]: what the greedy policy returned."""
    states: FloatArray
    """[seed, evaluation]: how many states had been found."""
    solved: FloatArray | None
    """[evaluation]: the share of the seeds that had solved it; None if nobody knows what that means."""


@styled
def comparison_figure(title: str, courses: Mapping[str, Course], *, note: str = "") -> Figure:
    """Draw a panel for each measure, a line for each explorer; bands are of 95 %, over the seeds."""
    from matplotlib.ticker import MaxNLocator

    styles = styles_of(courses)
    knows = any(course.solved is not None for course in courses.values())
    names = [*(["solved (% of seeds)"] if knows else []), "return of the greedy policy", "states found"]
    figure = new_figure(title, min(WIDTH, 1.0 + 3.0 * len(names)), 3.4)
    panels = dict(zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True))
    handles: dict[str, object] = {}
    for rank, (explorer, style) in enumerate(styles.items()):
        course = courses[explorer]
        above = 3 + (len(styles) - rank) / len(styles)
        for name, axes in panels.items():
            mean, band = _curve(course, name)
            if band is not None:
                axes.fill_between(
                    course.steps, mean - band, mean + band, color=style.colour, alpha=0.15, linewidth=0, zorder=2
                )
            handles[explorer] = _line(axes, course.steps, mean, style, rank, len(styles), above)
    for name, axes in panels.items():
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    if knows:
        panels[names[0]].set_ylim(-4, 104)
    panels[names[-1]].set_ylim(bottom=0)
    add_legend(figure, handles, note)
    return figure


def _curve(course: Course, name: str) -> tuple[FloatArray, FloatArray | None]:
    """Return the mean of a panel's measure, and its ± if it has one."""
    if name.startswith("solved"):
        assert course.solved is not None
        return 100.0 * course.solved, None
    return paper_curve(course.returns if name.startswith("return") else course.states)


def _line(
    axes: Axes, steps: FloatArray, mean: FloatArray, style: Style, rank: int, n_lines: int, above: float
) -> object:
    every = max(1, len(steps) // _MARKS)
    (handle,) = axes.plot(
        steps,
        mean,
        color=style.colour,
        linestyle=style.dash,
        marker=style.marker,
        markevery=(rank * every // n_lines, every),
        zorder=above,
    )
    return handle
