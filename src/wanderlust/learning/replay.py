"""Minibatches: which transitions are replayed, and how a table moves by them.

A batch is drawn without replacement by a partial Fisher-Yates shuffle that is never undone: any order of the list is
as good a starting point for the next shuffle as any other, so a draw of k costs k swaps, however long the list.

A batch is kept as its distinct rows (`drawn`) and how often each was drawn (`times`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import compiled, inlined
from wanderlust.learning.mind import (
    FULL,
    N_MULTI,
    N_ROWS,
    N_STORED,
    POLICY_CHANGED,
    ROW_NEXT,
    ROW_PAIR,
    ROW_STATE,
    Mind,
    Plan,
)
from wanderlust.learning.update import best_action_value, moved_with_prior, outcome_target
from wanderlust.streams import HALF, LOW_HALF, REPLAY, STRIDE, Streams, is_fair, scaled, scrambled

ONE = np.uint64(1)


@compiled
def shuffle_front(urn: NDArray[np.uint32], n: int, n_samples: int, streams: Streams) -> None:
    """Fill the first places of the urn with as many of its `n` entries, each choice as likely; 64 bits serve two.

    The counter stays in a register and places are unsigned: both matter in a loop this short.
    """
    counter = streams[REPLAY]
    for i in range(0, n_samples, 2):
        place = np.uint64(i)
        left = np.uint64(n) - place
        counter = counter + STRIDE
        bits = scrambled(counter)
        while not (is_fair(bits >> HALF, left) and is_fair(bits & LOW_HALF, left - ONE)):
            counter = counter + STRIDE
            bits = scrambled(counter)
        swap(urn, place, place + scaled(bits >> HALF, left))
        if i + 1 < n_samples:
            swap(urn, place + ONE, place + ONE + scaled(bits & LOW_HALF, left - ONE))
    streams[REPLAY] = counter


@inlined
def swap(urn: NDArray[np.uint32], i: np.uint64, j: np.uint64) -> None:
    """Exchange two entries of the urn."""
    taken = urn[j]
    urn[j] = urn[i]
    urn[i] = taken


@compiled
def draw_batch(mind: Mind, plan: Plan) -> int:
    """Draw a minibatch, all of the memory while that is no larger; return its number of distinct rows."""
    n_stored = mind.numbers[N_STORED]
    n_samples = min(plan.batch, n_stored)
    urn = mind.memory if plan.memory == FULL else mind.slots
    drawn, times = mind.drawn, mind.times
    if n_stored > plan.batch:
        shuffle_front(urn, n_stored, n_samples, mind.streams)
    memory, by_slot = mind.memory, plan.memory != FULL
    n_drawn = 0
    if not by_slot and mind.numbers[N_MULTI] == 0 and mind.numbers[N_ROWS] <= n_samples:
        # Where every pair has one outcome, only which rows were drawn matters; a few are soonest found by looking.
        for i in range(n_samples):
            times[urn[i]] = 1
        for row in range(mind.numbers[N_ROWS]):
            drawn[n_drawn] = row
            n_drawn += times[row]
        return n_drawn
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
        for i in range(n_drawn):
            row = drawn[i]
            target = outcome_target(reward[row], discount, best[next_of[row]])
            fresh[i] = moved_with_prior(values[pair_of[row]], target, rate, prior_weight)
        for i in range(n_drawn):
            values[pair_of[drawn[i]]] = fresh[i]
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
    for i in range(n_drawn):
        state = state_of[drawn[i]]
        best[state] = best_action_value(values, state, n_actions, minimise)
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1
