"""The ergodic chain (Section 4.2.4): N states in a row, stochastic transitions, and no terminal states.

"forward" and "backward" move as intended with probability p and in the opposite direction otherwise. "stay" stays
with probability p and otherwise moves to either neighbour. Moving beyond an end of the chain leaves the agent there.
"stay" gives a reward of 1e−8 in the first state, where the agent starts, and 1 in the last. The reward depends on
the state and action only: the agent receives it even if it does not stay.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wanderlust.core.errors import check_integer, check_number
from wanderlust.core.mdp import TabularMDP, merge_outcomes
from wanderlust.worlds.base import CellKind, Defaults, World, single_layer_layout

FORWARD, BACKWARD, STAY = 0, 1, 2
MAX_LENGTH = 100_000


def chain(
    *,
    length: Annotated[int, "N: number of states of the chain"] = 27,
    p: Annotated[float, "probability that an action moves as intended"] = 0.99,
) -> World:
    """Return a stochastic, continuing chain: a tiny reward at the start, a large one at the far end."""
    n = check_integer("length", length, low=2, high=MAX_LENGTH)
    p = check_number("p", p, low=0, high=1)
    states = np.arange(n, dtype=np.int32)
    forward, backward = np.minimum(states + 1, n - 1), np.maximum(states - 1, 0)

    # Outcomes in the order forward, stay, backward.
    next_state = np.repeat(np.stack([forward, states, backward], axis=1)[:, None, :], 3, axis=1)
    probability = np.array([[p, 0.0, 1 - p], [1 - p, 0.0, p], [(1 - p) / 2, p, (1 - p) / 2]])
    reward = np.zeros((n, 3, 3))
    reward[0, STAY] = 1e-8
    reward[-1, STAY] = 1.0
    mdp = TabularMDP(
        probability=np.repeat(probability[None], n, axis=0),
        next_state=next_state,
        reward=reward,
        terminal=np.zeros((n, 3, 3), dtype=np.bool_),
        start=(states == 0).astype(np.float64),
    )
    kind = np.full((1, n), CellKind.FLOOR, dtype=np.uint8)
    kind[0, 0], kind[0, -1] = CellKind.START, CellKind.REWARD
    value = np.zeros((1, n))
    value[0, 0], value[0, -1] = 1e-8, 1.0
    return World(
        name="chain",
        mdp=merge_outcomes(mdp),
        defaults=Defaults(
            horizon=200_000,
            budget=200_000,
            learning_rate=0.1,
            gamma_w=0.999,
            replay="none",
            epsilon_start=0.1,
            epsilon_end=0.1,
        ),
        action_names=("forward", "backward", "stay"),
        r_max=1.0,
        layout=single_layer_layout(kind, value),
        options={"length": n, "p": p},
    )
