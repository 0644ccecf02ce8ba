"""Small random MDPs for the property tests, and worlds of MDPs."""

import numpy as np
from hypothesis import strategies as st

from wanderlust.core.mdp import TabularMDP, deterministic_mdp
from wanderlust.worlds import Defaults, World

REWARDS = (-1.0, -0.01, 0.0, 0.1, 0.5, 1.0)


def random_mdp(seed: int, n_states: int, n_actions: int, n_outcomes: int) -> TabularMDP:
    """Return an MDP with ties, repeated outcomes, outcomes of probability zero and terminal outcomes."""
    rng = np.random.default_rng(seed)
    shape = (n_states, n_actions, n_outcomes)
    weight = rng.integers(0, 4, shape).astype(float)
    weight[:, :, 0] += weight.sum(axis=2) == 0
    start = rng.integers(0, 3, n_states).astype(float)
    start[rng.integers(n_states)] += 1
    if rng.random() < 0.5:
        start = np.eye(n_states)[rng.integers(n_states)]
    return TabularMDP(
        probability=weight / weight.sum(axis=2, keepdims=True),
        next_state=rng.integers(0, n_states, shape).astype(np.int32),
        reward=rng.choice(rng.choice(REWARDS, rng.integers(1, 5)), shape),
        terminal=rng.random(shape) < rng.choice([0.0, 0.1, 0.3]),
        start=start / start.sum(),
    )


def random_mdps(max_states: int = 6) -> st.SearchStrategy[TabularMDP]:
    """Return a strategy for MDPs with at most `max_states` states, four actions and three outcomes."""
    return st.builds(
        random_mdp,
        seed=st.integers(0, 2**32 - 1),
        n_states=st.integers(1, max_states),
        n_actions=st.integers(1, 4),
        n_outcomes=st.integers(1, 3),
    )


def world_of(mdp: TabularMDP, *, horizon: int, budget: int) -> World:
    """Return a world with these dynamics."""
    defaults, names = Defaults(horizon=horizon, budget=budget), tuple(map(str, range(mdp.n_actions)))
    return World(name="given", mdp=mdp, defaults=defaults, action_names=names, r_max=mdp.reward_range[1])


def corridor(n_states: int, paid_at: int, budget: int) -> World:
    """Return a world in which both actions lead to the next state, and one of them gives 1 in one state."""
    following = np.minimum(np.arange(n_states) + 1, n_states - 1)
    reward, last = np.zeros((n_states, 2)), np.arange(n_states) == n_states - 1
    reward[paid_at, 1] = 1.0
    mdp = deterministic_mdp(np.column_stack([following] * 2), reward, np.column_stack([last] * 2), np.eye(n_states)[0])
    return world_of(mdp, horizon=n_states, budget=budget)
