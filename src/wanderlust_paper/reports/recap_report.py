"""The recap tables (Table 1, Tables 3 to 8) compared with the paper's numbers.

A cell *agrees* if both its numbers, discovery and success, differ from the paper's by at most 2.58 standard errors of
the difference (99 %) plus half a point for rounding. `benchmarks/agreement_rule.py` measures how often two samples of
the same distribution differ by this rule.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wanderlust.experiments.report.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.report.style import explorer_styles
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.result import OPTIMAL_SUCCESS
from wanderlust.experiments.statistics import (
    Percent,
    bootstrap_interval,
    interquartile_mean,
    paper_percent,
    standard_error_of_difference,
    wilson_interval,
)
from wanderlust_paper.registry import Report
from wanderlust_paper.reports import recap_cells, recap_tables, scorecard
from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, AlternativeSetting, Cell, Numbers, Row
from wanderlust_paper.reports.recap_samples import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STANDARD_ERRORS = 2.58
MAX_ROUNDING = 0.5
_LOG_SCALE_WORLDS = ("wall",)
"""Worlds whose returns are drawn on a logarithmic axis, as in Figure 18."""


class RecapRuns(NamedTuple):
    """The runs of the recap tables, and runs of some cells with other settings."""

    default: Samples
    alternative: Samples
    """Runs of the cells in `settings`, each with its alternative setting."""
    settings: Mapping[Cell, AlternativeSetting]
    released: Samples
    """Runs with a setting of the released code where the default setting was inferred from the paper's numbers."""

    def shown(self, row: Row) -> Samples:
        """Return the runs whose numbers a row has."""
        return self.alternative if row.setting and row.cell in self.alternative.curves else self.default


@functools.cache
def paper_cells() -> Mapping[Cell, Numbers]:
    """Return the 198 cells of the paper's six tables."""
    text = resources.files("wanderlust_paper.reports").joinpath("recap_tables.csv").read_text(encoding="utf-8")
    return {
        Cell(*(line[name] for name in Cell._fields)): Numbers(
            Percent(float(line["discovery_mean"]), float(line["discovery_ci95"])),
            Percent(float(line["success_mean"]), float(line["success_ci95"])),
        )
        for line in csv.DictReader(io.StringIO(text))
    }


def compare(ours: Percent, theirs: Percent, seeds: int) -> tuple[float, bool]:
    """Return the standard error of the difference, and whether the two agree."""
    error = standard_error_of_difference(ours, theirs, (seeds, PAPER_SEEDS))
    return error, abs(ours.mean - theirs.mean) <= MAX_STANDARD_ERRORS * error + MAX_ROUNDING


def make_row(cell: Cell, samples: Samples) -> Row:
    """Return a cell with our numbers, the paper's numbers and the verdict."""
    discovery, success = samples.final(cell)
    planned, seeds = samples.planned[cell], len(success)
    theirs = paper_cells().get(cell)
    if not seeds:
        return Row(cell, 0, planned, None, theirs, (math.nan, math.nan), None, None, "no runs")
    ours = Numbers(paper_percent(discovery), paper_percent(success))
    learnt = wilson_interval(sum(value >= OPTIMAL_SUCCESS for value in success), seeds)
    iqm = bootstrap_interval(success, lambda x: np.apply_along_axis(interquartile_mean, -1, x), samples=200)
    error, verdict = (math.nan, math.nan), "not compared"
    if theirs is not None and cell not in samples.scaled_down:
        both = [compare(a, b, seeds) for a, b in zip(ours, theirs, strict=True)]
        error = both[0][0], both[1][0]
        verdict = "agrees" if all(agrees for _, agrees in both) else "differs"
    return Row(cell, seeds, planned, ours, theirs, error, learnt, iqm, verdict)


