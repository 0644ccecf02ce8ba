"""An MDP estimated from observed outcomes: frequencies as probabilities, mean rewards as rewards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray, TabularMDP

MAX_ENTRIES = 5_000_000
"""The most entries [state, action, outcome] of an estimated MDP."""


def estimated_mdp(outcomes: FloatArray, starts: FloatArray, n_actions: int) -> TabularMDP | None:
    """Return the MDP of the observed outcomes; None if there are none, or too many.

    `outcomes` has the rows (state, action, next state, or -1 if it terminated, count, mean reward), and `starts` the
    rows (first state of an episode, count). The states of the MDP are the observed ones, in ascending order. An action
    that was never taken in a state stays there, without a reward.
    """
    if not len(outcomes) or not len(starts):
        return None
    numbers = np.concatenate([outcomes[:, 0], outcomes[:, 2][outcomes[:, 2] >= 0], starts[:, 0]]).astype(np.int64)
    states = np.unique(numbers)
    state, action = np.searchsorted(states, outcomes[:, 0]), outcomes[:, 1].astype(np.int64)
    position, n_outcomes = _positions(state * n_actions + action)
    shape = (len(states), n_actions, n_outcomes)
    if np.prod(shape, dtype=np.float64) > MAX_ENTRIES:
        return None
    terminal_row = outcomes[:, 2] < 0
    count = np.zeros(shape)
    count[state, action, position] = outcomes[:, 3]
    next_state = np.broadcast_to(np.arange(len(states))[:, None, None], shape).astype(np.int32)
    next_state[state, action, position] = np.where(terminal_row, state, np.searchsorted(states, outcomes[:, 2]))
    reward, terminal = np.zeros(shape), np.zeros(shape, np.bool_)
    reward[state, action, position], terminal[state, action, position] = outcomes[:, 4], terminal_row
    total = count.sum(axis=2, keepdims=True)
    probability = np.divide(count, total, out=np.zeros(shape), where=total > 0)
    probability[:, :, 0] = np.where(total[:, :, 0] > 0, probability[:, :, 0], 1.0)
    start = np.zeros(len(states))
    start[np.searchsorted(states, starts[:, 0])] = starts[:, 1] / starts[:, 1].sum()
    return TabularMDP(probability, next_state, reward, terminal, start)


def _positions(pair: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the number of each row among those of the same pair, and the largest number of rows of a pair."""
    order = np.argsort(pair, kind="stable")
    _, first, counts = np.unique(pair[order], return_index=True, return_counts=True)
    position = np.zeros(len(pair), np.int64)
    position[order] = np.arange(len(pair)) - np.repeat(first, counts)
    return position, int(counts.max())
