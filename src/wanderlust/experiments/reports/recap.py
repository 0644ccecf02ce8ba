"""The recap tables (Table 1 and Appendix A.6) beside the paper's own numbers.

A cell *agrees* if both its numbers, discovery and success, differ from the paper's by no more than 2.58 standard errors
of the difference (99 %) and half a point, since the paper rounds. `benchmarks/agreement_rule.py` shows how often that
goes wrong by chance.
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
from wanderlust.experiments.reports import cells, formats, scorecard
from wanderlust.experiments.reports.cells import PAPER_SEEDS, Cell, Numbers, OtherSetting, Row
from wanderlust.experiments.reports.figures.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.reports.figures.style import styles_of
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.statistics import (
    Percent,
    bootstrap_interval,
    interquartile_mean,
    paper_percent,
    probability_of_improvement,
    standard_error_of_difference,
    wilson_interval,
)
from wanderlust.experiments.reports.summary import OPTIMAL, step_learnt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERRORS_ALLOWED = 2.58
ROUNDING_ALLOWED = 0.5
_CURVE_POINTS = 200
_LOGARITHMIC = ("wall",)
"""Worlds whose treasures differ by orders of magnitude: the paper draws their returns on a logarithmic axis, too."""


class Samples:
    """What the runs of each line gave, one number per seed."""

    def __init__(self, planned: Mapping[Cell, int], scaled_down: Iterable[Cell] = (), note: str = "") -> None:
        self.planned = dict(planned)
        """How many runs of each line were asked for."""
        self.scaled_down = set(scaled_down)
        """Lines whose world is not the paper's: shown, but not compared."""
        self.note = note
        self.discovery: dict[Cell, list[float]] = {cell: [] for cell in planned}
        self.success: dict[Cell, list[float]] = {cell: [] for cell in planned}
        self.learnt_at: dict[Cell, list[float]] = {cell: [] for cell in planned}
        """The step from which on the policy was optimal; infinity for never."""
        self.curves: dict[Cell, list[FloatArray]] = {}
        """Thinned to some hundred points."""

    def add(self, cell: Cell, discovery: float, success: float, curves: FloatArray) -> None:
        """Add a run: its final numbers in percent, and its curves, [steps, discovery, success] by evaluation."""
        self.discovery[cell].append(discovery)
        self.success[cell].append(success)
        self.learnt_at[cell].append(step_learnt(curves))
        self.curves.setdefault(cell, []).append(_thinned(curves))

    def curves_csv(self) -> str:
        """Return the mean curves with the paper's interval."""
        lines = []
        for cell, curves in self.curves.items():
            for step, *numbers in mean_curves(curves).points():
                lines.append([*cell, len(curves), int(step), *(f"{number:.4f}" for number in numbers)])
        heads = [*Cell._fields, "seeds", "step", "discovery_mean", "discovery_ci95", "success_mean", "success_ci95"]
        return formats.as_csv(heads, lines)

    def improvement_csv(self) -> str:
        """Return for every two explorers of a scenario how probably one does better than the other."""
        lines = []
        for x, y in combinations([cell for cell, found in self.success.items() if found], 2):
            if x[:3] == y[:3]:
                by_success = probability_of_improvement(self.success[x], self.success[y])
                by_discovery = probability_of_improvement(self.discovery[x], self.discovery[y])
                lines.append([*x, y.algorithm, f"{by_discovery:.4f}", f"{by_success:.4f}"])
        return formats.as_csv([*Cell._fields, "than", "probability_discovery", "probability_success"], lines)


def _thinned(curves: FloatArray) -> FloatArray:
    """Return at most so many points of a curve, evenly spaced, the last one included."""
    length = curves.shape[1]
    every = max(1, math.ceil(length / _CURVE_POINTS))
    return curves[:, (length - 1) % every :: every].copy()


