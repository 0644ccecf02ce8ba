"""Times of whole runs, and the type that measurements return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from speed.result import Result, Skipped, shortest_times
from wanderlust.agents.session import train
from wanderlust.worlds import World

Results = Iterator[Result | Skipped]
MICRO, NANO = 1e6, 1e9


def run_task(world: World, explorer: str, *, steps: int, **changes: Any) -> Callable[[], object]:
    """Return a function to be timed: a whole run with its set-up and evaluations. It is compiled before."""
    train(world, explorer, seed=1, steps=200, **changes)
    return lambda: train(world, explorer, seed=1, steps=steps, **changes)


def time_per_step(world: World, explorer: str, *, steps: int, repeats: int = 3, **changes: Any) -> float:
    """Return the time per step of a whole run with its set-up and evaluations."""
    return shortest_times(repeats, run_task(world, explorer, steps=steps, **changes))[0] / steps
