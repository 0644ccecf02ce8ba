"""Appendix A.5: what remembering everything is worth. Without memory W still leads to the treasure, only later."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.experiments.paper.group_report import grouped_report
from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.figures.style import Style, styles_of
from wanderlust.experiments.reports.summary import Group, Label
from wanderlust.experiments.run import Run

WORLDS = ("toy", "prison")
MEMORIES = {
    "vv-ucb": ("full", "none"),
    "vv-count": ("full", "none"),
    "epsilon-greedy": ("full", "none"),
    "random-prior": ("full", "window"),
}
_IN_WORDS = {"full": "infinite memory", "none": "no memory", "window": "short memory"}
BUDGET = 2500
SEEDS = 20


def runs(choice: Choice) -> list[Run]:
    """Return world x explorer x memory x seed."""
    return [
        Run(
            world=world,
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"budget": BUDGET, "replay": memory},
        )
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(MEMORIES)
        for memory in MEMORIES[explorer]
        for seed in choice.of_seeds(SEEDS, 5)
    ]


def _line(explorer: str, memory: str) -> str:
    return f"{explorer}, {_IN_WORDS[memory]}"


def _styles() -> dict[str, Style]:
    """Return each explorer's own colour: solid with infinite memory, dashed without."""
    known = styles_of(MEMORIES)
    return {
        _line(explorer, memory): known[explorer]._replace(dash="-" if memory == "full" else "--")
        for explorer, memories in MEMORIES.items()
        for memory in memories
    }


_SPEEDS = {("toy", "vv-ucb"): 4, ("toy", "vv-count"): 4, ("prison", "vv-ucb"): 4, ("prison", "vv-count"): 8}
"""How many times as fast the paper found learning with memory."""


def claims_of(groups: Mapping[Label, Group]) -> list[Claim]:
    """Return what Appendix A.5 says in words."""
    claims = []
    for (world, explorer), paper in _SPEEDS.items():
        if (world, explorer, "none") not in groups or (world, explorer, "full") not in groups:
            continue
        without, with_memory = (groups[world, explorer, memory].median_step() for memory in ("none", "full"))
        speed = without / with_memory
        claims.append(
            judged(
                "A.5",
                f"{world}: memory makes {explorer} learn about {paper} times as fast",
                f"median steps until learnt: {without:.0f} without, {with_memory:.0f} with: {speed:.1f} times",
                holds=paper / 2 <= speed <= paper * 2,
                partly=speed > 1.5,
            )
        )
    ours = [group for name, group in groups.items() if name[1] in ("vv-ucb", "vv-count") and name[2] == "none"]
    if ours:
        count = sum(len(group.steps_to_learn()) for group in ours)
        of = sum(len(group.curves) for group in ours)
        found = f"{count} of {of} runs without memory"
        claims.append(judged("A.5", "vv learns without memory", found, holds=count == of, partly=count >= 0.9 * of))
    others = [group for name, group in groups.items() if name[0] == "prison" and not name[1].startswith("vv")]
    if others:
        count = sum(len(group.steps_to_learn()) for group in others)
        of = sum(len(group.curves) for group in others)
        found = f"prison: {count} of {of} runs, with and without memory"
        claims.append(
            judged(
                "A.5",
                "the others do not, where there are distractors",
                found,
                holds=count <= of / 10,
                partly=count < of / 2,
            )
        )
    return claims


STUDY = Study(
    id="memory",
    place="Appendix A.5",
    what="infinite memory against none, or a short one, in `toy` and `prison`",
    runs=runs,
    report=grouped_report(
        "Infinite memory against none, or a short one",
        ("world", "explorer", "memory"),
        lambda run: (run.world, run.explorer, run.settings["replay"]),
        claims=claims_of,
        line=lambda label: _line(label[1], label[2]),
        styles=_styles,
    ),
    quick="5 seeds instead of 20",
)
