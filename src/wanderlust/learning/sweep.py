"""One simultaneous sweep of a table over the whole memory, in two ways that give the same bits.

**Active**: the update of a pair changes something only if its value changed in the last sweep, or its reward, or the
value of a state that it leads to. States with such a pair are on a work list; all others are skipped, exactly. For Q
this is one state in a hundred once the first rewards have propagated.

**Dense**: all pairs, in two passes that the compiler can vectorize: update every pair, then compute the value of every
state. Faster when most states are active, as they are for W, whose rewards change all the time.

`sweep` switches from active to dense when the work list holds more than a tenth of the states. A dense sweep does not
record what it changed. So at intervals a sample of states is checked for activity. If few of them are active, all
states are checked: if few are active, they become the work list; otherwise dense sweeps go on.

With a limit on the pairs of one sweep (`TableSpec.sweep_pairs`), a table with more pairs is divided into blocks, and
each step sweeps the next one. Then the cost of a step does not grow with the table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import as_int64, compiled, inlined
from wanderlust.learning.state import NONE, LearnerState
from wanderlust.learning.td import (
    Floats,
    TableSpec,
    best_action_value,
    better,
    td_step,
    td_target,
    td_update,
)

ACTIVE_COST = 10
"""An active sweep of one state takes about as long as a dense sweep of ten."""
DENSE_RUN, SAMPLED_STATES = 32, 64

# numba checks every signed index for negative values; unsigned ones it uses as they are.
NOTHING, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@compiled
def mean_td_target(pair: int, table: int, learner: LearnerState, spec: TableSpec, state_values: Floats) -> float:
    """Return the mean TD target over all stored transitions of a pair."""
    outcomes, discount = learner.outcomes, spec.discount[table]
    rewards = outcomes.signals[spec.signal[table]]
    outcome = learner.first_outcome[pair]
    target = 0.0
    while outcome != NONE:
        one = td_target(rewards[outcome], discount, state_values[outcomes.next_state[outcome]])
        target += outcomes.weight[outcome] * one
        outcome = outcomes.next_of_pair[outcome]
    return target


@inlined
def activate(state: int, table: int, learner: LearnerState) -> None:
    """Add a state to the work list of a table, unless it is there already."""
    if learner.flags[table, state] == 0:
        learner.flags[table, state] = 1
        mode = learner.sweep_mode[table]
        learner.work[table, mode.n_active] = state
        mode.n_active += 1


@inlined
def has_several_outcomes(pair: int, learner: LearnerState) -> bool:
    """Return whether the target of a pair is a mean over several outcomes."""
    outcome = learner.first_outcome[pair]
    return bool(learner.stored[pair] > 0 and outcome != NONE and learner.outcomes.next_of_pair[outcome] != NONE)


@inlined
def sweep(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update every remembered pair of a table once, or the next block of a table that is too large."""
    mode = learner.sweep_mode[table]
    if spec.plain_sweeps or 0 < spec.sweep_pairs < (learner.counters.n_states + 1) * spec.n_actions:
        sweep_dense(table, learner, spec)
        return
    if mode.dense_left > 0:
        sweep_dense(table, learner, spec)
        mode.dense_left -= 1
        if mode.dense_left == 0 and is_mostly_active(table, learner, spec):
            mode.dense_left = DENSE_RUN
        return
    if mode.n_active > 0:
        sweep_active(table, learner, spec)
    if ACTIVE_COST * mode.n_active > learner.counters.n_states:
        mode.dense_left = DENSE_RUN


