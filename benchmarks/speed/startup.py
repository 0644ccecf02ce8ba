"""Times of first uses, each in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

_FIRST_STEP = "import wanderlust as wl; wl.train('prison', 'vv-ucb', steps=1)"
_SECOND_EXPLORER = f"""
import time
{_FIRST_STEP}
begin = time.perf_counter()
wl.train('prison', 'vv-count', steps=1)
print(time.perf_counter() - begin)
"""


def run_python(arguments: list[str], **environment: str) -> tuple[float, str]:
    """Return the time and the output of a new Python process."""
    command, variables = [sys.executable, *arguments], {**os.environ, **environment}
    begin = time.perf_counter()
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return time.perf_counter() - begin, done.stdout


def first_step_times(repeats: int) -> tuple[float, float]:
    """Return the shortest times of a process that makes one step, with an empty and with a filled cache."""
    empty = filled = float("inf")
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            first, *others = (run_python(["-c", _FIRST_STEP], WANDERLUST_CACHE_DIR=folder)[0] for _ in range(4))
            empty, filled = min(empty, first), min(filled, *others)
    return empty, filled


def second_explorer_time(repeats: int) -> float:
    """Return the shortest time of an explorer's first step in a process that has just compiled another explorer."""
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            times.append(float(run_python(["-c", _SECOND_EXPLORER], WANDERLUST_CACHE_DIR=folder)[1]))
    return min(times)


def help_time() -> float:
    """Return the time of `wanderlust --help`."""
    return min(run_python(["-m", "wanderlust", "--help"])[0] for _ in range(3))
