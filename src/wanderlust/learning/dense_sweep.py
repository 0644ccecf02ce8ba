"""One sweep of a table over all pairs of all visited states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import as_int64, compiled, inlined
from wanderlust._numba.loads import first_index, load_two_indices, second_index
from wanderlust.learning.spec import Floats, TableSpec
from wanderlust.learning.state import LearnerState
from wanderlust.learning.td import better, mean_td_target, td_step, td_target, td_update


@compiled
def sweep_dense(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update every pair, then the value of every state."""
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[table]
    n_actions, n_states = spec.n_actions, learner.counters.n_states + 1
    rate, discount = spec.learning_rate, spec.discount[table]
    update_stochastic_pairs(table, learner, spec)
    if spec.plain_sweeps:
        update_pairs_plainly(values, n_states * n_actions, rewards, learner.sweep_next, state_values, rate, discount)
    else:
        update_pairs(values, n_states * n_actions, rewards, learner.sweep_next, state_values, rate, discount)
    update_state_values(values, state_values, n_states, n_actions, spec.minimise[table])
    if table == spec.evaluated:
        learner.counters.policy_changed = 1


@compiled
def update_stochastic_pairs(table: int, learner: LearnerState, spec: TableSpec) -> None:
    """Update the pairs with several outcomes, and keep them unchanged in the pass over all pairs that follows."""
    values, state_values, rewards = learner.values[table], learner.state_values[table], learner.sweep_reward[table]
    for i in range(learner.counters.n_stochastic):
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

    Four pairs at a time, all loads before any store. So the compiler sees that it may vectorise the arithmetic. In a
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
    next_ab, next_cd = load_two_indices(next_state, a), load_two_indices(next_state, a + 2)
    return (
        td_target(rewards[a], discount, state_values[first_index(next_ab)]),
        td_target(rewards[a + 1], discount, state_values[second_index(next_ab)]),
        td_target(rewards[a + 2], discount, state_values[first_index(next_cd)]),
        td_target(rewards[a + 3], discount, state_values[second_index(next_cd)]),
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
