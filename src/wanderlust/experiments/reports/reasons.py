"""Why a cell of the recap tables may differ from the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.experiments.reports.cells import Cell, Numbers, Row

_RANDOM_IN_THE_TAXI = (
    "Both ± of the paper's row are those of its row for the short horizon, and its success is nearly that of the short "
    "one, which agrees with ours."
)
_KNOWN: Mapping[Cell, str] = {
    Cell("taxi", "zero", "long", "random"): _RANDOM_IN_THE_TAXI,
    Cell("taxi", "optimistic", "long", "random"): _RANDOM_IN_THE_TAXI,
    Cell("taxi", "optimistic", "long", "thompson"): (
        "The paper's percentage without a spread would be 240.5 of 252 states in every seed: not a number of states."
    ),
    Cell("taxi", "optimistic", "long", "ucb1"): (
        "All states are discovered here in every seed. With the short horizon, which leaves less time, the paper has "
        "more than with the long one."
    ),
    Cell("deep-gridworld", "zero", "long", "ucb1"): (
        "Here discovery is much the same with both horizons, and agrees with the paper's with the short one. Neither "
        "preset gives more."
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "Every seed learnt the best policy here. The paper's number is what 20 seeds give of which ten take one step "
        "too many and ten take two."
    ),
}
"""What a closer look at single cells has shown."""


def reason(row: Row, note: str) -> str:
    """Return why a cell differs: what is known of it, or how far off it is.

    What is known is known of the full study. Cells of a smaller one, or of another preset, have a note on them.
    """
    known = _KNOWN.get(row.cell)
    return known if known is not None and not note else _how_far(row)


def _how_far(row: Row) -> str:
    assert row.ours
    assert row.theirs
    parts = []
    for name, mine, paper, error in zip(Numbers._fields, row.ours, row.theirs, row.error, strict=True):
        apart = abs(mine.mean - paper.mean)
        if error > 0:
            parts.append(f"{name} is {apart / error:.1f} standard errors off")
        elif apart > 0:
            parts.append(f"{name} has no spread over the seeds, here and in the paper, and is {apart:.2f} points off")
    return "; ".join(parts) + "."
