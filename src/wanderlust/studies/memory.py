"""Appendix A.5: what remembering everything is worth. Without memory W still leads to the treasure, only later."""

from __future__ import annotations

from wanderlust.reports.figures.style import Style, styles_of
from wanderlust.studies.grouped import grouped_report
from wanderlust.studies.run import Run
from wanderlust.studies.studies import Choice, Study

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


STUDY = Study(
    id="memory",
    place="Appendix A.5",
    what="infinite memory against none, or a short one, in `toy` and `prison`",
    runs=runs,
    report=grouped_report(
        "Infinite memory against none, or a short one",
        ("world", "explorer", "memory"),
        lambda run: (run.world, run.explorer, run.settings["replay"]),
        line=lambda label: _line(label[1], label[2]),
        styles=_styles,
    ),
    quick="5 seeds instead of 20",
)
