"""Section 4.2.3, Figure 22: steps to learn the deep sea against its depth N, with the fitted exponents."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.complexity import build_complexity, complexity_report
from wanderlust.experiments.reports.figures.scaling import SampleComplexity, scaling_figure
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import StoredRun

WORLDS = ("deep-sea",)
EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "bonus")
"""The explorers of Figure 22; the others rarely learn."""
DEPTHS = range(5, 60, 2)
QUICK_DEPTHS = (5, 9, 13, 19, 27)
STEP_LIMIT = 500_000
SEEDS = 10
TITLE = "Steps to learn the deep sea"


def runs(selection: StudySelection) -> list[Run]:
    """Return depth x explorer x seed; each run ends at the first positive return."""
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
        for depth in (QUICK_DEPTHS if selection.quick else DEPTHS)
        for explorer in selection.select_explorers(EXPLORERS)
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
    panels = {"": complexities(requested, stored)}
    table = complexity_report(TITLE, panels, size="depth N", limit=STEP_LIMIT, note=note)
    draw = functools.partial(
        scaling_figure, TITLE, panels, x_name="depth N", y_name="steps to learn", limit=STEP_LIMIT, note=note
    )
    return table._replace(figures={"steps-to-learn": draw}, claims=check_claims(panels[""]))


def check_claims(by_explorer: Mapping[str, SampleComplexity]) -> list[Claim]:
    """Check the statements of Section 4.2.3."""
    fits = {explorer: runs.fit() for explorer, runs in by_explorer.items()}
    claims = []
    for explorer, claim, low, high in (
        ("vv-ucb", "grow slower than N^2.5", 0.0, 2.5),
        ("vv-count", "grow like N^2.5 or less", 0.0, 2.6),
        ("random-prior", "grow like N^3", 2.7, 3.3),
        ("bootstrapped", "grow like N^3", 2.7, 3.3),
    ):
        fit = fits.get(explorer)
        if fit is not None:
            exponent = fit.exponent
            claims.append(
                check_claim(
                    "4.2.3",
                    f"the steps that {explorer} takes to learn {claim}",
                    f"exponent {exponent.estimate:.2f}, 95 % interval {exponent.low:.2f} to {exponent.high:.2f}",
                    holds=low <= exponent.estimate <= high,
                    partly=(exponent.low <= high and exponent.high >= low) or exponent.estimate < low,
                )
            )
    vv = [by_explorer[name] for name in ("vv-ucb", "vv-count") if name in by_explorer]
    if vv:
        total = sum(int((~np.isnan(runs.steps)).sum()) for runs in vv)
        learnt = sum(int(runs.learnt.sum()) for runs in vv)
        result = f"{learnt} of {total} runs learnt within {STEP_LIMIT:,} steps"
        claims.append(check_claim("4.2.3", "vv always learns within the limit", result, holds=learnt == total))
    return claims


STUDY = Study(
    id="deep-sea-scaling",
    reference="Section 4.2.3, Figure 22",
    description="steps to learn against the depth of the deep sea: 28 depths, 5 explorers",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 10; depths 5, 9, 13, 19, 27 instead of 5, 7, …, 59",
)
