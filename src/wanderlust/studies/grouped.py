"""Experiments whose report is one line per group of seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from wanderlust.reports.figures.curves import Curves, curves_figure
from wanderlust.reports.figures.style import Style
from wanderlust.reports.report import Report
from wanderlust.reports.summary import Group, Label, mean_curves_of, summary
from wanderlust.studies.run import Run
from wanderlust.studies.store import Stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def grouped_report(
    title: str,
    names: Label,
    label: Callable[[Run], Label],
    *,
    line: Callable[[Label], str] | None = None,
    styles: Callable[[], Mapping[str, Style]] = dict,
) -> Callable[[list[Run], Iterable[Stored], str], Report]:
    """Return the report of a study whose runs fall into the groups that `label` tells.

    With `line`, which names the line of a group, the curves are drawn too: one column of panels for each first word of
    a label, and lines in the order of `styles`.
    """

    def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
        groups = {label(run): Group() for run in asked}
        for run, result, _ in stored:
            groups[label(run)].add(result.discovery, result.percent_curves, result.visits, int(result.reachable))
        made = summary(title, names, groups, note)
        columns = mean_curves_of(groups, line) if line else {}
        if not columns:
            return made
        return made._replace(figures={"curves": functools.partial(_draw, title, columns, styles, note)})

    return report


def _draw(
    title: str, columns: Mapping[str, Mapping[str, Curves]], styles: Callable[[], Mapping[str, Style]], note: str
) -> Figure:
    return curves_figure(title, columns, styles(), note=note)
