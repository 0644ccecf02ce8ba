"""Section 4.2.1: how often each state was visited in the end. Exploration by W spreads evenly, the others crowd."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.count_maps import Counts, cell_counts, count_map
from wanderlust.experiments.paper.group_report import grouped_report
from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.figures.maps import CountMap, maps_figure
from wanderlust.experiments.reports.formats import as_csv, title_of
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.summary import Group, Label
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored
from wanderlust.worlds.drawing import logarithmic, shaded

WORLDS = ("deep-sea", "deep-gridworld", "prison", "wall")
EXPLORERS = ("vv-ucb", "bootstrapped", "ucb1", "bonus", "epsilon-greedy")
TITLE = "Visits at the end of the learning"


def runs(choice: Choice) -> list[Run]:
    """Return world x explorer, one seed."""
    return [
        Run(
            world=world,
            world_options={"depth": 20} if choice.quick and world == "deep-sea" else {},
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"budget": 50_000} if choice.quick and world == "deep-sea" else {},
        )
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(1, 1)
    ]


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return how even the counts are, the counts themselves, and drawings of them; the figure shows the first seed."""
    found = list(stored)
    made = _TABLE(asked, found, note)
    lines, drawings = [], [note] if note else []
    maps: dict[str, dict[str, CountMap]] = {}
    for run, result, _ in found:
        counts = cell_counts(run, result.visits)
        maps.setdefault(title_of(run.world), {}).setdefault(run.explorer, count_map(run, result, run.explorer))
        drawings.append(f"{run.world}, {run.explorer}, seed {run.seed}\n{drawing(counts)}\n")
        for (row, column), count in np.ndenumerate(counts):
            lines.append([run.world, run.explorer, run.seed, row + 1, column + 1, count])
    files = {
        **made.files,
        "counts.csv": as_csv(["world", "explorer", "seed", "row", "column", "visits"], lines),
        "maps.txt": "\n".join(drawings),
    }
    rows = {world: list(of_world.values()) for world, of_world in maps.items()}
    figures = {"maps": functools.partial(maps_figure, TITLE, rows, note=note)} if rows else {}
    return Report(made.shown, files, figures, made.claims)


def drawing(counts: Counts) -> str:
    """Return a map of characters, the darker the more visits, by the logarithm of the count."""
    return "\n".join(shaded(logarithmic(counts)))


def claims_of(groups: Mapping[Label, Group]) -> list[Claim]:
    """Return what Section 4.2.1 says in words."""
    evenness: dict[str, dict[str, float]] = {}
    for (world, explorer), group in groups.items():
        evenness.setdefault(world, {})[explorer] = float(np.mean(group.evenness))
    whole = {world: found for world, found in evenness.items() if len(found) == len(EXPLORERS)}
    if not whole:
        return []
    first = [world for world, found in whole.items() if max(found, key=lambda name: found[name]) == "vv-ucb"]
    words = []
    for world, found in whole.items():
        other = max((name for name in found if name != "vv-ucb"), key=lambda name: found[name])
        words.append(f"{world} {found['vv-ucb']:.1f} % (next: {other}, {found[other]:.1f} %)")
    return [
        judged(
            "4.2.1",
            "visits are spread most uniformly by vv",
            f"entropy of vv-ucb's counts in percent of the largest possible: {'; '.join(words)}; the highest in "
            f"{len(first)} of {len(whole)} worlds",
            holds=len(first) == len(whole),
            partly=bool(first),
        )
    ]


_TABLE = grouped_report(TITLE, ("world", "explorer"), lambda run: (run.world, run.explorer), claims=claims_of)

STUDY = Study(
    id="visit-maps",
    place="Section 4.2.1",
    what="how often each state was visited in the end: 4 worlds, 5 explorers",
    runs=runs,
    report=report,
    quick="deep-sea 20 deep with 50,000 steps instead of 50 with 500,000",
)
