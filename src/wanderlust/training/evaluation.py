"""Evaluation of the greedy policy, after or during training."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, check_integer, check_number
from wanderlust.envs.make import make_environment
from wanderlust.envs.saved import remake_environment
from wanderlust.envs.tabular import Tabular, tabular
from wanderlust.training.callbacks import Callback
from wanderlust.training.loop import TrainingLoop, call_environment, checked_reward

MAX_EPISODE_STEPS = 10_000


def evaluate(
    agent: Agent, env: Env[Any, Any] | str | None = None, *, episodes: int = 10, seed: int = 0
) -> NDArray[np.float64]:
    """Return the undiscounted returns of episodes of the greedy policy. The agent does not learn from them.

    `env` is an environment like the one that the agent was trained in, or its name; if it is not given, a new one is
    made. Ties are broken at random. Episodes are truncated after 10,000 steps.
    """
    env = evaluation_env(agent, env)
    random = np.random.default_rng(check_integer("seed", seed, low=0))
    returns = np.zeros(check_integer("episodes", episodes, low=1))
    for i in range(len(returns)):
        returns[i] = _episode_return(agent, env, i + 1, seed if i == 0 else None, random)
    return returns


def evaluation_env(agent: Agent, env: Env[Any, Any] | str | None = None) -> Tabular:
    """Return an environment whose states have the indices that they have for the agent."""
    if agent.encoding is None:
        if env is None:
            raise InvalidSetting("evaluate needs env: this agent was not trained by `learn`, so it has no environment.")
        return env if isinstance(env, Tabular) else tabular(env)
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


def _episode_return(agent: Agent, env: Tabular, episode: int, seed: int | None, random: np.random.Generator) -> float:
    """Return the undiscounted return of one episode."""
    where = f"of evaluation episode {episode} (after {agent.steps:,} training steps)"
    total = 0.0
    state, _ = call_environment(env, lambda: env.reset(seed=seed), lambda: f"reset {where}")
    for step in range(1, MAX_EPISODE_STEPS + 1):
        take_step = partial(_transition, env, _greedy_action(agent, state, random))
        state, reward, is_over = call_environment(env, take_step, partial("step {} {}".format, step, where))
        total += reward
        if is_over:
            break
    return total


def _transition(env: Tabular, action: int) -> tuple[int, float, bool]:
    state, reward, terminated, truncated, _ = env.step(action)
    return state, checked_reward(reward), bool(terminated or truncated)


def _greedy_action(agent: Agent, state: int, random: np.random.Generator) -> int:
    values = agent.action_values(state)
    best = np.flatnonzero(values == values.max())
    return int(best[0] if len(best) == 1 else random.choice(best))


class Evaluation(NamedTuple):
    """The returns of the greedy policy after a training step."""

    step: int
    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())


class EvaluateEvery(Callback):
    """Evaluates the greedy policy every `steps` steps in a separate environment; `history` has all results."""

    def __init__(self, steps: int, *, episodes: int = 10, env: Env[Any, Any] | None = None, seed: int = 0) -> None:
        self.every = check_integer("steps", steps, low=1)
        self.episodes = check_integer("episodes", episodes, low=1)
        self.seed = check_integer("seed", seed, low=0)
        self.history: list[Evaluation] = []
        self._user_env = env
        self._env: Tabular | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Create the evaluation environment, a copy of the training environment."""
        self._env = call_environment(loop.env, lambda: loop.env.copy(self._user_env), lambda: "its copy for evaluation")

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Evaluate every `every` steps."""
        if loop.step % self.every:
            return None
        assert self._env is not None
        evaluation = Evaluation(loop.step, evaluate(loop.agent, self._env, episodes=self.episodes, seed=self.seed))
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
