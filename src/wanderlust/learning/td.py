"""The TD rule, written once.

Every table moves by the learning rate times the mean TD error of the replayed samples of each pair, all errors taken
before any value is written:

    value(s, a)  <-  value(s, a) + rate * (mean over samples of [reward + discount * value(s')] - value(s, a))

where value(s') is the largest (for W as a count: the smallest) value of any action in s', and 0 at the end of an
episode. Q, the behaviour's Q, W and the heads of an ensemble differ in their reward and discount only.
"""

from __future__ import annotations

from wanderlust._numba.jit import compiled, inlined
from wanderlust.learning.state import NONE, ROW_CHAIN, ROW_NEXT, ROW_WEIGHT, Floats, LearnerState, TableSpec


@inlined
def outcome_target(reward: float, discount: float, next_value: float) -> float:
    """Return the TD target of one outcome: r + γ V(s')."""
    return reward + discount * next_value


@inlined
def moved(value: float, target: float, rate: float) -> float:
    """Return the value moved towards its target: Q + η (target - Q)."""
    return value + rate * (target - value)


@inlined
def moved_with_prior(value: float, target: float, rate: float, prior_weight: float) -> float:
    """Return the value moved by the regularised TD error δ + ν (0 - Q) of a prior at zero (Appendix A.4)."""
    return value + rate * ((target - value) + prior_weight * (0.0 - value))


@compiled
def mean_target(pair: int, table: int, learner: LearnerState, spec: TableSpec, best: Floats) -> float:
    """Return the mean TD target over all stored transitions of a pair: its rows, weighted by their share of them."""
    signal, discount = spec.signal[table], spec.discount[table]
    row = learner.first_row[pair]
    target = 0.0
    while row != NONE:
        one = outcome_target(learner.row_floats[signal, row], discount, best[learner.row_ints[ROW_NEXT, row]])
        target += learner.row_floats[ROW_WEIGHT, row] * one
        row = learner.row_ints[ROW_CHAIN, row]
    return target


@inlined
def better(one: float, other: float, minimise: bool) -> float:
    """Return the larger of two values, or the smaller where less is better."""
    if minimise:
        return one if one < other else other
    return one if one > other else other


@inlined
def best_action_value(values: Floats, state: int, n_actions: int, minimise: bool) -> float:
    """Return the best value of any action in a state."""
    first = state * n_actions
    best: float = values[first]
    for pair in range(first + 1, first + n_actions):
        best = better(best, values[pair], minimise)
    return best
