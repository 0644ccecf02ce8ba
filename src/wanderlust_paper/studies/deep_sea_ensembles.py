"""Section 4.1.1: how often the two bootstraps fail in the deep sea, and why.

The ten tables of an ensemble start with Gaussian noise. A table goes from the start to cell d of the diagonal, to try
"right" there for the first time, only if its initial value x of that action is worth the way. With the penalty
p = 0.01/N of each step, and the weight ν of the prior,

    V(d) = x,   V(i) = (−p + γ V(i + 1)) / (1 + ν),   and V(1) > 0, the value of "left",

so x must exceed a threshold: nearly 0 without a prior, up to 0.3 with ν = 0.1 and N = 50. If no table has such a value
at some cell, the cell is *blocked*: the ensemble tries "right" there only before its values have converged, or never,
and then it never finds the treasure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run, Session, World, make_world
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Result
from wanderlust.experiments.statistics import Interval, wilson_interval
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import LEARNT, REASON, Claim, check_all, claim_of, exact, never
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.reports.recap_tables import PAPER_SEEDS
from wanderlust_paper.summary_file import reduced

WORLDS = ("deep-sea",)
EXPLORERS = ("random-prior", "bootstrapped")
INITIALS = ("zero", "optimistic")
SEEDS, QUICK_DEPTH = 200, 20
BUDGET = 100_000
RIGHT = 1
TITLE = "Bootstraps in the deep sea"
_LEGEND = (
    "learnt: runs with more than 99 % of the optimal return within the limit, at the first positive return; blocked "
    "cell: a cell of the diagonal in which no table has "
    "an initial value of “right” that is worth the way; predicted: the probability of such a cell."
)
PRIOR_WEIGHTS = {"random-prior": 0.1, "bootstrapped": 0.0}
DISCOUNT, PENALTY = 0.99, 0.01


class Outcome(NamedTuple):
    """Whether a run learnt, and its blocked cells. Cells of the diagonal are counted from 1."""

    seed: int
    learnt: bool
    deepest: int
    """The deepest cell that was visited with the treasure."""
    blocked_cell: int
    """The first blocked cell; 0 if there is none, and for runs with optimistic initialization that learnt."""
    stopped_there: bool
    """Whether the deepest cell of a failed run is blocked."""


def runs(selection: StudySelection) -> list[Run]:
    """Return initialization x explorer x seed; each run ends at the first positive return."""
    return [
        Run(
            world=world,
            world_options={"depth": QUICK_DEPTH} if selection.quick else {},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": BUDGET, "initial": initial},
            until="positive-return",
        )
        for world in selection.select_worlds(WORLDS)
        for initial in INITIALS
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def diagonal(world: World, flag: str) -> list[int]:
    """Return the states of the diagonal of the deep sea with a flag, from the top."""
    layout = world.layout
    assert layout is not None
    on_diagonal = (layout.row == layout.column) & (layout.layer == layout.layer_names.index(flag))
    states = np.flatnonzero(on_diagonal)
    return [int(state) for state in states[np.argsort(layout.row[states])]]


def initial_tables(run: Run, first_visit: NDArray[np.int64]) -> FloatArray:
    """Return [table, state, action]: the initial values of the ensemble of a run that visited states in this order."""
    world = make_world(run.world, **run.world_options)
    agent = Session(world, run.explorer, seed=run.seed, preset=run.preset, **run.overrides).agent
    order = np.argsort(np.where(first_visit < 0, np.iinfo(np.int64).max, first_visit), kind="stable")
    for state in order:
        agent.index_of(int(state))  # Initial values belong to states in the order of their first visit.
    return agent.tables["heads"]


def outcome(run: Run, result: Result) -> Outcome:
    """Return whether a run learnt, and which cell its initial tables block."""
    learnt, blocked = bool(result.success >= LEARNT), blocked_cells(run, result)
    states = diagonal(make_world(run.world, **run.world_options), "treasure")
    deepest = len(states) if learnt else int((result.first_visit[states] >= 0).sum())
    return Outcome(run.seed, learnt, deepest, min(blocked, default=0), not learnt and deepest in blocked)


def blocked_cells(run: Run, result: Result) -> list[int]:
    """Return the visited cells of the diagonal in which no table has a sufficient initial value of "right".

    The last cell does not matter: both actions there receive the treasure. Nor does a run that learnt with optimistic
    initialization: its thresholds are others. A summary has the order of the first visits only if there is such a cell.
    """
    optimistic = run.settings["initial"] == "optimistic"
    if result.first_visit.max() <= 0 or (optimistic and result.returns[-1] > 0.0):
        return []
    world = make_world(run.world, **run.world_options)
    states = diagonal(world, "treasure")
    values = initial_tables(run, result.first_visit)[..., RIGHT]
    values = values - (world.r_max / (1.0 - DISCOUNT) if optimistic else 0.0)
    return [
        cell
        for cell, state in enumerate(states[:-1], start=1)
        if result.first_visit[state] >= 0
        and (values[:, state] <= threshold(cell, len(states), PRIOR_WEIGHTS[run.explorer])).all()
    ]


def threshold(cell: int, depth: int, prior_weight: float) -> float:
    """Return the initial value of "right" in a cell of the diagonal, from 1, above which a table goes there."""
    factor, offset = 1.0, 0.0  # V(1) = factor · x + offset
    for _ in range(cell - 1):
        factor *= DISCOUNT / (1.0 + prior_weight)
        offset = (-PENALTY / depth + DISCOUNT * offset) / (1.0 + prior_weight)
    return -offset / factor


def predicted_share(depth: int, prior_weight: float, n_tables: int = 10) -> float:
    """Return the probability that some cell of the diagonal, except the last one, is blocked."""
    normal = NormalDist()
    passed = [1.0 - normal.cdf(threshold(cell, depth, prior_weight)) ** n_tables for cell in range(1, depth)]
    return 1.0 - math.prod(passed)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the share of runs that failed, and of those with a blocked cell."""
    groups: dict[tuple[str, str], list[Outcome]] = {(run.settings["initial"], run.explorer): [] for run in requested}
    depths = {run.world_options.get("depth", make_world("deep-sea").options.get("depth", 50)) for run in requested}
    depth = max(depths, default=50)
    for run, result, _ in stored:
        groups[run.settings["initial"], run.explorer].append(outcome(run, result))
    heads = ["initialization", "explorer", "seeds", "learnt", "failed (%)", "stopped at a blocked cell"]
    heads += ["with a blocked cell (%)", "predicted (%)"]
    rows = [[*label, *_row(label, seeds, depth)] for label, seeds in groups.items()]
    lines = [[*label, *each] for label, seeds in groups.items() for each in seeds]
    return Report(
        renderables=[as_rich_table(TITLE, heads, rows, f"{_LEGEND} {note}".strip(), text_columns=2)],
        files={
            "table.md": as_markdown_table(TITLE, heads, rows, _LEGEND, note),
            "seeds.csv": as_csv(["initialization", "explorer", *Outcome._fields], lines),
        },
        claims=check_all((_converges, _reason), {label: seeds for label, seeds in groups.items() if seeds}, depth),
    )


