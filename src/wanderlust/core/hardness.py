"""How hard an MDP is to explore and to solve: exact measures from its model.

*Rarest state.* A random walk acts uniformly. Σ_{t<H} P(s_t = s) is its expected number of visits of s in an episode of
H steps. Its reciprocal for the reachable state with the fewest visits is the number of episodes that one visit of that
state takes. It is 2^N in a deep sea of depth N.

*Steps to reach.* c(s, g) is the smallest expected number of steps from s to g over all policies. A terminated episode
is followed by another one, which begins in the start distribution. The diameter is the largest c(s, g) of any two
states. It is infinite if some state, such as a prison, can never be left. See `wanderlust.core.reaching`.

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
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.core.planning import optimal_values, policy_dynamics, policy_value, reachable_states
from wanderlust.core.reaching import expected_steps

MAX_DIAMETER_STATES = 500
"""The most reachable states for which the diameter is computed; in stochastic MDPs, also the steps to reach."""
_RELATIVE_TIE = 1e-8
"""Two values are equal if they differ by less than this share of the largest value."""


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
            "smallest action gap": f"{self.action_gap:.3g}",
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
        random_return=float(mdp.start @ policy_value(mdp, random_policy, gamma)),
        optimal_return=float(mdp.start @ best.v),
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
    """Return a number with few digits: 195, 5,269, 2.9e+13 or ∞."""
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value < 1e6 and (value >= 100 or value == round(value)) else f"{value:.3g}"
