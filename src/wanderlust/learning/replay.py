"""Minibatches: which transitions are replayed, and how a table is updated from them.

A batch is drawn without replacement by a partial Fisher-Yates shuffle that is never undone. Any order of the list is an
equally good start of the next shuffle, so a draw of k takes k swaps, however long the list is.

A batch is stored as its distinct outcomes and their counts. If every pair has one outcome, it only matters which pairs
were drawn. Then, if the table is small, each pair gets its own learning rate for this update, 0 if it was not drawn,
and one pass over the table updates them all: sequential access is faster than random access.

A head of an ensemble has converged when every remembered pair equals its target exactly: no minibatch can change it. It
draws none until something new is observed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import compiled, inlined
from wanderlust.learning.state import (
    HALF_WORD,
    LOW_HALF,
    REPLAY,
    STRIDE,
    LearnerState,
    Streams,
    is_surely_unbiased,
    is_unbiased,
    scaled,
    scrambled,
)
from wanderlust.learning.sweep import four_targets, update_state_values
from wanderlust.learning.td import FULL, TARGET, Floats, TableSpec, best_action_value, regularised_td_update, td_target

CONVERGENCE_CHECK_INTERVAL = 32
"""Steps between checks whether heads have converged."""
LISTED_COST, BEST_COST = 4, 16
"""Updating one pair of a minibatch takes as long as a pass over this many pairs; so does finding the best action of its
state."""
ONE = np.uint64(1)

Places = NDArray[np.int32]


@compiled
def shuffle_front(items: NDArray[np.uint32], n: int, n_samples: int, streams: Streams, places: Places) -> None:
    """Move a uniform sample of the first `n` items to the front; 64 random bits serve two draws.

    All draws come before the swaps. With arithmetic between them, fewer memory accesses of a large list would overlap.
    """
    if not draw_places_vectorized(n, n_samples, streams, places):
        draw_places(n, n_samples, streams, places)
    for i in range(n_samples):
        place, other = np.uint64(i), np.uint64(places[i])
        item = items[other]
        items[other] = items[place]
        items[place] = item


@compiled
def draw_places(n: int, n_samples: int, streams: Streams, places: Places) -> None:
    """Draw, for each of the first places, the place to swap it with: itself or a later one."""
    counter = streams[REPLAY]
    for i in range(0, n_samples, 2):
        place = np.uint64(i)
        left = np.uint64(n) - place
        counter = counter + STRIDE
        bits = scrambled(counter)
        while not (is_unbiased(bits >> HALF_WORD, left) and is_unbiased(bits & LOW_HALF, left - ONE)):
            counter = counter + STRIDE
            bits = scrambled(counter)
        places[i] = place + scaled(bits >> HALF_WORD, left)
        if i + 1 < n_samples:
            places[i + 1] = place + ONE + scaled(bits & LOW_HALF, left - ONE)
    streams[REPLAY] = counter


@compiled
def draw_places_vectorized(n: int, n_samples: int, streams: Streams, places: Places) -> bool:
    """Do the same with vector instructions, for an even number; return False if a draw may have to be repeated."""
    if n_samples % 2 == 1:
        return False
    counter, all_unbiased = streams[REPLAY], True
    for k in range(n_samples // 2):
        place = np.uint64(2 * k)
        left = np.uint64(n) - place
        bits = scrambled(counter + STRIDE * np.uint64(k + 1))
        all_unbiased &= is_surely_unbiased(bits >> HALF_WORD, left) & is_surely_unbiased(bits & LOW_HALF, left - ONE)
        places[2 * k] = place + scaled(bits >> HALF_WORD, left)
        places[2 * k + 1] = place + ONE + scaled(bits & LOW_HALF, left - ONE)
    if all_unbiased:
        streams[REPLAY] = counter + STRIDE * np.uint64(n_samples // 2)
    return all_unbiased


@inlined
def is_deterministic(learner: LearnerState, spec: TableSpec) -> bool:
    """Return whether every remembered pair has one outcome, and nothing is ever forgotten."""
    return bool(spec.memory == FULL and learner.counters.n_stochastic == 0)


@inlined
def pass_is_faster(cost: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Return whether a pass over all pairs is faster than work of this cost for each pair of a minibatch."""
    n_pairs = (learner.counters.n_states + 1) * spec.n_actions
    return bool(n_pairs <= cost * min(spec.batch_size, learner.counters.n_stored))


