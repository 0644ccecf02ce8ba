"""Section 4.2.5, Figure 27: gridworlds with stochastic transitions. The return is the exact V^π of the start."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from wanderlust.experiments.paper.group_report import group_report
from wanderlust.experiments.paper.registry import EXPLORERS, Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.figures.style import explorer_styles
from wanderlust.experiments.reports.seed_groups import Label, SeedGroup
from wanderlust.experiments.run import Run

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
SMALL_WORLDS = ("noisy-toy", "noisy-prison")
SEEDS = 50
SUCCESS_THRESHOLD = 99.0
"""Success, in percent, from which a run has learnt; ties between actions in distant states cost less than 1 %."""


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 5)
    ]


def check_claims(groups: Mapping[Label, SeedGroup]) -> list[Claim]:
    """Check the statements of Section 4.2.5."""
    place, claims = "4.2.5", []

    def learnt(explorer: str, worlds: Sequence[str] = WORLDS) -> tuple[int, int]:
        selected = [groups[world, explorer] for world in worlds if (world, explorer) in groups]
        count = sum(round(len(each.curves) * each.learnt().estimate) for each in selected)
        return count, sum(len(each.curves) for each in selected)

    def step(world: str, explorer: str) -> float:
        return groups[world, explorer].median_step()

    n, total = learnt("vv-ucb")
    if total:
        claim, result = "vv-ucb always learns an optimal policy", f"{n} of {total} runs"
        claims.append(check_claim(place, claim, result, holds=n == total, partly=n >= 0.95 * total))
    n, total = learnt("vv-count")
    if total:
        claim, result = "vv-count fails in few runs", f"{total - n} of {total} runs fail (the paper: 3 of 150)"
        claims.append(check_claim(place, claim, result, holds=total - n <= 0.04 * total, partly=n >= 0.9 * total))
    for explorer in ("ucb1", "bonus"):
        if all((world, name) in groups for world in SMALL_WORLDS for name in (explorer, "vv-ucb")):
            n, total = learnt(explorer, SMALL_WORLDS)
            ratios = [step(world, explorer) / step(world, "vv-ucb") for world in SMALL_WORLDS]
            claims.append(
                check_claim(
                    place,
                    f"{explorer} solves the two small gridworlds, much later than vv",
                    f"{n} of {total} runs; ratio of the median steps to those of vv-ucb: "
                    + ", ".join(f"{each:.1f} ({world})" for each, world in zip(ratios, SMALL_WORLDS, strict=True)),
                    holds=n > total / 2 and min(ratios) > 1.5,
                    partly=n > 0,
                )
            )
    if all(("noisy-toy", name) in groups for name in ("bootstrapped", "random-prior")):
        vanilla, prior = (groups["noisy-toy", name].learnt().estimate for name in ("bootstrapped", "random-prior"))
        claims.append(
            check_claim(
                place,
                "in the noisy toy gridworld the vanilla bootstrap does not learn, the bootstrap with a prior does",
                f"learnt by {100 * vanilla:.0f} % of the seeds, with a prior by {100 * prior:.0f} %",
                holds=vanilla < 0.5 <= prior,
                partly=vanilla < prior,
            )
        )
    return claims


STUDY = Study(
    id="stochastic",
    reference="Section 4.2.5, Figure 27",
    description="three gridworlds with stochastic transitions, 9 explorers",
    runs=runs,
    report=group_report(
        "Gridworlds with stochastic transitions",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        line=lambda label: label[1],
        styles=functools.partial(explorer_styles, EXPLORERS),
        success_threshold=SUCCESS_THRESHOLD,
        claims=check_claims,
    ),
    quick_changes="5 seeds instead of 50",
)
