"""What the greedy policy is worth, now and then while learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import InvalidSetting, check_integer, check_number
from wanderlust.envs.tabular import Tabular
from wanderlust.training.callbacks import Callback
from wanderlust.training.loop import TrainingLoop

LONGEST_EPISODE = 10_000


def evaluate(agent: Agent, env: Tabular | None = None, *, episodes: int = 10, seed: int = 0) -> NDArray[np.float64]:
    """Return what each of some episodes of the greedy policy returns, undiscounted; nothing is learnt from them.

    Best actions that are equally good are drawn at random. Without `env`, it is done in a second environment like the
    one in which the agent was taught. An episode that nothing else ends is cut off after 10,000 steps.
    """
    if env is None and agent.env is None:
        raise InvalidSetting("evaluate needs env: this agent was not taught by `learn`, so it knows of none.")
    env = agent.env.copy() if env is None else env
    random = np.random.default_rng(check_integer("seed", seed, low=0))
    returns = np.zeros(check_integer("episodes", episodes, low=1))
    for i in range(len(returns)):
        state, _ = env.reset(seed=seed if i == 0 else None)
        for _ in range(LONGEST_EPISODE):
            state, reward, terminated, truncated, _ = env.step(_greedy(agent, state, random))
            returns[i] += float(reward)
            if terminated or truncated:
                break
    return returns


def _greedy(agent: Agent, state: int, random: np.random.Generator) -> int:
    values = agent.action_values(state)
    best = np.flatnonzero(values == values.max())
    return int(best[0] if len(best) == 1 else random.choice(best))


class Evaluation(NamedTuple):
    """What the greedy policy returned after a step."""

    step: int
    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over the episodes."""
        return float(self.returns.mean())


class EvaluateEvery(Callback):
    """Evaluates the greedy policy every so many steps, in an environment of its own; `history` has all results."""

    def __init__(self, steps: int, *, episodes: int = 10, env: Env[Any, Any] | None = None, seed: int = 0) -> None:
        self.every = check_integer("steps", steps, low=1)
        self.episodes = check_integer("episodes", episodes, low=1)
        self.seed = check_integer("seed", seed, low=0)
        self.history: list[Evaluation] = []
        self._given = env
        self._env: Tabular | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Make the environment to evaluate in, like the one to learn in."""
        self._env = loop.env.copy(self._given)

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Evaluate when it is time."""
        if loop.step % self.every:
            return None
        assert self._env is not None
        found = Evaluation(loop.step, evaluate(loop.agent, self._env, episodes=self.episodes, seed=self.seed))
        self.history.append(found)
        loop.measures["evaluation"] = found.mean
        return self.is_enough(found)

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the environment."""
        if self._env is not None and self._given is None:
            self._env.close()

    def is_enough(self, found: Evaluation) -> bool | None:
        """Return False to end the loop; here, never."""
        return None


class StopWhenSolved(EvaluateEvery):
    """Ends the loop once the greedy policy's mean return reaches a threshold: the environment's own if not given."""

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
        """Take the environment's threshold if none is given."""
        super().on_start(loop)
        if self.threshold is None:
            spec = loop.env.env.spec
            if spec is None or spec.reward_threshold is None:
                name = loop.env.name
                raise InvalidSetting(f"{name} does not say when it is solved; give StopWhenSolved(threshold).")
            self.threshold = float(spec.reward_threshold)

    def is_enough(self, found: Evaluation) -> bool | None:
        """End the loop at the threshold."""
        assert self.threshold is not None
        if found.mean < self.threshold:
            return None
        self.solved_at = found.step
        return False
