"""Section 4.2.2: how far W looks ahead. The higher γ_w, the more evenly `toy` is explored, the sooner it is learnt."""

from __future__ import annotations

from wanderlust.studies.grouped import grouped_report
from wanderlust.studies.run import Run
from wanderlust.studies.studies import Choice, Study

WORLDS = ("toy",)
EXPLORERS = ("vv-ucb", "vv-count")
DISCOUNTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
SEEDS = 20


def runs(choice: Choice) -> list[Run]:
    """Return explorer x γ_w x seed."""
    return [
        Run(
            world=world,
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"visitation_discount": discount},
        )
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(EXPLORERS)
        for discount in DISCOUNTS
        for seed in choice.of_seeds(SEEDS, 5)
    ]


STUDY = Study(
    id="gamma-w",
    place="Section 4.2.2",
    what="how the discount γ_w of W changes exploration of `toy`",
    runs=runs,
    report=grouped_report(
        "The discount of W in the toy gridworld",
        ("explorer", "γ_w"),
        lambda run: (run.explorer, f"{run.settings['visitation_discount']:g}"),
    ),
    quick="5 seeds instead of 20",
)
