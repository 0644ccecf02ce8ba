"""A comparison of several explorers in one environment: when it counts as solved, and what the runs measured.

Events that never occurred are at step infinity. A comparison is stored beside its runs, so that `report` can print the
same table.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wanderlust.core.errors import BadFile, WanderlustError, check_number, counted
from wanderlust.core.files import read_text_file, shown_path, write_json
from wanderlust.core.planning import optimal_episode_return
from wanderlust.environments.model import world_from_gym
from wanderlust.environments.tabular import Tabular
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.statistics import Interval, paper_percent, wilson_interval

COMPARISON_FILE = "comparison.json"
_MAX_BYTES = 100_000_000
SOLVED_FRACTION = 0.95
"""The fraction of the optimal return that counts as solved in stochastic environments."""


class Threshold(NamedTuple):
    """The mean return that counts as solved, None if it is unknown, and where it comes from."""

    value: float | None
    source: str

    @property
    def description(self) -> str:
        """One sentence for the report."""
        if self.value is None:
            return f"The return that counts as solved is unknown: {self.source}."
        return f"Solved: a mean return of {self.value:.6g} or more ({self.source})."

    def reached(self, mean_return: float) -> bool:
        """Return whether a mean return reaches the threshold, up to rounding errors."""
        return self.value is not None and mean_return >= self.value - 1e-9 * max(1.0, abs(self.value))


def solved_threshold(env: Tabular, solved_at: float | None) -> Threshold:
    """Return the threshold of an environment; `solved_at` takes precedence."""
    spec = env.env.spec
    if solved_at is not None:
        return Threshold(solved_at, "set with --solved-at")
    if spec is not None and spec.reward_threshold is not None:
        return Threshold(float(spec.reward_threshold), f"the reward threshold of {env.name}")
    try:
        world = world_from_gym(env.env)
    except WanderlustError:
        return Threshold(None, "the environment has no reward threshold and no known model")
    optimal = optimal_episode_return(world.mdp, env.horizon)
    if optimal is None:
        return Threshold(None, "the environment has no reward threshold, no time limit and no finite optimal return")
    if bool(world.mdp.deterministic) and np.count_nonzero(world.mdp.start) == 1:
        return Threshold(optimal, "the optimal return, computed from the model")
    value = optimal - (1.0 - SOLVED_FRACTION) * abs(optimal)
    percent = 100 * (1 - SOLVED_FRACTION)
    return Threshold(value, f"within {percent:.0f} % of the optimal return, {optimal:.6g}, computed from the model")


class Comparison(NamedTuple):
    """The environment, the threshold and the runs of a comparison."""

    title: str
    """The environment and its options, as on the command line."""
    threshold: Threshold
    runs: list[Run]

    @property
    def steps(self) -> int:
        """The number of training steps of each run."""
        return int(self.runs[0].settings["steps"])

    def save(self, folder: Path) -> None:
        """Write it to the folder of the runs."""
        runs = [run.description for run in self.runs]
        write_json(folder / COMPARISON_FILE, {"title": self.title, "solved": list(self.threshold), "runs": runs})


def read_comparison(folder: Path) -> Comparison | None:
    """Return the comparison that is stored in a folder, or None if there is none."""
    file = folder / COMPARISON_FILE
    if not os.path.isfile(file):  # Unlike Path.is_file, this is false for names that the file system cannot have.
        return None
    try:
        stored = json.loads(read_text_file(file, max_bytes=_MAX_BYTES))
        value, source = stored["solved"]
        threshold = Threshold(None if value is None else check_number("solved", value), str(source))
        runs = [Run.from_json(json.dumps(run)) for run in stored["runs"]]
        comparison = Comparison(str(stored["title"]), threshold, runs)
        _ = comparison.steps
    except BadFile:
        raise
    except (WanderlustError, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        reason = str(error) if isinstance(error, WanderlustError) else f"{type(error).__name__}: {error}"
        raise BadFile(f"{shown_path(file)}: not a comparison that `wanderlust compare` stored ({reason}).") from error
    return comparison


def steps_to_solve(result: Result, threshold: Threshold) -> float:
    """Return the step of the first evaluation that reached the threshold."""
    # Runs that were stored by earlier versions have no improvements.
    evaluations = result.improvements if len(result.improvements) else np.stack([result.steps, result.returns], axis=1)
    reached = [step for step, value in evaluations.reshape(-1, 2) if threshold.reached(value)]
    return float(reached[0]) if reached else math.inf


def first_reward(result: Result) -> float:
    """Return the step of the first positive reward."""
    if len(result.events):
        return float(result.events[0])
    return float(min(result.rewards[result.rewards[:, 0] > 0, 2], default=math.inf))


def first_termination(result: Result) -> float:
    """Return the step at which an episode first terminated."""
    if len(result.events):
        return float(result.events[1])
    return float(min(result.episodes[result.episodes[:, 3] > 0, 0], default=math.inf))


def median(values: Sequence[float]) -> float:
    """Return the median; the mean of a number and infinity is infinity."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


class ExplorerRow(NamedTuple):
    """The results of one explorer: medians over seeds; infinity for events that never occurred."""

    explorer: str
    seeds: int
    solved: Interval
    """Fraction of the seeds."""
    steps_to_solve: float
    first_reward: float
    first_termination: float
    states: float
    returns: tuple[float, float]
    """Last evaluation: mean over seeds and its ±."""


def explorer_row(explorer: str, results: Sequence[Result], threshold: Threshold) -> ExplorerRow:
    """Return the results of one explorer."""
    times = [steps_to_solve(result, threshold) for result in results]
    last = paper_percent([result.returns[-1] for result in results])
    return ExplorerRow(
        explorer=explorer,
        seeds=len(results),
        solved=wilson_interval(sum(map(math.isfinite, times)), len(times)),
        steps_to_solve=median(times),
        first_reward=median([first_reward(result) for result in results]),
        first_termination=median([first_termination(result) for result in results]),
        states=median([result.n_discovered for result in results]),
        returns=(last.mean, last.ci),
    )


def format_steps(steps: float, budget: int) -> str:
    """Return a number of steps as text; infinity becomes '>budget'."""
    return f"{steps:,.0f}" if math.isfinite(steps) else f">{budget:,}"


def time_penalties(results: Sequence[Result]) -> list[float]:
    """Return the time penalty per step of each result in whose run one was removed from the rewards for learning."""
    return [float(result.time_penalty[0]) for result in results if len(result.time_penalty)]


def time_penalty_sentence(penalties: Sequence[float], n_runs: int) -> str:
    """Return a sentence on the runs that learned from rewards without their time penalty; "" if there are none."""
    if not penalties:
        return ""
    low, high = f"{min(penalties):g}", f"{max(penalties):g}"
    size = low if low == high else f"{low} to {high}"
    return (
        f"Terminal rewards decrease by {size} per step. {len(penalties):,} of {counted(n_runs, 'run')} removed this "
        "time penalty for learning (--set remove_time_penalty=false keeps it); all returns include it."
    )
