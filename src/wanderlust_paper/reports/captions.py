"""The caption of every picture of the results: its number in the paper, and what to see."""

from __future__ import annotations

from collections.abc import Mapping

CAPTIONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("environments", "problem-chain"): ("1", "A treasure beside the start, and a larger one N cells to the right."),
    ("environments", "toy-example"): (
        "2",
        "The toy problem, with the paper's coordinates: (column, row from the bottom).",
    ),
    ("environments", "uniform-count-chain"): (
        "5",
        "The pairs that the two episodes execute, and “left” of A, which they do not. Nor do they execute an action of "
        "C.",
    ),
    ("environments", "deep-sea"): ("7", "The penalty is for “right” on the diagonal, the last cell included."),
    ("environments", "taxi"): ("9", "The goal, the paper's flag, pays 0, 1, 3 or 15 for 0 to 3 passengers on board."),
    ("environments", "deep-gridworld"): ("11", "The corridor of puddles can be entered from its left end only."),
    ("environments", "toy"): ("13", "One treasure, eight moves away."),
    ("environments", "prison"): (
        "14",
        "Distractors of 1 and 2, and the prison beside the last moves to the treasure of 5.",
    ),
    ("environments", "wall"): ("15", "The map of the released code: that of the text, turned by 90°."),
    ("environments", "chain"): (
        "24",
        "The ergodic chain: forward, backward and stay; arrows of small probability, the failures, are not drawn.",
    ),
    ("toy-example", "part-1"): ("3", "None of the three policies leads from (1,3) to a pair that was not executed."),
    ("toy-example", "part-2"): (
        "4",
        "Both W-functions choose “down” in (1,3), and unexecuted actions in the other cells that have any.",
    ),
    ("toy-example", "part-3"): (
        "6",
        "Only the W-functions lead to “left” in (1,3) from every cell from which (1,3) can be reached.",
    ),
    ("recap", "curves-deep-sea"): (
        "8",
        "With zero initialization both vv learn first, then the bootstraps; the dotted line of `ucb1` has κ of the "
        "text.",
    ),
    ("recap", "curves-taxi"): (
        "10",
        "With zero initialization vv collects all passengers in every seed, the bonus in some with the long horizon.",
    ),
    ("recap", "curves-deep-gridworld"): (
        "12",
        "With zero initialization most runs of the others end with the smaller treasure, 57 %.",
    ),
    ("recap", "curves-toy"): (
        "16",
        "With zero initialization the lines of the two vv overlap; the bootstraps and the bonus are later.",
    ),
    ("recap", "curves-prison"): ("17", "With zero initialization only the lines of vv end at 100 %."),
    ("recap", "curves-wall"): (
        "18",
        "The axis of the return is logarithmic: with zero initialization no other explorer ends with a policy to a "
        "reward behind the wall. Some runs, most of them of random, go beyond it.",
    ),
    ("visit-maps", "maps"): (
        "19",
        "Zero initialization, short horizon. vv-ucb visits every state of every world; in wall few runs of the others "
        "leave the first area.",
    ),
    ("gamma-w", "curves"): (
        "20",
        "The larger γ_w, the earlier the treasure is found; γ_w = 0 is equivalent to UCB1 with κ of the text, but 20 "
        "seeds vary much.",
    ),
    ("gamma-w", "maps"): ("21", "Counts become uniform with γ_w, except those of vv-ucb with 0.99999."),
    ("deep-sea-scaling", "steps-to-learn"): (
        "22",
        "Open markers: a seed did not learn within 500,000 steps; at 500,000: no seed did.",
    ),
    ("chain", "counts"): ("23", "After UCB1 finds the last state its counts grow almost only there and beside it."),
    ("chain", "sample-complexity"): (
        "25",
        "For ε = 1e-05 and N above 40 UCB1 needs about as many steps as vv, at some N far fewer; for smaller ε and N "
        "above 5 most of 200,000.",
    ),
    ("chain", "accuracy"): (
        "26, left",
        "Only vv is ε-optimal early for every ε down to 0; no run has more than 200,000 steps.",
    ),
    ("chain", "value-error"): (
        "26, right",
        "The error of vv-ucb falls to 0. With N = 27 a few seeds of vv-count lose the optimal policy for a while; with "
        "N = 55 most of its seeds do not reach 0 within 200,000 steps.",
    ),
    ("stochastic", "curves"): (
        "27",
        "Only vv solves all three worlds; UCB1 and the bonus come close in toy and prison, later.",
    ),
    ("memory", "curves"): ("28", "Dashed lines have no memory, or a finite one."),
}
"""(experiment, picture) -> figure of the paper, what to see."""