@functools.cache
def paper_cells() -> Mapping[Cell, Numbers]:
    """Return the 198 lines of the paper's six tables."""
    text = resources.files("wanderlust.experiments.reports").joinpath("recap_tables.csv").read_text(encoding="utf-8")
    return {
        Cell(*(line[name] for name in Cell._fields)): Numbers(
            Percent(float(line["discovery_mean"]), float(line["discovery_ci95"])),
            Percent(float(line["success_mean"]), float(line["success_ci95"])),
        )
        for line in csv.DictReader(io.StringIO(text))
    }


def compared(ours: Percent, theirs: Percent, seeds: int) -> tuple[float, bool]:
    """Return the standard error of the difference, and whether the two agree."""
    error = standard_error_of_difference(ours, theirs, (seeds, PAPER_SEEDS))
    return error, abs(ours.mean - theirs.mean) <= ERRORS_ALLOWED * error + ROUNDING_ALLOWED


def make_row(cell: Cell, samples: Samples) -> Row:
    """Return one line."""
    discovery, success = samples.discovery[cell], samples.success[cell]
    planned, seeds = samples.planned[cell], len(success)
    theirs = paper_cells().get(cell)
    if not seeds:
        return Row(cell, 0, planned, None, theirs, (math.nan, math.nan), None, None, "no runs")
    ours = Numbers(paper_percent(discovery), paper_percent(success))
    learnt = wilson_interval(sum(value >= OPTIMAL for value in success), seeds)
    spread = bootstrap_interval(success, lambda x: np.apply_along_axis(interquartile_mean, -1, x), samples=200)
    error, verdict = (math.nan, math.nan), "not compared"
    if theirs is not None and cell not in samples.scaled_down:
        both = [compared(mine, paper, seeds) for mine, paper in zip(ours, theirs, strict=True)]
        error = both[0][0], both[1][0]
        verdict = "agrees" if all(agrees for _, agrees in both) else "differs"
    return Row(cell, seeds, planned, ours, theirs, error, learnt, spread, verdict)


def row_after_second_look(cell: Cell, samples: Samples, again: Samples, settings: Mapping[Cell, OtherSetting]) -> Row:
    """Return one line; if it differs from the paper's, and agrees with its other setting, then with that."""
    usual = make_row(cell, samples)
    if usual.verdict != "differs" or cell not in again.planned:
        return usual
    other = make_row(cell, again)
    if other.verdict != "agrees":
        return usual
    return other._replace(setting=settings[cell].words, of_text=settings[cell].of_text, usual=usual.ours)


def make_report(samples: Samples, again: Samples, settings: Mapping[Cell, OtherSetting]) -> Report:
    """Return tables and scorecard, for the terminal and as files.

    `again` has the lines that were made a second time, each with another of the `settings`.
    """
    rows = [row_after_second_look(cell, samples, again, settings) for cell in samples.planned]
    return Report(
        shown=[*formats.rich_tables(rows, samples.note), scorecard.summary(rows, samples.note)],
        files={
            "tables.md": formats.as_markdown(rows, samples.note),
            "tables.csv": formats.rows_as_csv(rows, samples.note),
            "tables.tex": formats.as_latex(rows, samples.note),
            "curves.csv": samples.curves_csv(),
            "improvement.csv": samples.improvement_csv(),
            "cells.json": cells.as_json(rows, samples.note),
        },
        figures={
            f"curves-{world}": functools.partial(_draw_curves, samples, world)
            for world in dict.fromkeys(cell.environment for cell in samples.curves)
        },
    )


def _draw_curves(samples: Samples, world: str) -> Figure:
    """Draw the curves of a world, a column for each start and horizon."""
    columns: dict[str, dict[str, Curves]] = {}
    for cell in samples.planned:
        if cell.environment == world:
            column = columns.setdefault(formats.scenario(cell), {})
            if cell in samples.curves:
                column[cell.algorithm] = mean_curves(samples.curves[cell])
    styles = styles_of(cell.algorithm for cell in samples.planned)
    title = f"{formats.title_of(world)}: means and 95 % over the seeds"
    return curves_figure(title, columns, styles, note=samples.note, logarithmic=world in _LOGARITHMIC)
