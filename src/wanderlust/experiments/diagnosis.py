"""How hard an environment is to explore: sparsity, depth, distractors and stochasticity, measured by runs.

The measures of `wanderlust.core.hardness` are exact if the environment has a model, otherwise they are estimated from
the transitions of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env

from wanderlust.agents.settings import MAX_STEPS
from wanderlust.core.errors import InvalidEnvironment, WanderlustError, check_integer, counted
from wanderlust.core.files import finite_values
from wanderlust.core.hardness import Hardness, hardness
from wanderlust.core.mdp import estimated_mdp
from wanderlust.core.repeats import SELDOM, repeat_rates
from wanderlust.environments.encoding import BINS
from wanderlust.environments.model import world_from_gym
from wanderlust.environments.tabular import Tabular, tabular
from wanderlust.experiments.comparison import (
    ExplorerSummary,
    format_steps,
    summarize_explorers,
    time_penalties,
    time_penalty_sentence,
)
from wanderlust.experiments.environment_run import HIDDEN, MAX_OUTCOMES, EpisodeRecorder
from wanderlust.experiments.run import Result
from wanderlust.training.evaluation import ObservedDynamics
from wanderlust.training.learn import learn

Results = Mapping[str, Sequence[Result]]
"""Explorer name to the results of its seeds."""
DEFAULT_EXPLORER = "vv-ucb"
GROWING_PERCENT = 2.0
"""The number of states still grows if at least this percentage was first visited in the last quarter of the run."""
MIN_EPISODES, CHANGING_SHARE = 10, 0.8
"""Layouts change if, of at least this many episodes, at least this share began in a state of their own."""
_MAX_REWARDS_SHOWN = 8
_DENSE_PERCENT = 20.0
"""Rewards are sparse if fewer steps than this percentage give another reward than the most frequent one."""
MIN_REPEATED = 30
"""The number of pairs with several visits from which an environment can be called deterministic, and the number of
repeated visits from which states can be called aliased."""
_ALIASED_BY, _DEVIATIONS = 0.1, 5.0
"""States are aliased if outcomes agree more often by this share with equal hidden values, and this is so many standard
deviations from what the states alone explain."""
_RETURN_TOLERANCE = 0.02
"""Two returns are equal if they differ by at most this fraction of the larger one."""


@dataclass(frozen=True)
class RewardSummary:
    """One reward value that occurred."""

    value: float | None
    """None for all other values, if there were too many to list."""
    count: int
    first_step: int
    explorers: tuple[str, ...]
    """The explorers that received it."""
    first_pair: str
    """The state and action that first gave it, in words."""


@dataclass(frozen=True)
class Diagnosis:
    """All measurements of an environment."""

    explorers: tuple[ExplorerSummary, ...]
    steps: int
    rewards: tuple[RewardSummary, ...]
    """Sorted, the largest first."""
    common_reward: float | None
    """The most frequent reward."""
    other_rewards_percent: float
    """Percent of the steps with any other reward."""
    time_penalties: tuple[float, ...]
    """The decrease per step of terminal rewards, for each run that removed it for learning."""
    terminated: int
    """Number of terminated episodes."""
    truncated: int
    """Number of truncated episodes."""
    repeated_pairs: int
    """Number of state-action pairs with more than one visit."""
    stochastic_pairs: int
    """Number of these pairs with more than one outcome."""
    horizon: int | None
    """The environment's time limit, if it is known."""
    truncations: tuple[int, int] | None
    """The lengths of the shortest and the longest truncated episode."""
    episodes_begun: int
    """Number of episodes that have begun."""
    start_states: int
    """Number of distinct first states of episodes, summed over the runs."""
    longest_episode: int
    depth: int | None
    """Length of the shortest episode with the best return."""
    best_return: float | None
    """Largest return of any training episode."""
    repeat_rates: tuple[float, ...]
    """The share of steps in a state visited before, for each quarter of the runs: medians."""
    hidden: str | None
    """What the outcomes of aliased states depend on, of `HIDDEN`; None if they are not aliased, as far as observed."""
    agreement: tuple[float, float] | None
    """How often the outcome of aliased states repeats: if that is the same as before, and if it differs."""
    encoding: str
    """How states are encoded: the kind of a `StateEncoder`."""

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return sum(each.seeds for each in self.explorers)

    @property
    def reward_found(self) -> bool:
        """Whether any run received a positive reward."""
        return bool(self.rewarded_explorers)

    @property
    def rewarded_explorers(self) -> set[str]:
        """The explorers that received a positive reward with any seed."""
        positive = [reward for reward in self.rewards if reward.value is not None and reward.value > 0]
        return {explorer for reward in positive for explorer in reward.explorers}

    @property
    def termination_is_goal(self) -> bool:
        """Whether steps have a negative reward, none has a positive one, and some episodes terminated."""
        return not self.reward_found and (self.common_reward or 0.0) < 0 and self.terminated > 0

    @property
    def ranked(self) -> tuple[ExplorerSummary, ...]:
        """The explorers by greedy return; ties by first reward, first termination, number of states."""

        def rank(each: ExplorerSummary) -> tuple[float, ...]:
            return -round(each.greedy_return, 6), each.first_reward, each.first_termination, -each.states

        return tuple(sorted(self.explorers, key=rank))

    @property
    def suggested(self) -> ExplorerSummary:
        """The explorer to train with: of those that cannot be told apart from the best, the default one if it is there.

        The best of several equal explorers is the one that was lucky.
        """
        equal = {each.explorer: each for each in self.indistinguishable}
        return equal.get(DEFAULT_EXPLORER, self.ranked[0])

    @property
    def indistinguishable(self) -> tuple[ExplorerSummary, ...]:
        """The best explorer, and those of which some seed did at least as well as the worst seed of the best one."""
        best = self.ranked[0]
        others = [each for each in self.ranked[1:] if each.explorer != "random"]
        reached = [o for o in others if o.max_return >= best.min_return or _nearly_equal(o.max_return, best.min_return)]
        return (best, *reached)

    @property
    def layouts_change(self) -> bool:
        """Whether nearly every episode began in a state of its own, although states repeat within an episode."""
        is_enough = self.episodes_begun >= MIN_EPISODES and not self.seldom_repeat
        return is_enough and self.start_states >= CHANGING_SHARE * self.episodes_begun

    @property
    def seldom_repeat(self) -> bool:
        """Whether states seldom repeat, even in the last quarter of the runs."""
        return self.repeat_rates[-1] < SELDOM

    @property
    def has_one_start(self) -> bool:
        """Whether all episodes of a run began in the same state."""
        return self.start_states <= self.n_runs

    @property
    def widest(self) -> ExplorerSummary:
        """The explorer that visited the most states; ties by fewer late states."""
        return max(self.explorers, key=lambda each: (each.states, -each.late_states_percent))

    @property
    def still_growing(self) -> bool:
        """Whether the explorer with the most states still discovered new ones at the end."""
        return self.widest.late_states_percent >= GROWING_PERCENT

    @property
    def distracted(self) -> tuple[ExplorerSummary, ...]:
        """The explorers that converged to a smaller reward: all seeds return less than any seed of the best explorer.

        A distractor needs two positive reward values; with only one, returns differ by how often it is reached. And it
        needs one start state: from several, returns differ by the start.
        """
        best = self.ranked[0]
        if not self.has_one_start or sum(reward.value is None or reward.value > 0 for reward in self.rewards) < 2:
            return ()
        return tuple(
            each
            for each in self.explorers
            if each.explorer in self.rewarded_explorers
            and each.explorer != "random"
            and each.max_return < best.min_return
            and not _nearly_equal(each.max_return, best.min_return)
            # More than the longest episode gives if every step has the most frequent reward.
            and each.greedy_return > min(0.0, (self.common_reward or 0.0) * self.longest_episode)
        )


