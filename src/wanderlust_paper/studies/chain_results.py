"""The results of the chain (Section 4.2.4), arranged for the tables, figures and claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run
from wanderlust.experiments.report.curves import thinned
from wanderlust.experiments.result import Result, evenness
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.world_run import THRESHOLDS
from wanderlust_paper.figures.chain_figures import CountsOverTime, ErrorsOverTime
from wanderlust_paper.figures.scaling import SampleComplexity, build_complexity
from wanderlust_paper.summary_file import reduced

EPSILONS = (1e-5, 1e-11, 1e-22)
FIGURE_26_LENGTHS = (27, 55)
FIGURE_23_LENGTH = 27
STEP_LIMIT = 200_000
KEPT_MOMENTS = 60
"""The moments of a run that figures and claims use: enough for both, and few in the summary of the runs."""


class Exploration(NamedTuple):
    """How one run explored the chain."""

    found: float
    """The step of the first visit of the last state; infinite for never."""
    evenness: float
    """The entropy of the visits until then, or until the end, in percent of the maximum."""
    goal_share: float
    """The share of the steps after that in the last three states; NaN if it was never found."""
    start_share: float
    """The share of all steps in the first three states."""


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
        self.exploration: dict[str, list[Exploration]] = {}
        """Explorer -> the exploration of each seed in the chain of Figure 23."""

    def add(self, stored: StoredRun) -> None:
        """Add the result of a run."""
        run, result = stored.run, stored.result
        length = run.world_options["length"]
        key, run_key = (run.explorer, length), (run.explorer, length, run.seed)
        self.bad_steps[run_key], self.ends_good[run_key] = result.bad_steps, result.ends_good
        if length in FIGURE_26_LENGTHS:
            kept = thinned(len(result.moments), KEPT_MOMENTS)
            self.errors.setdefault(key, []).append(result.value_errors[kept])
            self.moments[key] = result.moments[kept]
        if length == FIGURE_23_LENGTH:
            if run.explorer not in self.counts:
                self.counts[run.explorer] = CountsOverTime(result.moments, result.visits_by_moment)
            self.exploration.setdefault(run.explorer, []).append(exploration(result))

    def complexity_by_length(self, epsilon: float) -> dict[str, SampleComplexity]:
        """Return explorer -> the sample complexity of every length and seed (Figure 25)."""
        at = epsilon_index(epsilon)
        steps_by_explorer: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
        for (explorer, length, seed), steps in self.bad_steps.items():
            learnt = bool(self.ends_good[explorer, length, seed][at])
            by_length = steps_by_explorer.setdefault(explorer, {})
            by_length.setdefault(length, {})[seed] = (max(float(steps[at]), 1.0), learnt)
        return {
            name: build_complexity(steps_by_explorer[name], every_seed=True)
            for name in self.explorers
            if name in steps_by_explorer
        }

    def complexity_by_epsilon(self, length: int) -> dict[str, SampleComplexity]:
        """Return explorer -> the sample complexity of every ε and seed (Figure 26)."""
        complexities = {}
        for explorer in self.explorers:
            keys = [key for key in self.bad_steps if key[:2] == (explorer, length)]
            if keys:
                steps = np.stack([np.maximum(self.bad_steps[key], 1).astype(float) for key in keys], axis=1)
                learnt = np.stack([self.ends_good[key] for key in keys], axis=1)
                complexities[explorer] = SampleComplexity(THRESHOLDS, steps, learnt, every_seed=True)
        return complexities

    def errors_over_time(self, length: int) -> dict[str, ErrorsOverTime]:
        """Return explorer -> the value errors of every seed (Figure 26)."""
        return {
            explorer: ErrorsOverTime(self.moments[explorer, length], np.stack(self.errors[explorer, length]))
            for explorer in self.explorers
            if (explorer, length) in self.errors
        }

    def mean_bad_steps(self, explorer: str, epsilon: float, lengths: Sequence[int]) -> float:
        """Return the mean sample complexity over all seeds of some lengths; NaN without runs."""
        at = epsilon_index(epsilon)
        steps = [bad[at] for key, bad in self.bad_steps.items() if key[0] == explorer and key[1] in lengths]
        return float(np.mean(steps)) if steps else math.nan

    def epsilon_optimal(self, explorer: str, epsilon: float) -> tuple[int, int]:
        """Return the number of runs of all lengths that ended with an ε-optimal policy, and the number of runs."""
        at = epsilon_index(epsilon)
        ends = [bool(good[at]) for key, good in self.ends_good.items() if key[0] == explorer]
        return sum(ends), len(ends)


def epsilon_index(epsilon: float) -> int:
    """Return the index of a threshold."""
    return int(np.abs(np.log10(THRESHOLDS[1:]) - np.log10(epsilon)).argmin()) + 1 if epsilon > 0 else 0


def exploration(result: Result) -> Exploration:
    """Return how a run explored: until it found the last state, and from then on."""
    found = int(result.first_visit[-1])
    kept = thinned(len(result.moments), KEPT_MOMENTS)
    moments, counts = result.moments[kept], result.visits_by_moment[kept]
    at = int(np.searchsorted(moments, found, side="right")) - 1 if found >= 0 else len(moments) - 1
    until = counts[at] if at >= 0 else np.zeros_like(counts[0])
    after = counts[-1] - until
    return Exploration(
        found=float(found) if found >= 0 else math.inf,
        evenness=evenness(until, counts.shape[1]) if until.any() else 0.0,
        goal_share=float(after[-3:].sum() / max(after.sum(), 1)) if found >= 0 else math.nan,
        start_share=float(counts[-1][:3].sum() / counts[-1].sum()),
    )


def summarise(run: Run, result: Result) -> Result:
    """Return the part of a result that the report uses."""
    length, keep = run.world_options["length"], ["bad_steps", "ends_good", "first_visit"]
    if length in FIGURE_26_LENGTHS:
        keep += ["moments", "value_errors"]
    if length == FIGURE_23_LENGTH:
        keep.append("visits_by_moment")
    kept = reduced(result, keep=keep, max_points=1)
    kept = kept._replace(first_visit=kept.first_visit if length == FIGURE_23_LENGTH else kept.first_visit[:0])
    if length not in FIGURE_26_LENGTHS or (length == FIGURE_23_LENGTH and run.seed == 1):
        return kept  # The figure of the counts shows all moments of the first seed.
    part = thinned(len(kept.moments), KEPT_MOMENTS)
    counts = kept.visits_by_moment[part] if length == FIGURE_23_LENGTH else kept.visits_by_moment
    return kept._replace(moments=kept.moments[part], value_errors=kept.value_errors[part], visits_by_moment=counts)
