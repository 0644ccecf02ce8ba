"""Why a cell of the recap tables may differ from the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.reports.cells import PAPER_SEEDS, Cell, Numbers, Row

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
        "Every seed learnt the best policy here. Of 20 seeds, each with the only treasure or without, the paper's "
        "success cannot be the mean."
    ),
}
"""What a closer look at single cells has shown."""
_SELDOM = 0.05


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
    text = "; ".join(parts) + "."
    if row.learnt and row.theirs.success == (100.0, 0.0) and row.learnt.estimate**PAPER_SEEDS > _SELDOM:
        chance = row.learnt.estimate**PAPER_SEEDS
        text += (
            f" But with our share of seeds that learn, all of the paper's {PAPER_SEEDS} would with a probability of "
            f"{chance:.2f}: its standard error of zero says too little."
        )
    return text