def plain_verdict(cell: Cell, samples: Samples) -> str:
    """Return the verdict with the paper's seeds, 1 to 20, alone."""
    discovery, success = samples.final(cell, max_seed=PAPER_SEEDS)
    theirs = paper_cells().get(cell)
    if not success or theirs is None or cell in samples.scaled_down:
        return ""
    both = zip((discovery, success), theirs, strict=True)
    agrees = all(compare(paper_percent(values), paper, len(values))[1] for values, paper in both)
    return "agrees" if agrees else "differs"


def make_rows(cell: Cell, runs: RecapRuns) -> Row:
    """Return the row of a cell with the default setting; with its alternative setting if only that agrees."""
    default = make_row(cell, runs.default)._replace(plain=plain_verdict(cell, runs.default))
    if cell in runs.released.planned:
        released = make_row(cell, runs.released)
        default = default._replace(
            released=released.ours, released_seeds=released.seeds, released_verdict=released.verdict
        )
    if default.verdict != "differs" or cell not in runs.alternative.planned:
        return default
    row = make_row(cell, runs.alternative)
    if row.verdict != "agrees":
        return default
    return default._replace(
        **{name: getattr(row, name) for name in ("seeds", "planned", "ours", "error", "learnt", "success_iqm")},
        verdict="agrees",
        setting=runs.settings[cell].description,
        follows_text=runs.settings[cell].follows_text,
        default=default.ours,
    )


def make_report(runs: RecapRuns) -> Report:
    """Return tables and scorecard, for the terminal and as files."""
    note = runs.default.note
    rows = [make_rows(cell, runs) for cell in runs.default.planned]
    return Report(
        renderables=[*recap_tables.rich_tables(rows, note), scorecard.summary(rows, note)],
        files={
            "tables.md": recap_tables.as_markdown(rows, note),
            "tables.csv": recap_tables.rows_as_csv(rows, note),
            "tables.tex": recap_tables.as_latex(rows, note),
            "curves.csv": _curves_csv(runs, rows),
            "improvement.csv": runs.default.improvement_csv(),
            "cells.json": recap_cells.as_json(rows, note),
        },
        cells=[recap_cells.rounded(row) for row in rows],
        note=note,
        figures={
            f"curves-{world}": functools.partial(_draw_curves, runs, rows, world)
            for world in dict.fromkeys(cell.environment for cell in runs.default.curves)
        },
    )


def _curves_csv(runs: RecapRuns, rows: Sequence[Row]) -> str:
    """Return the mean curves of the rows with the paper's interval, as CSV."""
    lines = []
    for row in rows:
        curves = runs.shown(row).curves.get(row.cell, [])
        for step, *numbers in mean_curves(curves).points() if curves else ():
            lines.append([*row.cell, len(curves), int(step), *(f"{number:.4f}" for number in numbers)])
    heads = [*Cell._fields, "seeds", "step", "discovery_mean", "discovery_ci95", "success_mean", "success_ci95"]
    return as_csv(heads, lines)


def _draw_curves(runs: RecapRuns, rows: Sequence[Row], world: str) -> Figure:
    """Draw the learning curves of a world from the runs of its table, a column for each scenario."""
    columns: dict[str, dict[str, Curves]] = {}
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.cell.environment == world:
            column = columns.setdefault(recap_tables.scenario(row.cell), {})
            curves = runs.shown(row).curves.get(row.cell)
            if curves:
                column[row.cell.algorithm] = mean_curves(curves)
            if row.setting and row.cell in runs.alternative.curves:
                setting = f"{row.cell.algorithm} with {row.setting}"
                notes.setdefault(setting, []).append(recap_tables.scenario(row.cell))
    settings = [text if len(named) == len(columns) else f"{text} ({', '.join(named)})" for text, named in notes.items()]
    note = " ".join([runs.default.note, *(f"{text}, as in the table." for text in settings)]).strip()
    styles = explorer_styles(row.cell.algorithm for row in rows)
    title = f"{recap_tables.world_title(world)}: mean and 95 % interval over the seeds"
    return curves_figure(title, columns, styles, note=note, log_scale=world in _LOG_SCALE_WORLDS)
