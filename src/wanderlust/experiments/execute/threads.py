"""Threads of this process.

The compiled loop releases the GIL, so threads use all cores, and they share compiled code and worlds.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence

from wanderlust.experiments.execute.tasks import Task, TaskResult, execute


class ThreadExecutor:
    """A pool of threads; each outcome is available as soon as its run ends."""

    def __init__(self, jobs: int) -> None:
        self.name = "this machine"
        # The threads go on while the driver waits for the disk.
        self.batch_seconds = 0.25
        self.slots = jobs
        self._stop = threading.Event()
        self._tasks: queue.SimpleQueue[Sequence[Task]] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[TaskResult] = queue.SimpleQueue()
        self._unfinished = 0
        self._threads: list[threading.Thread] = []

    def room(self) -> int:
        """Return how many more batches should be submitted now: one waits for each thread."""
        return 2 * self.slots - self._tasks.qsize() - min(self._unfinished, self.slots)

    def submit(self, batch: Sequence[Task]) -> None:
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
            pass
        self._unfinished -= len(outcomes)
        return outcomes

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""
        self._stop.set()
        for _ in self._threads:
            self._tasks.put(())
        for thread in self._threads:
            thread.join()
        outcomes = []
        while not self._outcomes.empty():
            outcomes.append(self._outcomes.get_nowait())
        return outcomes

    def _work(self) -> None:
        while batch := self._tasks.get():
            for task in batch:
                self._outcomes.put(TaskResult(task) if self._stop.is_set() else execute(task, self._stop.is_set))
