"""Appendix A.5, Figure 28: learning with infinite, finite and no replay memory."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.experiments.paper.group_report import group_report
from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.figures.style import Style, explorer_styles
from wanderlust.experiments.reports.seed_groups import Label, SeedGroup
from wanderlust.experiments.run import Run

WORLDS = ("toy", "prison")
MEMORIES = {
    "vv-ucb": ("full", "none"),
    "vv-count": ("full", "none"),
    "epsilon-greedy": ("full", "none"),
    "random-prior": ("full", "window"),
}
_MEMORY_NAMES = {"full": "infinite memory", "none": "no memory", "window": "finite memory"}
BUDGET = 2500
SEEDS = 20


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x memory x seed."""
    return [
        Run(
            world=world,
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": BUDGET, "replay": memory},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(MEMORIES)
        for memory in MEMORIES[explorer]
        for seed in selection.select_seeds(SEEDS, 5)
    ]


def _line(explorer: str, memory: str) -> str:
    return f"{explorer}, {_MEMORY_NAMES[memory]}"


def _styles() -> dict[str, Style]:
    """Return the style of each explorer, solid with infinite memory, dashed otherwise."""
    styles = explorer_styles(MEMORIES)
    return {
        _line(explorer, memory): styles[explorer]._replace(dash="-" if memory == "full" else "--")
        for explorer, memories in MEMORIES.items()
        for memory in memories
    }


_PAPER_SPEEDUPS = {("toy", "vv-ucb"): 4, ("toy", "vv-count"): 4, ("prison", "vv-ucb"): 4, ("prison", "vv-count"): 8}
"""The paper's speed-up of learning by infinite memory."""


def check_claims(groups: Mapping[Label, SeedGroup]) -> list[Claim]:
    """Check the statements of Appendix A.5."""
    claims = []
    for (world, explorer), paper in _PAPER_SPEEDUPS.items():
        if (world, explorer, "none") not in groups or (world, explorer, "full") not in groups:
            continue
        without, with_memory = (groups[world, explorer, memory].median_step() for memory in ("none", "full"))
        speedup = without / with_memory
        claims.append(
            check_claim(
                "A.5",
                f"{world}: {explorer} learns about {paper} times faster with memory",
                f"median steps until learnt: {without:.0f} without, {with_memory:.0f} with: {speedup:.1f} times",
                holds=paper / 2 <= speedup <= paper * 2,
                partly=speedup > 1.5,
            )
        )
    vv = [group for name, group in groups.items() if name[1] in ("vv-ucb", "vv-count") and name[2] == "none"]
    if vv:
        n, total = sum(len(group.steps_to_learn()) for group in vv), sum(len(group.curves) for group in vv)
        result = f"{n} of {total} runs without memory"
        claims.append(check_claim("A.5", "vv learns without memory", result, holds=n == total, partly=n >= 0.9 * total))
    others = [group for name, group in groups.items() if name[0] == "prison" and not name[1].startswith("vv")]
    if others:
        n, total = sum(len(group.steps_to_learn()) for group in others), sum(len(group.curves) for group in others)
        result = f"prison: {n} of {total} runs, with and without memory"
        claim = "the other explorers do not learn where there are distractors"
        claims.append(check_claim("A.5", claim, result, holds=n <= total / 10, partly=n < total / 2))
    return claims


STUDY = Study(
    id="memory",
    reference="Appendix A.5, Figure 28",
    description="infinite replay memory compared with none, or a finite one, in `toy` and `prison`",
    runs=runs,
    report=group_report(
        "Infinite, finite and no replay memory",
        ("world", "explorer", "memory"),
        lambda run: (run.world, run.explorer, run.settings["replay"]),
        claims=check_claims,
        line=lambda label: _line(label[1], label[2]),
        styles=_styles,
    ),
    quick_changes="5 seeds instead of 20",
)
