"""Section 4.2.4, Figures 23, 25 and 26: sample complexity and value error in the infinite-horizon stochastic chain."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from wanderlust import Run
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.figures.chain_figures import counts_figure, msve_figure
from wanderlust_paper.figures.scaling import complexity_report, epsilon_figure, scaling_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.studies.chain_claims import check_claims
from wanderlust_paper.studies.chain_results import (
    EPSILONS,
    FIGURE_23_LENGTH,
    FIGURE_26_LENGTHS,
    STEP_LIMIT,
    ChainResults,
    summarise,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("chain",)
EXPLORERS = ("vv-ucb", "vv-count", "thompson", "ucb1", "bonus", "epsilon-greedy")
"""Bootstrapped explorers choose a Q-table per episode; the chain has a single infinite episode."""
LENGTHS = range(5, 60, 2)
QUICK_LENGTHS = (5, 11, 17, 27)
SEEDS = 50

_EVALUATE_EVERY = 1000


def runs(selection: StudySelection) -> list[Run]:
    """Return length x explorer x seed; V^π of the greedy policy is computed after every step."""
    return [
        Run(
            world=world,
            world_options={"length": length},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"evaluate_every": _EVALUATE_EVERY},
            measure="values",
        )
        for world in selection.select_worlds(WORLDS)
        for length in (QUICK_LENGTHS if selection.quick else LENGTHS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the sample complexities with their fitted exponents, and the figures."""
    chains = ChainResults(requested)
    for each in stored:
        chains.add(each)
    panels = {f"ε = {epsilon:g}": chains.complexity_by_length(epsilon) for epsilon in EPSILONS}
    table = complexity_report("Sample complexity of the chain", panels, size="length N", limit=STEP_LIMIT, note=note)
    lengths = [length for length in FIGURE_26_LENGTHS if length in chains.lengths]
    by_length = {f"N = {length}": chains.complexity_by_epsilon(length) for length in lengths}
    errors = {f"N = {length}": chains.errors_over_time(length) for length in lengths}
    figures: dict[str, Callable[[], Figure]] = {}
    if chains.bad_steps:
        figures["sample-complexity"] = functools.partial(
            scaling_figure,
            "Sample complexity of the chain",
            panels,
            x_name="length N",
            y_name="sample complexity, all seeds (steps)",
            limit=STEP_LIMIT,
            note=note,
        )
    if chains.counts:
        title = f"Visit counts of the chain with {FIGURE_23_LENGTH} states over time"
        figures["counts"] = functools.partial(counts_figure, title, chains.counts, note=note)
    if any(by_length.values()):
        figures["accuracy"] = functools.partial(
            epsilon_figure,
            "Sample complexity against ε",
            by_length,
            y_name="sample complexity, all seeds (steps)",
            limit=STEP_LIMIT,
            note=note,
        )
        figures["value-error"] = functools.partial(msve_figure, "Mean squared value error", errors, note=note)
    return table._replace(figures=figures, claims=check_claims(chains, panels))


STUDY = Study(
    id="chain",
    reference="Section 4.2.4, Figures 23, 25, 26",
    description="infinite-horizon stochastic chain without memory: sample complexity, value error, visits; 28 lengths",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 50; lengths 5, 11, 17, 27 instead of 5, 7, …, 59",
    summarise=summarise,
)
