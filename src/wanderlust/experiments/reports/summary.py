"""A plain table for experiments that the paper shows as curves: one line per group of seeds, and the curves as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports.figures.curves import Curves, mean_curves
from wanderlust.experiments.reports.formats import as_csv, as_markdown_table, as_rich_table, percent, title_of
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.statistics import Interval, Percent, paper_percent, wilson_interval

OPTIMAL = 100.0 - 1e-6
"""Success, in percent, from which on a policy is optimal but for rounding."""
Label = tuple[str, ...]


def step_learnt(curves: FloatArray, enough: float = OPTIMAL) -> float:
    """Return the step from which on the success in [steps, discovery, success] was enough; infinity if it never was."""
    steps, _, success = curves
    if not len(steps) or success[-1] < enough:
        return np.inf
    below = np.flatnonzero(success < enough)
    return float(steps[below[-1] + 1] if len(below) else steps[0])


class Group:
    """The runs that differ only in their seed."""

    def __init__(self, enough: float = OPTIMAL) -> None:
        self.enough = enough
        """Success, in percent, from which on a run has learnt."""
        self.discovery: list[float] = []
        self.curves: list[FloatArray] = []
        self.evenness: list[float] = []

    def add(self, discovery: float, curves: FloatArray, visits: NDArray[np.int64], reachable: int) -> None:
        """Add a run: states discovered in percent, curves [steps, discovery, success], visits [state, action]."""
        self.discovery.append(discovery)
        self.curves.append(curves)
        self.evenness.append(evenness(visits.sum(axis=1), reachable))

    @property
    def success(self) -> list[float]:
        """The last return of each run, in percent of the best."""
        return [float(curves[2, -1]) for curves in self.curves]

    def steps_to_learn(self) -> list[float]:
        """Return, for the seeds that learnt, the step from which on they had."""
        steps = [step_learnt(curves, self.enough) for curves in self.curves]
        return [step for step in steps if np.isfinite(step)]

    def learnt(self) -> Interval:
        """Return the share of seeds that had learnt in the end."""
        return wilson_interval(sum(value >= self.enough for value in self.success), len(self.success))

    def median_step(self) -> float:
        """Return the median step from which on a seed had learnt; infinite where most seeds never did."""
        return float(np.median([step_learnt(curves, self.enough) for curves in self.curves]))

    def mean_percents(self) -> tuple[Percent, Percent]:
        """Return discovery and success, means over the whole run, with the spread over the seeds."""
        discovery, success = np.array([curves[1:].mean(axis=1) for curves in self.curves]).T
        return paper_percent(discovery), paper_percent(success)

    def mean_curve(self) -> FloatArray:
        """Return the means over the whole run and all seeds of discovery and success, in percent."""
        return np.array([each.mean for each in self.mean_percents()])


def evenness(counts: NDArray[np.int64], reachable: int) -> float:
    """Return how evenly states were visited: entropy of the counts over the largest possible, in percent."""
    share = counts[counts > 0] / counts.sum()
    return 100.0 * float(-(share * np.log(share)).sum()) / float(np.log(reachable)) if reachable > 1 else 100.0


def summary(title: str, names: Label, groups: dict[Label, Group], note: str) -> Report:
    """Return a table of the groups, and their mean curves."""
    enough = min((group.enough for group in groups.values()), default=OPTIMAL)
    legend = LEGEND.format("an optimal policy" if enough == OPTIMAL else f"{enough:g} % success")
    heads = (*names, "seeds", "discovery (%)", "success (%)", "learnt (%)", "steps to learn", "evenness (%)")
    lines = [_line(label, group) for label, group in groups.items()]
    table = as_rich_table(title, heads, lines, f"{legend} {note}".strip(), names=len(names))
    return Report(
        shown=[table],
        files={
            "table.md": as_markdown_table(title, heads, lines, legend, note),
            "table.csv": as_csv([*heads, "note"], [[*line, note] for line in lines]),
            "curves.csv": as_csv([*names, "seeds", "step", *_CURVES], list(_curve_lines(groups))),
        },
    )


LEGEND = (
    "success: return learnt in percent of the best; learnt: seeds with {} at the end, Wilson's 95 % "
    "interval; steps to learn: their median; evenness: entropy of the state counts."
)
_CURVES = ("discovery_mean", "discovery_ci95", "success_mean", "success_ci95")


def _line(label: Label, group: Group) -> list[str]:
    if not group.curves:
        return [*label, "0", *["–"] * 5]
    learnt, steps = group.learnt(), group.steps_to_learn()
    return [
        *label,
        str(len(group.curves)),
        percent(paper_percent(group.discovery), len(group.curves)),
        percent(paper_percent(group.success), len(group.curves)),
        f"{100 * learnt.estimate:.0f} [{100 * learnt.low:.0f}, {100 * learnt.high:.0f}]",
        f"{np.median(steps):.0f}" if steps else "–",
        f"{np.mean(group.evenness):.1f}",
    ]


def _curve_lines(groups: dict[Label, Group]) -> Iterator[Sequence[object]]:
    for label, group in groups.items():
        if group.curves:
            for step, *numbers in mean_curves(group.curves).points():
                yield [*label, len(group.curves), int(step), *(f"{number:.4f}" for number in numbers)]


def mean_curves_of(groups: dict[Label, Group], line: Callable[[Label], str]) -> dict[str, dict[str, Curves]]:
    """Return the mean curves of the groups that have runs, by the first word of their label, then by their line."""
    columns: dict[str, dict[str, Curves]] = {}
    for label, group in groups.items():
        if group.curves:
            columns.setdefault(title_of(label[0]), {})[line(label)] = mean_curves(group.curves)
    return columns
