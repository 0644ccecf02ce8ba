"""Section 4.2.3: how the steps to learn grow with the depth of the deep sea: N^2.5 or less by W, N³ by bootstraps."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.complexity import as_complexity, complexity_report
from wanderlust.experiments.reports.figures.scaling import Complexity, scaling_figure
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import Stored

WORLDS = ("deep-sea",)
EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "bonus")
"""Those that the paper's figure shows; the others hardly ever learnt."""
DEPTHS = range(5, 60, 2)
QUICK_DEPTHS = (5, 9, 13, 19, 27)
LIMIT = 500_000
SEEDS = 10
TITLE = "Steps to learn the deep sea"


def runs(choice: Choice) -> list[Run]:
    """Return depth x explorer x seed; each run ends once it has learnt."""
    return [
        Run(
            world=world,
            world_options={"depth": depth},
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"budget": LIMIT},
            until="positive-return",
        )
        for world in choice.of_worlds(WORLDS)
        for depth in (QUICK_DEPTHS if choice.quick else DEPTHS)
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(SEEDS, 3)
    ]


def steps_to_learn(result: Result) -> tuple[float, bool]:
    """Return the step of the first evaluation with a positive return, or the last step and that it has not learnt."""
    return float(result.steps[-1]), bool(result.returns[-1] > 0.0)


def complexities(asked: list[Run], stored: Iterable[Stored]) -> dict[str, Complexity]:
    """Return the steps to learn of every depth and seed, by explorer."""
    found: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
    for run in asked:
        found.setdefault(run.explorer, {}).setdefault(run.world_options["depth"], {})[run.seed] = (np.nan, False)
    for run, result, _ in stored:
        found[run.explorer][run.world_options["depth"]][run.seed] = steps_to_learn(result)
    return {explorer: as_complexity(by_depth) for explorer, by_depth in found.items()}


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return a line per explorer and depth, the fitted exponents, and the figure."""
    panels = {"": complexities(asked, stored)}
    made = complexity_report(TITLE, panels, size="depth N", limit=LIMIT, note=note)
    draw = functools.partial(
        scaling_figure, TITLE, panels, x_name="depth N", y_name="steps to learn", limit=LIMIT, note=note
    )
    return made._replace(figures={"steps-to-learn": draw}, claims=claims_of(panels[""]))


def claims_of(found: Mapping[str, Complexity]) -> list[Claim]:
    """Return what Section 4.2.3 says in words."""
    fits = {explorer: runs.fit() for explorer, runs in found.items()}
    claims = []
    for explorer, claim, low, high in (
        ("vv-ucb", "grow by less than N^2.5", 0.0, 2.5),
        ("vv-count", "grow like N^2.5 or less", 0.0, 2.6),
        ("random-prior", "grow like N^3", 2.7, 3.3),
        ("bootstrapped", "grow like N^3", 2.7, 3.3),
    ):
        fit = fits.get(explorer)
        if fit is not None:
            between = fit.exponent
            claims.append(
                judged(
                    "4.2.3",
                    f"the steps that {explorer} takes to learn {claim}",
                    f"exponent {between.estimate:.2f}, 95 % interval {between.low:.2f} to {between.high:.2f}",
                    holds=low <= between.estimate <= high,
                    partly=(between.low <= high and between.high >= low) or between.estimate < low,
                )
            )
    ours = [found[name] for name in ("vv-ucb", "vv-count") if name in found]
    if ours:
        made = sum(int((~np.isnan(runs.steps)).sum()) for runs in ours)
        learnt = sum(int(runs.learnt.sum()) for runs in ours)
        words = f"{learnt} of {made} runs learnt within {LIMIT:,} steps"
        claims.append(judged("4.2.3", "vv always learns within the limit", words, holds=learnt == made))
    return claims


STUDY = Study(
    id="deep-sea-scaling",
    place="Section 4.2.3",
    what="how the steps to learn grow with the depth of the deep sea: 28 depths, 5 explorers",
    runs=runs,
    report=report,
    quick="3 seeds instead of 10; depths 5, 9, 13, 19, 27 instead of 5, 7, …, 59",
)
