"""Section 4.2.2, Figures 20 and 21: the effect of the discount γ_w of W on exploration in `toy`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from wanderlust import Run, Settings, make_world
from wanderlust.experiments.report.curves import Curves, curves_figure
from wanderlust.experiments.report.style import Style, sequential_styles
from wanderlust.experiments.statistics import standard_error_of_difference
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import REASON, Check, Claim, Groups, check_all, check_claim, similar
from wanderlust_paper.figures.maps import CountMap, count_map, maps_figure
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, group_curves, group_runs, group_table
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("toy",)
EXPLORERS = VV_EXPLORERS
GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
FIGURE_21_GAMMAS = (0.0, 0.3, 0.7, 0.9, 0.99999)
LARGEST = GAMMAS[-1]
SEEDS, REFERENCE_SEEDS = 20, 100
KAPPA_FACTORS = (10, 100)
"""Factors of κ with which vv-ucb is run again at the largest γ_w, to test why it is not uniform there."""
REFERENCE = "ucb1"
"""What vv with γ_w = 0 should be similar to. It uses κ of the text, as vv does, not κ of the released code."""
_REFERENCE_LABEL = (REFERENCE, "–", "")
_NAMES = ("explorer", "γ_w", "κ")
_TITLE = "The discount of W in the toy gridworld"
_PLACE = "4.2.2"


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x γ_w x seed, UCB1 for comparison, and vv-ucb with the largest γ_w and larger κ."""
    (world,) = selection.select_worlds(WORLDS)
    explorers, seeds = selection.select_explorers(EXPLORERS), selection.select_seeds(SEEDS, 5)
    kappa = make_world(world).r_max / (1.0 - Settings.discount)
    vv = functools.partial(Run, world=world, preset=selection.preset)
    return [
        *(
            Run(world=world, explorer=REFERENCE, seed=seed)
            for seed in selection.select_seeds(REFERENCE_SEEDS, 5)
            if selection.explorers is None
        ),
        *(
            vv(explorer="vv-ucb", seed=seed, explorer_options={"kappa": factor * kappa}, settings={"gamma_w": LARGEST})
            for factor in KAPPA_FACTORS
            for seed in seeds
            if "vv-ucb" in explorers
        ),
        *(
            vv(explorer=explorer, seed=seed, settings={"gamma_w": gamma})
            for explorer in explorers
            for gamma in GAMMAS
            for seed in seeds
        ),
    ]


def _label(run: Run) -> Label:
    """Return the explorer, γ_w, and κ if it is not the default."""
    kappa = run.explorer_options.get("kappa")
    gamma = f"{run.settings['gamma_w']:g}" if "gamma_w" in run.settings else "–"
    return (run.explorer, gamma, "" if kappa is None else f"{kappa:g}")


def _evenness(group: Group) -> float:
    return float(group.column("evenness").mean())


def _zero_is_ucb1(explorer: str, groups: Groups) -> Iterator[Claim]:
    """Check that vv with γ_w = 0 is similar to UCB1, by the means of discovery and success over the whole run."""
    vv, ucb1 = groups[explorer, "0", ""], groups[_REFERENCE_LABEL]
    pairs = [(vv.percent(name), ucb1.percent(name)) for name in ("mean_discovery", "mean_success")]
    (discovery, discovery_ucb1), (success, success_ucb1) = pairs
    z = [
        abs(a.mean - b.mean) / max(standard_error_of_difference(a, b, (len(vv), len(ucb1))), 1e-9) for a, b in pairs
    ]
    yield check_claim(
        _PLACE,
        f"with γ_w = 0, {explorer} behaves very similarly to UCB1",
        f"means over the run: discovery {discovery.mean:.1f} %, success {success.mean:.1f} %; "
        f"UCB1: {discovery_ucb1.mean:.1f} %, {success_ucb1.mean:.1f} %; "
        f"differences of {z[0]:.1f} and {z[1]:.1f} standard errors",
        tolerance="at most 1.96 standard errors; at most 2.58",
        holds=max(z) <= 1.96,
        partly=max(z) <= 2.58,
    )


def _larger_is_better(explorer: str, groups: Groups) -> Iterator[Claim]:
    """Check that a larger γ_w is better, by the rank correlation of γ_w with success and evenness."""
    from scipy.stats import spearmanr

    by_gamma = [groups[explorer, f"{gamma:g}", ""] for gamma in GAMMAS]
    for claim, column in (
        ("the higher γ_w, the faster the reward is discovered: success over the whole run", "mean_success"),
        ("the higher γ_w, the more uniform the counts: their entropy", "evenness"),
    ):
        values = [float(group.column(column).mean()) for group in by_gamma]
        rank = float(spearmanr(GAMMAS, values).statistic)
        yield check_claim(
            _PLACE,
            f"{explorer}: {claim}",
            f"rank correlation {rank:.2f}; {values[0]:.1f} % with γ_w = 0, {values[-2]:.1f} % with 0.99, "
            f"{values[-1]:.1f} % with 0.99999",
            tolerance="correlation ≥ 0.9, and the largest γ_w within 5 points of the best; correlation ≥ "
            "0.9 up to γ_w = 0.99",
            holds=rank >= 0.9 and values[-1] >= max(values) - 5.0,
            partly=float(spearmanr(GAMMAS[:-1], values[:-1]).statistic) >= 0.9,
        )


