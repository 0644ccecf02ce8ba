"""Minibatches: which transitions are replayed, and how a table moves by them.

A batch is drawn without replacement by a partial Fisher-Yates shuffle that is never undone: any order of the list is
as good a starting point for the next shuffle as any other, so a draw of k costs k swaps, however long the list.

A batch is kept as its distinct rows (`drawn`) and how often each was drawn (`times`). Where every pair has one
outcome, only which pairs were drawn matters. Then, if the table is small, each pair gets its own learning rate for
the moment (`rates`), which is 0 for those not drawn, and one straight pass over the table moves them all: reading on is
faster than jumping about.

A head of an ensemble whose every remembered pair is exactly where its target would have it cannot be moved by any
minibatch. It falls converged, and draws none until something new is remembered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import compiled, inlined
from wanderlust.learning.dense_sweep import best_of_all, four_targets
from wanderlust.learning.random_streams import (
    HALF,
    LOW_HALF,
    REPLAY,
    STRIDE,
    Streams,
    is_fair,
    is_surely_fair,
    scaled,
    scrambled,
)
from wanderlust.learning.state import (
    BEST_COST,
    CONVERGENCE_CHECK_EVERY,
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
    LearnerState,
    TableSpec,
)
from wanderlust.learning.td import best_action_value, moved_with_prior, outcome_target

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
def is_deterministic(learner: LearnerState, spec: TableSpec) -> bool:
    """Tell whether every remembered pair has one outcome, for ever remembered."""
    return bool(spec.memory == FULL and learner.numbers[N_MULTI] == 0)


@inlined
def is_small(cost: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Tell whether a pass over all pairs is faster than so costly a look at each of a minibatch."""
    n_pairs = (learner.numbers[N_STATES] + 1) * spec.n_actions
    return bool(n_pairs <= cost * min(spec.batch, learner.numbers[N_STORED]))


