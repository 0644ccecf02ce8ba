"""Everything that changes while an agent learns, as flat arrays.

States are indexed in the order in which they are first visited, from 1. Index 0 (`TERMINAL`) is the terminal state: its
value is always 0, so a terminal transition is one that leads to `TERMINAL`, and no formula checks for it. A pair
(state, action) has the index `state * n_actions + action`.

An **outcome** is a distinct (state, action, next state) that was observed, with its count and its mean reward. Full
memory needs nothing more: the mean TD error over all stored transitions of a pair is a weighted sum over its outcomes.
The outcomes of one pair form a linked list (`Outcomes.next_of_pair`), and so do the outcomes that lead into one state
(`Outcomes.next_into`): the pairs to update when the value of that state changes.

The dense sweep reads one reward and one next state per pair (`sweep_reward`, `sweep_next`). For pairs that it must
not change (untried, or with several outcomes), the reward is the pair's own value and the next state is `TERMINAL`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.spec import Floats, Ints

TERMINAL = 0
NONE = -1

COUNTERS = np.dtype(
    (
        np.record,
        [
            ("n_states", np.int64),  # states visited so far, without TERMINAL
            ("n_outcomes", np.int64),
            ("n_stored", np.int64),  # stored transitions, where single ones are replayed
            ("n_stochastic", np.int64),  # pairs with several outcomes
            ("max_visits", np.int64),  # the largest visit count of any pair
            ("step", np.int64),
            ("policy_changed", np.int64),  # whether the evaluated table changed since the last evaluation
            ("n_discovered", np.int64),  # states in which an action was taken
            ("n_initialised", np.int64),  # states whose initial values are written, with TERMINAL
        ],
    )
)
SWEEP_MODE = np.dtype(
    (
        np.record,
        [
            ("n_active", np.int64),  # states on the table's work list
            ("dense_left", np.int64),  # dense sweeps until the next check for activity; 0: active sweeps
        ],
    )
)


class Outcomes(NamedTuple):
    """Distinct observed (state, action, next state), one per row."""

    pair: NDArray[np.int32]
    state: NDArray[np.int32]
    next_state: NDArray[np.int32]
    next_of_pair: NDArray[np.int32]
    """The next outcome of the same pair, or `NONE`."""
    next_into: NDArray[np.int32]
    """The next outcome with the same next state, or `NONE`."""
    stored: Floats
    """The number of stored transitions."""
    weight: Floats
    """Its share of the stored transitions of its pair."""
    signals: Floats
    """[signal, outcome]: the mean reward, then the explorer's own signals."""


class LearnerState(NamedTuple):
    """Everything that changes while an agent learns; see the module's docstring for the terms."""

    counters: Any
    """A record of `COUNTERS`."""
    visits: Ints
    """[pair]: n(s, a), the visit count."""
    stored: Ints
    """[pair]: the number of stored transitions; the same array as `visits` unless a window forgets some."""
    values: Floats
    """[table, pair]"""
    state_values: Floats
    """[table, state]: the value of the best action."""
    sweep_reward: Floats
    """[swept table, pair]"""
    sweep_next: NDArray[np.uint32]
    """[pair]"""
    first_outcome: NDArray[np.int32]
    """[pair]: the first of its outcomes, or `NONE`."""
    first_into: NDArray[np.int32]
    """[state]: the first outcome that leads into it, or `NONE`."""
    outcomes: Outcomes
    stochastic_pairs: NDArray[np.int32]
    """The pairs with several outcomes, in the order in which that was observed."""
    work: NDArray[np.int32]
    """[swept table, i]: the states on its work list; the last row is a spare list."""
    flags: NDArray[np.uint8]
    """[swept table, state]: whether it is on the work list; next row: whether it has a pair with several outcomes; with
    tables that the explorer updates itself, another row: whether planning must back up the state."""
    sweep_mode: NDArray[np.void]
    """[swept table]: records of `SWEEP_MODE`."""
    scratch: Floats
    """Two temporary arrays, [2, pair]."""
    transitions: NDArray[np.uint32]
    """The outcome of each stored transition."""
    slots: NDArray[np.uint32]
    """Indices of stored transitions in random order, where a window is sampled."""
    batch: NDArray[np.int32]
    """The outcomes of the current minibatch."""
    batch_counts: NDArray[np.int32]
    """[outcome]: how often it is in the current minibatch."""
    batch_rates: Floats
    """[pair]: its learning rate for the current minibatch."""
    converged: NDArray[np.uint8]
    """[head]: whether no minibatch can change it until something new is observed."""
    streams: NDArray[np.uint64]
    """The random streams; see `wanderlust.learning.random_streams`."""
    notes: Floats
    """Numbers that the explorer keeps between steps."""
    scores: Floats
    """[action]: temporary."""

    @property
    def state_capacity(self) -> int:
        """The number of states that the arrays can hold, `TERMINAL` included."""
        return int(self.state_values.shape[1])

    @property
    def outcome_capacity(self) -> int:
        """The number of outcomes that the arrays can hold."""
        return len(self.outcomes.pair)