def _row(label: tuple[str, str], seeds: list[Outcome], depth: int) -> list[str]:
    if not seeds:
        return ["0", *["–"] * 5]
    failed = [each for each in seeds if not each.learnt]
    stopped = f"{sum(each.stopped_there for each in failed)} of {len(failed)} failed"
    initial, explorer = label
    blocked = [_percent(_blocked(seeds)), f"{100 * predicted_share(depth, PRIOR_WEIGHTS[explorer]):.1f}"]
    shares = blocked if initial == "zero" else ["–", "–"]
    share_failed = _percent(wilson_interval(len(failed), len(seeds)))
    return [str(len(seeds)), str(len(seeds) - len(failed)), share_failed, stopped, *shares]


def _blocked(seeds: list[Outcome]) -> Interval:
    return wilson_interval(sum(each.blocked_cell > 0 for each in seeds), len(seeds))


def _percent(share: Interval) -> str:
    return f"{100 * share.estimate:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _converges(groups: Mapping[tuple[str, str], list[Outcome]], depth: int) -> Iterator[Claim]:
    """Check the share of runs that learn with 200 seeds, of which the tables have 20."""
    failed = {label: sum(not each.learnt for each in seeds) for label, seeds in groups.items()}
    names = {"zero": "zero init.", "optimistic": "opt. init."}
    yield claim_of(
        "4.1.1",
        "deep sea: both bootstraps converge to the optimal policy within the limit",
        "runs that do not: "
        + ", ".join(
            f"{explorer}, {names[initial]} {n} of {len(groups[initial, explorer])}"
            for (initial, explorer), n in failed.items()
        )
        + f"; all of {PAPER_SEEDS} seeds learn with a probability of "
        + ", ".join(f"{100 * (1 - n / len(groups[label])) ** PAPER_SEEDS:.0f} %" for label, n in failed.items()),
        never(sum(failed.values()), sum(map(len, groups.values())), paper_runs=PAPER_SEEDS * len(groups)),
    )


def _reason(groups: Mapping[tuple[str, str], list[Outcome]], depth: int) -> Iterator[Claim]:
    """Check our reason for the runs that do not converge."""
    for (initial, explorer), seeds in groups.items():
        failed = [each for each in seeds if not each.learnt]
        if initial != "zero" or not failed:
            continue
        stopped, share = sum(each.stopped_there for each in failed), _blocked(seeds)
        predicted = predicted_share(depth, PRIOR_WEIGHTS[explorer])
        is_inside = share.low <= predicted <= share.high
        with_cell = [each for each in seeds if each.blocked_cell]
        yield claim_of(
            "4.1.1",
            f"{explorer} fails in the deep sea only if at one cell of the diagonal none of its ten tables starts "
            "with a value of “right” that is worth the way",
            f"{stopped} of {len(failed)} failed runs stopped at such a cell; {len(with_cell)} of {len(seeds)} runs "
            f"have one, 95 % interval {100 * share.low:.1f} to {100 * share.high:.1f} %, {100 * predicted:.1f} % "
            f"are predicted; {sum(each.learnt for each in with_cell)} of them learn all the same",
            exact(holds=stopped == len(failed)),
            exact(holds=is_inside),
            kind=REASON,
        )


def _summarize(run: Run, result: Result) -> Result:
    """Keep the order of the first visits, which tells the initial value of each state, where a cell is blocked."""
    is_needed = result.returns[-1] <= 0.0 or bool(blocked_cells(run, result))
    return reduced(result, keep=("first_visit",) if is_needed else (), max_points=1)


STUDY = Study(
    id="deep-sea-ensembles",
    reference="Section 4.1.1",
    description="200 seeds of the two bootstraps in the deep sea: how many fail, and their initial tables",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 200; depth 20 instead of 50",
    summarize=_summarize,
)
