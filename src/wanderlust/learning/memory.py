"""Remembering transitions: visit counts, outcomes, stored transitions, and the signals that depend on them.

The last part changes what was remembered without a transition: other settings, or rewards that are read differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import as_int64, call_none, compiled, entry, inlined
from wanderlust.learning.hooks import Hooks
from wanderlust.learning.state import NONE, TERMINAL, LearnerState
from wanderlust.learning.sweep import activate
from wanderlust.learning.td import EXCLUDED, FULL, NO_MEMORY, NO_SIGNAL, REWARD, TARGET, WINDOW, TableSpec


@inlined
def has_room(learner: LearnerState, spec: TableSpec) -> bool:
    """Return whether the arrays can hold one more transition: two new states, one outcome, one stored transition."""
    counters = learner.counters
    if counters.n_states + 3 > counters.n_initialized:
        return False
    if spec.memory == NO_MEMORY:
        return True
    fits = counters.n_outcomes < len(learner.outcomes.pair) and counters.n_stored < len(learner.transitions)
    return bool(fits)


@inlined
def index_of(state: int, state_index: Any, learner: LearnerState) -> int:
    """Return the index of an environment's state; a new state gets the next one."""
    index = state_index[state]
    if index == TERMINAL:
        learner.counters.n_states += 1
        index = learner.counters.n_states
        state_index[state] = index
    return index  # type: ignore[no-any-return]


