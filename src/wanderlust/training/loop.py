"""The training loop: an agent, an environment and the current position in the episode."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.agents.history import TrainingCurves
from wanderlust.agents.masks import Mask, checked_mask
from wanderlust.core.errors import (
    EnvironmentFailed,
    InvalidReward,
    WanderlustError,
    check_flag,
    check_instance,
    check_integer,
    check_list,
    shown,
)
from wanderlust.environments.tabular import Tabular
from wanderlust.training.adaptive import Discovery, TaskEstimate, TimePenalty, adapt, estimate_task, next_estimate

RECENT_EPISODES = 100
MAX_REWARD = 1e100
"""The largest size of a reward. Sums, value ranges and bounds of larger ones could overflow."""
MAX_EXACT = 2**53
"""All integers up to this size are floats, too."""

_OLD_API = (
    "Its step returns 4 values, as in the old Gym; Gymnasium's step returns observation, reward, terminated, "
    "truncated, info."
)

T = TypeVar("T")


class TrainingLoop:
    """What callbacks receive: the agent, the environment, the latest transition and episode statistics."""

    def __init__(
        self, env: Tabular, agent: Agent, *, steps: int, estimates_reward_range: bool, adapted: Sequence[str] | None
    ) -> None:
        self.env = check_instance("env", env, Tabular)
        self.agent = check_instance("agent", agent, Agent)
        self.steps = steps
        """The step at which training ends."""
        self.estimates_reward_range = estimates_reward_range
        """Whether the reward range is estimated from the observed rewards."""
        self.adapted = None if adapted is None else tuple(check_list("adapted", adapted, str))
        """The explorer's fields that follow `task_estimate`; None unless the preset is `adaptive`."""
        self.task_estimate = TaskEstimate(agent.reward_range, is_stochastic=False, stage=0)
        self._next_estimate = 0
        """The step at which the estimate may change although nothing new was observed."""
        self.discovery = Discovery()
        """What was discovered so far; pairs are counted if `adapted` is not empty."""
        self.time_penalty: TimePenalty | None = None
        """The estimated time penalty of terminal rewards; None if it is not estimated."""
        self.episode = 0
        """The number of finished episodes."""
        self.episode_return, self.episode_steps = 0.0, 0
        """Undiscounted return and length of the current episode, or of the latest one if it is over."""
        self.recent_returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        """The undiscounted returns of the latest episodes."""
        self.state, self.action, self.reward, self.next_state = 0, 0, 0.0, 0
        """The latest transition."""
        self.episode_over = True
        """Whether the episode is over, so that the next step starts another one."""
        self.terminated, self.truncated = False, False
        self.info: dict[str, Any] = {}
        self.metrics: dict[str, float] = {}
        """The latest values that callbacks have measured, by name."""
        self.episode_start: dict[str, Any] | None = None
        """The seed or random state at the start of the episode; see `wanderlust.training.checkpoints`."""
        self.episode_actions: list[int] = []
        self.uses_masks = False
        """Whether only valid actions are taken, those of the environment's masks."""
        self.warns_of_states = True
        """Whether there is a warning if states seldom repeat; a callback that reports it can set this to False."""
        self.between_steps = True
        """Whether the loop can be saved: no step has begun, or all of its effects have been recorded."""
        if agent.curves is None:
            agent.curves = TrainingCurves()
        self.curves = agent.curves
        """What the agent's `history` shows."""

    @property
    def step(self) -> int:
        """The number of steps that the agent has learnt from, including those before a resume."""
        return self.agent.steps

    def begin_episode(self, seed: int | None = None) -> None:
        """Reset the environment; without a seed, its random number generator continues.

        If the environment fails, the loop is unchanged.
        """
        seed = None if seed is None else check_integer("seed", seed, low=0)
        start: dict[str, Any] | None = {"seed": seed}
        if seed is None:
            bits = random_bits(self.env)
            start = None if bits is None else {"random_state": bits.state}
        state, info = call_environment(self.env, lambda: self.env.reset(seed=seed), lambda: self._position("reset"))
        self.between_steps = False
        self.next_state, self.info = state, info
        self.episode_start, self.episode_actions = start, []
        self.episode_return, self.episode_steps = 0.0, 0
        self.episode_over = self.terminated = self.truncated = False
        self.between_steps = True

    def choose_action(self) -> int:
        """Return the action that the agent takes in the current state; the loop is not between two steps then."""
        self.between_steps = False
        try:
            mask = None
            if self.uses_masks:
                mask = call_environment(self.env, self._valid_actions, lambda: self._position("step"))
            return self.agent.act(self.next_state, mask)
        except BaseException:
            self._undo_choice()
            raise

    def _undo_choice(self) -> None:
        """Go back to before the choice; the environment is restored when the episode is replayed."""
        self.agent.undo_choice()
        self.between_steps = True

    def complete_step(self, action: int) -> None:
        """Take the action in the environment and update the agent.

        If the environment fails or is interrupted, the agent is unchanged.
        """
        agent, state = self.agent, self.next_state
        try:
            next_state, reward, terminated, truncated, info = self._transition(action)
        except BaseException:
            self._undo_choice()
            raise
        learning_reward = self._without_time_penalty(reward) if terminated and reward > 0.0 else reward
        self._adapt(learning_reward)
        agent.observe(state, action, learning_reward, next_state, terminated, truncated)
        self.state, self.action, self.reward, self.next_state = state, action, reward, next_state
        self.terminated, self.truncated, self.info = terminated, truncated, info
        self.episode_actions.append(action)
        self.episode_return += reward
        self.episode_steps += 1
        self.episode_over = terminated or truncated
        if self.episode_over:
            self.episode += 1
            self.recent_returns.append(self.episode_return)
        curves, step = self.curves, agent.steps
        if state not in curves.first_visits:
            curves.first_visits[state] = step - 1
        if step >= curves.next_step:
            curves.add(step, self.recent_returns, agent.discovered)
        self.between_steps = True

    def _valid_actions(self) -> Mask:
        return checked_mask(self.env.action_mask(self.info), self.env.n_actions)

    def _transition(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action in the environment and check what it returns."""
        try:
            state, reward, terminated, truncated, info = self.env.step(action)
            # The type checks come first, because calls of functions are what takes time here.
            if terminated is not False and terminated is not True:
                terminated = check_flag("terminated", terminated)
            if truncated is not False and truncated is not True:
                truncated = check_flag("truncated", truncated)
            if type(reward) is not float or not -MAX_REWARD <= reward <= MAX_REWARD:
                reward = checked_reward(reward)
        except Exception as error:
            raise environment_error(self.env, error, self._position("step")) from error
        return state, reward, terminated, truncated, info

    def _adapt(self, reward: float) -> None:
        """Update the estimate of the task; if it has changed, adapt the agent's reward range and options."""
        agent, known, discovery = self.agent, self.task_estimate, self.discovery
        is_known = discovery.low <= reward <= discovery.high and agent.is_stochastic == known.is_stochastic
        if is_known and agent.steps < self._next_estimate:
            return
        self.discovery = discovery = discovery.with_rewards(reward, reward, first=agent.steps == 0)
        reward_range = (discovery.low, discovery.high) if self.estimates_reward_range else agent.reward_range
        task = TaskEstimate(reward_range, is_stochastic=False, stage=0)
        if self.adapted:
            self.discovery = discovery.updated(agent, self.curves.first_visit_steps)
            task = estimate_task(agent, reward_range, self.discovery)
        self._next_estimate = next_estimate(agent, self.discovery)
        if task != self.task_estimate:
            self.task_estimate = task
            adapt(agent, task, self.adapted or (), binned=self.env.is_binned)

    def _without_time_penalty(self, reward: float) -> float:
        """Return the reward that the agent learns from at the end of an episode."""
        if self.time_penalty is None:
            return reward
        step, was_detected = self.episode_steps + 1, self.time_penalty.detected
        self.time_penalty = self.time_penalty.updated(step, reward)
        corrected = self.time_penalty.without_penalty(step, reward)
        if self.time_penalty.detected and not was_detected:
            self.agent.replace_terminal_rewards(corrected)
        return corrected

    def save(self, path: str | Path) -> None:
        """Write a checkpoint; `learn(env, resume=path)` continues as if training had not been interrupted.

        `Agent.load` reads the agent alone from it.
        """
        from wanderlust.training import checkpoints

        if not self.between_steps:
            raise WanderlustError(f"{path}: not saved, since the agent was interrupted while it learnt from a step.")
        self.agent.resumable = checkpoints.described(self)
        self.agent.save(path)

    def _position(self, method: str) -> str:
        """Return the current position, such as "step 3 of episode 2 (after 40 steps in total)"."""
        call = f"{method} {self.episode_steps + 1}" if method == "step" else method
        return f"{call} of episode {self.episode + 1} (after {self.step:,} steps in total)"


def random_bits(env: Tabular) -> np.random.PCG64 | None:
    """Return the random bits of an environment, of the only kind whose state is saved: that of Gymnasium."""
    bits = getattr(getattr(env.unwrapped, "np_random", None), "bit_generator", None)
    return bits if isinstance(bits, np.random.PCG64) else None


def call_environment(env: Tabular, call: Callable[[], T], position: Callable[[], str]) -> T:
    """Return the result of a call of the environment; errors are raised with the environment and the position."""
    try:
        return call()
    except Exception as error:
        raise environment_error(env, error, position()) from error


def environment_error(env: Tabular, error: Exception, position: str) -> WanderlustError:
    """Return the error of an environment with its name and the position."""
    if isinstance(error, WanderlustError):
        return type(error)(f"{env.name} in {position}: {error}")
    is_old_api = isinstance(error, ValueError) and "expected 5, got 4" in str(error)
    hint = f" {_OLD_API}" if is_old_api else ""
    return EnvironmentFailed(f"{env.name} failed in {position} with {type(error).__name__}: {error}.{hint}")


def checked_reward(reward: Any) -> float:
    """Return a reward as a float; a NumPy array of one element is a number, too."""
    if type(reward) is int and -MAX_EXACT <= reward <= MAX_EXACT:
        return float(reward)
    value = reward.item() if isinstance(reward, np.ndarray) and reward.size == 1 else reward
    try:
        number = math.nan if isinstance(value, str | bytes | np.complexfloating) else float(value)
    except Exception:  # Any object can be given.
        number = math.nan
    if not abs(number) <= MAX_REWARD:  # True for NaN as well.
        raise InvalidReward(
            f"the reward {shown(reward)} is not valid; it must be a number from {-MAX_REWARD:g} to {MAX_REWARD:g}."
        )
    return number
