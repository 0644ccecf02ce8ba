"""Merging of equal outcomes, which keeps the outcome arrays small."""

from __future__ import annotations

import numpy as np

from wanderlust.core.mdp import TabularMDP


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
