"""One sweep of a table over all pairs of all states met so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import compiled, inlined, wide
from wanderlust.fetching import first_of, second_of, two_at
from wanderlust.learning.mind import N_MULTI, N_STATES, POLICY_CHANGED, Floats, Mind, Plan
from wanderlust.learning.update import better, mean_target, moved, outcome_target


@compiled
def sweep_dense(table: int, mind: Mind, plan: Plan) -> None:
    """Move every pair, then take the best action of every state."""
    values, best, mirror = mind.values[table], mind.best[table], mind.mirror[table]
    n_actions, n_states = plan.n_actions, mind.numbers[N_STATES] + 1
    rate, discount = plan.learning_rate, plan.discount[table]
    move_averaged_pairs(table, mind, plan)
    if plan.plain_sweeps:
        move_plainly(values, n_states * n_actions, mirror, mind.next_id, best, rate, discount)
    else:
        move_all(values, n_states * n_actions, mirror, mind.next_id, best, rate, discount)
    best_of_all(values, best, n_states, n_actions, plan.minimise[table])
    if table == plan.evaluated:
        mind.numbers[POLICY_CHANGED] = 1


@compiled
def move_averaged_pairs(table: int, mind: Mind, plan: Plan) -> None:
    """Move the pairs with several outcomes. They are no-ops of the passes over all pairs then: their mirror is their
    value, and they lead to the end. So are pairs never tried.
    """
    values, best, mirror = mind.values[table], mind.best[table], mind.mirror[table]
    for i in range(mind.numbers[N_MULTI]):
        pair = wide(mind.multi[i])
        if mind.stored[pair] > 0:
            target = mean_target(pair, table, mind, plan, best)
            values[pair] = moved(values[pair], target, plan.learning_rate)
            mirror[pair] = values[pair]


@compiled
def move_plainly(
    values: Floats,
    n_pairs: int,
    reward: Floats,
    next_id: NDArray[np.uint32],
    best: Floats,
    rate: float,
    discount: float,
) -> None:
    """Apply the TD rule to the first so many pairs, each with one outcome."""
    for pair in range(n_pairs):
        values[pair] = moved(values[pair], outcome_target(reward[pair], discount, best[next_id[pair]]), rate)


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
    """Do the same faster.

    Four at a time, all loads before any store: so the compiler sees that it may do the arithmetic on vectors, which it
    cannot in a plain loop, where a store might change a value that is yet to be fetched.
    """
    whole = n_pairs - n_pairs % 4
    for a in range(0, whole, 4):
        b, c, d = a + 1, a + 2, a + 3
        target_a, target_b, target_c, target_d = four_targets(a, reward, next_id, best, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        values[a] = moved(value_a, target_a, rate)
        values[b] = moved(value_b, target_b, rate)
        values[c] = moved(value_c, target_c, rate)
        values[d] = moved(value_d, target_d, rate)
    for pair in range(whole, n_pairs):
        values[pair] = moved(values[pair], outcome_target(reward[pair], discount, best[next_id[pair]]), rate)


@inlined
def four_targets(
    a: int, reward: Floats, next_id: NDArray[np.uint32], best: Floats, discount: float
) -> tuple[float, float, float, float]:
    """Return the TD targets of a pair and the next three."""
    next_ab, next_cd = two_at(next_id, a), two_at(next_id, a + 2)
    return (
        outcome_target(reward[a], discount, best[first_of(next_ab)]),
        outcome_target(reward[a + 1], discount, best[second_of(next_ab)]),
        outcome_target(reward[a + 2], discount, best[first_of(next_cd)]),
        outcome_target(reward[a + 3], discount, best[second_of(next_cd)]),
    )


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
