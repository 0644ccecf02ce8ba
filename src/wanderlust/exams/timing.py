"""The time of a step of an explorer, measured in one world of the exam, apart from the runs and their evaluations."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from wanderlust.worlds.exam_suite import exam_world

FAMILY, LEVEL = "size", 2
TIMED_WORLD = f"{FAMILY}, level {LEVEL}"
_REPETITIONS, _MAX_SECONDS = 3, 1.0
_CHUNKS = 16


def step_microseconds(explorer: str, options: Mapping[str, Any]) -> float:
    """Return the time of a step in microseconds, without compilation: a mean over a run, the best of a few runs.

    It is NaN if the explorer fails. A run ends after a second, after which a slow explorer is not measured again.
    """
    try:
        _timed_run(explorer, options, steps=2)  # Compiles everything that a step needs.
        best, start = math.inf, time.perf_counter()
        for _ in range(_REPETITIONS):
            best = min(best, _timed_run(explorer, options))
            if time.perf_counter() - start > _MAX_SECONDS:
                break
    except Exception:  # An explorer of a user can raise anything; the card shows the errors of its runs.
        return math.nan
    return best


def _timed_run(explorer: str, options: Mapping[str, Any], steps: int | None = None) -> float:
    """Return the mean time of a step of one run, without the first one."""
    from wanderlust.agents.session import Session

    world = exam_world(FAMILY, level=LEVEL)
    budget = steps or world.defaults.budget
    session = Session(world, explorer, **{**options, "evaluate_every": budget})
    session.advance(1)
    start = time.perf_counter()
    for i in range(1, _CHUNKS + 1):
        session.advance(max(i * budget // _CHUNKS, 2))
        if time.perf_counter() - start > _MAX_SECONDS:
            break
    return 1e6 * (time.perf_counter() - start) / (session.step - 1)
