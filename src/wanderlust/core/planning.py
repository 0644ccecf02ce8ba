"""Exact dynamic programming: policy evaluation, optimal values, reachable states.

For a policy π(a|s), let r_π(s) = Σ_a π(a|s) Σ_k p r be the expected reward in s, and P_π(s, s′) the probability of a
non-terminal transition to s′. *Terminal outcomes are left out of P_π*, so a row can sum to less than 1. The value of
π solves a linear system, which is solved directly:

    V_π = r_π + γ P_π V_π    so    V_π = (I − γ P_π)⁻¹ r_π .

Systems of up to 100 states are solved by elimination in a fixed order, with the same bits on every processor; LAPACK's
depend on the processor. Larger ones are sparse and solved by SuperLU.

The optimal values solve the Bellman optimality equation:

    Q*(s, a) = Σ_k p (r + γ (1 − terminal) V*(s′)) ,    V*(s) = max_a Q*(s, a) .

Its right-hand side, the Bellman operator T, is a contraction with modulus γ. Value iteration starts from the value
V₀ of *some* policy, so V ≤ TV: the iterates increase monotonically, never exceed V*, and V* − V ≤ max(TV − V)/(1 − γ).
Two things make it fast: only predecessors of states whose value changed are updated again, and while most states
change, each sweep is followed by cheap sweeps with a fixed policy (modified policy iteration). Finally the greedy
policy is evaluated exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wanderlust.core.errors import InvalidSetting, check_integer, check_number
from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP

__all__ = ["optimal_values", "policy_value", "reachable_states", "start_value", "uniform_over_ties"]

SparseMatrix = Any
"""A `scipy.sparse.csr_array`. SciPy is imported only where it is used, because it would double the import time."""

_FIXED_POLICY_SWEEPS = 20
_MAX_STATES_SPARSE_SOLVE = 200_000
_MAX_STATES_DENSE_SOLVE = 100
_MAX_BATCH_ENTRIES = 1_000_000
_MAX_ITERATIONS = 10_000


class OptimalValues(NamedTuple):
    """The solution of an MDP."""

    q: FloatArray
    """Q*, [state, action]."""
    v: FloatArray
    """V*, [state]."""
    policy: NDArray[np.intp]
    """An optimal action of each state; ties go to the lowest index."""


def optimal_values(mdp: TabularMDP, discount: float = 0.99, *, tolerance: float = 1e-9) -> OptimalValues:
    """Return Q*, V* and an optimal policy; the error of every value is at most `tolerance`."""
    gamma = check_number("discount", discount, low=0, high=1, open_high=True)
    tolerance = check_number("tolerance", tolerance, low=0, open_low=True)
    reward = expected_reward(mdp)
    weight = np.where(mdp.terminal, 0.0, gamma * mdp.probability)
    many_states = mdp.n_states // 4

    def q_values(states: Any, v: FloatArray) -> FloatArray:
        return np.asarray(reward[states] + (weight[states] * v[mdp.next_state[states]]).sum(axis=2))

    predecessors = _predecessors(mdp)
    policy = reward.argmax(axis=1)
    v = _evaluate_policy(mdp, policy, gamma)
    all_states = slice(None)
    # Smaller increases are rounding errors, which would prevent convergence.
    min_increase = max(tolerance * (1 - gamma) / 2, 4 * np.finfo(float).eps * float(np.abs(v).max()))
    active: Any = all_states
    while True:
        q = q_values(active, v)
        best = q.max(axis=1)
        increased = best > v[active] + min_increase
        states = np.flatnonzero(increased) if active is all_states else active[increased]
        if not len(states):
            if active is all_states:
                break
            active = all_states
            continue
        v[states] = best[increased]
        min_increase = max(min_increase, 4 * np.finfo(float).eps * float(np.abs(best).max()))
        if active is all_states and len(states) > many_states:
            p_pi, r_pi = policy_dynamics(mdp, q.argmax(axis=1))
            p_pi = p_pi * gamma
            for _ in range(_FIXED_POLICY_SWEEPS):
                v = np.maximum(v, r_pi + p_pi @ v)
            continue
        active = np.unique(predecessors[states].indices)
        if len(active) > many_states:
            active = all_states
    q = q_values(all_states, v)
    if mdp.n_states <= _MAX_STATES_SPARSE_SOLVE:
        q = q_values(all_states, np.maximum(v, _evaluate_policy(mdp, q.argmax(axis=1), gamma)))
    return OptimalValues(q=q, v=q.max(axis=1), policy=q.argmax(axis=1))


def start_value(mdp: TabularMDP, values: FloatArray) -> float:
    """Return the mean of V over the start distribution, summed in a fixed order."""
    return float((mdp.start * values).sum())


def policy_value(mdp: TabularMDP, policy: ArrayLike, discount: float = 0.99) -> FloatArray:
    """Return V_π = (I − γ P_π)⁻¹ r_π; π is one action per state or probabilities [state, action]."""
    return _evaluate_policy(mdp, policy, check_number("discount", discount, low=0, high=1, open_high=True))


def policy_values(mdp: TabularMDP, policies: Sequence[ArrayLike], discount: float = 0.99) -> FloatArray:
    """Return V_π of several policies, [policy, state]; small MDPs are solved as batches of dense systems."""
    gamma = check_number("discount", discount, low=0, high=1, open_high=True)
    n, values = mdp.n_states, np.zeros((len(policies), mdp.n_states))
    if n > _MAX_STATES_DENSE_SOLVE:
        for i, policy in enumerate(policies):
            values[i] = _evaluate_policy(mdp, policy, gamma)
        return values
    reward = expected_reward(mdp)
    # P(s′ | s, a) of the non-terminal outcomes: [state, action, next state].
    transition = np.zeros((n, mdp.n_actions, n))
    state, action, _ = edges = np.nonzero((mdp.probability > 0) & ~mdp.terminal)
    np.add.at(transition, (state, action, mdp.next_state[edges]), mdp.probability[edges])
    batch = max(1, _MAX_BATCH_ENTRIES // n**2)
    for i in range(0, len(policies), batch):
        pi = np.stack([_as_probabilities(mdp, policy) for policy in policies[i : i + batch]])
        p_pi = sum(pi[:, :, a, None] * transition[:, a] for a in range(mdp.n_actions))
        values[i : i + batch] = _solve(np.eye(n) - gamma * p_pi, (pi * reward).sum(axis=2))
    return values


def _solve(systems: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions [system, row] of linear systems by Gaussian elimination in a fixed order.

    The order of operations does not depend on the processor. I − γP is diagonally dominant, so rows need not be
    exchanged. The systems are the last axis, and rows and columns that are zero in all of them are left out.
    """
    rows = np.concatenate([systems, right[:, :, None]], axis=2).transpose(1, 2, 0).copy()
    n = len(rows)
    for k in range(n):
        below = k + 1 + np.flatnonzero(rows[k + 1 :, k].any(axis=1))
        columns = k + np.flatnonzero(rows[k, k:].any(axis=1))
        if len(below):
            rows[np.ix_(below, columns)] -= (rows[below, k] / rows[k, k])[:, None] * rows[k, columns]
    solution = np.zeros((n, len(systems)))
    for k in reversed(range(n)):
        solution[k] = rows[k, n] / rows[k, k]
        above = np.flatnonzero(rows[:k, k].any(axis=1))
        rows[above, n] -= rows[above, k] * solution[k]
    return solution.T