@compiled
def is_mostly_active(table: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Return whether so many states are active that dense sweeps are faster; if not, make them the work list."""
    n_states, mode = learner.counters.n_states, learner.sweep_mode[table]
    stride = n_states // SAMPLED_STATES + 1
    first = 1 + learner.counters.step % stride
    n_sampled = (n_states - first) // stride + 1
    if find_active(table, first, stride, n_sampled // ACTIVE_COST, learner, spec) > n_sampled // ACTIVE_COST:
        return True
    n_active = find_active(table, as_int64(1), as_int64(1), n_states // ACTIVE_COST, learner, spec)
    if n_active > n_states // ACTIVE_COST:
        return True
    flags, work, found = learner.flags[table], learner.work[table], learner.work[spec.n_swept]
    for i in range(mode.n_active):
        flags[work[i]] = 0
    for i in range(n_active):
        work[i] = found[i]
        flags[found[i]] = 1
    mode.n_active = n_active
    return False


@compiled
def find_active(table: int, first: int, stride: int, limit: int, learner: LearnerState, spec: TableSpec) -> int:
    """Write active states to the spare work list and return their number; stop when there are more than `limit`."""
    values, found, n_actions, n_found = learner.values[table], learner.work[spec.n_swept], spec.n_actions, 0
    for state in range(first, learner.counters.n_states + 1, stride):
        for pair in range(state * n_actions, (state + 1) * n_actions):
            if updated_value(pair, table, learner, spec) != values[pair]:
                found[n_found] = state
                n_found += 1
                break
        if n_found > limit:
            break
    return n_found


@compiled
def updated_value(pair: int, table: int, learner: LearnerState, spec: TableSpec) -> float:
    """Return the value that the next sweep gives to a pair."""
    state_values, value, rate = learner.state_values[table], learner.values[table, pair], spec.learning_rate
    if has_several_outcomes(pair, learner):
        return td_update(value, mean_td_target(pair, table, learner, spec, state_values), rate)
    next_value = state_values[learner.sweep_next[pair]]
    return td_step(value, learner.sweep_reward[table, pair], spec.discount[table], next_value, rate)


@compiled
def sweep_active(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update the pairs of the states on the work list, and write the next work list.

    First all pairs, whose values only their own state reads, then the values of states, which other pairs read. A state
    is written to the next list in any case and counted if it is new: a store costs less than an unpredictable branch.
    """
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[table]
    sweep_next, discount, rate = learner.sweep_next, spec.discount[table], spec.learning_rate
    minimise = spec.minimise[table]
    flags, work, next_work = learner.flags[table], learner.work[table], learner.work[spec.n_swept]
    is_stochastic, new_state_values = learner.flags[spec.n_swept], learner.scratch[0]
    first_into, next_into, origin = learner.first_into, learner.outcomes.next_into, learner.outcomes.state
    n_work, n_actions = learner.sweep_mode[table].n_active, np.uint64(spec.n_actions)
    odd, worst = n_actions % TWO, np.inf if minimise else -np.inf
    n_next = NOTHING
    for i in range(n_work):
        state = np.uint64(work[i])
        a, end = state * n_actions, (state + ONE) * n_actions - odd
        changed, best = False, worst
        if is_stochastic[state] != 0:
            changed, best = update_stochastic_state(as_int64(state), table, learner, spec)
            a = end + odd
        while a < end:
            b = a + ONE
            value_a, value_b = values[a], values[b]
            new_a = td_step(value_a, rewards[a], discount, state_values[sweep_next[a]], rate)
            new_b = td_step(value_b, rewards[b], discount, state_values[sweep_next[b]], rate)
            values[a], values[b] = new_a, new_b
            changed |= (new_a != value_a) | (new_b != value_b)
            best = better(best, better(new_a, new_b, minimise), minimise)
            a += TWO
        if a == end and odd > 0:
            value_a = values[a]
            new_a = td_step(value_a, rewards[a], discount, state_values[sweep_next[a]], rate)
            values[a] = new_a
            changed |= new_a != value_a
            best = better(best, new_a, minimise)
        new_state_values[i] = best
        flags[state] = changed
        next_work[n_next] = state
        n_next += np.uint64(changed)
    if n_next > 0 and table == spec.evaluated:
        learner.counters.policy_changed = 1
    for i in range(n_work):
        state = np.uint64(work[i])
        if new_state_values[i] != state_values[state]:
            state_values[state] = new_state_values[i]
            outcome = first_into[state]
            while outcome != NONE:
                predecessor = np.uint64(origin[outcome])
                next_work[n_next] = predecessor
                n_next += np.uint64(flags[predecessor] == 0)
                flags[predecessor] = 1
                outcome = next_into[outcome]
    for j in range(n_next):
        work[j] = next_work[j]
    learner.sweep_mode[table].n_active = n_next


@compiled
def update_stochastic_state(state: int, table: int, learner: LearnerState, spec: TableSpec) -> tuple[bool, float]:
    """Update the pairs of a state with stochastic ones; return whether any changed, and the new value of the state."""
    values, rewards, changed = learner.values[table], learner.sweep_reward[table], False
    for pair in range(state * spec.n_actions, (state + 1) * spec.n_actions):
        value = updated_value(pair, table, learner, spec)
        changed |= value != values[pair]
        values[pair] = value
        if has_several_outcomes(pair, learner):
            rewards[pair] = value
    return changed, best_action_value(values, state, spec.n_actions, spec.minimise[table])


@compiled
def sweep_dense(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update every pair, or those of the next block of states, then the values of these states."""
    n_actions, rate, discount = spec.n_actions, spec.learning_rate, spec.discount[table]
    first, last = block(learner.counters.n_states + 1, learner, spec)
    pairs, n_pairs = slice(first * n_actions, last * n_actions), (last - first) * n_actions
    values, state_values = learner.values[table, pairs], learner.state_values[table]
    rewards, next_state = learner.sweep_reward[table, pairs], learner.sweep_next[pairs]
    update_stochastic_pairs(table, learner, spec)
    if spec.plain_sweeps:
        update_pairs_plainly(values, n_pairs, rewards, next_state, state_values, rate, discount)
    else:
        update_pairs(values, n_pairs, rewards, next_state, state_values, rate, discount)
    update_state_values(values, state_values[first:last], last - first, n_actions, spec.minimise[table])
    if table == spec.evaluated:
        learner.counters.policy_changed = 1


@inlined
def block(n: int, learner: LearnerState, spec: TableSpec) -> tuple[int, int]:
    """Return the first of `n` states to sweep in this step, and the end: all of them, or the next block."""
    size = spec.sweep_pairs // spec.n_actions
    if size == 0 or size >= n:
        return as_int64(0), n
    first = learner.counters.step % ((n + size - 1) // size) * size
    return first, min(first + size, n)


@compiled
def update_stochastic_pairs(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update the pairs with several outcomes, and keep them unchanged in the pass over all pairs that follows."""
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[table]
    first, last = block(learner.counters.n_stochastic, learner, spec)
    for i in range(first, last):
        pair = as_int64(learner.stochastic_pairs[i])
        if learner.stored[pair] > 0:
            target = mean_td_target(pair, table, learner, spec, state_values)
            values[pair] = td_update(values[pair], target, spec.learning_rate)
            rewards[pair] = values[pair]


@compiled
def update_pairs_plainly(
    values: Floats,
    n_pairs: int,
    rewards: Floats,
    next_state: NDArray[np.uint32],
    state_values: Floats,
    rate: float,
    discount: float,
) -> None:
    """Apply the TD rule to the first `n_pairs` pairs, each with one outcome."""
    for pair in range(n_pairs):
        values[pair] = td_step(values[pair], rewards[pair], discount, state_values[next_state[pair]], rate)


@compiled
def update_pairs(
    values: Floats,
    n_pairs: int,
    rewards: Floats,
    next_state: NDArray[np.uint32],
    state_values: Floats,
    rate: float,
    discount: float,
) -> None:
    """Do the same faster.

    Four pairs at a time, all loads before any store. So the compiler sees that it may vectorize the arithmetic. In a
    plain loop, a store could change a value that is loaded later.
    """
    whole = n_pairs - n_pairs % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a, target_b, target_c, target_d = four_targets(a, rewards, next_state, state_values, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        values[a] = td_update(value_a, target_a, rate)
        values[b] = td_update(value_b, target_b, rate)
        values[c] = td_update(value_c, target_c, rate)
        values[d] = td_update(value_d, target_d, rate)
    for pair in range(whole, n_pairs):
        values[pair] = td_step(values[pair], rewards[pair], discount, state_values[next_state[pair]], rate)


@inlined
def four_targets(
    a: int, rewards: Floats, next_state: NDArray[np.uint32], state_values: Floats, discount: float
) -> tuple[float, float, float, float]:
    """Return the TD targets of a pair and of the next three."""
    return (
        td_target(rewards[a], discount, state_values[next_state[a]]),
        td_target(rewards[a + 1], discount, state_values[next_state[a + 1]]),
        td_target(rewards[a + 2], discount, state_values[next_state[a + 2]]),
        td_target(rewards[a + 3], discount, state_values[next_state[a + 3]]),
    )


@compiled
def update_state_values(values: Floats, state_values: Floats, n_states: int, n_actions: int, minimise: bool) -> None:
    """Compute the value of every state. Two and four actions are unrolled: the loop over actions is the slow part."""
    if n_actions == 4:
        for state in range(n_states):
            first = 4 * state
            state_values[state] = better(
                better(values[first], values[first + 1], minimise),
                better(values[first + 2], values[first + 3], minimise),
                minimise,
            )
    elif n_actions == 2:
        for state in range(n_states):
            state_values[state] = better(values[2 * state], values[2 * state + 1], minimise)
    else:
        for state in range(n_states):
            state_values[state] = values[n_actions * state]
        for action in range(1, n_actions):
            for state in range(n_states):
                state_values[state] = better(state_values[state], values[n_actions * state + action], minimise)