def diagnose_results(results: Results, *, steps: int, horizon: int | None, encoding: str) -> Diagnosis:
    """Return the measurements over all results; `encoding` is the kind of the state encoder."""
    all_results = [result for found in results.values() for result in found]
    rewards = _reward_summaries(results)
    counts = {reward.value: reward.count for reward in rewards}
    common = max(counts, key=lambda value: counts[value]) if counts else None
    total = sum(counts.values())
    episodes = np.concatenate([result.episodes for result in all_results])
    best = float(episodes[:, 2].max()) if len(episodes) else None
    cut = episodes[episodes[:, 3] == 0, 1]
    hidden, agreement = _hidden_state(all_results)
    rates = [repeat_rates(result.first_visit, steps) for result in all_results]
    is_best = [best is not None and _nearly_equal(value, best) for value in episodes[:, 2]]
    return Diagnosis(
        explorers=summarize_explorers(results, steps),
        steps=steps,
        rewards=rewards,
        common_reward=common,
        other_rewards_percent=100.0 * (total - counts.get(common, 0)) / total if total else 0.0,
        time_penalties=tuple(time_penalties(all_results)),
        terminated=int((episodes[:, 3] > 0).sum()),
        truncated=len(cut),
        repeated_pairs=sum(int(result.pairs[0]) for result in all_results),
        stochastic_pairs=sum(int(result.pairs[1]) for result in all_results),
        horizon=horizon,
        truncations=(int(min(cut)), int(max(cut))) if len(cut) else None,
        episodes_begun=sum(len(result.episodes) + 1 for result in all_results),
        start_states=sum(int(result.pairs[2]) for result in all_results if len(result.pairs) > 2),
        longest_episode=int(episodes[:, 1].max()) if len(episodes) else steps,
        depth=None if best is None else int(episodes[is_best, 1].min()),
        best_return=best,
        repeat_rates=tuple(np.median(rates, axis=0).tolist()),
        hidden=hidden,
        agreement=agreement,
        encoding=encoding,
    )