@inlined
def nothing_moves(table: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> bool:
    """Tell whether any minibatch would leave a table as it is: every pair has one outcome and is at its target."""
    if not is_deterministic(learner, spec):
        return False
    values, best, reward = learner.values[table], learner.best[table], learner.sweep_reward[TARGET]
    rate, discount = spec.learning_rate, spec.discount[table]
    for pair in range(spec.n_actions, (learner.numbers[N_STATES] + 1) * spec.n_actions):
        if learner.stored[pair] > 0:
            target = outcome_target(reward[pair], discount, best[learner.sweep_next[pair]])
            if moved_with_prior(values[pair], target, rate, prior_weight) != values[pair]:
                return False
    return True


@compiled
def replay_heads(learner: LearnerState, spec: TableSpec) -> None:
    """Move every head that is awake by a minibatch of its own."""
    certain = is_deterministic(learner, spec)
    in_passes = certain and is_small(LISTED_COST, learner, spec)
    bedtime = learner.numbers[STEP] % CONVERGENCE_CHECK_EVERY == 0
    for head in range(spec.n_heads):
        if learner.converged[head] != 0:
            continue
        table = spec.n_swept + head
        if in_passes:
            update_by_pass(table, spec.prior_weight, learner, spec)
        else:
            n_drawn = draw_batch(learner, spec)
            update_by_batch(table, n_drawn, spec.prior_weight, learner, spec)
            if not certain:
                discard_batch(n_drawn, learner)
        if bedtime and nothing_moves(table, spec.prior_weight, learner, spec):
            learner.converged[head] = 1


@compiled
def update_by_pass(table: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> None:
    """Draw a minibatch and move its pairs, all other pairs at the rate 0."""
    n_stored, rates, pair_of, urn = learner.numbers[N_STORED], learner.rates, learner.row_ints[ROW_PAIR], learner.memory
    n_samples = min(spec.batch, n_stored)
    if n_stored > spec.batch:
        shuffle_front(urn, n_stored, n_samples, learner.streams, learner.drawn)
    for i in range(n_samples):
        rates[pair_of[urn[i]]] = spec.learning_rate
    n_states = learner.numbers[N_STATES] + 1
    n_pairs = n_states * spec.n_actions
    values, best = learner.values[table], learner.best[table]
    move_at_rates(values[:n_pairs], rates, learner.sweep_reward[TARGET], learner.sweep_next, best, spec.discount[table], prior_weight)
    best_of_all(values, best, n_states, spec.n_actions, spec.minimise[table])
    rates[:n_pairs] = 0.0
    if table == spec.evaluated:
        learner.numbers[POLICY_CHANGED] = 1


@compiled
def move_at_rates(
    values: Floats,
    rates: Floats,
    reward: Floats,
    sweep_next: NDArray[np.uint32],
    best: Floats,
    discount: float,
    prior_weight: float,
) -> None:
    """Apply the TD rule to every pair at its own rate; four at a time, as in `move_all`."""
    whole = len(values) - len(values) % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a, target_b, target_c, target_d = four_targets(a, reward, sweep_next, best, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        rate_a, rate_b, rate_c, rate_d = rates[a], rates[b], rates[c], rates[d]
        values[a] = moved_with_prior(value_a, target_a, rate_a, prior_weight)
        values[b] = moved_with_prior(value_b, target_b, rate_b, prior_weight)
        values[c] = moved_with_prior(value_c, target_c, rate_c, prior_weight)
        values[d] = moved_with_prior(value_d, target_d, rate_d, prior_weight)
    for pair in range(whole, len(values)):
        target = outcome_target(reward[pair], discount, best[sweep_next[pair]])
        values[pair] = moved_with_prior(values[pair], target, rates[pair], prior_weight)


@compiled
def draw_batch(learner: LearnerState, spec: TableSpec) -> int:
    """Draw a minibatch, all of the memory while that is no larger; return its number of rows.

    They are distinct and counted, unless every pair has one outcome: a row drawn twice does the same twice then.
    """
    n_stored = learner.numbers[N_STORED]
    n_samples: int = min(spec.batch, n_stored)
    urn = learner.memory if spec.memory == FULL else learner.slots
    drawn, times = learner.drawn, learner.times
    if n_stored > spec.batch:
        shuffle_front(urn, n_stored, n_samples, learner.streams, learner.drawn)
    if is_deterministic(learner, spec):
        for i in range(n_samples):
            drawn[i] = urn[i]
        return n_samples
    memory, by_slot = learner.memory, spec.memory != FULL
    n_drawn = 0
    for i in range(n_samples):
        row = memory[urn[i]] if by_slot else urn[i]
        # Written every time, kept only when the row is new to the batch: no branch to mispredict.
        drawn[n_drawn] = row
        n_drawn += 1 if times[row] == 0 else 0
        times[row] += 1
    return n_drawn


@compiled
def discard_batch(n_drawn: int, learner: LearnerState) -> None:
    """Forget how often each row was drawn."""
    drawn, times = learner.drawn, learner.times
    for i in range(n_drawn):
        times[drawn[i]] = 0


@compiled
def update_by_batch(table: int, n_drawn: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> None:
    """Move every pair in the batch by the mean TD error of its samples, all errors taken before any write."""
    values, best = learner.values[table], learner.best[table]
    pair_of, state_of, next_of = learner.row_ints[ROW_PAIR], learner.row_ints[ROW_STATE], learner.row_ints[ROW_NEXT]
    reward = learner.row_floats[spec.signal[table]]
    drawn, times, discount, rate = learner.drawn, learner.times, spec.discount[table], spec.learning_rate
    n_actions, minimise = spec.n_actions, spec.minimise[table]
    if learner.numbers[N_MULTI] == 0:
        fresh = learner.scratch[0]
        # Unsigned, as in `sweep_active`: numba looks at every index that may be negative.
        for i in range(n_drawn):
            row = np.uint64(drawn[i])
            target = outcome_target(reward[row], discount, best[np.uint64(next_of[row])])
            fresh[i] = moved_with_prior(values[np.uint64(pair_of[row])], target, rate, prior_weight)
        for i in range(n_drawn):
            values[np.uint64(pair_of[np.uint64(drawn[i])])] = fresh[i]
    else:
        target_of, samples_of = learner.scratch[0], learner.scratch[1]
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
    if is_small(BEST_COST, learner, spec):
        best_of_all(values, best, learner.numbers[N_STATES] + 1, n_actions, minimise)
    else:
        for i in range(n_drawn):
            state = state_of[drawn[i]]
            best[state] = best_action_value(values, state, n_actions, minimise)
    if table == spec.evaluated:
        learner.numbers[POLICY_CHANGED] = 1
