"""Scores of the exam, from stored results.

    score of a run   mean over the evaluations of clip((J − J_random) / (J* − J_random), 0, 1)
    level passed     a last evaluation of at least 0.95 in at least 80 % of the seeds
    family           mean over its levels; total: mean over the families

J* and J_random, the returns of an optimal and of a random policy, are computed from the world, so a result that was
read from a file cannot change the scale. Intervals are percentiles of a bootstrap over seeds and over the families'
worlds.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import policy_value
from wanderlust.exams.selection import ExamSelection, Place, StoredExam
from wanderlust.experiments import status
from wanderlust.experiments.exact_returns import N_EVALUATIONS
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.statistics import Interval
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.experiments.world_run import optimum_and_reachable
from wanderlust.worlds.exam_suite import LEVELS, PREFIX, VERSION, exam_world

PASSING_SCORE, PASSING_SHARE = 0.95, 0.8
BOOTSTRAP_SAMPLES = 2_000
BOUNDS_FILE = "bounds.json"
TIMED_FAMILY, TIMED_LEVEL = "size", 2
TIMED_WORLD = f"{TIMED_FAMILY}, level {TIMED_LEVEL}"
"""Where the time of a step is measured."""
_TOLERANCE = 1e-6
"""Relative to the distance of both bounds."""


class Bounds(NamedTuple):
    """The returns of a random and of an optimal policy in one world."""

    random: float
    optimal: float

    def scores(self, returns: FloatArray) -> FloatArray:
        """Return the score at each evaluation: 0 for a random policy or a worse one, 1 for an optimal one."""
        return np.clip((returns - self.random) / (self.optimal - self.random), 0.0, 1.0)

    def problem(self, result: Result) -> str | None:
        """Return why a result, which may come from an untrusted file, is not one of the exam; None if it is."""
        curves = (result.steps, result.returns, result.data_returns)
        if any(np.shape(each) != (N_EVALUATIONS,) for each in curves):
            return f"it has not {N_EVALUATIONS} evaluations"
        # Without all data in its memory, a run has no policy that is best by the data.
        has_data = not np.isnan(result.data_returns).all()
        returns = np.concatenate([result.returns, result.data_returns]) if has_data else result.returns
        highest = self.optimal + _TOLERANCE * (self.optimal - self.random)
        if not np.isfinite(returns).all() or returns.max() > highest:
            return f"its returns are not finite numbers up to {self.optimal:g}, the optimum"
        return None


def world_bounds(family: str, level: int, *, held_out: bool) -> Bounds:
    """Return the bounds of the returns in a world of the exam; those of the held-out worlds are kept in the package."""
    kept = _kept_bounds().get(family) if held_out else None
    return Bounds(*kept[level - LEVELS[0]]) if kept else computed_bounds(family, level, held_out=held_out)


@functools.cache
def _kept_bounds() -> dict[str, list[list[float]]]:
    """Return the bounds that `benchmarks/leaderboard.py` has computed, [family][level]; to solve all takes seconds."""
    kept = json.loads((files("wanderlust.exams") / BOUNDS_FILE).read_text(encoding="utf-8"))
    return kept["bounds"] if kept["suite"] == VERSION else {}


@functools.cache
def computed_bounds(family: str, level: int, *, held_out: bool) -> Bounds:
    """Return the bounds of the returns in a world of the exam, from its dynamics."""
    world = exam_world(family, level=level, held_out=held_out)
    mdp, discount = world.mdp, world.defaults.discount
    uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    run = Run(world=PREFIX + family, explorer="random", world_options={"level": level, "held_out": held_out})
    return Bounds(float(mdp.start @ policy_value(mdp, uniform, discount)), optimum_and_reachable(run, discount)[0])


@dataclass(frozen=True, eq=False)
class WorldScores:
    """The scores of one explorer in one world, one per seed."""

    scores: FloatArray
    """[seed]: of the target policy."""
    data_scores: FloatArray
    """[seed]: of the policy that is best by the data."""
    last: FloatArray
    """[seed]: the target policy's score at the last evaluation."""
    curve: FloatArray
    """[evaluation]: the mean over the seeds."""
    seeds: tuple[int, ...]

    @property
    def passed(self) -> bool:
        """Whether enough seeds have a good policy at the end."""
        return bool((self.last >= PASSING_SCORE).mean() >= PASSING_SHARE)