def _hidden_state(results: Sequence[Result]) -> tuple[str | None, tuple[float, float] | None]:
    """Return what the outcomes of aliased states depend on most, and how often they agree if it is equal or not."""
    shape = len(HIDDEN), 6
    counts = sum((result.hidden for result in results if result.hidden.shape == shape), start=np.zeros(shape))
    found: list[tuple[float, str, tuple[float, float]]] = []
    for name, (same, same_differs, other, other_differs, deviation, variance) in zip(HIDDEN, counts, strict=True):
        if min(same + same_differs, other + other_differs) >= MIN_REPEATED:
            agreement = float(same / (same + same_differs)), float(other / (other + other_differs))
            is_significant = deviation > _DEVIATIONS * math.sqrt(variance)
            if is_significant and agreement[0] - agreement[1] >= _ALIASED_BY:
                found.append((agreement[0] - agreement[1], name, agreement))
    return max(found)[1:] if found else (None, None)


def _reward_summaries(results: Results) -> tuple[RewardSummary, ...]:
    """Return the reward values of all runs together."""
    found: dict[float | None, list[tuple[int, int, str, str]]] = {}
    for explorer, result in ((explorer, result) for explorer, runs in results.items() for result in runs):
        for (value, count, step), pair in zip(result.rewards, result.reward_places, strict=True):
            key = None if math.isnan(value) else float(value)
            found.setdefault(key, []).append((int(step), int(count), explorer, str(pair)))
    rewards = []
    for key, entries in found.items():
        _, counts, explorers, _ = zip(*entries, strict=True)
        first_step, _, _, first_pair = min(entries, key=lambda entry: entry[0])
        rewards.append(RewardSummary(key, sum(counts), first_step, tuple(dict.fromkeys(explorers)), first_pair))
    return tuple(sorted(rewards, key=lambda each: math.inf if each.value is None else -each.value))


