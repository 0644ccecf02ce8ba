"""Section 4.1.1: how often the two bootstraps fail in the deep sea, and why.

The ten tables of an ensemble start with Gaussian noise. At a cell of the diagonal in which no table has a positive
initial value of "right", "right" is never the greedy action once "left" has been learnt to be worth zero: the ensemble
never goes further, and never finds the treasure. With zero initialization each cell has the probability 2⁻¹⁰ for this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from wanderlust.agents.session import Session
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claim_rules import never
from wanderlust.experiments.reports.claims import Claim, check_reason
from wanderlust.experiments.reports.recap_cells import PAPER_SEEDS
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.statistics import wilson_interval
from wanderlust.experiments.reports.tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.summary import reduced
from wanderlust.worlds import World, make_world

WORLDS = ("deep-sea",)
EXPLORERS = ("random-prior", "bootstrapped")
INITIALS = ("zero", "optimistic")
SEEDS, QUICK_DEPTH = 200, 20
BUDGET = 100_000
RIGHT = 1
TITLE = "Bootstraps in the deep sea"
_LEGEND = (
    "learnt: runs that found the treasure within the limit; blocked: runs in which the ship never went right from a "
    "cell "
    "of the diagonal with a negative initial value of “right” in all ten tables; predicted: the probability of such "
    "a cell."
)


class Outcome(NamedTuple):
    """Whether a run learnt, and where it was blocked."""

    seed: int
    learnt: bool
    deepest: int
    """The deepest cell of the diagonal that was visited with the treasure, counted from 1."""
    blocked: bool
    """Whether no table has a positive initial value of "right" there."""


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


def initial_tables(run: Run) -> FloatArray:
    """Return [table, i, action]: the initial values of an ensemble for the i-th state that it visits, from 1."""
    world = make_world(run.world, **run.world_options)
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, **run.overrides)
    heads = session.learner.values[session.spec.n_swept :]
    return np.asarray(heads.reshape(len(heads), -1, world.n_actions))


def outcome(run: Run, result: Result) -> Outcome:
    """Return whether a run learnt; if not, whether its initial tables explain where it stopped."""
    world = make_world(run.world, **run.world_options)
    states = diagonal(world, "treasure")
    if result.returns[-1] > 0.0:
        return Outcome(run.seed, learnt=True, deepest=len(states), blocked=False)
    visited = [state for state in states if result.first_visit[state] >= 0]
    # Initial values belong to states in the order of their first visit; the first index is for terminal states.
    order = np.argsort(np.where(result.first_visit < 0, np.iinfo(np.int64).max, result.first_visit), kind="stable")
    position = 1 + int(np.flatnonzero(order == visited[-1])[0])
    initial_zero = 0.0 if run.settings["initial"] == "zero" else world.r_max / (1.0 - 0.99)
    values = initial_tables(run)[:, position, RIGHT] - initial_zero
    return Outcome(run.seed, learnt=False, deepest=len(visited), blocked=bool((values < 0.0).all()))


def predicted_share(depth: int, n_tables: int = 10) -> float:
    """Return the probability that some cell of the diagonal has a negative initial "right" in all tables.

    The last cell does not matter: both actions there receive the treasure.
    """
    return 1.0 - (1.0 - 2.0**-n_tables) ** (depth - 1)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the share of runs that learnt, and of the failed ones that the initial tables explain."""
    groups: dict[tuple[str, str], list[Outcome]] = {(run.settings["initial"], run.explorer): [] for run in requested}
    depths = {run.world_options.get("depth", make_world("deep-sea").options.get("depth", 50)) for run in requested}
    depth = max(depths, default=50)
    for run, result, _ in stored:
        groups[run.settings["initial"], run.explorer].append(outcome(run, result))
    heads = ["initialization", "explorer", "seeds", "learnt", "failed (%)", "blocked", "predicted (%)"]
    rows = [[*label, *_row(label[0], seeds, depth)] for label, seeds in groups.items()]
    lines = [[*label, *each] for label, seeds in groups.items() for each in seeds]
    return Report(
        renderables=[as_rich_table(TITLE, heads, rows, f"{_LEGEND} {note}".strip(), text_columns=2)],
        files={
            "table.md": as_markdown_table(TITLE, heads, rows, _LEGEND, note),
            "seeds.csv": as_csv(["initialization", "explorer", *Outcome._fields], lines),
        },
        claims=check_claims({label: seeds for label, seeds in groups.items() if seeds}, depth),
    )


def _row(initial: str, seeds: list[Outcome], depth: int) -> list[str]:
    if not seeds:
        return ["0", *["–"] * 4]
    failed = [each for each in seeds if not each.learnt]
    share = wilson_interval(len(failed), len(seeds))
    interval = f"{100 * share.estimate:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    blocked = f"{sum(each.blocked for each in failed)} of {len(failed)} failed"
    predicted = f"{100 * predicted_share(depth):.1f}" if initial == "zero" else "0"
    return [str(len(seeds)), str(len(seeds) - len(failed)), interval, blocked, predicted]


def check_claims(groups: dict[tuple[str, str], list[Outcome]], depth: int) -> list[Claim]:
    """Check that the bootstraps converge, and the reason for the runs that do not."""
    claims, names = [], {"zero": "zero init.", "optimistic": "opt. init."}
    for (initial, explorer), seeds in groups.items():
        failed = sum(not each.learnt for each in seeds)
        chance = (1.0 - predicted_share(depth)) ** PAPER_SEEDS if initial == "zero" else 1.0
        found = f"{len(seeds) - failed} of {len(seeds)} runs converge"
        if initial == "zero":
            found += f"; all of 20 seeds do so with a probability of {100 * chance:.0f} % by the reason given below"
        text = f"deep sea, {names[initial]}: {explorer} converges to the optimal policy within the limit"
        claims.append(never("4.1.1", text, failed, len(seeds), paper_runs=PAPER_SEEDS, found=found))
    return [*claims, *_reason(groups, depth)]


def _reason(groups: dict[tuple[str, str], list[Outcome]], depth: int) -> list[Claim]:
    zero = [each for (initial, _), seeds in groups.items() if initial == "zero" for each in seeds]
    failed = [each for each in zero if not each.learnt]
    if not failed:
        return []
    blocked, share = sum(each.blocked for each in failed), wilson_interval(len(failed), len(zero))
    predicted = predicted_share(depth)
    return [
        check_reason(
            "4.1.1",
            "the bootstraps fail in the deep sea because at one cell of the diagonal all ten tables start with a "
            "negative "
            "value of “right”, which then is never selected",
            f"{blocked} of {len(failed)} failed runs stopped at such a cell; {100 * share.estimate:.1f} % of "
            f"{len(zero)} runs "
            f"fail, 95 % interval {100 * share.low:.1f} to {100 * share.high:.1f} %, and {100 * predicted:.1f} % are "
            "predicted",
            tolerance="true for every failed run, and the predicted share is inside the interval; true for three "
            "quarters",
            holds=blocked == len(failed) and share.low <= predicted <= share.high,
            partly=blocked >= 0.75 * len(failed),
        )
    ]


def _summarise(run: Run, result: Result) -> Result:
    """Keep the order of the first visits of failed runs, which tells the initial value of each state."""
    return reduced(result, keep=() if result.returns[-1] > 0.0 else ("first_visit",), max_points=1)


STUDY = Study(
    id="deep-sea-ensembles",
    reference="Section 4.1.1",
    description="200 seeds of the two bootstraps in the deep sea: how many fail, and their initial tables",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 200; depth 20 instead of 50",
    summarise=_summarise,
)
