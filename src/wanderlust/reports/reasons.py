"""Why a cell of the recap tables may differ from the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wanderlust.reports.cells import Cell, Numbers, Row

STARTS, HORIZONS = ("zero", "optimistic"), ("short", "long")


class Reason(NamedTuple):
    """Why a cell differs."""

    cause: str
    """One of `CAUSES`."""
    text: str


SEEDS, SETTINGS, OPEN = "seeds", "settings", "open"
CAUSES = {
    SEEDS: "agree with the paper once there are 200 seeds instead of 20",
    SETTINGS: "agree once a setting is another than in the rest of the paper's table",
    OPEN: "agree with nothing that was tried",
}

_RANDOM_IN_THE_WALL = Reason(
    SETTINGS,
    "A random walk needs no learning: simulated on its own, without this package, it discovers 63.1 % with the short "
    "and 68.2 % with the long horizon, as here. With 200,000 steps it is 64.9 and 70.3 %, which agrees with the paper; "
    "ε-greedy and the bonus agree with 100,000 only.",
)
_RANDOM_IN_THE_TAXI = Reason(
    OPEN,
    "With 200 seeds: discovery 57.1 ± 0.6 %, success 8.7 ± 1.0 %. Both ± of the paper's row are those of its row for "
    "the short horizon, in which our 2.5 ± 0.5 % agree with its 1.9 ± 1.5 %.",
)
_RANDOM_IN_THE_TOY = Reason(
    SEEDS,
    "Luck, here and there: the success of a random walk is 60.6 % in closed form, and 63.5 ± 6.8 % with 200 seeds, "
    "which agrees with the paper's 45 ± 22 %.",
)
_KNOWN: Mapping[Cell, Reason] = {
    Cell("deep-sea", "optimistic", "fixed", "ucb1"): Reason(
        SETTINGS,
        "The paper's row is that of the text's scale, κ = r_max/(1−γ), with which we get a discovery of 76.8 ± 0.2 % "
        "and no success; its other rows of UCB1 with an optimistic start are those of the released code's κ.",
    ),
    Cell("taxi", "zero", "short", "bonus"): Reason(
        SEEDS,
        "Luck: with 200 seeds it is 74.5 ± 0.6 % and 14.7 ± 1.3 %, which agrees with the paper.",
    ),
    Cell("taxi", "optimistic", "long", "thompson"): Reason(
        OPEN,
        "The paper's 95.45 ± 0 % of 252 states would be 240.5 states in every seed: not a number of states.",
    ),
    Cell("taxi", "optimistic", "long", "ucb1"): Reason(
        OPEN,
        "All states are discovered here in every seed. With the short horizon, which leaves less time, the paper has "
        "more (99.94 %) than with the long one.",
    ),
    Cell("deep-gridworld", "zero", "long", "ucb1"): Reason(
        OPEN,
        "With 200 seeds discovery is 91.5 ± 0.2 %; with the short horizon it is 92.2 ± 0.2 %, as in the paper.",
    ),
    Cell("toy", "zero", "short", "ucb1"): Reason(
        SEEDS,
        "Luck: with 200 seeds it is 98.5 ± 0.3 % and 67.5 ± 6.6 %, which agrees with the paper.",
    ),
    Cell("toy", "zero", "long", "ucb1"): Reason(
        OPEN,
        "All of 200 seeds learnt the best policy here. Of 20 seeds, each with the only treasure or without, 98.5 ± "
        "0.22 % cannot be the mean.",
    ),
    Cell("prison", "zero", "long", "thompson"): Reason(
        OPEN,
        "With 200 seeds success is 37.5 ± 3.4 %, 3.1 standard errors from the paper's 29.3 ± 4.1 %; discovery agrees.",
    ),
    **{Cell("wall", start, horizon, "random"): _RANDOM_IN_THE_WALL for start in STARTS for horizon in HORIZONS},
    **{Cell("taxi", start, "long", "random"): _RANDOM_IN_THE_TAXI for start in STARTS},
    **{Cell("toy", start, "short", "random"): _RANDOM_IN_THE_TOY for start in STARTS},
}
"""What a closer look at single cells has shown: they were made again with 200 seeds (`wanderlust
reproduce recap --worlds toy --explorers random --seeds 200`, and so on) where that is soon done."""


def reason(row: Row, note: str) -> Reason:
    """Return why a cell differs: what is known of it, or how far off it is.

    What is known is known of the full study. Cells of a smaller one, or of another preset, have a note on them.
    """
    known = _KNOWN.get(row.cell)
    if known is not None and not note:
        return known
    assert row.ours
    assert row.theirs
    parts = []
    for name, mine, paper, error in zip(Numbers._fields, row.ours, row.theirs, row.error, strict=True):
        apart = abs(mine.mean - paper.mean)
        if error > 0:
            parts.append(f"{name} is {apart / error:.1f} standard errors off")
        elif apart > 0:
            parts.append(f"{name} has no spread over the seeds, here and in the paper, and is {apart:.2f} points off")
    return Reason(OPEN, "; ".join(parts) + ".")


def summary(rows: Iterable[Row], note: str) -> str:
    """Return how many of the cells that differ do so for which cause; nothing where none was looked for."""
    counts = Counter(reason(row, note).cause for row in rows if row.verdict == "differs")
    if note or not counts:
        return ""
    told = ", ".join(f"{counts[cause]} {words}" for cause, words in CAUSES.items() if counts[cause])
    return f"Of the {counts.total()} that differ, {told}."
