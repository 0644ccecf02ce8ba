"""Section 4.2.1, Figure 19: visit counts at the end of learning."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds.drawing import logarithmic, shaded
from wanderlust_paper.claims.visit_claims import EXPLORERS, Visits, check_claims, measure_visits
from wanderlust_paper.figures.maps import CountMap, maps_figure
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.reports.recap_tables import world_title
from wanderlust_paper.studies.count_maps import Counts, cell_counts, count_map
from wanderlust_paper.summary_file import reduced

WORLDS = ("deep-sea", "deep-gridworld", "prison", "wall")
TITLE = "Visit counts at the end of learning"
_LEGEND = (
    "coverage: states visited, in percent of the reachable ones; smallest: the smallest count of a reachable state; "
    "evenness: entropy of the counts in percent of that of uniform counts; distance: rank correlation of the count "
    "of a state with its distance from the start. One seed, as in the paper."
)


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
    """Return measures of the counts, the counts, and maps of them; the figure shows the first seed."""
    lines, drawings = [], [note] if note else []
    maps: dict[str, dict[str, CountMap]] = {}
    measured: dict[tuple[str, str], list[Visits]] = {}
    for run, result, _ in stored:
        counts = cell_counts(run, result.visits)
        maps.setdefault(world_title(run.world), {}).setdefault(run.explorer, count_map(run, result, run.explorer))
        measured.setdefault((run.world, run.explorer), []).append(measure_visits(run, result))
        drawings.append(f"{run.world}, {run.explorer}, seed {run.seed}\n{drawing(counts)}\n")
        for (row, column), count in np.ndenumerate(counts):
            lines.append([run.world, run.explorer, run.seed, row + 1, column + 1, count])
    heads = ["world", "explorer", "seeds", "coverage (%)", "smallest", "evenness (%)", "distance"]
    labels = dict.fromkeys((run.world, run.explorer) for run in requested)
    table = [[*label, *_numbers(measured.get(label, []))] for label in labels]
    rows = {world: list(world_maps.values()) for world, world_maps in maps.items()}
    return Report(
        renderables=[as_rich_table(TITLE, heads, table, f"{_LEGEND} {note}".strip(), text_columns=2)],
        files={
            "table.md": as_markdown_table(TITLE, heads, table, _LEGEND, note),
            "table.csv": as_csv([*heads, "note"], [[*row, note] for row in table]),
            "counts.csv": as_csv(["world", "explorer", "seed", "row", "column", "visits"], lines),
            "maps.txt": "\n".join(drawings),
        },
        figures={"maps": functools.partial(maps_figure, TITLE, rows, note=note)} if rows else {},
        claims=check_claims({label: seeds[0] for label, seeds in measured.items()}),
    )


def _numbers(seeds: list[Visits]) -> list[str]:
    if not seeds:
        return ["0", *["–"] * 4]
    means = np.mean(seeds, axis=0)
    return [str(len(seeds)), f"{means[0]:.2f}", f"{means[1]:,.0f}", f"{means[2]:.1f}", f"{means[3]:.2f}"]


def drawing(counts: Counts) -> str:
    """Return a map of characters whose darkness shows the logarithm of the count."""
    return "\n".join(shaded(logarithmic(counts)))


STUDY = Study(
    id="visit-maps",
    reference="Section 4.2.1, Figure 19",
    description="visit counts at the end of learning: 4 worlds, 7 explorers",
    runs=runs,
    report=report,
    quick_changes="deep-sea of depth 20 with 50,000 steps instead of depth 50 with 500,000",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
