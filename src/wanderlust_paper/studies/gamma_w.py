"""Section 4.2.2, Figures 20 and 21: the effect of the discount γ_w of W on exploration in `toy`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from wanderlust import Run, Settings, make_world
from wanderlust.experiments.report.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.report.style import Style, sequential_styles
from wanderlust.experiments.statistics import standard_error_of_difference
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import Claim, check_claim, check_reason, similar
from wanderlust_paper.figures.maps import CountMap, count_map, maps_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_table
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPLORERS = ("vv-ucb", "vv-count")
GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
LARGEST = GAMMAS[-1]
REFERENCE = "ucb1"
"""What vv with γ_w = 0 should be similar to. It uses κ of the text, as vv does, not κ of the released code."""
_PLACE = "4.2.2"

Groups = Mapping[Label, SeedGroup]


def check_claims(groups: Groups) -> list[Claim]:
    """Check every claim for which there are runs; labels are (explorer, γ_w, κ if it is not the default)."""
    checks = (_zero_is_ucb1, _larger_is_better, _far_states, _both_are_similar, _larger_kappa)
    return [claim for check in checks for claim in check(groups)]


def _by_gamma(groups: Groups, explorer: str) -> list[SeedGroup]:
    """Return the groups of all γ_w, in increasing order; none if one is missing."""
    labels = [(explorer, f"{gamma:g}", "") for gamma in GAMMAS]
    return [groups[label] for label in labels] if set(labels) <= set(groups) else []


def _evenness(group: SeedGroup) -> float:
    return float(np.mean(group.evenness))


def _zero_is_ucb1(groups: Groups) -> list[Claim]:
    """Check that vv with γ_w = 0 is similar to UCB1, by the means of discovery and success over the whole run."""
    claims = []
    reference = groups.get((REFERENCE, "–", ""))
    for explorer in EXPLORERS:
        group = groups.get((explorer, "0", ""))
        if not (reference and group):
            continue
        vv, ucb1 = group.mean_curve(), reference.mean_curve()
        seeds = len(group.curves), len(reference.curves)
        z = [
            abs(a.mean - b.mean) / max(standard_error_of_difference(a, b, seeds), 1e-9)
            for a, b in zip(group.mean_percents(), reference.mean_percents(), strict=True)
        ]
        claims.append(
            check_claim(
                _PLACE,
                f"with γ_w = 0, {explorer} behaves very similarly to UCB1",
                f"means over the run: discovery {vv[0]:.1f} %, success {vv[1]:.1f} %; "
                f"UCB1: {ucb1[0]:.1f} %, {ucb1[1]:.1f} %; differences of {z[0]:.1f} and {z[1]:.1f} standard errors",
                tolerance="at most 1.96 standard errors; at most 2.58",
                holds=max(z) <= 1.96,
                partly=max(z) <= 2.58,
            )
        )
    return claims


def _larger_is_better(groups: Groups) -> list[Claim]:
    """Check that a larger γ_w is better, by the rank correlation of γ_w with success and evenness."""
    from scipy.stats import spearmanr

    claims = []
    for explorer in EXPLORERS:
        by_gamma = _by_gamma(groups, explorer)
        if not by_gamma:
            continue
        measures = {
            "the higher γ_w, the faster the reward is discovered: success over the whole run": [
                float(group.mean_curve()[1]) for group in by_gamma
            ],
            "the higher γ_w, the more uniform the counts: their entropy": list(map(_evenness, by_gamma)),
        }
        for claim, values in measures.items():
            rank = float(spearmanr(GAMMAS, values).statistic)
            claims.append(
                check_claim(
                    _PLACE,
                    f"{explorer}: {claim}",
                    f"rank correlation {rank:.2f}; {values[0]:.1f} % with γ_w = 0, {values[-2]:.1f} % with 0.99, "
                    f"{values[-1]:.1f} % with 0.99999",
                    tolerance="correlation ≥ 0.9, and the largest γ_w within 5 points of the best; correlation ≥ "
                    "0.9 up to γ_w = 0.99",
                    holds=rank >= 0.9 and values[-1] >= max(values) - 5.0,
                    partly=float(spearmanr(GAMMAS[:-1], values[:-1]).statistic) >= 0.9,
                )
            )
    return claims


def _far_states(groups: Groups) -> list[Claim]:
    """Check that with a small γ_w states far from the start are rarely discovered."""
    parts, low = [], []
    for explorer in EXPLORERS:
        small, large = (groups.get((explorer, f"{gamma:g}", "")) for gamma in (0.0, 0.99))
        if not (small and large):
            return []
        found = [float(np.mean([value >= 100.0 - 1e-9 for value in group.discovery])) for group in (small, large)]
        parts.append(f"{explorer} {100 * found[0]:.0f} % of the seeds, {100 * found[1]:.0f} % with γ_w = 0.99")
        low.append(found[0])
    return [
        check_claim(
            _PLACE,
            "with a small γ_w the agent rarely discovers the states far from the start",
            f"all states are discovered with γ_w = 0 by {'; '.join(parts)}",
            tolerance="by at most a quarter of the seeds; by at most half",
            holds=max(low) <= 0.25,
            partly=max(low) <= 0.5,
        )
    ]


def _both_are_similar(groups: Groups) -> list[Claim]:
    """Check that both W-functions give similar counts."""
    both = [_by_gamma(groups, explorer) for explorer in EXPLORERS]
    if not all(both):
        return []
    differences = [_evenness(a) - _evenness(b) for a, b in zip(*both, strict=True)]
    worst = int(np.argmax(np.abs(differences)))
    return [
        similar(
            _PLACE,
            "the counts of W as a UCB are very similar to those of W as a count, for every γ_w",
            differences,
            f"largest difference of the evenness: {differences[worst]:+.1f} points, at γ_w = {GAMMAS[worst]:g}; "
            f"{max(map(abs, differences[:-1])):.1f} points at most up to γ_w = 0.99",
        )
    ]


def _larger_kappa(groups: Groups) -> list[Claim]:
    """Show why vv-ucb is not uniform with γ_w = 0.99999: a larger κ makes it so."""
    default = groups.get(("vv-ucb", f"{LARGEST:g}", ""))
    larger = {label[2]: group for label, group in groups.items() if label[0] == "vv-ucb" and label[2]}
    best = groups.get(("vv-ucb", "0.99", ""))
    if not (default and larger and best):
        return []
    text = ", ".join(f"{_evenness(group):.1f} % with κ = {kappa}" for kappa, group in larger.items())
    lowest = min(map(_evenness, larger.values()))
    return [
        check_reason(
            _PLACE,
            "vv-ucb with γ_w = 0.99999 is not uniform because the differences of W between actions, times κ(1 − "
            "γ_w), are smaller than those of Q: the agent follows Q to the cell before the treasure",
            f"evenness of vv-ucb: {_evenness(default):.1f} % with the default κ = 100, {text}; {_evenness(best):.1f} "
            "% with γ_w = 0.99 and κ = 100",
            tolerance="a larger κ makes the counts uniform: within 5 points of γ_w = 0.99; within 10",
            holds=lowest >= _evenness(best) - 5.0,
            partly=lowest >= _evenness(best) - 10.0,
        )
    ]


WORLDS = ("toy",)
FIGURE_21_GAMMAS = (0.0, 0.3, 0.7, 0.9, 0.99999)
SEEDS, REFERENCE_SEEDS = 20, 100
KAPPA_FACTORS = (10, 100)
"""Factors of κ with which vv-ucb is run again at the largest γ_w, to test why it is not uniform there."""


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x γ_w x seed, UCB1 for comparison, and vv-ucb with the largest γ_w and larger κ."""
    reference = [
        Run(world=world, explorer=REFERENCE, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for seed in selection.select_seeds(REFERENCE_SEEDS, 5)
        if selection.explorers is None
    ]
    kappa = make_world("toy").r_max / (1.0 - Settings.discount)
    larger_kappa = [
        Run(
            world=world,
            explorer="vv-ucb",
            preset=selection.preset,
            seed=seed,
            explorer_options={"kappa": factor * kappa},
            settings={"gamma_w": LARGEST},
        )
        for world in selection.select_worlds(WORLDS)
        for factor in KAPPA_FACTORS
        for seed in selection.select_seeds(SEEDS, 5)
        if "vv-ucb" in selection.select_explorers(EXPLORERS)
    ]
    return (
        reference
        + larger_kappa
        + [
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
    )


def _label(gamma: str) -> str:
    return f"$\\gamma_w$ = {gamma}"


def _group(run: Run) -> Label:
    kappa = run.explorer_options.get("kappa")
    gamma = f"{run.settings['gamma_w']:g}" if "gamma_w" in run.settings else "–"
    return (run.explorer, gamma, "" if kappa is None else f"{kappa:g}")


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the table, the learning curves, and maps of the final visit counts of the first seed."""
    groups = {_group(run): SeedGroup() for run in requested}
    maps: dict[str, dict[float, CountMap]] = {}
    for run, result, _ in stored:
        groups[_group(run)].add(result)
        gamma = run.settings.get("gamma_w")
        if gamma in FIGURE_21_GAMMAS and not run.explorer_options:
            explorer_maps = maps.setdefault(run.explorer, {})
            if gamma not in explorer_maps:
                explorer_maps[gamma] = count_map(run, result, _label(f"{gamma:g}"))
    table = group_table("The discount of W in the toy gridworld", ("explorer", "γ_w", "κ"), groups, note)
    figures: dict[str, Callable[[], Figure]] = {}
    stored_groups = {label: group for label, group in groups.items() if group.curves}
    if any(label[0] in EXPLORERS for label in stored_groups):
        figures["curves"] = functools.partial(_draw_curves, stored_groups, note)
    if maps:
        rows = {explorer: list(explorer_maps.values()) for explorer, explorer_maps in maps.items()}
        title = "Final visit counts in the toy gridworld for different discounts of W"
        figures["maps"] = functools.partial(maps_figure, title, rows, note=note)
    return table._replace(figures=figures, claims=check_claims(stored_groups))


def _draw_curves(groups: Mapping[Label, SeedGroup], note: str) -> Figure:
    """Draw the learning curves: γ_w on a sequential palette, and UCB1 as a reference."""
    labels = [_label(f"{gamma:g}") for gamma in GAMMAS]
    styles = {**sequential_styles(labels), "UCB1": Style("#000000", "", "--")}
    columns: dict[str, dict[str, Curves]] = {}
    reference = groups.get((REFERENCE, "–", ""))
    for (explorer, gamma, kappa), group in groups.items():
        if explorer in EXPLORERS and not kappa:
            column = columns.setdefault(explorer, {"UCB1": mean_curves(reference.curves)} if reference else {})
            column[_label(gamma)] = mean_curves(group.curves)
    return curves_figure("The discount of W in the toy gridworld", columns, styles, note=note)


STUDY = Study(
    id="gamma-w",
    reference="Section 4.2.2, Figures 20, 21",
    description="the effect of the discount γ_w of W on exploration in `toy`",
    runs=runs,
    report=report,
    quick_changes="5 seeds instead of 20",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
