"""A comparison of several explorers in one environment: when it counts as solved, and what the runs measured.

Events that never occurred are at step infinity. A comparison is stored beside its runs, so that `report` can print the
same table.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from wanderlust.experiments.statistics import Interval, wilson_interval
from wanderlust.experiments.table import Group, Row, group_rows

COMPARISON_FILE = "comparison.json"
_MAX_BYTES = 100_000_000
SOLVED_FRACTION = 0.95
"""The fraction of the optimal return that counts as solved in stochastic environments."""
LATE_FRACTION = 0.75
"""A state is discovered late if its first visit is after this fraction of the run."""


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


UNKNOWN = Threshold(None, "not asked for")


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


@dataclass(frozen=True)
class ExplorerSummary:
    """The results of one explorer: medians over seeds; infinity for events that never occurred."""

    explorer: str
    seeds: int
    states: float
    """Number of visited states."""
    late_states_percent: float
    """Percent of the states that were first visited in the last quarter of the run."""
    first_reward: float
    first_termination: float
    rewarded_seeds: int
    """Number of seeds with a positive reward."""
    solved: Interval
    """Fraction of the seeds that reached the threshold."""
    steps_to_solve: float
    greedy_return: float
    """Return of the final greedy policy."""
    min_return: float
    """Minimum of the same over seeds."""
    max_return: float
    """Maximum of the same over seeds."""
    mean_return: float
    return_error: float
    """Two standard errors of the mean."""
    best_episode: float
    """Largest return of any training episode of any seed."""


def summarize_explorers(
    results: Mapping[str, Sequence[Result]], steps: int, threshold: Threshold = UNKNOWN
) -> tuple[ExplorerSummary, ...]:
    """Return the summary of each explorer that has results, given the number of steps of each run."""
    rows = [_row(explorer, result, steps, threshold) for explorer, found in results.items() for result in found]
    return tuple(_summary(group) for group in group_rows(rows, by=("explorer",)))


def _row(explorer: str, result: Result, steps: int, threshold: Threshold) -> Row:
    """Return the measurements of one run."""
    late = int((result.first_visit >= LATE_FRACTION * steps).sum())
    return {
        "explorer": explorer,
        "states": result.n_discovered,
        "late_states_percent": 100.0 * late / max(result.n_discovered, 1),
        "first_reward": first_reward(result),
        "first_termination": first_termination(result),
        "steps_to_solve": steps_to_solve(result, threshold),
        "return": result.returns[-1],
        "best_episode": max(result.episodes[:, 2], default=-math.inf),
    }


def _summary(group: Group) -> ExplorerSummary:
    returns = group.column("return")
    mean = group.percent("return")
    medians = ("states", "late_states_percent", "first_reward", "first_termination", "steps_to_solve")
    return ExplorerSummary(
        explorer=group.fields["explorer"],
        seeds=len(group),
        rewarded_seeds=int(np.isfinite(group.column("first_reward")).sum()),
        solved=wilson_interval(int(np.isfinite(group.column("steps_to_solve")).sum()), len(group)),
        # The mean of two returns may be a return that no policy has.
        greedy_return=statistics.median_low(returns.tolist()),
        min_return=float(returns.min()),
        max_return=float(returns.max()),
        mean_return=mean.mean,
        return_error=mean.ci,
        best_episode=float(group.column("best_episode").max()),
        **{name: float(np.median(group.column(name))) for name in medians},
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
