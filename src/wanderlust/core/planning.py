"""Exact answers: what a policy is worth, what the best one is worth, and what can be reached at all.

For a policy π(a|s), let r_π(s) = Σ_a π(a|s) Σ_k p r be the expected reward of acting in s, and P_π(s, s′)
the probability of moving on to s′, where *an outcome that ends the episode moves on to nowhere*: its
probability is missing from the row. Then the value of π solves a linear system,

    V_π = r_π + γ P_π V_π    so    V_π = (I − γ P_π)⁻¹ r_π ,

which is sparse and solved directly. The optimal values solve the same with a maximum,

    Q*(s, a) = Σ_k p (r + γ (1 − terminal) V*(s′)) ,    V*(s) = max_a Q*(s, a) ,

whose right-hand side, the Bellman operator T, contracts by γ. Starting from V₀ = the value of *some* policy,
V ≤ TV, so the iterates only rise, they never pass V*, and V* − V ≤ max(TV − V)/(1 − γ). Two things make it
fast: only states with a successor that changed need another look (in a grid, the front of a wave that runs
outward from the treasures), and while most states change, each sweep is followed by some cheap ones with the
policy held fixed (modified policy iteration). At the end the greedy policy is evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wanderlust.core.errors import InvalidSetting, check_integer, check_number
from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP

SparseMatrix = Any
"""A `scipy.sparse.csr_array`. SciPy is imported only where it is used: it would double the import time."""

_SWEEPS_WITH_FIXED_POLICY = 20
_LARGEST_DIRECT_SOLVE = 200_000
_LARGEST_DENSE_SOLVE = 100
_DENSE_ENTRIES = 1_000_000


class OptimalValues(NamedTuple):
    """The solution of an MDP."""

    q: FloatArray
    """Q*, [state, action]."""
    v: FloatArray
    """V*, [state]."""
    policy: NDArray[np.intp]
    """A best action of each state: the first among equals."""


def optimal_values(mdp: TabularMDP, discount: float = 0.99, *, tolerance: float = 1e-9) -> OptimalValues:
    """Return Q*, V* and a best policy; no value is off by more than `tolerance`."""
    gamma = check_number("discount", discount, low=0, high=1, open_high=True)
    tolerance = check_number("tolerance", tolerance, low=0, open_low=True)
    reward = expected_reward(mdp)
    weight = np.where(mdp.terminal, 0.0, gamma * mdp.probability)
    dense = mdp.n_states // 4

    def q_values(states: Any, v: FloatArray) -> FloatArray:
        return np.asarray(reward[states] + (weight[states] * v[mdp.next_state[states]]).sum(axis=2))

    predecessors = _predecessors(mdp)
    policy = reward.argmax(axis=1)
    v = _evaluate(mdp, policy, gamma)
    everything = slice(None)
    # Below this, a rise is rounding: it could neither matter nor ever settle.
    rise_that_counts = max(tolerance * (1 - gamma) / 2, 4 * np.finfo(float).eps * float(np.abs(v).max()))
    active: Any = everything
    while True:
        q = q_values(active, v)
        best = q.max(axis=1)
        rises = best > v[active] + rise_that_counts
        states = np.flatnonzero(rises) if active is everything else active[rises]
        if not len(states):
            if active is everything:
                break
            active = everything
            continue
        v[states] = best[rises]
        rise_that_counts = max(rise_that_counts, 4 * np.finfo(float).eps * float(np.abs(best).max()))
        if active is everything and len(states) > dense:
            transition, pay = _under(mdp, q.argmax(axis=1))
            transition = transition * gamma
            for _ in range(_SWEEPS_WITH_FIXED_POLICY):
                v = np.maximum(v, pay + transition @ v)
            continue
        active = np.unique(predecessors[states].indices)
        if len(active) > dense:
            active = everything
    q = q_values(everything, v)
    if mdp.n_states <= _LARGEST_DIRECT_SOLVE:
        q = q_values(everything, np.maximum(v, _evaluate(mdp, q.argmax(axis=1), gamma)))
    return OptimalValues(q=q, v=q.max(axis=1), policy=q.argmax(axis=1))


def policy_value(mdp: TabularMDP, policy: ArrayLike, discount: float = 0.99) -> FloatArray:
    """Return V_π = (I − γ P_π)⁻¹ r_π, π being one action per state or probabilities [state, action]."""
    return _evaluate(mdp, policy, check_number("discount", discount, low=0, high=1, open_high=True))


def policy_values(mdp: TabularMDP, policies: Sequence[ArrayLike], discount: float = 0.99) -> FloatArray:
    """Return V_π of many policies, [policy, state]: a small world's as dense systems, many at a time.

    Equal policies have equal values, to the last bit.
    """
    gamma = check_number("discount", discount, low=0, high=1, open_high=True)
    n, values = mdp.n_states, np.zeros((len(policies), mdp.n_states))
    if n > _LARGEST_DENSE_SOLVE:
        for i, policy in enumerate(policies):
            values[i] = _evaluate(mdp, policy, gamma)
        return values
    reward = expected_reward(mdp)
    # P(s′ | s, a) without what ends the episode: [state, action, next state].
    onward = np.zeros((n, mdp.n_actions, n))
    state, action, _ = edges = np.nonzero((mdp.probability > 0) & ~mdp.terminal)
    np.add.at(onward, (state, action, mdp.next_state[edges]), mdp.probability[edges])
    many = max(1, _DENSE_ENTRIES // n**2)
    for i in range(0, len(policies), many):
        chance = np.stack([_as_probabilities(mdp, policy) for policy in policies[i : i + many]])
        system = np.eye(n) - gamma * np.einsum("psa,sat->pst", chance, onward)
        pay = (chance * reward).sum(axis=2)
        values[i : i + many] = np.linalg.solve(system, pay[:, :, None])[:, :, 0]
    return values


def discounted_return(
    mdp: TabularMDP, policy: ArrayLike, *, discount: float = 0.99, horizon: int | None = None
) -> float:
    """Return E[Σ_{t<H} γᵗ r_t] from the start: exactly, by moving the whole distribution of states along.

    Without a horizon this is start · V_π.
    """
    if horizon is None:
        return float(mdp.start @ policy_value(mdp, policy, discount=discount))
    gamma = check_number("discount", discount, low=0, high=1)
    steps = check_integer("horizon", horizon, low=0)
    transition, pay = _under(mdp, policy)
    onward = transition.T.tocsr() * gamma
    weight, total = mdp.start.copy(), 0.0
    for _ in range(steps):
        total += float(weight @ pay)
        weight = onward @ weight
        if not weight.any():
            break
    return total


def reachable_states(mdp: TabularMDP) -> BoolArray:
    """Return which states can be acted in, under some policy, from the start.

    A state that is entered only by transitions that end the episode is never acted in, so it does not count.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = mdp.n_states
    state, _, _ = edges = np.nonzero((mdp.probability > 0) & ~mdp.terminal)
    starts = np.flatnonzero(mdp.start > 0)
    # One more node, `n`, from which every start can be reached, makes it a single search.
    tail = np.concatenate([state, np.full(len(starts), n)])
    head = np.concatenate([mdp.next_state[edges], starts])
    graph = csr_array((np.ones(len(tail)), (tail, head)), shape=(n + 1, n + 1))
    reached = np.zeros(n + 1, dtype=np.bool_)
    reached[breadth_first_order(graph, n, return_predecessors=False)] = True
    return reached[:n]


