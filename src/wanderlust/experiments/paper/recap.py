"""Section 4.1, Table 1, Appendix A.6: six worlds, nine algorithms, two starts of Q, short and long episodes.

The claim: only exploration by W discovers all states and learns the best policy, whatever the world and the start.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from wanderlust.experiments.paper.alternative_settings import OTHER_SETTINGS, second_look
from wanderlust.experiments.paper.recap_claims import ENSEMBLES, claims_of
from wanderlust.experiments.paper.registry import EXPLORERS, Choice, Study
from wanderlust.experiments.reports import recap as tables
from wanderlust.experiments.reports.cells import Cell
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored
from wanderlust.worlds import make_world

WORLDS = ("deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall")
"""In the order of Table 1."""
INITIALS = ("zero", "optimistic")
SEEDS = 20
"""As in the paper."""
MORE_SEEDS = 200
"""Where a run takes a moment: twice as exact as the paper and more, so that a line that differs is not our luck."""

DEEP_SEA_BUDGET = 100_000
"""The paper's table of the deep sea was not made with the 500,000 steps of its code: after 100,000, explorers that
learn nothing have discovered what the table says, after 500,000 much more; see docs/deviations.md."""

_BRIEF_WORLDS = ("toy", "prison", "deep-gridworld")
_BRIEF_BUT_FOR_ENSEMBLES = ("taxi",)
_QUICK_SEEDS = {"deep-sea": 2, "wall": 2}
_QUICK_DEEP_SEA: dict[str, Any] = {"depth": 20}
_QUICK_DEEP_SEA_BUDGET = 50_000


def runs(choice: Choice) -> list[Run]:
    """Return world x start x horizon x explorer x seed, and those of some lines a second time with another setting."""
    usual = [
        Run(
            world=world,
            world_options=_QUICK_DEEP_SEA if choice.quick and world == "deep-sea" else {},
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"initial": initial, **horizon},
        )
        for world in choice.of_worlds(WORLDS)
        for horizon in _horizons(world, choice.quick)
        for initial in INITIALS
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(_seeds_of(world, explorer), _QUICK_SEEDS.get(world, 5))
    ]
    if choice.quick:
        return usual
    return usual + [again for run in usual if (again := second_look(run, cell_of(run)))]


def _seeds_of(world: str, explorer: str) -> int:
    brief = world in _BRIEF_WORLDS or (world in _BRIEF_BUT_FOR_ENSEMBLES and explorer not in ENSEMBLES)
    return MORE_SEEDS if brief else SEEDS


def _horizons(world: str, quick: bool) -> list[dict[str, int]]:
    """Return the settings of the horizons: short and long, or in deep sea, where every episode is as long, only one."""
    if world == "deep-sea":
        return [{"budget": _QUICK_DEEP_SEA_BUDGET if quick else DEEP_SEA_BUDGET}]
    return [{"horizon": horizon} for horizon in _horizons_of(world)]


@functools.cache
def _horizons_of(world: str) -> tuple[int, int]:
    defaults = make_world(world).defaults
    assert defaults.long_horizon is not None
    return defaults.horizon, defaults.long_horizon


def cell_of(run: Run) -> Cell:
    """Return the cell of the paper's tables to which a run belongs."""
    horizon = "fixed"
    if "horizon" in run.settings:
        horizon = "short" if run.settings["horizon"] == _horizons_of(run.world)[0] else "long"
    return Cell(run.world, run.settings["initial"], horizon, run.explorer)


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return the tables, the curves and the claims."""
    scaled_down = {cell_of(run) for run in asked if run.world_options}
    seconds = {second_look(run, cell_of(run)) for run in asked}
    usual = tables.Samples(Counter(cell_of(run) for run in asked if run not in seconds), scaled_down, note)
    again = tables.Samples(Counter(cell_of(run) for run in asked if run in seconds), note=note)
    for each in stored:
        samples = again if each.run in seconds else usual
        samples.add(cell_of(each.run), each.result.discovery, each.result.success, each.result.percent_curves)
    return tables.make_report(usual, again, OTHER_SETTINGS)._replace(claims=claims_of(usual))


STUDY = Study(
    id="recap",
    place="Section 4.1, Table 1, Appendix A.6",
    what="states discovered and return learnt: 6 worlds, 9 explorers, 2 starts of Q, 2 horizons",
    runs=runs,
    report=report,
    quick="5 seeds (deep-sea and wall: 2) instead of 20 or 200, no second looks; deep-sea 20 deep with 50,000 steps "
    "instead of 50 with 100,000",
)
