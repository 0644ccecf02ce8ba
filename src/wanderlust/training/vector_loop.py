"""Training in several environments side by side: one agent, one loop, a position in each of the environments."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from wanderlust.environments.vector import SubEnvironment, SubEnvironments
from wanderlust.training.loop import TrainingLoop, call_environment

POSITION = (
    "next_state", "info", "episode_return", "episode_steps", "episode_over", "episode_start", "episode_actions",
    "terminated", "truncated",
)  # fmt: skip
"""The fields of a loop that each environment has for itself."""


class VectorSteps:
    """Takes the steps of a loop in the environments of a `VectorEnv`, in turn."""

    def __init__(self, loop: TrainingLoop, current: SubEnvironment) -> None:
        self._loop, self._current = loop, current
        self._all = SubEnvironments(current.vector)
        notes = loop.agent.learner.notes
        self._positions: list[dict[str, Any]] = [{} for _ in range(self._all.n)]
        self._notes = [notes.copy() for _ in range(self._all.n)]
        """What the explorer keeps between steps, such as the head of an episode."""

    def take(self, seed: int | None) -> Iterator[None]:
        """Take steps without end; yield after each one that the agent has learnt from."""
        loop, environments = self._loop, self._all

        def position() -> str:
            return f"step {loop.step:,} of {environments.n} environments side by side"

        for i, start in call_environment(loop.env, lambda: list(environments.reset(seed)), position):
            self._begin(i, start)
        while True:
            awaiting, actions = environments.awaiting_reset, [0] * environments.n
            for i in range(environments.n):
                if not awaiting[i]:
                    self._enter(i)
                    actions[i] = loop.choose_action()
                    self._leave(i)
            given = [loop.env.action_of(action) for action in actions]
            for i, step, start in call_environment(loop.env, functools.partial(self._step, given), position):
                if step is not None:
                    self._enter(i)
                    self._current.put(step)
                    loop.complete_step(actions[i])
                    self._leave(i)
                    yield
                if start is not None:
                    self._begin(i, start)

    def _step(self, actions: list[Any]) -> list[tuple[int, Any, Any]]:
        return list(self._all.step(actions))

    def _begin(self, i: int, start: Any) -> None:
        self._current.put(start)
        self._loop.begin_episode()
        self._leave(i)

    def _enter(self, i: int) -> None:
        """Give the loop the position in an environment."""
        self._loop.__dict__.update(self._positions[i])
        self._loop.agent.learner.notes[:] = self._notes[i]

    def _leave(self, i: int) -> None:
        self._positions[i] = {name: getattr(self._loop, name) for name in POSITION}
        self._notes[i][:] = self._loop.agent.learner.notes
