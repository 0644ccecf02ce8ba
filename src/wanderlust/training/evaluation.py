"""Evaluation of the greedy policy: once, and repeatedly during training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from numpy.typing import ArrayLike, NDArray

from wanderlust.agents.agent import Agent, one_of
from wanderlust.agents.settings import MAX_EPISODES
from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, check_instance, check_integer, check_number
from wanderlust.core.planning import episode_returns, uniform_over_ties
from wanderlust.environments.make import make_environment
from wanderlust.environments.model import known_model
from wanderlust.environments.tabular import Tabular, remake_environment, tabular
from wanderlust.learning.td import TARGET
from wanderlust.training.callbacks import Callback
from wanderlust.training.loop import TrainingLoop, call_environment, checked_reward, environment_error

MAX_EPISODE_STEPS = 10_000
MIN_REPEATS, MIN_EPISODES = 30, 2
"""The repeated visits of pairs, and the episodes, from which an environment can be called deterministic."""
MAX_ADAPTIVE_EPISODES, PRECISION = 100, 0.1
"""An adaptive evaluation ends after this many episodes, or earlier if its 95 % interval is narrow: ± this fraction of
the range of returns seen."""
_NORMAL_95, _ADDED = 1.96, 2


def evaluate(
    agent: Agent, env: Env[Any, Any] | str | None = None, *, episodes: int = 10, seed: int = 0
) -> NDArray[np.float64]:
    """Return the undiscounted returns of episodes of the greedy policy. The agent does not learn from them.

    `env` is an environment like the one that the agent was trained in, or its name; if it is not given, a new one is
    made. Ties are broken at random. Episodes are truncated after 10,000 steps.
    """
    env = evaluation_env(agent, env)
    random = np.random.default_rng(check_integer("seed", seed, low=0))
    returns = np.zeros(check_integer("episodes", episodes, low=1, high=MAX_EPISODES))
    for i in range(len(returns)):
        returns[i], _ = run_episode(agent, env, i + 1, seed if i == 0 else None, random)
    return returns


def evaluation_env(agent: Agent, env: Env[Any, Any] | str | None = None) -> Tabular:
    """Return an environment whose states have the indices that they have for the agent."""
    check_instance("agent", agent, Agent)
    if agent.encoding is None:
        if env is None:
            raise InvalidSetting("evaluate needs env: this agent was not trained by `learn`, so it has no environment.")
        env = env if isinstance(env, Tabular) else tabular(env)
        sizes = (("actions", agent.n_actions, env.n_actions), ("states", agent.n_states, env.fixed_n_states))
        for what, here, there in sizes:
            if here is not None and there is not None and here != there:
                raise InvalidEnvironment(f"the agent has {here:,} {what}, but {env.name} has {there:,}.")
        return env
    if env is None:
        return agent.env.copy() if agent.env is not None else _encoded(remake_environment(agent.environment), agent)
    if not isinstance(env, Tabular):
        return _encoded(make_environment(env), agent)
    difference = agent.encoding.difference(env.encoding)
    if difference is not None:
        raise InvalidEnvironment(f"the agent was trained in another environment: for the agent, {difference}.")
    return env if env.encoding is agent.encoding else _encoded(env.env, agent)


def _encoded(env: Env[Any, Any], agent: Agent) -> Tabular:
    saved = agent.environment or {}
    encoded = Tabular(env, encoding=agent.encoding, reset_seed=saved.get("reset_seed"))
    encoded.adds_new_states = False
    return encoded


def run_episode(
    agent: Agent,
    env: Tabular,
    number: int,
    seed: int | None,
    random: np.random.Generator,
    remaining_return: Callable[[int, list[float]], float | None] | None = None,
) -> tuple[float, bool]:
    """Run one episode of the greedy policy; return its return and whether an action was drawn from several greedy ones.

    If a state repeats, `remaining_return`, if given, is called with the step and the rewards since then, and returns
    the return of all further steps, or None if it does not know it.
    """
    where = f"of evaluation episode {number} (after {agent.steps:,} training steps)"
    total, had_tie = 0.0, False
    rewards: list[float] = []
    last_step: dict[int, int] = {}
    state, info = call_environment(env, lambda: env.reset(seed=seed), lambda: f"reset {where}")
    for step in range(1, MAX_EPISODE_STEPS + 1):
        if remaining_return is not None and not had_tie:
            if state in last_step and (rest := remaining_return(step, rewards[last_step[state] :])) is not None:
                return total + rest, had_tie
            last_step[state] = len(rewards)
        try:
            best = agent.greedy_actions(state, env.action_mask(info) if agent.uses_masks else None)
            had_tie |= len(best) > 1
            state, reward, terminated, truncated, info = env.step(one_of(best, random))
            rewards.append(checked_reward(reward))
        except Exception as error:
            raise environment_error(env, error, f"step {step} {where}") from error
        total += rewards[-1]
        if terminated or truncated:
            break
    return total, had_tie


class ObservedDynamics:
    """The outcomes of all state-action pairs that training has taken, and the first states of its episodes."""

    def __init__(self) -> None:
        self.repeated_pairs: set[tuple[int, int]] = set()
        """The pairs that were taken more than once."""
        self.stochastic_pairs: set[tuple[int, int]] = set()
        """Those of them that had different next states or rewards."""
        self.repeats = 0
        """The number of times that a pair was taken again."""
        self.starts: set[int] = set()
        """The first states of episodes."""
        self.episodes = 0
        """The number of episodes that have begun."""
        self.shortest_truncation: int | None = None
        """The length of the shortest truncated episode."""
        self.return_range = (math.inf, -math.inf)
        """The smallest and the largest return of an episode."""
        self._first_outcome: dict[tuple[int, int], tuple[int, float, bool, int]] = {}
        self._has_random_outcomes = False

    def record(self, loop: TrainingLoop) -> None:
        """Record the latest transition."""
        if loop.episode_steps == 1:
            self.episodes += 1
            self.starts.add(loop.state)
        if loop.terminated or loop.truncated:
            self.widen_range(loop.episode_return)
        if loop.truncated:
            self.shortest_truncation = min(loop.episode_steps, self.shortest_truncation or loop.episode_steps)
        pair = (loop.state, loop.action)
        # The next state has no effect after termination.
        next_state = -1 if loop.terminated else loop.next_state
        first = self._first_outcome.get(pair)
        if first is None:
            self._first_outcome[pair] = (next_state, loop.reward, loop.terminated, loop.episode_steps)
            return
        self.repeats += 1
        self.repeated_pairs.add(pair)
        if first[:3] != (next_state, loop.reward, loop.terminated):
            self.stochastic_pairs.add(pair)
            # A terminal reward may depend on the time, as in MiniGrid.
            depends_on_time = loop.terminated and first[2] and first[3] != loop.episode_steps
            self._has_random_outcomes |= not depends_on_time

    def widen_range(self, episode_return: float) -> None:
        """Include the return of an episode in `return_range`."""
        low, high = self.return_range
        self.return_range = min(low, episode_return), max(high, episode_return)

    @property
    def is_deterministic(self) -> bool:
        """Whether everything observed so far, and that is enough, had one start and one outcome per pair."""
        is_enough = self.episodes >= MIN_EPISODES and self.repeats >= MIN_REPEATS
        return is_enough and not self._has_random_outcomes and len(self.starts) == 1


def mean_interval(returns: ArrayLike, low: float, high: float) -> tuple[float, float]:
    """Return the center and the half-width of the 95 % interval of a mean of returns from `low` to `high`.

    It is that of Agresti and Coull (1998), for returns that need not be 0 or 1: two episodes with the lowest and two
    with the highest return are added. Unlike the plain interval it is not empty if all returns are equal, so that a
    rare reward is not missed.
    """
    added = np.concatenate([np.asarray(returns, np.float64), [low] * _ADDED, [high] * _ADDED])
    return float(added.mean()), float(_NORMAL_95 * added.std() / math.sqrt(len(added)))


def is_precise(returns: ArrayLike, low: float, high: float) -> bool:
    """Return whether the mean of returns from `low` to `high` is known well enough: the rule for when to stop."""
    return mean_interval(returns, low, high)[1] <= PRECISION * (high - low)


class RepeatedEvaluation:
    """Evaluates the greedy policy in a copy of the training environment, without the steps whose result is known.

    Evaluations are often more expensive than the training between them: a policy that does not reach the goal runs
    until the time limit, in each of several episodes. Three of these costs are avoided.

    * A greedy policy that has not changed has the same returns: every evaluation uses the same seed.
    * If training has shown one start state and one outcome per action (see `dynamics`), and no action of an episode was
      drawn from several greedy ones, all episodes are the same.
    * In such an episode a state that repeats is repeated until the time limit.

    If it is `adaptive`, a policy that needs several episodes has one return instead, its exact expected value, if the
    environment's model is known; otherwise it runs at least `episodes` and more until the mean `is_precise`.
    """

    def __init__(self, env: Tabular, episodes: int, seed: int, *, adaptive: bool = False) -> None:
        self.env = env
        self._max_episodes = max(episodes, MAX_ADAPTIVE_EPISODES) if adaptive else episodes
        self._model = known_model(env) if adaptive and env.horizon is not None else None
        self._has_stochastic_model = self._model is not None and not self._model.mdp.deterministic_with_one_start
        self.dynamics = ObservedDynamics()
        self._episodes, self._seed = episodes, seed
        self._latest: tuple[bytes, bool, NDArray[np.float64]] | None = None
        """The policy evaluated last, whether the environment appeared deterministic, and the returns."""
        self._tied: bytes | None = None
        """The latest policy with a tie whose first episode was not better than the best policy."""

    def improved_return(self, agent: Agent, best: float) -> float | None:
        """Return the mean return of the policy if it is larger than `best`, else None.

        It is None as well if the policy has not changed, or if several episodes would be needed to know more.
        """
        if not self._is_deterministic or (policy := _greedy_policy(agent)) == self._tied:
            return None
        if self._latest is not None and self._latest[0] == policy:
            return None
        random = np.random.default_rng(self._seed)
        mean, had_tie = run_episode(agent, self.env, 1, self._seed, random, self._remaining_return)
        if not had_tie:
            self._latest = policy, True, np.full(self._episodes, mean)
        elif mean > best:
            mean = float(self.returns(agent).mean())
        else:
            self._tied = policy
        return mean if mean > best else None

    def returns(self, agent: Agent) -> NDArray[np.float64]:
        """Return the undiscounted returns of the episodes, as `wanderlust.evaluate` does, or the exact mean."""
        policy, is_deterministic = _greedy_policy(agent), self._is_deterministic
        # What was taken for deterministic may have turned out not to be.
        if self._latest is not None and self._latest[0] == policy and self._latest[1] <= is_deterministic:
            return self._latest[2].copy()
        random = np.random.default_rng(self._seed)
        is_same = is_deterministic or self.env.reset_seed is not None
        shortcut = self._remaining_return if is_deterministic else None
        totals: list[float] = []
        # A model has no masks. Its time limit must be that of the environment, as far as observed.
        has_limit = self.dynamics.shortest_truncation in (None, self.env.horizon)
        has_model = self._model is not None and has_limit and not agent.uses_masks
        is_exact = has_model and not is_same
        while not is_exact and len(totals) < self._max_episodes:
            if len(totals) >= self._episodes and is_precise(totals, *self.dynamics.return_range):
                break
            seed = None if totals else self._seed
            total, had_tie = run_episode(agent, self.env, len(totals) + 1, seed, random, shortcut)
            totals.append(total)
            self.dynamics.widen_range(total)
            if is_same and not had_tie:
                totals += [total] * (self._episodes - len(totals))
                break
            is_exact = has_model
        returns = np.array([self._exact_return(agent)] if is_exact else totals)
        self._latest = policy, is_deterministic, returns
        return returns.copy()

    @property
    def _is_deterministic(self) -> bool:
        """Whether the environment appears deterministic, and the model, if it is known, does not contradict."""
        return self.dynamics.is_deterministic and not self._has_stochastic_model

    def _exact_return(self, agent: Agent) -> float:
        """Return the expected return of the greedy policy, with ties uniform, within the time limit."""
        assert self._model is not None
        assert self.env.horizon is not None
        q = np.zeros((self._model.n_states, self._model.n_actions))  # States that are unknown to the agent are ties.
        q[: len(agent.state_index)] = agent.tables["target"]
        horizon = min(self.env.horizon, MAX_EPISODE_STEPS)
        return float(episode_returns(self._model.mdp, [uniform_over_ties(q)], horizon)[0])

    def _remaining_return(self, step: int, cycle: list[float]) -> float | None:
        """Return the return from a step on if these rewards repeat until the time limit; None if that is unknown."""
        if not any(cycle):
            return 0.0
        horizon, shortest = self.env.horizon, self.dynamics.shortest_truncation
        if horizon is None or (shortest is not None and shortest < horizon):
            return None  # The environment has a limit of its own.
        n_steps = min(horizon, MAX_EPISODE_STEPS) - (step - 1)
        whole, part = divmod(n_steps, len(cycle))
        return whole * sum(cycle) + sum(cycle[:part])


def _greedy_policy(agent: Agent) -> bytes:
    """Return the greedy actions of all states as bits; states whose actions are all tied count as unknown."""
    learner, n_actions = agent.learner, agent.n_actions
    first, last = n_actions, n_actions * (1 + int(learner.counters.n_states))
    values = learner.values[TARGET, first:last].reshape(-1, n_actions)
    best = values == values.max(axis=1, keepdims=True)
    best[best.all(axis=1)] = False
    return np.packbits(best).tobytes().rstrip(b"\0")


class Evaluation(NamedTuple):
    """The returns of the greedy policy after a training step."""

    step: int
    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())


class EvaluateEvery(Callback):
    """Evaluates the greedy policy every `steps` steps in a separate environment; `history` has all results.

    Without `env`, that is a copy of the training environment; see `RepeatedEvaluation`.
    """

    def __init__(self, steps: int, *, episodes: int = 10, env: Env[Any, Any] | None = None, seed: int = 0) -> None:
        self.every = check_integer("steps", steps, low=1)
        self.episodes = check_integer("episodes", episodes, low=1, high=MAX_EPISODES)
        self.seed = check_integer("seed", seed, low=0)
        self.history: list[Evaluation] = []
        self.evaluator: RepeatedEvaluation | None = None
        self._user_env = env
        self._env: Tabular | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Create the evaluation environment, a copy of the training environment."""
        self._env = call_environment(loop.env, lambda: loop.env.copy(self._user_env), lambda: "its copy for evaluation")
        if self._user_env is None:
            self.evaluator = RepeatedEvaluation(self._env, self.episodes, self.seed)

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Evaluate every `every` steps."""
        if self.evaluator is not None:
            self.evaluator.dynamics.record(loop)
        if loop.step % self.every:
            return None
        assert self._env is not None
        if self.evaluator is not None:
            returns = self.evaluator.returns(loop.agent)
        else:
            returns = evaluate(loop.agent, self._env, episodes=self.episodes, seed=self.seed)
        evaluation = Evaluation(loop.step, returns)
        self.history.append(evaluation)
        loop.metrics["evaluation"] = evaluation.mean
        return self.on_evaluation(evaluation)

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the evaluation environment."""
        if self._env is not None and self._user_env is None:
            call_environment(self._env, self._env.close, lambda: "close after evaluation")

    def on_evaluation(self, evaluation: Evaluation) -> bool | None:
        """Called after every evaluation; return False to stop training."""
        return None


class StopWhenSolved(EvaluateEvery):
    """Stops training once the greedy policy's mean return reaches a threshold, by default the environment's."""

    def __init__(
        self,
        threshold: float | None = None,
        *,
        every: int = 1_000,
        episodes: int = 20,
        env: Env[Any, Any] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(every, episodes=episodes, env=env, seed=seed)
        self.threshold = None if threshold is None else check_number("threshold", threshold)
        self.solved_at: int | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Use the environment's threshold if none is given."""
        super().on_start(loop)
        if self.threshold is None:
            spec = loop.env.env.spec
            if spec is None or spec.reward_threshold is None:
                name = loop.env.name
                raise InvalidSetting(f"{name} has no reward threshold; give StopWhenSolved(threshold).")
            self.threshold = float(spec.reward_threshold)

    def on_evaluation(self, evaluation: Evaluation) -> bool | None:
        """Stop training at the threshold."""
        assert self.threshold is not None
        if evaluation.mean < self.threshold:
            return None
        self.solved_at = evaluation.step
        return False
