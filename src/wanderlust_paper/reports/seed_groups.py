"""Groups of runs that differ only in their seed: a table with one row per group, and mean curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from wanderlust import Run
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.report.style import Style
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table, format_percent
from wanderlust.experiments.result import OPTIMAL_SUCCESS, Result, evenness, step_learnt
from wanderlust.experiments.statistics import Interval, Percent, paper_percent, wilson_interval
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import Claim
from wanderlust_paper.registry import Report
from wanderlust_paper.reports.recap_tables import world_title

Label = tuple[str, ...]


class SeedGroup:
    """Runs that differ only in their seed."""

    def __init__(self, success_threshold: float = OPTIMAL_SUCCESS) -> None:
        self.success_threshold = success_threshold
        """Success, in percent, from which a run has learnt."""
        self.discovery: list[float] = []
        self.curves: list[FloatArray] = []
        self.evenness: list[float] = []

    def add(self, result: Result) -> None:
        """Add the result of a run."""
        self.discovery.append(result.discovery)
        self.curves.append(result.percent_curves)
        self.evenness.append(evenness(result.visits.sum(axis=1), int(result.reachable)))

    @property
    def success(self) -> list[float]:
        """The final return of each run, in percent of the optimum."""
        return [float(curves[2, -1]) for curves in self.curves]

    def steps_to_learn(self) -> list[float]:
        """Return the step from which each seed had learnt, for the seeds that learnt."""
        steps = [step_learnt(curves, self.success_threshold) for curves in self.curves]
        return [step for step in steps if np.isfinite(step)]

    def learnt(self) -> Interval:
        """Return the share of seeds that had learnt at the end."""
        return wilson_interval(sum(value >= self.success_threshold for value in self.success), len(self.success))

    def median_step(self) -> float:
        """Return the median step from which a seed had learnt; infinite if most seeds never did."""
        return float(np.median([step_learnt(curves, self.success_threshold) for curves in self.curves]))

    def mean_percents(self) -> tuple[Percent, Percent]:
        """Return discovery and success averaged over the whole run, with the interval over the seeds."""
        discovery, success = np.array([curves[1:].mean(axis=1) for curves in self.curves]).T
        return paper_percent(discovery), paper_percent(success)

    def mean_curve(self) -> FloatArray:
        """Return discovery and success in percent, averaged over the whole run and all seeds."""
        return np.array([each.mean for each in self.mean_percents()])


def group_table(title: str, names: Label, groups: dict[Label, SeedGroup], note: str) -> Report:
    """Return a table of the groups, and their mean learning curves."""
    threshold = min((group.success_threshold for group in groups.values()), default=OPTIMAL_SUCCESS)
    legend = LEGEND.format("an optimal policy" if threshold == OPTIMAL_SUCCESS else f"{threshold:g} % success")
    heads = (*names, "seeds", "discovery (%)", "success (%)", "learnt (%)", "steps to learn", "evenness (%)")
    rows = [_row(label, group) for label, group in groups.items()]
    table = as_rich_table(title, heads, rows, f"{legend} {note}".strip(), text_columns=len(names))
    return Report(
        renderables=[table],
        files={
            "table.md": as_markdown_table(title, heads, rows, legend, note),
            "table.csv": as_csv([*heads, "note"], [[*row, note] for row in rows]),
            "curves.csv": as_csv([*names, "seeds", "step", *_CURVE_COLUMNS], list(_curve_rows(groups))),
        },
    )


LEGEND = (
    "success: final return in percent of the optimum; learnt: seeds with {} at the end, with the 95 % Wilson "
    "interval; steps to learn: median of these seeds; evenness: entropy of the state visits in percent of the maximum."
)
_CURVE_COLUMNS = ("discovery_mean", "discovery_ci95", "success_mean", "success_ci95")


def _row(label: Label, group: SeedGroup) -> list[str]:
    if not group.curves:
        return [*label, "0", *["–"] * 5]
    learnt, steps = group.learnt(), group.steps_to_learn()
    return [
        *label,
        str(len(group.curves)),
        format_percent(paper_percent(group.discovery), len(group.curves)),
        format_percent(paper_percent(group.success), len(group.curves)),
        f"{100 * learnt.estimate:.0f} [{100 * learnt.low:.0f}, {100 * learnt.high:.0f}]",
        f"{np.median(steps):.0f}" if steps else "–",
        f"{np.mean(group.evenness):.1f}",
    ]


def _curve_rows(groups: dict[Label, SeedGroup]) -> Iterator[Sequence[object]]:
    for label, group in groups.items():
        if group.curves:
            for step, *numbers in mean_curves(group.curves).points():
                yield [*label, len(group.curves), int(step), *(f"{number:.4f}" for number in numbers)]


def mean_curves_by_column(groups: dict[Label, SeedGroup], line: Callable[[Label], str]) -> dict[str, dict[str, Curves]]:
    """Return column -> line -> mean curves of the groups that have runs; a column is the first part of the label."""
    columns: dict[str, dict[str, Curves]] = {}
    for label, group in groups.items():
        if group.curves:
            columns.setdefault(world_title(label[0]), {})[line(label)] = mean_curves(group.curves)
    return columns


def group_report(
    title: str,
    names: Label,
    label: Callable[[Run], Label],
    *,
    line: Callable[[Label], str] | None = None,
    styles: Callable[[], Mapping[str, Style]] = dict,
    success_threshold: float = OPTIMAL_SUCCESS,
    claims: Callable[[Mapping[Label, SeedGroup]], list[Claim]] = lambda groups: [],
) -> Callable[[list[Run], Iterable[StoredRun], str], Report]:
    """Return the report function of a study whose runs are grouped by `label`.

    With `line`, which maps a label to its name in the legend, learning curves are drawn too: one column of panels for
    each first element of the labels, and curves in the order of `styles`. A run has learnt when its success, in
    percent, reaches `success_threshold`; `claims` checks the groups that have runs.
    """

    def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
        groups = {label(run): SeedGroup(success_threshold) for run in requested}
        for run, result, _ in stored:
            groups[label(run)].add(result)
        table = group_table(title, names, groups, note)
        table = table._replace(claims=claims({name: group for name, group in groups.items() if group.curves}))
        columns = mean_curves_by_column(groups, line) if line else {}
        if not columns:
            return table
        return table._replace(figures={"curves": lambda: curves_figure(title, columns, styles(), note=note)})

    return report
