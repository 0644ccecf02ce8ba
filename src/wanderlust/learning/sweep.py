"""One simultaneous sweep of a table over the whole memory, in two ways that give the same bits.

**Active**: a pair's update can change something only if its own value moved in the last sweep, or its reward, or
the value of a state that it leads to. States with such a pair are on a work list; all others are left alone, exactly.
For Q this is one state in a hundred once the first rewards have spread.

**Dense**: all pairs, in two straight passes that the compiler can vectorise: move every value, then take the best
action of every state. Faster when most states are active, as they are for W, whose rewards change all the time.

`sweep` goes from active to dense when the work list holds more than a twelfth of the states. A dense sweep does not
know what it changed, so now and then a sample of states tells whether the table is still that busy. Once it seems not
to be, a look at all states takes stock: it finds those that are yet to move, or that they are too many after all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import compiled, inlined, wide
from wanderlust.learning.mind import (
    ACTIVE_COST,
    DENSE_LEFT,
    DENSE_RUN,
    N_MULTI,
    N_STATES,
    N_WORK,
    NONE,
    POLICY_CHANGED,
    PROBED_STATES,
    ROW_CHAIN,
    ROW_INTO,
    ROW_STATE,
    STEP,
    Floats,
    Mind,
    Plan,
)
from wanderlust.learning.update import best_action_value, better, mean_target, moved, outcome_target


@inlined
def activate(state: int, table: int, mind: Mind) -> None:
    """Put a state on a table's work list, once."""
    if mind.flags[table, state] == 0:
        mind.flags[table, state] = 1
        mind.work[table, mind.pace[table, N_WORK]] = state
        mind.pace[table, N_WORK] += 1


@inlined
def is_averaged(pair: int, mind: Mind) -> bool:
    """Tell whether a pair has several outcomes, and thus a mean over them as its target."""
    row = mind.first_row[pair]
    return bool(mind.stored[pair] > 0 and row != NONE and mind.row_ints[ROW_CHAIN, row] != NONE)


@inlined
def sweep(table: int, mind: Mind, plan: Plan) -> None:
    """Move every remembered pair of a table once."""
    pace = mind.pace[table]
    if plan.plain_sweeps or pace[DENSE_LEFT] > 0:
        sweep_dense(table, mind, plan)
        if plan.plain_sweeps:
            return
        pace[DENSE_LEFT] -= 1
        if pace[DENSE_LEFT] == 0 and is_busy(table, mind, plan):
            pace[DENSE_LEFT] = DENSE_RUN
        return
    if pace[N_WORK] > 0:
        sweep_active(table, mind, plan)
    if ACTIVE_COST * pace[N_WORK] > mind.numbers[N_STATES]:
        pace[DENSE_LEFT] = DENSE_RUN


@compiled
def is_busy(table: int, mind: Mind, plan: Plan) -> bool:
    """Tell whether so many states have values yet to move that dense sweeps are the faster ones.

    If not, the work list becomes those states. A sample is asked first, and all of them only if it says no.
    """
    n_states, pace = mind.numbers[N_STATES], mind.pace[table]
    apart = n_states // PROBED_STATES + 1
    first = 1 + mind.numbers[STEP] % apart
    n_probed = (n_states - first) // apart + 1
    if ACTIVE_COST * find_moving(table, first, apart, mind, plan) > n_probed:
        return True
    n_moving = find_moving(table, wide(1), wide(1), mind, plan)
    if ACTIVE_COST * n_moving > n_states:
        return True
    flags, work, found = mind.flags[table], mind.work[table], mind.work[plan.n_swept]
    for i in range(pace[N_WORK]):
        flags[work[i]] = 0
    for i in range(n_moving):
        work[i] = found[i]
        flags[found[i]] = 1
    pace[N_WORK] = n_moving
    return False


@compiled
def find_moving(table: int, first: int, apart: int, mind: Mind, plan: Plan) -> int:
    """List states with values yet to move, out of those so far apart, in the spare work list; return how many."""
    values, best, mirror = mind.values[table], mind.best[table], mind.mirror[table]
    found, n_actions, n_found = mind.work[plan.n_swept], plan.n_actions, 0
    for state in range(first, mind.numbers[N_STATES] + 1, apart):
        for pair in range(state * n_actions, (state + 1) * n_actions):
            if is_averaged(pair, mind):
                target = mean_target(pair, table, mind, plan, best)
            else:
                target = outcome_target(mirror[pair], plan.discount[table], best[mind.next_id[pair]])
            if moved(values[pair], target, plan.learning_rate) != values[pair]:
                found[n_found] = state
                n_found += 1
                break
    return n_found


