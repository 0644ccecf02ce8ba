"""An agent that is driven step by step, in any environment whose states are numbered.

    agent = Agent("vv-ucb", n_actions=4, reward_range=(0, 1), seed=1)
    action = agent.act(state)
    agent.observe(state, action, reward, next_state, terminated, truncated)

It shares every line of mathematics with `train`: with the same seed, in the same world, both do the same.
"""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import announce, by_reference, compiled_now, entry, kernel
from wanderlust.agents import file
from wanderlust.agents.explanation import Explanation, explain
from wanderlust.agents.presets import resolve
from wanderlust.agents.settings import Settings, make_spec
from wanderlust.agents.simulation import Simulator, greedy_return, starts_of
from wanderlust.core.errors import (
    InvalidExplorer,
    InvalidObservation,
    InvalidSetting,
    InvalidWorld,
    check_flag,
    check_integer,
    check_number,
)
from wanderlust.core.mdp import TabularMDP
from wanderlust.explorers.protocol import ExplorerBox
from wanderlust.explorers.registry import configured, explorer_name
from wanderlust.explorers.view import view_of
from wanderlust.learning.adjustments import defer_idle_actions, reinitialise_untried, replace_terminal_rewards
from wanderlust.learning.allocation import InitialValues, enlarged, new_learner
from wanderlust.learning.memory import has_room, known_state, refresh_terminal_signals
from wanderlust.learning.state import N_SEEN, NONE, STEP, TARGET, TERMINAL, Floats, Ints, LearnerState, TableSpec
from wanderlust.learning.tables import by_state, tables_by_state
from wanderlust.learning.update import UpdateMode, learn, update_mode
from wanderlust.worlds import World, as_world

Ids = NDArray[np.int32]

MAX_STATES = 200_000_000


def _choose(ruled: ExplorerBox, learner: LearnerState, spec: TableSpec, ids: Ids, state: int) -> int:
    """Return the action to take, or `NONE` when the learner must grow first."""
    if not has_room(learner, spec):
        return NONE
    number = known_state(state, ids, learner)
    return ruled.rule.choose(view_of(number, learner, spec), learner.scores, learner.streams)  # type: ignore[no-any-return]


def _learn(
    ruled: ExplorerBox,
    learner: LearnerState,
    spec: TableSpec,
    ids: Ids,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    terminated: bool,
    truncated: bool,
    mode: UpdateMode,
) -> bool:
    """Learn from a transition; return False when the learner must grow first."""
    if not has_room(learner, spec):
        return False
    number = known_state(state, ids, learner)
    following = TERMINAL if terminated else known_state(next_state, ids, learner)
    learn(ruled.rule, number, action, reward, following, learner, spec, mode)
    if terminated or truncated:
        ruled.rule.begin_episode(learner.notes, learner.streams)
    return True


def _begin(ruled: ExplorerBox, learner: LearnerState) -> None:
    """Tell the explorer that the first episode starts."""
    ruled.rule.begin_episode(learner.notes, learner.streams)


def _refresh_ends(ruled: ExplorerBox, learner: LearnerState, spec: TableSpec) -> None:
    """Bring up to date what the explorer pays at the end of episodes, which depends on how far W looks."""
    refresh_terminal_signals(ruled.rule, learner, spec)


@entry
def _meet(learner: LearnerState, spec: TableSpec, ids: Ids, state: int) -> int:
    """Return the number of a state, or `TERMINAL` when the learner must grow first."""
    if not has_room(learner, spec):
        return TERMINAL
    return known_state(state, ids, learner)


@entry
def _roll_out(
    learner: LearnerState, spec: TableSpec, mdp: TabularMDP, starts: Ids, chances: Floats, ids: Ids, horizon: int, discount: float
) -> float:
    """Return what the greedy policy returns in a deterministic world."""
    return greedy_return(mdp, starts, chances, ids, horizon, discount, learner, spec)[0]


_choose_for, _learn_for, _begin_for = kernel(_choose), kernel(_learn), kernel(_begin)
_refresh_ends_for = kernel(_refresh_ends)


