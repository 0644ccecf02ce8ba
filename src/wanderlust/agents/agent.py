"""An agent that is driven step by step, in any environment whose states are integers.

    agent = Agent("vv-ucb", n_actions=4, reward_range=(0, 1), seed=1)
    action = agent.act(state)
    agent.observe(state, action, reward, next_state, terminated, truncated)

It uses the same functions as `train`: with the same seed and world, both give the same results, bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from wanderlust._numba.jit import by_pointer, entry
from wanderlust.agents import file, presentation
from wanderlust.agents.explanation import Explanation, explain
from wanderlust.agents.presets import resolve
from wanderlust.agents.settings import MAX_ACTIONS, MAX_VALUE, Settings, make_spec, sufficient_memory
from wanderlust.agents.simulation import Simulator, greedy_return, start_distribution
from wanderlust.core.errors import (
    MAX_PAIRS,
    InvalidExplorer,
    InvalidObservation,
    InvalidSetting,
    InvalidWorld,
    check_flag,
    check_integer,
    check_number,
    check_pairs,
    plain_value,
    shown,
)
from wanderlust.core.input_files import check_path
from wanderlust.core.mdp import TabularMDP
from wanderlust.encoding.encoding import Encoding
from wanderlust.explorers.hooks import ExplorerHooks
from wanderlust.explorers.registry import configured, explorer_name
from wanderlust.learning.adjustments import defer_idle_actions, reinitialise_untried, replace_terminal_rewards
from wanderlust.learning.allocation import InitialValues, enlarged, new_learner
from wanderlust.learning.hooks import Hooks, begin_episode, choose_action, learn
from wanderlust.learning.memory import has_room, index_of, refresh_terminal_signals
from wanderlust.learning.spec import TARGET, Floats, Ints, TableSpec
from wanderlust.learning.state import NONE, TERMINAL, LearnerState
from wanderlust.learning.tables import by_state, tables_by_state
from wanderlust.worlds import World, as_world, check_world
from wanderlust.worlds.base import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

StateIndex = NDArray[np.int32]

MAX_STATES = 200_000_000


@entry
def _choose(hooks: Hooks, learner: LearnerState, spec: TableSpec, state_index: StateIndex, state: int) -> int:
    """Return the action to take, or `NONE` if the arrays must be enlarged first."""
    if not has_room(learner, spec):
        return NONE
    return choose_action(hooks, index_of(state, state_index, learner), learner, spec)


@entry
def _learn(
    hooks: Hooks,
    learner: LearnerState,
    spec: TableSpec,
    state_index: StateIndex,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    terminated: bool,
    truncated: bool,
) -> bool:
    """Learn from a transition; return False if the arrays must be enlarged first."""
    if not has_room(learner, spec):
        return False
    index = index_of(state, state_index, learner)
    next_index = TERMINAL if terminated else index_of(next_state, state_index, learner)
    learn(hooks, index, action, reward, next_index, learner, spec)
    if terminated or truncated:
        begin_episode(hooks, learner)
    return True


@entry
def _begin_episode(hooks: Hooks, learner: LearnerState) -> None:
    begin_episode(hooks, learner)


@entry
def _refresh_terminal_signals(hooks: Hooks, learner: LearnerState, spec: TableSpec) -> None:
    refresh_terminal_signals(hooks, learner, spec)


@entry
def _index_of(learner: LearnerState, spec: TableSpec, state_index: StateIndex, state: int) -> int:
    """Return the index of a state, or `TERMINAL` if the arrays must be enlarged first."""
    if not has_room(learner, spec):
        return TERMINAL
    return index_of(state, state_index, learner)


@entry
def _greedy_return(
    learner: LearnerState,
    spec: TableSpec,
    mdp: TabularMDP,
    starts: StateIndex,
    probabilities: Floats,
    state_index: StateIndex,
    horizon: int,
    discount: float,
) -> float:
    """Return the return of the greedy policy in a deterministic world."""
    return greedy_return(mdp, starts, probabilities, state_index, horizon, discount, learner, spec)[0]


class Agent:
    """Q-learning with an explorer: chooses actions, learns from transitions, explains its choices.

    States are integers from 0; without `n_states` there may be any number of them. `options` are those of the explorer.
    """

    def __init__(
        self,
        explorer: str | type,
        *,
        n_actions: int,
        reward_range: tuple[float, float],
        n_states: int | None = None,
        seed: int = 0,
        settings: Settings | None = None,
        learns_q: bool = True,
        **options: Any,
    ) -> None:
        self.settings = settings if settings is not None else Settings()
        if not isinstance(self.settings, Settings):
            raise InvalidSetting(f"settings must be a wanderlust.Settings, got {shown(settings)}.")
        self.n_actions = check_integer("n_actions", n_actions, low=1, high=MAX_ACTIONS)
        self.n_states = None if n_states is None else check_integer("n_states", n_states, low=1, high=MAX_STATES)
        check_pairs("the agent", self.n_states or 1, self.n_actions)
        self._max_states = min(MAX_STATES, MAX_PAIRS // self.n_actions)
        self.seed = check_integer("seed", seed, low=0)
        self.options = {name: plain_value(value) for name, value in options.items()}
        self.env: Any = None
        """The environment in which `learn` trained this agent; None if it was not trained by `learn`, or was loaded."""
        self.environment: dict[str, Any] | None = None
        """The name and the options of that environment, which are saved with the agent."""
        self.encoding: Encoding | None = None
        """How observations and actions of that environment are encoded; None if states and actions are integers."""
        self.layout: Layout | None = None
        """The map of that environment or world, for `plot`; None if there is none."""
        self.action_names: tuple[str, ...] | None = None
        """The names of the actions, if they are known."""
        problem = self.settings.problem(self.n_actions, reward_range)
        self.reward_range = problem.reward_range
        self._configured = configured(explorer, problem, self.options)
        self.explorer = explorer_name(type(self._configured))
        learns_q = check_flag("learns_q", learns_q)
        self.spec, noise = make_spec(self._configured, problem, self.settings, learns_q=learns_q)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        with sufficient_memory(self.spec):
            self._state_index: StateIndex = np.zeros(self.n_states or 64, np.int32)
            self.learner = new_learner(self.spec, self._initial_values, self.seed)
        self._connect()
        _begin_episode(self._hooks.pointer, self._learner)

    @classmethod
    def for_world(
        cls, world: World | str, explorer: str | type, *, seed: int = 0, preset: str = "as_written", **changes: Any
    ) -> Agent:
        """Return an agent with the paper's settings for a world, but for the changes given."""
        world = as_world(world)
        settings, options = resolve(world, explorer, preset, changes)
        agent = cls(
            explorer,
            n_actions=world.n_actions,
            n_states=world.n_states,
            reward_range=world.reward_range,
            seed=seed,
            settings=settings,
            **options,
        )
        agent.layout, agent.action_names = world.layout, world.action_names
        return agent

    @property
    def learner(self) -> LearnerState:
        """Everything that the agent has learnt and remembers."""
        return self._arrays

    @learner.setter
    def learner(self, learner: LearnerState) -> None:
        self._arrays, self._learner = learner, by_pointer(learner)

    @property
    def configured_explorer(self) -> Any:
        """The explorer with its fields, such as κ and γ_w."""
        return self._configured

    @property
    def is_stochastic(self) -> bool:
        """Whether some action was observed to have several outcomes."""
        return bool(self.learner.counters.n_stochastic > 0)

    def _connect(self) -> None:
        """Let compiled code use the explorer and the spec as they are now."""
        self._spec = by_pointer(self.spec)
        self._hooks = ExplorerHooks(self._configured, self._learner, self._spec, self.spec)

    def _enlarge(self) -> None:
        with sufficient_memory(self.spec):
            self.learner = enlarged(self.learner, self.spec, self._initial_values)

    def act(self, state: int) -> int:
        """Return the action that the explorer takes in a state."""
        state = self._checked_state(state, "state")
        action = _choose(self._hooks.pointer, self._learner, self._spec, self._state_index, state)
        if action == NONE:
            self._enlarge()
            action = _choose(self._hooks.pointer, self._learner, self._spec, self._state_index, state)
        if not 0 <= action < self.n_actions:
            valid = f"0 to {self.n_actions - 1}"
            raise InvalidExplorer(f"explorer {self.explorer!r} chose action {action}; valid are {valid}.")
        return int(action)

    def observe(
        self,
        state: int,
        action: int,
        reward: float,
        next_state: int,
        terminated: bool,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition.

        After `terminated` there is no next state. After `truncated` the episode ends, but the value of the next state
        still counts.
        """
        terminated, truncated = check_flag("terminated", terminated), check_flag("truncated", truncated)
        state = self._checked_state(state, "state")
        next_state = state if terminated else self._checked_state(next_state, "next_state")
        action = self.checked_action(action)
        reward = check_number("reward", reward, low=-MAX_VALUE, high=MAX_VALUE)
        transition = (action, reward, next_state, terminated, truncated)
        while not _learn(self._hooks.pointer, self._learner, self._spec, self._state_index, state, *transition):
            self._enlarge()

    def adapt(self, reward_range: tuple[float, float] | None = None, **options: Any) -> None:
        """Go on with another range of rewards or with other options of the explorer.

        κ and all bounds follow. Learnt values stay; pairs never tried get the new initial values.
        """
        problem = self.settings.problem(self.n_actions, self.reward_range if reward_range is None else reward_range)
        before = self.spec
        new_options = self.options | {name: plain_value(value) for name, value in options.items()}
        self._configured = configured(type(self._configured), problem, new_options)
        self.options = new_options
        self.spec, _ = make_spec(self._configured, problem, self.settings, learns_q=before.learns_q)
        self.reward_range = problem.reward_range
        self._initial_values.spec = self.spec
        reinitialise_untried(self.learner, self.spec, before)
        self._connect()
        if (self.spec.discount != before.discount).any():
            _refresh_terminal_signals(self._hooks.pointer, self._learner, self._spec)

    def defer_idle_actions(
        self, state: int, action: int, next_state: int | None, *, idle: bool, counts: Ints, delay: int
    ) -> None:
        """Lower W of untried actions that mostly change nothing; see `wanderlust.training.idle_actions`.

        The arguments are the transition just observed: whether the action changed nothing, and None for the next state
        if the episode terminated.
        """
        index = int(self._state_index[state])
        next_index = TERMINAL if next_state is None else int(self._state_index[next_state])
        defer_idle_actions(self._learner, self._spec, index, action, next_index, idle, counts, delay)

    def replace_terminal_rewards(self, reward: float) -> None:
        """Go on as if every positive terminal reward had been this one."""
        replace_terminal_rewards(self._learner, self._spec, check_number("reward", reward))

    def index_of(self, state: int) -> int:
        """Return the index of a state in the learner's arrays; a new state gets the next one."""
        state = self._checked_state(state, "state")
        index = int(_index_of(self._learner, self._spec, self._state_index, state))
        if index == TERMINAL:
            self._enlarge()
            index = int(_index_of(self._learner, self._spec, self._state_index, state))
        return index

    def predict(
        self,
        observation: Any,
        *,
        explore: bool = False,
        env: Env[Any, Any] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the action for an observation of the environment, in the form that the environment takes.

        It is the greedy action of the target policy; of several, the first. In a state that was never visited it is the
        first action: `knows` tells. With `explore=True` it is the explorer's choice, as `act` returns it. `env` or
        `info` are needed if the state key comes from them instead of the observation.
        """
        if self.encoding is None:
            state = self._checked_state(observation, "observation")
            return self.act(state) if explore else self.greedy_action(state)
        key = self.encoding.key(observation, info, env)
        if check_flag("explore", explore):
            return self.encoding.actions.decode(self.act(self.encoding.keys.add(key)))
        state = self.encoding.keys.find(key)
        return self.encoding.actions.decode(self.greedy_action(state) if self._has_visited(state) else 0)

    def knows(
        self, observation: Any, *, env: Env[Any, Any] | None = None, info: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether the agent has been in the state of an observation; the parameters are those of `predict`."""
        if self.encoding is None:
            return self._has_visited(self._checked_state(observation, "observation"))
        return self._has_visited(self.encoding.keys.find(self.encoding.key(observation, info, env)))

    def _has_visited(self, state: int) -> bool:
        return state < len(self._state_index) and bool(self._state_index[state] != TERMINAL)

    def greedy_action(self, state: int) -> int:
        """Return the greedy action of the target policy; of several, the first."""
        return int(np.argmax(self.action_values(state)))

    def action_values(self, state: int) -> Floats:
        """Return the target table's Q-values of a state."""
        known = self._checked_state(state, "state")  # This may extend the index.
        first = self._state_index[known] * self.n_actions
        return self.learner.values[TARGET, first : first + self.n_actions].copy()

    def explain(self, state: int) -> Explanation:
        """Return the explorer's choice in a state and its reasons; the agent is not changed."""
        known = self._checked_state(state, "state")
        index = int(self._state_index[known])
        return explain(self._hooks, index, known, self.learner, self.spec, self.action_names or ())

    def plot(self, what: str = "W", *, world: World | str | None = None) -> Figure:
        """Return a matplotlib figure of "W", "Q", "behaviour" (its Q-table) or "visits" on the map of the world.

        Each cell has a triangle for each of the actions left, right, up and down; arrows show the best actions.
        `world` gives the map of an agent that has none, such as one that was trained in a user-defined loop.
        """
        return presentation.plot_agent(self, what, world)

    def __str__(self) -> str:
        return presentation.agent_text(self)

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return presentation.agent_html(self)

    def evaluate(self, world: World) -> float:
        """Return the greedy policy's discounted return in a deterministic world, ties broken at random."""
        if isinstance(world, World):
            check_world(world, start_can_be_left=False)
        if not (isinstance(world, World) and world.mdp.deterministic and world.n_actions == self.n_actions):
            what = shown(world.name if isinstance(world, World) else world)
            raise InvalidWorld(f"evaluate needs a deterministic World with {self.n_actions} actions, got {what}.")
        starts, probabilities = start_distribution(world.mdp)
        state_index = np.zeros(max(len(self._state_index), world.n_states), np.int32)
        state_index[: len(self._state_index)] = self._state_index
        horizon, discount = self.settings.rollout_length, self.settings.discount
        mdp = by_pointer(world.mdp)
        return float(
            _greedy_return(self._learner, self._spec, mdp, starts, probabilities, state_index, horizon, discount)
        )

    def simulate(self, world: World | str) -> Simulator:
        """Return a simulator of the world that uses this agent's random stream."""
        return Simulator(as_world(world).mdp, self.learner.streams)

    @property
    def steps(self) -> int:
        """The number of transitions observed."""
        return int(self.learner.counters.step)

    @property
    def discovered(self) -> int:
        """The number of distinct states in which an action was taken."""
        return int(self.learner.counters.n_discovered)

    @property
    def visits(self) -> NDArray[np.int64]:
        """n(s, a), the visit counts: [state, action]."""
        counts: NDArray[np.int64] = by_state(self.learner.visits, self._state_index, self.spec)
        return counts

    @property
    def tables(self) -> dict[str, Floats]:
        """The learnt tables by name, [state, action]; 'heads' is [head, state, action]."""
        return tables_by_state(self.learner, self._state_index, self.spec)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file; `load` continues exactly where it was."""
        file.save(self, check_path("path", path))

    @classmethod
    def load(
        cls, path: str | Path, *, explorer: type | None = None, key: Callable[..., Any] | None = None
    ) -> Agent:
        """Read an agent from a file. Files contain no code: a user-defined explorer class or key function is given."""
        return file.load_all(cls, check_path("path", path), explorer, key)[0]

    def checked_action(self, action: Any) -> int:
        """Return the index of an action, or raise `InvalidObservation`."""
        try:
            number = operator.index(action)
        except TypeError:
            number = NONE
        if not 0 <= number < self.n_actions:
            valid = f"from 0 to {self.n_actions - 1}"
            raise InvalidObservation(f"action must be a whole number {valid}, got {shown(action)}.")
        return number

    def _checked_state(self, state: Any, name: str) -> int:
        try:
            number = operator.index(state)
        except TypeError:
            number = NONE
        if number < 0 or (self.n_states is not None and number >= self.n_states):
            limit = "at least 0" if self.n_states is None else f"from 0 to {self.n_states - 1}"
            raise InvalidObservation(f"{name} must be a whole number {limit}, got {shown(state)}.")
        if number >= self._max_states:
            raise InvalidObservation(
                f"{name} must be below {self._max_states:,}, got {shown(state)}; use consecutive states from 0."
            )
        if number >= len(self._state_index):
            with sufficient_memory(self.spec):
                more = np.zeros(max(len(self._state_index), number + 1), np.int32)
                self._state_index = np.concatenate([self._state_index, more])
        return number
