"""Scores of the exam, and the leaderboard: ranks among the kept scores of all explorers of the package.

    score of a run   mean over the evaluations of clip((J − J_random) / (J* − J_random), 0, 1)
    level passed     a last evaluation of at least 0.95 in at least 80 % of the seeds
    family           mean over its levels; total: mean over the families

J* and J_random, the returns of an optimal and of a random policy, are computed from the world, so a result that was
read from a file cannot change the scale, and returns that no policy can have are refused. Intervals are percentiles
of a bootstrap over seeds and over the families' worlds. Two explorers can be told apart if the interval of the
difference of their totals does not contain 0. These intervals are simultaneous: with a probability of 95 % each of them
contains its difference.

The second total, while learning, has the discounted returns of the episodes in which an explorer learns.

Scores are a table with one row per run, see `score_row`, and a world is a group of its rows. Every card shows its
explorers beside some of the leaderboard, which has the scores of every run, so that all its totals, intervals and
ranks can be computed again.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.errors import counted
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import (
    episode_returns,
    optimal_episode_return,
    optimal_values,
    policy_value,
    start_value,
)
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.statistics import Interval
from wanderlust.experiments.table import Group, Row, group_rows
from wanderlust.experiments.world_run import N_EVALUATIONS, optimum_and_reachable
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX, VERSION, exam_world

Place = tuple[str, int]
"""A family and a level."""
SEEDS = 5
FIRST_SEED = 2_000
"""The seeds of the exam have no part in choosing any default."""
TOTALS = ("score", "learning_score")
"""The columns whose means are the two totals."""
PASSING_SCORE, PASSING_SHARE = 0.95, 0.8
BOOTSTRAP_SAMPLES = 2_000
BOUNDS_FILE, LEADERBOARD_FILE, TUNED_FILE = "bounds.json", "leaderboard.json", "tuned.json"
TIMED_FAMILY, TIMED_LEVEL = "size", 2
TIMED_WORLD = f"{TIMED_FAMILY}, level {TIMED_LEVEL}"
"""Where the time of a step is measured."""
PROFILE_SCORES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_TOLERANCE, _TINY = 1e-6, 1e-12
"""Relative to the distance of both bounds; the smallest standard error, so that equal samples have an interval."""


def _read_kept(name: str) -> Any:
    """Return the contents of a JSON file of this package, which the scripts in `benchmarks/` have written."""
    return json.loads((files("wanderlust.exams") / name).read_text(encoding="utf-8"))


# --- Runs --------------------------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """The returns of a random, of an optimal and of the worst policy in one world."""

    random: float
    optimal: float
    worst: float
    episode_random: float
    episode_optimal: float
    """The same for an episode that is truncated at the world's horizon."""

    def scores(self, returns: FloatArray) -> FloatArray:
        """Return the score at each evaluation: 0 for a random policy or a worse one, 1 for an optimal one."""
        return np.clip((returns - self.random) / (self.optimal - self.random), 0.0, 1.0)

    def learning_score(self, result: Result) -> float:
        """Return the score of the episodes while learning, from −1 to 1: 0 for random actions, 1 for optimal ones."""
        share = (result.learning_return[0] - self.episode_random) / (self.episode_optimal - self.episode_random)
        return float(np.clip(share, -1.0, 1.0))

    def problem(self, result: Result) -> str | None:
        """Return why a result, which may come from an untrusted file, is not one of the exam; None if it is."""
        curves = (result.steps, result.returns, result.data_returns)
        if any(np.shape(each) != (N_EVALUATIONS,) for each in curves):
            return f"it has not {N_EVALUATIONS} evaluations"
        # Without all data in its memory, a run has no policy that is best by the data.
        has_data = not np.isnan(result.data_returns).all()
        returns = np.concatenate([result.returns, result.data_returns]) if has_data else result.returns
        margin = _TOLERANCE * (self.optimal - self.random)
        # Written so that NaN is refused, too.
        if not ((returns >= self.worst - margin) & (returns <= self.optimal + margin)).all():
            return f"its returns are not all from {self.worst:g}, the worst policy's, to {self.optimal:g}, the optimum"
        if result.learning_return.shape != (1,) or not np.isfinite(result.learning_return).all():
            return "it has no return while learning"
        return None


