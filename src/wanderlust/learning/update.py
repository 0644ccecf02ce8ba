"""Learning from one transition: count it, remember it, update every table.

There is one function per kind of memory, each compiled when it is first used, so that the first run of most explorers
need not compile minibatches. The number of steps is incremented by the caller, `wanderlust.learning.hooks.learn`.
"""

from __future__ import annotations

from wanderlust._numba.jit import call_float, call_none, compiled, inlined
from wanderlust.learning.hooks import Hooks
from wanderlust.learning.memory import count_visit, refresh_terminal_signals, remember
from wanderlust.learning.replay import discard_batch, draw_batch, replay_heads, update_from_batch
from wanderlust.learning.state import REPLAY, TERMINAL, LearnerState, below
from wanderlust.learning.sweep import sweep
from wanderlust.learning.td import (
    FULL,
    MAX_UPDATES,
    NO_MEMORY,
    TableSpec,
    best_action_value,
    regularised_td_update,
    td_target,
)


@compiled
def learn_by_sweeps(
    hooks: Hooks, learner: LearnerState, spec: TableSpec, state: int, action: int, reward: float, next_state: int
) -> None:
    """Learn from one transition with full memory; `next_state` is `TERMINAL` if it terminated. Heads are left out."""
    is_largest = count_visit(state, action, learner, spec)
    remember_and_refresh(hooks, state, action, reward, next_state, is_largest, learner, spec)
    sweep_tables(learner, spec)


@compiled
def learn_with_heads(
    hooks: Hooks, learner: LearnerState, spec: TableSpec, state: int, action: int, reward: float, next_state: int
) -> None:
    """Learn from one transition with full memory and an ensemble."""
    # By address: inlined, it would be compiled once more.
    call_none(hooks.learn_by_sweeps, hooks, learner, spec, state, action, reward, next_state)
    replay_heads(learner, spec)


@compiled
def learn_with_own_tables(
    hooks: Hooks, learner: LearnerState, spec: TableSpec, state: int, action: int, reward: float, next_state: int
) -> None:
    """Learn from one transition, then let the explorer update its own tables."""
    call_none(hooks.learn_by_sweeps, hooks, learner, spec, state, action, reward, next_state)
    call_none(hooks.learn_own, hooks.explorer, learner, spec, state, action, reward, next_state)
    if spec.evaluated >= spec.n_swept:
        learner.counters.policy_changed = 1


@compiled
def learn_with_limited_memory(
    hooks: Hooks, learner: LearnerState, spec: TableSpec, state: int, action: int, reward: float, next_state: int
) -> None:
    """Learn from one transition with a window of memory, or with none."""
    is_largest = count_visit(state, action, learner, spec)
    if spec.memory == NO_MEMORY:
        update_from_transition(hooks, state, action, reward, next_state, learner, spec)
        return
    remember_and_refresh(hooks, state, action, reward, next_state, is_largest, learner, spec)
    if spec.n_heads > 0:
        sweep_tables(learner, spec)
        replay_heads(learner, spec)
    else:
        replay_minibatch(learner, spec)


@compiled
def replay_minibatch(learner: LearnerState, spec: TableSpec) -> None:
    """Update every table from one minibatch."""
    n_drawn = draw_batch(learner, spec)
    for table in range(0 if spec.learns_q else 1, spec.n_swept):
        update_from_batch(table, n_drawn, 0.0, learner, spec)
    discard_batch(n_drawn, learner)


@compiled
def replay_memory(learner: LearnerState, spec: TableSpec, times: int) -> None:
    """Replay the memory without a new transition: `times` sweeps over a full one, or minibatches of a window.

    The heads of an ensemble replay as often.
    """
    for _ in range(times):
        if spec.memory == FULL or spec.n_heads > 0:
            sweep_tables_once(learner, spec)
        if spec.n_heads > 0:
            replay_heads(learner, spec)
        elif spec.memory != FULL:
            replay_minibatch(learner, spec)


@inlined
def remember_and_refresh(
    hooks: Hooks,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    is_largest: bool,
    learner: LearnerState,
    spec: TableSpec,
) -> None:
    """Store a transition, and update what depends on it or on the largest visit count."""
    remember(hooks, state, action, reward, next_state, learner, spec)
    if spec.uses_max_visits and is_largest:
        refresh_terminal_signals(hooks, learner, spec)


@compiled
def sweep_tables(learner: LearnerState, spec: TableSpec) -> None:
    """Sweep every table but the heads."""
    for _ in range(n_sweeps(learner, spec)):
        sweep_tables_once(learner, spec)


@inlined
def sweep_tables_once(learner: LearnerState, spec: TableSpec) -> None:
    """Sweep every table but the heads once."""
    for table in range(0 if spec.learns_q else 1, spec.n_swept):
        sweep(table, learner, spec)


@inlined
def n_sweeps(learner: LearnerState, spec: TableSpec) -> int:
    """Return the number of sweeps of this step.

    One after stochastic outcomes were observed: a single sample of an outcome says little, and several sweeps would
    propagate its value through the whole table.
    """
    if spec.sweeps == 1 or learner.counters.n_stochastic > 0:
        return 1
    n_pairs = learner.counters.n_states * spec.n_actions
    # Comparisons: `max` and `min` take longer to compile than all else here.
    if spec.sweeps * n_pairs <= MAX_UPDATES:
        return spec.sweeps
    limit: int = MAX_UPDATES // n_pairs
    return limit if limit > 1 else 1


@compiled
def update_from_transition(
    hooks: Hooks, state: int, action: int, reward: float, next_state: int, learner: LearnerState, spec: TableSpec
) -> None:
    """Update every table from the current transition alone; of an ensemble, one head drawn at random."""
    pair = state * spec.n_actions + action
    head = spec.n_swept + below(learner.streams, REPLAY, spec.n_heads) if spec.n_heads > 0 else TERMINAL
    for table in range(0 if spec.learns_q else 1, spec.n_swept + spec.n_heads):
        if table >= spec.n_swept and table != head:
            continue
        which = spec.signal[table]
        signal = call_float(hooks.transition_signal, hooks.explorer, learner, spec, which, reward, pair, next_state)
        values, state_values = learner.values[table], learner.state_values[table]
        target = td_target(signal, spec.discount[table], state_values[next_state])
        prior_weight = spec.prior_weight if table >= spec.n_swept else 0.0
        values[pair] = regularised_td_update(values[pair], target, spec.learning_rate, prior_weight)
        state_values[state] = best_action_value(values, state, spec.n_actions, spec.minimise[table])
    learner.counters.policy_changed = 1
