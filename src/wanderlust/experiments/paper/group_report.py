"""Experiments whose report is one line per group of seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from wanderlust.experiments.reports.claims import Claim
from wanderlust.experiments.reports.figures.curves import Curves, curves_figure
from wanderlust.experiments.reports.figures.style import Style
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.summary import OPTIMAL, Group, Label, mean_curves_of, summary
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def grouped_report(
    title: str,
    names: Label,
    label: Callable[[Run], Label],
    *,
    line: Callable[[Label], str] | None = None,
    styles: Callable[[], Mapping[str, Style]] = dict,
    enough: float = OPTIMAL,
    claims: Callable[[Mapping[Label, Group]], list[Claim]] = lambda groups: [],
) -> Callable[[list[Run], Iterable[Stored], str], Report]:
    """Return the report of a study whose runs fall into the groups that `label` tells.

    With `line`, which names the line of a group, the curves are drawn too: one column of panels for each first word of
    a label, and lines in the order of `styles`. `enough` is the success, in percent, from
    which on a run has learnt; `claims` are of the groups that have runs.
    """

    def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
        groups = {label(run): Group(enough) for run in asked}
        for run, result, _ in stored:
            groups[label(run)].add(result.discovery, result.percent_curves, result.visits, int(result.reachable))
        made = summary(title, names, groups, note)
        made = made._replace(claims=claims({name: group for name, group in groups.items() if group.curves}))
        columns = mean_curves_of(groups, line) if line else {}
        if not columns:
            return made
        return made._replace(figures={"curves": functools.partial(_draw, title, columns, styles, note)})

    return report


def _draw(
    title: str, columns: Mapping[str, Mapping[str, Curves]], styles: Callable[[], Mapping[str, Style]], note: str
) -> Figure:
    return curves_figure(title, columns, styles(), note=note)