def world_bounds(family: str, level: int, *, held_out: bool) -> Bounds:
    """Return the bounds of the returns in a world of the exam.

    Those of the held-out worlds are kept in the package: to solve all of them takes seconds.
    """
    kept = _kept_bounds().get(family) if held_out else None
    return Bounds(*kept[level - LEVELS[0]]) if kept else computed_bounds(family, level, held_out=held_out)


@functools.cache
def _kept_bounds() -> dict[str, list[list[float]]]:
    kept = _read_kept(BOUNDS_FILE)
    return kept["bounds"] if kept["suite"] == VERSION else {}


@functools.cache
def computed_bounds(family: str, level: int, *, held_out: bool) -> Bounds:
    """Return the bounds of the returns in a world of the exam, from its dynamics."""
    world = exam_world(family, level=level, held_out=held_out)
    mdp, discount = world.mdp, world.defaults.discount
    uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    run = Run(world=PREFIX + family, explorer="random", world_options={"level": level, "held_out": held_out})
    random = start_value(mdp, policy_value(mdp, uniform, discount))
    # The worst policy is the optimal one for the negated rewards.
    worst = 0.0 - start_value(mdp, optimal_values(mdp._replace(reward=-mdp.reward), discount).v)
    horizon = world.defaults.horizon
    return Bounds(
        random,
        optimum_and_reachable(run, discount)[0],
        worst,
        float(episode_returns(mdp, [uniform], horizon, discount)[0]),
        optimal_episode_return(mdp, horizon, discount) or 0.0,
    )


def score_row(place: Place, seed: int, result: Result | None, bounds: Bounds) -> Row:
    """Return the scores of a run: its mean, that of the policy that is best by the data, the last one, the curve.

    A failed run, None, has the score 0.
    """
    none = np.zeros(N_EVALUATIONS)
    curve = none if result is None else bounds.scores(result.returns)
    data = none if result is None else bounds.scores(result.data_returns)
    return {
        "family": place[0],
        "level": place[1],
        "seed": seed,
        "score": float(curve.mean()),
        "data_score": float(data.mean()),
        "learning_score": 0.0 if result is None else bounds.learning_score(result),
        "last": float(curve[-1]),
        "curve": curve,
    }


def mean_curve(world: Group) -> FloatArray:
    """Return the score at each evaluation, the mean over the seeds."""
    return np.asarray(np.mean([row["curve"] for row in world.rows], axis=0))


def is_passed(world: Group) -> bool:
    """Return whether enough seeds have a good policy at the end."""
    return bool((world.column("last") >= PASSING_SCORE).mean() >= PASSING_SHARE)


