"""A loop: an agent, the environment it learns in, and where they are."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import EnvironmentFailed, InvalidObservation, WanderlustError
from wanderlust.envs.tabular import Tabular
from wanderlust.training.adaptive import TaskEstimate, options_for, outlook
from wanderlust.training.idle_actions import IdleActions
from wanderlust.training.time_penalty import TimePenalty

RECENT_EPISODES = 100


class TrainingLoop:
    """What callbacks see: the agent, the environment, the latest transition, the episodes so far."""

    def __init__(
        self, env: Tabular, agent: Agent, *, steps: int, estimates_rewards: bool, adapts: Sequence[str] = ()
    ) -> None:
        self.env = env
        self.agent = agent
        self.steps = steps
        """The step at which learning ends."""
        self.estimates_rewards = estimates_rewards
        """Whether the rewards' range follows what is seen."""
        self.adapts = tuple(adapts)
        """Which of the explorer's options follow what is seen."""
        self.expected = TaskEstimate(agent.reward_range, is_stochastic=False, stage=0)
        """What they follow from."""
        self.clock: TimePenalty | None = None
        """How rewards fall with the steps of an episode; None if that is not looked for."""
        self.idleness: IdleActions | None = None
        """Which actions mostly do nothing; None if that is not heeded."""
        self.episode = 0
        """How many episodes are over."""
        self.episode_return, self.episode_steps = 0.0, 0
        """Sum of rewards and length of the episode under way, or of the latest one if it is over."""
        self.recent_returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        """What the latest episodes have returned, undiscounted."""
        self.state, self.action, self.reward, self.next_state = 0, 0, 0.0, 0
        """The latest transition."""
        self.over = True
        """Whether the episode is over, so that the next step begins another."""
        self.terminated, self.truncated = False, False
        self.info: dict[str, Any] = {}
        self.measures: dict[str, float] = {}
        """What callbacks have measured, by name: the latest of each."""
        self.episode_begin: dict[str, Any] | None = None
        """What the episode's chance began with; see `wanderlust.training.checkpoints`."""
        self.episode_actions: list[int] = []

    @property
    def step(self) -> int:
        """How many steps the agent has learnt from, earlier lessons included."""
        return self.agent.steps

    def begin_episode(self, seed: int | None = None) -> None:
        """Reset the environment, from a seed if one is given, otherwise from where its own chance has come to."""
        self.episode_begin = random_state_of(self.env) if seed is None else {"seed": seed}
        self.episode_actions = []
        self.next_state, self.info = self._ask("reset", lambda: self.env.reset(seed=seed))
        self.episode_return, self.episode_steps = 0.0, 0
        self.over = self.terminated = self.truncated = False

    def take_step(self) -> None:
        """Let the agent act once and learn from what comes of it."""
        agent, state = self.agent, self.next_state
        action = agent.act(state)
        following, paid, terminated, truncated, info = self._ask("step", lambda: self.env.step(action))
        reward = self._checked_reward(paid)
        worth = self._worth(reward) if terminated and reward > 0.0 else reward
        self._expect(worth)
        agent.observe(state, action, worth, following, terminated, truncated)
        if self.idleness is not None and not self.expected.is_stochastic:
            self.idleness.heed(agent, state, action, None if terminated else following, reward)
        self.state, self.action, self.reward, self.next_state = state, action, reward, following
        self.terminated, self.truncated, self.info = bool(terminated), bool(truncated), info
        self.episode_actions.append(action)
        self.episode_return += reward
        self.episode_steps += 1
        self.over = self.terminated or self.truncated
        if self.over:
            self.episode += 1
            self.recent_returns.append(self.episode_return)

    def _expect(self, reward: float) -> None:
        """Let the agent follow what has been seen: the rewards' range, and whether actions have several outcomes."""
        agent = self.agent
        low, high = seen = agent.reward_range
        if self.estimates_rewards:
            low, high = (low, high) if self.step > 0 else (reward, reward)
            seen = (min(low, reward), max(high, reward))
        expected = outlook(agent, seen) if self.adapts else TaskEstimate(seen, is_stochastic=False, stage=0)
        if expected != self.expected:
            self.expected = expected
            in_bins = self.env.encoder_options["bins"] is not None
            agent.adapt(seen, **options_for(agent, expected, self.adapts, in_bins=in_bins))

    def _worth(self, reward: float) -> float:
        """Return what the agent is to learn from a reward at an episode's end, late or not."""
        if self.clock is None:
            return reward
        step, knew = self.episode_steps + 1, self.clock.falls
        self.clock = self.clock.after(step, reward)
        worth = self.clock.at_once(step, reward)
        if self.clock.falls and not knew:
            self.agent.replace_terminal_rewards(worth)
        return worth

    def save(self, path: str | Path) -> None:
        """Write agent and loop to a file, from which `learn(env, resume=path)` goes on as if it had never stopped."""
        from wanderlust.training import checkpoints

        checkpoints.save(self, Path(path))

    def _ask(self, what: str, call: Callable[[], Any]) -> Any:
        """Return the environment's answer; an error of its own becomes ours, with what was being done."""
        try:
            return call()
        except WanderlustError as error:
            raise type(error)(f"{self.env.name}, in {self._when(what)} cannot be learnt from: {error}") from error
        except Exception as error:
            raise EnvironmentFailed(
                f"{self.env.name} failed in {self._when(what)} with {type(error).__name__}: {error}."
            ) from error

    def _when(self, what: str) -> str:
        """Return what the environment was asked for and when."""
        which = f"{what} {self.episode_steps + 1}" if what == "step" else what
        return f"{which} of episode {self.episode + 1}, after {self.step:,} steps in all,"

    def _checked_reward(self, reward: Any) -> float:
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InvalidObservation(
                f"{self.env.name} paid the reward {reward!r} in {self._when('step')} but rewards are finite numbers."
            )
        return number


def random_state_of(env: Tabular) -> dict[str, Any] | None:
    """Return the state of the environment's random numbers, or None if they are not NumPy's."""
    generator = getattr(env.unwrapped, "np_random", None)
    if not isinstance(generator, np.random.Generator):
        return None
    return {"chance": generator.bit_generator.state}
