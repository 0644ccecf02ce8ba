"""Execute many runs in parallel: skip those already stored, and continue after a failure.

The driver, this module, plans batches, gives them to an executor, stores the results and repeats runs whose worker was
lost. It alone writes to the store.

On this machine, runs in worlds use threads. The compiled loop releases the GIL, so threads use all cores, and they
share compiled code and worlds; processes were not faster. Threads cannot be killed, so a time limit needs processes.
Runs in Gymnasium environments hold the GIL most of the time, so they use processes, unless starting those would take
longer than it saves. docs/scaling.md has the measurements. The results are the same.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wanderlust.core.errors import counted
from wanderlust.experiments.execute import LOCAL, Execution, estimate
from wanderlust.experiments.execute.batches import Batches
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.execute.tasks import Executor, Task, TaskResult, failed
from wanderlust.experiments.run import KINDS, Run
from wanderlust.experiments.status import StatusFile
from wanderlust.experiments.store import Store

__all__ = ["RunSummary", "run_all"]

MIN_SECONDS_FOR_PROCESSES = 20.0
"""Estimated seconds of work from which processes are used instead of threads."""
MAX_TRIES = 3
"""How often a run is executed that was lost with its worker."""
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Failure:
    """A run that raised an error, or that was lost with its worker several times."""

    run: Run
    error: str
    trace: str
    """The traceback; empty for a `WanderlustError`, whose message is enough."""

    def __str__(self) -> str:
        return f"{self.error}\n  repeat: {self.run.command}"


@dataclass
class RunSummary:
    """What `run_all` did."""

    stored: int = 0
    """Number of runs that were stored before."""
    executed: int = 0
    failures: list[Failure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One sentence for each unusable stored file."""
    seconds: float = 0.0


def run_all(
    runs: Iterable[Run],
    store: Store,
    execution: Execution | None = None,
    *,
    progress: Progress | None = None,
    name: str = "",
    **options: Any,
) -> RunSummary:
    """Execute the runs that are not in the store, the longest first.

    `options` are fields of `Execution`: `on`, `jobs`, `time_limit`, `ship_package`. With a `name`, `wanderlust status`
    shows the progress.

    On an interrupt it waits a few seconds for the active runs to stop, then raises `KeyboardInterrupt`, and on SIGTERM
    `SystemExit`. `CannotWrite` stops it as well. In all cases every finished run is in the store.
    """
    driver = _Driver(store, progress or Progress(quiet=True), replace(execution or Execution(), **options))
    start = time.perf_counter()
    store.prepare()
    with _exit_on_sigterm(driver.progress):
        driver.run(runs, name)
    driver.summary.seconds = time.perf_counter() - start
    return driver.summary


def missing_runs(runs: Iterable[Run], store: Store, summary: RunSummary) -> list[Run]:
    """Return the distinct runs that are not stored intact; count the others in the summary."""
    distinct = list(dict.fromkeys(runs))
    stored = store.intact_keys((run.key for run in distinct), summary.problems)
    missing = [run for run in distinct if run.key not in stored]
    summary.stored += len(distinct) - len(missing)
    return missing


