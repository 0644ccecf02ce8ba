"""Actions that mostly leave everything as it is, and wait until others were tried.

Many environments have actions that do something in a few states only: pick up, drop, toggle, walk into a wall. W starts
so high that every action is tried in every state met before the agent walks on. Here the W of an action never tried
starts the lower the more often that action has left other states as they were: as if it were up to `DETOUR` steps
away. So what mostly does something is tried first, and everything is tried in the end.
"""

from __future__ import annotations

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.learning.state import Ints

DETOUR = 20
"""As if it were so many steps away, if an action never does anything."""


class IdleActions:
    """How often each action, tried in a state for the first time, left everything as it was."""

    def __init__(self, n_actions: int) -> None:
        self.counts: Ints = np.zeros((2, n_actions), np.int64)
        """By action, in how many states it was tried, and in how many of them it did nothing."""

    def heed(self, agent: Agent, state: int, action: int, next_state: int | None, reward: float) -> None:
        """Let the untried actions of where the agent was and is wait if they mostly do nothing."""
        idle = state == next_state and reward <= 0.0
        agent.defer_idle_actions(state, action, next_state, idle=idle, counts=self.counts, detour=DETOUR)
