"""Section 4.2.1, Figure 19: visit counts at the end of learning."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.count_maps import Counts, cell_counts, count_map
from wanderlust.experiments.paper.group_report import group_report
from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.figures.maps import CountMap, maps_figure
from wanderlust.experiments.reports.recap_tables import world_title
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.seed_groups import Label, SeedGroup
from wanderlust.experiments.reports.tables import as_csv
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds.drawing import logarithmic, shaded

WORLDS = ("deep-sea", "deep-gridworld", "prison", "wall")
EXPLORERS = ("vv-ucb", "bootstrapped", "ucb1", "bonus", "epsilon-greedy")
TITLE = "Visit counts at the end of learning"


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer, one seed."""
    return [
        Run(
            world=world,
            world_options={"depth": 20} if selection.quick and world == "deep-sea" else {},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": 50_000} if selection.quick and world == "deep-sea" else {},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(1, 1)
    ]


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the evenness of the counts, the counts, and maps of them; the figure shows the first seed."""
    stored_runs = list(stored)
    table = _TABLE(requested, stored_runs, note)
    lines, drawings = [], [note] if note else []
    maps: dict[str, dict[str, CountMap]] = {}
    for run, result, _ in stored_runs:
        counts = cell_counts(run, result.visits)
        maps.setdefault(world_title(run.world), {}).setdefault(run.explorer, count_map(run, result, run.explorer))
        drawings.append(f"{run.world}, {run.explorer}, seed {run.seed}\n{drawing(counts)}\n")
        for (row, column), count in np.ndenumerate(counts):
            lines.append([run.world, run.explorer, run.seed, row + 1, column + 1, count])
    files = {
        **table.files,
        "counts.csv": as_csv(["world", "explorer", "seed", "row", "column", "visits"], lines),
        "maps.txt": "\n".join(drawings),
    }
    rows = {world: list(world_maps.values()) for world, world_maps in maps.items()}
    figures = {"maps": functools.partial(maps_figure, TITLE, rows, note=note)} if rows else {}
    return Report(table.renderables, files, figures, table.claims)


def drawing(counts: Counts) -> str:
    """Return a map of characters whose darkness shows the logarithm of the count."""
    return "\n".join(shaded(logarithmic(counts)))


def check_claims(groups: Mapping[Label, SeedGroup]) -> list[Claim]:
    """Check the statements of Section 4.2.1."""
    evenness: dict[str, dict[str, float]] = {}
    for (world, explorer), group in groups.items():
        evenness.setdefault(world, {})[explorer] = float(np.mean(group.evenness))
    complete = {world: values for world, values in evenness.items() if len(values) == len(EXPLORERS)}
    if not complete:
        return []
    first = [world for world, values in complete.items() if max(values, key=lambda name: values[name]) == "vv-ucb"]
    parts = []
    for world, values in complete.items():
        second = max((name for name in values if name != "vv-ucb"), key=lambda name: values[name])
        parts.append(f"{world} {values['vv-ucb']:.1f} % (best other: {second}, {values[second]:.1f} %)")
    return [
        check_claim(
            "4.2.1",
            "vv has the most uniform visit counts",
            f"entropy of the visit counts of vv-ucb in percent of the maximum: {'; '.join(parts)}; the highest in "
            f"{len(first)} of {len(complete)} worlds",
            holds=len(first) == len(complete),
            partly=bool(first),
        )
    ]


_TABLE = group_report(TITLE, ("world", "explorer"), lambda run: (run.world, run.explorer), claims=check_claims)

STUDY = Study(
    id="visit-maps",
    reference="Section 4.2.1, Figure 19",
    description="visit counts at the end of learning: 4 worlds, 5 explorers",
    runs=runs,
    report=report,
    quick_changes="deep-sea of depth 20 with 50,000 steps instead of depth 50 with 500,000",
)