class _Driver:
    """Executes runs; only its thread stores results, updates the summary and prints."""

    def __init__(self, store: Store, progress: Progress, execution: Execution) -> None:
        self.store, self.progress, self.execution, self.summary = store, progress, execution, RunSummary()
        self._status: StatusFile | None = None
        self._unusable: set[str] = set()
        """Keys of missing runs whose stored bytes are damaged."""

    def run(self, runs: Iterable[Run], name: str) -> None:
        runs = list(dict.fromkeys(runs))
        missing = missing_runs(runs, self.store, self.summary)
        self._unusable = {run.key for run in missing if self.store.has(run.key)}
        for problem in self.summary.problems:
            self.progress.message(problem)
        self._status = StatusFile(self.store, name, [run.key for run in runs], self.execution.on)
        self._report("running", force=True)
        state = "interrupted"
        try:
            if self.execution.on == LOCAL:
                self._run_locally(missing)
            elif missing:
                self._execute(missing, self._ray_executor())
            state = "finished"
        except KeyboardInterrupt as interrupt:
            left = len(missing) - self.summary.executed - len(self.summary.failures)
            said = f"{counted(left, 'run')} left; finished runs are stored, the same command continues."
            interrupt.args = (f"interrupted; {said}",)
            raise
        finally:
            self._report(state, force=True)

    def _run_locally(self, missing: list[Run]) -> None:
        jobs = self.execution.jobs or os.cpu_count() or 1
        if self.execution.time_limit is None:
            missing = self._compile_explorers(missing)
        # Each kind of run has an executor of its own, so both are shown as one.
        with self.progress.track(missing, jobs, stored=self.summary.stored):
            for kind in KINDS:
                if selected := [run for run in missing if run.kind == kind]:
                    self._drive(selected, self._local_executor(selected, jobs))

    def _local_executor(self, runs: Sequence[Run], jobs: int) -> Executor:
        from wanderlust.experiments.execute.processes import ProcessExecutor
        from wanderlust.experiments.execute.threads import ThreadExecutor

        jobs = min(jobs, len(runs))
        holds_gil = runs[0].kind == "environment"
        is_long = holds_gil and jobs > 1 and sum(map(estimate.seconds, runs)) > MIN_SECONDS_FOR_PROCESSES
        if self.execution.time_limit is not None or is_long:
            return ProcessExecutor(jobs, self.execution.time_limit)
        return ThreadExecutor(jobs)

    def _ray_executor(self) -> Executor:
        from wanderlust.experiments.execute.ray_cluster import RayExecutor

        return RayExecutor(self.execution, message=self.progress.message)

    def _compile_explorers(self, runs: list[Run]) -> list[Run]:
        """Compile each explorer by one step of one of its runs; return the runs that did not fail.

        This is sequential because compiling sets numba options that all threads share.
        """
        ready: set[str] = set()
        bad: set[Run] = set()
        for run in sorted(runs, key=estimate.seconds, reverse=True):
            if run.explorer in ready:
                continue
            self._report("running")
            try:
                run.train(steps=1)
                ready.add(run.explorer)
            except Exception as error:
                bad.add(run)
                self._fail(failed(Task(run, ()), error))
        return [run for run in runs if run not in bad]

    def _execute(self, runs: list[Run], executor: Executor) -> None:
        with self.progress.track(runs, executor.slots, stored=self.summary.stored, place=executor.name):
            self._drive(runs, executor)

    def _drive(self, runs: Sequence[Run], executor: Executor) -> None:
        """Give batches to an executor and handle their outcomes, until every run is done or has failed."""
        batches = Batches(runs, executor.batch_seconds)
        try:
            while batches.unfinished:
                for _ in range(executor.room()):
                    if not (batch := self._next_batch(batches, executor.slots)):
                        break
                    executor.submit(batch)
                if batches.unfinished:
                    self._handle(executor.collect(_POLL_SECONDS), batches)
                self.progress.refresh()
                self._report("running", running=min(batches.submitted, executor.slots))
        finally:
            self._add(executor.close())

    def _next_batch(self, batches: Batches, slots: int) -> list[Task]:
        """Return the next runs that are not stored; another process may have stored some meanwhile."""
        while batch := batches.next(slots):
            keys = {task.run.key for task in batch} - self._unusable
            elsewhere = [task for task in batch if task.run.key in keys and self.store.has(task.run.key)]
            for task in elsewhere:
                batches.finish(task.run)
                self.summary.stored += 1
                self.progress.run_finished(task.run)
            if remaining := [task for task in batch if task not in elsewhere]:
                return remaining
        return []

    def _handle(self, outcomes: Sequence[TaskResult], batches: Batches) -> None:
        # Results are stored first: they are lost if anything else fails.
        self._add(outcomes)
        for outcome in outcomes:
            run = outcome.task.run
            if outcome.lost and batches.lose(run, blame=bool(outcome.error), max_tries=MAX_TRIES):
                continue
            batches.finish(run, outcome.seconds)
            if outcome.sealed is None:
                error = outcome.error or "the workers that were to execute the run ended before it started."
                tries = f" This happened {MAX_TRIES} times." if outcome.lost else ""
                self._fail(outcome._replace(error=f"{error}{tries}"))
            self.progress.run_finished(run, is_failed=outcome.sealed is None)

    def _add(self, outcomes: Sequence[TaskResult]) -> None:
        results = [outcome.sealed for outcome in outcomes if outcome.sealed is not None]
        self.store.add(results)
        self.summary.executed += len(results)

    def _fail(self, outcome: TaskResult) -> None:
        failure = Failure(outcome.task.run, outcome.error, outcome.trace)
        self.summary.failures.append(failure)
        self.progress.message(f"failed: {failure}")
        if self._status is not None:
            self._status.failure(failure.run.key, failure.error, failure.run.command)

    def _report(self, state: str, *, running: int = 0, force: bool = False) -> None:
        if self._status is not None:
            rate, left = self.progress.pace()
            self._status.report(state, running=running, rate=rate, seconds_left=left, force=force)


@contextlib.contextmanager
def _exit_on_sigterm(progress: Progress) -> Iterator[None]:
    """Make SIGTERM raise `SystemExit` in this context, unless it is handled already or this is not the main thread."""
    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    code = 128 + signal.SIGTERM
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(code))
    try:
        yield
    except SystemExit as error:
        if error.code == code:
            progress.message("terminated; finished runs are stored.")
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
