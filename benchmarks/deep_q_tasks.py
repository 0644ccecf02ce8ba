"""The tasks of `benchmarks/deep_q.py`: environments, the same learner for all explorers, and what solved means.

An episode reaches the goal if it receives a reward above 0.5, in MountainCar if it terminates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
from minigrid.wrappers import ImgObsWrapper

FUSED = {"optimizer_kwargs": {"fused": True}}
SMALL = {
    "learning_rate": 1e-3, "learning_starts": 100, "batch_size": 64, "train_freq": 1, "target_update_interval": 100,
    "gamma": 0.99, "policy_kwargs": {"net_arch": [64, 64], **FUSED},
}  # fmt: skip
MEDIUM = SMALL | {
    "learning_starts": 200, "target_update_interval": 200, "gamma": 0.95,
    "policy_kwargs": {"net_arch": [128, 128], **FUSED},
}  # fmt: skip
ZOO = {
    "learning_rate": 4e-3, "learning_starts": 1_000, "batch_size": 128, "buffer_size": 10_000, "train_freq": 16,
    "gradient_steps": 8, "target_update_interval": 600, "gamma": 0.98,
    "policy_kwargs": {"net_arch": [256, 256], **FUSED},
}  # fmt: skip
"""RL Baselines3 Zoo's hyper-parameters for MountainCar."""


@dataclass(frozen=True)
class Task:
    """A task and the DQN that learns it."""

    make: Callable[[int, bool], gym.Env[Any, Any]]
    """Of a seed and whether it is for evaluation, which has layouts of its own."""
    steps: int
    evaluate_every: int
    learner: dict[str, Any] = field(default_factory=lambda: SMALL)
    episodes: int = 1
    """The number of episodes of an evaluation of the greedy policy."""
    max_steps: int = 200
    """The number of steps of such an episode."""
    threshold: float = 1.0
    """The share of these episodes that must reach the goal."""
    explorer: dict[str, Any] = field(default_factory=lambda: {"key": "hash"})
    """The state key of W and of the count bonus."""
    goal: Callable[[float, bool], bool] = lambda reward, terminated: reward > 0.5


class DeepSea(gym.Env[Any, Any]):
    """Osband's deep sea: right in every row finds the treasure; which action is right depends on the cell."""

    def __init__(self, depth: int, seed: int, noise: int = 0) -> None:
        self.depth, self.is_flipped = depth, np.random.default_rng(seed).random((depth, depth)) < 0.5
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (depth * depth + noise,), np.float32)
        self.action_space, self.noise = gym.spaces.Discrete(2), noise

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin in the upper left corner."""
        super().reset(seed=seed)
        self.row = self.column = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move down and left or right."""
        right, last = bool(action) != self.is_flipped[self.row, self.column], self.depth - 1
        reward = float(right and self.row == last and self.column == last) - (0.01 / self.depth if right else 0.0)
        self.column = min(self.column + 1, last) if right else max(self.column - 1, 0)
        self.row += 1
        return self._observation(), reward, self.row == self.depth, False, {}

    def _observation(self) -> Any:
        cell = np.zeros(self.observation_space.shape, np.float32)  # type: ignore[arg-type]
        cell[min(self.row, self.depth - 1) * self.depth + self.column] = 1
        if self.noise:
            cell[-self.noise :] = self.np_random.normal(size=self.noise)
        return cell


