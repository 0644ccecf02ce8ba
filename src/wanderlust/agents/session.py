"""Training in tabular worlds: `Session`, a run that can be advanced in parts, and `train`, a whole run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import by_pointer
from wanderlust.agents import presentation
from wanderlust.agents.agent import Agent
from wanderlust.agents.fused import INVALID_ACTION, NO_ROOM, invalid_choice, new_run, run_until
from wanderlust.agents.history import GREEDY_POLICY, GREEDY_POLICY_EPISODES, Curves, History
from wanderlust.agents.settings import Settings, make_spec, resolve, sufficient_memory
from wanderlust.core.errors import check_flag, check_integer, plain_value
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import episode_returns, policy_values
from wanderlust.explorers.compiled import ExplorerHooks
from wanderlust.explorers.registry import configured, explorer_name
from wanderlust.learning.state import (
    FIRST_STATES,
    INITIALISED_STATES,
    InitialValues,
    LearnerState,
    by_state,
    copied,
    enlarged,
    new_learner,
    tables_by_state,
)
from wanderlust.worlds import World, as_world
from wanderlust.worlds.base import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AgentSnapshot(NamedTuple):
    """The agent of a run at one step, as the arguments and the arrays that it is made of."""

    explorer: type
    arguments: Mapping[str, Any]
    learner: LearnerState
    state_index: NDArray[np.int32]
    layout: Layout | None
    action_names: tuple[str, ...]

    def agent(self) -> Agent:
        """Return an agent that uses these arrays."""
        agent = Agent(self.explorer, **self.arguments)
        agent.restore(self.learner, self.state_index)
        agent.layout, agent.action_names = self.layout, self.action_names
        return agent


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
    snapshot: AgentSnapshot = field(repr=False, compare=False)
    """What `agent` is made of."""

    @functools.cached_property
    def agent(self) -> Agent:
        """The trained agent: it acts, explains, is saved, and goes on as if it had been driven step by step.

        It is made when it is first used. Later it learns on its own; the arrays of the record stay as they are.
        """
        agent = self.snapshot.agent()
        agent.curves = Curves.of(self)
        return agent

    def plot(self) -> Figure:
        """Return a matplotlib figure of the curves: the return of the greedy policy, and the states discovered."""
        return presentation.plot_history(self, f"{self.explorer} in {self.world}, seed {self.seed}")

    def to_pandas(self) -> Any:
        """Return the curves as a pandas DataFrame with the columns step, return and discovered."""
        frame = super().to_pandas()
        frame.attrs.update(world=self.world, explorer=self.explorer, seed=self.seed)
        return frame

    def __str__(self) -> str:
        return presentation.record_text(self)


class Session:
    """A run in progress: `advance` it by any number of steps, read the `record` so far, continue."""

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
        self._undiscounted = check_flag("undiscounted_returns", undiscounted_returns)
        self.seed = check_integer("seed", seed, low=0)
        self.settings, options = resolve(self.world, explorer, preset, changes)
        problem = self.settings.problem(self.world.n_actions, self.world.reward_range)
        self._options = {name: plain_value(value) for name, value in options.items()}
        self._configured = configured(explorer, problem, self._options)
        self.explorer = explorer_name(type(self._configured))
        self.spec, noise = make_spec(self._configured, problem, self.settings)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        # Room for the whole world, unless it is so large that most of it may never be visited; as much as agents have.
        states = max(min(self.world.n_states, INITIALISED_STATES), FIRST_STATES)
        with sufficient_memory(self.spec):
            self.learner = new_learner(self.spec, self._initial_values, self.seed, states=states)
        keep_trajectory = check_flag("keep_trajectory", keep_trajectory)
        self.run_state = new_run(self.world.mdp, self.settings, keep_trajectory, self._undiscounted)
        self._spec = by_pointer(self.spec)
        self._run = by_pointer(self.run_state)
        self._learner = by_pointer(self.learner)
        self.hooks = ExplorerHooks(self._configured, self._learner, self._spec, self.spec)

    @property
    def configured_explorer(self) -> Any:
        """The explorer with its fields, such as κ and γ_w."""
        return self._configured

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return int(self.learner.counters.step)

    def advance(self, until: int | None = None) -> None:
        """Run up to the given step, or to the end; the results do not depend on where a run pauses."""
        end = self.settings.run_length
        until = end if until is None else check_integer("until", until, low=0, high=end)
        while status := run_until(self.hooks.pointer, self._learner, self._spec, self._run, until):
            if status == INVALID_ACTION:
                raise invalid_choice(self.explorer, self.spec.n_actions, self.run_state, self.step)
            assert status == NO_ROOM
            with sufficient_memory(self.spec):
                self.learner = enlarged(self.learner, self.spec, self._initial_values)
            self._learner = by_pointer(self.learner)

    def record(self) -> Record:
        """Return the results so far."""
        n_evaluated = self.step // self.settings.evaluate_every
        run = self.run_state
        kept = min(self.step, len(run.actions))
        policies, policy_at = distinct_policies(run.greedy[:n_evaluated])
        mdp, values = self.world.mdp, np.zeros(policies.shape)
        returns = run.returns[:n_evaluated].copy()
        if len(run.greedy):
            solved = [action_probabilities(bits, mdp.n_actions) for bits in policies]
            values = policy_values(mdp, solved, self.settings.discount)
            by_policy = values @ mdp.start
            if self._undiscounted:
                by_policy = episode_returns(mdp, solved, self.settings.horizon)
            returns = by_policy[policy_at]
        return Record(
            world=self.world.name,
            explorer=self.explorer,
            seed=self.seed,
            settings=self.settings,
            steps=self.settings.evaluate_every * np.arange(1, n_evaluated + 1),
            returns=returns,
            returns_of=GREEDY_POLICY_EPISODES if self._undiscounted else GREEDY_POLICY,
            discovered=run.discovered[:n_evaluated].copy(),
            visits=by_state(self.learner.visits, run.state_index, self.spec),
            first_visit=run.first_visit.copy(),
            tables=tables_by_state(self.learner, run.state_index, self.spec),
            policies=policies,
            policy_values=values,
            policy_at=policy_at,
            states=run.states[:kept].copy(),
            actions=run.actions[:kept].copy(),
            position=(int(run.position.state), int(run.position.episode_step)),
            events=(int(run.position.first_reward) or None, int(run.position.first_termination) or None),
            snapshot=self._snapshot(),
        )

    def _snapshot(self) -> AgentSnapshot:
        arguments = {
            "n_actions": self.world.n_actions,
            "n_states": self.world.n_states,
            "reward_range": self.world.reward_range,
            "seed": self.seed,
            "settings": self.settings,
            **self._options,
        }
        arrays = copied(self.learner, self.spec), self.run_state.state_index.copy()
        world = self.world
        return AgentSnapshot(type(self._configured), arguments, *arrays, world.layout, tuple(world.action_names))


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
