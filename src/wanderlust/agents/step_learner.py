"""Learning step by step: the tables and the explorer of an agent, one transition at a time.

`Agent` adds what a user does with what was learnt: predict, explain, evaluate, save.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import by_pointer
from wanderlust.agents import compiled_steps
from wanderlust.agents.compiled_steps import CONTINUES, TERMINATES, TRUNCATES, StateIndex, StepAddresses, StepContext
from wanderlust.agents.settings import MAX_ACTIONS, MAX_VALUE, Settings, make_spec, sufficient_memory
from wanderlust.core.errors import (
    MAX_PAIRS,
    InvalidExplorer,
    InvalidObservation,
    InvalidSetting,
    check_flag,
    check_integer,
    check_number,
    check_pairs,
    plain_value,
    shown,
)
from wanderlust.explorers.compiled import ExplorerHooks
from wanderlust.explorers.registry import configured, explorer_name
from wanderlust.learning.memory import reinitialise_untried, replace_terminal_rewards
from wanderlust.learning.spec import NO_MEMORY, NO_SIGNAL, Floats
from wanderlust.learning.state import (
    COUNTERS,
    NONE,
    TERMINAL,
    InitialValues,
    LearnerState,
    by_state,
    enlarged,
    new_learner,
    tables_by_state,
)

MAX_STATES = 200_000_000
_STEP, _N_STOCHASTIC, _N_DISCOVERED = map(list(COUNTERS.fields or ()).index, ("step", "n_stochastic", "n_discovered"))


class StepLearner:
    """Q-learning with an explorer, in states that are integers from 0."""

    def __init__(
        self,
        explorer: str | type,
        *,
        n_actions: int,
        reward_range: tuple[float, float],
        n_states: int | None,
        seed: int,
        settings: Settings,
        learns_q: bool,
        options: dict[str, Any],
        fields: Mapping[str, float] | None = None,
    ) -> None:
        self.settings = settings
        self.n_actions = check_integer("n_actions", n_actions, low=1, high=MAX_ACTIONS)
        self.n_states = None if n_states is None else check_integer("n_states", n_states, low=1, high=MAX_STATES)
        check_pairs("the agent", self.n_states or 1, self.n_actions)
        self._max_states = min(MAX_STATES, MAX_PAIRS // self.n_actions)
        self.seed = check_integer("seed", seed, low=0)
        self.options = {name: plain_value(value) for name, value in options.items()}
        """The explorer's options."""
        self.fields = dict(fields or {})
        """Fields of the explorer that replace what follows from its options; see `wanderlust.training.adaptive`."""
        problem = settings.problem(self.n_actions, reward_range)
        self.reward_range = problem.reward_range
        self._configured = configured(explorer, problem, self.options, self.fields)
        self.explorer = explorer_name(type(self._configured))
        learns_q = check_flag("learns_q", learns_q)
        self.spec, noise = make_spec(self._configured, problem, settings, learns_q=learns_q)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        with sufficient_memory(self.spec):
            self._state_index: StateIndex = np.zeros(self.n_states or 64, np.int32)
            self._arrays = new_learner(self.spec, self._initial_values, self.seed)
        self._connect_arrays()
        compiled_steps.begin_first_episode(self._addresses.pointer)

    @property
    def learner(self) -> LearnerState:
        """Everything that the agent has learnt and remembers."""
        return self._arrays

    @property
    def configured_explorer(self) -> Any:
        """The explorer with its fields, such as κ and γ_w."""
        return self._configured

    @property
    def steps(self) -> int:
        """The number of transitions observed."""
        return self._counters[_STEP]

    @property
    def is_stochastic(self) -> bool:
        """Whether some action was observed to have several outcomes."""
        return self._counters[_N_STOCHASTIC] > 0

    @property
    def discovered(self) -> int:
        """The number of distinct states in which an action was taken."""
        return self._counters[_N_DISCOVERED]

    @property
    def visits(self) -> NDArray[np.int64]:
        """n(s, a), the visit counts: [state, action]."""
        counts: NDArray[np.int64] = by_state(self.learner.visits, self._state_index, self.spec)
        return counts

    @property
    def tables(self) -> dict[str, Floats]:
        """The learnt tables by name, [state, action]; 'heads' is [head, state, action]."""
        return tables_by_state(self.learner, self._state_index, self.spec)

    def act(self, state: int) -> int:
        """Return the action that the explorer takes in a state."""
        if type(state) is not int or not 0 <= state < self._n_indexed:
            state = self._checked_state(state, "state")
        steps = self._addresses
        action: int = compiled_steps.call_choose(steps.choose, steps.context, state)
        if 0 <= action < self.n_actions:
            return action
        if action != NONE:
            raise self._invalid_choice(action)
        self._enlarge()
        steps = self._addresses
        action = compiled_steps.call_choose(steps.choose, steps.context, state)
        if not 0 <= action < self.n_actions:
            raise self._invalid_choice(action)
        return action

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
        # The type checks come first, because calls of functions are what takes time here.
        if terminated is not False and terminated is not True:
            terminated = check_flag("terminated", terminated)
        if truncated is not False and truncated is not True:
            truncated = check_flag("truncated", truncated)
        if type(state) is not int or not 0 <= state < self._n_indexed:
            state = self._checked_state(state, "state")
        if terminated:
            next_state = state
        elif type(next_state) is not int or not 0 <= next_state < self._n_indexed:
            next_state = self._checked_state(next_state, "next_state")
        if type(action) is not int or not 0 <= action < self.n_actions:
            action = self.checked_action(action)
        if type(reward) is not float or not -MAX_VALUE <= reward <= MAX_VALUE:
            reward = check_number("reward", reward, low=-MAX_VALUE, high=MAX_VALUE)
        end = (TERMINATES if terminated else CONTINUES) + (TRUNCATES if truncated else CONTINUES)
        transition = state, action, reward, next_state, end
        steps = self._addresses
        while not compiled_steps.call_learn_from(steps.learn_from, steps.context, *transition):
            self._enlarge()
            steps = self._addresses

    def replay(self, times: int = 1) -> None:
        """Learn from the replay memory without a new transition: `times` sweeps over a full memory.

        With a window it is `times` minibatches. Visit counts do not change.
        """
        times = check_integer("times", times, low=0)
        if self.spec.memory == NO_MEMORY:
            raise InvalidSetting(
                "replay needs a memory, but this agent has replay='none'; use replay='full' or replay='window'."
            )
        if self.steps:
            compiled_steps.replay(self._addresses.pointer, times)

    def undo_choice(self) -> None:
        """Forget the latest `act` if nothing was observed since: the next one draws the same random numbers."""
        if self._context.chosen_at[0] == self.steps:
            self.learner.streams[:], self.learner.notes[:] = self._context.streams_before, self._context.notes_before

    def adapt(
        self,
        reward_range: tuple[float, float] | None = None,
        *,
        fields: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        """Go on with another range of rewards, or with other options or fields of the explorer.

        κ and all bounds follow. Learnt values stay; pairs never tried get the new initial values.
        """
        problem = self.settings.problem(self.n_actions, self.reward_range if reward_range is None else reward_range)
        before, explorer_before = self.spec, self._configured
        new_fields = self.fields if fields is None else dict(fields)
        new_options = self.options | {name: plain_value(value) for name, value in options.items()}
        self._configured = configured(type(self._configured), problem, new_options, new_fields)
        self.options, self.fields = new_options, new_fields
        self.spec, _ = make_spec(self._configured, problem, self.settings, learns_q=before.learns_q)
        self.reward_range = problem.reward_range
        self._initial_values.spec = self.spec
        reinitialise_untried(self.learner, self.spec, before)
        self._connect()
        if (self.spec.discount != before.discount).any():
            compiled_steps.refresh_terminal_signals(self._addresses.pointer)
        has_bonus = self.spec.bonus_signal != NO_SIGNAL and self.spec.memory != NO_MEMORY
        if has_bonus and self._configured != explorer_before:
            compiled_steps.refresh_all_signals(self._addresses.pointer)

    def replace_terminal_rewards(self, reward: float) -> None:
        """Go on as if every positive terminal reward had been this one."""
        replace_terminal_rewards(self._learner, self._spec, check_number("reward", reward))

    def index_of(self, state: int) -> int:
        """Return the index of a state in the learner's arrays; a new state gets the next one."""
        state = self._checked_state(state, "state")
        index = int(compiled_steps.index_of(self._addresses.pointer, state))
        if index == TERMINAL:
            self._enlarge()
            index = int(compiled_steps.index_of(self._addresses.pointer, state))
        return index

    def restore(self, learner: LearnerState, state_index: StateIndex) -> None:
        """Give a new agent the arrays of another one with the same settings; it goes on exactly like that one."""
        n_further = learner.state_capacity - int(self.learner.counters.n_initialised)
        if n_further > 0:  # The initial values of further states are drawn from there on.
            self._initial_values.draw(n_further)
        self._arrays, self._state_index = learner, state_index
        self._connect_arrays()

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

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the addresses that compiled code uses, for `copy` and `pickle`."""
        state = self.__dict__.copy()
        for name in ("_counters", "_learner", "_spec", "_hooks", "_context", "_addresses"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect_arrays()

    def _connect_arrays(self) -> None:
        """Let compiled code use the arrays as they are now."""
        self._n_indexed = len(self._state_index)
        counters: Any = np.frombuffer(self._arrays.counters, np.int64)
        self._counters = memoryview(counters)  # NumPy takes a microsecond to read a field of the record.
        self._learner = by_pointer(self._arrays)
        self._connect()

    def _connect(self) -> None:
        """Let compiled code use the explorer and the spec as they are now."""
        self._spec = by_pointer(self.spec)
        self._hooks = ExplorerHooks(self._configured, self._learner, self._spec, self.spec)
        before = self._arrays.streams.copy(), self._arrays.notes.copy(), np.full(1, NONE, np.int64)
        self._context = StepContext(self._hooks.pointer, self._learner, self._spec, self._state_index, *before)
        self._addresses = StepAddresses(self._context)

    def _enlarge(self) -> None:
        with sufficient_memory(self.spec):
            self._arrays = enlarged(self._arrays, self.spec, self._initial_values)
        self._connect_arrays()

    def _invalid_choice(self, action: int) -> InvalidExplorer:
        valid = f"0 to {self.n_actions - 1}"
        return InvalidExplorer(f"explorer {self.explorer!r} chose action {action}; valid are {valid}.")

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
        if number >= self._n_indexed:
            with sufficient_memory(self.spec):
                more = np.zeros(max(self._n_indexed, number + 1), np.int32)
                self._state_index = np.concatenate([self._state_index, more])
            self._connect_arrays()
        return number
