"""The interface of executors, how a worker of any of them executes one run, and the executor with threads.

The driver (`wanderlust.experiments.execute.driver`) gives batches of runs to an executor and collects their outcomes.
Workers do not write to the store: they return the archive of each result, and the driver stores it.

The workers of a node share its cache of compiled code (see `wanderlust._numba.cache`). So that they do not all compile
the same functions at the same time, the first one compiles while it holds a lock; a small file in the cache then tells
the others that they only need to load.
"""

from __future__ import annotations

import hashlib
import queue
import socket
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from wanderlust._numba.cache import cache_folder, numba_version, source_hash
from wanderlust.core.errors import WanderlustError
from wanderlust.core.files import locked
from wanderlust.experiments.run import Run, RunCancelled
from wanderlust.experiments.store import Sealed, seal


class TaskResult(NamedTuple):
    """What a run ended with: a result, an error, or nothing because its worker was lost."""

    run: Run
    sealed: Sealed | None = None
    seconds: float = 0.0
    error: str = ""
    """What went wrong; empty if there is a result, if the run was cancelled, or if a loss is not its fault."""
    trace: str = ""
    """The traceback of the first cause; empty for a `WanderlustError` without a cause, whose message is enough."""
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

    def submit(self, batch: Sequence[Run]) -> None:
        """Start to execute runs, one after the other."""

    def collect(self, timeout: float) -> list[TaskResult]:
        """Return outcomes that arrived since the last call; wait at most `timeout` seconds for the first."""

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""


def execute(
    run: Run, should_stop: Callable[[], bool] = lambda: False, started: Callable[[], None] | None = None
) -> TaskResult:
    """Execute one run; every error becomes an outcome, also `SystemExit`, with which a thread would end silently.

    With `started`, the explorer is compiled before, and the function is called when the run itself starts.
    """
    try:
        if started is not None:
            compile_once(run)
            started()
        start = time.perf_counter()
        result = run.train(should_stop)
        seconds = time.perf_counter() - start
        # A worker process reads the hashes of the code itself: other code gives another key, which the driver refuses.
        return TaskResult(run, seal(run, result, seconds), seconds)
    except RunCancelled:
        return TaskResult(run)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # Ctrl-C, or Ray cancels the run.
        return failed(run, error)


class TimeLimitReached(BaseException):
    """A run takes longer than the time limit; not an `Exception`, which code of the user may handle."""


def failed(run: Run, error: BaseException) -> TaskResult:
    """Return the outcome of a run that raised an error."""
    expected = isinstance(error, WanderlustError | TimeLimitReached)
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        message, expected = f"the run needs more memory than there is ({type(error).__name__}: {error}).", True
    if expected and error.__cause__ is None:
        return TaskResult(run, error=message)
    return TaskResult(run, error=message, trace="".join(traceback.format_exception(first_cause(error))))


def first_cause(error: BaseException) -> BaseException:
    """Return the error that an error was raised from: one of the user's code, where there is one."""
    return error if error.__cause__ is None else first_cause(error.__cause__)


SECONDS_TO_STOP = 5.0
"""How long runs may take to stop when they are cancelled."""
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
    name = f"{_PREFIX}{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"
    marker = None if folder is None else folder.path / name
    if folder is None or marker is None or marker.exists():
        run.train()
    else:
        with locked(folder.path / _LOCK):
            run.train()
            marker.touch()
    _compiled.add(what)


class ThreadExecutor:
    """Threads of this process; each outcome is available as soon as its run ends.

    The compiled loop releases the GIL, so threads use all cores, and they share compiled code and worlds.
    """

    def __init__(self, jobs: int) -> None:
        self.name = "this machine"
        # The threads go on while the driver waits for the disk.
        self.batch_seconds = 0.25
        self.slots = jobs
        self._stop = threading.Event()
        self._tasks: queue.SimpleQueue[Sequence[Run]] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[TaskResult] = queue.SimpleQueue()
        self._unfinished = 0
        self._threads: list[threading.Thread] = []

    def room(self) -> int:
        """Return how many more batches should be submitted now: one waits for each thread."""
        return 2 * self.slots - self._tasks.qsize() - min(self._unfinished, self.slots)

    def submit(self, batch: Sequence[Run]) -> None:
        """Start to execute runs, one after the other."""
        self._unfinished += len(batch)
        self._tasks.put(batch)
        if len(self._threads) < self.slots:
            self._threads.append(threading.Thread(target=self._work, name=f"run-{len(self._threads)}", daemon=True))
            self._threads[-1].start()

    def collect(self, timeout: float) -> list[TaskResult]:
        """Return outcomes that arrived since the last call; wait at most `timeout` seconds for the first."""
        outcomes: list[TaskResult] = []
        try:
            outcomes.append(self._outcomes.get(timeout=timeout))
            while True:
                outcomes.append(self._outcomes.get_nowait())
        except queue.Empty:
            self._unfinished -= len(outcomes)
            return outcomes

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""
        self._stop.set()
        for _ in self._threads:
            self._tasks.put(())
        deadline = time.monotonic() + SECONDS_TO_STOP
        for thread in self._threads:  # One that hangs ends with the process.
            thread.join(max(deadline - time.monotonic(), 0.0))
        return self.collect(0.0)

    def _work(self) -> None:
        while batch := self._tasks.get():
            for run in batch:
                self._outcomes.put(TaskResult(run) if self._stop.is_set() else execute(run, self._stop.is_set))
