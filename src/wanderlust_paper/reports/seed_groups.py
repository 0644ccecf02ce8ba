"""Groups of runs that differ only in their seed: a table with one row per group, and mean curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wanderlust import Run
from wanderlust.experiments.report.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.report.style import Style
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table, format_percent
from wanderlust.experiments.run import OPTIMAL_SUCCESS, evenness, step_learnt
from wanderlust.experiments.statistics import wilson_interval
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group, group_rows, row_of
from wanderlust_paper.claims import Check, Groups, check_all
from wanderlust_paper.registry import Report
from wanderlust_paper.reports.recap_tables import NUMBERS, world_title

Label = tuple[str, ...]
LEGEND = (
    "success: final return in percent of the optimum; learnt: seeds with {} at the end, with the 95 % Wilson "
    "interval; steps to learn: median of these seeds; evenness: entropy of the state visits in percent of the maximum."
)


def group_runs(
    names: Sequence[str],
    label: Callable[[Run], Label],
    requested: Iterable[Run],
    stored: Iterable[StoredRun],
    success_threshold: float = OPTIMAL_SUCCESS,
) -> Groups:
    """Return the runs that have the same label, whose parts have the given names, by their label.

    The order is that of the requested runs. A run has learnt when its success, in percent, reaches the threshold:
    column `learnt_at`, infinite for never.
    """
    rows = []
    for each in stored:
        curves = each.result.percent_curves
        discovery, success = curves[1:].mean(axis=1)
        columns: dict[str, Any] = {
            "curves": curves,
            "mean_discovery": discovery,
            "mean_success": success,
            "learnt_at": step_learnt(curves, success_threshold),
            "evenness": evenness(each.result.visits.sum(axis=1), int(each.result.reachable)),
        }
        rows.append(row_of(each) | columns | dict(zip(names, label(each.run), strict=True)))
    found = {group.label: group for group in group_rows(rows, by=names)}
    return Groups({each: found[each] for each in dict.fromkeys(map(label, requested)) if each in found})


def median_step(group: Group) -> float:
    """Return the median step from which a seed had learnt; infinite if most seeds never did."""
    return float(np.median(group.column("learnt_at")))


def learnt(groups: Iterable[Group]) -> tuple[int, int]:
    """Return the number of runs that learnt, and of all runs."""
    steps = [step for group in groups for step in group.column("learnt_at")]
    return int(np.isfinite(steps).sum()), len(steps)


def share_learnt(group: Group) -> float:
    """Return the share of the runs that learnt."""
    return learnt([group])[0] / len(group)


def group_report(
    title: str,
    names: Label,
    label: Callable[[Run], Label],
    *,
    checks: Sequence[Check],
    line: Callable[[Label], str] | None = None,
    styles: Callable[[], Mapping[str, Style]] = dict,
    success_threshold: float = OPTIMAL_SUCCESS,
) -> Callable[[list[Run], Iterable[StoredRun], str], Report]:
    """Return the report function of a study whose runs are grouped by `label`.

    With `line`, which maps a label to its name in the legend, learning curves are drawn too: one column of panels for
    each first element of the labels, and curves in the order of `styles`. A run has learnt when its success, in
    percent, reaches `success_threshold`.
    """

    def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
        groups = group_runs(names, label, requested, stored, success_threshold)
        labels = dict.fromkeys(map(label, requested))
        table = group_table(title, names, labels, groups, note, success_threshold)
        table = table._replace(claims=check_all(checks, groups))
        if line is None or not groups:
            return table
        columns: dict[str, dict[str, Curves]] = {}
        for each, group in groups.items():
            columns.setdefault(world_title(each[0]), {})[line(each)] = group_curves(group)
        return table._replace(figures={"curves": lambda: curves_figure(title, columns, styles(), note=note)})

    return report


def group_curves(group: Group) -> Curves:
    """Return the mean curves of a group."""
    return mean_curves([row["curves"] for row in group.rows])


def group_table(
    title: str,
    names: Label,
    labels: Iterable[Label],
    groups: Groups,
    note: str,
    success_threshold: float = OPTIMAL_SUCCESS,
) -> Report:
    """Return a table of the groups, and their mean learning curves."""
    is_optimal = success_threshold == OPTIMAL_SUCCESS
    legend = LEGEND.format("an optimal policy" if is_optimal else f"{success_threshold:g} % success")
    heads = (*names, "seeds", "discovery (%)", "success (%)", "learnt (%)", "steps to learn", "evenness (%)")
    labels = list(labels)
    rows = [[*label, *(_numbers(groups[label]) if label in groups else ["0", *["–"] * 5])] for label in labels]
    return Report(
        renderables=[as_rich_table(title, heads, rows, f"{legend} {note}".strip(), text_columns=len(names))],
        files={
            "table.md": as_markdown_table(title, heads, rows, legend, note),
            "table.csv": as_csv([*heads, "note"], [[*row, note] for row in rows]),
            "curves.csv": as_csv(
                [*names, "seeds", "step", *NUMBERS],
                [line for label in labels if label in groups for line in _curve_lines(label, groups[label])],
            ),
        },
    )


def _numbers(group: Group) -> list[str]:
    steps = group.column("learnt_at")
    steps = steps[np.isfinite(steps)]
    share = wilson_interval(len(steps), len(group))
    return [
        str(len(group)),
        format_percent(group.percent("discovery"), len(group)),
        format_percent(group.percent("success"), len(group)),
        f"{100 * share.estimate:.0f} [{100 * share.low:.0f}, {100 * share.high:.0f}]",
        f"{np.median(steps):.0f}" if len(steps) else "–",
        f"{group.column('evenness').mean():.1f}",
    ]


def _curve_lines(label: Label, group: Group) -> Iterator[Sequence[object]]:
    for step, *numbers in group_curves(group).points():
        yield [*label, len(group), int(step), *(f"{number:.4f}" for number in numbers)]