def expected_reward(mdp: TabularMDP) -> FloatArray:
    """Return r(s, a), the mean over outcomes: [state, action]."""
    return np.asarray((mdp.probability * mdp.reward).sum(axis=2))


def uniform_over_ties(q: ArrayLike) -> FloatArray:
    """Return the greedy policy [state, action] that is uniform over the exact maxima of each row of `q`."""
    table = np.asarray(q, dtype=np.float64)
    if table.ndim != 2 or np.isnan(table).any():
        raise InvalidSetting(f"q must be a table [state, action] without NaN, got the shape {table.shape}.")
    ties = table == table.max(axis=1, keepdims=True)
    return np.asarray(ties / ties.sum(axis=1, keepdims=True))


def _predecessors(mdp: TabularMDP) -> SparseMatrix:
    from scipy.sparse import csr_array

    state, _, _ = edges = np.nonzero((mdp.probability > 0) & ~mdp.terminal)
    shape = (mdp.n_states, mdp.n_states)
    return csr_array((np.ones(len(state), dtype=np.int8), (mdp.next_state[edges], state)), shape=shape)


def _evaluate(mdp: TabularMDP, policy: ArrayLike, gamma: float) -> FloatArray:
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    transition, pay = _under(mdp, policy)
    system = eye_array(mdp.n_states, format="csc") - gamma * transition.tocsc()
    return np.asarray(spsolve(system, pay), dtype=np.float64)


def _under(mdp: TabularMDP, policy: ArrayLike) -> tuple[SparseMatrix, FloatArray]:
    """Return P_π, without the outcomes that end the episode, and r_π."""
    from scipy.sparse import csr_array

    chance = _as_probabilities(mdp, policy)
    weight = chance[:, :, None] * np.where(mdp.terminal, 0.0, mdp.probability)
    state, _, _ = edges = np.nonzero(weight)
    transition = csr_array((weight[edges], (state, mdp.next_state[edges])), shape=(mdp.n_states, mdp.n_states))
    return transition, np.asarray((chance * expected_reward(mdp)).sum(axis=1))


def _as_probabilities(mdp: TabularMDP, policy: ArrayLike) -> FloatArray:
    given = np.asarray(policy)
    n_states, n_actions = mdp.n_states, mdp.n_actions
    if given.shape == (n_states,) and np.issubdtype(given.dtype, np.integer):
        if given.min() < 0 or given.max() >= n_actions:
            valid = f"from 0 to {n_actions - 1}"
            raise InvalidSetting(f"a policy's actions must be {valid}, got {given.min()} to {given.max()}.")
        chance = np.zeros((n_states, n_actions))
        chance[np.arange(n_states), given] = 1.0
        return chance
    if given.shape != (n_states, n_actions):
        raise InvalidSetting(
            f"a policy must be whole numbers of shape ({n_states},) or probabilities of shape "
            f"({n_states}, {n_actions}), got {given.dtype} of shape {given.shape}."
        )
    chance = given.astype(np.float64)
    if not (chance >= 0).all() or np.abs(chance.sum(axis=1) - 1).max() > 1e-9:
        raise InvalidSetting("the probabilities of a policy must be at least 0 and sum to 1 in every state.")
    return chance
