"""A run under observation: where the agent is, what draws it on, and what has come of it so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.explanation import best_scores
from wanderlust.agents.fused import EPISODE_STEP, STATE
from wanderlust.agents.presets import resolve
from wanderlust.agents.session import Record, Session
from wanderlust.agents.settings import SETTING_NAMES
from wanderlust.core.errors import unknown_name
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import expected_reward, reachable_states
from wanderlust.explorers.registry import explorer_options
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, make_world, world_names, world_options

EVALUATIONS = 200
"""How often the greedy policy is evaluated in the course of a run, unless `evaluate_every` says otherwise."""


@dataclass(frozen=True)
class Look:
    """What is to be seen of a run at one moment."""

    state: int
    """Where the agent is."""
    visits: NDArray[np.int64]
    """[state]: how often each was acted in."""
    promise: FloatArray
    """[state]: what draws the explorer to each; NaN for those it has not met yet."""
    words: list[str]
    """How far the run is, and what it has found."""


class WatchedRun:
    """A session that is run step by step, which is how it knows where the agent is and when episodes end."""

    def __init__(self, world: World, explorer: str, *, seed: int = 0, **changes: Any) -> None:
        settings, _ = resolve(world, explorer, "as_written", changes)
        changes.setdefault("evaluate_every", max(settings.run_length // EVALUATIONS, 1))
        self.session = Session(world, explorer, seed=seed, **changes)
        self.world = world
        self.length = settings.run_length
        self.episode = 1
        self.first_reward: int | None = None
        """The step that was the first to be paid more than nothing."""
        visitation = self.session.rule.extra_tables().visitation
        self.minimises = visitation is not None and visitation.minimise
        """Whether the explorer goes where the values of `promise` are small."""
        self.promise_name = "largest score" if visitation is None else "smallest W" if self.minimises else "largest W"
        self._n_reachable = int(reachable_states(world.mdp).sum())
        self._pays = expected_reward(world.mdp) > 0

    @property
    def step(self) -> int:
        """How many steps have been run."""
        return self.session.step

    @property
    def over(self) -> bool:
        """Whether the run has come to its end."""
        return self.step >= self.length

    def prepare(self) -> None:
        """Put the agent where it starts, and compile what has not been compiled yet."""
        self.session.advance(0)
        self.look()

    def advance(self) -> None:
        """Run one step."""
        course, step = self.session.course, self.step
        if step and course.place[EPISODE_STEP] == 0:
            self.episode += 1
        state = int(course.place[STATE])
        self.session.advance(step + 1)
        if self.first_reward is None and (self._tries(state)[self._pays[state]] > 0).any():
            self.first_reward = step + 1

    def _tries(self, state: int) -> NDArray[np.int64]:
        """Return how often each action was tried in a state."""
        n_actions = self.world.n_actions
        first = int(self.session.course.ids[state]) * n_actions
        return np.asarray(self.session.learner.visits[first : first + n_actions])

    def look(self) -> Look:
        """Return what is to be seen now."""
        record = self.session.record()
        return Look(
            state=int(self.session.course.place[STATE]),
            visits=record.visits.sum(axis=1),
            promise=self._promise(record),
            words=self._words(record),
        )

    def _promise(self, record: Record) -> FloatArray:
        ids = self.session.course.ids
        w = record.tables.get("visitation")
        if w is None:
            values = best_scores(self.session.rule, self.session.learner, self.session.spec)[ids]
        else:
            values = w.min(axis=1) if self.minimises else w.max(axis=1)
        return np.where(ids == TERMINAL, np.nan, values)

    def _words(self, record: Record) -> list[str]:
        found = int((record.first_visit >= 0).sum())
        greedy = f"{record.returns[-1]:.4g} (at step {record.steps[-1]:,})" if len(record.returns) else "not yet known"
        first = f"at step {self.first_reward:,}" if self.first_reward else "not yet"
        return [
            f"step {self.step:,} of {self.length:,}",
            f"episode {self.episode:,}",
            f"discovered {found:,} of {self._n_reachable:,} states, {100 * found / self._n_reachable:.1f} %",
            f"greedy return {greedy}",
            f"first reward {first}",
        ]


def prepared(world: str, explorer: str, options: dict[str, Any]) -> tuple[World, dict[str, Any]]:
    """Return the world, made with those options that are its own, and the others: the run's and the explorer's.

    A word that means something to both, such as the horizon of a map, is for the run.
    """
    of_run = {*SETTING_NAMES, *(option.name for option in explorer_options(explorer))}
    is_map = world.endswith((".txt", ".toml"))
    kind = "map" if is_map and world not in world_names() else world
    of_world = {option.name for option in world_options(kind)} - of_run - {"map", "name"}
    for name in options:
        if name not in of_run | of_world:
            raise unknown_name(f"option of {explorer!r} in {world!r}", name, of_run | of_world)
    made = make_world(world, **{name: value for name, value in options.items() if name in of_world})
    return made, {name: value for name, value in options.items() if name in of_run}
