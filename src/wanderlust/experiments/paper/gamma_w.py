"""Section 4.2.2: how far W looks ahead. The higher γ_w, the more evenly `toy` is explored, the sooner it is learnt."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.count_maps import count_map
from wanderlust.experiments.paper.group_report import grouped_report
from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.figures.maps import CountMap, maps_figure
from wanderlust.experiments.reports.figures.style import shades_of
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.statistics import standard_error_of_difference
from wanderlust.experiments.reports.summary import Group, Label
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored

WORLDS = ("toy",)
EXPLORERS = ("vv-ucb", "vv-count")
DISCOUNTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
DRAWN = (0.0, 0.3, 0.7, 0.9, 0.99999)
"""Those of which the paper shows the counts."""
REFERENCE = "ucb1"
"""What W with γ_w = 0 should be like; with the text's κ, which W has, not with that of the released code."""
SEEDS, REFERENCE_SEEDS = 20, 100


def runs(choice: Choice) -> list[Run]:
    """Return explorer x γ_w x seed, and UCB1 for comparison."""
    reference = [
        Run(world=world, explorer=REFERENCE, seed=seed)
        for world in choice.of_worlds(WORLDS)
        for seed in choice.of_seeds(REFERENCE_SEEDS, 5)
        if choice.explorers is None
    ]
    return reference + [
        Run(
            world=world,
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"gamma_w": discount},
        )
        for world in choice.of_worlds(WORLDS)
        for explorer in choice.of_explorers(EXPLORERS)
        for discount in DISCOUNTS
        for seed in choice.of_seeds(SEEDS, 5)
    ]


def _line(discount: str) -> str:
    return f"$\\gamma_w$ = {discount}"


def _claims_on_discounts(groups: Mapping[Label, Group]) -> list[Claim]:
    """Return whether more foresight is better, by the rank correlation of γ_w with what came of it."""
    from scipy.stats import spearmanr

    claims = []
    for explorer in EXPLORERS:
        found = [groups[name] for name in groups if name[0] == explorer]
        if len(found) != len(DISCOUNTS):
            continue
        measures = {
            "the higher γ_w, the better the policy learnt": [float(group.mean_curve()[1]) for group in found],
            "the higher γ_w, the more uniform the counts": [float(np.mean(group.evenness)) for group in found],
        }
        for claim, values in measures.items():
            rank = float(spearmanr(DISCOUNTS, values).statistic)
            claims.append(
                judged(
                    "4.2.2",
                    f"{explorer}: {claim}",
                    f"rank correlation {rank:.2f}; {values[0]:.1f} % with γ_w = 0, {values[-2]:.1f} % with 0.99, "
                    f"{values[-1]:.1f} % with 0.99999",
                    holds=rank >= 0.8 and values[-1] > values[0] and values[-1] >= 0.9 * max(values),
                    partly=rank >= 0.5,
                )
            )
    return claims


_TABLE = grouped_report(
    "The discount of W in the toy gridworld",
    ("explorer", "γ_w"),
    lambda run: (run.explorer, f"{run.settings['gamma_w']:g}"),
    claims=_claims_on_discounts,
    line=lambda label: _line(label[1]),
    styles=lambda: shades_of([_line(f"{discount:g}") for discount in DISCOUNTS]),
)


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return the table, the curves, and maps of the counts at the end of the first seed."""
    found, reference = [], Group()
    for each in stored:
        if each.run.explorer == REFERENCE:
            result = each.result
            reference.add(result.discovery, result.percent_curves, result.visits, int(result.reachable))
        else:
            found.append(each)
    made = _TABLE([run for run in asked if run.explorer != REFERENCE], found, note)
    maps: dict[str, dict[float, CountMap]] = {}
    for run, result, _ in found:
        discount = run.settings["gamma_w"]
        if discount in DRAWN:
            of_explorer = maps.setdefault(run.explorer, {})
            of_explorer.setdefault(discount, count_map(run, result, _line(f"{discount:g}")))
    rows = {explorer: list(of_explorer.values()) for explorer, of_explorer in maps.items()}
    title = "Visits to the toy gridworld at the end, by the discount of W"
    drawn = {"maps": functools.partial(maps_figure, title, rows, note=note)} if rows else {}
    like_ucb1 = _claims_on_zero(found, reference) if reference.curves else []
    return made._replace(figures={**made.figures, **drawn}, claims=[*like_ucb1, *made.claims])


def _claims_on_zero(found: list[Stored], reference: Group) -> list[Claim]:
    """Return whether W without foresight is UCB1, by the means of discovery and success over the whole run."""
    claims, ucb1 = [], reference.mean_curve()
    for explorer in EXPLORERS:
        group = Group()
        for run, result, _ in found:
            if run.explorer == explorer and run.settings["gamma_w"] == 0.0:
                group.add(result.discovery, result.percent_curves, result.visits, int(result.reachable))
        if not group.curves:
            continue
        ours, seeds = group.mean_curve(), (len(group.curves), len(reference.curves))
        apart = [
            abs(mine.mean - theirs.mean) / max(standard_error_of_difference(mine, theirs, seeds), 1e-9)
            for mine, theirs in zip(group.mean_percents(), reference.mean_percents(), strict=True)
        ]
        claims.append(
            judged(
                "4.2.2",
                f"with γ_w = 0, {explorer} behaves very similarly to UCB1",
                f"means over the run: discovery {ours[0]:.1f} %, success {ours[1]:.1f} %; "
                f"UCB1: {ucb1[0]:.1f} %, {ucb1[1]:.1f} %; {apart[0]:.1f} and {apart[1]:.1f} standard errors apart",
                holds=max(apart) <= 2.58,
                partly=max(apart) <= 4.0,
            )
        )
    return claims


STUDY = Study(
    id="gamma-w",
    place="Section 4.2.2",
    what="how the discount γ_w of W changes exploration of `toy`",
    runs=runs,
    report=report,
    quick="5 seeds instead of 20",
)
