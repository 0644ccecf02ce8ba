"""Processes of this machine: for runs that hold the GIL, that may hang, or that may end their process.

Each worker gets one batch at a time through a pipe and returns each outcome as soon as its run ends. A worker that
ends, or that is killed because its run takes longer than the time limit, is replaced. The run it was executing is
lost; the rest of its batch is given to another worker.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from wanderlust.experiments.execute.driver import SECONDS_TO_COMPILE, SECONDS_TO_STOP, TaskResult, execute
from wanderlust.experiments.run import Run


class ProcessExecutor:
    """A pool of worker processes that survives the death of any of them."""

    def __init__(self, jobs: int, time_limit: float | None = None) -> None:
        self.name = "this machine"
        self.batch_seconds = 0.2
        self.slots = jobs
        self._time_limit = time_limit
        # A forked process could inherit locks that a thread of this one holds.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._workers: list[_Worker] = []

    def room(self) -> int:
        """Return how many more batches should be submitted now."""
        return self.slots - sum(worker.busy for worker in self._workers)

    def submit(self, batch: Sequence[Run]) -> None:
        """Start to execute runs, one after the other."""
        idle = next((worker for worker in self._workers if not worker.busy), None)
        if idle is None:
            idle = _Worker(self._context, self._stop)
            self._workers.append(idle)
        idle.start(batch)

    def collect(self, timeout: float) -> list[TaskResult]:
        """Return outcomes that arrived since the last call; wait at most `timeout` seconds for the first."""
        busy = [worker for worker in self._workers if worker.busy]
        if not busy:
            return []
        if self._time_limit is not None:
            until = min(worker.deadline(self._time_limit) for worker in busy) - time.monotonic()
            timeout = max(min(timeout, until), 0.0)
        wait([each for worker in busy for each in (worker.connection, worker.process.sentinel)], timeout)
        outcomes = [outcome for worker in busy for outcome in worker.outcomes(self._time_limit)]
        self._workers = [worker for worker in self._workers if not worker.ended]
        return outcomes

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""
        self._stop.set()
        outcomes: list[TaskResult] = []
        deadline = time.monotonic() + SECONDS_TO_STOP
        while any(worker.busy for worker in self._workers) and time.monotonic() < deadline:
            outcomes += self.collect(0.1)
        for worker in self._workers:
            worker.end()
        return outcomes


class _Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, context: multiprocessing.context.SpawnContext, stop: Any) -> None:
        self.connection, theirs = context.Pipe()
        # A module in the current folder is found there, also if the folder was changed since Python started.
        path = [folder or os.getcwd() for folder in sys.path]
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, stop, path), daemon=True)
        with _without_main_module():
            self.process.start()
        theirs.close()
        self.started = time.monotonic()
        self.ended = False
        self._batch: deque[Run] = deque()
        self._compiled = False

    @property
    def busy(self) -> bool:
        """Whether the worker has runs to execute."""
        return bool(self._batch)

    def deadline(self, time_limit: float) -> float:
        """Return when the current run has taken too long; compilation does not count."""
        return self.started + time_limit + (0.0 if self._compiled else SECONDS_TO_COMPILE)

    def start(self, batch: Sequence[Run]) -> None:
        """Give runs to the worker."""
        self._batch.extend(batch)
        self.started = time.monotonic()
        with contextlib.suppress(OSError):  # The worker has ended; `outcomes` finds out.
            self.connection.send(batch)

    def outcomes(self, time_limit: float | None) -> list[TaskResult]:
        """Return what has arrived; if the worker has ended or the current run takes too long, also that."""
        arrived: list[TaskResult] = []
        try:
            while self._batch and self.connection.poll():
                arrived += self._receive()
        except (EOFError, OSError):
            return [*arrived, *self._lost("")]
        if self._batch and not self.process.is_alive() and not self.connection.poll():
            return [*arrived, *self._lost("")]
        if self._batch and time_limit is not None and time.monotonic() > self.deadline(time_limit):
            self.process.kill()
            return [*arrived, *self._lost(f"the run took longer than the time limit of {time_limit:g} s.")]
        return arrived

    def _receive(self) -> list[TaskResult]:
        message = self.connection.recv()
        self.started = time.monotonic()
        self._compiled = message is None
        return [] if message is None else [TaskResult(self._batch.popleft(), *message)]

    def _lost(self, reason: str) -> list[TaskResult]:
        """Return the outcomes of a worker that has ended: its current run is lost, the others were not started."""
        self.process.join()
        current, *others = self._batch
        self._batch.clear()
        self.ended = True
        self.connection.close()
        how = reason or f"the worker process {exit_reason(self.process.exitcode)}."
        first = TaskResult(current, error=how, lost=not reason)
        return [first, *(TaskResult(run, lost=True) for run in others)]

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        if self.busy:
            self.process.kill()
        self.process.join(SECONDS_TO_STOP)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Hide the program from a new process, which would otherwise execute a script that has no `__main__` guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def exit_reason(code: int | None) -> str:
    """Return how a process ended, for a message."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was ended by {name}" + (", perhaps because memory was short" if name == "SIGKILL" else "")
    return f"ended with exit code {code}"


def _serve(connection: Connection, stop: Any, path: list[str]) -> None:
    """Execute the batches that arrive, in a worker process, until the parent closes the connection."""
    sys.path[:] = path
    # The parent handles Ctrl-C, by setting the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    while True:
        try:
            batch = connection.recv()
        except (EOFError, OSError):
            return
        for run in batch:
            # None: everything is imported and compiled, and the run starts.
            outcome = execute(run, stop.is_set, started=lambda: connection.send(None))
            connection.send(outcome[1:4])


def _exit_with_parent() -> None:
    """Wait until the parent process has ended, even if it was killed, and end this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
