"""One line of the benchmark: ours, the reference, their ratio, and whether the target was met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """A measurement. `ratio` is what is held against the target; `sense` says which way is good."""

    name: str
    ours: float
    reference: float | None
    ratio: float
    target: float
    sense: str
    """'at least' or 'at most'."""
    unit: str
    """Of ours and the reference; the ratio has the unit too where there is no reference."""
    note: str = ""
    points: tuple[tuple[float, float], ...] = ()
    """Size and time, where growth was followed."""

    @property
    def met(self) -> bool:
        """Whether the target was met."""
        return self.ratio >= self.target if self.sense == "at least" else self.ratio <= self.target


@dataclass(frozen=True)
class Skipped:
    """A measurement that could not be made, and why."""

    name: str
    why: str


def faster(name: str, ours: float, reference: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result for "ours is at least so many times as fast as the reference"."""
    return Result(name, ours, reference, reference / ours, target, "at least", unit, note)


def within(name: str, ours: float, reference: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result for "ours takes at most so many times as long as the reference"."""
    return Result(name, ours, reference, ours / reference, target, "at most", unit, note)


def limited(name: str, ours: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result for "ours takes at most this"."""
    return Result(name, ours, None, ours, target, "at most", unit, note)


def best_of(repeats: int, *tasks: Callable[[], object]) -> list[float]:
    """Return the shortest time of each task, taken in turns so that a busy machine slows all of them alike."""
    shortest = [float("inf")] * len(tasks)
    for _ in range(repeats):
        for i, task in enumerate(tasks):
            begin = time.perf_counter()
            task()
            shortest[i] = min(shortest[i], time.perf_counter() - begin)
    return shortest
