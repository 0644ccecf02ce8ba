"""One simultaneous sweep of a table over the whole memory, in two ways that give the same bits.

**Active**: a pair's update can change something only if its own value moved in the last sweep, or its reward, or
the value of a state that it leads to. States with such a pair are on a work list; all others are left alone, exactly.
For Q this is one state in a hundred once the first rewards have spread.

**Dense**: all pairs, in two straight passes that the compiler can vectorise: move every value, then take the best
action of every state. Faster when most states are active, as they are for W, whose rewards change all the time.

`sweep` goes from active to dense when the work list holds more than a tenth of the states. A dense sweep does not
know what it changed, so now and then a sample of states tells whether the table is still that busy. Once it seems not
to be, a look at all states takes stock: it finds those that are yet to move, or that they are too many after all.
"""

from __future__ import annotations

import numpy as np

from wanderlust._numba.jit import as_int64, compiled, inlined
from wanderlust.learning.dense_sweep import sweep_dense
from wanderlust.learning.state import (
    ACTIVE_COST,
    DENSE_LEFT,
    DENSE_RUN,
    N_STATES,
    N_WORK,
    NONE,
    POLICY_CHANGED,
    PROBED_STATES,
    ROW_CHAIN,
    ROW_INTO,
    ROW_STATE,
    STEP,
    LearnerState,
    TableSpec,
)
from wanderlust.learning.td import best_action_value, better, mean_target, moved, outcome_target

# numba turns every index that may be negative round; those that are counted without a sign it takes as they are.
NOTHING, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@inlined
def activate(state: int, table: int, learner: LearnerState) -> None:
    """Put a state on a table's work list, once."""
    if learner.flags[table, state] == 0:
        learner.flags[table, state] = 1
        learner.work[table, learner.pace[table, N_WORK]] = state
        learner.pace[table, N_WORK] += 1


@inlined
def is_averaged(pair: int, learner: LearnerState) -> bool:
    """Tell whether a pair has several outcomes, and thus a mean over them as its target."""
    row = learner.first_row[pair]
    return bool(learner.stored[pair] > 0 and row != NONE and learner.row_ints[ROW_CHAIN, row] != NONE)


