"""How hard an MDP is to explore and to solve: exact measures from its model.

*Rarest state.* A random walk acts uniformly. Σ_{t<H} P(s_t = s) is its expected number of visits of s in an episode of
H steps. Its reciprocal for the reachable state with the fewest visits is the number of episodes that one visit of that
state takes. It is 2^N in a deep sea of depth N.

*Steps to reach.* c(s, g) is the smallest expected number of steps from s to g over all policies. A terminated episode
is followed by another one, which begins in the start distribution. The diameter is the largest c(s, g) of any two
states. It is infinite if some state, such as a prison, can never be left. c solves

    c(g, g) = 0 ,    c(s, g) = 1 + min_a Σ_s′ P(s′ | s, a) c(s′, g) ,

and is infinite where no policy reaches g with probability 1. In a deterministic MDP it is the length of the shortest
path within the episode, or that of the shortest way to end it plus the steps from the start. Otherwise value iteration
gives a policy for every g, which is evaluated and improved until it is optimal.

*Action gap.* The smallest difference V*(s) − Q*(s, a) that is not zero: what must be told apart to act optimally.

*Value norm.* √max Var[V*(s′)] over all pairs: how much the value depends on the outcome of a single
step; 0 in a deterministic MDP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wanderlust.core.errors import check_integer, check_number
from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP
from wanderlust.core.planning import optimal_values, policy_dynamics, policy_value, reachable_states, start_value

MAX_DIAMETER_STATES = 500
"""The most reachable states for which the diameter is computed; in stochastic MDPs, also the steps to reach."""
_RELATIVE_TIE = 1e-8
"""Two values are equal if they differ by less than this share of the largest value."""
_SWEEPS_PER_CHECK = 50
_PRECISION = 1e-4
_LARGEST_SHOWN = 1e18
"""Larger numbers are shown as "more than" this one: no one waits so many steps or episodes."""
_MAX_SWEEPS = 20_000


@dataclass(frozen=True, repr=False)
class Hardness:
    """Exact measures of how hard an MDP is; see `wanderlust.core.hardness`."""

    n_states: int
    """The number of states that can be reached from the start."""
    horizon: int
    """The number of steps of an episode of the random walk."""
    discount: float
    rarest_visit: float
    """Episodes of a random walk for one visit of the rarest state; infinite if the horizon is too short to reach it."""
    rarest_state: int
    random_return: float
    """J_random, the expected discounted return of the random walk."""
    optimal_return: float
    """J*, the largest expected discounted return."""
    action_gap: float
    """The smallest positive V*(s) − Q*(s, a); infinite if all actions are equally good everywhere."""
    value_norm: float
    """√max Var[V*(s′)] over all pairs."""
    steps_to_reach: FloatArray | None = field(compare=False)
    """[state]: the smallest expected number of steps from the start; infinite if it cannot be reached with certainty.
    None for stochastic MDPs of more than 500 states."""
    diameter: float | None
    """The largest of the smallest expected numbers of steps between two states; None for more than 500 states."""

    @property
    def random_share(self) -> float:
        """J_random / J*; not a number if J* is 0."""
        return self.random_return / self.optimal_return if self.optimal_return != 0.0 else math.nan

    @property
    def farthest(self) -> float | None:
        """The number of steps to the farthest state that can be reached with certainty."""
        if self.steps_to_reach is None:
            return None
        return float(self.steps_to_reach[np.isfinite(self.steps_to_reach)].max())

    def __repr__(self) -> str:
        unknown = f"not computed for more than {MAX_DIAMETER_STATES} states"
        often = self.rarest_visit < 1.0
        visit = f"{short_number(1 / self.rarest_visit)} visits" if often else "one visit"
        episodes = "an episode" if often else f"{short_number(self.rarest_visit)} episodes"
        farthest, diameter = self.farthest, self.diameter
        rows = {
            "reachable states": f"{self.n_states:,}",
            "rarest state of a random walk": f"{self.rarest_state}: {visit} in {episodes} of {self.horizon:,} steps",
            "return of a random walk": f"{self.random_return:.4g}",
            "optimal return": f"{self.optimal_return:.4g} (discount {self.discount:g})",
            "smallest action gap": f"{self.action_gap:.3g}" if math.isfinite(self.action_gap) else "none",
            "value norm": f"{self.value_norm:.3g}",
            "steps to the farthest state": unknown if farthest is None else short_number(farthest),
            "diameter": unknown if diameter is None else short_number(diameter),
        }
        return "\n".join(f"{name:<30} {value}" for name, value in rows.items())


def hardness(mdp: TabularMDP, *, horizon: int, discount: float = 0.99) -> Hardness:
    """Return the measures of an MDP whose episodes have at most `horizon` steps."""
    horizon = check_integer("horizon", horizon, low=1)
    gamma = check_number("discount", discount, low=0, high=1, open_high=True)
    reachable = reachable_states(mdp)
    random_policy = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    visits = expected_visits(mdp, random_policy, horizon)
    rarest = int(np.argmin(np.where(reachable, visits, np.inf)))
    best = optimal_values(mdp, gamma)
    deterministic = mdp.deterministic
    steps = diameter = None
    if deterministic or reachable.sum() <= MAX_DIAMETER_STATES:
        steps, between = expected_steps(mdp, reachable, all_pairs=bool(reachable.sum() <= MAX_DIAMETER_STATES))
        diameter = None if between is None else float(between.max())
    return Hardness(
        n_states=int(reachable.sum()),
        horizon=horizon,
        discount=gamma,
        rarest_visit=1.0 / float(visits[rarest]) if visits[rarest] > 0 else math.inf,
        rarest_state=rarest,
        random_return=start_value(mdp, policy_value(mdp, random_policy, gamma)),
        optimal_return=start_value(mdp, best.v),
        action_gap=_action_gap(best.q[reachable]),
        value_norm=_value_norm(mdp, best.v, reachable),
        steps_to_reach=steps,
        diameter=diameter,
    )


def expected_visits(mdp: TabularMDP, policy: Any, horizon: int) -> FloatArray:
    """Return Σ_{t<H} P(s_t = s) of every state, the expected number of visits in an episode of at most H steps."""
    transition, _ = policy_dynamics(mdp, policy)
    if mdp.n_states <= MAX_DIAMETER_STATES < horizon:
        return _visits_by_doubling(mdp.start, transition.toarray(), horizon)
    propagate = transition.T.tocsr()
    distribution, visits = mdp.start.copy(), np.zeros(mdp.n_states)
    for _ in range(horizon):
        visits += distribution
        distribution = propagate @ distribution
        if not distribution.any():
            break
    return visits


def _visits_by_doubling(distribution: FloatArray, power: FloatArray, horizon: int) -> FloatArray:
    """Return the same from P, P², P⁴, ... and the sums of all powers up to these."""
    visits, powers = np.zeros_like(distribution), np.eye(len(distribution))
    while horizon:
        if horizon % 2:
            visits = visits + distribution @ powers
            distribution = distribution @ power
        powers, power, horizon = powers + power @ powers, power @ power, horizon // 2
    return visits


def _action_gap(q: FloatArray) -> float:
    gaps = q.max(axis=1, keepdims=True) - q
    positive = gaps[gaps > _RELATIVE_TIE * max(float(np.abs(q).max()), np.finfo(float).tiny)]
    return float(positive.min()) if len(positive) else math.inf


def _value_norm(mdp: TabularMDP, v: FloatArray, reachable: Any) -> float:
    values = np.where(mdp.terminal, 0.0, v[mdp.next_state])[reachable]
    probability = mdp.probability[reachable]
    mean = (probability * values).sum(axis=2, keepdims=True)
    return float(np.sqrt((probability * (values - mean) ** 2).sum(axis=2).max()))


def short_number(value: float) -> str:
    """Return a number with few digits: 195, 5,269, 2.9e+13, more than 1e+18, or ∞."""
    if math.isinf(value):
        return "∞"
    if value > _LARGEST_SHOWN:
        return f"more than {_LARGEST_SHOWN:g}"
    return f"{value:,.0f}" if value < 1e6 and (value >= 100 or value == round(value)) else f"{value:.3g}"


# --- Steps to reach ------------------------------------------------------------------------------------


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
