"""Actions that mostly leave the state unchanged ("idle" actions) are explored later.

Many environments have actions that have an effect in a few states only: pick up, drop, toggle, walk into a wall. The
initial W is so high that every action is tried in every discovered state before the agent moves on. Here the initial W
of an untried action is lower, the more often that action was idle in other states: as if it were up to `DELAY_STEPS`
steps away. Actions that usually have an effect are tried first, and every action is still tried eventually.
"""

from __future__ import annotations

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.learning.spec import Ints

DELAY_STEPS = 20
"""The initial W of an action that is always idle is discounted by this number of steps."""


class IdleActions:
    """For each action, the number of states in which its first visit was idle."""

    def __init__(self, n_actions: int) -> None:
        self.counts: Ints = np.zeros((2, n_actions), np.int64)
        """For each action: the number of states in which it was visited, and in which its first visit was idle."""

    def update(self, agent: Agent, state: int, action: int, next_state: int | None, reward: float) -> None:
        """Count the latest transition and lower the initial W of idle actions in both of its states."""
        idle = state == next_state and reward <= 0.0
        agent.defer_idle_actions(state, action, next_state, idle=idle, counts=self.counts, delay=DELAY_STEPS)
