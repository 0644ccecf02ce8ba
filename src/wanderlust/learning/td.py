"""The TD rule, written once.

Every table moves by the learning rate times the mean TD error of the replayed samples of each pair, all errors computed
before any value is written:

    value(s, a)  <-  value(s, a) + rate * (mean over samples of [reward + discount * V(s')] - value(s, a))

V(s') is the largest (for W as a count: the smallest) value of any action in s', and 0 in the terminal state. Q, the
behaviour's Q, W and the heads of an ensemble differ only in their reward and discount.
"""

from __future__ import annotations

from wanderlust._numba.jit import compiled, inlined
from wanderlust.learning.spec import Floats, TableSpec
from wanderlust.learning.state import NONE, LearnerState


@inlined
def td_target(reward: float, discount: float, next_value: float) -> float:
    """Return the TD target of one outcome: r + γ V(s')."""
    return reward + discount * next_value


@inlined
def td_update(value: float, target: float, rate: float) -> float:
    """Return Q + η (target - Q)."""
    return value + rate * (target - value)


@inlined
def td_step(value: float, reward: float, discount: float, next_value: float, rate: float) -> float:
    """Return a value after one update towards the TD target of one outcome."""
    return td_update(value, td_target(reward, discount, next_value), rate)


@inlined
def regularised_td_update(value: float, target: float, rate: float, prior_weight: float) -> float:
    """Return Q + η (δ + ν (0 - Q)), the update with a prior at zero (Appendix A.4)."""
    return value + rate * ((target - value) + prior_weight * (0.0 - value))


@compiled
def mean_td_target(pair: int, table: int, learner: LearnerState, spec: TableSpec, state_values: Floats) -> float:
    """Return the mean TD target over all stored transitions of a pair."""
    outcomes, discount = learner.outcomes, spec.discount[table]
    rewards = outcomes.signals[spec.signal[table]]
    outcome = learner.first_outcome[pair]
    target = 0.0
    while outcome != NONE:
        one = td_target(rewards[outcome], discount, state_values[outcomes.next_state[outcome]])
        target += outcomes.weight[outcome] * one
        outcome = outcomes.next_of_pair[outcome]
    return target


@inlined
def better(one: float, other: float, minimise: bool) -> float:
    """Return the larger of two values, or the smaller if `minimise`."""
    if minimise:
        return one if one < other else other
    return one if one > other else other


@inlined
def best_action_value(values: Floats, state: int, n_actions: int, minimise: bool) -> float:
    """Return the value of the best action in a state."""
    first = state * n_actions
    best: float = values[first]
    for pair in range(first + 1, first + n_actions):
        best = better(best, values[pair], minimise)
    return best
