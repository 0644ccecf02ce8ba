"""One line of the benchmark: our value, the reference, their ratio, and whether the target was met."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from wanderlust.agents.session import train
from wanderlust.worlds import World


@dataclass(frozen=True)
class Result:
    """A measurement. `ratio` is compared with `target`."""

    name: str
    ours: float
    reference: float | None
    ratio: float
    target: float
    sense: str
    """'at least' or 'at most': the side of the target on which the ratio must be."""
    unit: str
    """The unit of `ours` and `reference`; without a reference, also of `ratio` and `target`."""
    note: str = ""
    points: tuple[tuple[float, float], ...] = ()
    """Sizes and times, if several sizes were measured."""

    @property
    def met(self) -> bool:
        """Whether the target was met."""
        return self.ratio >= self.target if self.sense == "at least" else self.ratio <= self.target


@dataclass(frozen=True)
class Skipped:
    """A measurement that could not be run."""

    name: str
    reason: str


def speedup(name: str, ours: float, reference: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result whose target is: ours is at least `target` times as fast as the reference."""
    return Result(name, ours, reference, reference / ours, target, "at least", unit, note)


def relative_time(name: str, ours: float, reference: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result whose target is: ours takes at most `target` times as long as the reference."""
    return Result(name, ours, reference, ours / reference, target, "at most", unit, note)


def absolute_time(name: str, ours: float, target: float, *, unit: str, note: str = "") -> Result:
    """Return the result whose target is: ours takes at most `target`."""
    return Result(name, ours, None, ours, target, "at most", unit, note)


def shortest_times(repeats: int, *tasks: Callable[[], object]) -> list[float]:
    """Return the shortest time of each task; tasks alternate, so that other load slows all of them alike."""
    return [min(times) for times in zip(*(_times(tasks) for _ in range(repeats)), strict=True)]


def median_times(repeats: int, ours: Callable[[], object], reference: Callable[[], object]) -> tuple[float, float]:
    """Return the times of two tasks in the repeat whose ratio is the median; `repeats` should be odd.

    For tasks that use different numbers of cores: all cores are idle less often than one of them, so the shortest times
    would favour the task that uses fewer.
    """
    pairs = [_times((ours, reference)) for _ in range(repeats)]
    our_time, reference_time = sorted(pairs, key=lambda times: times[1] / times[0])[len(pairs) // 2]
    return our_time, reference_time


def _times(tasks: Iterable[Callable[[], object]]) -> list[float]:
    times = []
    for task in tasks:
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return times


Results = Iterator[Result | Skipped]
MICRO, NANO = 1e6, 1e9


def run_task(world: World, explorer: str, *, steps: int, **changes: Any) -> Callable[[], object]:
    """Return a function to be timed: a whole run with its set-up and evaluations. It is compiled before."""
    train(world, explorer, seed=1, steps=200, **changes)
    return lambda: train(world, explorer, seed=1, steps=steps, **changes)


def time_per_step(world: World, explorer: str, *, steps: int, repeats: int = 3, **changes: Any) -> float:
    """Return the time per step of a whole run with its set-up and evaluations."""
    return shortest_times(repeats, run_task(world, explorer, steps=steps, **changes))[0] / steps
