"""Times of whole runs, and what a measurement returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wanderlust.agents.session import train
from wanderlust.bench.result import Result, Skipped, best_of
from wanderlust.worlds import World

Lines = Iterator[Result | Skipped]
MICRO, NANO = 1e6, 1e9


def a_run(world: World, explorer: str, *, steps: int, **changes: Any) -> Callable[[], object]:
    """Return a whole run to be timed, with its set-up and its evaluations, compiled already."""
    train(world, explorer, seed=1, steps=200, **changes)
    return lambda: train(world, explorer, seed=1, steps=steps, **changes)


def whole_run(world: World, explorer: str, *, steps: int, repeats: int = 3, **changes: Any) -> float:
    """Return the time of a step, over a whole run with its set-up and its evaluations."""
    return best_of(repeats, a_run(world, explorer, steps=steps, **changes))[0] / steps