def _nearly_equal(a: float, b: float) -> bool:
    return abs(a - b) <= _RETURN_TOLERANCE * max(abs(a), abs(b)) + 1e-12


# --- The report in sentences -----------------------------------------------------------------------------


TABLE_HEADINGS = (
    "explorer", "states", "new in last quarter (%)", "seeds with reward", "first reward", "first termination",
    "greedy return", "best training return",
)  # fmt: skip


def table_cells(diagnosis: Diagnosis) -> list[list[str]]:
    """Return one row per explorer, the best first."""
    rows = []
    for each in diagnosis.ranked:
        median, low, high = (f"{value:.4g}" for value in (each.greedy_return, each.min_return, each.max_return))
        row = [each.explorer, f"{each.states:,.0f}", f"{each.late_states_percent:.0f}"]
        row += [f"{each.rewarded_seeds} of {each.seeds}"]
        row += [format_steps(steps, diagnosis.steps) for steps in (each.first_reward, each.first_termination)]
        row += [median if low == high else f"{median} ({low} to {high})"]
        rows.append([*row, f"{each.best_episode:.4g}" if math.isfinite(each.best_episode) else "–"])
    return rows


def report_sections(diagnosis: Diagnosis) -> Iterator[tuple[str, list[str]]]:
    """Yield the heading and the sentences of every section of the report."""
    yield "Rewards", list(_reward_sentences(diagnosis))
    yield "States", list(_state_sentences(diagnosis))
    yield "Distractors", list(_distractor_sentences(diagnosis))
    yield "Stochasticity", [_stochasticity_sentence(diagnosis)]
    yield "Episodes", list(_episode_sentences(diagnosis))


