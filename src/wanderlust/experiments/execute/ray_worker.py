"""What a worker of a Ray cluster does with a batch of runs."""

from __future__ import annotations

import faulthandler
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wanderlust._numba.cache import source_hash
from wanderlust._numba.jit import numba_version
from wanderlust.experiments.execute.tasks import Task, execute, failed
from wanderlust.experiments.execute.warm_up import SECONDS_TO_COMPILE, compile_once
from wanderlust.experiments.run import ADAPTIVE_VERSION, ALGORITHM_VERSION, Run
from wanderlust.version import __version__

Versions = dict[str, str]


def versions() -> Versions:
    """Return what must be the same on all workers, so that the results are the same bit for bit."""
    return {
        "wanderlust": __version__,
        "algorithm version": f"{ALGORITHM_VERSION}.{ADAPTIVE_VERSION}",
        "compiled sources": source_hash()[:12],
        "numba": numba_version(),
        "NumPy": np.__version__,
    }


def differences(expected: Versions) -> str:
    """Return which versions differ here from the driver's, or ""."""
    found = versions()
    other = [f"{name} {found[name]} (the driver has {version})" for name, version in expected.items()
             if found[name] != version]  # fmt: skip
    return f"{socket.gethostname()} has {', '.join(other)}" if other else ""


def execute_batch(tasks: list[tuple[str, tuple[str, ...]]], time_limit: float | None) -> list[tuple[Any, ...]]:
    """Execute runs one after the other; return the parts of their outcomes (see `Outcome`), without the tasks."""
    return [_execute(Task(Run.from_json(text), tuple(code)), time_limit) for text, code in tasks]


def _execute(task: Task, time_limit: float | None) -> tuple[Any, ...]:
    try:
        with _end_process_after(None if time_limit is None else time_limit + SECONDS_TO_COMPILE):
            compile_once(task.run)
    except Exception as error:
        outcome = failed(task, error)
    else:
        with _end_process_after(time_limit):
            outcome = execute(task)
    return tuple(outcome)[1:5]


@contextmanager
def _end_process_after(seconds: float | None) -> Iterator[None]:
    """End this process if the block takes longer, even if it never returns to the interpreter."""
    if seconds is None:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        # Unlike a timer in Python, this needs neither the GIL nor a free thread.
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
