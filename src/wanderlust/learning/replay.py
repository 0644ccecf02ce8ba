"""Minibatches: which transitions are replayed, and how a table moves by them.

A batch is drawn without replacement by a partial Fisher-Yates shuffle that is never undone: any order of the list is
as good a starting point for the next shuffle as any other, so a draw of k costs k swaps, however long the list.

A batch is kept as its distinct rows (`drawn`) and how often each was drawn (`times`). Where every pair has one
outcome, only which pairs were drawn matters. Then, if the table is small, each pair gets its own learning rate for
the moment (`rates`), which is 0 for those not drawn, and one straight pass over the table moves them all: reading on is
faster than jumping about.

A head of an ensemble whose every remembered pair is exactly where its target would have it cannot be moved by any
minibatch. It falls asleep, and draws none until something new is remembered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import compiled, inlined
from wanderlust.learning.dense import best_of_all, four_targets
from wanderlust.learning.mind import (
    BEDTIME,
    BEST_COST,
    FULL,
    LISTED_COST,
    N_MULTI,
    N_STATES,
    N_STORED,
    POLICY_CHANGED,
    ROW_NEXT,
    ROW_PAIR,
    ROW_STATE,
    STEP,
    TARGET,
    Floats,
    Mind,
    Plan,
)
from wanderlust.learning.update import best_action_value, moved_with_prior, outcome_target
from wanderlust.streams import HALF, LOW_HALF, REPLAY, STRIDE, Streams, is_fair, is_surely_fair, scaled, scrambled

ONE = np.uint64(1)

Places = NDArray[np.int32]


@compiled
def shuffle_front(urn: NDArray[np.uint32], n: int, n_samples: int, streams: Streams, places: Places) -> None:
    """Fill the first places of the urn with as many of its `n` entries, each choice as likely; 64 bits serve two.

    First with whom each is to be exchanged, in `places`, then the exchanges: with arithmetic between them only a few
    would be under way at a time, and a large urn lies far from the processor.
    """
    if not draw_places_at_once(n, n_samples, streams, places):
        draw_places(n, n_samples, streams, places)
    for i in range(n_samples):
        place, other = np.uint64(i), np.uint64(places[i])
        taken = urn[other]
        urn[other] = urn[place]
        urn[place] = taken


@compiled
def draw_places(n: int, n_samples: int, streams: Streams, places: Places) -> None:
    """Draw with whom each of the first places is exchanged: itself or one behind it."""
    counter = streams[REPLAY]
    for i in range(0, n_samples, 2):
        place = np.uint64(i)
        left = np.uint64(n) - place
        counter = counter + STRIDE
        bits = scrambled(counter)
        while not (is_fair(bits >> HALF, left) and is_fair(bits & LOW_HALF, left - ONE)):
            counter = counter + STRIDE
            bits = scrambled(counter)
        places[i] = place + scaled(bits >> HALF, left)
        if i + 1 < n_samples:
            places[i + 1] = place + ONE + scaled(bits & LOW_HALF, left - ONE)
    streams[REPLAY] = counter


@compiled
def draw_places_at_once(n: int, n_samples: int, streams: Streams, places: Places) -> bool:
    """Do the same on vectors, for an even number of places; False if some might have to be drawn again."""
    if n_samples % 2 == 1:
        return False
    counter, all_fair = streams[REPLAY], True
    for k in range(n_samples // 2):
        place = np.uint64(2 * k)
        left = np.uint64(n) - place
        bits = scrambled(counter + STRIDE * np.uint64(k + 1))
        all_fair &= is_surely_fair(bits >> HALF, left) & is_surely_fair(bits & LOW_HALF, left - ONE)
        places[2 * k] = place + scaled(bits >> HALF, left)
        places[2 * k + 1] = place + ONE + scaled(bits & LOW_HALF, left - ONE)
    if all_fair:
        streams[REPLAY] = counter + STRIDE * np.uint64(n_samples // 2)
    return all_fair


@inlined
def is_certain(mind: Mind, plan: Plan) -> bool:
    """Tell whether every remembered pair has one outcome, for ever remembered."""
    return bool(plan.memory == FULL and mind.numbers[N_MULTI] == 0)


@inlined
def is_small(cost: int, mind: Mind, plan: Plan) -> bool:
    """Tell whether a pass over all pairs is faster than so costly a look at each of a minibatch."""
    n_pairs = (mind.numbers[N_STATES] + 1) * plan.n_actions
    return bool(n_pairs <= cost * min(plan.batch, mind.numbers[N_STORED]))


@inlined
def nothing_moves(table: int, prior_weight: float, mind: Mind, plan: Plan) -> bool:
    """Tell whether any minibatch would leave a table as it is: every pair has one outcome and is at its target."""
    if not is_certain(mind, plan):
        return False
    values, best, reward = mind.values[table], mind.best[table], mind.mirror[TARGET]
    rate, discount = plan.learning_rate, plan.discount[table]
    for pair in range(plan.n_actions, (mind.numbers[N_STATES] + 1) * plan.n_actions):
        if mind.stored[pair] > 0:
            target = outcome_target(reward[pair], discount, best[mind.next_id[pair]])
            if moved_with_prior(values[pair], target, rate, prior_weight) != values[pair]:
                return False
    return True


@compiled
def replay_heads(mind: Mind, plan: Plan) -> None:
    """Move every head that is awake by a minibatch of its own."""
    certain = is_certain(mind, plan)
    in_passes = certain and is_small(LISTED_COST, mind, plan)
    bedtime = mind.numbers[STEP] % BEDTIME == 0
    for head in range(plan.n_heads):
        if mind.asleep[head] != 0:
            continue
        table = plan.n_swept + head
        if in_passes:
            update_by_pass(table, plan.prior_weight, mind, plan)
        else:
            n_drawn = draw_batch(mind, plan)
            update_by_batch(table, n_drawn, plan.prior_weight, mind, plan)
            if not certain:
                discard_batch(n_drawn, mind)
        if bedtime and nothing_moves(table, plan.prior_weight, mind, plan):
            mind.asleep[head] = 1


@compiled
def update_by_pass(table: int, prior_weight: float, mind: Mind, plan: Plan) -> None:
    """Draw a minibatch and move its pairs, all other pairs at the rate 0."""
    n_stored, rates, pair_of, urn = mind.numbers[N_STORED], mind.rates, mind.row_ints[ROW_PAIR], mind.memory
    n_samples = min(plan.batch, n_stored)
    if n_stored > plan.batch:
        shuffle_front(urn, n_stored, n_samples, mind.streams, mind.drawn)
    for i in range(n_samples):
        rates[pair_of[urn[i]]] = plan.learning_rate
    n_states = mind.numbers[N_STATES] + 1
    n_pairs = n_states * plan.n_actions
    values, best = mind.values[table], mind.best[table]
    move_at_rates(values[:n_pairs], rates, mind.mirror[TARGET], mind.next_id, best, plan.discount[table], prior_weight)
    best_of_all(values, best, n_states, plan.n_actions, plan.minimise[table])
    rates[:n_pairs] = 0.0
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1


@compiled
def move_at_rates(
    values: Floats,
    rates: Floats,
    reward: Floats,
    next_id: NDArray[np.uint32],
    best: Floats,
    discount: float,
    prior_weight: float,
) -> None:
    """Apply the TD rule to every pair at its own rate; four at a time, as in `move_all`."""
    whole = len(values) - len(values) % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a, target_b, target_c, target_d = four_targets(a, reward, next_id, best, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        rate_a, rate_b, rate_c, rate_d = rates[a], rates[b], rates[c], rates[d]
        values[a] = moved_with_prior(value_a, target_a, rate_a, prior_weight)
        values[b] = moved_with_prior(value_b, target_b, rate_b, prior_weight)
        values[c] = moved_with_prior(value_c, target_c, rate_c, prior_weight)
        values[d] = moved_with_prior(value_d, target_d, rate_d, prior_weight)
    for pair in range(whole, len(values)):
        target = outcome_target(reward[pair], discount, best[next_id[pair]])
        values[pair] = moved_with_prior(values[pair], target, rates[pair], prior_weight)


@compiled
def draw_batch(mind: Mind, plan: Plan) -> int:
    """Draw a minibatch, all of the memory while that is no larger; return its number of rows.

    They are distinct and counted, unless every pair has one outcome: a row drawn twice does the same twice then.
    """
    n_stored = mind.numbers[N_STORED]
    n_samples: int = min(plan.batch, n_stored)
    urn = mind.memory if plan.memory == FULL else mind.slots
    drawn, times = mind.drawn, mind.times
    if n_stored > plan.batch:
        shuffle_front(urn, n_stored, n_samples, mind.streams, mind.drawn)
    if is_certain(mind, plan):
        for i in range(n_samples):
            drawn[i] = urn[i]
        return n_samples
    memory, by_slot = mind.memory, plan.memory != FULL
    n_drawn = 0
    for i in range(n_samples):
        row = memory[urn[i]] if by_slot else urn[i]
        # Written every time, kept only when the row is new to the batch: no branch to mispredict.
        drawn[n_drawn] = row
        n_drawn += 1 if times[row] == 0 else 0
        times[row] += 1
    return n_drawn


@compiled
def discard_batch(n_drawn: int, mind: Mind) -> None:
    """Forget how often each row was drawn."""
    drawn, times = mind.drawn, mind.times
    for i in range(n_drawn):
        times[drawn[i]] = 0


@compiled
def update_by_batch(table: int, n_drawn: int, prior_weight: float, mind: Mind, plan: Plan) -> None:
    """Move every pair in the batch by the mean TD error of its samples, all errors taken before any write."""
    values, best = mind.values[table], mind.best[table]
    pair_of, state_of, next_of = mind.row_ints[ROW_PAIR], mind.row_ints[ROW_STATE], mind.row_ints[ROW_NEXT]
    reward = mind.row_floats[plan.signal[table]]
    drawn, times, discount, rate = mind.drawn, mind.times, plan.discount[table], plan.learning_rate
    n_actions, minimise = plan.n_actions, plan.minimise[table]
    if mind.numbers[N_MULTI] == 0:
        fresh = mind.scratch[0]
        # Unsigned, as in `sweep_active`: numba looks at every index that may be negative.
        for i in range(n_drawn):
            row = np.uint64(drawn[i])
            target = outcome_target(reward[row], discount, best[np.uint64(next_of[row])])
            fresh[i] = moved_with_prior(values[np.uint64(pair_of[row])], target, rate, prior_weight)
        for i in range(n_drawn):
            values[np.uint64(pair_of[np.uint64(drawn[i])])] = fresh[i]
    else:
        target_of, samples_of = mind.scratch[0], mind.scratch[1]
        for i in range(n_drawn):
            pair = pair_of[drawn[i]]
            target_of[pair] = 0.0
            samples_of[pair] += times[drawn[i]]
        for i in range(n_drawn):
            row = drawn[i]
            pair = pair_of[row]
            weight = times[row] / samples_of[pair]
            target_of[pair] += weight * outcome_target(reward[row], discount, best[next_of[row]])
        for i in range(n_drawn):
            pair = pair_of[drawn[i]]
            if samples_of[pair] > 0.0:
                values[pair] = moved_with_prior(values[pair], target_of[pair], rate, prior_weight)
                samples_of[pair] = 0.0
    if is_small(BEST_COST, mind, plan):
        best_of_all(values, best, mind.numbers[N_STATES] + 1, n_actions, minimise)
    else:
        for i in range(n_drawn):
            state = state_of[drawn[i]]
            best[state] = best_action_value(values, state, n_actions, minimise)
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1
