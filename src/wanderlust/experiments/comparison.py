"""A comparison of several explorers in one environment: when it counts as solved, and what the runs measured.

Events that never occurred are at step infinity. A comparison is stored beside its runs, so that `report` can print the
same table.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError, counted
from wanderlust.core.files import finite_values, read_text_file, shown_path, write_json
from wanderlust.core.planning import episode_returns, optimal_episode_return
from wanderlust.core.repeats import SELDOM, repeat_rates
from wanderlust.core.schema import Strict
from wanderlust.environments.model import known_model
from wanderlust.environments.tabular import Tabular
from wanderlust.experiments.environment_run import MAX_EVALUATION_STEPS, fine_interval
from wanderlust.experiments.report.figures import as_files, comparison_figure
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.statistics import Interval, paper_curve, paper_percent, wilson_interval

COMPARISON_FILE = "comparison.json"
_MAX_BYTES = 100_000_000
_HASH_LENGTH = 8
SOLVED_FRACTION = 0.95
"""In stochastic environments: the fraction of the way from the random policy's return to the optimal one that counts
as solved."""
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
REWARD_THRESHOLD = "the reward threshold of the environment"
BEST_REACHED = "the best return that any run reached: no reward threshold and no model is known"


def solved_threshold(env: Tabular, solved_at: float | None, horizon: int | None = None) -> Threshold:
    """Return the threshold of an environment, which some policy can reach; `solved_at` takes precedence.

    `horizon` is the time limit of evaluations, if it is not the environment's.
    """
    spec, limit = env.env.spec, horizon or env.horizon or MAX_EVALUATION_STEPS
    if solved_at is not None:
        return Threshold(solved_at, "set with --solved-at")
    world = known_model(env)
    optimal = None if world is None else optimal_episode_return(world.mdp, limit)
    if world is None or optimal is None:
        if spec is not None and spec.reward_threshold is not None:
            return Threshold(float(spec.reward_threshold), REWARD_THRESHOLD)
        return Threshold(None, "no reward threshold and no model is known")
    if world.mdp.deterministic_with_one_start:
        return Threshold(optimal, "the optimal return, computed from the model")
    uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    random = float(episode_returns(world.mdp, [uniform], limit)[0])
    return Threshold(
        random + SOLVED_FRACTION * (optimal - random),
        f"{100 * SOLVED_FRACTION:.0f} % of the way from the random policy's return, {random:.6g}, to the optimal one, "
        f"{optimal:.6g}, both computed from the model",
    )


def reached_threshold(results: Sequence[Result]) -> Threshold:
    """Return the best return that a run reached in an evaluation; unknown if all evaluations gave the same."""
    returns = np.concatenate([result.returns for result in results])
    best = float(np.concatenate([returns, *(result.improvements[:, 1] for result in results)]).max())
    if returns.min() == best:
        return Threshold(None, "no reward threshold and no model is known, and all evaluations gave the same return")
    return Threshold(best, BEST_REACHED)


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


class _Stored(Strict, frozen=True):
    """The contents of `comparison.json`."""

    title: str
    solved: tuple[float | None, str]
    runs: list[dict[str, Any]]


def read_comparison(folder: Path) -> Comparison | None:
    """Return the comparison that is stored in a folder, or None if there is none."""
    file = folder / COMPARISON_FILE
    if not os.path.isfile(file):  # Unlike Path.is_file, this is false for names that the file system cannot have.
        return None
    text = read_text_file(file, max_bytes=_MAX_BYTES)
    try:
        stored = msgspec.json.decode(text, type=_Stored)
        comparison = Comparison(stored.title, Threshold(*stored.solved), [Run(**run) for run in stored.runs])
        _ = comparison.steps
    except (WanderlustError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadFile(f"{shown_path(file)}: not a comparison that `wanderlust compare` stored ({error}).") from error
    return comparison


def comparison_folder(folder: Path, runs: Sequence[Run], *, may_rename: bool) -> Path:
    """Return the folder of a comparison: another one, or an error, if a different comparison is stored in it.

    A comparison with more explorers, or another number of seeds, is not different.
    """
    stored, compared = read_comparison(folder), {replace(run, seed=0).json for run in runs}
    if stored is None or {replace(run, seed=0).json for run in stored.runs} <= compared:
        return folder
    if not may_rename:
        raise InvalidSetting(
            f"{shown_path(folder)} has another comparison ({stored.title}, {counted(len(stored.runs), 'run')}); it "
            "would be replaced. Give another folder with --out."
        )
    name = hashlib.sha256("\n".join(sorted(compared)).encode()).hexdigest()[:_HASH_LENGTH]
    return folder.with_name(f"{folder.name}-{name}")


def steps_to_solve(result: Result, threshold: Threshold) -> float:
    """Return the step of the first evaluation that reached the threshold."""
    # Runs that were stored by earlier versions have no improvements.
    evaluations = result.improvements if len(result.improvements) else np.stack([result.steps, result.returns], axis=1)
    reached = [step for step, value in evaluations if threshold.reached(value)]
    return float(reached[0]) if reached else math.inf


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
    return tuple(_summary(explorer, found, steps, threshold) for explorer, found in results.items() if found)


def _summary(explorer: str, results: Sequence[Result], steps: int, threshold: Threshold) -> ExplorerSummary:
    states = np.array([result.n_discovered for result in results])
    late = [int((result.first_visit >= LATE_FRACTION * steps).sum()) for result in results]
    rewards, terminations = np.array([result.first_events for result in results]).T
    solved = np.array([steps_to_solve(result, threshold) for result in results])
    returns = np.array([result.returns[-1] for result in results])
    mean, error = paper_percent(returns)
    return ExplorerSummary(
        explorer=explorer,
        seeds=len(results),
        states=float(np.median(states)),
        late_states_percent=float(np.median(100.0 * np.array(late) / np.maximum(states, 1))),
        first_reward=float(np.median(rewards)),
        first_termination=float(np.median(terminations)),
        rewarded_seeds=int(np.isfinite(rewards).sum()),
        solved=wilson_interval(int(np.isfinite(solved).sum()), len(results)),
        steps_to_solve=float(np.median(solved)),
        # The mean of two returns may be a return that no policy has.
        greedy_return=statistics.median_low(returns.tolist()),
        min_return=float(returns.min()),
        max_return=float(returns.max()),
        mean_return=mean,
        return_error=error,
        best_episode=float(max(result.episodes[:, 2].max(initial=-math.inf) for result in results)),
    )


def format_steps(steps: float, budget: int) -> str:
    """Return a number of steps as text; infinity becomes '>budget'."""
    return f"{steps:,.0f}" if math.isfinite(steps) else f">{budget:,}"


def time_penalties(results: Sequence[Result]) -> list[float]:
    """Return the time penalty per step of each result in whose run one was removed from the rewards for learning."""
    return [float(result.time_penalty[0]) for result in results if len(result.time_penalty)]


def time_penalty_sentence(penalties: Sequence[float], n_runs: int) -> str:
    """Return a sentence on the runs that learnt from rewards without their time penalty; "" if there are none."""
    if not penalties:
        return ""
    low, high = f"{min(penalties):g}", f"{max(penalties):g}"
    size = low if low == high else f"{low} to {high}"
    return (
        f"Terminal rewards decrease by {size} per step. {len(penalties):,} of {counted(n_runs, 'run')} removed this "
        "time penalty for learning (--set remove_time_penalty=false keeps it); all returns include it."
    )


class ComparisonReport:
    """What the results of a comparison say: the cells of its table, its notes, its CSV file and its plot."""

    def __init__(self, comparison: Comparison, results: Mapping[str, Sequence[Result]]) -> None:
        self.comparison, self.results = comparison, {name: found for name, found in results.items() if found}
        all_results = [result for found in self.results.values() for result in found]
        given = comparison.threshold
        self.threshold = given if given.value is not None else reached_threshold(all_results)
        self.rows = summarize_explorers(self.results, comparison.steps, self.threshold)
        self._solvable = self.threshold.value is not None
        self._any_reward = any(row.rewarded_seeds for row in self.rows)

    @property
    def headings(self) -> list[str]:
        """The headings of the table."""
        solved = ["solved (%)", "steps to solve"] if self._solvable else []
        if self.threshold.source == BEST_REACHED:
            solved = ["best return (%)", "steps to best return"]
        first_event = "first reward" if self._any_reward else "first termination (no reward)"
        return ["explorer", "seeds", *solved, first_event, "states", "return"]

    @property
    def cells(self) -> list[list[str]]:
        """The cells of the table, one row per explorer."""
        lines = []
        for row in self.rows:
            percent, low, high = (f"{100 * part:.0f}" for part in row.solved)
            solved = [f"{percent} [{low}, {high}]"] if self._solvable else []
            first_event = row.first_reward if self._any_reward else row.first_termination
            times = [row.steps_to_solve, first_event] if self._solvable else [first_event]
            steps = [format_steps(each, self.comparison.steps) for each in times]
            error = "" if row.seeds == 1 else f" ± {row.return_error:.2g}"
            found = [f"{row.states:,.0f}", f"{row.mean_return:.4g}{error}"]
            lines.append([row.explorer, str(row.seeds), *solved, *steps, *found])
        return lines

    @property
    def notes(self) -> list[str]:
        """The sentences below the table."""
        interval = int(next(iter(self.results.values()))[0].steps[0])
        fine = interval if self.comparison.runs[0].kind == "model" else fine_interval(interval)
        finer = f", every {fine:,} where one episode is enough" if fine < interval else ""
        notes = [
            self.threshold.description + ("" if self._solvable else " Set it with --solved-at RETURN."),
            f"The greedy policy is evaluated every {counted(interval, 'step')}{finer}.",
            "Steps and states are medians over seeds; >N: not within N steps in at least half of the runs.",
        ]
        if self._solvable:
            notes.append("Solved: percent of seeds, with the 95 % Wilson interval.")
        if self.threshold.source == REWARD_THRESHOLD and not any(row.solved.estimate for row in self.rows):
            notes.append(
                "Warning: no run reached the reward threshold, which may be out of reach with these states or steps; "
                "--solved-at sets another."
            )
        error = ", mean ± 2 standard errors" if any(row.seeds > 1 for row in self.rows) else ""
        notes.append(f"Return: undiscounted, of the greedy policy in the last evaluation{error}.")
        at_random = "The evaluated policy can differ: it draws actions of equal value at random."
        results = [result for found in self.results.values() for result in found]
        if not self._any_reward:
            notes.append(
                f"None of {counted(len(results), 'run')} received a positive reward during training, so the table has "
                f"the first training step that terminated an episode instead of the first reward. {at_random}"
            )
        elif any(row.rewarded_seeds < row.seeds for row in self.rows):
            seeds = ", ".join(f"{row.explorer} with {row.rewarded_seeds} of {counted(row.seeds, 'seed')}"
                              for row in self.rows)  # fmt: skip
            notes.append(f"First reward: the first positive reward during training, received by {seeds}. {at_random}")
        notes.append(time_penalty_sentence(time_penalties(results), len(results)))
        rate = statistics.median(repeat_rates(result.first_visit, self.comparison.steps)[-1] for result in results)
        if rate < SELDOM:
            notes.append(
                f"Warning: states seldom repeat ({100 * rate:.0f} % of the steps of the last quarter were in a state "
                "visited before), so a tabular agent learns little; `wanderlust diagnose` says what helps."
            )
        return [note for note in notes if note]

    @property
    def csv(self) -> str:
        """The table as CSV; steps that never came are empty."""
        headings = ["explorer", "seeds", "solved_share", "solved_low", "solved_high", "steps_to_solve", "first_reward"]
        headings += ["first_termination", "states", "return_mean", "return_ci95", "preset", "rewarded_seeds"]
        lines: list[list[object]] = []
        for row in self.rows:
            times = [row.steps_to_solve, row.first_reward, row.first_termination]
            cells = ["" if math.isinf(steps) else f"{steps:g}" for steps in times]
            found = [row.states, row.mean_return, row.return_error, self.comparison.runs[0].preset, row.rewarded_seeds]
            lines.append([row.explorer, row.seeds, *row.solved, *cells, *found])
        return as_csv(headings, lines)

    @property
    def json_values(self) -> dict[str, Any]:
        """The table and its notes as JSON values; events that never occurred are null."""
        rows = [finite_values({**asdict(row), "solved": row.solved._asdict()}) for row in self.rows]
        return {
            "environment": self.comparison.title,
            "steps": self.comparison.steps,
            "preset": self.comparison.runs[0].preset,
            "threshold": {"return": self.threshold.value, "source": self.threshold.source},
            "explorers": rows,
            "notes": self.notes,
        }

    def plot(self, form: str) -> bytes:
        """Return the learning curves as a picture: png, svg or pdf."""
        panels: dict[str, dict[str, Any]] = {"solved (% of seeds)": {}} if self._solvable else {}
        for explorer, results in self.results.items():
            steps = results[0].steps
            if self._solvable:
                times = np.array([steps_to_solve(result, self.threshold) for result in results])
                share = 100.0 * (times[:, None] <= steps).mean(axis=0)
                panels["solved (% of seeds)"][explorer] = steps, share, None
            for name, field in (("return of the greedy policy", "returns"), ("states discovered", "discovered")):
                curve = paper_curve(np.stack([getattr(result, field) for result in results]))
                panels.setdefault(name, {})[explorer] = steps, *curve
        note = f"preset {self.comparison.runs[0].preset}; {self.threshold.description}"
        draw = functools.partial(comparison_figure, self.comparison.title, panels, note=note)
        return as_files(draw, [form])[form]
