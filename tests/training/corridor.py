"""The environment of most tests of training: cells in a row, in which failures can be injected."""

from typing import Any

import gymnasium as gym


class Corridor(gym.Env[Any, Any]):
    """Action 1 leads right, 0 left, others nowhere; the last cell terminates, with `goal_reward` minus the penalty.

    With `slip` an action is replaced by the opposite one. `failures` happen at a step or a reset, counted from 1 over
    all episodes: `fail_at`, `fail_at_reset` and `outside_at` (an invalid observation) are numbers, `reward_at` and
    `flag_at` have values by step.
    """

    total_steps = 0
    """Of all corridors."""

    def __init__(
        self, length=11, *, n_actions=2, goal_reward=1.0, step_reward=0.0, penalty=0.0, slip=0.0, noise=0.0, starts=1,
        limit=40, **failures,
    ):  # fmt: skip
        self.observation_space, self.action_space = gym.spaces.Discrete(length), gym.spaces.Discrete(n_actions)
        self.goal_reward, self.step_reward, self.penalty, self.noise = goal_reward, step_reward, penalty, noise
        self.length, self.slip, self.starts, self.limit = length, slip, starts, limit
        self.failures = {"reward_at": {}, "flag_at": {}} | failures
        self.count = self.resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.np_random.random()
        if self.resets == self.failures.get("fail_at_reset"):
            raise RuntimeError("cannot reset")
        self.cell, self.t = int(self.np_random.integers(self.starts)), 0
        return self.cell, {}

    def step(self, action):
        Corridor.total_steps += 1
        self.count += 1
        self.t += 1
        if self.count == self.failures.get("fail_at"):
            raise RuntimeError("motor overheated")
        if self.np_random.random() < self.slip:
            action = 1 - action
        self.cell = min(max(self.cell + {0: -1, 1: 1}.get(int(action), 0), 0), self.length - 1)
        terminated = self.cell == self.length - 1
        reward = self.goal_reward if terminated else self.step_reward
        if self.penalty and terminated:
            reward -= self.penalty * self.t
        if self.noise:
            reward += self.noise * self.np_random.random()
        observation = 99 if self.count == self.failures.get("outside_at") else self.cell
        reward = self.failures["reward_at"].get(self.count, reward)
        terminated = self.failures["flag_at"].get(self.count, terminated)
        return observation, reward, terminated, terminated is False and self.t == self.limit, {}
