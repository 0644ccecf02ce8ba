"""Section 4.1.2, footnote: the taxi with a horizon of 29 steps, the shortest that allows the optimal policy."""

from __future__ import annotations

from collections.abc import Iterator

from wanderlust import Run
from wanderlust_paper.claims import Claim, Groups, claim_of, never, rarely
from wanderlust_paper.registry import EXPLORERS, OTHERS, VV_EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import group_report, learnt
from wanderlust_paper.summary_file import reduced

WORLDS = ("taxi",)
HORIZON = 29
SEEDS = 20


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x seed, with zero initialization."""
    settings = {"horizon": HORIZON, "initial": "zero"}
    return [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed, settings=settings)
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def _vv(groups: Groups) -> Iterator[Claim]:
    n, total = learnt(group for (_, name), group in groups.items() if name in VV_EXPLORERS)
    text = f"taxi: vv could learn also with a horizon of only {HORIZON} steps, the shortest that allows it"
    if total:
        judged = never(total - n, total, paper_runs=2 * SEEDS)
        yield claim_of("4.1.2", text, f"{n} of {total} runs learnt", judged)


def _others(groups: Groups) -> Iterator[Claim]:
    shares = {name: learnt([groups["taxi", name]]) for name in OTHERS}
    means = {name: float(groups["taxi", name].column("success").mean()) for name in OTHERS}
    yield claim_of(
        "4.1.2",
        f"taxi, zero init.: with a horizon of {HORIZON} steps the other algorithms perform extremely poorly",
        f"learnt by {sum(n for n, _ in shares.values())} of {sum(total for _, total in shares.values())} runs; mean "
        f"success: {', '.join(f'{name} {mean:.0f} %' for name, mean in means.items())}",
        *(rarely(*share) for share in shares.values()),
    )


STUDY = Study(
    id="taxi-horizon",
    reference="Section 4.1.2, footnote",
    description=f"the taxi with a horizon of {HORIZON} steps, 9 explorers",
    runs=runs,
    report=group_report(
        "The taxi with the shortest horizon",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        checks=(_vv, _others),
    ),
    quick_changes="3 seeds instead of 20",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