@compiled
def sweep_active(table: int, mind: Mind, plan: Plan) -> None:
    """Move the pairs of the states on the work list, and put on it what that may change next."""
    n_actions = plan.n_actions
    minimise = plan.minimise[table]
    values, best, mirror = mind.values[table], mind.best[table], mind.mirror[table]
    next_id, into, discount, rate = mind.next_id, mind.into, plan.discount[table], plan.learning_rate
    flags, work, following = mind.flags[table], mind.work[table], mind.work[plan.n_swept]
    flags_of_several = mind.flags[plan.n_swept]
    origin, also_into = mind.row_ints[ROW_STATE], mind.row_ints[ROW_INTO]
    scratch = mind.scratch[0]
    n_work = mind.pace[table, N_WORK]
    for i in range(n_work):
        state = work[i]
        flags[state] = 0
        several_outcomes = flags_of_several[state] != 0
        for action in range(n_actions):
            pair = state * n_actions + action
            if several_outcomes and is_averaged(pair, mind):
                target = mean_target(pair, table, mind, plan, best)
            else:
                target = outcome_target(mirror[pair], discount, best[next_id[pair]])
            scratch[i * n_actions + action] = moved(values[pair], target, rate)
    n_following, any_changed = 0, False
    for i in range(n_work):
        state = work[i]
        changed = False
        for action in range(n_actions):
            pair = state * n_actions + action
            value = scratch[i * n_actions + action]
            if value != values[pair]:
                changed = True
                values[pair] = value
                if flags_of_several[state] != 0 and is_averaged(pair, mind):
                    mirror[pair] = value
        if not changed:
            continue
        any_changed = True
        if flags[state] == 0:
            flags[state] = 1
            following[n_following] = state
            n_following += 1
        fresh_best = best_action_value(values, state, n_actions, minimise)
        if fresh_best != best[state]:
            best[state] = fresh_best
            row = into[state]
            while row != NONE:
                reader = origin[row]
                if flags[reader] == 0:
                    flags[reader] = 1
                    following[n_following] = reader
                    n_following += 1
                row = also_into[row]
    for i in range(n_following):
        work[i] = following[i]
    mind.pace[table, N_WORK] = n_following
    if any_changed and table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1


@compiled
def sweep_dense(table: int, mind: Mind, plan: Plan) -> None:
    """Move every pair of every state met so far; pairs never tried stay, being no-ops."""
    n_actions = plan.n_actions
    values, best, mirror = mind.values[table], mind.best[table], mind.mirror[table]
    n_states = mind.numbers[N_STATES] + 1
    n_pairs = n_states * n_actions
    # Pairs with several outcomes go first, and are no-ops of the straight passes then: their mirror is their value.
    for i in range(mind.numbers[N_MULTI]):
        pair = wide(mind.multi[i])
        if mind.stored[pair] > 0:
            target = mean_target(pair, table, mind, plan, best)
            values[pair] = moved(values[pair], target, plan.learning_rate)
            mirror[pair] = values[pair]
    move_all(values, n_pairs, mirror, mind.next_id, best, plan.learning_rate, plan.discount[table])
    best_of_all(values, best, n_states, n_actions, plan.minimise[table])
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1


@compiled
def move_all(
    values: Floats,
    n_pairs: int,
    reward: Floats,
    next_id: NDArray[np.uint32],
    best: Floats,
    rate: float,
    discount: float,
) -> None:
    """Apply the TD rule to the first so many pairs, each with one outcome.

    Four at a time, all loads before any store: so the compiler sees that it may do the arithmetic on vectors, which it
    cannot in a plain loop, where a store might change a value that is yet to be fetched.
    """
    whole = n_pairs - n_pairs % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a = outcome_target(reward[a], discount, best[next_id[a]])
        target_b = outcome_target(reward[b], discount, best[next_id[b]])
        target_c = outcome_target(reward[c], discount, best[next_id[c]])
        target_d = outcome_target(reward[d], discount, best[next_id[d]])
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        values[a] = moved(value_a, target_a, rate)
        values[b] = moved(value_b, target_b, rate)
        values[c] = moved(value_c, target_c, rate)
        values[d] = moved(value_d, target_d, rate)
    for pair in range(whole, n_pairs):
        target = outcome_target(reward[pair], discount, best[next_id[pair]])
        values[pair] = moved(values[pair], target, rate)


@compiled
def best_of_all(values: Floats, best: Floats, n_states: int, n_actions: int, minimise: bool) -> None:
    """Take the best action of every state; two and four actions unrolled, as the loop over actions is the slow part."""
    if n_actions == 4:
        for state in range(n_states):
            first = 4 * state
            best[state] = better(
                better(values[first], values[first + 1], minimise),
                better(values[first + 2], values[first + 3], minimise),
                minimise,
            )
    elif n_actions == 2:
        for state in range(n_states):
            best[state] = better(values[2 * state], values[2 * state + 1], minimise)
    else:
        for state in range(n_states):
            best[state] = values[n_actions * state]
        for action in range(1, n_actions):
            for state in range(n_states):
                best[state] = better(best[state], values[n_actions * state + action], minimise)
