"""Section 4.2.2, Figures 20 and 21: the effect of the discount γ_w of W on exploration in `toy`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from wanderlust.agents.settings import Settings
from wanderlust.experiments.report.curves import Curves, curves_figure, mean_curves
from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.style import Style, sequential_styles
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds import make_world
from wanderlust_paper.claims.gamma_w_claims import EXPLORERS, GAMMAS, LARGEST, REFERENCE, check_claims
from wanderlust_paper.figures.maps import CountMap, maps_figure
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_table
from wanderlust_paper.studies.count_maps import count_map
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
