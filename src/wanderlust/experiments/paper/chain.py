"""Section 4.2.4, Figures 23, 25 and 26: sample complexity and value error in the infinite-horizon stochastic chain."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.experiments.paper.registry import Study, StudySelection
from wanderlust.experiments.reports.claims import Claim, check_claim
from wanderlust.experiments.reports.complexity import build_complexity, complexity_report
from wanderlust.experiments.reports.figures.chain import CountsOverTime, ErrorsOverTime, counts_figure, msve_figure
from wanderlust.experiments.reports.figures.scaling import SampleComplexity, epsilon_figure, scaling_figure
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.value_measures import THRESHOLDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("chain",)
EXPLORERS = ("vv-ucb", "vv-count", "thompson", "ucb1", "bonus", "epsilon-greedy")
"""Bootstrapped explorers choose a Q-table per episode; the chain has a single infinite episode."""
VV_EXPLORERS = ("vv-ucb", "vv-count")
LENGTHS = range(5, 60, 2)
QUICK_LENGTHS = (5, 11, 17, 27)
EPSILONS = (1e-5, 1e-11, 1e-22)
FIGURE_26_LENGTHS = (27, 55)
FIGURE_23_LENGTH = 27
STEP_LIMIT = 200_000
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


class ChainResults:
    """The results of all runs, arranged for tables and figures."""

    def __init__(self, requested: list[Run]) -> None:
        self.lengths = sorted({run.world_options["length"] for run in requested})
        self.explorers = list(dict.fromkeys(run.explorer for run in requested))
        self.bad_steps: dict[tuple[str, int, int], NDArray[Any]] = {}
        """(explorer, length, seed) -> [ε]."""
        self.ends_good: dict[tuple[str, int, int], NDArray[Any]] = {}
        self.errors: dict[tuple[str, int], list[NDArray[Any]]] = {}
        self.moments: dict[tuple[str, int], NDArray[Any]] = {}
        self.counts: dict[str, CountsOverTime] = {}
        self.goal_steps: dict[tuple[str, int], list[int]] = {}
        """(explorer, length) -> the step of the first visit of the last state; -1 for never."""
        self.goal_shares: dict[tuple[str, int], list[float]] = {}
        """(explorer, length) -> the share of the steps after that in the last three states."""

    def add(self, stored: StoredRun) -> None:
        """Add the result of a run."""
        run, result = stored.run, stored.result
        length = run.world_options["length"]
        key, run_key = (run.explorer, length), (run.explorer, length, run.seed)
        self.bad_steps[run_key], self.ends_good[run_key] = result.bad_steps, result.ends_good
        self.errors.setdefault(key, []).append(result.value_errors)
        self.moments[key] = result.moments
        self.goal_steps.setdefault(key, []).append(int(result.first_visit[-1]))
        if length == FIGURE_23_LENGTH and run.explorer not in self.counts:
            self.counts[run.explorer] = CountsOverTime(result.moments, result.visits_by_moment)
        if result.first_visit[-1] >= 0:
            after = result.visits_by_moment[-1] - _counts_until(result, int(result.first_visit[-1]))
            self.goal_shares.setdefault(key, []).append(float(after[-3:].sum() / max(after.sum(), 1)))

    def complexity_by_length(self, epsilon: float) -> dict[str, SampleComplexity]:
        """Return explorer -> the sample complexity of every length and seed (Figure 25)."""
        at = _index(epsilon)
        steps_by_explorer: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
        for (explorer, length, seed), steps in self.bad_steps.items():
            learnt = bool(self.ends_good[explorer, length, seed][at])
            by_length = steps_by_explorer.setdefault(explorer, {})
            by_length.setdefault(length, {})[seed] = (max(float(steps[at]), 1.0), learnt)
        return {name: build_complexity(steps_by_explorer[name]) for name in self.explorers if name in steps_by_explorer}

    def complexity_by_epsilon(self, length: int) -> dict[str, SampleComplexity]:
        """Return explorer -> the sample complexity of every ε and seed (Figure 26)."""
        complexities = {}
        for explorer in self.explorers:
            keys = [key for key in self.bad_steps if key[:2] == (explorer, length)]
            if keys:
                steps = np.stack([np.maximum(self.bad_steps[key], 1).astype(float) for key in keys], axis=1)
                learnt = np.stack([self.ends_good[key] for key in keys], axis=1)
                complexities[explorer] = SampleComplexity(THRESHOLDS, steps, learnt)
        return complexities

    def errors_over_time(self, length: int) -> dict[str, ErrorsOverTime]:
        """Return explorer -> the value errors of every seed (Figure 26)."""
        return {
            explorer: ErrorsOverTime(self.moments[explorer, length], np.stack(self.errors[explorer, length]))
            for explorer in self.explorers
            if (explorer, length) in self.errors
        }


def _index(epsilon: float) -> int:
    return int(np.abs(np.log10(THRESHOLDS[1:]) - np.log10(epsilon)).argmin()) + 1


def _counts_until(result: Result, step: int) -> NDArray[Any]:
    """Return the visit counts at the last moment before a step."""
    moments, counts = result.moments, result.visits_by_moment
    at = int(np.searchsorted(moments, step, side="right")) - 1
    return np.asarray(counts[at] if at >= 0 else np.zeros_like(counts[0]))


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
            y_name="sample complexity (steps)",
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
            y_name="sample complexity (steps)",
            limit=STEP_LIMIT,
            note=note,
        )
        figures["value-error"] = functools.partial(msve_figure, "Mean squared value error", errors, note=note)
    return table._replace(figures=figures, claims=check_claims(chains, panels))


def check_claims(chains: ChainResults, panels: Mapping[str, Mapping[str, SampleComplexity]]) -> list[Claim]:
    """Check the statements of Section 4.2.4."""
    return [*_exponents(panels), *_sensitivity(chains), *_errors(chains), *_ucb1(chains)]


def _exponents(panels: Mapping[str, Mapping[str, SampleComplexity]]) -> list[Claim]:
    claims = []
    for explorer in VV_EXPLORERS:
        fits = [by_explorer[explorer].fit() for by_explorer in panels.values() if explorer in by_explorer]
        exponents = [fit.exponent.estimate for fit in fits if fit is not None]
        if len(exponents) == len(EPSILONS):
            claims.append(
                check_claim(
                    "4.2.4",
                    f"{explorer}: the sample complexity grows like N^2.5",
                    f"exponents {', '.join(f'{each:.2f}' for each in exponents)} for ε = "
                    f"{', '.join(f'{each:g}' for each in EPSILONS)}",
                    holds=all(2.2 <= each <= 2.8 for each in exponents),
                    partly=all(each <= 3.0 for each in exponents),
                )
            )
    return claims


def _sensitivity(chains: ChainResults) -> list[Claim]:
    """Check how much the sample complexity grows when ε becomes smaller."""
    large, small = _index(EPSILONS[0]), 0
    growth: dict[str, float] = {}
    for explorer in chains.explorers:
        keys = [key for key in chains.bad_steps if key[0] == explorer and key[1] in FIGURE_26_LENGTHS]
        if keys:
            before, after = (np.mean([chains.bad_steps[key][at] for key in keys]) for at in (large, small))
            growth[explorer] = float(after / max(before, 1.0))
    if any(explorer not in growth for explorer in VV_EXPLORERS):
        return []
    worst = max(growth[explorer] for explorer in VV_EXPLORERS)
    ratios = ", ".join(f"{explorer} {each:.2f}" for explorer, each in growth.items())
    return [
        check_claim(
            "4.2.4",
            "the sample complexity of vv is almost independent of ε",
            f"ratio of the mean steps with ε = 0 to those with ε = 1e-5, N = 27 and 55: {ratios}",
            holds=worst <= 2.0,
            partly=worst <= 4.0,
        )
    ]


def _errors(chains: ChainResults) -> list[Claim]:
    """Check that only vv learns the values of all states."""
    final: dict[str, float] = {}
    for explorer in chains.explorers:
        last = [errors[-1] for length in FIGURE_26_LENGTHS for errors in chains.errors.get((explorer, length), [])]
        if last:
            final[explorer] = float(np.mean(last))
    if any(explorer not in final for explorer in VV_EXPLORERS) or len(final) <= len(VV_EXPLORERS):
        return []
    vv = max(final[name] for name in VV_EXPLORERS)
    others = min(each for name, each in final.items() if name not in VV_EXPLORERS)
    means = ", ".join(f"{explorer} {each:.3g}" for explorer, each in final.items())
    return [
        check_claim(
            "4.2.4",
            "only vv ends with a mean squared value error close to zero",
            f"mean at the end, N = 27 and 55: {means}",
            holds=vv < 1e-3 and others > 100 * max(vv, 1e-3),
            partly=vv < others,
        )
    ]


def _ucb1(chains: ChainResults) -> list[Claim]:
    steps = [step for step in chains.goal_steps.get(("ucb1", FIGURE_23_LENGTH), []) if step >= 0]
    if not steps:
        return []
    median = float(np.median(steps))
    ucb1 = 100.0 * float(np.mean(chains.goal_shares["ucb1", FIGURE_23_LENGTH]))
    vv = [100.0 * float(np.mean(chains.goal_shares[name, FIGURE_23_LENGTH])) for name in VV_EXPLORERS]
    return [
        check_claim(
            "4.2.4",
            "UCB1 finds the reward around step 1,000 (N = 27)",
            f"median step {median:,.0f}, from {min(steps):,} to {max(steps):,}",
            holds=500 <= median <= 2000,
            partly=250 <= median <= 4000,
        ),
        check_claim(
            "4.2.4",
            "after that UCB1 acts greedily, while vv continues to explore",
            f"share of the steps after the discovery in the last three states: UCB1 {ucb1:.1f} %, "
            f"{', '.join(f'{name} {each:.1f} %' for name, each in zip(VV_EXPLORERS, vv, strict=True))}",
            holds=ucb1 > 95.0 and ucb1 > max(vv),
            partly=ucb1 > 80.0,
        ),
    ]


STUDY = Study(
    id="chain",
    reference="Section 4.2.4, Figures 23, 25, 26",
    description="infinite-horizon stochastic chain without memory: sample complexity, value error, visits; 28 lengths",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 50; lengths 5, 11, 17, 27 instead of 5, 7, …, 59",
)
