"""What comes of a run: curves, counts and notes, as plain arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray

_NOTHING = np.zeros(0)


class Result(NamedTuple):
    """What came of a run, without its tables. Arrays are indexed by the world's own states."""

    steps: NDArray[np.int64]
    """The steps after which the greedy policy was evaluated."""
    returns: FloatArray
    """Its expected discounted return from the start, at each of them; in an environment, the mean of some episodes,
    undiscounted."""
    discovered: NDArray[np.int64]
    """How many distinct states had been acted in, at each of them."""
    visits: NDArray[np.int64]
    """[state, action]: how often each action was tried."""
    first_visit: NDArray[np.int64]
    """[state]: the step at which a state was first acted in; -1 for never."""
    optimal_return: NDArray[np.float64]
    """The best expected discounted return from the start; a single number. Of an environment, not a number."""
    reachable: NDArray[np.int64]
    """How many states can be reached at all; a single number. Of an environment, 0: nobody knows."""
    gaps: FloatArray = _NOTHING
    """[ε], of `measure="values"`: the thresholds ε for V* - V^π."""
    bad_steps: NDArray[Any] = _NOTHING
    """[ε]: the sample complexity, at how many steps V*(s) - V^π(s) > ε for the state s that the agent was in."""
    ends_good: NDArray[Any] = _NOTHING
    """[ε]: whether V*(s) - V^π(s) <= ε at the last step."""
    moments: NDArray[Any] = _NOTHING
    """Some steps, evenly spaced in the logarithm, at which was noted ..."""
    value_errors: FloatArray = _NOTHING
    """... the mean over all states of (V* - V^π)², and ..."""
    visits_by_moment: NDArray[Any] = _NOTHING
    """[moment, state]: ... how often every state had been acted in."""
    episodes: FloatArray = _NOTHING
    """[episode, (last step, length, return, whether it terminated)], of an environment."""
    rewards: FloatArray = _NOTHING
    """[reward, (value, how often, first step)]: the distinct rewards, in the order in which they were met; if there
    were too many to list, the last line is for all others, and its value is not a number."""
    reward_places: NDArray[Any] = _NOTHING
    """[reward]: in words, the state and the action that were first paid so."""
    pairs: NDArray[Any] = _NOTHING
    """(how many pairs of state and action were tried more than once, and how many of them had several outcomes)"""

    @property
    def success(self) -> float:
        """The last evaluation's return in percent of the best: what the paper's recap tables call success.

        Not a number if nothing was evaluated, or if the best return is zero.
        """
        return float(self.percent_curves[2, -1]) if len(self.returns) else math.nan

    @property
    def discovery(self) -> float:
        """The states acted in until the end, in percent of those that can be reached, if that is known."""
        return 100.0 * self.found / (int(self.reachable) or math.nan)

    @property
    def found(self) -> int:
        """How many distinct states were acted in until the end."""
        return int((self.first_visit >= 0).sum())

    @property
    def percent_curves(self) -> FloatArray:
        """[3, evaluation]: steps, states discovered and return, the latter two in percent of what is possible."""
        discovered = 100.0 * self.discovered / (int(self.reachable) or math.nan)
        return np.stack([self.steps, discovered, 100.0 * self.returns / (float(self.optimal_return) or math.nan)])