# --- Explorers ---------------------------------------------------------------------------------------------------


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
    rows: Sequence[Row]
    """One row per run; see `score_row`."""
    failures: Mapping[Place, FailedRun] = field(default_factory=dict)
    """The first failed run of every world in which one failed."""
    step_microseconds: float = math.nan
    """The mean time of a step; see `wanderlust.exams.exam.step_microseconds`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    computes: str = "–"
    """What a step computes beside Q; see `wanderlust.explorers.protocol`."""
    n_missing: int = 0
    """The number of runs that are not executed yet."""
    chosen_for: Collection[str] = TOTALS
    """The totals for which these options were chosen in the development worlds."""

    @property
    def label(self) -> str:
        """The name with the options that differ from the defaults."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.explorer} ({options})" if options else self.explorer

    @functools.cached_property
    def families(self) -> dict[str, dict[int, Group]]:
        """[family][level]: the runs in a world."""
        found: dict[str, dict[int, Group]] = {}
        for world in group_rows(self.rows, by=("family", "level")):
            family, level = world.label
            found.setdefault(family, {})[level] = world
        return found

    @property
    def worlds(self) -> dict[Place, Group]:
        """[family, level]: the runs in a world."""
        return {(family, level): world for family, levels in self.families.items() for level, world in levels.items()}

    def family_score(self, family: str, column: str = "score") -> float:
        """Return the mean over the levels of a family."""
        return float(np.mean([world.column(column).mean() for world in self.families[family].values()]))

    def family_interval(self, family: str) -> Interval:
        """Return the same with its 95 % interval over worlds and seeds; NaN bounds with a single run."""
        return replace(self, rows=[row for row in self.rows if row["family"] == family]).total()

    def family_curve(self, family: str) -> FloatArray:
        """Return the score at each evaluation, the mean over the levels of a family."""
        return np.asarray(np.mean([mean_curve(world) for world in self.families[family].values()], axis=0))

    @property
    def curve(self) -> FloatArray:
        """The score at each evaluation, the mean over the families; NaN without results."""
        curves = [self.family_curve(family) for family in self.families]
        return np.mean(curves, axis=0) if curves else np.full(N_EVALUATIONS, np.nan)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - bounded, and every rank needs it again.
    def mean(self, column: str = "score") -> float:
        """Return the mean over the families; NaN without results."""
        scores = [self.family_score(family, column) for family in self.families]
        return float(np.mean(scores)) if scores else math.nan

    def total(self, column: str = "score") -> Interval:
        """Return the mean over the families with its 95 % interval; NaN without results.

        With one seed in one world of each family nothing varies: the bounds of the interval are NaN.
        """
        if len(self.rows) == len(self.families):
            return Interval(self.mean(column), math.nan, math.nan)
        return _interval(self.mean(column), total_samples(self, column))

    def interquartile_mean(self) -> Interval:
        """Return the mean of the middle half of all runs with its 95 % interval (Agarwal et al. 2021)."""
        if len(self.rows) == len(self.families):
            return Interval(_middle(self.scores), math.nan, math.nan)
        return _interval(_middle(self.scores), _middle(np.concatenate([*_resampled(self, "score")], axis=1)))

    @property
    def scores(self) -> FloatArray:
        """The score of every run."""
        return np.array([row["score"] for row in self.rows], np.float64)

    @property
    def profile(self) -> list[float]:
        """The performance profile: the share of runs with at least each score of `PROFILE_SCORES`; NaN without runs."""
        return [float(np.mean(self.scores >= score)) if self.rows else math.nan for score in PROFILE_SCORES]

    def improvement(self, other: ExplorerScores) -> Interval:
        """Return the probability that a run is better than one of `other` in the same world, with its 95 % interval.

        It is the mean over the worlds; equal scores count one half.
        """
        pairs = [(self.worlds[place].column("score"), other.worlds[place].column("score")) for place in self.worlds]
        estimate = float(np.mean([_probability(one, two) for one, two in pairs]))
        rng, size = np.random.default_rng(2), (BOOTSTRAP_SAMPLES, len(pairs))

        def drawn(scores: FloatArray) -> FloatArray:
            return np.asarray(scores[rng.integers(len(scores), size=(BOOTSTRAP_SAMPLES, len(scores)))])

        samples = np.stack([_probability(drawn(one), drawn(two)) for one, two in pairs], axis=1)
        worlds = rng.integers(len(pairs), size=size)
        return _interval(estimate, np.take_along_axis(samples, worlds, axis=1).mean(axis=1))

    def restricted(self, places: Collection[Place], seeds: Collection[int] | None = None) -> ExplorerScores:
        """Return the scores in some of the worlds, and of some of the seeds."""
        return replace(
            self,
            rows=[
                row
                for row in self.rows
                if (row["family"], row["level"]) in places and (seeds is None or row["seed"] in seeds)
            ],
            failures={place: failed for place, failed in self.failures.items() if place in places},
        )

    @property
    def n_passed(self) -> int:
        """The number of worlds passed."""
        return sum(map(is_passed, self.worlds.values()))

    @property
    def weakest(self) -> Place | None:
        """The easiest level that was not passed, of the family with the lowest score; None if there is none.

        A world in which a run raised an error does not count: its score says nothing about exploration.
        """
        failed = [place for place, world in self.worlds.items() if not is_passed(world) and place not in self.failures]
        return min(failed, key=lambda place: (self.family_score(place[0]), place[1]), default=None)


def _interval(estimate: float, samples: FloatArray) -> Interval:
    low, high = np.quantile(samples, [0.025, 0.975])
    return Interval(estimate, float(low), float(high))


