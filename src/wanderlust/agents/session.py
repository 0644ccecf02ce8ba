"""Training in worlds that are tables: a session that can be run bit by bit, and `train`, which runs one whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import announce, by_reference, compiled_now
from wanderlust.agents.fused import BAD_ACTION, NO_ROOM, OFFENDING_ACTION, new_course, run_for
from wanderlust.agents.presets import resolve
from wanderlust.agents.settings import Settings, make_spec
from wanderlust.core.errors import InvalidExplorer, check_integer
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import policy_values
from wanderlust.explorers.protocol import ExplorerBox
from wanderlust.explorers.registry import configured, explorer_name
from wanderlust.learning.allocation import PREPARED_STATES, InitialValues, enlarged, new_learner
from wanderlust.learning.state import STEP
from wanderlust.learning.tables import by_state, tables_by_state
from wanderlust.learning.update import update_mode
from wanderlust.worlds import World, as_world


@dataclass(frozen=True)
class Record:
    """What came of a run. Arrays are indexed by the world's own states."""

    world: str
    explorer: str
    seed: int
    settings: Settings
    steps: NDArray[np.int64]
    """The steps after which the greedy policy was evaluated."""
    returns: FloatArray
    """Its expected discounted return from the start, at each of them."""
    discovered: NDArray[np.int64]
    """How many distinct states had been acted in, at each of them."""
    visits: NDArray[np.int64]
    """How often each action was tried in each state."""
    first_visit: NDArray[np.int64]
    """The step at which each state was first acted in; -1 for never."""
    tables: Mapping[str, FloatArray]
    """The final tables [state, action]: 'target', 'behaviour', 'visitation' as far as there are any, 'heads'
    [head, state, action]."""
    policies: NDArray[np.uint64]
    """[policy, state]: in a stochastic world, the distinct greedy policies that were evaluated; a state's best actions
    as bits."""
    policy_values: FloatArray
    """[policy, state]: V^π of each of them."""
    policy_at: NDArray[np.int64]
    """[evaluation]: which of them it was."""
    states: NDArray[np.int32]
    actions: NDArray[np.int16]
    """Every state and action of the run, if it was asked to keep them."""


class Session:
    """A run in progress: `advance` it as far as you like, look at the `record` so far, go on."""

    def __init__(
        self,
        world: World | str,
        explorer: str | type,
        *,
        seed: int = 0,
        preset: str = "as_written",
        keep_trajectory: bool = False,
        **changes: Any,
    ) -> None:
        self.world = as_world(world)
        self.seed = check_integer("seed", seed, low=0)
        self.settings, options = resolve(self.world, explorer, preset, changes)
        problem = self.settings.problem(self.world.n_actions, self.world.reward_range)
        self.rule = configured(explorer, problem, options)
        self.spec, noise = make_spec(self.rule, problem, self.settings)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        # Room for the whole world, unless that is so large that most of it may never be seen.
        states = min(self.world.n_states, PREPARED_STATES)
        self.learner = new_learner(self.spec, self._initial_values, self.seed, states=states)
        self.course = new_course(self.world.mdp, self.settings, keep_trajectory)

    @property
    def step(self) -> int:
        """How many steps have been run."""
        return int(self.learner.numbers[STEP])

    def advance(self, until: int | None = None) -> None:
        """Run up to the given step, or to the end; what comes of it does not depend on where one pauses."""
        end = self.settings.run_length
        until = end if until is None else check_integer("until", until, low=0, high=end)
        mode = update_mode(self.spec)
        run, ruled = run_for(type(self.rule)), by_reference(ExplorerBox(self.rule))
        spec, course = by_reference(self.spec), by_reference(self.course)
        driver = f"fused.{mode}"
        compiling = announce(type(self.rule), driver)
        while status := run(ruled, by_reference(self.learner), spec, course, until, mode):
            if status == BAD_ACTION:
                action, name = self.course.place[OFFENDING_ACTION], explorer_name(type(self.rule))
                raise InvalidExplorer(
                    f"explorer {name!r} chose action {action} at step {self.step}; "
                    f"valid are 0 to {self.spec.n_actions - 1}."
                )
            assert status == NO_ROOM
            self.learner = enlarged(self.learner, self.spec, self._initial_values)
        if compiling:
            compiled_now(type(self.rule), driver)

    def record(self) -> Record:
        """Return what came of the run so far."""
        n_evaluated = self.step // self.settings.evaluate_every
        course, kept = self.course, min(self.step, len(self.course.actions))
        policies, policy_at = distinct_policies(course.greedy[:n_evaluated])
        mdp, values = self.world.mdp, np.zeros(policies.shape)
        returns = course.returns[:n_evaluated].copy()
        if len(course.greedy):
            values = policy_values(mdp, [_chances(bits, mdp.n_actions) for bits in policies], self.settings.discount)
            returns = (values @ mdp.start)[policy_at]
        return Record(
            world=self.world.name,
            explorer=explorer_name(type(self.rule)),
            seed=self.seed,
            settings=self.settings,
            steps=self.settings.evaluate_every * np.arange(1, n_evaluated + 1),
            returns=returns,
            discovered=course.discovered[:n_evaluated].copy(),
            visits=by_state(self.learner.visits, course.ids, self.spec),
            first_visit=course.first_visit.copy(),
            tables=tables_by_state(self.learner, course.ids, self.spec),
            policies=policies,
            policy_values=values,
            policy_at=policy_at,
            states=course.states[:kept].copy(),
            actions=course.actions[:kept].copy(),
        )


def train(
    world: World | str,
    explorer: str | type,
    *,
    seed: int = 0,
    preset: str = "as_written",
    keep_trajectory: bool = False,
    **changes: Any,
) -> Record:
    """Train an agent in a tabular world for the world's budget; return curves and final tables.

    `changes` are settings (see `Settings`) or options of the explorer (`wanderlust.explorer_options` lists them); the
    rest is as in the paper. With `preset="as_published_code"` it is as in the code that the paper's authors released.
    """
    session = Session(world, explorer, seed=seed, preset=preset, keep_trajectory=keep_trajectory, **changes)
    session.advance()
    return session.record()


def distinct_policies(greedy: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct rows of [evaluation, state], in the order met, and which of them each row is."""
    found: dict[bytes, int] = {}
    changed = (greedy[1:] != greedy[:-1]).any(axis=1)
    changes = np.flatnonzero(np.append(len(greedy) > 0, changed))
    rows: list[int] = []
    names = np.zeros(len(changes), np.int64)
    for i, row in enumerate(changes):
        name = found.setdefault(greedy[row].tobytes(), len(found))
        if name == len(rows):
            rows.append(int(row))
        names[i] = name
    return greedy[rows].copy(), np.repeat(names, np.diff(np.append(changes, len(greedy))))


def _chances(bits: NDArray[np.uint64], n_actions: int) -> FloatArray:
    """Return the probabilities [state, action] of a policy that is uniform over its best actions."""
    chosen = (bits[:, None] >> np.arange(n_actions, dtype=np.uint64)) & np.uint64(1)
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))
