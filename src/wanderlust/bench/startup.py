"""Times of first uses, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

_FIRST_STEP = "import wanderlust as wl; wl.train('prison', 'vv-ucb', steps=1)"


def seconds(arguments: list[str], **environment: str) -> float:
    """Return how long a new Python process takes."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env={**os.environ, **environment}, check=True, capture_output=True)
    return time.perf_counter() - begin


def cold_start(repeats: int) -> tuple[float, float]:
    """Return the times of a first step with nothing compiled yet, and with everything compiled; the best of some."""
    first = second = float("inf")
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            first = min(first, seconds(["-c", _FIRST_STEP], WANDERLUST_CACHE_DIR=folder))
            second = min(second, *(seconds(["-c", _FIRST_STEP], WANDERLUST_CACHE_DIR=folder) for _ in range(3)))
    return first, second


def help_time() -> float:
    """Return how long `wanderlust --help` takes."""
    return min(seconds(["-m", "wanderlust", "--help"]) for _ in range(3))