def world_scores(results: Mapping[int, Result | None], bounds: Bounds) -> WorldScores:
    """Return the scores of one explorer in one world, from its results by seed; a failed run, None, has the score 0."""
    seeds = tuple(sorted(results))
    found = [results[seed] for seed in seeds]
    none = np.zeros(N_EVALUATIONS)
    scores = np.stack([none if result is None else bounds.scores(result.returns) for result in found])
    data = np.stack([none if result is None else bounds.scores(result.data_returns) for result in found])
    return WorldScores(scores.mean(axis=1), data.mean(axis=1), scores[:, -1], scores.mean(axis=0), seeds)


def levels_text(levels: Iterable[int]) -> str:
    """Return some levels in words: "level 2", "levels 1 and 2", "levels 1 to 4"."""
    numbers = sorted(set(levels))
    if len(numbers) < 2:
        return f"level {numbers[0]}" if numbers else "no level"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"levels {numbers[0]} to {numbers[-1]}"
    return f"levels {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


class FailedRun(NamedTuple):
    """A run that raised an error."""

    seed: int
    error: str


@dataclass(frozen=True, eq=False)
class ExplorerScores:
    """The scores of one explorer in all worlds of the exam."""

    explorer: str
    worlds: Mapping[Place, WorldScores]
    failures: Mapping[Place, FailedRun] = field(default_factory=dict)
    """The first failed run of every world in which one failed."""
    step_microseconds: float = float("nan")
    """The mean time of a step; see `wanderlust.exams.exam.step_microseconds`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    n_missing: int = 0
    """The number of runs that are not executed yet."""

    @property
    def label(self) -> str:
        """The name with the options that differ from the defaults."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.explorer} ({options})" if options else self.explorer

    @property
    def families(self) -> tuple[str, ...]:
        """The families, in the order of the suite."""
        return tuple(dict.fromkeys(family for family, _ in self.worlds))

    def levels_of(self, family: str) -> dict[int, WorldScores]:
        """Return the scores of a family's worlds, by level."""
        return {level: scores for (name, level), scores in self.worlds.items() if name == family}

    def family_score(self, family: str, *, data: bool = False) -> float:
        """Return the mean over the levels of a family."""
        levels = self.levels_of(family).values()
        return float(np.mean([(level.data_scores if data else level.scores).mean() for level in levels]))

    def family_curve(self, family: str) -> FloatArray:
        """Return the score at each evaluation, the mean over the levels of a family."""
        return np.asarray(np.mean([level.curve for level in self.levels_of(family).values()], axis=0))

    @property
    def curve(self) -> FloatArray:
        """The score at each evaluation, the mean over the families; NaN without results."""
        curves = [self.family_curve(family) for family in self.families]
        return np.mean(curves, axis=0) if curves else np.full(N_EVALUATIONS, np.nan)

    def total(self, *, data: bool = False) -> Interval:
        """Return the mean over the families with its 95 % interval; NaN without results.

        With one seed in one world of each family nothing varies: the bounds of the interval are NaN.
        """
        estimate = self._total(data=data)
        if len(self.worlds) == len(self.families) and all(len(world.seeds) == 1 for world in self.worlds.values()):
            return Interval(estimate, float("nan"), float("nan"))
        return _interval(estimate, self._data_samples if data else self._samples)

    def _total(self, *, data: bool = False) -> float:
        scores = [self.family_score(family, data=data) for family in self.families]
        return float(np.mean(scores)) if scores else float("nan")

    def minus(self, other: ExplorerScores) -> Interval:
        """Return the difference of the totals with its 95 % interval; both must have scores in the same worlds."""
        return _interval(self._total() - other._total(), self._samples - other._samples)

    @functools.cached_property
    def _samples(self) -> FloatArray:
        return total_samples(self)

    @functools.cached_property
    def _data_samples(self) -> FloatArray:
        return total_samples(self, data=True)

    def restricted(self, places: Collection[Place]) -> ExplorerScores:
        """Return the scores in some of the worlds."""
        return replace(
            self,
            worlds={place: scores for place, scores in self.worlds.items() if place in places},
            failures={place: failed for place, failed in self.failures.items() if place in places},
        )

    @property
    def n_passed(self) -> int:
        """The number of worlds passed."""
        return sum(scores.passed for scores in self.worlds.values())

    @property
    def weakest(self) -> Place | None:
        """The easiest level that was not passed, of the family with the lowest score; None if there is none.

        A world in which a run raised an error does not count: its score says nothing about exploration.
        """
        failed = [place for place, scores in self.worlds.items() if not scores.passed and place not in self.failures]
        if not failed:
            return None
        return min(failed, key=lambda place: (self.family_score(place[0]), place[1]))


