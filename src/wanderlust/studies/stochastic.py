"""Section 4.2.5: worlds in which actions slip. The return is V^π of the start, solved exactly."""

from __future__ import annotations

import functools

from wanderlust.reports.figures.style import styles_of
from wanderlust.studies.grouped import grouped_report
from wanderlust.studies.run import Run
from wanderlust.studies.studies import EXPLORERS, Choice, Study

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
SEEDS = 50


def runs(choice: Choice) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=choice.preset, seed=seed)
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(SEEDS, 5)
    ]


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
    ),
    quick="5 seeds instead of 50",
)
