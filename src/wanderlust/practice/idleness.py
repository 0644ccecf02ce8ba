"""Actions that mostly leave everything as it is, and wait until others were tried.

Many environments have actions that do something in a few states only: pick up, drop, toggle, walk into a wall. W starts
so high that every action is tried in every state met before the agent walks on. Here the W of an action never tried
starts the lower the more often that action has left other states as they were: as if it were up to `DETOUR` steps
away. So what mostly does something is tried first, and everything is tried in the end.
"""

from __future__ import annotations

import numpy as np

from wanderlust.learning.mind import Floats, Ints

DETOUR = 20
"""As if it were so many steps away, if an action never does anything."""


class Idleness:
    """How often each action, tried in a state for the first time, left everything as it was."""

    def __init__(self, n_actions: int) -> None:
        self.tried: Ints = np.zeros(n_actions, np.int64)
        """In how many states each action was tried."""
        self.idle: Ints = np.zeros(n_actions, np.int64)
        """In how many of them it did nothing."""

    def note(self, action: int, did_nothing: bool) -> None:
        """Take note of an action that was tried for the first time in a state."""
        self.tried[action] += 1
        self.idle[action] += did_nothing

    def starts(self, initial: float, discount: float) -> Floats:
        """Return where W starts by action: γ_w^(k · share of idle tries) of the initial value, k the detour.

        The share has one try in it that did something, so that an action is not given up after the first.
        """
        share = self.idle / (self.tried + 1.0)
        found: Floats = initial * discount ** (DETOUR * share)
        return found
