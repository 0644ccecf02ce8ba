"""One sweep of a table over all pairs of all states met so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import as_int64, compiled, inlined
from wanderlust._numba.loads import first_index, load_two_indices, second_index
from wanderlust.learning.state import N_MULTI, N_STATES, POLICY_CHANGED, Floats, LearnerState, TableSpec
from wanderlust.learning.td import better, mean_target, moved, outcome_target


@compiled
def sweep_dense(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Move every pair, then take the best action of every state."""
    values, best, sweep_reward = learner.values[table], learner.best[table], learner.sweep_reward[table]
    n_actions, n_states = spec.n_actions, learner.numbers[N_STATES] + 1
    rate, discount = spec.learning_rate, spec.discount[table]
    move_averaged_pairs(table, learner, spec)
    if spec.plain_sweeps:
        move_plainly(values, n_states * n_actions, sweep_reward, learner.sweep_next, best, rate, discount)
    else:
        move_all(values, n_states * n_actions, sweep_reward, learner.sweep_next, best, rate, discount)
    best_of_all(values, best, n_states, n_actions, spec.minimise[table])
    if table == spec.evaluated:
        learner.numbers[POLICY_CHANGED] = 1


@compiled
def move_averaged_pairs(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Move the pairs with several outcomes. They are no-ops of the passes over all pairs then: their sweep_reward is their
    value, and they lead to the end. So are pairs never tried.
    """
    values, best, sweep_reward = learner.values[table], learner.best[table], learner.sweep_reward[table]
    for i in range(learner.numbers[N_MULTI]):
        pair = as_int64(learner.multi[i])
        if learner.stored[pair] > 0:
            target = mean_target(pair, table, learner, spec, best)
            values[pair] = moved(values[pair], target, spec.learning_rate)
            sweep_reward[pair] = values[pair]


@compiled
def move_plainly(
    values: Floats,
    n_pairs: int,
    reward: Floats,
    sweep_next: NDArray[np.uint32],
    best: Floats,
    rate: float,
    discount: float,
) -> None:
    """Apply the TD rule to the first so many pairs, each with one outcome."""
    for pair in range(n_pairs):
        values[pair] = moved(values[pair], outcome_target(reward[pair], discount, best[sweep_next[pair]]), rate)


@compiled
def move_all(
    values: Floats,
    n_pairs: int,
    reward: Floats,
    sweep_next: NDArray[np.uint32],
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
        target_a, target_b, target_c, target_d = four_targets(a, reward, sweep_next, best, discount)
        value_a, value_b, value_c, value_d = values[a], values[b], values[c], values[d]
        values[a] = moved(value_a, target_a, rate)
        values[b] = moved(value_b, target_b, rate)
        values[c] = moved(value_c, target_c, rate)
        values[d] = moved(value_d, target_d, rate)
    for pair in range(whole, n_pairs):
        values[pair] = moved(values[pair], outcome_target(reward[pair], discount, best[sweep_next[pair]]), rate)


@inlined
def four_targets(
    a: int, reward: Floats, sweep_next: NDArray[np.uint32], best: Floats, discount: float
) -> tuple[float, float, float, float]:
    """Return the TD targets of a pair and the next three."""
    next_ab, next_cd = load_two_indices(sweep_next, a), load_two_indices(sweep_next, a + 2)
    return (
        outcome_target(reward[a], discount, best[first_index(next_ab)]),
        outcome_target(reward[a + 1], discount, best[second_index(next_ab)]),
        outcome_target(reward[a + 2], discount, best[first_index(next_cd)]),
        outcome_target(reward[a + 3], discount, best[second_index(next_cd)]),
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
