"""Which tables are learnt, and the TD rule, written once.

Every table moves by the learning rate times the mean TD error of the replayed samples of each pair, all errors computed
before any value is written:

    value(s, a)  <-  value(s, a) + rate * (mean over samples of [reward + discount * V(s')] - value(s, a))

V(s') is the largest (for W as a count: the smallest) value of any action in s', and 0 in the terminal state. Q, the
behaviour's Q, W and the heads of an ensemble differ only in their reward and discount.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Kinds of memory.
FULL, NO_MEMORY, WINDOW = 0, 1, 2

# Signals: the rewards that tables learn from. The explorer's own signals, if any, have the next numbers.
REWARD = 0
NO_SIGNAL = 0

TARGET = 0
"""The table that the target policy is greedy for: Q^π."""

EXCLUDED = 1e200
"""The value of an invalid action that was never tried, negative where values are maximised: worse than every other, and
finite, since a sweep computes the difference of a value to itself."""

MAX_UPDATES = 100_000
"""With several sweeps per step, the number of pairs of a table that one step may update: at most 0.1 ms of work."""


class TableSpec(NamedTuple):
    """The tables in this order: Q of the target policy, Q of the behaviour if it differs, W if there is one, heads.

    The heads are the Q-tables of an ensemble. They learn from minibatches. Instead of behaviour, W and heads there may
    be tables that the explorer updates itself. All other tables are swept.
    """

    n_actions: int
    learning_rate: float
    memory: int
    """`FULL`, `NO_MEMORY` or `WINDOW`."""
    batch_size: int
    capacity: int
    """The number of transitions that a window holds."""
    n_swept: int
    """The number of tables that are not heads."""
    n_heads: int
    own: int
    """The first table that the explorer updates itself; 0 if there is none."""
    n_own: int
    own_signal: int
    """A number of each outcome that the explorer writes itself; `NO_SIGNAL` if there is none."""
    prior_weight: float
    """ν, the weight of the heads' prior at zero."""
    behaviour: int
    """The table of the behaviour's Q."""
    evaluated: int
    """The table whose greedy policy is evaluated."""
    visitation: int
    """The table of W; 0 if there is none."""
    bonus_signal: int
    """The signal reward + bonus; `NO_SIGNAL` if there is none."""
    visitation_signal: int
    """The signal that W learns from; `NO_SIGNAL` if there is none."""
    uses_max_visits: bool
    """Whether the visitation reward depends on the largest visit count of any pair."""
    learns_q: bool
    plain_sweeps: bool
    sweeps: int
    """The number of sweeps per step."""
    sweep_pairs: int
    """The number of pairs that one sweep updates at most; 0 if all."""
    signal: Ints
    """[table]: the signal that it learns from."""
    discount: Floats
    """[table]"""
    minimise: NDArray[np.bool_]
    """[table]: whether the best action has the smallest value."""
    initial: Floats
    """[table]: the initial value of every pair."""


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
