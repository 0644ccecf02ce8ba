"""A callback that records episodes, rewards and first visits while an agent trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.experiments.run import RunCancelled
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import ObservedDynamics
from wanderlust.training.loop import TrainingLoop

MAX_REWARDS = 50
"""Number of distinct rewards that are listed; sparse-reward environments have fewer."""
MAX_OUTCOMES = 20_000
"""Number of distinct outcomes up to which they are stored: enough for environments whose hardness can be estimated."""
_CHECK_EVERY = 256
"""Steps between two checks for cancellation."""


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
        """Recorded by another callback."""
        self._should_stop = should_stop
        self._last_step = last_step
        self._episodes: list[tuple[int, int, float, bool]] = []
        self._rewards: dict[float, list[float]] = {}
        self._reward_places: list[str] = []
        self._other_rewards: list[float] = []
        self._first_visit: dict[int, int] = {}
        self._counts: dict[tuple[int, int, int], list[float]] = {}
        """[state, action, next state]: count and sum of rewards."""
        self._starts: dict[int, int] = {}
        self._time_penalty: list[float] = []

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Record the reward and the first visit."""
        if loop.step % _CHECK_EVERY == 0 and self._should_stop():
            raise RunCancelled
        self._first_visit.setdefault(loop.state, loop.step - 1)
        self._record_reward(loop)
        self._record_outcome(loop)
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
        row = self._rewards.get(loop.reward)
        if row is not None:
            row[1] += 1
        elif len(self._rewards) < MAX_REWARDS:
            self._rewards[loop.reward] = [loop.reward, 1, loop.step]
            names = loop.agent.action_names
            action = f"{loop.action} ({names[loop.action]})" if names else str(loop.action)
            self._reward_places.append(f"action {action} in state {loop.env.describe(loop.state)}")
        elif self._other_rewards:
            self._other_rewards[1] += 1
        else:
            self._other_rewards = [np.nan, 1, loop.step]

    def arrays(self, n_states: int) -> dict[str, NDArray[Any]]:
        """Return everything recorded, as fields of a `Result`."""
        dynamics = self._dynamics
        first_visit = np.full(n_states, -1, np.int64)
        first_visit[list(self._first_visit)] = list(self._first_visit.values())
        rewards = [*self._rewards.values(), *([self._other_rewards] if self._other_rewards else [])]
        places = [*self._reward_places, *(["many"] if self._other_rewards else [])]
        counts = [] if len(self._counts) > MAX_OUTCOMES else self._counts.items()
        return {
            "outcomes": np.array([(*o, n, total / n) for o, (n, total) in counts], np.float64).reshape(-1, 5),
            "starts": np.array(list(self._starts.items()), np.float64).reshape(-1, 2),
            "time_penalty": np.array(self._time_penalty, np.float64),
            "first_visit": first_visit,
            "episodes": np.array(self._episodes, np.float64).reshape(-1, 4),
            "rewards": np.array(rewards, np.float64).reshape(-1, 3),
            "reward_places": np.array(places, np.str_),
            "pairs": np.array(
                [len(dynamics.repeated_pairs), len(dynamics.stochastic_pairs), len(dynamics.starts)], np.int64
            ),
        }
