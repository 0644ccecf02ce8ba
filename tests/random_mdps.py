"""Small random MDPs for the property tests."""

import numpy as np
from hypothesis import strategies as st

from wanderlust.core.mdp import TabularMDP


def random_mdp(seed: int, n_states: int, n_actions: int, n_outcomes: int) -> TabularMDP:
    """Return an MDP with ties, repeated outcomes, outcomes of probability zero and terminal outcomes."""
    rng = np.random.default_rng(seed)
    shape = (n_states, n_actions, n_outcomes)
    weight = rng.integers(0, 4, shape).astype(float)
    weight[:, :, 0] += weight.sum(axis=2) == 0
    start = rng.integers(0, 3, n_states).astype(float)
    start[rng.integers(n_states)] += 1
    return TabularMDP(
        probability=weight / weight.sum(axis=2, keepdims=True),
        next_state=rng.integers(0, n_states, shape).astype(np.int32),
        reward=rng.integers(-2, 3, shape) / 2,
        terminal=rng.random(shape) < 0.2,
        start=start / start.sum(),
    )


def random_mdps(max_states: int = 6) -> st.SearchStrategy[TabularMDP]:
    """Return a strategy for MDPs with at most `max_states` states, three actions and three outcomes."""
    return st.builds(
        random_mdp,
        seed=st.integers(0, 2**32 - 1),
        n_states=st.integers(1, max_states),
        n_actions=st.integers(1, 3),
        n_outcomes=st.integers(1, 3),
    )
