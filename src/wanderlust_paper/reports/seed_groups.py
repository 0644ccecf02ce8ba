"""Groups of runs that differ only in their seed: a table with one row per group, and mean curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wanderlust import Run
from wanderlust.experiments.report.figures import Curves, Style, curves_figure, mean_curves
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Result, step_learnt
from wanderlust.experiments.statistics import wilson_interval
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group, group_rows, row_of
from wanderlust_paper.claims import LEARNT, Check, Groups, check_all, seeds_of, step_text, with_fresh_seeds
from wanderlust_paper.figures.maps import evenness
from wanderlust_paper.registry import Report, figure_note
from wanderlust_paper.reports.recap_tables import NUMBERS, format_percent, world_title

Label = tuple[str, ...]
LEGEND = (
    f"success: final return in percent of the optimum; learnt: seeds with more than {LEARNT:.0f} % success at the end, "
    "with the 95 % Wilson interval; steps to learn: median of all seeds, where a seed that did not learn counts as "
    "infinite; evenness: entropy of the state visits in percent of the maximum."
)

_SHORT = "n: seeds; states: discovered, in percent of the reachable ones; even: evenness."


def group_runs(
    names: Sequence[str],
    label: Callable[[Run], Label],
    requested: Iterable[Run],
    stored: Iterable[StoredRun],
) -> Groups:
    """Return the runs that have the same label, whose parts have the given names, by their label.

    The order is that of the requested runs. The column `learnt_at` has the step from which a run had learnt, infinite
    for never.
    """
    rows = []
    for each in stored:
        curves = each.result.percent_curves
        discovery, success = curves[1:].mean(axis=1)
        columns: dict[str, Any] = {
            "curves": curves,
            "mean_discovery": discovery,
            "mean_success": success,
            "learnt_at": step_learnt(curves, LEARNT),
            "evenness": _evenness(each.result),
            "run": each.run,
        }
        rows.append(row_of(each) | columns | dict(zip(names, label(each.run), strict=True)))
    found = {group.label: group for group in group_rows(rows, by=names)}
    return Groups({each: found[each] for each in dict.fromkeys(map(label, requested)) if each in found})


def _evenness(result: Result) -> float:
    visits = result.visits.sum(axis=1)
    return evenness(visits, int(result.reachable)) if visits.any() else math.nan


def median_step(group: Group) -> float:
    """Return the median step from which a seed had learnt; infinite if most seeds never did."""
    return float(np.median(group.column("learnt_at")))


def learnt(groups: Iterable[Group]) -> tuple[int, int]:
    """Return the number of runs that learnt, and of all runs."""
    steps = [step for group in groups for step in group.column("learnt_at")]
    return int(np.isfinite(steps).sum()), len(steps)


def group_report(
    title: str,
    names: Label,
    label: Callable[[Run], Label],
    *,
    checks: Sequence[Check],
    line: Callable[[Label], str] | None = None,
    styles: Callable[[], Mapping[str, Style]] = dict,
    paper_seeds: int | None = None,
    is_shown: Callable[[Label], bool] = lambda label: True,
    is_reference: Callable[[Label], bool] = lambda label: False,
    more: str = "",
) -> Callable[[list[Run], Iterable[StoredRun], str], Report]:
    """Return the report function of a study whose runs are grouped by `label`.

    With `line`, which maps a label to its name in the legend, learning curves are drawn too: one column of panels for
    each first element of the labels, and curves in the order of `styles`. With `paper_seeds`, tables, figures and
    claims use that many seeds, and claims are checked again with the others, beside the same seeds of reference groups.
    Groups that are not shown are in neither the table nor the figure. `more` is said below the figure.
    """

    def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
        every = group_runs(names, label, requested, stored)
        used = seeds_of(every, up_to=paper_seeds)
        fresh = seeds_of(every, above=paper_seeds) if paper_seeds else Groups()
        if fresh:
            fresh = Groups({each: group for each, group in used.items() if is_reference(each)} | fresh)
        groups = Groups({each: group for each, group in used.items() if is_shown(each)})
        labels = [each for each in dict.fromkeys(map(label, requested)) if is_shown(each)]
        again = (
            f"seeds {(paper_seeds or 0) + 1} to {max((r['seed'] for g in every.values() for r in g.rows), default=0)}"
        )
        found = with_fresh_seeds(
            check_all(checks, used), check_all(checks, fresh), again, check_all(checks, every if fresh else Groups())
        )
        table = group_table(title, names, labels, groups, note)._replace(claims=found)
        if line is None or not groups:
            return table
        columns: dict[str, dict[str, Curves]] = {}
        for each, group in groups.items():
            columns.setdefault(world_title(each[0]), {})[line(each)] = group_curves(group)
        text = figure_note(note, {line(each): len(group) for each, group in groups.items()}, more)
        return table._replace(figures={"curves": lambda: curves_figure(title, columns, styles(), note=text)})

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
) -> Report:
    """Return a table of the groups, and their mean learning curves."""
    legend = LEGEND
    heads = (*names, "seeds", "discovery (%)", "success (%)", "learnt (%)", "steps to learn", "evenness (%)")
    labels = list(labels)
    rows = [[*label, *(_numbers(groups[label]) if label in groups else ["0", *["–"] * 5])] for label in labels]
    # At 80 columns a terminal has no room for intervals; the files have them.
    short = [[*row[: len(names) + 1], *(cell.partition(" ")[0] for cell in row[len(names) + 1 :])] for row in rows]
    short_heads = (*names, "n", "states", "success", "learnt", "steps", "even")
    return Report(
        renderables=[
            as_rich_table(title, short_heads, short, f"{_SHORT} {legend} {note}".strip(), text_columns=len(names))
        ],
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
    share = wilson_interval(*learnt([group]))
    return [
        str(len(group)),
        format_percent(group.percent("discovery"), len(group)),
        format_percent(group.percent("success"), len(group)),
        f"{100 * share.estimate:.0f} [{100 * share.low:.0f}, {100 * share.high:.0f}]",
        step_text(median_step(group)),
        f"{group.column('evenness').mean():.1f}",
    ]


def _curve_lines(label: Label, group: Group) -> Iterator[Sequence[object]]:
    for step, *numbers in group_curves(group).points():
        yield [*label, len(group), int(step), *(f"{number:.4f}" for number in numbers)]
