"""An agent: the one holder of an explorer, its tables and its settings.

    agent = Agent("vv-ucb", n_actions=4, reward_range=(0, 1), seed=1)
    action = agent.act(state)
    agent.observe(state, action, reward, next_state, terminated, truncated)

It is driven step by step as above, in any environment whose states are integers, or by the compiled loop of a
`Session`. Both use the same functions: with the same seed and world, both give the same results, bit for bit.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import Env
from numpy.typing import ArrayLike, NDArray

from wanderlust._numba.jit import by_pointer
from wanderlust.agents import file, loop, presentation
from wanderlust.agents.history import History, TrainingCurves
from wanderlust.agents.loop import TERMINATES, TRUNCATES, Simulator, call_choose, call_learn_from
from wanderlust.agents.masks import Mask, MaskedView, checked_mask, set_valid_actions
from wanderlust.agents.settings import (
    MAX_ACTIONS,
    MAX_VALUE,
    Settings,
    make_spec,
    resolve,
    split_changes,
    sufficient_memory,
)
from wanderlust.core.errors import (
    MAX_PAIRS,
    InvalidExplorer,
    InvalidObservation,
    InvalidSetting,
    InvalidWorld,
    check_flag,
    check_index,
    check_instance,
    check_integer,
    check_number,
    check_pairs,
    plain_value,
    shown,
)
from wanderlust.core.files import check_path
from wanderlust.environments.encoding import Encoding
from wanderlust.explorers.compiled import ExplorerHooks
from wanderlust.explorers.protocol import configured, explorer_name
from wanderlust.learning.memory import reinitialize_untried, replace_terminal_rewards
from wanderlust.learning.state import (
    COUNTERS,
    FIRST_STATES,
    INITIALIZED_STATES,
    NONE,
    TERMINAL,
    InitialValues,
    LearnerState,
    by_state,
    copied,
    enlarged,
    new_learner,
    tables_by_state,
)
from wanderlust.learning.td import EXCLUDED, NO_MEMORY, NO_SIGNAL, TARGET, Floats
from wanderlust.worlds import World, as_world, check_world
from wanderlust.worlds.base import Layout

MAX_STATES = 200_000_000
ACTION_MASKS = "action_masks"
"""The name under which it is saved that an agent uses masks."""
_NOT_SAVED = ("_counters", "_step_functions", "hooks", "pointers", "_masked_views", "_tie_breaks")
_STEP, _N_STOCHASTIC, _N_DISCOVERED = map(list(COUNTERS.fields or ()).index, ("step", "n_stochastic", "n_discovered"))


def one_of(actions: NDArray[np.intp], random: np.random.Generator) -> int:
    """Return one of several actions with equal probability; a single one uses no random number."""
    return int(actions[0] if len(actions) == 1 else random.choice(actions))


class Agent:
    """Q-learning with an explorer: chooses actions, learns from transitions, explains its choices.

    States are integers from 0; without `n_states` there may be any number of them. `changes` are settings (see
    `Settings`), such as `discount`, and options of the explorer. `settings` gives all settings at once.
    """

    env: Any = None
    """The environment in which `learn` trained this agent; None if it was not trained by `learn`, or was loaded."""
    environment: dict[str, Any] | None = None
    """The name and the options of that environment, which are saved with the agent."""
    resumable: tuple[int, dict[str, Any], dict[str, Any]] | None = None
    """What `learn` needs to continue its training after so many steps: JSON values and arrays, saved with the agent."""
    encoding: Encoding | None = None
    """How observations and actions of that environment are encoded; None if states and actions are integers."""
    preset: str | None = None
    """The preset with which `learn` trained this agent; None if it was not trained by `learn`."""
    curves: TrainingCurves | None = None
    """The curves of its training, which `history` returns as arrays."""
    layout: Layout | None = None
    """The map of that environment or world, for `plot`; None if there is none."""
    action_names: tuple[str, ...] | None = None
    """The names of the actions, if they are known."""
    learner: LearnerState
    """Everything that the agent has learnt and remembers."""
    state_index: loop.StateIndex
    """[state]: its index in the learner; `TERMINAL` if it was not visited yet."""

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
        fields: Mapping[str, float] | None = None,
        **changes: Any,
    ) -> None:
        self.settings, options = split_changes(explorer, changes, settings)
        self.n_actions = check_integer("n_actions", n_actions, low=1, high=MAX_ACTIONS)
        self.n_states = None if n_states is None else check_integer("n_states", n_states, low=1, high=MAX_STATES)
        check_pairs("the agent", self.n_states or 1, self.n_actions)
        self._max_states = min(MAX_STATES, MAX_PAIRS // self.n_actions)
        self.seed = check_integer("seed", seed, low=0)
        self.options = {name: plain_value(value) for name, value in options.items()}
        """The explorer's options."""
        self.fields = {} if fields is None else dict(check_instance("fields", fields, Mapping))
        """Fields of the explorer that replace what follows from its options; see `wanderlust.training.adaptive`."""
        problem = self.settings.problem(self.n_actions, reward_range)
        self.reward_range = problem.reward_range
        self.configured_explorer = configured(explorer, problem, self.options, self.fields)
        """The explorer with its fields, such as κ and γ_w."""
        self.explorer = explorer_name(type(self.configured_explorer))
        learns_q = check_flag("learns_q", learns_q)
        self.spec, noise = make_spec(self.configured_explorer, problem, self.settings, learns_q=learns_q)
        self._initial_values = InitialValues(self.spec, noise, self.seed)
        # Room for all states, unless there are so many that most of them may never be visited.
        states = max(min(self.n_states or 0, INITIALIZED_STATES), FIRST_STATES)
        with sufficient_memory(self.spec):
            learner = new_learner(self.spec, self._initial_values, self.seed, states=states)
            state_index: loop.StateIndex = np.zeros(self.n_states or FIRST_STATES, np.int32)
        self._connect(learner, state_index)
        loop.begin_first_episode(*self.pointers)

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
        counts: NDArray[np.int64] = by_state(self.learner.visits, self.state_index, self.spec)
        return counts

    @property
    def tables(self) -> dict[str, Floats]:
        """The learnt tables by name, [state, action]; 'heads' is [head, state, action]."""
        return tables_by_state(self.learner, self.state_index, self.spec)

    @property
    def uses_masks(self) -> bool:
        """Whether it was trained with the action masks of its environment."""
        return (self.environment or {}).get(ACTION_MASKS) is True

    @property
    def history(self) -> History | None:
        """How the training by `learn` or `train` went, in the fields of a `Record`; None for other agents."""
        return None if self.curves is None else self.curves.history(self.visits)

    def act(self, state: int, mask: ArrayLike | None = None) -> int:
        """Return the action that the explorer takes in a state.

        With a `mask`, a boolean for each action, it is a valid one: the explorer chooses as if there were no others.
        Masks are a function of the state. TD targets, W and plans range over the actions that were valid at some visit.
        """
        if mask is not None:
            return self._act_masked(state, checked_mask(mask, self.n_actions))
        if type(state) is not int or not 0 <= state < self._n_indexed:
            state = self._checked_state(state, "state")
        step = self._step_functions or self._step()
        action: int = call_choose(step.choose, step.context, state)
        if 0 <= action < self.n_actions:
            return action
        if action == NONE:
            self.enlarge()
            step = self._step()
            action = call_choose(step.choose, step.context, state)
        if not 0 <= action < self.n_actions:
            raise self.invalid_choice(action)
        return action

    def _act_masked(self, state: int, mask: Mask) -> int:
        index = self.index_of(state)
        set_valid_actions(index, mask, self.learner, self.spec)
        valid = np.flatnonzero(mask)
        if len(valid) == self.n_actions:
            return self.act(state)
        before = self._step().values
        before.streams_before[:], before.notes_before[:] = self.learner.streams, self.learner.notes
        before.chosen_at[0] = self.steps
        if len(valid) not in self._masked_views:
            self._masked_views[len(valid)] = MaskedView.of(self.learner, self.spec, len(valid))
        view = self._masked_views[len(valid)]
        view.show(index, valid, self.learner, self.n_actions)
        chosen = int(presentation.choose(self.hooks.pointer, view.learner, view.spec, 0))
        if not 0 <= chosen < len(valid):
            raise self.invalid_choice(chosen)
        return int(valid[chosen])

    def observe(
        self, state: int, action: int, reward: float, next_state: int, terminated: bool, truncated: bool = False
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
            action = check_index("action", action, self.n_actions)
        if type(reward) is not float or not -MAX_VALUE <= reward <= MAX_VALUE:
            reward = check_number("reward", reward, low=-MAX_VALUE, high=MAX_VALUE)
        end = (TERMINATES if terminated else 0) + (TRUNCATES if truncated else 0)
        transition = state, action, reward, next_state, end
        step = self._step_functions or self._step()
        while not call_learn_from(step.learn_from, step.context, *transition):
            self.enlarge()
            step = self._step()

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
            loop.replay(*self.pointers[1:], times)

    def undo_choice(self) -> None:
        """Forget the latest `act` if nothing was observed since: the next one draws the same random numbers."""
        before = self._step().values
        if before.chosen_at[0] == self.steps:
            self.learner.streams[:], self.learner.notes[:] = before.streams_before, before.notes_before

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
        before, explorer_before = self.spec, self.configured_explorer
        new_fields = self.fields if fields is None else dict(check_instance("fields", fields, Mapping))
        new_options = self.options | {name: plain_value(value) for name, value in options.items()}
        self.configured_explorer = configured(type(self.configured_explorer), problem, new_options, new_fields)
        self.options, self.fields = new_options, new_fields
        self.spec, _ = make_spec(self.configured_explorer, problem, self.settings, learns_q=before.learns_q)
        self.reward_range = problem.reward_range
        self._initial_values.spec = self.spec
        reinitialize_untried(self.learner, self.spec, before)
        self._connect_explorer(self.pointers[1])
        if (self.spec.discount != before.discount).any() or self.spec.uses_max_visits != before.uses_max_visits:
            loop.refresh_signals(*self.pointers, terminal_only=True)
        has_bonus = self.spec.bonus_signal != NO_SIGNAL and self.spec.memory != NO_MEMORY
        if has_bonus and self.configured_explorer != explorer_before:
            loop.refresh_signals(*self.pointers, terminal_only=False)

    def replace_terminal_rewards(self, reward: float) -> None:
        """Go on as if every positive terminal reward had been this one."""
        replace_terminal_rewards(*self.pointers[1:], check_number("reward", reward))

    def index_of(self, state: int) -> int:
        """Return the index of a state in the learner's arrays; a new state gets the next one."""
        if type(state) is int and 0 <= state < self._n_indexed and (known := self.state_index.item(state)) != TERMINAL:
            return known
        state = self._checked_state(state, "state")
        index = int(loop.index_of_state(self._step().pointer, state))
        if index == TERMINAL:
            self.enlarge()
            index = int(loop.index_of_state(self._step().pointer, state))
        return index

    def predict(
        self,
        observation: Any,
        *,
        explore: bool = False,
        env: Env[Any, Any] | None = None,
        info: Mapping[str, Any] | None = None,
        mask: ArrayLike | None = None,
    ) -> Any:
        """Return the action for an observation of the environment, in the form that the environment takes.

        It follows the greedy policy, as `greedy_action` does; in a state that was never visited, all actions are equal:
        `knows` tells. With `explore=True` it is the explorer's choice, as `act` returns it. `env` or `info` are needed
        if the state key comes from them instead of the observation. A `mask` has the valid actions, as in `act`.
        """
        check_flag("explore", explore)
        if mask is None and info is not None and self.uses_masks:
            mask = info.get("action_mask")
        if self.encoding is None:
            state = self._checked_state(observation, "observation")
            return self.act(state, mask) if explore else self.greedy_action(state, mask=mask)
        key = self.encoding.key(observation, info, env)
        if explore:
            return self.encoding.actions.decode(self.act(self.encoding.keys.add(key), mask))
        return self.encoding.actions.decode(self.greedy_action(self.encoding.keys.find(key), mask=mask))

    def knows(
        self, observation: Any, *, env: Env[Any, Any] | None = None, info: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether the agent has been in the state of an observation; the parameters are those of `predict`."""
        if self.encoding is None:
            state = self._checked_state(observation, "observation")
        else:
            state = self.encoding.keys.find(self.encoding.key(observation, info, env))
        return state < len(self.state_index) and bool(self.state_index[state] != TERMINAL)

    def greedy_action(
        self, state: int, random: np.random.Generator | None = None, *, mask: ArrayLike | None = None
    ) -> int:
        """Return an action of the greedy policy: one of `greedy_actions`, each with equal probability.

        By default the random numbers are those of a generator with the agent's seed, which only `predict` and this
        method use: training does not depend on them.
        """
        random = self._tie_breaks if random is None else check_instance("random", random, np.random.Generator)
        return one_of(self.greedy_actions(state, mask), random)

    def greedy_actions(self, state: int, mask: ArrayLike | None = None) -> NDArray[np.intp]:
        """Return the valid actions with the largest Q-value in the target table; all of them in a state never visited.

        With a `mask`, only its actions are valid.
        """
        values = self.action_values(state)
        if mask is None:
            return np.flatnonzero(values == values.max())
        valid = np.flatnonzero(checked_mask(mask, self.n_actions))
        return np.asarray(valid[values[valid] == values[valid].max()])

    @functools.cached_property
    def _tie_breaks(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def action_values(self, state: int) -> Floats:
        """Return the target table's Q-values of a state; -∞ for actions that were never valid."""
        known = self._checked_state(state, "state")  # This may extend the index.
        first = self.state_index[known] * self.n_actions
        values = self.learner.values[TARGET, first : first + self.n_actions].copy()
        values[values == -EXCLUDED] = -np.inf
        return values

    scores = presentation.scores
    explain = presentation.explain
    plot = presentation.plot
    __str__ = presentation.text
    __repr__ = presentation.short_text
    _repr_html_ = presentation.html

    def evaluate(self, world: World) -> float:
        """Return the greedy policy's discounted return in a deterministic world, ties broken at random."""
        check_world(check_instance("world", world, World), start_can_be_left=False)
        if not world.mdp.deterministic or world.n_actions != self.n_actions:
            name = shown(world.name)
            raise InvalidWorld(f"evaluate needs a deterministic World with {self.n_actions} actions, got {name}.")
        starts, probabilities = loop.start_distribution(world.mdp)
        state_index = np.zeros(max(len(self.state_index), world.n_states), np.int32)
        state_index[: len(self.state_index)] = self.state_index
        horizon, discount = self.settings.rollout_length, self.settings.discount
        mdp = by_pointer(world.mdp)
        return float(
            loop.rollout_return(*self.pointers[1:], mdp, starts, probabilities, state_index, horizon, discount)
        )

    def simulate(self, world: World | str) -> Simulator:
        """Return a simulator of the world that uses this agent's random stream."""
        return Simulator(as_world(world), self.learner.streams, self.steps)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file; `load` continues exactly where it was, `learn(env, resume=path)` its training."""
        steps, about, arrays = self.resumable or (None, {}, {})
        if steps != self.steps:
            about, arrays = {}, {}
        file.save(self, check_path("path", path), about, arrays)

    @classmethod
    def load(cls, path: str | Path, *, explorer: type | None = None, key: Callable[..., Any] | None = None) -> Agent:
        """Read an agent from a file. Files contain no code: a user-defined explorer class or key function is given."""
        agent, about, arrays = file.load_all(cls, check_path("path", path), explorer, key)
        if file.LOOP in about:
            actions = {name: arrays[name] for name in (file.ACTIONS,) if name in arrays}
            agent.resumable = agent.steps, {file.LOOP: about[file.LOOP]}, actions
        return agent

    def copy(self) -> Agent:
        """Return an agent that goes on exactly like this one, with arrays of its own; `env` is not copied."""
        other = object.__new__(type(self))
        own = {name: copy.deepcopy(getattr(self, name)) for name in ("_initial_values", "curves")}
        other.__dict__.update(self.__getstate__(), env=None, **own)
        other._connect(copied(self.learner, self.spec), self.state_index.copy())
        return other

    def _restore(self, learner: LearnerState, state_index: loop.StateIndex, n_further: int) -> None:
        """Give a new agent the arrays of a saved one, which has the initial values of `n_further` more states."""
        if n_further > 0:  # The initial values of the next states are drawn from there on.
            with sufficient_memory(self.spec):
                self._initial_values.draw(n_further)
        self._connect(learner, state_index)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the addresses that compiled code uses and the generator of `predict`."""
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_SAVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect(self.learner, self.state_index)

    def _connect(self, learner: LearnerState, state_index: loop.StateIndex) -> None:
        """Let compiled code use these arrays."""
        self.learner, self.state_index = learner, state_index
        self._n_indexed = len(state_index)
        counters: Any = np.frombuffer(learner.counters, np.int64)
        self._counters = memoryview(counters)  # NumPy takes a microsecond to read a field of the record.
        self._connect_explorer(by_pointer(learner))

    def _connect_explorer(self, learner: LearnerState) -> None:
        """Let compiled code use the explorer and the spec as they are now."""
        spec = by_pointer(self.spec)
        self.hooks = ExplorerHooks(self.configured_explorer, learner, spec, self.spec)
        """The explorer's compiled functions."""
        self.pointers = self.hooks.pointer, learner, spec
        """Hooks, learner and spec, as compiled functions take them."""
        self._step_functions: loop.StepFunctions | None = None
        self._masked_views: dict[int, MaskedView] = {}
        """[number of valid actions]"""

    def _step(self) -> loop.StepFunctions:
        """Return what `act` and `observe` call; a run in the compiled loop never needs it."""
        if self._step_functions is None:
            before = self.learner.streams.copy(), self.learner.notes.copy(), np.full(1, NONE, np.int64)
            context = loop.StepContext(*self.pointers, self.state_index, *before)
            self._step_functions = loop.StepFunctions(context)
        return self._step_functions

    def enlarge(self) -> None:
        """Make room for more states and transitions."""
        with sufficient_memory(self.spec):
            learner = enlarged(self.learner, self.spec, self._initial_values)
        self._connect(learner, self.state_index)

    def invalid_choice(self, action: int) -> InvalidExplorer:
        """Return the error of an explorer that chose an action that does not exist."""
        valid = f"0 to {self.n_actions - 1} (step {self.steps})"
        return InvalidExplorer(f"explorer {self.explorer!r} chose action {shown(action)}; valid are {valid}.")

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
                state_index = np.concatenate([self.state_index, more])
            self._connect(self.learner, state_index)
        return number