class Agent:
    """Q-learning with an explorer: chooses actions, learns from what came of them, can be asked why.

    States are numbers from 0; with `n_states` not given there may be any number of them. `changes` are settings
    (see `Settings`) and options of the explorer.
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
            raise InvalidSetting(f"settings must be a wanderlust.Settings, got {settings!r}.")
        self.n_actions = check_integer("n_actions", n_actions, low=1)
        self.n_states = None if n_states is None else check_integer("n_states", n_states, low=1)
        self.seed = check_integer("seed", seed, low=0)
        self.options = dict(options)
        self.env: Any = None
        """The environment, its states numbered, in which `learn` has taught it; None if it was not taught so."""
        problem = self.settings.problem(n_actions, reward_range)
        self.reward_range = problem.reward_range
        self.rule = configured(explorer, problem, self.options)
        self.explorer = explorer_name(type(self.rule))
        self.spec, noise = make_spec(self.rule, problem, self.settings, learns_q=learns_q)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        self._ids: Ids = np.zeros(self.n_states or 64, np.int32)
        self._choose = _choose_for(type(self.rule))
        self._learn = _learn_for(type(self.rule))
        self._ruled, self._spec = by_reference(ExplorerBox(self.rule)), by_reference(self.spec)
        self._update_mode = update_mode(self.spec)
        self.learner = new_learner(self.spec, self._initial_values, self.seed)
        self._driver = f"step by step.{self._update_mode}"
        self._compiling = announce(type(self.rule), self._driver)
        _begin_for(type(self.rule))(self._ruled, self._learner)

    @classmethod
    def for_world(
        cls, world: World | str, explorer: str | type, *, seed: int = 0, preset: str = "as_written", **changes: Any
    ) -> Agent:
        """Return an agent with the paper's settings for a world, but for the changes given."""
        world = as_world(world)
        settings, options = resolve(world, explorer, preset, changes)
        return cls(
            explorer,
            n_actions=world.n_actions,
            n_states=world.n_states,
            reward_range=world.reward_range,
            seed=seed,
            settings=settings,
            **options,
        )

    @property
    def learner(self) -> LearnerState:
        """Everything that the agent has learnt and remembers."""
        return self._arrays

    @learner.setter
    def learner(self, learner: LearnerState) -> None:
        self._arrays, self._learner = learner, by_reference(learner)

    def _grow(self) -> None:
        self.learner = enlarged(self.learner, self.spec, self._initial_values)

    def act(self, state: int) -> int:
        """Return the action that the explorer takes in a state."""
        state = self._checked_state(state, "state")
        action = self._choose(self._ruled, self._learner, self._spec, self._ids, state)
        if action == NONE:
            self._grow()
            action = self._choose(self._ruled, self._learner, self._spec, self._ids, state)
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
        """Learn from what came of an action.

        `terminated` says that the task ended there, so that nothing follows; `truncated` that the episode was merely
        cut off, so that the next state's value still counts.
        """
        state = self._checked_state(state, "state")
        next_state = state if terminated else self._checked_state(next_state, "next_state")
        action = self._checked_action(action)
        reward = check_number("reward", reward)
        given = (action, reward, next_state, check_flag("terminated", terminated), check_flag("truncated", truncated))
        while not self._learn(self._ruled, self._learner, self._spec, self._ids, state, *given, self._update_mode):
            self._grow()
        if self._compiling:
            compiled_now(type(self.rule), self._driver)
            self._compiling = False

    def adapt(self, reward_range: tuple[float, float] | None = None, **options: Any) -> None:
        """Go on with another range of rewards, as when it becomes known by and by, or with other options.

        κ and all bounds follow. What was learnt stays. What was never tried gets the values with which it would have
        started.
        """
        problem = self.settings.problem(self.n_actions, self.reward_range if reward_range is None else reward_range)
        before = self.spec
        self.rule = configured(type(self.rule), problem, self.options | options)
        self.options |= options
        self.spec, _ = make_spec(self.rule, problem, self.settings, learns_q=before.learns_q)
        self.reward_range = problem.reward_range
        self._initial_values.spec = self.spec
        reinitialise_untried(self.learner, self.spec, before)
        self._ruled, self._spec = by_reference(ExplorerBox(self.rule)), by_reference(self.spec)
        if (self.spec.discount != before.discount).any():
            _refresh_ends_for(type(self.rule))(self._ruled, self._learner, self._spec)

    def defer_idle_actions(
        self, state: int, action: int, next_state: int | None, *, idle: bool, counts: Ints, detour: int
    ) -> None:
        """Let the untried actions of two states wait if they mostly do nothing; see `wanderlust.training.idle_actions`.

        It is told what was just observed: whether the action did nothing, and None if the episode is over.
        """
        following = TERMINAL if next_state is None else int(self._ids[next_state])
        defer_idle_actions(self._learner, self._spec, int(self._ids[state]), action, following, idle, counts, detour)

    def replace_terminal_rewards(self, reward: float) -> None:
        """Go on as if every end of an episode that was paid something above zero had been paid this."""
        replace_terminal_rewards(self._learner, self._spec, check_number("reward", reward))

    def number_of(self, state: int) -> int:
        """Return the number under which the learner knows a state, giving it one if it is new."""
        state = self._checked_state(state, "state")
        number = int(_meet(self._learner, self._spec, self._ids, state))
        if number == TERMINAL:
            self._grow()
            number = int(_meet(self._learner, self._spec, self._ids, state))
        return number

    def greedy_action(self, state: int) -> int:
        """Return the best action by the target table, the first of them if several are as good."""
        return int(np.argmax(self.action_values(state)))

    def action_values(self, state: int) -> Floats:
        """Return the target table's Q-values of a state."""
        known = self._checked_state(state, "state")  # This may make the list of numbers longer.
        first = self._ids[known] * self.n_actions
        return self.learner.values[TARGET, first : first + self.n_actions].copy()

    def explain(self, state: int) -> Explanation:
        """Say what the explorer would do in a state now, and why. Changes nothing."""
        known = self._checked_state(state, "state")
        return explain(self.rule, int(self._ids[known]), known, self.learner, self.spec)

    def evaluate(self, world: World) -> float:
        """Return the greedy policy's discounted return in a deterministic world, ties broken at random."""
        if not (isinstance(world, World) and world.mdp.deterministic and world.n_actions == self.n_actions):
            what = world.name if isinstance(world, World) else world
            raise InvalidWorld(f"evaluate needs a deterministic World with {self.n_actions} actions, got {what!r}.")
        starts, chances = starts_of(world.mdp)
        settings = self.settings
        ids = np.zeros(max(len(self._ids), world.n_states), np.int32)
        ids[: len(self._ids)] = self._ids
        return float(
            _roll_out(
                self._learner,
                self._spec,
                by_reference(world.mdp),
                starts,
                chances,
                ids,
                settings.rollout_length,
                settings.discount,
            )
        )

    def simulate(self, world: World | str) -> Simulator:
        """Return the world to act in, driven by this agent's own random stream for it."""
        return Simulator(as_world(world).mdp, self.learner.streams)

    @property
    def steps(self) -> int:
        """How many transitions were observed."""
        return int(self.learner.numbers[STEP])

    @property
    def discovered(self) -> int:
        """In how many distinct states an action was taken."""
        return int(self.learner.numbers[N_SEEN])

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often each action was tried in each state: [state, action]."""
        counts: NDArray[np.int64] = by_state(self.learner.visits, self._ids, self.spec)
        return counts

    @property
    def tables(self) -> dict[str, Floats]:
        """The learnt tables by name, [state, action]; 'heads' is [head, state, action]."""
        return tables_by_state(self.learner, self._ids, self.spec)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file, whole or not at all; `load` goes on as if nothing had happened."""
        file.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, *, explorer: type | None = None) -> Agent:
        """Read an agent from a file. An explorer class of your own must be given: no code is taken from files."""
        return file.load(cls, Path(path), explorer)

    def _checked_action(self, action: Any) -> int:
        try:
            number = operator.index(action)
        except TypeError:
            number = NONE
        if not 0 <= number < self.n_actions:
            raise InvalidObservation(f"action must be a whole number from 0 to {self.n_actions - 1}, got {action!r}.")
        return number

    def _checked_state(self, state: Any, name: str) -> int:
        try:
            number = operator.index(state)
        except TypeError:
            number = NONE
        if number < 0 or (self.n_states is not None and number >= self.n_states):
            limit = "at least 0" if self.n_states is None else f"from 0 to {self.n_states - 1}"
            raise InvalidObservation(f"{name} must be a whole number {limit}, got {state!r}.")
        if number >= MAX_STATES:
            raise InvalidObservation(
                f"{name} must be below {MAX_STATES:,}, got {state!r}; number states from 0, without large gaps."
            )
        if number >= len(self._ids):
            self._ids = np.concatenate([self._ids, np.zeros(max(len(self._ids), number + 1), np.int32)])
        return number
