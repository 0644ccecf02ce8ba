"""The runs of the recap tables, with the statistics that the claims of Section 4.1 use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from wanderlust.experiments.result import OPTIMAL_SUCCESS
from wanderlust_paper.registry import EXPLORERS
from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, Cell
from wanderlust_paper.reports.recap_samples import Samples

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
