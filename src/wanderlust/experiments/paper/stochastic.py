"""Section 4.2.5: worlds in which actions slip. The return is V^π of the start, solved exactly."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from wanderlust.experiments.paper.group_report import grouped_report
from wanderlust.experiments.paper.registry import EXPLORERS, Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.figures.style import styles_of
from wanderlust.experiments.reports.summary import Group, Label
from wanderlust.experiments.run import Run

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
SMALL = ("noisy-toy", "noisy-prison")
SEEDS = 50
ENOUGH = 99.0
"""Percent of the best value of the start from which on a policy has learnt: ties in far corners are worth less."""


def runs(choice: Choice) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=choice.preset, seed=seed)
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(SEEDS, 5)
    ]


def claims_of(groups: Mapping[Label, Group]) -> list[Claim]:
    """Return what Section 4.2.5 says in words."""
    place, claims = "4.2.5", []

    def learnt(explorer: str, worlds: Sequence[str] = WORLDS) -> tuple[int, int]:
        found = [groups[world, explorer] for world in worlds if (world, explorer) in groups]
        count = sum(round(len(each.curves) * each.learnt().estimate) for each in found)
        return count, sum(len(each.curves) for each in found)

    def step(world: str, explorer: str) -> float:
        return groups[world, explorer].median_step()

    count, of = learnt("vv-ucb")
    if of:
        found = f"{count} of {of} runs"
        claims.append(
            judged(place, "vv-ucb always learns the best policy", found, holds=count == of, partly=count >= 0.95 * of)
        )
    count, of = learnt("vv-count")
    if of:
        found = f"{of - count} of {of} runs do not (the paper: 3 of 150)"
        few = of - count <= 0.04 * of
        claims.append(judged(place, "vv-count fails in a few runs at most", found, holds=few, partly=count >= 0.9 * of))
    for explorer in ("ucb1", "bonus"):
        if all((world, name) in groups for world in SMALL for name in (explorer, "vv-ucb")):
            count, of = learnt(explorer, SMALL)
            times = [step(world, explorer) / step(world, "vv-ucb") for world in SMALL]
            claims.append(
                judged(
                    place,
                    f"{explorer} solves the two small grids, much later than vv",
                    f"{count} of {of} runs; median steps over those of vv-ucb: "
                    + ", ".join(f"{each:.1f} ({world})" for each, world in zip(times, SMALL, strict=True)),
                    holds=count > of / 2 and min(times) > 1.5,
                    partly=count > 0,
                )
            )
    if all(("noisy-toy", name) in groups for name in ("bootstrapped", "random-prior")):
        vanilla, prior = (groups["noisy-toy", name].learnt().estimate for name in ("bootstrapped", "random-prior"))
        claims.append(
            judged(
                place,
                "noise hurts vanilla bootstrap, which does not learn the toy grid, but not the one with a prior",
                f"learnt by {100 * vanilla:.0f} % of the seeds, with a prior by {100 * prior:.0f} %",
                holds=vanilla < 0.5 <= prior,
                partly=vanilla < prior,
            )
        )
    return claims


STUDY = Study(
    id="stochastic",
    place="Section 4.2.5",
    what="three gridworlds in which actions slip, 9 explorers",
    runs=runs,
    report=grouped_report(
        "Gridworlds in which actions slip",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        line=lambda label: label[1],
        styles=functools.partial(styles_of, EXPLORERS),
        enough=ENOUGH,
        claims=claims_of,
    ),
    quick="5 seeds instead of 50",
)
