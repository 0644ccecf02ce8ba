"""Acting in a tabular world: a whole run inside one compiled loop, one step, one greedy rollout.

The loop: choose, step, learn, evaluate at intervals, start a new episode. It uses the same functions and the same
random numbers as `Agent`, so that both give the same results, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import JIT_ENABLED, address_of, as_int64, by_pointer, call_int, compiled, entry, inlined
from wanderlust.agents.settings import Settings
from wanderlust.core.errors import InvalidSetting, check_index
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.explorers.choice import greedy_index
from wanderlust.learning.hooks import Hooks, begin_episode, choose_action, learn
from wanderlust.learning.memory import has_room, index_of, refresh_all_signals, refresh_terminal_signals
from wanderlust.learning.state import EVALUATION, NONE, TERMINAL, WORLD, LearnerState, Streams, uniform
from wanderlust.learning.td import NO_MEMORY, Floats, Ints, TableSpec
from wanderlust.learning.update import replay_memory
from wanderlust.worlds import World


@inlined
def draw_outcome(mdp: TabularMDP, state: int, action: int, streams: Streams, which: int) -> int:
    """Draw the outcome of an action; a certain outcome uses no random number."""
    n_outcomes = mdp.next_state.shape[2]
    if n_outcomes == 1:
        return 0
    left = uniform(streams, which)
    last = 0
    for outcome in range(n_outcomes):
        probability = mdp.probability[state, action, outcome]
        if probability > 0.0:
            last = outcome
            if left < probability:
                return outcome
            left -= probability
    return last


@inlined
def draw_start(starts: NDArray[np.int32], probabilities: Floats, streams: Streams, which: int) -> int:
    """Draw the first state of an episode; a certain one uses no random number."""
    if len(starts) == 1:
        return starts[0]  # type: ignore[no-any-return]
    left = uniform(streams, which)
    for i in range(len(starts) - 1):
        if left < probabilities[i]:
            return starts[i]  # type: ignore[no-any-return]
        left -= probabilities[i]
    return starts[-1]  # type: ignore[no-any-return]


def start_distribution(mdp: TabularMDP) -> tuple[NDArray[np.int32], Floats]:
    """Return the possible first states of an episode and their probabilities."""
    starts = np.flatnonzero(mdp.start).astype(np.int32)
    return starts, mdp.start[starts]


@compiled
def greedy_return(
    mdp: TabularMDP,
    starts: NDArray[np.int32],
    probabilities: Floats,
    state_index: NDArray[np.int32],
    horizon: int,
    discount: float,
    learner: LearnerState,
    spec: TableSpec,
) -> tuple[float, bool]:
    """Roll out the greedy policy of the evaluated table from every start of a deterministic world.

    Return the expected discounted return, and whether no tie was broken.
    """
    without_ties = True
    expected = 0.0
    values = learner.values[spec.evaluated]
    for i in range(len(starts)):
        state = starts[i]
        total, weight = 0.0, 1.0
        for _ in range(horizon):
            before = learner.streams[EVALUATION]
            action = greedy_index(
                values, state_index[state] * spec.n_actions, spec.n_actions, learner.streams, as_int64(EVALUATION)
            )
            if learner.streams[EVALUATION] != before:
                without_ties = False
            total += weight * mdp.reward[state, action, 0]
            weight *= discount
            if mdp.terminal[state, action, 0]:
                break
            state = mdp.next_state[state, action, 0]
        expected += probabilities[i] * total
    return expected, without_ties


@inlined
def greedy_actions(index: int, learner: LearnerState, spec: TableSpec) -> np.uint64:
    """Return the greedy actions of a state by the evaluated table, as bits."""
    first = index * spec.n_actions
    best = learner.values[spec.evaluated, first]
    bits = np.uint64(1)
    for action in range(1, spec.n_actions):
        value = learner.values[spec.evaluated, first + action]
        if value > best:
            best = value
            bits = np.uint64(0)
        if value == best:
            bits |= np.uint64(1) << np.uint64(action)
    return bits


@entry
def _start(starts: NDArray[np.int32], probabilities: Floats, streams: Streams) -> int:
    return draw_start(starts, probabilities, streams, WORLD)


@entry
def _step(mdp: TabularMDP, state: int, action: int, streams: Streams) -> int:
    return draw_outcome(mdp, state, action, streams, WORLD)


@entry
def rollout_return(
    learner: LearnerState,
    spec: TableSpec,
    mdp: TabularMDP,
    starts: NDArray[np.int32],
    probabilities: Floats,
    state_index: NDArray[np.int32],
    horizon: int,
    discount: float,
) -> float:
    """Return the return of the greedy policy in a deterministic world."""
    return greedy_return(mdp, starts, probabilities, state_index, horizon, discount, learner, spec)[0]


class Simulator:
    """A tabular world to act in step by step, with the random numbers of a fused run with the same seed."""

    def __init__(self, world: World, streams: Streams, n_steps: int = 0) -> None:
        self.world, self.streams, self.n_steps = world, streams, n_steps
        self._set_dynamics()

    def _set_dynamics(self) -> None:
        self.mdp = self.world.dynamics(self.n_steps)
        self._mdp = by_pointer(self.mdp)
        self._starts, self._probabilities = start_distribution(self.mdp)

    def reset(self) -> int:
        """Return the first state of the next episode."""
        if len(self._starts) == 1:
            return int(self._starts[0])
        return int(_start(self._starts, self._probabilities, self.streams))

    def step(self, state: int, action: int) -> tuple[int, float, bool]:
        """Return the next state, the reward, and whether the episode terminated."""
        check_index("state", state, self.mdp.n_states)
        check_index("action", action, self.mdp.n_actions)
        index = (state, action, _step(self._mdp, state, action, self.streams))
        outcome = int(self.mdp.next_state[index]), float(self.mdp.reward[index]), bool(self.mdp.terminal[index])
        self.n_steps += 1
        if self.n_steps == self.world.changes_at:
            self._set_dynamics()
        return outcome


# What `run_until` returns.
DONE, NO_ROOM, INVALID_ACTION = 0, 1, 2

MAX_ACTIONS_AS_BITS = 64
MAX_POLICY_ENTRIES = 50_000_000

POSITION = np.dtype(
    (
        np.record,
        [
            ("state", np.int64),  # the current state
            ("episode_step", np.int64),
            ("n_evaluations", np.int64),
            ("without_ties", np.int64),  # whether the last evaluation broke no tie
            ("invalid_action", np.int64),
            ("first_reward", np.int64),  # the number of steps up to the first positive reward, or 0
            ("first_termination", np.int64),  # the same for the first termination
            ("lowest_reward", np.float64),  # of all steps so far
            ("highest_reward", np.float64),
        ],
    )
)


class RunState(NamedTuple):
    """The world of a run, the current position in it, and what has been recorded."""

    mdp: TabularMDP
    starts: NDArray[np.int32]
    start_probabilities: FloatArray
    state_index: NDArray[np.int32]
    """[state]: its index in the learner; `TERMINAL` if it was not visited yet."""
    position: Any
    """A record of `POSITION`."""
    returns: FloatArray
    discovered: NDArray[np.int64]
    greedy: NDArray[np.uint64]
    """[evaluation, state]: the greedy actions as bits, in stochastic worlds."""
    first_visit: NDArray[np.int64]
    actions: NDArray[np.signedinteger[Any]]
    states: NDArray[np.int32]
    horizon: int
    evaluation_horizon: int
    evaluate_every: int
    discount: float


@compiled
def _evaluate(run: RunState, learner: LearnerState, spec: TableSpec, last_state: int) -> None:
    """Record the return of the greedy policy; in a stochastic world the policy itself, which is solved later."""
    position, counters = run.position, learner.counters
    i = position.n_evaluations
    position.n_evaluations += 1
    run.discovered[i] = counters.n_discovered
    if len(run.greedy) > 0:
        first, end = as_int64(0), len(run.state_index)
        if i > 0 and run.evaluate_every == 1 and spec.memory == NO_MEMORY and spec.n_own == 0:
            # Since the previous step, only the greedy actions of the state acted in can have changed.
            # Trap: numba takes seconds to compile the copy of a whole row, for its error messages.
            for state in range(end):
                run.greedy[i, state] = run.greedy[i - 1, state]
            first, end = last_state, last_state + 1
        for state in range(first, end):
            run.greedy[i, state] = greedy_actions(run.state_index[state], learner, spec)
        return
    # The return of a policy without ties that has not changed is the same as before.
    if i > 0 and counters.policy_changed == 0 and position.without_ties == 1:
        run.returns[i] = run.returns[i - 1]
        return
    counters.policy_changed = 0
    expected, without_ties = greedy_return(
        run.mdp,
        run.starts,
        run.start_probabilities,
        run.state_index,
        run.evaluation_horizon,
        run.discount,
        learner,
        spec,
    )
    run.returns[i] = expected
    position.without_ties = 1 if without_ties else 0


@entry
def run_until(hooks: Hooks, learner: LearnerState, spec: TableSpec, run: RunState, until: int) -> int:
    """Run up to step `until`, or until the arrays are full or the explorer chooses an invalid action."""
    mdp, state_index, position, counters = run.mdp, run.state_index, run.position, learner.counters
    state, t = position.state, position.episode_step
    while counters.step < until:
        if not has_room(learner, spec):
            position.state, position.episode_step = state, t
            return NO_ROOM
        step = counters.step
        index = index_of(state, state_index, learner)
        action = choose_action(hooks, index, learner, spec)
        if action < 0 or action >= spec.n_actions:
            position.invalid_action = action
            return INVALID_ACTION
        outcome = draw_outcome(mdp, state, action, learner.streams, WORLD)
        reward = mdp.reward[state, action, outcome]
        terminated = mdp.terminal[state, action, outcome]
        next_state = mdp.next_state[state, action, outcome]
        next_index = TERMINAL if terminated else index_of(next_state, state_index, learner)
        if run.first_visit[state] < 0:
            run.first_visit[state] = step
        if step < len(run.actions):
            run.actions[step] = action
            run.states[step] = state
        learn(hooks, index, action, reward, next_index, learner, spec)
        if reward < position.lowest_reward:
            position.lowest_reward = reward
        if reward > position.highest_reward:
            position.highest_reward = reward
        if reward > 0.0 and position.first_reward == 0:
            position.first_reward = counters.step
        if terminated and position.first_termination == 0:
            position.first_termination = counters.step
        if counters.step % run.evaluate_every == 0:
            _evaluate(run, learner, spec, state)
        t += 1
        state = next_state
        if terminated or t == run.horizon:
            t = 0
            state = draw_start(run.starts, run.start_probabilities, learner.streams, WORLD)
            begin_episode(hooks, learner, spec)
    position.state, position.episode_step = state, t
    return DONE


def action_dtype(n_actions: int) -> type[np.int16] | type[np.int32]:
    """Return the type in which the actions of a trajectory are stored: int16, or int32 if there are too many."""
    return np.int16 if n_actions - 1 <= np.iinfo(np.int16).max else np.int32


def new_run(
    mdp: TabularMDP,
    settings: Settings,
    state_index: NDArray[np.int32],
    state: int,
    *,
    keep_trajectory: bool,
    undiscounted_returns: bool,
) -> RunState:
    """Return a run that begins in a state, of an agent with these settings and this index of states."""
    n_evaluations = settings.run_length // settings.evaluate_every
    starts, probabilities = start_distribution(mdp)
    stochastic = not mdp.deterministic
    if stochastic and n_evaluations * mdp.n_states > MAX_POLICY_ENTRIES:
        raise InvalidSetting(
            f"evaluate_every={settings.evaluate_every} needs {n_evaluations} exact solutions of a stochastic world "
            f"with {mdp.n_states} states; evaluate at most {MAX_POLICY_ENTRIES // mdp.n_states} times."
        )
    if stochastic and mdp.n_actions > MAX_ACTIONS_AS_BITS:
        raise InvalidSetting(
            f"a fused run of a stochastic world takes at most {MAX_ACTIONS_AS_BITS} actions, got {mdp.n_actions}; "
            "use Agent."
        )
    kept = settings.run_length if keep_trajectory else 0
    position = np.zeros(1, POSITION)[0]
    position.state, position.lowest_reward, position.highest_reward = state, np.inf, -np.inf
    try:
        return RunState(
            mdp=mdp,
            starts=starts,
            start_probabilities=probabilities,
            state_index=state_index,
            position=position,
            returns=np.zeros(n_evaluations),
            discovered=np.zeros(n_evaluations, np.int64),
            greedy=np.zeros((n_evaluations if stochastic else 0, mdp.n_states), np.uint64),
            first_visit=np.full(mdp.n_states, -1, np.int64),
            actions=np.zeros(kept, action_dtype(mdp.n_actions)),
            states=np.zeros(kept, np.int32),
            horizon=settings.horizon,
            evaluation_horizon=settings.horizon if undiscounted_returns else settings.rollout_length,
            evaluate_every=settings.evaluate_every,
            discount=1.0 if undiscounted_returns else settings.discount,
        )
    except MemoryError:
        raise InvalidSetting(
            f"the results of {settings.run_length:,} steps, evaluated every {settings.evaluate_every:,} steps, do "
            "not fit into memory; reduce steps, increase evaluate_every, or set keep_trajectory=False."
        ) from None


# --- One step at a time --------------------------------------------------------------------------------

StateIndex = NDArray[np.int32]

# How a transition ends the episode: a sum of these, 0 if it does not.
TERMINATES, TRUNCATES = 1, 2


class StepContext(NamedTuple):
    """Everything that a step uses besides the transition."""

    hooks: Hooks
    learner: LearnerState
    spec: TableSpec
    state_index: StateIndex
    """[state]: its index in the learner's arrays; `TERMINAL` if it was not visited yet."""
    streams_before: NDArray[np.uint64]
    """The random streams before the latest choice."""
    notes_before: Floats
    """The explorer's notes before the latest choice."""
    chosen_at: Ints
    """[0]: the step of the latest choice."""


