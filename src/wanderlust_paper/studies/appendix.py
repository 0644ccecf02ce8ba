"""Appendix A: the weight of the prior, and a target table with optimistic initialization."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from wanderlust import Run, make_world
from wanderlust_paper.claims import Check, Claim, Groups, claim_of, larger, not_testable, step_text
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, group_report, median_step
from wanderlust_paper.summary_file import reduced

GRIDWORLDS = ("toy", "prison", "deep-gridworld")
WORLDS = (*GRIDWORLDS, "deep-sea")
EXPLORERS = ("random-prior", "epsilon-greedy")
PRIOR_WEIGHTS = (0.1, 1.0)
"""ν of the paper, and ν of its source."""
DEPTH, BUDGET = 15, 100_000
TARGET_WORLD = "prison"
SEEDS = 20
_NEVER = 1e9


def runs(selection: StudySelection) -> list[Run]:
    """Return the bootstrap with both weights of the prior, and ε-greedy with the evaluation of either table."""
    worlds, explorers = selection.select_worlds(WORLDS), selection.select_explorers(EXPLORERS)
    found = []
    for seed in selection.select_seeds(SEEDS, 5):
        common: dict[str, Any] = {"preset": selection.preset, "seed": seed}
        for weight in PRIOR_WEIGHTS if EXPLORERS[0] in explorers else ():
            prior: dict[str, Any] = {"explorer": EXPLORERS[0], "explorer_options": {"prior_weight": weight}, **common}
            for world in worlds:
                if world == "deep-sea":
                    settings = {"budget": BUDGET, "initial": "zero"}
                    options = {"depth": DEPTH}
                    found.append(
                        Run(world=world, world_options=options, settings=settings, until="positive-return", **prior)
                    )
                else:
                    horizon = make_world(world).defaults.horizon
                    found.append(Run(world=world, settings={"initial": "zero", "horizon": horizon}, **prior))
        for evaluated in ("target", "behaviour") if EXPLORERS[1] in explorers and TARGET_WORLD in worlds else ():
            horizon = make_world(TARGET_WORLD).defaults.horizon
            settings = {"initial": "optimistic", "horizon": horizon, "evaluated": evaluated}
            found.append(Run(world=TARGET_WORLD, explorer=EXPLORERS[1], settings=settings, **common))
    return found


def _label(run: Run) -> Label:
    weight = run.explorer_options.get("prior_weight")
    return run.world, run.explorer, f"ν = {weight:g}" if weight else f"{run.settings['evaluated']} table"


def _prior(groups: Groups) -> Iterator[Claim]:
    texts, cases = [], []
    for world in GRIDWORLDS:
        small, large = (
            groups[world, EXPLORERS[0], f"ν = {weight:g}"].column("mean_success") for weight in PRIOR_WEIGHTS
        )
        texts.append(f"{world} {small.mean():.1f} and {large.mean():.1f} % of the return over the whole run")
        cases.append(larger(small, large))
    both = [groups["deep-sea", EXPLORERS[0], f"ν = {weight:g}"] for weight in PRIOR_WEIGHTS]
    steps = [[x if math.isfinite(x) else _NEVER for x in group.column("learnt_at")] for group in both]
    medians = " and ".join(step_text(median_step(group)) for group in both)
    texts.append(f"deep sea of depth {DEPTH} {medians} steps to learn, median")
    yield claim_of(
        "A.4",
        "ν = 0.1 worked best: in the original paper ν = 1, and it was divided by ten",
        f"ν = 0.1 and 1: {'; '.join(texts)}",
        *cases,
        larger(steps[1], steps[0]),
    )
    yield not_testable(
        "A.4",
        "a prior fixed at zero, instead of one drawn from a distribution, worked best",
        "the library has the prior of the released code, which is zero",
    )


def _target(groups: Groups) -> Iterator[Claim]:
    target, behaviour = (groups[TARGET_WORLD, EXPLORERS[1], f"{name} table"] for name in ("target", "behaviour"))
    means = [group.column("mean_success") for group in (target, behaviour)]
    yield claim_of(
        "A",
        "prison, ε-greedy: with an optimistic target table the greedy policy did not try to collect the treasures "
        "that it had found, until all pairs were visited",
        f"return over the whole run, in percent of the optimum: {means[0].mean():.1f} % with the target table, which "
        f"starts at zero, {means[1].mean():.1f} % with the behaviour table, which starts optimistically",
        larger(means[0], means[1]),
    )


CHECKS: tuple[Check, ...] = (_prior, _target)
STUDY = Study(
    id="appendix",
    reference="Appendix A, A.4",
    description="the weight of the prior, and a target table with optimistic initialization",
    runs=runs,
    report=group_report("Settings of Appendix A", ("world", "explorer", "setting"), _label, checks=CHECKS),
    quick_changes="5 seeds instead of 20",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
