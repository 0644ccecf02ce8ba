"""Training in tabular worlds: `Session`, a run that can be advanced in parts, and `train`, a whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import by_pointer
from wanderlust.agents.agent import Agent
from wanderlust.agents.history import GREEDY_POLICY, GREEDY_POLICY_EPISODES, History, TrainingCurves
from wanderlust.agents.loop import INVALID_ACTION, new_run, run_until, start_distribution
from wanderlust.agents.settings import Settings
from wanderlust.core.errors import check_flag, check_integer
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.core.planning import episode_returns, policy_values
from wanderlust.worlds import World, as_world
from wanderlust.worlds.base import check_later


@dataclass(frozen=True, kw_only=True, repr=False)
class Record(History):
    """The results of a run. Arrays are indexed by the states of the world, or by the evaluations at `steps`."""

    world: str
    explorer: str
    seed: int
    settings: Settings
    tables: Mapping[str, FloatArray]
    """The final tables [state, action]: 'target', and if the explorer has them 'behaviour', 'visitation', 'heads'
    [head, state, action]."""
    policies: NDArray[np.uint64]
    """[policy, state]: in a stochastic world, the distinct greedy policies that were evaluated; the greedy actions as
    bits."""
    policy_values: FloatArray
    """[policy, state]: V^π of each of them."""
    policy_at: NDArray[np.int64]
    """[evaluation]: the index of the policy that was evaluated."""
    states: NDArray[np.int32]
    actions: NDArray[np.signedinteger[Any]]
    """The state and the action of every step, with `keep_trajectory=True`."""
    position: tuple[int, int]
    """The state in which the run ended, and the number of steps since the start of its episode: where `agent` goes on.
    If the episode was over, they are those of the next one."""
    events: tuple[int | None, int | None]
    """The steps that received the first positive reward and that first terminated an episode, counted from 1; None for
    never."""
    agent: Agent = field(repr=False, compare=False)
    """The trained agent: it acts, explains, is saved, and goes on as if it had been driven step by step.

    It has arrays of its own: when it learns, those of the record stay as they are.
    """

    def _title(self) -> str:
        return f"{self.explorer} in {self.world}, seed {self.seed}"


class Session:
    """A run in progress: `advance` it by any number of steps, read the `record` so far, continue.

    It is an agent, a world, and the run: the position in the world and what was recorded so far.
    """

    def __init__(
        self,
        world: World | str,
        explorer: str | type,
        *,
        seed: int = 0,
        preset: str = "as_written",
        keep_trajectory: bool = False,
        undiscounted_returns: bool = False,
        **changes: Any,
    ) -> None:
        """Prepare a run; the parameters are those of `train`."""
        self.world = as_world(world)
        self.agent = Agent.for_world(self.world, explorer, seed=seed, preset=preset, **changes)
        self._undiscounted = check_flag("undiscounted_returns", undiscounted_returns)
        self.run_state = new_run(
            self.world.mdp,
            self.agent.settings,
            self.agent.state_index,
            self.agent.simulate(self.world).reset(),
            keep_trajectory=check_flag("keep_trajectory", keep_trajectory),
            undiscounted_returns=self._undiscounted,
        )
        self._run = by_pointer(self.run_state)

    @property
    def settings(self) -> Settings:
        """The settings of the agent."""
        return self.agent.settings

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return self.agent.steps

    @property
    def events(self) -> tuple[int | None, int | None]:
        """The steps of the first positive reward and of the first termination, counted from 1; None for never."""
        position = self.run_state.position
        return int(position.first_reward) or None, int(position.first_termination) or None

    def advance(self, until: int | None = None) -> None:
        """Run up to the given step, or to the end; the results do not depend on where a run pauses."""
        end = self.settings.run_length
        until = end if until is None else check_integer("until", until, low=0, high=end)
        later = self.world.later
        if later is not None and self.run_state.mdp is not later and until >= self.world.changes_at:
            self._advance(self.world.changes_at)
            self.change_dynamics(later)
        self._advance(until)

    def change_dynamics(self, mdp: TabularMDP) -> None:
        """Go on with other dynamics of the same states and actions; what was learnt stays."""
        check_later(mdp, self.world.mdp)
        starts, probabilities = start_distribution(mdp)
        self.run_state = self.run_state._replace(mdp=mdp, starts=starts, start_probabilities=probabilities)
        self._run = by_pointer(self.run_state)
        self.agent.learner.counters.policy_changed = 1

    def _advance(self, until: int) -> None:
        while status := run_until(*self.agent.pointers, self._run, until):
            if status == INVALID_ACTION:
                raise self.agent.invalid_choice(self.run_state.position.invalid_action)
            self.agent.enlarge()

    def record(self) -> Record:
        """Return the results so far."""
        agent, run, settings, mdp = self.agent.copy(), self.run_state, self.settings, self.world.mdp
        n_evaluated = agent.steps // settings.evaluate_every
        kept = min(agent.steps, len(run.actions))
        policies, policy_at = distinct_policies(run.greedy[:n_evaluated])
        values, returns = np.zeros(policies.shape), run.returns[:n_evaluated].copy()
        if len(run.greedy):
            solved = [action_probabilities(bits, mdp.n_actions) for bits in policies]
            values = policy_values(mdp, solved, settings.discount)
            by_policy = (values * mdp.start).sum(axis=1)
            if self._undiscounted:
                by_policy = episode_returns(mdp, solved, settings.horizon)
            returns = by_policy[policy_at]
        record = Record(
            world=self.world.name,
            explorer=agent.explorer,
            seed=agent.seed,
            settings=settings,
            steps=settings.evaluate_every * np.arange(1, n_evaluated + 1),
            returns=returns,
            returns_of=GREEDY_POLICY_EPISODES if self._undiscounted else GREEDY_POLICY,
            discovered=run.discovered[:n_evaluated].copy(),
            visits=agent.visits,
            first_visit=run.first_visit.copy(),
            tables=agent.tables,
            policies=policies,
            policy_values=values,
            policy_at=policy_at,
            states=run.states[:kept].copy(),
            actions=run.actions[:kept].copy(),
            position=(int(run.position.state), int(run.position.episode_step)),
            events=self.events,
            agent=agent,
        )
        agent.curves = self.agent.curves = TrainingCurves.of(record)
        return record


def train(
    world: World | str,
    explorer: str | type,
    *,
    seed: int = 0,
    preset: str = "as_written",
    keep_trajectory: bool = False,
    undiscounted_returns: bool = False,
    **changes: Any,
) -> Record:
    """Train an agent in a tabular world for the world's budget; return curves and final tables.

    `changes` are settings (see `Settings`) and options of the explorer (`wanderlust.explorer_options` lists them); the
    defaults are the paper's. `preset="as_published_code"` uses those of the code that the paper's authors released.

    `record.returns` are expected discounted returns. With `undiscounted_returns` they are those of an episode that is
    truncated at the horizon, as Gymnasium counts them.
    """
    session = Session(
        world,
        explorer,
        seed=seed,
        preset=preset,
        keep_trajectory=keep_trajectory,
        undiscounted_returns=undiscounted_returns,
        **changes,
    )
    session.advance()
    return session.record()


def distinct_policies(greedy: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct rows of [evaluation, state], in order of appearance, and the index of each row among them."""
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


def action_probabilities(bits: NDArray[np.uint64], n_actions: int) -> FloatArray:
    """Return the probabilities [state, action] of a policy that is uniform over its best actions."""
    chosen = (bits[:, None] >> np.arange(n_actions, dtype=np.uint64)) & np.uint64(1)
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))
