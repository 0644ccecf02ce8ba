"""The compiled functions of an agent that is driven step by step.

An agent calls `choose` and `learn_from` at every step. Python calls compiled functions with plain numbers fastest, so
everything else that they need is in one struct, `StepContext`, of which `call_choose` and `call_learn_from` take the
address.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import JIT_ENABLED, by_pointer, compiled, entry
from wanderlust._numba.pointers import address_of, call_int
from wanderlust.learning import memory
from wanderlust.learning.hooks import Hooks, begin_episode, choose_action, learn
from wanderlust.learning.spec import Floats, Ints, TableSpec
from wanderlust.learning.state import NONE, TERMINAL, LearnerState
from wanderlust.learning.update import replay_memory

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
    if not memory.has_room(learner, spec):
        return NONE
    # An interrupted step is undone with these copies, which cost next to nothing here.
    streams, notes = context.streams_before, context.notes_before
    for i in range(len(streams)):
        streams[i] = learner.streams[i]
    for i in range(len(notes)):
        notes[i] = learner.notes[i]
    context.chosen_at[0] = learner.counters.step
    return choose_action(context.hooks, memory.index_of(state, context.state_index, learner), learner, spec)


@compiled
def learn_from(context: StepContext, state: int, action: int, reward: float, next_state: int, end: int) -> int:
    """Learn from a transition; return 0 if the arrays must be enlarged first, otherwise 1."""
    hooks, learner, spec, state_index = context.hooks, context.learner, context.spec, context.state_index
    if not memory.has_room(learner, spec):
        return 0
    index = memory.index_of(state, state_index, learner)
    next_index = TERMINAL if end & TERMINATES else memory.index_of(next_state, state_index, learner)
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
        memory.refresh_terminal_signals(hooks, learner, spec)
    else:
        memory.refresh_all_signals(hooks, learner, spec)


@entry
def index_of(context: StepContext, state: int) -> int:
    """Return the index of a state, or `TERMINAL` if the arrays must be enlarged first."""
    if not memory.has_room(context.learner, context.spec):
        return TERMINAL
    return memory.index_of(state, context.state_index, context.learner)


@entry
def replay(learner: LearnerState, spec: TableSpec, times: int) -> None:
    """Replay the memory without a new transition."""
    replay_memory(learner, spec, times)
