"""The interface of executors, and how a worker of any of them executes one run.

The driver (`wanderlust.experiments.execute.driver`) gives batches of runs to an executor and collects their outcomes.
Workers do not write to the store: they return the archive of each result, and the driver stores it.

The workers of a node share its cache of compiled code (see `wanderlust._numba.cache`). So that they do not all compile
the same functions at the same time, the first one compiles while it holds a lock; a small file in the cache then tells
the others that they only need to load.
"""

from __future__ import annotations

import hashlib
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from wanderlust._numba.cache import cache_folder, source_hash
from wanderlust._numba.jit import numba_version
from wanderlust.core.errors import WanderlustError
from wanderlust.core.files import locked
from wanderlust.experiments.run import Run, RunCancelled
from wanderlust.experiments.stored_run import Sealed, seal

OTHER_CODE = (
    "the code of the explorer or the environment was edited during the run, or a worker has another version of it; "
    "repeat the run."
)


class Task(NamedTuple):
    """A run to execute, with the hashes of its code as the driver has it."""

    run: Run
    code: tuple[str, ...]


class TaskResult(NamedTuple):
    """What a task ended with: a result, an error, or nothing because its worker was lost."""

    task: Task
    sealed: Sealed | None = None
    seconds: float = 0.0
    error: str = ""
    """What went wrong; empty if there is a result, if the run was cancelled, or if a loss is not its fault."""
    trace: str = ""
    """The traceback; empty for a `WanderlustError`, whose message is enough."""
    lost: bool = False
    """Whether the worker ended before the run did: the run is executed again."""


class Executor(Protocol):
    """Executes batches of runs in parallel."""

    name: str
    """Where the runs are executed, for the user."""
    batch_seconds: float
    """How long a batch of short runs should take, so that the time to schedule it is small; 0 for single runs."""
    slots: int
    """The number of batches that are executed at the same time; it may change."""

    def room(self) -> int:
        """Return how many more batches should be submitted now."""

    def submit(self, batch: Sequence[Task]) -> None:
        """Start to execute runs, one after the other."""

    def collect(self, timeout: float) -> list[TaskResult]:
        """Return outcomes that arrived since the last call; wait at most `timeout` seconds for the first."""

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""


def execute(task: Task, should_stop: Callable[[], bool] = lambda: False) -> TaskResult:
    """Execute one run; every error becomes an outcome."""
    run, code = task
    start = time.perf_counter()
    try:
        result = run.train(should_stop)
        seconds = time.perf_counter() - start
        # A worker reads the hash of the code itself: other code would have another key.
        if run.code != code:
            return TaskResult(task, error=OTHER_CODE)
        return TaskResult(task, seal(run, result, seconds), seconds)
    except RunCancelled:
        return TaskResult(task)
    except Exception as error:
        return failed(task, error)


def failed(task: Task, error: Exception) -> TaskResult:
    """Return the outcome of a run that raised an error."""
    expected = isinstance(error, WanderlustError)
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        message, expected = f"the run needs more memory than there is ({type(error).__name__}: {error}).", True
    return TaskResult(task, error=message, trace="" if expected else "".join(traceback.format_exception(error)))


SECONDS_TO_COMPILE = 300.0
"""More than any explorer needs, also if other workers of the node compile before it."""
_PREFIX, _LOCK = "compiled-on-", "compile.lock"
_compiled: set[tuple[str, str]] = set()
"""The explorers and kinds of runs that this process has compiled or loaded."""


def compile_once(run: Run) -> None:
    """Compile the explorer of a run, unless this process has done so; errors are raised.

    One step in a built-in world compiles it, so that the code of a user's environment does not delay this.
    """
    what = run.explorer, run.kind
    if what in _compiled:
        return
    run = Run(world="toy", explorer=run.explorer, kind=run.kind, settings={"steps": 1})
    folder = cache_folder()
    parts = (socket.gethostname(), *what, *run.code, source_hash(), numba_version())
    marker = folder and folder / f"{_PREFIX}{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"
    if folder is None or marker is None or marker.exists():
        run.train()
    else:
        with locked(folder / _LOCK):
            run.train()
            marker.touch()
    _compiled.add(what)
