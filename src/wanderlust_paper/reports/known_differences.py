"""Explanations of cells of the recap tables that differ from the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, Cell, Numbers, Row


def smallest_interval(mean: float, value: float, n: int) -> float:
    """Return the smallest ± of `n` numbers with this mean, one of which is `value`."""
    return 2.0 * abs(value - mean) / math.sqrt(n * (n - 1))


def largest_interval(mean: float, upper: float, n: int) -> float:
    """Return the largest ± of `n` numbers with this mean that do not exceed `upper`."""
    return 2.0 * (upper - mean) * math.sqrt((n - 1) / n)


_RANDOM_IN_TAXI = (
    "The paper's row has the same two ± as its row for the short horizon, and almost the same success. Our row for the "
    "short horizon agrees."
)
_EXPLANATIONS: Mapping[Cell, str] = {
    Cell("taxi", "zero", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "ucb1"): (
        "Unexplained. Our runs discover all states in every seed. The paper's discovery is larger with the short "
        "horizon than with the long one, and it is not that of the 264 open states."
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "All our seeds learnt an optimal policy. The paper's number results if ten of 20 seeds take one step too many "
        "and ten take two."
    ),
}
"""Explanations found by inspecting single cells of the full study."""

_DEEP_GRIDWORLD_UCB1 = Cell("deep-gridworld", "zero", "long", "ucb1")
_ROUNDING = 0.005
_DISTRACTOR = 56.88
"""Success of the shortest path to a smaller treasure of the deep gridworld, in percent: the paper's other rows."""


def impossible_interval(mean: float, interval: float) -> str:
    """Return why 20 seeds of the deep gridworld cannot have this mean and ±; empty if they can.

    A policy either collects the larger treasure, with a success of 100, or not, with a success of at most 56.88.
    """
    one_optimal = smallest_interval(mean, 100.0, PAPER_SEEDS)
    none_optimal = largest_interval(mean, _DISTRACTOR, PAPER_SEEDS)
    if not none_optimal + _ROUNDING < interval < one_optimal - _ROUNDING:
        return ""
    return (
        f"The paper's success is impossible for 20 seeds that end either at 100 or at no more than {_DISTRACTOR}: with "
        f"the mean {mean:.2f}, one seed at 100 makes the ± at least {one_optimal:.2f}, and none at 100 makes it at "
        f"most {none_optimal:.2f}; the paper has {interval:.2f}. The difference in discovery is unexplained: ours is "
        "similar with both horizons, and agrees with the paper for the short one."
    )


def explain_difference(row: Row, note: str) -> str:
    """Return the known explanation of a difference, or else its size.

    Explanations are valid for the full study. Cells of a reduced study, or of another preset, have a note.
    """
    explanation = _EXPLANATIONS.get(row.cell)
    if row.cell == _DEEP_GRIDWORLD_UCB1 and row.theirs:
        explanation = impossible_interval(*row.theirs.success) or None
    return explanation if explanation is not None and not note else _size_of_difference(row)


def _size_of_difference(row: Row) -> str:
    assert row.ours
    assert row.theirs
    parts = []
    for name, ours, theirs, error in zip(Numbers._fields, row.ours, row.theirs, row.error, strict=True):
        difference = abs(ours.mean - theirs.mean)
        if error > 0:
            parts.append(f"{name} differs by {difference / error:.1f} standard errors")
        elif difference > 0:
            parts.append(f"{name} differs by {difference:.2f} points, without variation over seeds in both samples")
    return "; ".join(parts) + "."
