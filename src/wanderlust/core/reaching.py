"""The smallest expected number of steps from one state to another, over all policies.

A terminated episode is followed by another one: a terminal outcome leads to the start distribution. Let c(s, g) be the
smallest expected number of steps from s to g. It solves

    c(g, g) = 0 ,    c(s, g) = 1 + min_a Σ_s′ P(s′ | s, a) c(s′, g) ,

and is infinite where no policy reaches g with probability 1. In a deterministic MDP it is the length of the shortest
path within the episode, or that of the shortest way to end it plus the steps from the start. Otherwise value iteration
gives a policy for every g, which is evaluated and improved until it is optimal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP

_SWEEPS_PER_CHECK = 50
_PRECISION = 1e-4
_MAX_SWEEPS = 20_000


def expected_steps(mdp: TabularMDP, states: BoolArray, *, all_pairs: bool) -> tuple[FloatArray, FloatArray | None]:
    """Return the steps from the start to every state, and c(s, g) between the given states if `all_pairs`.

    `states` is a mask that contains every state that can be reached. The steps to all others are infinite. A stochastic
    MDP needs `all_pairs`.
    """
    index = np.flatnonzero(states)
    start = mdp.start[index]
    position = np.full(mdp.n_states, -1)
    position[index] = np.arange(len(index))
    if mdp.deterministic:
        from_start, between = _deterministic_steps(mdp, index, position, start, all_pairs)
    else:
        between = _stochastic_steps(_with_restarts(mdp, index, position, start), len(index))
        # 0 · ∞ is not a number: states that are no start must not count.
        from_start = start[start > 0] @ between[start > 0]
    steps = np.full(mdp.n_states, np.inf)
    steps[index] = from_start
    return steps, between


def _deterministic_steps(
    mdp: TabularMDP, index: Any, position: Any, start: FloatArray, all_pairs: bool
) -> tuple[FloatArray, FloatArray | None]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n, terminal = len(index), mdp.terminal[index, :, 0]
    state, action = np.nonzero(~terminal)
    following = position[mdp.next_state[index[state], action, 0]]
    graph = csr_array((np.ones(len(state)), (state, following)), shape=(n, n))
    graph.data[:] = 1.0
    starts = np.flatnonzero(start > 0)
    sources = np.arange(n) if all_pairs else starts
    distance = np.asarray(dijkstra(graph, indices=sources, unweighted=True))
    from_starts = distance[starts] if all_pairs else distance
    # The number of steps after which the episode can be over: one more than to a state in which it can be ended.
    ends = np.flatnonzero(terminal.any(axis=1))
    to_end = np.full(n, np.inf)
    if len(ends):
        to_end = 1 + np.asarray(dijkstra(graph.T.tocsr(), indices=ends, unweighted=True, min_only=True))
    from_start = _steps_with_restarts(from_starts, to_end[starts], start[starts])
    if not all_pairs:
        return from_start, None
    return from_start, np.minimum(distance, to_end[:, None] + from_start[None, :])


def _steps_with_restarts(distance: FloatArray, to_end: FloatArray, probability: FloatArray) -> FloatArray:
    """Return x(g) = Σ_i p_i min(distance_i(g), to_end_i + x(g)): from each start go to g, or end the episode.

    At first it goes to g wherever it can. Then it ends the episode where that is faster, until nothing changes.
    """
    goes = np.isfinite(distance)
    p = probability[:, None]
    while True:
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = np.where(goes, p * np.where(goes, distance, 0.0), p * to_end[:, None]).sum(axis=0)
            steps = np.where(goes.any(axis=0), spent / np.where(goes, p, 0.0).sum(axis=0), np.inf)
        better = goes & (distance <= to_end[:, None] + steps)
        if (better == goes).all():
            return np.asarray(steps)
        goes = better


def _with_restarts(mdp: TabularMDP, index: Any, position: Any, start: FloatArray) -> Any:
    """Return P(s′ | s, a) as a sparse matrix [state · action, state]; terminal outcomes lead to the start."""
    from scipy.sparse import csr_array

    n, n_actions = len(index), mdp.n_actions
    possible = mdp.probability[index] > 0
    state, action, outcome = np.nonzero(possible & ~mdp.terminal[index])
    weight = mdp.probability[index[state], action, outcome]
    following = position[mdp.next_state[index[state], action, outcome]]
    ended = np.where(mdp.terminal[index], mdp.probability[index], 0.0).sum(axis=2).reshape(-1)
    rows = np.flatnonzero(ended)
    starts = np.flatnonzero(start > 0)
    row = np.concatenate([state * n_actions + action, np.repeat(rows, len(starts))])
    column = np.concatenate([following, np.tile(starts, len(rows))])
    data = np.concatenate([weight, np.outer(ended[rows], start[starts]).reshape(-1)])
    return csr_array((data, (row, column)), shape=(n * n_actions, n))


def _stochastic_steps(transition: Any, n: int) -> FloatArray:
    """Return c(s, g) of every pair of states by value iteration, then policy iteration."""
    goals = np.arange(n)
    steps = np.where(_certainly_reach(transition, n), 0.0, np.inf)

    def best(steps: FloatArray) -> tuple[FloatArray, Any]:
        """Return the steps after one sweep, and the best action of every state for every goal."""
        by_action = (1 + transition @ steps).reshape(n, -1, n)
        improved = by_action.min(axis=1)
        improved[goals, goals] = 0.0
        return improved, by_action.argmin(axis=1)

    for _ in range(_MAX_SWEEPS // _SWEEPS_PER_CHECK):
        before = steps
        for _ in range(_SWEEPS_PER_CHECK):
            steps, policy = best(steps)
        finite = np.isfinite(steps)
        if (steps[finite] - before[finite] <= _PRECISION * steps[finite]).all():
            break
    while True:
        evaluated = np.stack([_evaluate(transition, policy[:, g], steps[:, g], g) for g in range(n)], axis=1)
        improved, better_policy = best(evaluated)
        finite = np.isfinite(evaluated)
        if (improved[finite] >= evaluated[finite] * (1 - 1e-9)).all():
            return evaluated
        policy = np.where(improved < evaluated * (1 - 1e-9), better_policy, policy)


def _evaluate(transition: Any, policy: Any, steps: FloatArray, goal: int) -> FloatArray:
    """Return the expected number of steps of a policy to a goal, from the states in which it is finite."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    n = len(policy)
    states = np.flatnonzero(np.isfinite(steps) & (np.arange(n) != goal))
    found = np.where(np.isfinite(steps), 0.0, np.inf)
    if len(states):
        rows = states * (transition.shape[0] // n) + policy[states]
        system = eye_array(len(states), format="csc") - transition[rows][:, states].tocsc()
        found[states] = spsolve(system, np.ones(len(states)))
    return found


def _certainly_reach(transition: Any, n: int) -> BoolArray:
    """Return [state, goal]: whether some policy reaches the goal with probability 1.

    Starting from all states, those are removed that cannot reach the goal by actions that never leave the rest.
    """
    support = transition.copy()
    support.data = np.ones_like(support.data)
    remaining = np.ones((n, n), dtype=bool)
    while True:
        safe = (support @ (~remaining).astype(float)) == 0
        reaches = np.eye(n, dtype=bool)
        while True:
            leads = safe & ((support @ reaches.astype(float)) > 0)
            more = reaches | leads.reshape(n, -1, n).any(axis=1)
            if (more == reaches).all():
                break
            reaches = more
        if (reaches == remaining).all():
            return reaches
        remaining = reaches