def problem_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return the sentences of the report that say why a tabular agent may not work, and what helps."""
    found = {
        _SELDOM_REPEAT.format(_COARSER[diagnosis.encoding == BINS]): diagnosis.seldom_repeat,
        _stochasticity_sentence(diagnosis): diagnosis.hidden is not None,
        _LAYOUTS_CHANGE: diagnosis.layouts_change,
    }
    return [sentence for sentence, is_problem in found.items() if is_problem]


_SELDOM_REPEAT = "States seldom repeat, so a tabular agent learns little. {}"
_COARSER = (
    "The state key is too fine: --key module:function keeps only what matters of the observation.",
    "The bins are too fine: fewer --bins, or one bin for dimensions that do not matter.",
)
_LAYOUTS_CHANGE = (
    "Nearly every episode began in a state of its own: the layout changes between episodes, so an agent cannot use "
    "what it learnt in another one. --reset-seed 0 gives all episodes the same layout."
)
_FINER = {
    "observation": "A --key that keeps more of it, or more --bins, help.",
    "previous step": "The observation is not the whole state: a wrapper that adds earlier ones helps, or --key hash if "
    "the environment has a hash of its whole state.",
    "time": "A wrapper that adds the time, such as Gymnasium's TimeAwareObservation, helps.",
}
"""What helps if the outcomes depend on something that is not part of the state, one of `HIDDEN`."""


def _reward_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.termination_is_goal:
        yield (
            f"Rewards are not sparse: most steps gave {diagnosis.common_reward:g}, so every step changes the return. "
            "No reward is positive and some episodes terminated: the goal is to terminate early."
        )
    elif len(diagnosis.rewards) == 1:
        yield f"Every step gave a reward of {diagnosis.rewards[0].value:g}: no explorer found another reward."
    elif diagnosis.common_reward is not None:
        sparse = "sparse" if diagnosis.other_rewards_percent < _DENSE_PERCENT else "not sparse"
        percent, common = f"{diagnosis.other_rewards_percent:.3g} %", f"{diagnosis.common_reward:g}"
        yield f"Rewards are {sparse}: {percent} of all steps gave a reward other than {common}."
    else:
        yield "Rewards are not sparse: nearly every step gave a different reward."
    for each in diagnosis.rewards[:_MAX_REWARDS_SHOWN]:
        value = "others" if each.value is None else f"{each.value:g}"
        yield (
            f"{value}: {counted(each.count, 'time')}, first at step {each.first_step:,} by {each.first_pair}; "
            f"received by {', '.join(each.explorers)}"
        )
    if len(diagnosis.rewards) > _MAX_REWARDS_SHOWN:
        yield f"... and {len(diagnosis.rewards) - _MAX_REWARDS_SHOWN} smaller rewards."
    if diagnosis.time_penalties:
        yield time_penalty_sentence(diagnosis.time_penalties, diagnosis.n_runs)
    if not diagnosis.reward_found and not diagnosis.termination_is_goal:
        yield f"None of {counted(diagnosis.n_runs, 'run')} received a positive reward during training."


def _state_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    most, least = diagnosis.widest, min(diagnosis.explorers, key=lambda each: each.states)
    if most.states == least.states:
        yield f"All explorers visited {most.states:,.0f} states (medians)."
    else:
        yield f"{most.explorer} visited {most.states:,.0f} states, {least.explorer} {least.states:,.0f} (medians)."
    percent = ", ".join(f"{100 * rate:.0f}" for rate in diagnosis.repeat_rates)
    yield f"Steps in a state visited before, in the quarters of the run: {percent} %."
    if diagnosis.seldom_repeat:
        yield _SELDOM_REPEAT.format(_COARSER[diagnosis.encoding == BINS])
    elif diagnosis.still_growing:
        yield (
            f"The number of states still grows: {most.explorer} discovered {most.late_states_percent:.0f} % of its "
            "states in the last quarter of the run. More steps will discover more states."
        )
    else:
        yield "The number of states has stopped growing: more steps will discover few new states."


def _distractor_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    reasons = {
        "no positive reward was found": not diagnosis.reward_found,
        "layouts change between episodes": diagnosis.layouts_change,
        "episodes begin in different states, and returns differ by the start": not diagnosis.has_one_start,
    }
    if any(reasons.values()):
        yield f"Distractors cannot be detected: {next(reason for reason, is_so in reasons.items() if is_so)}."
    elif not diagnosis.distracted:
        yield "None detected: no explorer converged to a smaller reward than another explorer found."
    best = diagnosis.ranked[0]
    for each in diagnosis.distracted:
        yield (
            f"{each.explorer} converged to a return of at most {each.max_return:.4g}, but {best.explorer} found one "
            f"of at least {best.min_return:.4g}, each with all seeds: the smaller reward is a distractor."
        )


def _stochasticity_sentence(diagnosis: Diagnosis) -> str:
    if diagnosis.repeated_pairs < MIN_REPEATED and not diagnosis.stochastic_pairs:
        return f"Unknown: {counted(diagnosis.repeated_pairs, 'state-action pair')} had more than one visit."
    if not diagnosis.stochastic_pairs:
        return "Deterministic, as far as observed: every repeated state-action pair had the same outcome each time."
    percent = 100.0 * diagnosis.stochastic_pairs / diagnosis.repeated_pairs
    several = f"{percent:.3g} % of the repeated state-action pairs had different outcomes"
    if diagnosis.hidden is None or diagnosis.agreement is None:
        return f"{several}: the environment is stochastic, or depends on something that is not observed."
    is_observed = diagnosis.hidden == "observation"
    what = "the part of the observation that the key leaves out" if is_observed else f"the {diagnosis.hidden}"
    same, other = (f"{100 * share:.0f} %" for share in diagnosis.agreement)
    return (
        f"{several}, and these depend on {what}: an outcome repeats in {same} of the visits if it is the same, in "
        f"{other} if it differs. So states are aliased: the state key is too coarse. {_FINER[diagnosis.hidden]}"
    )


def _episode_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    total = diagnosis.terminated + diagnosis.truncated
    if not total:
        yield f"No episode ended within {counted(diagnosis.steps, 'step')}."
        return
    yield f"{diagnosis.terminated:,} of {counted(total, 'episode')} terminated, {diagnosis.truncated:,} were truncated."
    limit = "no time limit is known"
    if diagnosis.horizon is not None:
        limit = f"the time limit is {counted(diagnosis.horizon, 'step')}"
    elif diagnosis.truncations is not None:
        low, high = diagnosis.truncations
        limit = f"episodes were truncated after {counted(low, 'step') if low == high else f'{low:,} to {high:,} steps'}"
    yield f"The longest episode took {counted(diagnosis.longest_episode, 'step')}; {limit}."
    if diagnosis.layouts_change:
        yield _LAYOUTS_CHANGE
    elif not diagnosis.has_one_start:
        yield f"Episodes begin in different states: about {diagnosis.start_states / diagnosis.n_runs:.0f} per run."
    if diagnosis.reward_found and diagnosis.depth is not None:
        yield f"The best return, {diagnosis.best_return:.4g}, took at least {counted(diagnosis.depth, 'step')}."


def json_values(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return all measurements and the report as JSON values; events that never occurred are null."""
    measurements = asdict(diagnosis)
    for each in measurements["explorers"]:
        del each["solved"], each["steps_to_solve"]  # There is no threshold.
    return {
        **measurements,
        "explorers": [finite_values(each) for each in measurements["explorers"]],
        "repeat_rates": [None if math.isnan(rate) else rate for rate in diagnosis.repeat_rates],
        "still_growing": diagnosis.still_growing,
        "layouts_change": diagnosis.layouts_change,
        "seldom_repeat": diagnosis.seldom_repeat,
        "indistinguishable": [each.explorer for each in diagnosis.indistinguishable],
        "distracted": [each.explorer for each in diagnosis.distracted],
        "report": dict(report_sections(diagnosis)),
    }


