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

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]


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