class GridImage(gym.ObservationWrapper[Any, Any, Any]):
    """The paper's deep gridworld as a flat image of 11 x 11 x 3: the agent, the treasures, the penalties."""

    def __init__(self) -> None:
        super().__init__(gym.make("wanderlust/DeepGridworld-v0"))
        self.background = np.zeros((11, 11, 3), np.float32)
        self.background[[4, 5, 6], [1, 10, 1], 1] = 0.5, 1.0, 0.5
        self.background[5, 1:10, 2] = 1.0
        self.observation_space = gym.spaces.Box(0, 1, (self.background.size,), np.float32)

    def observation(self, observation: Any) -> Any:
        """Return the image of a state."""
        image = self.background.copy()
        image[3 + observation // 11, observation % 11, 0] = 1.0
        return image.ravel()


class Layouts(gym.Wrapper[Any, Any, Any, Any]):
    """A MiniGrid task with a new layout in every episode; the reward of the goal is 1."""

    def __init__(self, name: str, seed: int, is_evaluation: bool) -> None:
        super().__init__(ImgObsWrapper(gym.make(name)))
        first = 2_000_000 if is_evaluation else 0
        self.layouts, self.range = np.random.default_rng(seed), (first, first + 1_000_000)
        self.observation_space = gym.spaces.Box(0, 1, (147 + 4,), np.float32)
        self.action_space = gym.spaces.Discrete(6)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin with another layout."""
        image, info = self.env.reset(seed=int(self.layouts.integers(*self.range)))
        return self._observation(image), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act in the layout."""
        image, reward, terminated, truncated, info = self.env.step(action)
        return self._observation(image), float(reward > 0), terminated, truncated, info

    def _observation(self, image: Any) -> Any:
        direction = np.eye(4, dtype=np.float32)[self.unwrapped.agent_dir]  # type: ignore[attr-defined]
        return np.concatenate([image.reshape(-1).astype(np.float32) / 10, direction])


def layouts(name: str, steps: int, **options: Any) -> Task:
    """Return the task of a MiniGrid with random layouts: 75 % of the greedy policy's episodes reach the goal."""
    return Task(
        lambda seed, is_evaluation: Layouts(f"MiniGrid-{name}-v0", seed, is_evaluation), steps, 1_000, MEDIUM,
        episodes=40, max_steps=60, threshold=0.75, **options,
    )  # fmt: skip


def deep_sea(depth: int, steps: int, noise: int = 0) -> Task:
    """Return the task of a deep sea, evaluated every ten episodes."""
    return Task(lambda seed, _: DeepSea(depth, seed, noise), steps, 10 * depth)


def frozen_lake(is_slippery: bool, threshold: float) -> Task:
    """Return the task of FrozenLake 8x8 with one-hot observations."""
    return Task(
        lambda seed, _: gym.wrappers.FlattenObservation(
            gym.make("FrozenLake-v1", map_name="8x8", is_slippery=is_slippery)
        ),
        10_000, 500, SMALL, episodes=50 if is_slippery else 1, threshold=threshold,
    )  # fmt: skip


class Repeated(gym.Wrapper[Any, Any, Any, Any]):
    """An environment in which every action is taken several times; a step is one choice."""

    def __init__(self, env: gym.Env[Any, Any], times: int) -> None:
        super().__init__(env)
        self.times = times

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action several times, until the episode ends."""
        total = 0.0
        for _ in range(self.times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def mountain_car(steps: int, times: int) -> Task:
    """Return the task of MountainCar, with bins of position and velocity."""
    return Task(
        lambda seed, _: Repeated(gym.make("MountainCar-v0"), times), steps, 2_000 // times, ZOO,
        episodes=10, explorer={"bins": 20}, goal=lambda reward, terminated: terminated,
    )  # fmt: skip


TASKS = {
    "deep sea 10": deep_sea(10, 1_500),
    "deep sea 20": deep_sea(20, 4_000),
    "deep sea 30": deep_sea(30, 7_000),
    "deep sea 50": deep_sea(50, 16_000),
    "deep gridworld, image": Task(
        lambda seed, _: GridImage(), 4_000, 100, SMALL, goal=lambda reward, terminated: reward > 1.5
    ),
    "KeyCorridorS3R1": layouts("KeyCorridorS3R1", 12_000),
    "DoorKey-5x5": layouts("DoorKey-5x5", 15_000),
    "DoorKey-8x8": layouts("DoorKey-8x8", 20_000),
    "FrozenLake 8x8": frozen_lake(is_slippery=False, threshold=1.0),
    "FrozenLake 8x8, slippery": frozen_lake(is_slippery=True, threshold=0.5),
    "MultiRoom-N4-S5": layouts("MultiRoom-N4-S5", 10_000),
    "deep sea 10, 8 noise dimensions": deep_sea(10, 4_000, noise=8),
    "MountainCar": mountain_car(40_000, times=1),
    "MountainCar, every action 4 times": mountain_car(10_000, times=4),
}  # fmt: skip
