"""A finite Markov decision process as five arrays.

Action `a` in state `s` has `K` possible outcomes. Outcome `k` has `probability[s, a, k]`, leads to
`next_state[s, a, k]`, gives `reward[s, a, k]` and terminates the episode if `terminal[s, a, k]`. This is Gymnasium's
`P[s][a]` with every list padded to `K` outcomes by outcomes of probability zero. `start[s]` is the probability that
an episode starts in `s`.

In the paper's worlds the reward is r(s, a): it is received *for acting in a state*, not for entering it. A step
terminates the episode if the state acted in is terminal, so a treasure eight moves away takes nine steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "TabularMDP", "deterministic_mdp"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

MAX_ENTRIES = 5_000_000
"""The most entries [state, action, outcome] of an estimated MDP."""


class TabularMDP(NamedTuple):
    """The dynamics of a world: arrays indexed [state, action, outcome], and a start distribution."""

    probability: FloatArray
    next_state: IntArray
    reward: FloatArray
    terminal: BoolArray
    start: FloatArray

    @property
    def n_states(self) -> int:
        """The number of states."""
        return int(self.next_state.shape[0])

    @property
    def n_actions(self) -> int:
        """The number of actions, the same in every state."""
        return int(self.next_state.shape[1])

    @property
    def n_outcomes(self) -> int:
        """K, the maximum number of outcomes of a state-action pair."""
        return int(self.next_state.shape[2])

    @property
    def deterministic(self) -> bool:
        """Whether the first outcome of every action has probability 1 (the start state may be random)."""
        return bool(np.all(self.probability[:, :, 0] == 1.0))

    @property
    def deterministic_with_one_start(self) -> bool:
        """Whether all episodes of a policy without ties are the same."""
        return self.deterministic and np.count_nonzero(self.start) == 1

    @property
    def reward_range(self) -> tuple[float, float]:
        """The minimum and maximum reward of all outcomes with positive probability."""
        possible = self.reward[self.probability > 0]
        return float(possible.min()), float(possible.max())


def deterministic_mdp(
    next_state: NDArray[np.integer], reward: FloatArray, terminal: BoolArray, start: FloatArray
) -> TabularMDP:
    """Return the MDP in which action `a` in state `s` always leads to `next_state[s, a]`."""
    return TabularMDP(
        probability=np.ones((*next_state.shape, 1)),
        next_state=np.ascontiguousarray(next_state[:, :, None], dtype=np.int32),
        reward=np.ascontiguousarray(reward[:, :, None], dtype=np.float64),
        terminal=np.ascontiguousarray(terminal[:, :, None], dtype=np.bool_),
        start=np.ascontiguousarray(start, dtype=np.float64),
    )


def merge_outcomes(mdp: TabularMDP) -> TabularMDP:
    """Return an equivalent MDP in which outcomes with equal next state, terminal flag and reward are merged.

    Outcomes of probability zero are dropped, and `K` becomes the maximum number of remaining outcomes. The outcomes
    of a pair are ordered by next state.
    """
    n_states, n_actions, n_outcomes = mdp.probability.shape
    n_pairs = n_states * n_actions
    probability = mdp.probability.reshape(n_pairs, n_outcomes)
    possible = probability > 0
    # Impossible outcomes sort after all states.
    target = np.where(possible, mdp.next_state.reshape(n_pairs, n_outcomes), n_states)
    reward = np.where(possible, mdp.reward.reshape(n_pairs, n_outcomes), 0.0)
    terminal = possible & mdp.terminal.reshape(n_pairs, n_outcomes)

    order = np.lexsort((reward, terminal, target), axis=1)
    probability, target, reward, terminal = (
        np.take_along_axis(array, order, axis=1) for array in (probability, target, reward, terminal)
    )
    new = np.ones((n_pairs, n_outcomes), dtype=np.bool_)
    new[:, 1:] = np.any([array[:, 1:] != array[:, :-1] for array in (target, terminal, reward)], axis=0)
    slot = np.cumsum(new, axis=1) - 1
    real = target < n_states
    width = int(slot[real].max()) + 1

    pair, column = np.nonzero(real)
    flat = pair * width + slot[pair, column]
    merged = np.bincount(flat, weights=probability[pair, column], minlength=n_pairs * width).astype(np.float64)
    # A single outcome must have a probability of exactly 1.0, which `deterministic` tests; the sum may be rounded.
    single = np.bincount(pair, weights=new[pair, column], minlength=n_pairs) == 1
    merged.reshape(n_pairs, width)[single, 0] = 1.0
    # Empty slots contain their own state, so that they are valid indices.
    next_state = np.repeat(np.arange(n_states, dtype=np.int32), n_actions * width)
    merged_reward, merged_terminal = np.zeros(n_pairs * width), np.zeros(n_pairs * width, dtype=np.bool_)
    next_state[flat] = target[pair, column]
    merged_reward[flat] = reward[pair, column]
    merged_terminal[flat] = terminal[pair, column]
    shape = (n_states, n_actions, width)
    return TabularMDP(
        probability=merged.reshape(shape),
        next_state=next_state.reshape(shape),
        reward=merged_reward.reshape(shape),
        terminal=merged_terminal.reshape(shape),
        start=mdp.start,
    )


def estimated_mdp(outcomes: FloatArray, starts: FloatArray, n_actions: int) -> TabularMDP | None:
    """Return the MDP with the observed frequencies and mean rewards; None if there are no outcomes, or too many.

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