@inlined
def sweep(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Move every remembered pair of a table once."""
    pace = learner.pace[table]
    if spec.plain_sweeps or pace[DENSE_LEFT] > 0:
        sweep_dense(table, learner, spec)
        if spec.plain_sweeps:
            return
        pace[DENSE_LEFT] -= 1
        if pace[DENSE_LEFT] == 0 and is_mostly_active(table, learner, spec):
            pace[DENSE_LEFT] = DENSE_RUN
        return
    if pace[N_WORK] > 0:
        sweep_active(table, learner, spec)
    if ACTIVE_COST * pace[N_WORK] > learner.numbers[N_STATES]:
        pace[DENSE_LEFT] = DENSE_RUN


@compiled
def is_mostly_active(table: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Tell whether so many states have values yet to move that dense sweeps are the faster ones.

    If not, the work list becomes those states. A sample is asked first, and all of them only if it says no.
    """
    n_states, pace = learner.numbers[N_STATES], learner.pace[table]
    apart = n_states // PROBED_STATES + 1
    first = 1 + learner.numbers[STEP] % apart
    n_probed = (n_states - first) // apart + 1
    if find_moving(table, first, apart, n_probed // ACTIVE_COST, learner, spec) > n_probed // ACTIVE_COST:
        return True
    n_moving = find_moving(table, as_int64(1), as_int64(1), n_states // ACTIVE_COST, learner, spec)
    if n_moving > n_states // ACTIVE_COST:
        return True
    flags, work, found = learner.flags[table], learner.work[table], learner.work[spec.n_swept]
    for i in range(pace[N_WORK]):
        flags[work[i]] = 0
    for i in range(n_moving):
        work[i] = found[i]
        flags[found[i]] = 1
    pace[N_WORK] = n_moving
    return False


@compiled
def find_moving(table: int, first: int, apart: int, most: int, learner: LearnerState, spec: TableSpec) -> int:
    """List states with values yet to move, out of those so far apart, in the spare work list; return how many.

    One more than `most` are enough.
    """
    values, found, n_actions, n_found = learner.values[table], learner.work[spec.n_swept], spec.n_actions, 0
    for state in range(first, learner.numbers[N_STATES] + 1, apart):
        for pair in range(state * n_actions, (state + 1) * n_actions):
            if fresh_value(pair, table, learner, spec) != values[pair]:
                found[n_found] = state
                n_found += 1
                break
        if n_found > most:
            break
    return n_found


@compiled
def fresh_value(pair: int, table: int, learner: LearnerState, spec: TableSpec) -> float:
    """Return what the next sweep makes of a pair's value."""
    best = learner.best[table]
    if is_averaged(pair, learner):
        target = mean_target(pair, table, learner, spec, best)
    else:
        target = outcome_target(learner.sweep_reward[table, pair], spec.discount[table], best[learner.sweep_next[pair]])
    return moved(learner.values[table, pair], target, spec.learning_rate)


@compiled
def sweep_active(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Move the pairs of the states on the work list, and put on it what that may change next.

    First all values, which only their own states read; then what the states are worth, which others do. What comes on
    the list is written there in any case and counted if new: a store costs less than a branch that chance decides.
    """
    values, best, sweep_reward, sweep_next = learner.values[table], learner.best[table], learner.sweep_reward[table], learner.sweep_next
    discount, rate, minimise = spec.discount[table], spec.learning_rate, spec.minimise[table]
    flags, work, following = learner.flags[table], learner.work[table], learner.work[spec.n_swept]
    several_outcomes, worth = learner.flags[spec.n_swept], learner.scratch[0]
    into, also_into, origin = learner.into, learner.row_ints[ROW_INTO], learner.row_ints[ROW_STATE]
    n_work, n_actions = learner.pace[table, N_WORK], np.uint64(spec.n_actions)
    odd, worst = n_actions % TWO, np.inf if minimise else -np.inf
    n_following = NOTHING
    for i in range(n_work):
        state = np.uint64(work[i])
        a, end = state * n_actions, (state + ONE) * n_actions - odd
        changed, fresh_best = False, worst
        if several_outcomes[state] != 0:
            changed, fresh_best = move_averaged(as_int64(state), table, learner, spec)
            a = end + odd
        while a < end:
            b = a + ONE
            value_a, value_b = values[a], values[b]
            fresh_a = moved(value_a, outcome_target(sweep_reward[a], discount, best[sweep_next[a]]), rate)
            fresh_b = moved(value_b, outcome_target(sweep_reward[b], discount, best[sweep_next[b]]), rate)
            values[a], values[b] = fresh_a, fresh_b
            changed |= (fresh_a != value_a) | (fresh_b != value_b)
            fresh_best = better(fresh_best, better(fresh_a, fresh_b, minimise), minimise)
            a += TWO
        if a == end and odd > 0:
            value_a = values[a]
            fresh_a = moved(value_a, outcome_target(sweep_reward[a], discount, best[sweep_next[a]]), rate)
            values[a] = fresh_a
            changed |= fresh_a != value_a
            fresh_best = better(fresh_best, fresh_a, minimise)
        worth[i] = fresh_best
        flags[state] = changed
        following[n_following] = state
        n_following += np.uint64(changed)
    if n_following > 0 and table == spec.evaluated:
        learner.numbers[POLICY_CHANGED] = 1
    for i in range(n_work):
        state = np.uint64(work[i])
        if worth[i] != best[state]:
            best[state] = worth[i]
            row = into[state]
            while row != NONE:
                reader = np.uint64(origin[row])
                following[n_following] = reader
                n_following += np.uint64(flags[reader] == 0)
                flags[reader] = 1
                row = also_into[row]
    for j in range(n_following):
        work[j] = following[j]
    learner.pace[table, N_WORK] = n_following


@compiled
def move_averaged(state: int, table: int, learner: LearnerState, spec: TableSpec) -> tuple[bool, float]:
    """Move the pairs of a state of which some have several outcomes; tell whether any did, and what it is worth."""
    values, sweep_reward, changed = learner.values[table], learner.sweep_reward[table], False
    for pair in range(state * spec.n_actions, (state + 1) * spec.n_actions):
        value = fresh_value(pair, table, learner, spec)
        changed |= value != values[pair]
        values[pair] = value
        if is_averaged(pair, learner):
            sweep_reward[pair] = value
    return changed, best_action_value(values, state, spec.n_actions, spec.minimise[table])