def episode_returns(mdp: TabularMDP, policies: Sequence[ArrayLike], horizon: int, discount: float = 1.0) -> FloatArray:
    """Return E[Σ_{t<H} γᵗ r_t] of several policies from the start distribution, exactly: [policy].

    V_0 = 0 and V_h(s) = Σ_a π(a|s) Σ_k p (r + γ (1 − terminal) V_{h−1}(s′)), for a batch of policies at a time.
    """
    steps = check_integer("horizon", horizon, low=0)
    reward = expected_reward(mdp)
    continues = discount * np.where(mdp.terminal, 0.0, mdp.probability)
    batch = max(1, _MAX_BATCH_ENTRIES // mdp.next_state.size)
    returns = np.zeros(len(policies))
    for i in range(0, len(policies), batch):
        pi = np.stack([_as_probabilities(mdp, policy) for policy in policies[i : i + batch]])
        values = np.zeros((len(pi), mdp.n_states))
        for _ in range(steps):
            previous = values
            values = (pi * (reward + (continues * values[:, mdp.next_state]).sum(axis=3))).sum(axis=2)
            if np.array_equal(values, previous):
                break
        returns[i : i + batch] = (values * mdp.start).sum(axis=1)
    return returns


def optimal_episode_return(mdp: TabularMDP, horizon: int | None, discount: float = 1.0) -> float | None:
    """Return the optimal expected return of an episode that is truncated at the horizon; by default undiscounted.

    V_0 = 0 and V_h(s) = max_a Σ_k p (r + γ (1 − terminal) V_{h−1}(s′)). Without a horizon: the limit, if it exists.
    """
    reward = expected_reward(mdp)
    continues = discount * np.where(mdp.terminal, 0.0, mdp.probability)
    value = np.zeros(mdp.n_states)
    for _ in range(_MAX_ITERATIONS if horizon is None else min(horizon, _MAX_ITERATIONS)):
        previous = value
        value = (reward + (continues * value[mdp.next_state]).sum(axis=2)).max(axis=1)
        if np.array_equal(value, previous):
            break
    else:
        if horizon is None:
            return None
    optimal = start_value(mdp, value)
    return optimal if math.isfinite(optimal) else None


def reachable_states(mdp: TabularMDP) -> BoolArray:
    """Return a mask of the states in which the agent can act, under some policy, from the start distribution.

    A state that is entered only by terminal transitions does not count: the agent never acts in it.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = mdp.n_states
    state, _, _ = edges = np.nonzero((mdp.probability > 0) & ~mdp.terminal)
    starts = np.flatnonzero(mdp.start > 0)
    # An extra node `n` with an edge to every start state makes a single search sufficient.
    tail = np.concatenate([state, np.full(len(starts), n)])
    head = np.concatenate([mdp.next_state[edges], starts])
    graph = csr_array((np.ones(len(tail)), (tail, head)), shape=(n + 1, n + 1))
    reached = np.zeros(n + 1, dtype=np.bool_)
    reached[breadth_first_order(graph, n, return_predecessors=False)] = True
    return reached[:n]


def expected_reward(mdp: TabularMDP) -> FloatArray:
    """Return r(s, a), the expected reward over outcomes: [state, action]."""
    return np.asarray((mdp.probability * mdp.reward).sum(axis=2))


def uniform_over_ties(q: ArrayLike) -> FloatArray:
    """Return the greedy policy [state, action], uniform over exactly tied maxima of each row of `q`."""
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


def _evaluate_policy(mdp: TabularMDP, policy: ArrayLike, gamma: float) -> FloatArray:
    if mdp.n_states <= _MAX_STATES_DENSE_SOLVE:
        return np.asarray(policy_values(mdp, [policy], gamma)[0])
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    p_pi, r_pi = policy_dynamics(mdp, policy)
    system = eye_array(mdp.n_states, format="csc") - gamma * p_pi.tocsc()
    return np.asarray(spsolve(system, r_pi), dtype=np.float64)


def policy_dynamics(mdp: TabularMDP, policy: ArrayLike) -> tuple[SparseMatrix, FloatArray]:
    """Return P_π, without terminal outcomes, and r_π."""
    from scipy.sparse import csr_array

    pi = _as_probabilities(mdp, policy)
    weight = pi[:, :, None] * np.where(mdp.terminal, 0.0, mdp.probability)
    state, _, _ = edges = np.nonzero(weight)
    p_pi = csr_array((weight[edges], (state, mdp.next_state[edges])), shape=(mdp.n_states, mdp.n_states))
    return p_pi, np.asarray((pi * expected_reward(mdp)).sum(axis=1))


def _as_probabilities(mdp: TabularMDP, policy: ArrayLike) -> FloatArray:
    array = np.asarray(policy)
    n_states, n_actions = mdp.n_states, mdp.n_actions
    if array.shape == (n_states,) and np.issubdtype(array.dtype, np.integer):
        if array.min() < 0 or array.max() >= n_actions:
            valid = f"from 0 to {n_actions - 1}"
            raise InvalidSetting(f"a policy's actions must be {valid}, got {array.min()} to {array.max()}.")
        pi = np.zeros((n_states, n_actions))
        pi[np.arange(n_states), array] = 1.0
        return pi
    if array.shape != (n_states, n_actions):
        raise InvalidSetting(
            f"a policy must be whole numbers of shape ({n_states},) or probabilities of shape "
            f"({n_states}, {n_actions}), got {array.dtype} of shape {array.shape}."
        )
    pi = array.astype(np.float64)
    if not (pi >= 0).all() or np.abs(pi.sum(axis=1) - 1).max() > 1e-9:
        raise InvalidSetting("the probabilities of a policy must be at least 0 and sum to 1 in every state.")
    return pi