# --- Hardness --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundHardness:
    """The measures of an environment, and where they come from."""

    hardness: Hardness | None
    source: str
    """'model', 'data' or, without any measures, 'none'."""
    explanation: str

    @property
    def sentences(self) -> list[str]:
        """The section of a report."""
        return [self.explanation, *(repr(self.hardness).splitlines() if self.hardness is not None else [])]

    @property
    def json_values(self) -> dict[str, Any]:
        """The measures as JSON values; infinity is null, and the steps to reach each state are left out."""
        found = {"source": self.source, "explanation": self.explanation}
        if self.hardness is None:
            return found
        names = [each.name for each in fields(self.hardness) if each.name != "steps_to_reach"]
        values = {name: getattr(self.hardness, name) for name in (*names, "farthest", "random_share")}
        return found | finite_values(values)


def model_hardness(env: Tabular) -> FoundHardness | None:
    """Return the measures of an environment with a known model, otherwise None."""
    try:
        found = world_from_gym(env.env).hardness(horizon=env.horizon)
    except WanderlustError:
        return None
    return FoundHardness(found, "model", "Computed from the environment's model:")


def estimated_hardness(results: Results, *, n_actions: int, horizon: int | None) -> FoundHardness:
    """Return the measures estimated from the run that visited the most states.

    Without a time limit, the random walk is as long as the longest episode of that run. One run only: two runs can
    number the same states in different ways.
    """
    found = [(explorer, result) for explorer, each in results.items() for result in each]
    runs = [(explorer, result) for explorer, result in found if _has_outcomes(result, n_actions)]
    if not runs:
        reason = f"the runs had more than {MAX_OUTCOMES:,} distinct outcomes, or were stored by an older version."
        return FoundHardness(None, "none", f"The environment has no known model, and none was estimated: {reason}")
    explorer, widest = max(runs, key=lambda run: run[1].n_discovered)
    mdp = estimated_mdp(widest.outcomes, widest.starts, n_actions)
    if mdp is None:
        return FoundHardness(None, "none", "The environment has no known model, and an estimated one is too large.")
    lengths = widest.episodes[:, 1] if len(widest.episodes) else widest.outcomes[:, 3].sum(keepdims=True)
    pairs = len(np.unique(widest.outcomes[:, :2], axis=0))
    text = (
        f"Estimated, because the environment has no known model: from the transitions of a run of {explorer}, which "
        f"took {pairs:,} of {mdp.n_states * n_actions:,} state-action pairs. Other actions count as staying in place:"
    )
    return FoundHardness(hardness(mdp, horizon=int(lengths.max()) if horizon is None else horizon), "data", text)


