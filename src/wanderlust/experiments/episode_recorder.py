"""What an onlooker notes while an agent learns in an environment: episodes, rewards, and outcomes that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.experiments.run import Stopped
from wanderlust.training.callbacks import Callback
from wanderlust.training.loop import TrainingLoop

MAX_REWARDS = 50
"""How many distinct rewards are listed; there are more only where rewards are not sparse at all."""
_LOOK_EVERY = 256
"""Steps between two looks at whether the run was called off."""


class EpisodeRecorder(Callback):
    """Takes notes of every step; raises `Stopped` when asked to, and ends the loop early after `last_step`."""

    def __init__(self, stopped: Callable[[], bool] = lambda: False, *, last_step: int | None = None) -> None:
        self._stopped = stopped
        self._last_step = last_step
        self._episodes: list[tuple[int, int, float, bool]] = []
        self._rewards: dict[float, list[float]] = {}
        self._places: list[str] = []
        self._other: list[float] = []
        self._outcome: dict[tuple[int, int], tuple[int, float, bool]] = {}
        self._repeated: set[tuple[int, int]] = set()
        self._varied: set[tuple[int, int]] = set()
        self._first_visit: dict[int, int] = {}

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Note what was paid, where, and whether it came as it did before."""
        if loop.step % _LOOK_EVERY == 0 and self._stopped():
            raise Stopped
        self._first_visit.setdefault(loop.state, loop.step - 1)
        self._note_reward(loop)
        self._note_outcome(loop)
        return False if loop.step == self._last_step else None

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Note the episode."""
        self._episodes.append((loop.step, loop.episode_steps, loop.episode_return, loop.terminated))

    def _note_outcome(self, loop: TrainingLoop) -> None:
        pair = (loop.state, loop.action)
        # Where an episode has ended, nothing depends on what is observed after it.
        outcome = (-1 if loop.terminated else loop.next_state, loop.reward, loop.terminated)
        if pair not in self._outcome:
            self._outcome[pair] = outcome
            return
        self._repeated.add(pair)
        if self._outcome[pair] != outcome:
            self._varied.add(pair)

    def _note_reward(self, loop: TrainingLoop) -> None:
        noted = self._rewards.get(loop.reward)
        if noted is not None:
            noted[1] += 1
        elif len(self._rewards) < MAX_REWARDS:
            self._rewards[loop.reward] = [loop.reward, 1, loop.step]
            self._places.append(f"action {loop.action} in state {loop.env.describe(loop.state)}")
        elif self._other:
            self._other[1] += 1
        else:
            self._other = [np.nan, 1, loop.step]

    def notes(self, n_states: int) -> dict[str, NDArray[Any]]:
        """Return all notes, by the names that a `Result` has for them."""
        first_visit = np.full(n_states, -1, np.int64)
        first_visit[list(self._first_visit)] = list(self._first_visit.values())
        rewards = [*self._rewards.values(), *([self._other] if self._other else [])]
        places = [*self._places, *(["many"] if self._other else [])]
        return {
            "first_visit": first_visit,
            "episodes": np.array(self._episodes, np.float64).reshape(-1, 4),
            "rewards": np.array(rewards, np.float64).reshape(-1, 3),
            "reward_places": np.array(places, np.str_),
            "pairs": np.array([len(self._repeated), len(self._varied)], np.int64),
        }
