"""Section 4.2.2, Figures 20 and 21: the effect of the discount γ_w of W on exploration in `toy`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from wanderlust.experiments.paper.count_maps import count_map
from wanderlust.experiments.paper.group_report import group_report
from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.figures.maps import CountMap, maps_figure
from wanderlust.experiments.reports.figures.style import shaded_styles
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.reports.seed_groups import Label, SeedGroup
from wanderlust.experiments.reports.statistics import standard_error_of_difference
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun

WORLDS = ("toy",)
EXPLORERS = ("vv-ucb", "vv-count")
GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
FIGURE_21_GAMMAS = (0.0, 0.3, 0.7, 0.9, 0.99999)
REFERENCE = "ucb1"
"""What vv with γ_w = 0 should be similar to. It uses κ of the text, as vv does, not κ of the released code."""
SEEDS, REFERENCE_SEEDS = 20, 100


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x γ_w x seed, and UCB1 for comparison."""
    reference = [
        Run(world=world, explorer=REFERENCE, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for seed in selection.select_seeds(REFERENCE_SEEDS, 5)
        if selection.explorers is None
    ]
    return reference + [
        Run(
            world=world,
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"gamma_w": gamma},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for gamma in GAMMAS
        for seed in selection.select_seeds(SEEDS, 5)
    ]


def _label(gamma: str) -> str:
    return f"$\\gamma_w$ = {gamma}"


def _check_larger_is_better(groups: Mapping[Label, SeedGroup]) -> list[Claim]:
    """Check that a larger γ_w is better, by the rank correlation of γ_w with success and evenness."""
    from scipy.stats import spearmanr

    claims = []
    for explorer in EXPLORERS:
        by_gamma = [groups[name] for name in groups if name[0] == explorer]
        if len(by_gamma) != len(GAMMAS):
            continue
        measures = {
            "the higher γ_w, the better the policy learnt": [float(group.mean_curve()[1]) for group in by_gamma],
            "the higher γ_w, the more uniform the counts": [float(np.mean(group.evenness)) for group in by_gamma],
        }
        for claim, values in measures.items():
            rank = float(spearmanr(GAMMAS, values).statistic)
            claims.append(
                check_claim(
                    "4.2.2",
                    f"{explorer}: {claim}",
                    f"rank correlation {rank:.2f}; {values[0]:.1f} % with γ_w = 0, {values[-2]:.1f} % with 0.99, "
                    f"{values[-1]:.1f} % with 0.99999",
                    holds=rank >= 0.8 and values[-1] > values[0] and values[-1] >= 0.9 * max(values),
                    partly=rank >= 0.5,
                )
            )
    return claims


_TABLE = group_report(
    "The discount of W in the toy gridworld",
    ("explorer", "γ_w"),
    lambda run: (run.explorer, f"{run.settings['gamma_w']:g}"),
    claims=_check_larger_is_better,
    line=lambda label: _label(label[1]),
    styles=lambda: shaded_styles([_label(f"{gamma:g}") for gamma in GAMMAS]),
)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the table, the learning curves, and maps of the final visit counts of the first seed."""
    vv_runs, reference = [], SeedGroup()
    for each in stored:
        if each.run.explorer == REFERENCE:
            reference.add(each.result)
        else:
            vv_runs.append(each)
    table = _TABLE([run for run in requested if run.explorer != REFERENCE], vv_runs, note)
    maps: dict[str, dict[float, CountMap]] = {}
    for run, result, _ in vv_runs:
        gamma = run.settings["gamma_w"]
        if gamma in FIGURE_21_GAMMAS:
            explorer_maps = maps.setdefault(run.explorer, {})
            explorer_maps.setdefault(gamma, count_map(run, result, _label(f"{gamma:g}")))
    rows = {explorer: list(explorer_maps.values()) for explorer, explorer_maps in maps.items()}
    title = "Final visit counts in the toy gridworld for different discounts of W"
    figures = {"maps": functools.partial(maps_figure, title, rows, note=note)} if rows else {}
    similar_to_ucb1 = _check_zero_is_ucb1(vv_runs, reference) if reference.curves else []
    return table._replace(figures={**table.figures, **figures}, claims=[*similar_to_ucb1, *table.claims])


def _check_zero_is_ucb1(vv_runs: list[StoredRun], reference: SeedGroup) -> list[Claim]:
    """Check that vv with γ_w = 0 is similar to UCB1, by the means of discovery and success over the whole run."""
    claims, ucb1 = [], reference.mean_curve()
    for explorer in EXPLORERS:
        group = SeedGroup()
        for run, result, _ in vv_runs:
            if run.explorer == explorer and run.settings["gamma_w"] == 0.0:
                group.add(result)
        if not group.curves:
            continue
        vv, seeds = group.mean_curve(), (len(group.curves), len(reference.curves))
        z = [
            abs(a.mean - b.mean) / max(standard_error_of_difference(a, b, seeds), 1e-9)
            for a, b in zip(group.mean_percents(), reference.mean_percents(), strict=True)
        ]
        claims.append(
            check_claim(
                "4.2.2",
                f"with γ_w = 0, {explorer} behaves very similarly to UCB1",
                f"means over the run: discovery {vv[0]:.1f} %, success {vv[1]:.1f} %; "
                f"UCB1: {ucb1[0]:.1f} %, {ucb1[1]:.1f} %; differences of {z[0]:.1f} and {z[1]:.1f} standard errors",
                holds=max(z) <= 2.58,
                partly=max(z) <= 4.0,
            )
        )
    return claims


STUDY = Study(
    id="gamma-w",
    reference="Section 4.2.2, Figures 20, 21",
    description="the effect of the discount γ_w of W on exploration in `toy`",
    runs=runs,
    report=report,
    quick_changes="5 seeds instead of 20",
)
