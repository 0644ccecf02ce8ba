"""A run that is executed step by step, with snapshots for the live view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.session import Record, Session
from wanderlust.agents.settings import resolve
from wanderlust.core.errors import InvalidEnvironment
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import expected_reward, reachable_states
from wanderlust.environments.make import make_environment
from wanderlust.environments.model import world_from_gym
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, make_world, world_names
from wanderlust.worlds.grid import MAP_SUFFIXES

EVALUATIONS = 200
"""Number of evaluations of the greedy policy during a run; the setting `evaluate_every` overrides it."""


@dataclass(frozen=True)
class Snapshot:
    """The run at one step."""

    state: int
    """The agent's current state."""
    visits: NDArray[np.int64]
    """[state]: visit counts."""
    exploration_values: FloatArray
    """[state]: the value by which the explorer prefers states; NaN for undiscovered states."""
    status: list[str]
    """Step, episode, discovery, return and first reward, in words."""


class WatchedRun:
    """A session that advances one step at a time, and counts episodes and the steps until the first reward."""

    def __init__(self, world: World, explorer: str, *, seed: int = 0, **changes: Any) -> None:
        settings, _ = resolve(world, explorer, "as_written", changes)
        changes.setdefault("evaluate_every", max(settings.run_length // EVALUATIONS, 1))
        self.session = Session(world, explorer, seed=seed, **changes)
        self.world = world
        self.length = settings.run_length
        self.episode = 1
        self.first_reward: int | None = None
        """The step of the first positive reward."""
        visitation = self.session.agent.configured_explorer.extra_tables().visitation
        self.minimises = visitation is not None and visitation.minimise
        """Whether the explorer prefers small exploration values."""
        self.value_name = "largest score" if visitation is None else "smallest W" if self.minimises else "largest W"
        self._n_reachable = int(reachable_states(world.mdp).sum())
        self._has_positive_reward = expected_reward(world.mdp) > 0

    @property
    def step(self) -> int:
        """Number of steps so far."""
        return self.session.step

    @property
    def finished(self) -> bool:
        """Whether all steps have been run."""
        return self.step >= self.length

    def prepare(self) -> None:
        """Reset the environment and compile all functions, so that the first frames are not delayed."""
        self.session.advance(0)
        self.snapshot()

    def advance(self) -> None:
        """Run one step."""
        position, step = self.session.run_state.position, self.step
        if step and position.episode_step == 0:
            self.episode += 1
        state = int(position.state)
        self.session.advance(step + 1)
        if self.first_reward is None and (self._visits(state)[self._has_positive_reward[state]] > 0).any():
            self.first_reward = step + 1

    def advance_to(self, step: int) -> None:
        """Run up to a step."""
        while self.step < step:
            self.advance()

    def _visits(self, state: int) -> NDArray[np.int64]:
        """Return the visit count of each action in a state."""
        return np.asarray(self.session.agent.visits[state])

    def snapshot(self) -> Snapshot:
        """Return the run at the current step."""
        record = self.session.record()
        return Snapshot(
            state=int(self.session.run_state.position.state),
            visits=record.visits.sum(axis=1),
            exploration_values=self._exploration_values(record),
            status=self._status(record),
        )

    def _exploration_values(self, record: Record) -> FloatArray:
        state_index = self.session.run_state.state_index
        w = record.tables.get("visitation")
        if w is None:
            values = self.session.agent.scores().max(axis=1)
        else:
            values = w.min(axis=1) if self.minimises else w.max(axis=1)
        return np.where(state_index == TERMINAL, np.nan, values)

    def _status(self, record: Record) -> list[str]:
        discovered = int((record.first_visit >= 0).sum())
        evaluated = (
            f"{record.returns[-1]:.4g} (at step {record.steps[-1]:,})" if len(record.returns) else "not evaluated"
        )
        return [
            f"step {self.step:,} of {self.length:,}",
            f"episode {self.episode:,}",
            f"discovered {discovered:,} of {self._n_reachable:,} states, {100 * discovered / self._n_reachable:.1f} %",
            f"greedy return {evaluated}",
            f"first reward at step {self.first_reward:,}" if self.first_reward else "no positive reward yet",
        ]


def make_watched_world(name: str, options: dict[str, Any]) -> World:
    """Return a built-in world, that of a map file, or that of a Gymnasium environment with a model."""
    if name in world_names() or name.endswith(MAP_SUFFIXES):
        return make_world(name, **options)
    env = make_environment(name, **options)
    try:
        return world_from_gym(env)
    except InvalidEnvironment as error:
        raise InvalidEnvironment(
            f"{error} `watch` shows built-in worlds, map files, and environments that have a model; "
            f"`wanderlust train {name} --video run.gif` records an episode in any environment."
        ) from error
    finally:
        env.close()
