"""A run in a Gymnasium environment: `learn` with callbacks that evaluate the greedy policy and record the episodes.

The result depends only on the run's fields: the seed determines all randomness of the agent and of the environment,
and the greedy policy is evaluated in a copy of the environment.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from wanderlust.agents.settings import MAX_STEPS
from wanderlust.core.errors import InvalidSetting, WanderlustError, check_integer
from wanderlust.environments.encoding import CONTENT, DISCRETE, state_key
from wanderlust.environments.make import copy_environment
from wanderlust.environments.tabular import Tabular, tabular_from_options
from wanderlust.experiments.run import DEFAULT_EVALUATIONS, Result, Run, RunCancelled
from wanderlust.learning.state import named_seed
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import ObservedDynamics, RepeatedEvaluation
from wanderlust.training.learn import learn
from wanderlust.training.loop import TrainingLoop, call_environment

MAX_EVALUATION_STEPS = 1_000
"""Steps after which an evaluation episode without a time limit is truncated, unless `horizon` is set."""
FINER = 10
"""Evaluations between two points of the curves, where one episode is enough."""
MAX_REWARDS = 50
"""Number of distinct rewards that are listed; sparse-reward environments have fewer."""
MAX_OUTCOMES = 20_000
"""Number of distinct outcomes up to which they are stored: enough for environments whose hardness can be estimated."""
HIDDEN = ("observation", "previous step", "time")
"""What a state key can leave out: the rest of the observation, the state and action before, the step of the episode."""
_CHECK_EVERY = 256
"""Steps between two checks for cancellation."""


def evaluation_env(env: Tabular, limit: int = MAX_EVALUATION_STEPS) -> Tabular:
    """Return a copy of an environment for evaluation, with a time limit, since a policy may loop indefinitely."""
    return env.copy() if env.horizon is not None else env.copy(TimeLimit(copy_environment(env.env), limit))


def train_in_environment(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run in an environment; `steps` truncates it, for a test."""
    overrides = run.overrides
    if "steps" not in overrides:
        raise InvalidSetting("a run in an environment needs the setting 'steps', its number of steps.")
    length = check_integer("steps", overrides.pop("steps"), low=1, high=MAX_STEPS)
    default_every = max(length // DEFAULT_EVALUATIONS, 1)
    every = check_integer("evaluate_every", overrides.get("evaluate_every", default_every), low=1)
    limit = check_integer("horizon", overrides.get("horizon", MAX_EVALUATION_STEPS), low=1, high=MAX_STEPS)
    env = tabular_from_options(run.world, run.world_options, run.encoder_options)
    eval_env = call_environment(env, lambda: evaluation_env(env, limit), lambda: "its copy for evaluation")
    # At least one evaluation: without any, the run has no return to report.
    evaluations = RunEvaluation(eval_env, min(every, length), run.episodes, evaluation_seed(run))
    recorder = EpisodeRecorder(evaluations.evaluator.dynamics, should_stop, last_step=steps)
    try:
        overrides |= {"steps": length, "seed": run.seed, "preset": run.preset}
        # The recorder first: evaluations depend on the dynamics that it records.
        agent = learn(env, run.explorer, callbacks=[recorder, evaluations], quiet=True, **overrides)
    finally:
        call_environment(env, env.close, lambda: "close")
        call_environment(eval_env, eval_env.close, lambda: "close after evaluation")
    visits = np.zeros((env.n_states, env.n_actions), np.int64)
    agent_visits = agent.visits[: env.n_states]
    visits[: len(agent_visits)] = agent_visits
    recorded = recorder.arrays(env.n_states)
    evaluation_steps = np.array(evaluations.steps, np.int64)
    first_visits = recorded["first_visit"][recorded["first_visit"] >= 0]
    return Result(
        steps=evaluation_steps,
        returns=np.array(evaluations.returns, np.float64),
        discovered=(first_visits[None, :] < evaluation_steps[:, None]).sum(axis=1),
        visits=visits,
        optimal_return=np.full((), np.nan),
        reachable=np.zeros((), np.int64),
        improvements=evaluations.improvements,
        **recorded,
    )


def evaluation_seed(run: Run) -> int:
    """Return the seed of a run's evaluations: runs that differ in anything draw independent episodes."""
    return int(named_seed(run.seed, f"evaluation of {run.json}").generate_state(1)[0])


def fine_interval(every: int) -> int:
    """Return the number of steps between two evaluations where one episode is enough."""
    return max(every // FINER, 1)


class RunEvaluation(Callback):
    """Evaluates the greedy policy every `every` steps, and more often while the environment appears deterministic."""

    def __init__(self, env: Tabular, every: int, episodes: int, seed: int) -> None:
        self.every, self.finer = every, fine_interval(every)
        self.evaluator = RepeatedEvaluation(env, episodes, seed, adaptive=True)
        self.steps: list[int] = []
        self.returns: list[float] = []
        self._improvements: list[tuple[int, float]] = []

    def on_step(self, loop: TrainingLoop) -> None:
        """Evaluate if an evaluation is due."""
        mean: float | None = None
        if loop.step % self.every == 0:
            mean = float(self.evaluator.returns(loop.agent).mean())
            self.steps.append(loop.step)
            self.returns.append(mean)
        elif loop.step % self.finer == 0:
            mean = self.evaluator.improved_return(loop.agent, self._best)
        if mean is not None and mean > self._best:
            self._improvements.append((loop.step, mean))

    @property
    def _best(self) -> float:
        return self._improvements[-1][1] if self._improvements else -math.inf

    @property
    def improvements(self) -> NDArray[np.float64]:
        """[improvement, (step, mean return)]: the evaluations with a larger return than all before."""
        return np.array(self._improvements, np.float64).reshape(-1, 2)


class HiddenState:
    """Whether the outcome of an action depends on something that the state key leaves out: states are then aliased.

    Two successive visits of a pair are compared. If the states are Markov, their outcomes agree as often with equal
    hidden values as with different ones.
    """

    def __init__(self) -> None:
        self._visits: dict[tuple[int, int], tuple[Any, tuple[Hashable, ...], list[int]]] = {}
        """Outcome and hidden values of the latest visit, and the counts as in `Result`, without rows."""
        self._observation: Hashable = None
        """The observation of the state in which the next action is taken; None if it is unknown."""
        self._previous: Hashable = None

    def record(self, loop: TrainingLoop) -> None:
        """Record the latest transition."""
        pair = loop.state, loop.action
        hidden = self._observation, self._previous, loop.episode_steps
        # A terminal reward may depend on the time, as in MiniGrid.
        outcome = (-1, None) if loop.terminated else (loop.next_state, loop.reward)
        self._observation = self._previous = None
        if not loop.episode_over:
            self._previous = pair
            if loop.env.encoding.encoder.kind not in (DISCRETE, CONTENT):  # These hide nothing of the observation.
                with contextlib.suppress(WanderlustError):
                    self._observation = hash(state_key(loop.env.observation))
        before = self._visits.get(pair)
        if before is None and len(self._visits) > MAX_OUTCOMES:
            return
        counts = [0] * (4 * len(HIDDEN)) if before is None else before[2]
        if before is not None:
            for i, value in enumerate(hidden):
                if value is not None and before[1][i] is not None:
                    counts[4 * i + 2 * (value != before[1][i]) + (outcome != before[0])] += 1
        self._visits[pair] = outcome, hidden, counts

    @property
    def counts(self) -> NDArray[np.float64]:
        """The counts of all pairs with several outcomes, and the test of Cochran, Mantel and Haenszel, as in `Result`.

        Without the test by pairs, one pair with equal hidden values and nearly always the same outcome would look like
        evidence.
        """
        several = [each[2] for each in self._visits.values() if any(each[2][1::2])]
        tables = np.array(several, np.float64).reshape(-1, len(HIDDEN), 2, 2)
        same, agree, total = tables[:, :, 0].sum(axis=2), tables[:, :, :, 0].sum(axis=2), tables.sum(axis=(2, 3))
        enough = np.maximum(total, 2.0)  # A single visit says nothing: its deviation and variance are 0.
        deviation = tables[:, :, 0, 0] - same * agree / enough
        variance = same * (total - same) * agree * (total - agree) / (enough**2 * (enough - 1.0))
        deviation[total < 2] = 0.0
        return np.column_stack([tables.sum(axis=0).reshape(-1, 4), deviation.sum(axis=0), variance.sum(axis=0)])


class EpisodeRecorder(Callback):
    """Records every step; raises `RunCancelled` once `should_stop()` is true, and ends training after `last_step`."""

    def __init__(
        self,
        dynamics: ObservedDynamics,
        should_stop: Callable[[], bool] = lambda: False,
        *,
        last_step: int | None = None,
    ) -> None:
        self._dynamics = dynamics
        self._should_stop = should_stop
        self._last_step = last_step
        self._episodes: list[tuple[int, int, float, bool]] = []
        self._rewards: dict[float | None, list[float]] = {}
        """Reward, None for all that are not listed -> value, count and first step."""
        self._reward_places: list[str] = []
        self._first_visit: dict[int, int] = {}
        self._counts: dict[tuple[int, int, int], list[float]] = {}
        """[state, action, next state]: count and sum of rewards."""
        self._starts: dict[int, int] = {}
        self._hidden = HiddenState()
        self._time_penalty: list[float] = []

    def on_start(self, loop: TrainingLoop) -> None:
        """Leave it to the reports to say that states seldom repeat."""
        loop.warns_of_states = False

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Record the dynamics, the reward and the first visit."""
        if loop.step % _CHECK_EVERY == 0 and self._should_stop():
            raise RunCancelled
        self._dynamics.record(loop)
        self._first_visit.setdefault(loop.state, loop.step - 1)
        self._record_reward(loop)
        self._record_outcome(loop)
        self._hidden.record(loop)
        return False if loop.step == self._last_step else None

    def _record_outcome(self, loop: TrainingLoop) -> None:
        if loop.episode_steps == 1:
            self._starts[loop.state] = self._starts.get(loop.state, 0) + 1
        outcome = loop.state, loop.action, -1 if loop.terminated else loop.next_state
        row = self._counts.get(outcome)
        if row is not None:
            row[0] += 1
            row[1] += loop.reward
        elif len(self._counts) <= MAX_OUTCOMES:
            self._counts[outcome] = [1, loop.reward]

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Record the episode."""
        self._episodes.append((loop.step, loop.episode_steps, loop.episode_return, loop.terminated))

    def on_end(self, loop: TrainingLoop) -> None:
        """Record the time penalty, if there is one."""
        if loop.time_penalty is not None and loop.time_penalty.per_step:
            self._time_penalty = [loop.time_penalty.per_step]

    def _record_reward(self, loop: TrainingLoop) -> None:
        listed = loop.reward if loop.reward in self._rewards or len(self._rewards) < MAX_REWARDS else None
        if listed in self._rewards:
            self._rewards[listed][1] += 1
        elif listed is None:
            self._rewards[None] = [np.nan, 1, loop.step]
            self._reward_places.append("many")
        else:
            self._rewards[listed] = [listed, 1, loop.step]
            names = loop.agent.action_names
            action = f"{loop.action} ({names[loop.action]})" if names else str(loop.action)
            self._reward_places.append(f"action {action} in state {loop.env.describe(loop.state)}")

    def arrays(self, n_states: int) -> dict[str, NDArray[Any]]:
        """Return everything recorded, as fields of a `Result`."""
        dynamics = self._dynamics
        first_visit = np.full(n_states, -1, np.int64)
        first_visit[list(self._first_visit)] = list(self._first_visit.values())
        counts = [] if len(self._counts) > MAX_OUTCOMES else self._counts.items()
        return {
            "outcomes": np.array([(*o, n, total / n) for o, (n, total) in counts], np.float64).reshape(-1, 5),
            "starts": np.array(list(self._starts.items()), np.float64).reshape(-1, 2),
            "hidden": self._hidden.counts,
            "time_penalty": np.array(self._time_penalty, np.float64),
            "first_visit": first_visit,
            "episodes": np.array(self._episodes, np.float64).reshape(-1, 4),
            "rewards": np.array(list(self._rewards.values()), np.float64).reshape(-1, 3),
            "reward_places": np.array(self._reward_places, np.str_),
            "pairs": np.array(
                [len(dynamics.repeated_pairs), len(dynamics.stochastic_pairs), len(dynamics.starts)], np.int64
            ),
        }
