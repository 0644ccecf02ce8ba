"""Which runs are executed next, and how many of them together.

Long runs come first, each alone: the last ones to finish are then short, and no short run waits behind a long one in
the same batch. Short runs are put together until a batch takes long enough that scheduling it does not matter. Near
the end, batches become smaller, so that all workers finish at about the same time. A run that was lost with its worker
is executed alone, so that it cannot take others with it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from wanderlust.experiments.execute import estimate
from wanderlust.experiments.execute.tasks import Task
from wanderlust.experiments.run import Run

MAX_BATCH = 200
_LOSSES_WITHOUT_BLAME = 10
"""How often a run may be lost for reasons that are not its own, before one of them counts as its own."""
_BATCHES_PER_SLOT = 3
"""Number of batches per slot into which the remaining runs are divided at least."""
_RUNS_TO_MEASURE = 20
"""Number of finished runs from which the measured time corrects the estimate."""


class Batches:
    """The runs that are not finished."""

    def __init__(self, runs: Iterable[Run], batch_seconds: float) -> None:
        self._batch_seconds = batch_seconds
        estimated = sorted(((estimate.seconds(run), run) for run in runs), key=lambda pair: pair[0], reverse=True)
        self._queue: deque[tuple[float, Run]] = deque(estimated)
        self._waiting_seconds = sum(seconds for seconds, _ in estimated)
        self._suspects: deque[Run] = deque()
        self._losses: dict[Run, int] = {}
        self._submitted: dict[Run, float] = {}
        self._estimated = self._measured = 0.0
        self._n_measured = 0

    @property
    def unfinished(self) -> int:
        """The number of runs that are neither done nor failed."""
        return len(self._queue) + len(self._suspects) + len(self._submitted)

    @property
    def submitted(self) -> int:
        """The number of runs that were given to the executor and are not finished."""
        return len(self._submitted)

    def next(self, slots: int) -> list[Task]:
        """Return the runs of the next batch; empty if none is waiting."""
        if self._suspects:
            run = self._suspects.popleft()
            self._submitted[run] = 0.0
            return [Task(run, run.code)]
        scale = self._measured / self._estimated if self._n_measured >= _RUNS_TO_MEASURE else 1.0
        share = self._waiting_seconds / (_BATCHES_PER_SLOT * max(slots, 1))
        limit = min(self._batch_seconds / max(scale, 1e-6), share)
        batch: list[Task] = []
        total = 0.0
        while self._queue and len(batch) < MAX_BATCH and (not batch or total + self._queue[0][0] <= limit):
            seconds, run = self._queue.popleft()
            total += seconds
            self._submitted[run] = seconds
            batch.append(Task(run, run.code))
        self._waiting_seconds -= total
        return batch

    def finish(self, run: Run, seconds: float = 0.0) -> None:
        """Count a run as finished; `seconds` is the measured time, 0 if it has no result."""
        expected = self._submitted.pop(run, 0.0)
        if seconds > 0.0 and expected > 0.0:
            self._estimated += expected
            self._measured += seconds
            self._n_measured += 1

    def lose(self, run: Run, *, blame: bool, max_tries: int) -> bool:
        """Put a run whose worker ended back, and return True; return False if it was lost too often.

        `blame` tells whether the run itself may have ended its worker.
        """
        losses = self._losses.get(run, 0) + (_LOSSES_WITHOUT_BLAME if blame else 1)
        self._losses[run] = losses
        if losses >= max_tries * _LOSSES_WITHOUT_BLAME:
            return False
        expected = self._submitted.pop(run, 0.0)
        if blame:
            self._suspects.append(run)
        else:
            self._queue.append((expected, run))
            self._waiting_seconds += expected
        return True