def _has_outcomes(result: Result, n_actions: int) -> bool:
    """Return whether a result, which may come from an untrusted file, has outcomes from which an MDP can be made."""
    outcomes, starts = result.outcomes, result.starts
    if not len(outcomes) or not len(starts) or not (np.isfinite(outcomes).all() and np.isfinite(starts).all()):
        return False
    actions, counts = outcomes[:, 1], np.concatenate([outcomes[:, 3], starts[:, 1]])
    states = np.concatenate([outcomes[:, 0], starts[:, 0]])
    is_valid = states.min() >= 0 and actions.min() >= 0 and actions.max() < n_actions and counts.min() >= 1
    return bool(is_valid and outcomes[:, 2].min() >= -1)


# --- A check by a short random walk ----------------------------------------------------------------------

_RANDOM_SECTIONS = ("Rewards", "States", "Stochasticity", "Episodes")
"""The sections of the report of `diagnose` that a random walk can fill."""


class EnvironmentCheck(NamedTuple):
    """The result of `check_env`."""

    works: bool
    """Whether a tabular agent can work: states are discrete, repeat and are not aliased, as far as observed."""
    problems: tuple[str, ...]
    report: tuple[str, ...]
    """What was measured, in sentences."""

    def __str__(self) -> str:
        verdict = "A tabular agent can work here." if self.works else "A tabular agent will have problems here:"
        return "\n".join([verdict, *(f"* {problem}" for problem in self.problems), "", *self.report]).rstrip()


def check_env(env: Env[Any, Any] | str, *, steps: int = 5_000, seed: int = 0, **encoding: Any) -> EnvironmentCheck:
    """Return whether a tabular agent can work in an environment, with the reasons and what helps.

    A random walk of `steps` steps shows how often states repeat, and whether they are aliased. `encoding` are options
    of `wl.tabular`. The environment is reset. `wanderlust diagnose` takes longer and says more.
    """
    steps = check_integer("steps", steps, low=100, high=MAX_STEPS)
    try:
        made = env if isinstance(env, Tabular) and not encoding else tabular(env, **encoding)
    except InvalidEnvironment as error:
        return EnvironmentCheck(works=False, problems=(str(error),), report=())
    recorder = EpisodeRecorder(ObservedDynamics())
    agent = learn(made, "random", steps=steps, seed=seed, callbacks=[recorder], quiet=True)
    recorded = recorder.arrays(made.n_states)
    result = Result(
        steps=np.array([steps]),
        returns=np.zeros(1),
        discovered=np.array([agent.discovered]),
        visits=agent.visits,
        optimal_return=np.full((), np.nan),
        reachable=np.zeros((), np.int64),
        **recorded,
    )
    kind = made.encoding.encoder.kind
    found = diagnose_results({"random": [result]}, steps=steps, horizon=made.horizon, encoding=kind)
    sections, problems = dict(report_sections(found)), tuple(problem_sentences(found))
    report = tuple(sentence for name in _RANDOM_SECTIONS for sentence in sections[name] if sentence not in problems)
    return EnvironmentCheck(works=not problems, problems=problems, report=report)
