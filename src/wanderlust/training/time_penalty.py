"""Detection of a time penalty: terminal rewards that decrease linearly with the steps of the episode.

MiniGrid gives a reward of 1 − 0.9 t/T for reaching the goal at step t of at most T. The state does not include t, so
the reward is not Markov: a goal state that was reached once, late, looks poor, and a longer path to a goal that was
reached early looks better. The discount factor already prefers short paths. Once the observed terminal rewards lie
exactly on a decreasing line, the agent therefore learns from the rewards without the penalty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MIN_SAMPLES = 4
"""Terminal rewards at different steps that are needed to detect a time penalty."""
_RELATIVE_TOLERANCE = 1e-9


class TimePenalty(NamedTuple):
    """An estimate of how much terminal rewards decrease per step of the episode."""

    samples: tuple[tuple[int, float], ...] = ()
    """(step, terminal reward) at different steps, at most `MIN_SAMPLES`."""
    per_step: float | None = None
    """The decrease per step: 0 if there is no time penalty, None if there are too few samples."""

    @property
    def detected(self) -> bool:
        """Whether there is a time penalty."""
        return bool(self.per_step)

    def describe(self) -> str:
        """Return a sentence about a detected time penalty."""
        return f"terminal rewards decrease by {self.per_step:g} per step; this time penalty is removed for learning"

    def updated(self, step: int, reward: float) -> TimePenalty:
        """Return the estimate after one more positive terminal reward."""
        if self.per_step is not None or any(step == earlier for earlier, _ in self.samples):
            return self
        samples = (*self.samples, (step, reward))
        if len(samples) < MIN_SAMPLES:
            return TimePenalty(samples)
        (step_0, reward_0), *others = samples
        slopes = [(reward_0 - reward) / (step - step_0) for step, reward in others]
        is_line = all(math.isclose(slope, slopes[0], rel_tol=_RELATIVE_TOLERANCE, abs_tol=0.0) for slope in slopes)
        return TimePenalty(samples, slopes[0] if is_line and slopes[0] > 0.0 else 0.0)

    def without_penalty(self, step: int, reward: float) -> float:
        """Return a terminal reward with the penalty of the episode's steps added back."""
        if not self.per_step:
            return reward
        step_0, reward_0 = self.samples[0]
        corrected, first_corrected = reward + self.per_step * step, reward_0 + self.per_step * step_0
        # Rounding errors must not make equally good terminal rewards differ.
        return first_corrected if math.isclose(corrected, first_corrected, rel_tol=_RELATIVE_TOLERANCE) else corrected
