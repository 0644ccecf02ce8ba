"""The runs of the recap tables (Tables 3 to 8) by cell: final numbers, learning curves and steps to learn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.curves import thinned
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.result import step_learnt
from wanderlust.experiments.statistics import probability_of_improvement
from wanderlust_paper.reports.recap_cells import Cell

CURVE_POINTS = 200
"""Evaluations that curves have at most."""


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
        self.last_discovery: dict[Cell, list[float]] = {cell: [] for cell in planned}
        """The first evaluation from which no new state was discovered."""
        self.curves: dict[Cell, list[FloatArray]] = {}
        """[3, point], at most `CURVE_POINTS` points."""
        self.seeds: dict[Cell, list[int]] = {cell: [] for cell in planned}

    def add(self, cell: Cell, seed: int, discovery: float, success: float, curves: FloatArray) -> None:
        """Add a run: its final numbers in percent, and its curves, [(steps, discovery, success), evaluation]."""
        self.seeds[cell].append(seed)
        self.discovery[cell].append(discovery)
        self.success[cell].append(success)
        self.learnt_at[cell].append(step_learnt(curves))
        points = curves[:, thinned(curves.shape[1], CURVE_POINTS)].copy()
        last = points[0, int(np.argmax(points[1] >= points[1, -1]))] if points.shape[1] else math.nan
        self.last_discovery[cell].append(float(last))
        self.curves.setdefault(cell, []).append(points)

    def final(self, cell: Cell, max_seed: int | None = None) -> tuple[list[float], list[float]]:
        """Return discovery and success of the runs of a cell, or of the seeds up to `max_seed`."""
        kept = [i for i, seed in enumerate(self.seeds[cell]) if max_seed is None or seed <= max_seed]
        return [self.discovery[cell][i] for i in kept], [self.success[cell][i] for i in kept]

    def mean_over_run(self, cell: Cell) -> tuple[float, float]:
        """Return discovery and success in percent, averaged over the whole run and all seeds."""
        discovery, success = np.mean([curves[1:].mean(axis=1) for curves in self.curves[cell]], axis=0)
        return float(discovery), float(success)

    def improvement_csv(self) -> str:
        """Return the probability of improvement for all pairs of explorers of a scenario, as CSV."""
        lines = []
        for x, y in combinations([cell for cell, successes in self.success.items() if successes], 2):
            if x[:3] == y[:3]:
                by_success = probability_of_improvement(self.success[x], self.success[y])
                by_discovery = probability_of_improvement(self.discovery[x], self.discovery[y])
                lines.append([*x, y.algorithm, f"{by_discovery:.4f}", f"{by_success:.4f}"])
        return as_csv([*Cell._fields, "than", "probability_discovery", "probability_success"], lines)