@compiled
def choose(context: StepContext, state: int) -> int:
    """Return the action to take, or `NONE` if the arrays must be enlarged first."""
    learner, spec = context.learner, context.spec
    if not has_room(learner, spec):
        return NONE
    # An interrupted step is undone with these copies, which cost next to nothing here.
    streams, notes = context.streams_before, context.notes_before
    for i in range(len(streams)):
        streams[i] = learner.streams[i]
    for i in range(len(notes)):
        notes[i] = learner.notes[i]
    context.chosen_at[0] = learner.counters.step
    return choose_action(context.hooks, index_of(state, context.state_index, learner), learner, spec)


@compiled
def learn_from(context: StepContext, state: int, action: int, reward: float, next_state: int, end: int) -> int:
    """Learn from a transition; return 0 if the arrays must be enlarged first, otherwise 1."""
    hooks, learner, spec, state_index = context.hooks, context.learner, context.spec, context.state_index
    if not has_room(learner, spec):
        return 0
    index = index_of(state, state_index, learner)
    next_index = TERMINAL if end & TERMINATES else index_of(next_state, state_index, learner)
    learn(hooks, index, action, reward, next_index, learner, spec)
    if end != 0:
        begin_episode(hooks, learner, spec)
    return 1


@entry
def call_choose(function: Any, context: Any, state: int) -> int:
    """Call `choose` at an address with the context at an address."""
    return call_int(function, context, state)  # type: ignore[no-any-return]


