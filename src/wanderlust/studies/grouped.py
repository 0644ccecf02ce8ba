"""Experiments whose report is one line per group of seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wanderlust.reports.report import Report
from wanderlust.reports.summary import Group, Label, summary
from wanderlust.studies.run import Run
from wanderlust.studies.store import Stored


def grouped_report(
    title: str, names: Label, label: Callable[[Run], Label]
) -> Callable[[list[Run], Iterable[Stored], str], Report]:
    """Return the report of a study whose runs fall into the groups that `label` tells."""

    def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
        groups = {label(run): Group() for run in asked}
        for run, result, _ in stored:
            groups[label(run)].add(result.discovery, result.percent_curves, result.visits, int(result.reachable))
        return summary(title, names, groups, note)

    return report