def _middle(scores: FloatArray) -> Any:
    """Return the mean of the middle half, along the last axis; NaN if it is empty."""
    n = scores.shape[-1]
    return np.sort(scores)[..., n // 4 : n - n // 4].mean(axis=-1) if n else math.nan


def _probability(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the share of pairs in which the first is larger, along the last axes; equal ones count one half."""
    one, two = one[..., :, None], two[..., None, :]
    return np.asarray(((one > two).mean(axis=(-2, -1)) + (one >= two).mean(axis=(-2, -1))) / 2)


@functools.lru_cache(maxsize=256)
def total_samples(explorer: ExplorerScores, column: str) -> FloatArray:
    """Return bootstrap samples of the total."""
    means = [runs.mean(axis=1) for runs in _resampled(explorer, column)]
    return np.asarray(np.mean(means, axis=0)) if means else np.full(BOOTSTRAP_SAMPLES, np.nan)


def _resampled(explorer: ExplorerScores, column: str) -> Iterator[FloatArray]:
    """Yield bootstrap samples of the runs of each family: worlds are drawn within it, and seeds within each world.

    Two explorers with scores in the same worlds have the same draws of worlds. So the difference of their samples is a
    sample of the difference, in which both have the same worlds.
    """
    levels, seeds = np.random.default_rng(0), np.random.default_rng(1)
    for family in explorer.families.values():
        scores = [world.column(column) for world in family.values()]
        size = (BOOTSTRAP_SAMPLES, len(scores))
        # A world with fewer runs than others, in an exam that is not complete, is drawn as often.
        drawn = np.stack([each[seeds.integers(len(each), size=(*size, max(map(len, scores))))] for each in scores])
        level = levels.integers(len(scores), size=size)
        yield np.take_along_axis(drawn, level[None, :, :, None], axis=0)[0].reshape(BOOTSTRAP_SAMPLES, -1)


def differences(explorers: Sequence[ExplorerScores], column: str = "score") -> dict[tuple[str, str], Interval]:
    """Return the differences of the totals of all pairs, by their labels, with simultaneous 95 % intervals.

    All intervals are the same multiple of their standard errors, the smallest with which 95 % of the bootstrap samples
    are inside all of them ("max-T", Westfall and Young 1993). All explorers must have scores in the same worlds.
    """
    pairs = list(itertools.combinations(explorers, 2))
    samples = [total_samples(one, column) - total_samples(other, column) for one, other in pairs]
    errors = [max(float(each.std()), _TINY) for each in samples]
    largest = np.max([abs(each - each.mean()) / error for each, error in zip(samples, errors, strict=True)], axis=0)
    width = float(np.quantile(largest, 0.95))
    found = {}
    for (one, other), error in zip(pairs, errors, strict=True):
        estimate = one.mean(column) - other.mean(column)
        found[one.label, other.label] = Interval(estimate, estimate - width * error, estimate + width * error)
        found[other.label, one.label] = Interval(-estimate, -estimate - width * error, width * error - estimate)
    return found


# --- The leaderboard ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaderboard:
    """The scores of several explorers in the same worlds."""

    explorers: tuple[ExplorerScores, ...]
    """The best total first."""
    seeds: int
    version: str = __version__
    """The version of wanderlust that executed the runs."""

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        """The worlds in which every explorer has scores."""
        known = [set(each.worlds) for each in self.explorers]
        common = set.intersection(*known) if known else set()
        return tuple((family, level) for family in FAMILIES for level in LEVELS if (family, level) in common)

    @property
    def extent(self) -> str:
        """The worlds and the seeds, in words."""
        levels = levels_text(level for _, level in self.places)
        families = len({family for family, _ in self.places})
        is_complete = len(self.places) == len(FAMILIES) * len(LEVELS) and self.seeds >= SEEDS
        note = "" if is_complete else "; not the whole exam"
        return (
            f"suite {VERSION}, held-out worlds, {families} of {len(FAMILIES)} families, {levels} with "
            f"{counted(self.seeds, 'seed')} per world{note}"
        )

    def restricted(self, places: Collection[Place], seeds: Collection[int] | None = None) -> Leaderboard:
        """Return the leaderboard of some of the worlds, and of some of the seeds."""
        n = self.seeds if seeds is None else len(seeds)
        return ranked([each.restricted(places, seeds) for each in self.explorers], n, self.version)

    def by_total(self, column: str) -> Leaderboard:
        """Return the leaderboard of one total: of the explorers whose options were chosen for it."""
        chosen = [each for each in self.explorers if column in each.chosen_for]
        return ranked(
            chosen, max((len({row["seed"] for row in each.rows}) for each in chosen), default=self.seeds), self.version
        )

    def find(self, explorer: str) -> ExplorerScores | None:
        """Return the scores of an explorer; None if it is not in the leaderboard."""
        return next((each for each in self.explorers if each.explorer == explorer), None)

    @functools.cached_property
    def differences(self) -> dict[tuple[str, str], Interval]:
        """The differences of the totals of all pairs; see `differences`."""
        return differences(self.explorers)

    def standing(self, explorer: ExplorerScores) -> dict[str, Any]:
        """Return the place of an explorer among those of the leaderboard; one of them with its name is left out.

        Its rank is between `best`, one more than the number of explorers that are better with a difference whose
        interval does not contain 0, and `worst`, the number of explorers that are not worse in this sense.
        """
        others = [each for each in self.explorers if each.label != explorer.label]
        found = self.differences if explorer in self.explorers else differences([explorer, *others])
        own = {each.label: found[explorer.label, each.label] for each in others}
        equals = [label for label, each in own.items() if each.low <= 0 <= each.high]
        rank, n = 1 + sum(each.estimate < 0 for each in own.values()), len(own) + 1
        best = 1 + sum(each.high < 0 for each in own.values())
        worst = n - sum(each.low > 0 for each in own.values())
        apart = f"; the data cannot tell it apart from {', '.join(equals)}" if equals else ""
        return {
            "rank": rank,
            "of": n,
            "best": best,
            "worst": worst,
            "range": str(best) if best == worst else f"{best}–{worst}",
            "cannot_be_told_apart_from": equals,
            "sentence": f"Rank {rank} of {n}{apart}.",
        }


def ranked(explorers: Iterable[ExplorerScores], seeds: int, version: str = __version__) -> Leaderboard:
    """Return the leaderboard of some explorers."""
    order = sorted(explorers, key=lambda each: (-each.mean(), each.explorer))
    return Leaderboard(tuple(order), seeds, version)


def read_leaderboard(values: Mapping[str, Any]) -> Leaderboard:
    """Return the leaderboard of a file that `benchmarks/leaderboard.py` wrote."""
    explorers = [
        ExplorerScores(
            explorer=each["explorer"],
            rows=[
                row
                for family, levels in each["worlds"].items()
                for level, scores in levels.items()
                for row in _kept_rows((family, int(level)), scores)
            ],
            failures={(family, level): FailedRun(*failed) for family, level, *failed in each["failures"]},
            step_microseconds=math.nan if each["step_microseconds"] is None else each["step_microseconds"],
            options=each["options"],
            computes=each["computes"],
            chosen_for=each["chosen_for"],
        )
        for each in values["explorers"]
    ]
    return ranked(explorers, values["seeds"], values["wanderlust"])


def _kept_rows(place: Place, kept: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a world; of the curves, only their mean is kept."""
    curve = np.array(kept["curve"], np.float64)
    columns = zip(kept["scores"], kept["data"], kept["learning"], kept["last"], strict=True)
    return [
        {"family": place[0], "level": place[1], "seed": seed, "score": score, "data_score": data,
         "learning_score": learnt, "last": last, "curve": curve}
        for seed, (score, data, learnt, last) in enumerate(columns, start=FIRST_SEED)
    ]  # fmt: skip


@functools.cache
def kept_leaderboard() -> Leaderboard | None:
    """Return the leaderboard of the package, by the score; None if it is of another version of the suite."""
    values = _read_kept(LEADERBOARD_FILE)
    return read_leaderboard(values).by_total("score") if values["suite"] == VERSION else None


def tuned_settings(column: str = "score") -> dict[str, dict[str, Any]]:
    """Return the settings that differ from an explorer's defaults in the leaderboard of one total.

    They were better in the worlds for development, with the same number of trials as for every other explorer. The
    column 'searched' has further settings of an explorer, by a name, for both totals.
    `benchmarks/exam_tuning.py` writes the file, and `docs/exam-tuning.md` has the scores of all trials.
    """
    settings: dict[str, dict[str, Any]] = _read_kept(TUNED_FILE)[column]
    return settings
