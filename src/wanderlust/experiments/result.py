"""The result of a run as plain arrays: learning curves, visit counts and episodes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray

__all__ = ["OPTIMAL_SUCCESS", "Result", "evenness", "step_learnt"]

_EMPTY = np.zeros(0)
OPTIMAL_SUCCESS = 100.0 - 1e-6
"""Success, in percent, from which a policy is optimal, with a tolerance for rounding."""


class Result(NamedTuple):
    """The result of a run, without its value tables. Arrays are indexed by the world's states."""

    steps: NDArray[np.int64]
    """[evaluation]: the step after which the greedy policy was evaluated."""
    returns: FloatArray
    """[evaluation]: its expected discounted return from the start; in an environment, the mean undiscounted return."""
    discovered: NDArray[np.int64]
    """[evaluation]: the number of distinct states visited so far."""
    visits: NDArray[np.int64]
    """[state, action]: the visit count n(s, a)."""
    first_visit: NDArray[np.int64]
    """[state]: the step of the first visit; -1 for never."""
    optimal_return: NDArray[np.float64]
    """The optimal expected discounted return from the start, a scalar; NaN in an environment."""
    reachable: NDArray[np.int64]
    """The number of reachable states, a scalar; 0 in an environment, where it is unknown."""
    gaps: FloatArray = _EMPTY
    """[ε], with `measure="values"`: the thresholds ε for V* - V^π."""
    bad_steps: NDArray[Any] = _EMPTY
    """[ε]: the sample complexity: the number of steps with V*(s) - V^π(s) > ε for the current state s."""
    ends_good: NDArray[Any] = _EMPTY
    """[ε]: whether V*(s) - V^π(s) <= ε at the last step."""
    moments: NDArray[Any] = _EMPTY
    """[moment]: the steps, evenly spaced on a logarithmic scale, of the next two arrays."""
    value_errors: FloatArray = _EMPTY
    """[moment]: the mean over all states of (V* - V^π)²."""
    visits_by_moment: NDArray[Any] = _EMPTY
    """[moment, state]: the visits of each state so far."""
    improvements: FloatArray = _EMPTY
    """[improvement, (step, mean return)], in an environment: the evaluations whose return was larger than all before,
    also those between two points of the curves."""
    episodes: FloatArray = _EMPTY
    """[episode, (last step, length, return, terminated)], in an environment."""
    rewards: FloatArray = _EMPTY
    """[reward, (value, count, first step)]: the distinct rewards in order of first occurrence; if there are more than
    `MAX_REWARDS`, the last row counts all others, with the value NaN."""
    reward_places: NDArray[Any] = _EMPTY
    """[reward]: the state and action that first received it, as text."""
    pairs: NDArray[Any] = _EMPTY
    """(number of state-action pairs visited more than once, number of these with more than one outcome, number of
    distinct first states of episodes)"""
    outcomes: FloatArray = _EMPTY
    """[outcome, (state, action, next state, or -1 if it terminated, count, mean reward)], in an environment; empty if
    there are more than `MAX_OUTCOMES`."""
    starts: FloatArray = _EMPTY
    """[state, (first state of an episode, count)], in an environment."""
    time_penalty: FloatArray = _EMPTY
    """In an environment: the decrease per step of the terminal rewards, if it was removed for learning."""
    events: FloatArray = _EMPTY
    """(number of steps up to the first positive reward, up to the first termination), with `kind="model"`; infinity for
    never."""
    data_returns: FloatArray = _EMPTY
    """[evaluation], with `measure="exam"`: the return of the policy that is best by the collected data."""
    random_return: FloatArray = _EMPTY
    """With `measure="exam"`: the return of the uniformly random policy."""

    @property
    def success(self) -> float:
        """The last evaluation's return in percent of the optimum: "success" in the paper's recap tables.

        NaN if there was no evaluation, or if the optimal return is zero.
        """
        return float(self.percent_curves[2, -1]) if len(self.returns) else math.nan

    @property
    def discovery(self) -> float:
        """The states visited, in percent of the reachable states; NaN if these are unknown."""
        return 100.0 * self.n_discovered / (int(self.reachable) or math.nan)

    @property
    def n_discovered(self) -> int:
        """The number of distinct states visited by the end."""
        return int((self.first_visit >= 0).sum())

    @property
    def percent_curves(self) -> FloatArray:
        """[3, evaluation]: steps, discovery in percent of the reachable states, return in percent of the optimum."""
        discovered = 100.0 * self.discovered / (int(self.reachable) or math.nan)
        return np.stack([self.steps, discovered, 100.0 * self.returns / (float(self.optimal_return) or math.nan)])


def step_learnt(curves: FloatArray, success_threshold: float = OPTIMAL_SUCCESS) -> float:
    """Return the step from which the success in [steps, discovery, success] stays above a threshold; inf for never."""
    steps, _, success = curves
    if not len(steps) or success[-1] < success_threshold:
        return np.inf
    below = np.flatnonzero(success < success_threshold)
    return float(steps[below[-1] + 1] if len(below) else steps[0])


def evenness(counts: NDArray[np.int64], reachable: int) -> float:
    """Return the entropy of the state visits in percent of the maximum, that of uniform visits."""
    share = counts[counts > 0] / counts.sum()
    return 100.0 * float(-(share * np.log(share)).sum()) / float(np.log(reachable)) if reachable > 1 else 100.0
