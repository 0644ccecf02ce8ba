"""What an agent knows, as flat arrays, and the spec of what it learns.

A **spec** says which tables are learnt and how: numbers only, fixed for a run. A **learner** is everything that changes:
counts, tables, remembered outcomes, random streams. Compiled functions take both and hide nothing.

States are numbered in the order in which they are met, from 1. Number 0 (`TERMINAL`) stands for "the episode is over": its
value is 0 for ever, so a terminal outcome is just one that leads to `TERMINAL`, and no formula asks whether a
transition was terminal. A pair is `state * n_actions + action`.

An **outcome row** is a distinct (state, action, next state) that was seen, with its count and its mean reward. Full
memory needs nothing more: the mean TD error over all stored transitions of a pair is a weighted sum over its rows.
Rows of one pair form a chain (`ROW_CHAIN`), and so do the rows that lead into one state (`ROW_INTO`): who must be told
when that state's value changes.

A pair that was never tried is made an exact no-op of the dense sweep: it leads to `TERMINAL` and its reward is its own
value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TERMINAL = 0
NONE = -1

FULL, NO_MEMORY, WINDOW = 0, 1, 2

# Columns of `LearnerState.numbers`.
N_STATES, N_ROWS, N_STORED, N_MULTI, LARGEST, STEP, POLICY_CHANGED, N_SEEN, ROOM = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Rows of `LearnerState.row_ints`.
ROW_PAIR, ROW_STATE, ROW_NEXT, ROW_CHAIN, ROW_INTO = 0, 1, 2, 3, 4
# Rows of `LearnerState.row_floats`; the explorer's own signals follow.
ROW_COUNT, ROW_WEIGHT, ROW_REWARD = 0, 1, 2
# Columns of `LearnerState.pace`.
N_WORK, DENSE_LEFT = 0, 1

TARGET = 0
# An active sweep of one state takes about as long as a dense sweep of ten.
ACTIVE_COST = 10
DENSE_RUN, PROBED_STATES = 32, 64
# Moving a pair of a minibatch by itself takes about as long as a pass over so many, and so does finding the best action
# of its state.
LISTED_COST, BEST_COST = 4, 16
# More than one sweep a step may move so many pairs of each table, which takes a tenth of a millisecond or less.
MAX_MOVES = 100_000
# After every so many steps, heads of an ensemble that no minibatch could move fall converged.
CONVERGENCE_CHECK_EVERY = 32

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TableSpec(NamedTuple):
    """Which tables are learnt and how. Tables: target Q, behaviour Q if it differs, W if there is one, heads."""

    n_actions: int
    learning_rate: float
    memory: int
    batch: int
    window: int
    n_swept: int
    n_heads: int
    prior_weight: float
    behaviour: int
    evaluated: int
    visitation: int
    bonus_row: int
    visit_row: int
    largest_matters: bool
    learns_q: bool
    plain_sweeps: bool
    sweeps: int
    signal: Ints
    discount: Floats
    minimise: NDArray[np.bool_]
    initial: Floats


class LearnerState(NamedTuple):
    """Everything that changes while an agent learns; see the module's text for the words used."""

    numbers: Ints
    visits: Ints
    stored: Ints
    values: Floats
    best: Floats
    sweep_reward: Floats
    sweep_next: NDArray[np.uint32]
    first_row: NDArray[np.int32]
    into: NDArray[np.int32]
    row_ints: NDArray[np.int32]
    row_floats: Floats
    multi: NDArray[np.int32]
    work: NDArray[np.int32]
    flags: NDArray[np.uint8]
    pace: Ints
    scratch: Floats
    memory: NDArray[np.uint32]
    slots: NDArray[np.uint32]
    drawn: NDArray[np.int32]
    times: NDArray[np.int32]
    rates: Floats
    converged: NDArray[np.uint8]
    streams: NDArray[np.uint64]
    notes: Floats
    scores: Floats

    @property
    def room(self) -> int:
        """How many states have their initial values in place, `TERMINAL` included."""
        return int(self.numbers[ROOM])

    @property
    def state_capacity(self) -> int:
        """How many states the arrays could hold, `TERMINAL` included."""
        return int(self.best.shape[1])

    @property
    def row_capacity(self) -> int:
        """How many outcome rows the arrays could hold."""
        return int(self.row_ints.shape[1])
