"""Section 4.1.2, footnote: the taxi with a horizon of 29 steps, the shortest that allows the optimal policy."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust import Run
from wanderlust_paper.claims import Claim, check_claim, never
from wanderlust_paper.registry import EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_report
from wanderlust_paper.summary_file import reduced

WORLDS = ("taxi",)
HORIZON = 29
SEEDS = 20
VV_EXPLORERS = ("vv-ucb", "vv-count")


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x seed, with zero initialization."""
    return [
        Run(
            world=world,
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"horizon": HORIZON, "initial": "zero"},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def check_claims(groups: Mapping[Label, SeedGroup]) -> list[Claim]:
    """Check the two statements of the footnote."""
    claims = []
    vv = [groups["taxi", name] for name in VV_EXPLORERS if ("taxi", name) in groups]
    if vv:
        learnt, total = sum(len(group.steps_to_learn()) for group in vv), sum(len(group.curves) for group in vv)
        text = f"taxi: vv could learn also with a horizon of only {HORIZON} steps, the shortest that allows it"
        found = f"{learnt} of {total} runs learnt the optimal policy"
        claims.append(never("4.1.2", text, total - learnt, total, paper_runs=2 * SEEDS, found=found))
    others = {name[1]: group for name, group in groups.items() if name[1] not in VV_EXPLORERS}
    if len(others) == len(EXPLORERS) - len(VV_EXPLORERS):
        means = {name: sum(group.success) / len(group.success) for name, group in others.items()}
        text = ", ".join(f"{name} {mean:.0f} %" for name, mean in means.items())
        claims.append(
            check_claim(
                "4.1.2",
                f"taxi, zero init.: with a horizon of {HORIZON} steps the other algorithms perform extremely poorly",
                f"mean success: {text}",
                tolerance="all at most 25 %; all at most 50 %",
                holds=max(means.values()) <= 25.0,
                partly=max(means.values()) <= 50.0,
            )
        )
    return claims


STUDY = Study(
    id="taxi-horizon",
    reference="Section 4.1.2, footnote",
    description=f"the taxi with a horizon of {HORIZON} steps, 9 explorers",
    runs=runs,
    report=group_report(
        "The taxi with the shortest horizon",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        claims=check_claims,
    ),
    quick_changes="3 seeds instead of 20",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