@entry
def call_learn_from(
    function: Any, context: Any, state: int, action: int, reward: float, next_state: int, end: int
) -> int:
    """Call `learn_from` at an address with the context at an address."""
    return call_int(function, context, state, action, reward, next_state, end)  # type: ignore[no-any-return]


class StepFunctions:
    """The addresses that `call_choose` and `call_learn_from` take; it keeps the context in memory."""

    __slots__ = ("choose", "context", "learn_from", "pointer", "values")

    def __init__(self, context: StepContext) -> None:
        self.values = context
        self.pointer = by_pointer(context)
        """The context as other compiled functions take it."""
        self.context: Any = self.pointer.address if JIT_ENABLED else context  # type: ignore[attr-defined]
        self.choose = address_of(choose, self.pointer, 0)
        self.learn_from = address_of(learn_from, self.pointer, 0, 0, 0.0, 0, 0)


@entry
def begin_first_episode(hooks: Hooks, learner: LearnerState, spec: TableSpec) -> None:
    """Tell the explorer that an episode begins."""
    begin_episode(hooks, learner, spec)


@entry
def refresh_signals(hooks: Hooks, learner: LearnerState, spec: TableSpec, terminal_only: bool) -> None:
    """Compute the signals of all outcomes again, or of the terminal ones."""
    if terminal_only:
        refresh_terminal_signals(hooks, learner, spec)
    else:
        refresh_all_signals(hooks, learner, spec)


@entry
def index_of_state(context: StepContext, state: int) -> int:
    """Return the index of a state, or `TERMINAL` if the arrays must be enlarged first."""
    if not has_room(context.learner, context.spec):
        return TERMINAL
    return index_of(state, context.state_index, context.learner)


@entry
def replay(learner: LearnerState, spec: TableSpec, times: int) -> None:
    """Replay the memory without a new transition."""
    replay_memory(learner, spec, times)
