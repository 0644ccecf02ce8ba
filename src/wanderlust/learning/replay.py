"""Minibatches: which transitions are replayed, and how a table moves by them.

A batch is drawn without replacement by a partial Fisher-Yates shuffle that is never undone: any order of the list is
as good a starting point for the next shuffle as any other, so a draw of k costs k swaps, however long the list.

A batch is kept as its distinct rows (`drawn`) and how often each was drawn (`times`).
"""

from __future__ import annotations

from wanderlust.compiled import compiled
from wanderlust.learning.mind import (
    FULL,
    N_MULTI,
    N_STORED,
    POLICY_CHANGED,
    ROW_NEXT,
    ROW_PAIR,
    ROW_STATE,
    Mind,
    Plan,
)
from wanderlust.learning.update import best_action_value, moved_with_prior, outcome_target
from wanderlust.streams import REPLAY, below


@compiled
def draw_batch(mind: Mind, plan: Plan) -> int:
    """Draw a minibatch, all of the memory while that is no larger; return its number of distinct rows."""
    n_stored = mind.numbers[N_STORED]
    n_samples = min(plan.batch, n_stored)
    urn = mind.memory if plan.memory == FULL else mind.slots
    drawn, times, streams = mind.drawn, mind.times, mind.streams
    n_drawn = 0
    for i in range(n_samples):
        if n_stored > plan.batch:
            j = i + below(streams, REPLAY, n_stored - i)
            taken = urn[j]
            urn[j] = urn[i]
            urn[i] = taken
        row = urn[i] if plan.memory == FULL else mind.memory[urn[i]]
        # Written every time, kept only when the row is new to the batch: no branch to mispredict.
        drawn[n_drawn] = row
        n_drawn += 1 if times[row] == 0 else 0
        times[row] += 1
    return n_drawn


@compiled
def discard_batch(n_drawn: int, mind: Mind) -> None:
    """Forget how often each row was drawn."""
    for i in range(n_drawn):
        mind.times[mind.drawn[i]] = 0


@compiled
def update_by_batch(table: int, n_drawn: int, prior_weight: float, mind: Mind, plan: Plan) -> None:
    """Move every pair in the batch by the mean TD error of its samples, all errors taken before any write."""
    values, best = mind.values[table], mind.best[table]
    pair_of, state_of, next_of = mind.row_ints[ROW_PAIR], mind.row_ints[ROW_STATE], mind.row_ints[ROW_NEXT]
    reward = mind.row_floats[plan.signal[table]]
    drawn, discount, rate = mind.drawn, plan.discount[table], plan.learning_rate
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
            samples_of[pair] += mind.times[drawn[i]]
        for i in range(n_drawn):
            row = drawn[i]
            pair = pair_of[row]
            weight = mind.times[row] / samples_of[pair]
            target_of[pair] += weight * outcome_target(reward[row], discount, best[next_of[row]])
        for i in range(n_drawn):
            pair = pair_of[drawn[i]]
            if samples_of[pair] > 0.0:
                values[pair] = moved_with_prior(values[pair], target_of[pair], rate, prior_weight)
                samples_of[pair] = 0.0
    for i in range(n_drawn):
        state = state_of[drawn[i]]
        best[state] = best_action_value(values, state, plan.n_actions, plan.minimise[table])
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1
