"""How often states repeat. A tabular agent learns nothing about a state that it visits once."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW = 1_000
"""The number of latest steps that `RepeatRate` looks at."""
SELDOM = 0.2
"""States seldom repeat if a smaller share of the steps is in a state that was visited before."""


def repeat_rate(steps: int, new_states: int) -> float:
    """Return the share of some steps whose state had been visited before; NaN without a step."""
    return 1.0 - new_states / steps if steps else math.nan


class RepeatRate:
    """The repeat rate of the latest steps, from the numbers of steps and of states discovered so far."""

    def __init__(self, window: int = WINDOW, *, step: int = 0, discovered: int = 0) -> None:
        self.window = window
        self._points = deque([(step, discovered)])

    def add(self, step: int, discovered: int) -> None:
        """Add the numbers after a step; it need not be called after every step."""
        self._points.append((step, discovered))
        while self._points[1][0] <= step - self.window:
            self._points.popleft()

    @property
    def steps(self) -> int:
        """The number of steps that `rate` is about: `window`, fewer at first."""
        return self._points[-1][0] - self._points[0][0]

    @property
    def rate(self) -> float:
        """The share of these steps whose state had been visited before; NaN before the first one."""
        return repeat_rate(self.steps, self._points[-1][1] - self._points[0][1])


def repeat_rates(first_visit: NDArray[Any], steps: int, parts: int = 4) -> list[float]:
    """Return the repeat rate of each part of a run, given the step of the first visit of every state; -1 for never."""
    bounds = np.linspace(0, steps, parts + 1).astype(np.int64)
    new_states = np.histogram(first_visit[first_visit >= 0], bounds)[0]
    return [repeat_rate(int(n), int(new)) for n, new in zip(np.diff(bounds), new_states, strict=True)]
