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
from collections.abc import Iterable, Mapping
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.reports import recap_cells, recap_tables, scorecard
from wanderlust.experiments.reports.figures.curves import Curves, curves_figure, mean_curves, thinned
from wanderlust.experiments.reports.figures.style import explorer_styles
from wanderlust.experiments.reports.recap_cells import PAPER_SEEDS, AlternativeSetting, Cell, Numbers, Row
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.seed_groups import OPTIMAL_SUCCESS, step_learnt
from wanderlust.experiments.reports.statistics import (
    Percent,
    bootstrap_interval,
    interquartile_mean,
    paper_percent,
    probability_of_improvement,
    standard_error_of_difference,
    wilson_interval,
)
from wanderlust.experiments.reports.tables import as_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STANDARD_ERRORS = 2.58
MAX_ROUNDING = 0.5
_CURVE_POINTS = 200
_LOG_SCALE_WORLDS = ("wall",)
"""Worlds whose returns are drawn on a logarithmic axis, as in Figure 18."""


class Samples:
    """The results of the runs of each cell, one number per seed."""

    def __init__(self, planned: Mapping[Cell, int], scaled_down: Iterable[Cell] = (), note: str = "") -> None:
        self.planned = dict(planned)
        """The number of requested runs of each cell."""
        self.scaled_down = set(scaled_down)
        """Cells whose world is smaller than the paper's: shown, but not compared."""
        self.note = note
        self.discovery: dict[Cell, list[float]] = {cell: [] for cell in planned}
        self.success: dict[Cell, list[float]] = {cell: [] for cell in planned}
        self.learnt_at: dict[Cell, list[float]] = {cell: [] for cell in planned}
        """The step from which the policy was optimal; infinity for never."""
        self.curves: dict[Cell, list[FloatArray]] = {}
        """[3, point], at most `_CURVE_POINTS` points."""

    def add(self, cell: Cell, discovery: float, success: float, curves: FloatArray) -> None:
        """Add a run: its final numbers in percent, and its curves, [(steps, discovery, success), evaluation]."""
        self.discovery[cell].append(discovery)
        self.success[cell].append(success)
        self.learnt_at[cell].append(step_learnt(curves))
        self.curves.setdefault(cell, []).append(curves[:, thinned(curves.shape[1], _CURVE_POINTS)].copy())

    def curves_csv(self) -> str:
        """Return the mean curves with the paper's interval, as CSV."""
        lines = []
        for cell, curves in self.curves.items():
            for step, *numbers in mean_curves(curves).points():
                lines.append([*cell, len(curves), int(step), *(f"{number:.4f}" for number in numbers)])
        heads = [*Cell._fields, "seeds", "step", "discovery_mean", "discovery_ci95", "success_mean", "success_ci95"]
        return as_csv(heads, lines)

    def improvement_csv(self) -> str:
        """Return the probability of improvement for all pairs of explorers of a scenario, as CSV."""
        lines = []
        for x, y in combinations([cell for cell, successes in self.success.items() if successes], 2):
            if x[:3] == y[:3]:
                by_success = probability_of_improvement(self.success[x], self.success[y])
                by_discovery = probability_of_improvement(self.discovery[x], self.discovery[y])
                lines.append([*x, y.algorithm, f"{by_discovery:.4f}", f"{by_success:.4f}"])
        return as_csv([*Cell._fields, "than", "probability_discovery", "probability_success"], lines)


@functools.cache
def paper_cells() -> Mapping[Cell, Numbers]:
    """Return the 198 cells of the paper's six tables."""
    text = resources.files("wanderlust.experiments.reports").joinpath("recap_tables.csv").read_text(encoding="utf-8")
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
    discovery, success = samples.discovery[cell], samples.success[cell]
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


def make_row_with_alternative(
    cell: Cell, samples: Samples, alternative: Samples, settings: Mapping[Cell, AlternativeSetting]
) -> Row:
    """Return the row with the default setting; with the alternative setting if only that agrees with the paper."""
    default = make_row(cell, samples)
    if default.verdict != "differs" or cell not in alternative.planned:
        return default
    row = make_row(cell, alternative)
    if row.verdict != "agrees":
        return default
    setting = settings[cell]
    return row._replace(setting=setting.description, follows_text=setting.follows_text, default=default.ours)


def make_report(samples: Samples, alternative: Samples, settings: Mapping[Cell, AlternativeSetting]) -> Report:
    """Return tables and scorecard, for the terminal and as files.

    `alternative` has the runs of the cells in `settings`, each with its alternative setting.
    """
    rows = [make_row_with_alternative(cell, samples, alternative, settings) for cell in samples.planned]
    return Report(
        renderables=[*recap_tables.rich_tables(rows, samples.note), scorecard.summary(rows, samples.note)],
        files={
            "tables.md": recap_tables.as_markdown(rows, samples.note),
            "tables.csv": recap_tables.rows_as_csv(rows, samples.note),
            "tables.tex": recap_tables.as_latex(rows, samples.note),
            "curves.csv": samples.curves_csv(),
            "improvement.csv": samples.improvement_csv(),
            "cells.json": recap_cells.as_json(rows, samples.note),
        },
        figures={
            f"curves-{world}": functools.partial(_draw_curves, samples, world)
            for world in dict.fromkeys(cell.environment for cell in samples.curves)
        },
    )


def _draw_curves(samples: Samples, world: str) -> Figure:
    """Draw the learning curves of a world, a column for each initialization and horizon."""
    columns: dict[str, dict[str, Curves]] = {}
    for cell in samples.planned:
        if cell.environment == world:
            column = columns.setdefault(recap_tables.scenario(cell), {})
            if cell in samples.curves:
                column[cell.algorithm] = mean_curves(samples.curves[cell])
    styles = explorer_styles(cell.algorithm for cell in samples.planned)
    title = f"{recap_tables.world_title(world)}: mean and 95 % interval over the seeds"
    return curves_figure(title, columns, styles, note=samples.note, log_scale=world in _LOG_SCALE_WORLDS)