def _far_states(groups: Groups) -> Iterator[Claim]:
    """Check that with a small γ_w states far from the start are rarely discovered."""
    parts, low = [], []
    for explorer in EXPLORERS:
        found = [
            float((groups[explorer, gamma, ""].column("discovery") >= 100.0 - 1e-9).mean()) for gamma in ("0", "0.99")
        ]
        parts.append(f"{explorer} {100 * found[0]:.0f} % of the seeds, {100 * found[1]:.0f} % with γ_w = 0.99")
        low.append(found[0])
    yield check_claim(
        _PLACE,
        "with a small γ_w the agent rarely discovers the states far from the start",
        f"all states are discovered with γ_w = 0 by {'; '.join(parts)}",
        tolerance="by at most a quarter of the seeds; by at most half",
        holds=max(low) <= 0.25,
        partly=max(low) <= 0.5,
    )


def _both_are_similar(groups: Groups) -> Iterator[Claim]:
    """Check that both W-functions give similar counts."""
    ucb, count = ([_evenness(groups[explorer, f"{gamma:g}", ""]) for gamma in GAMMAS] for explorer in EXPLORERS)
    differences = [a - b for a, b in zip(ucb, count, strict=True)]
    worst = int(np.argmax(np.abs(differences)))
    yield similar(
        _PLACE,
        "the counts of W as a UCB are very similar to those of W as a count, for every γ_w",
        differences,
        f"largest difference of the evenness: {differences[worst]:+.1f} points, at γ_w = {GAMMAS[worst]:g}; "
        f"{max(map(abs, differences[:-1])):.1f} points at most up to γ_w = 0.99",
    )


def _larger_kappa(groups: Groups) -> Iterator[Claim]:
    """Show why vv-ucb is not uniform with γ_w = 0.99999: a larger κ makes it so."""
    default, best = (_evenness(groups["vv-ucb", f"{gamma:g}", ""]) for gamma in (LARGEST, 0.99))
    larger = {kappa: _evenness(group) for (name, _, kappa), group in groups.items() if name == "vv-ucb" and kappa}
    if larger:
        text = ", ".join(f"{evenness:.1f} % with κ = {kappa}" for kappa, evenness in larger.items())
        yield check_claim(
            _PLACE,
            "vv-ucb with γ_w = 0.99999 is not uniform because the differences of W between actions, times κ(1 − "
            "γ_w), are smaller than those of Q: the agent follows Q to the cell before the treasure",
            f"evenness of vv-ucb: {default:.1f} % with the default κ = 100, {text}; {best:.1f} % with γ_w = 0.99 and "
            "κ = 100",
            tolerance="a larger κ makes the counts uniform: within 5 points of γ_w = 0.99; within 10",
            holds=min(larger.values()) >= best - 5.0,
            partly=min(larger.values()) >= best - 10.0,
            kind=REASON,
        )


CHECKS: tuple[Check, ...] = (
    *(functools.partial(_zero_is_ucb1, explorer) for explorer in EXPLORERS),
    *(functools.partial(_larger_is_better, explorer) for explorer in EXPLORERS),
    _far_states,
    _both_are_similar,
    _larger_kappa,
)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the table, the learning curves, and maps of the final visit counts of the first seed."""
    stored = list(stored)
    groups = group_runs(_NAMES, _label, requested, stored)
    table = group_table(_TITLE, _NAMES, dict.fromkeys(map(_label, requested)), groups, note)
    maps: dict[str, dict[float, CountMap]] = {}
    for run, result, _ in stored:
        gamma = run.settings.get("gamma_w")
        if gamma in FIGURE_21_GAMMAS and not run.explorer_options:
            maps.setdefault(run.explorer, {}).setdefault(gamma, count_map(run, result, _line(f"{gamma:g}")))
    figures: dict[str, Callable[[], Figure]] = {}
    if any(label[0] in EXPLORERS for label in groups):
        figures["curves"] = functools.partial(_draw_curves, groups, note)
    if maps:
        rows = {explorer: list(explorer_maps.values()) for explorer, explorer_maps in maps.items()}
        title = "Final visit counts in the toy gridworld for different discounts of W"
        figures["maps"] = functools.partial(maps_figure, title, rows, note=note)
    return table._replace(figures=figures, claims=check_all(CHECKS, groups))


def _line(gamma: str) -> str:
    return f"$\\gamma_w$ = {gamma}"


def _draw_curves(groups: Groups, note: str) -> Figure:
    """Draw the learning curves: γ_w on a sequential palette, and UCB1 as a reference."""
    styles = sequential_styles([_line(f"{gamma:g}") for gamma in GAMMAS]) | {"UCB1": Style("#000000", "", "--")}
    reference = {"UCB1": group_curves(groups[_REFERENCE_LABEL])} if _REFERENCE_LABEL in groups else {}
    columns: dict[str, dict[str, Curves]] = {}
    for (explorer, gamma, kappa), group in groups.items():
        if explorer in EXPLORERS and not kappa:
            columns.setdefault(explorer, dict(reference))[_line(gamma)] = group_curves(group)
    return curves_figure(_TITLE, columns, styles, note=note)


STUDY = Study(
    id="gamma-w",
    reference="Section 4.2.2, Figures 20, 21",
    description="the effect of the discount γ_w of W on exploration in `toy`",
    runs=runs,
    report=report,
    quick_changes="5 seeds instead of 20",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
