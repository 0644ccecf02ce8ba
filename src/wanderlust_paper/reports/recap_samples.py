"""The runs of each cell of the recap tables, with the statistics that the tables and the claims of Section 4.1 use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.curves import thinned
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.result import OPTIMAL_SUCCESS, step_learnt
from wanderlust.experiments.statistics import probability_of_improvement
from wanderlust_paper.registry import EXPLORERS
from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, Cell

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


VV_EXPLORERS = ("vv-ucb", "vv-count")
OTHERS = tuple(name for name in EXPLORERS if name not in VV_EXPLORERS)
NEAR_OPTIMAL = 95.0
"""Success, in percent, from which an algorithm matches vv."""
_NEVER = 1e9
"""The step of seeds that never learnt, for tests that compare ranks."""


class Recap:
    """The runs by cell."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.cells = [cell for cell, successes in samples.success.items() if successes]

    def select(self, test: Callable[[Cell], bool]) -> list[Cell]:
        """Return the cells that pass a test."""
        return [cell for cell in self.cells if test(cell)]

    def find(self, world: str, initialization: str, horizon: str | None, names: Sequence[str]) -> list[Cell]:
        """Return the cells of a scenario in the order of `names`, with both horizons if it is None.

        The list is empty if a cell has no runs. The deep sea has the horizon "fixed".
        """
        horizons = ("fixed",) if world == "deep-sea" else (horizon,) if horizon else ("short", "long")
        wanted = [Cell(world, initialization, each, name) for each in horizons for name in names]
        return wanted if set(wanted) <= set(self.cells) else []

    def is_perfect(self, cell: Cell) -> bool:
        """Return whether all seeds discovered all states and learnt an optimal policy."""
        return min(self.samples.discovery[cell]) >= 100.0 and min(self.samples.success[cell]) >= OPTIMAL_SUCCESS

    def solved(self, cells: Iterable[Cell]) -> tuple[int, int]:
        """Return the number of runs that learnt an optimal policy, and the number of runs."""
        successes = [value for cell in cells for value in self.samples.success[cell]]
        return sum(value >= OPTIMAL_SUCCESS for value in successes), len(successes)

    def mean(self, cell: Cell) -> float:
        """Return the mean success of a cell, in percent."""
        return float(np.mean(self.samples.success[cell]))

    def median_step(self, cell: Cell) -> float:
        """Return the median step from which the policy was optimal; infinite if most seeds never learnt."""
        return float(np.median(self.samples.learnt_at[cell]))

    def steps(self, cell: Cell) -> list[float]:
        """Return the step from which the policy of each seed was optimal; a large number for never."""
        return [min(step, _NEVER) for step in self.samples.learnt_at[cell]]

    def curve_differences(self, one: Cell, other: Cell) -> tuple[float, float]:
        """Return the differences of discovery and success, averaged over the whole run, in points."""
        a, b = self.samples.mean_over_run(one), self.samples.mean_over_run(other)
        return a[0] - b[0], a[1] - b[1]


def paper_runs(cells: Sequence[Cell]) -> int:
    """Return the number of runs that the paper has of some cells."""
    return PAPER_SEEDS * len(cells)


def step_text(step: float) -> str:
    """Return a step as text."""
    return f"{step:,.0f}" if np.isfinite(step) else "never"


def steps_text(recap: Recap, cells: Sequence[Cell]) -> str:
    """Return the median steps of some cells as text, with the horizon where an algorithm has several cells."""
    has_both = len({cell.algorithm for cell in cells}) < len(cells)
    return ", ".join(
        f"{cell.algorithm}{f' ({cell.horizon} horizon)' if has_both else ''} {step_text(recap.median_step(cell))}"
        for cell in cells
    )
