"""Reports with one table row and one learning curve per group of seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from wanderlust.experiments.report.curves import curves_figure
from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.style import Style
from wanderlust.experiments.result import OPTIMAL_SUCCESS
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims.claims import Claim
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_table, mean_curves_by_column


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
