"""One line of the benchmark: ours, the reference, their ratio, and whether the target was met."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
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
    return [min(times) for times in zip(*(_turn(tasks) for _ in range(repeats)), strict=True)]


def middle_of(repeats: int, ours: Callable[[], object], reference: Callable[[], object]) -> tuple[float, float]:
    """Return the times of two tasks in the turn whose ratio is the median; `repeats` should be odd.

    For a task that takes more of the machine than the other: of many turns the shortest would be one for which the
    machine was left alone, and that comes by more seldom for all of it than for a part.
    """
    turns = [_turn((ours, reference)) for _ in range(repeats)]
    one, other = sorted(turns, key=lambda times: times[1] / times[0])[len(turns) // 2]
    return one, other


def _turn(tasks: Iterable[Callable[[], object]]) -> list[float]:
    times = []
    for task in tasks:
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return times
