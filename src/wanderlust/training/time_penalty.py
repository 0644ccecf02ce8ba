"""Rewards that fall with the clock: what is paid at the end of an episode depends on how late it is.

MiniGrid pays 1 − 0.9 t/T for reaching the goal in step t of at most T. A state does not tell t, so a goal that was
entered once, late, looks poor, and a longer way to where it was entered early looks better. The discount says already
that sooner is better. So once the rewards paid at ends lie exactly on a falling line, they count as if paid at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

ENOUGH = 4
"""So many different moments on one line are no coincidence."""
_PRECISION = 1e-9


class TimePenalty(NamedTuple):
    """How rewards at ends fall with the steps of the episode, as far as that is known."""

    seen: tuple[tuple[int, float], ...] = ()
    """(step, reward) of ends at different steps, until it is known; at most `ENOUGH`."""
    per_step: float | None = None
    """What is lost by every step: 0 if rewards do not fall, None as long as that is not known."""

    @property
    def falls(self) -> bool:
        """Whether rewards are known to fall."""
        return bool(self.per_step)

    def in_words(self) -> str:
        """Return what is done about falling rewards."""
        fall = f"rewards at the end of an episode fall by {self.per_step:g} with every step"
        return f"{fall}; they count as if paid at once"

    def after(self, step: int, reward: float) -> TimePenalty:
        """Return what is known after one more end was paid something above zero."""
        if self.per_step is not None or any(step == before for before, _ in self.seen):
            return self
        seen = (*self.seen, (step, reward))
        if len(seen) < ENOUGH:
            return TimePenalty(seen)
        (step_0, reward_0), *others = seen
        losses = [(reward_0 - reward) / (step - step_0) for step, reward in others]
        is_line = all(math.isclose(loss, losses[0], rel_tol=_PRECISION, abs_tol=0.0) for loss in losses)
        return TimePenalty(seen, losses[0] if is_line and losses[0] > 0.0 else 0.0)

    def at_once(self, step: int, reward: float) -> float:
        """Return what the end of an episode would have been paid without its steps."""
        if not self.per_step:
            return reward
        step_0, reward_0 = self.seen[0]
        worth, full = reward + self.per_step * step, reward_0 + self.per_step * step_0
        # Rounding must not make two ways differ that are as good.
        return full if math.isclose(worth, full, rel_tol=_PRECISION) else worth
