"""Explanations of cells of the recap tables that differ from the paper."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.experiments.reports.recap_cells import Cell, Numbers, Row

_RANDOM_IN_TAXI = (
    "The paper's row has the same two ± as its row for the short horizon, and almost the same success. Our row for the "
    "short horizon agrees."
)
_EXPLANATIONS: Mapping[Cell, str] = {
    Cell("taxi", "zero", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "thompson"): (
        "The paper's discovery with ± 0 would be 240.5 of 252 states in every seed, which is not an integer."
    ),
    Cell("taxi", "optimistic", "long", "ucb1"): (
        "Our runs discover all states in every seed. The paper's discovery is larger with the short horizon than with "
        "the long one."
    ),
    Cell("deep-gridworld", "zero", "long", "ucb1"): (
        "Our discovery is similar with both horizons, and agrees with the paper for the short one. Neither preset "
        "gives a larger discovery."
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "All our seeds learnt an optimal policy. The paper's number results if ten of 20 seeds take one step too many "
        "and ten take two."
    ),
}
"""Explanations found by inspecting single cells of the full study."""


def explain_difference(row: Row, note: str) -> str:
    """Return the known explanation of a difference, or else its size.

    Explanations are valid for the full study. Cells of a reduced study, or of another preset, have a note.
    """
    explanation = _EXPLANATIONS.get(row.cell)
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
