"""Section 4.2.2: how far W looks ahead. The higher γ_w, the more evenly `toy` is explored, the sooner it is learnt."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from wanderlust.reports.figures.maps import CountMap, maps_figure
from wanderlust.reports.figures.style import shades_of
from wanderlust.reports.report import Report
from wanderlust.studies.count_maps import count_map
from wanderlust.studies.grouped import grouped_report
from wanderlust.studies.run import Run
from wanderlust.studies.store import Stored
from wanderlust.studies.studies import Choice, Study

WORLDS = ("toy",)
EXPLORERS = ("vv-ucb", "vv-count")
DISCOUNTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
DRAWN = (0.0, 0.3, 0.7, 0.9, 0.99999)
"""Those of which the paper shows the counts."""
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


def _line(discount: str) -> str:
    return f"$\\gamma_w$ = {discount}"


_TABLE = grouped_report(
    "The discount of W in the toy gridworld",
    ("explorer", "γ_w"),
    lambda run: (run.explorer, f"{run.settings['visitation_discount']:g}"),
    line=lambda label: _line(label[1]),
    styles=lambda: shades_of([_line(f"{discount:g}") for discount in DISCOUNTS]),
)


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return the table, the curves, and maps of the counts at the end of the first seed."""
    found = list(stored)
    made = _TABLE(asked, found, note)
    maps: dict[str, dict[float, CountMap]] = {}
    for run, result, _ in found:
        discount = run.settings["visitation_discount"]
        if discount in DRAWN:
            of_explorer = maps.setdefault(run.explorer, {})
            of_explorer.setdefault(discount, count_map(run, result, _line(f"{discount:g}")))
    rows = {explorer: list(of_explorer.values()) for explorer, of_explorer in maps.items()}
    title = "Visits to the toy gridworld at the end, by the discount of W"
    drawn = {"maps": functools.partial(maps_figure, title, rows, note=note)} if rows else {}
    return made._replace(figures={**made.figures, **drawn})


STUDY = Study(
    id="gamma-w",
    place="Section 4.2.2",
    what="how the discount γ_w of W changes exploration of `toy`",
    runs=runs,
    report=report,
    quick="5 seeds instead of 20",
)