def _interval(estimate: float, samples: FloatArray) -> Interval:
    low, high = np.quantile(samples, [0.025, 0.975])
    return Interval(estimate, float(low), float(high))


def total_samples(explorer: ExplorerScores, *, data: bool = False) -> FloatArray:
    """Return bootstrap samples of the total: worlds are drawn within their family, and seeds within each world.

    Two explorers with scores in the same worlds have the same draws of worlds. So the difference of their samples is a
    sample of the difference, in which both have the same worlds.
    """
    levels, seeds = np.random.default_rng(0), np.random.default_rng(1)
    samples = np.zeros(BOOTSTRAP_SAMPLES)
    for family in explorer.families:
        found = explorer.levels_of(family).values()
        samples += _resampled_means([s.data_scores if data else s.scores for s in found], levels, seeds)
    return samples / len(explorer.families) if explorer.families else np.full(BOOTSTRAP_SAMPLES, np.nan)


def _resampled_means(
    scores: Sequence[FloatArray], levels: np.random.Generator, seeds: np.random.Generator
) -> FloatArray:
    """Return bootstrap samples of the mean over levels, each a mean over seeds; both are drawn with replacement."""
    size = (BOOTSTRAP_SAMPLES, len(scores))
    means = np.stack([level[seeds.integers(len(level), size=(*size, len(level)))].mean(axis=2) for level in scores])
    level = levels.integers(len(scores), size=size)
    return np.asarray(np.take_along_axis(means, level[None], axis=0)[0].mean(axis=1))


def exam_scores(
    selection: ExamSelection,
    stored: Iterable[StoredRun],
    failures: Mapping[Run, str],
    times: Mapping[str, float],
    problems: list[str],
) -> list[ExplorerScores]:
    """Return the scores of each explorer; a failed run has the score 0, and its world the error.

    `times` are the microseconds of a step of each explorer. A run with numbers that are not possible is not used, and
    named in `problems`.
    """
    found = {each.run: each for each in stored}
    scores = []
    for explorer in selection.explorers:
        worlds: dict[Place, WorldScores] = {}
        errors: dict[Place, FailedRun] = {}
        n_missing = 0
        for place in selection.places:
            bounds = world_bounds(*place, held_out=selection.held_out)
            results: dict[int, Result | None] = {}
            for seed in selection.seed_range:
                run = selection.run(explorer, place, seed)
                if (known := found.get(run)) is not None:
                    if (problem := bounds.problem(known.result)) is None:
                        results[seed] = known.result
                        continue
                    problems.append(f"{known.metadata['key']}: ignored, {problem}: {run.json}")
                if run in failures:
                    results[seed] = None
                    errors.setdefault(place, FailedRun(seed, failures[run]))
                else:
                    n_missing += 1
            if results:
                worlds[place] = world_scores(results, bounds)
        options, time = selection.options.get(explorer, {}), times.get(explorer, math.nan)
        scores.append(ExplorerScores(explorer, worlds, errors, time, options, n_missing))
    return scores


def stored_scores(exam: StoredExam, store: Store, problems: list[str]) -> list[ExplorerScores]:
    """Return the scores of an exam from what a folder contains; no code of explorers is read.

    Of a run that is stored for several versions of an explorer's code, the last one that was executed counts.
    """
    wanted = set(exam.selection.runs)
    found = [stored for stored in store.load_all(problems) if stored.run in wanted]
    found.sort(key=lambda stored: str(stored.metadata.get("finished")))
    name, failures = status.file_name(exam.selection.name), {}
    for failure in status.failures(store.folder, [name]).get(name, []):
        with contextlib.suppress(ValueError):  # Not a command that this version prints.
            failures[Run.from_json(shlex.split(failure["repeat"])[-1])] = failure["error"]
    return exam_scores(exam.selection, found, failures, exam.times, problems)