@inlined
def count_visit(state: int, action: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Increment n(s, a); return whether it is now the largest count of all pairs."""
    visits, counters = learner.visits, learner.counters
    first = state * spec.n_actions
    is_new = True
    for pair in range(first, first + spec.n_actions):
        if visits[pair] != 0:
            is_new = False
    if is_new:
        counters.n_discovered += 1
    pair = first + action
    visits[pair] += 1
    if visits[pair] > counters.max_visits:
        counters.max_visits = visits[pair]
        return True
    return False


@compiled
def find_or_add_outcome(pair: int, state: int, next_state: int, learner: LearnerState, spec: TableSpec) -> int:
    """Return the outcome of a transition; a new one goes to the end of the pair's list."""
    outcomes, counters = learner.outcomes, learner.counters
    last = NONE
    outcome = learner.first_outcome[pair]
    while outcome != NONE:
        if outcomes.next_state[outcome] == next_state:
            return outcome  # type: ignore[no-any-return]
        last = outcome
        outcome = outcomes.next_of_pair[outcome]
    outcome = counters.n_outcomes
    counters.n_outcomes += 1
    outcomes.pair[outcome] = pair
    outcomes.state[outcome] = state
    outcomes.next_state[outcome] = next_state
    outcomes.next_of_pair[outcome] = NONE
    outcomes.next_into[outcome] = learner.first_into[next_state]
    learner.first_into[next_state] = outcome
    if last == NONE:
        learner.first_outcome[pair] = outcome
    else:
        if last == learner.first_outcome[pair]:
            learner.stochastic_pairs[counters.n_stochastic] = pair
            counters.n_stochastic += 1
            learner.flags[spec.n_swept, state] = 1
        outcomes.next_of_pair[last] = outcome
    return outcome  # type: ignore[no-any-return]


@inlined
def store(outcome: int, reward: float, learner: LearnerState, spec: TableSpec) -> int:
    """Add a transition to its outcome, and to the list of transitions if minibatches are drawn from it.

    Return the outcome of the transition that a full window forgets, or `NONE`.
    """
    outcomes, counters = learner.outcomes, learner.counters
    count = outcomes.stored[outcome] + 1.0
    outcomes.stored[outcome] = count
    mean = outcomes.signals[REWARD, outcome]
    # A running mean stays exactly r while every reward is r. Equally good actions must have exactly equal values.
    outcomes.signals[REWARD, outcome] = reward if count == 1.0 else mean + (reward - mean) / count
    n_stored = counters.n_stored
    if spec.memory == FULL:
        if spec.n_heads > 0:
            learner.transitions[n_stored] = outcome
            counters.n_stored += 1
        return NONE
    learner.stored[outcomes.pair[outcome]] += 1
    if n_stored < spec.capacity:
        learner.transitions[n_stored] = outcome
        learner.slots[n_stored] = n_stored
        counters.n_stored += 1
        return NONE
    oldest = counters.step % spec.capacity
    forgotten: int = learner.transitions[oldest]
    learner.transitions[oldest] = outcome
    outcomes.stored[forgotten] -= 1.0
    learner.stored[outcomes.pair[forgotten]] -= 1
    return forgotten


@compiled
def update_weights(pair: int, learner: LearnerState) -> None:
    """Compute each outcome's share of the stored transitions of a pair."""
    if learner.stored[pair] == 0:
        return
    outcomes = learner.outcomes
    outcome = learner.first_outcome[pair]
    while outcome != NONE:
        outcomes.weight[outcome] = outcomes.stored[outcome] / learner.stored[pair]
        outcome = outcomes.next_of_pair[outcome]


@compiled
def update_sweep_inputs(pair: int, learner: LearnerState, spec: TableSpec) -> None:
    """Copy reward and next state of a pair to where the sweeps read them."""
    outcomes = learner.outcomes
    outcome = learner.first_outcome[pair]
    is_single = learner.stored[pair] > 0 and outcomes.next_of_pair[outcome] == NONE
    learner.sweep_next[pair] = outcomes.next_state[outcome] if is_single else TERMINAL
    for table in range(spec.n_swept):
        reward = outcomes.signals[spec.signal[table], outcome] if is_single else learner.values[table, pair]
        learner.sweep_reward[table, pair] = reward


@compiled
def refresh_signals(hooks: Hooks, first: int, end: int, learner: LearnerState, spec: TableSpec) -> None:
    """Compute the explorer's signals of some pairs of one state again."""
    call_none(hooks.write_signals, hooks.explorer, learner, spec, as_int64(first), as_int64(end))
    for pair in range(first, end):
        if learner.visits[pair] > 0:
            update_sweep_inputs(pair, learner, spec)


@inlined
def activate_in_all_tables(state: int, learner: LearnerState, spec: TableSpec) -> None:
    """Add a state to the work lists of all swept tables."""
    for table in range(spec.n_swept):
        activate(state, table, learner)


@compiled
def remember(
    hooks: Hooks, state: int, action: int, reward: float, next_state: int, learner: LearnerState, spec: TableSpec
) -> None:
    """Store a transition that has been counted, and update everything that depends on it."""
    outcomes = learner.outcomes
    pair = state * spec.n_actions + action
    n_before = learner.counters.n_outcomes
    outcome = find_or_add_outcome(pair, state, next_state, learner, spec)
    mean_before = outcomes.signals[REWARD, outcome]
    forgotten = store(outcome, reward, learner, spec)
    # A transition that was observed before with the same reward, as the only outcome of its pair, changes no target.
    is_news = (
        outcome == n_before
        or outcomes.signals[REWARD, outcome] != mean_before
        or outcomes.next_of_pair[learner.first_outcome[pair]] != NONE
        or spec.memory == WINDOW
    )
    if is_news:
        update_weights(pair, learner)
        # Trap: numba takes longer to compile the assignment of a whole array than all else here.
        for head in range(len(learner.converged)):
            learner.converged[head] = 0
    if spec.visitation_signal != NO_SIGNAL:
        # The visitation reward of each action of the state contains the state's total count.
        refresh_signals(hooks, pair - action, pair - action + spec.n_actions, learner, spec)
    elif spec.bonus_signal != NO_SIGNAL:
        refresh_signals(hooks, pair, pair + 1, learner, spec)
    elif is_news:
        update_sweep_inputs(pair, learner, spec)
    for table in range(spec.n_swept):
        if is_news or spec.signal[table] != REWARD:
            activate(state, table, learner)
    if forgotten != NONE:
        other = as_int64(outcomes.pair[forgotten])
        update_weights(other, learner)
        update_sweep_inputs(other, learner, spec)
        activate_in_all_tables(outcomes.state[forgotten], learner, spec)


@compiled
def refresh_terminal_signals(hooks: Hooks, learner: LearnerState, spec: TableSpec) -> None:
    """Compute the signals of all terminal outcomes again."""
    outcomes = learner.outcomes
    outcome = learner.first_into[TERMINAL]
    while outcome != NONE:
        pair = as_int64(outcomes.pair[outcome])
        refresh_signals(hooks, pair, pair + 1, learner, spec)
        activate_in_all_tables(outcomes.state[outcome], learner, spec)
        outcome = outcomes.next_into[outcome]


@compiled
def refresh_all_signals(hooks: Hooks, learner: LearnerState, spec: TableSpec) -> None:
    """Compute the signals of all pairs again."""
    for state in range(1, learner.counters.n_states + 1):
        refresh_signals(hooks, state * spec.n_actions, (state + 1) * spec.n_actions, learner, spec)
        activate_in_all_tables(state, learner, spec)


def reinitialize_untried(learner: LearnerState, spec: TableSpec, before: TableSpec) -> None:
    """Give pairs that were never tried the initial values of another spec, where they differ.

    All states become active in the tables whose initial values or discount changed.
    """
    n_states = int(learner.counters.n_initialized)
    n_pairs = n_states * spec.n_actions
    untried = learner.visits[:n_pairs] == 0
    untried[: spec.n_actions] = False
    untried &= learner.values[TARGET, :n_pairs] != -EXCLUDED
    learner.converged[:] = 0
    for table in np.flatnonzero(spec.initial != before.initial):
        values, sweep_reward = learner.values[table, :n_pairs], learner.sweep_reward[: table + 1, :n_pairs]
        values[untried] += spec.initial[table] - before.initial[table]
        if table < spec.n_swept:
            # Assigned, not added: the initial W is the next number above a bound, and must be exactly that number.
            values[untried] = sweep_reward[table, untried] = spec.initial[table]
        by_state = values.reshape(-1, spec.n_actions)
        best = by_state.min(axis=1) if spec.minimise[table] else by_state.max(axis=1)
        learner.state_values[table, :n_states] = best
    changed = (spec.initial != before.initial) | (spec.discount != before.discount)
    for table in np.flatnonzero(changed[: spec.n_swept]):
        activate_all(int(table), learner)
    if spec.n_own:
        learner.flags[spec.n_swept + 1, 1 : learner.counters.n_states + 1] = 1


def activate_all(table: int, learner: LearnerState) -> None:
    """Add every state to the work list of a table."""
    n_states = learner.counters.n_states
    learner.flags[table, 1 : n_states + 1] = 1
    learner.work[table, :n_states] = np.arange(1, n_states + 1)
    learner.sweep_mode[table].n_active = n_states


@entry
def replace_terminal_rewards(learner: LearnerState, spec: TableSpec, reward: float) -> None:
    """Replace every positive mean reward of a terminal outcome by the given one."""
    outcomes = learner.outcomes
    learner.converged[:] = 0
    outcome = learner.first_into[TERMINAL]
    while outcome != NONE:
        received = outcomes.signals[REWARD, outcome]
        if received > 0.0:
            outcomes.signals[REWARD, outcome] = reward
            if spec.bonus_signal != NO_SIGNAL:
                outcomes.signals[spec.bonus_signal, outcome] += reward - received
            update_sweep_inputs(as_int64(outcomes.pair[outcome]), learner, spec)
            activate_in_all_tables(outcomes.state[outcome], learner, spec)
            if spec.n_own > 0:
                learner.flags[spec.n_swept + 1, outcomes.state[outcome]] = 1
        outcome = outcomes.next_into[outcome]


def rebuild(learner: LearnerState, spec: TableSpec) -> None:
    """Compute all arrays that follow from the visits, the values and the outcomes; all states become active."""
    outcomes, counters, n_actions = learner.outcomes, learner.counters, spec.n_actions
    n_outcomes, n_states = int(counters.n_outcomes), int(counters.n_initialized)
    n_pairs = n_states * n_actions
    pair, following = outcomes.pair[:n_outcomes].astype(np.int64), outcomes.next_state[:n_outcomes]
    outcomes.state[:n_outcomes] = pair // n_actions
    # The outcomes of a pair are listed in the order of their appearance, those that lead into a state latest first.
    learner.first_outcome[:n_pairs], outcomes.next_of_pair[:n_outcomes] = linked_lists(pair, n_pairs)
    into, links = linked_lists(following[::-1], n_states)
    learner.first_into[:n_states] = np.where(into == NONE, NONE, n_outcomes - 1 - into)
    outcomes.next_into[:n_outcomes] = np.where(links == NONE, NONE, n_outcomes - 1 - links)[::-1]
    stored = outcomes.stored[:n_outcomes]
    if spec.memory == WINDOW:
        learner.stored[:n_pairs] = np.bincount(pair, stored, minlength=n_pairs)
    by_pair = learner.stored[pair]
    outcomes.weight[:n_outcomes] = np.divide(stored, by_pair, out=np.zeros(n_outcomes), where=by_pair > 0)
    # A pair is listed as stochastic when its second outcome appears.
    is_second = np.zeros(n_outcomes, np.bool_)
    first = learner.first_outcome[:n_pairs]
    seconds = outcomes.next_of_pair[first[first != NONE]]
    is_second[seconds[seconds != NONE]] = True
    several = pair[is_second]
    counters.n_stochastic = len(several)
    learner.stochastic_pairs[: len(several)] = several
    learner.flags[spec.n_swept, several // n_actions] = 1
    is_single = learner.stored[:n_pairs] > 0
    is_single[several] = False
    single = np.flatnonzero(is_single & (first != NONE))
    learner.sweep_next[single] = outcomes.next_state[first[single]]
    learner.sweep_reward[:, :n_pairs] = learner.values[: spec.n_swept, :n_pairs]
    for table in range(spec.n_swept):
        learner.sweep_reward[table, single] = outcomes.signals[spec.signal[table], first[single]]
        activate_all(table, learner)
    best = learner.values[:, :n_pairs].reshape(-1, n_states, n_actions)
    learner.state_values[:, :n_states] = np.where(spec.minimise[:, None], best.min(axis=2), best.max(axis=2))


def linked_lists(owner: NDArray[Any], n_lists: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the first item of each list and the next item of each item, in ascending order; `NONE` ends a list."""
    first, following = np.full(n_lists, NONE, np.int32), np.full(len(owner), NONE, np.int32)
    order = np.argsort(owner, kind="stable").astype(np.int32)
    begins = np.append(True, owner[order[1:]] != owner[order[:-1]])[: len(order)]
    first[owner[order[begins]]] = order[begins]
    following[order[:-1][~begins[1:]]] = order[1:][~begins[1:]]
    return first, following
