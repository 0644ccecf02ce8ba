"""Section 4.2.3, Figure 22: steps to learn the deep sea against its depth N, with the fitted exponents."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from wanderlust.experiments.report.report import Report
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims.deep_sea_claims import STEP_LIMIT, check_claims
from wanderlust_paper.figures.scaling import SampleComplexity, scaling_figure
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.reports.complexity import build_complexity, complexity_report
from wanderlust_paper.summary_file import reduced

WORLDS = ("deep-sea",)
EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "bonus")
"""The explorers of Figure 22."""
LEFT_OUT = ("thompson", "ucb1", "epsilon-greedy", "random")
"""The explorers that the figure leaves out because they rarely learn."""
DEPTHS = range(5, 60, 2)
LEFT_OUT_DEPTHS = (11, 17, 25)
"""A few small depths show whether they learn."""
QUICK_DEPTHS = (5, 9, 13, 19, 27)
SEEDS = 10
TITLE = "Steps to learn the deep sea"


def runs(selection: StudySelection) -> list[Run]:
    """Return depth x explorer x seed; each run ends at the first positive return.

    The explorers that the figure leaves out have a few small depths.
    """
    depths: dict[str, Sequence[int]] = dict.fromkeys(EXPLORERS, QUICK_DEPTHS if selection.quick else DEPTHS)
    depths |= {} if selection.quick else dict.fromkeys(LEFT_OUT, LEFT_OUT_DEPTHS)
    names = selection.select_explorers(depths)
    return [
        Run(
            world=world,
            world_options={"depth": depth},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": STEP_LIMIT},
            until="positive-return",
        )
        for world in selection.select_worlds(WORLDS)
        for depth in dict.fromkeys(depth for name in names for depth in depths[name])
        for explorer in names
        if depth in depths[explorer]
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def steps_to_learn(result: Result) -> tuple[float, bool]:
    """Return (step of the first evaluation with a positive return, True), or (last step, False) if there is none."""
    return float(result.steps[-1]), bool(result.returns[-1] > 0.0)


def complexities(requested: list[Run], stored: Iterable[StoredRun]) -> dict[str, SampleComplexity]:
    """Return explorer -> the steps to learn of every depth and seed."""
    steps: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
    for run in requested:
        steps.setdefault(run.explorer, {}).setdefault(run.world_options["depth"], {})[run.seed] = (np.nan, False)
    for run, result, _ in stored:
        steps[run.explorer][run.world_options["depth"]][run.seed] = steps_to_learn(result)
    return {explorer: build_complexity(by_depth) for explorer, by_depth in steps.items()}


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return one row per explorer and depth, the fitted exponents, and the figure."""
    everything = complexities(requested, stored)
    panels = {"": everything}
    table = complexity_report(TITLE, panels, size="depth N", limit=STEP_LIMIT, note=note)
    shown = {"": {name: runs for name, runs in everything.items() if name not in LEFT_OUT}}
    draw = functools.partial(
        scaling_figure, TITLE, shown, x_name="depth N", y_name="steps to learn", limit=STEP_LIMIT, note=note
    )
    return table._replace(figures={"steps-to-learn": draw}, claims=check_claims(everything))


STUDY = Study(
    id="deep-sea-scaling",
    reference="Section 4.2.3, Figure 22",
    description="steps to learn against the depth of the deep sea: 28 depths, 5 explorers; 3 depths for 4 others",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 10; depths 5, 9, 13, 19, 27 instead of 5, 7, …, 59; not the four explorers "
    "that Figure 22 leaves out",
    summarise=lambda run, result: reduced(result, max_points=1),
)
