"""Merging outcomes that cannot be told apart, so that tables stay narrow."""

from __future__ import annotations

import numpy as np

from wanderlust.core.mdp import TabularMDP


def merge_outcomes(mdp: TabularMDP) -> TabularMDP:
    """Return the same MDP with equal outcomes of a pair (next state, end, reward) added up into one.

    Impossible outcomes are dropped, and `K` is the largest number of outcomes left to any pair. The outcomes
    of a pair are ordered by next state.
    """
    n_states, n_actions, n_outcomes = mdp.probability.shape
    n_pairs = n_states * n_actions
    chance = mdp.probability.reshape(n_pairs, n_outcomes)
    possible = chance > 0
    # The impossible ones sort behind every true state.
    target = np.where(possible, mdp.next_state.reshape(n_pairs, n_outcomes), n_states)
    reward = np.where(possible, mdp.reward.reshape(n_pairs, n_outcomes), 0.0)
    ends = possible & mdp.terminal.reshape(n_pairs, n_outcomes)

    order = np.lexsort((reward, ends, target), axis=1)
    chance, target, reward, ends = (
        np.take_along_axis(array, order, axis=1) for array in (chance, target, reward, ends)
    )
    new = np.ones((n_pairs, n_outcomes), dtype=np.bool_)
    new[:, 1:] = (target[:, 1:] != target[:, :-1]) | (ends[:, 1:] != ends[:, :-1]) | (reward[:, 1:] != reward[:, :-1])
    slot = np.cumsum(new, axis=1) - 1
    real = target < n_states
    width = int(slot[real].max()) + 1

    pair, column = np.nonzero(real)
    flat = pair * width + slot[pair, column]
    merged = np.bincount(flat, weights=chance[pair, column], minlength=n_pairs * width).astype(np.float64)
    # A certain outcome must be exactly certain, whatever its parts add up to: `deterministic` asks for 1.0.
    lone = np.bincount(pair, weights=new[pair, column], minlength=n_pairs) == 1
    merged.reshape(n_pairs, width)[lone, 0] = 1.0
    # Empty slots point at their own state, so that they are valid indices.
    states = np.repeat(np.arange(n_states, dtype=np.int32), n_actions * width)
    next_state, pay, end = states, np.zeros(n_pairs * width), np.zeros(n_pairs * width, dtype=np.bool_)
    next_state[flat] = target[pair, column]
    pay[flat] = reward[pair, column]
    end[flat] = ends[pair, column]
    shape = (n_states, n_actions, width)
    return TabularMDP(
        probability=merged.reshape(shape),
        next_state=next_state.reshape(shape),
        reward=pay.reshape(shape),
        terminal=end.reshape(shape),
        start=mdp.start,
    )