@inlined
def has_converged(table: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> bool:
    """Return whether no minibatch can change a table: every pair has one outcome and equals its target."""
    if not is_deterministic(learner, spec):
        return False
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[TARGET]
    rate, discount = spec.learning_rate, spec.discount[table]
    for pair in range(spec.n_actions, (learner.counters.n_states + 1) * spec.n_actions):
        if learner.stored[pair] > 0:
            target = td_target(rewards[pair], discount, state_values[learner.sweep_next[pair]])
            if regularised_td_update(values[pair], target, rate, prior_weight) != values[pair]:
                return False
    return True


@compiled
def replay_heads(learner: LearnerState, spec: TableSpec) -> None:
    """Update every head that has not converged from a minibatch of its own."""
    deterministic = is_deterministic(learner, spec)
    by_pass = deterministic and pass_is_faster(LISTED_COST, learner, spec)
    check_convergence = learner.counters.step % CONVERGENCE_CHECK_INTERVAL == 0
    for head in range(spec.n_heads):
        if learner.converged[head] != 0:
            continue
        table = spec.n_swept + head
        if by_pass:
            update_by_pass(table, spec.prior_weight, learner, spec)
        else:
            n_drawn = draw_batch(learner, spec)
            update_from_batch(table, n_drawn, spec.prior_weight, learner, spec)
            if not deterministic:
                discard_batch(n_drawn, learner)
        if check_convergence and has_converged(table, spec.prior_weight, learner, spec):
            learner.converged[head] = 1


@compiled
def update_by_pass(table: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> None:
    """Draw a minibatch and update its pairs in a pass over all pairs, the others with learning rate 0."""
    n_stored, rates, transitions = learner.counters.n_stored, learner.batch_rates, learner.transitions
    pair_of = learner.outcomes.pair
    n_samples = min(spec.batch_size, n_stored)
    if n_stored > spec.batch_size:
        shuffle_front(transitions, n_stored, n_samples, learner.streams, learner.batch)
    for i in range(n_samples):
        rates[pair_of[transitions[i]]] = spec.learning_rate
    n_states = learner.counters.n_states + 1
    n_pairs = n_states * spec.n_actions
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[TARGET]
    discount = spec.discount[table]
    update_pairs_at_rates(values[:n_pairs], rates, rewards, learner.sweep_next, state_values, discount, prior_weight)
    update_state_values(values, state_values, n_states, spec.n_actions, spec.minimise[table])
    rates[:n_pairs] = 0.0
    if table == spec.evaluated:
        learner.counters.policy_changed = 1


@compiled
def update_pairs_at_rates(
    values: Floats,
    rates: Floats,
    rewards: Floats,
    next_state: NDArray[np.uint32],
    state_values: Floats,
    discount: float,
    prior_weight: float,
) -> None:
    """Apply the TD rule to every pair with its own learning rate; four at a time, as in `update_pairs`."""
    whole = len(values) - len(values) % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a, target_b, target_c, target_d = four_targets(a, rewards, next_state, state_values, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        rate_a, rate_b, rate_c, rate_d = rates[a], rates[b], rates[c], rates[d]
        values[a] = regularised_td_update(value_a, target_a, rate_a, prior_weight)
        values[b] = regularised_td_update(value_b, target_b, rate_b, prior_weight)
        values[c] = regularised_td_update(value_c, target_c, rate_c, prior_weight)
        values[d] = regularised_td_update(value_d, target_d, rate_d, prior_weight)
    for pair in range(whole, len(values)):
        target = td_target(rewards[pair], discount, state_values[next_state[pair]])
        values[pair] = regularised_td_update(values[pair], target, rates[pair], prior_weight)


@compiled
def draw_batch(learner: LearnerState, spec: TableSpec) -> int:
    """Draw a minibatch, or take the whole memory while that is no larger; return its number of outcomes.

    They are distinct and counted, unless every pair has one outcome: then drawing one twice changes nothing.
    """
    n_stored = learner.counters.n_stored
    n_samples: int = min(spec.batch_size, n_stored)
    items = learner.transitions if spec.memory == FULL else learner.slots
    batch, counts = learner.batch, learner.batch_counts
    if n_stored > spec.batch_size:
        shuffle_front(items, n_stored, n_samples, learner.streams, learner.batch)
    if is_deterministic(learner, spec):
        for i in range(n_samples):
            batch[i] = items[i]
        return n_samples
    transitions, by_slot = learner.transitions, spec.memory != FULL
    n_drawn = 0
    for i in range(n_samples):
        outcome = transitions[items[i]] if by_slot else items[i]
        # Always written, kept only if the outcome is new to the batch: no branch to mispredict.
        batch[n_drawn] = outcome
        n_drawn += 1 if counts[outcome] == 0 else 0
        counts[outcome] += 1
    return n_drawn


@compiled
def discard_batch(n_drawn: int, learner: LearnerState) -> None:
    """Reset the counts of the outcomes in the batch."""
    batch, counts = learner.batch, learner.batch_counts
    for i in range(n_drawn):
        counts[batch[i]] = 0


@compiled
def update_from_batch(table: int, n_drawn: int, prior_weight: float, learner: LearnerState, spec: TableSpec) -> None:
    """Update every pair in the batch by the mean TD error of its samples, all errors computed before any write."""
    values, state_values, outcomes = learner.values[table], learner.state_values[table], learner.outcomes
    pair_of, state_of, next_of = outcomes.pair, outcomes.state, outcomes.next_state
    rewards = outcomes.signals[spec.signal[table]]
    batch, counts, discount, rate = learner.batch, learner.batch_counts, spec.discount[table], spec.learning_rate
    n_actions, minimise = spec.n_actions, spec.minimise[table]
    if learner.counters.n_stochastic == 0:
        new_values = learner.scratch[0]
        # Unsigned, as in `sweep_active`: numba checks every signed index for negative values.
        for i in range(n_drawn):
            outcome = np.uint64(batch[i])
            target = td_target(rewards[outcome], discount, state_values[np.uint64(next_of[outcome])])
            new_values[i] = regularised_td_update(values[np.uint64(pair_of[outcome])], target, rate, prior_weight)
        for i in range(n_drawn):
            values[np.uint64(pair_of[np.uint64(batch[i])])] = new_values[i]
    else:
        target_of, samples_of = learner.scratch[0], learner.scratch[1]
        for i in range(n_drawn):
            pair = pair_of[batch[i]]
            target_of[pair] = 0.0
            samples_of[pair] += counts[batch[i]]
        for i in range(n_drawn):
            outcome = batch[i]
            pair = pair_of[outcome]
            weight = counts[outcome] / samples_of[pair]
            target_of[pair] += weight * td_target(rewards[outcome], discount, state_values[next_of[outcome]])
        for i in range(n_drawn):
            pair = pair_of[batch[i]]
            if samples_of[pair] > 0.0:
                values[pair] = regularised_td_update(values[pair], target_of[pair], rate, prior_weight)
                samples_of[pair] = 0.0
    if pass_is_faster(BEST_COST, learner, spec):
        update_state_values(values, state_values, learner.counters.n_states + 1, n_actions, minimise)
    else:
        for i in range(n_drawn):
            state = state_of[batch[i]]
            state_values[state] = best_action_value(values, state, n_actions, minimise)
    if table == spec.evaluated:
        learner.counters.policy_changed = 1
