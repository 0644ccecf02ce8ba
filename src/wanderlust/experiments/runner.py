"""Execute many runs in parallel: skip those already stored, and continue after a failure.

Runs in worlds use threads. The compiled loop releases the GIL, so threads use all cores, and they share compiled code
and worlds. Processes were not faster: on two cores with other load, two threads took 25 to 32 s for 1,440 short runs
and 23 to 26 s for 72 long ones, two processes 29 to 30 s and 23 to 25 s.

Runs in Gymnasium environments hold the GIL most of the time, so they use processes, unless starting those would take
longer than it saves: on the same machine, two threads took 67 s for eight runs of 60,000 steps in an 8×8 FrozenLake,
and 19 s for eight of 20,000, two processes 51 s and 24 s. The results are the same.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wanderlust.core.errors import InvalidSetting, WanderlustError, check_integer
from wanderlust.experiments import estimate
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.run import KINDS, Run
from wanderlust.experiments.store import CannotWrite, Damaged, Store

MIN_SECONDS_FOR_PROCESSES = 20.0
"""Estimated seconds of work from which processes are used instead of threads."""
Execute = Callable[[Run, tuple[str, ...]], float]
"""Executes a run whose code has the given hashes; returns the seconds it took."""


@dataclass(frozen=True)
class Failure:
    """A run that raised an error."""

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
    runs: Iterable[Run], store: Store, *, jobs: int | None = None, progress: Progress | None = None
) -> RunSummary:
    """Execute the runs that are not in the store, the longest first.

    On an interrupt it waits a few seconds for the active runs to stop, then raises `KeyboardInterrupt`, and on SIGTERM
    `SystemExit`. `CannotWrite` stops it as well. In all cases every finished run is in the store.
    """
    jobs = check_integer("jobs", jobs if jobs is not None else os.cpu_count() or 1, low=1)
    progress = progress or Progress(quiet=True)
    summary, start = RunSummary(), time.perf_counter()
    store.prepare()
    with _exit_on_sigterm(progress):
        _run_missing(runs, store, jobs, summary, progress)
    summary.seconds = time.perf_counter() - start
    return summary


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


def _run_missing(runs: Iterable[Run], store: Store, jobs: int, summary: RunSummary, progress: Progress) -> None:
    missing = [run for run in dict.fromkeys(runs) if not _is_stored(run, store, summary)]
    missing.sort(key=estimate.seconds, reverse=True)
    for problem in summary.problems:
        progress.message(problem)
    missing = _compile_explorers(missing, summary, progress)
    with progress.track(missing, jobs, stored=summary.stored):
        for kind in KINDS:
            _execute([run for run in missing if run.kind == kind], store, jobs, summary, progress)


def _is_stored(run: Run, store: Store, summary: RunSummary) -> bool:
    """Return whether a run's result is stored; rename a damaged file, leave files of other versions and kinds."""
    try:
        stored = store.load(run, summary.problems)
    except Damaged as error:
        summary.problems.append(f"{error} Moved to {store.move_damaged(run).name}; the run is executed again.")
        return False
    summary.stored += stored is not None
    return stored is not None


def _compile_explorers(runs: list[Run], summary: RunSummary, progress: Progress) -> list[Run]:
    """Compile each explorer by one step of one of its runs; return the runs that did not fail.

    This is sequential because compiling sets numba options that all threads share.
    """
    ready: set[str] = set()
    failed: set[Run] = set()
    for run in runs:
        if run.explorer in ready:
            continue
        try:
            run.train(steps=1)
            ready.add(run.explorer)
        except Exception as error:
            failed.add(run)
            summary.failures.append(_failure(run, error))
            progress.message(f"failed: {summary.failures[-1]}")
    return [run for run in runs if run not in failed]


def _execute(runs: list[Run], store: Store, jobs: int, summary: RunSummary, progress: Progress) -> None:
    """Execute runs in a pool of threads or processes; only this thread updates `summary` and prints."""
    pool, stop, execute = _create_pool(runs, store, jobs)
    pending: dict[Future[float], Run] = {pool.submit(execute, run, run.code): run for run in runs}
    try:
        while pending:
            finished, _ = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                run = pending.pop(future)
                try:
                    future.result()
                    summary.executed += 1
                except CannotWrite:
                    raise
                except Exception as error:
                    summary.failures.append(_failure(run, error))
                    progress.message(f"failed: {summary.failures[-1]}")
                progress.run_finished(run)
            progress.refresh()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _create_pool(runs: list[Run], store: Store, jobs: int) -> tuple[Executor, Any, Execute]:
    """Return a pool, the event that cancels its runs, and the function that executes one run in it."""
    holds_gil = bool(runs) and runs[0].kind == "environment"
    if holds_gil and jobs > 1 and len(runs) > 1 and sum(map(estimate.seconds, runs)) > MIN_SECONDS_FOR_PROCESSES:
        # A forked process could inherit locks that a thread of this one holds.
        context = multiprocessing.get_context("spawn")
        shared_stop = context.Event()
        workers = min(jobs, len(runs))
        pool = ProcessPoolExecutor(workers, context, initializer=_init_worker, initargs=(shared_stop, store.folder))
        return pool, shared_stop, _execute_in_worker
    stop = threading.Event()
    threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run")
    return threads, stop, lambda run, code: _execute_run(run, code, store, stop.is_set)


def _execute_run(run: Run, code: tuple[str, ...], store: Store, should_stop: Callable[[], bool]) -> float:
    """Execute a run and store its result; return the seconds it took."""
    start = time.perf_counter()
    result = run.train(should_stop)
    seconds = time.perf_counter() - start
    # A worker process reads the hash of the code itself: a later version of the code would have another key.
    if run.code != code:
        raise InvalidSetting("the code of the explorer or the environment was edited during the run; repeat the run.")
    store.save(run, result, seconds)
    return seconds


_worker: tuple[Any, Path] | None = None
"""In a worker process: the event that cancels its runs, and the store's folder."""


def _init_worker(stop: Any, folder: Path) -> None:
    """Initialise a worker process. It ignores Ctrl-C, which the parent handles by setting the event."""
    global _worker
    _worker = (stop, folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Wait until the parent process has ended, even if it was killed, and end this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _execute_in_worker(run: Run, code: tuple[str, ...]) -> float:
    """Execute a run in a worker process."""
    assert _worker is not None
    stop, folder = _worker
    try:
        return _execute_run(run, code, Store(folder), stop.is_set)
    except WanderlustError as error:
        error.agent = None  # The parent does not use it, and sending it is expensive.
        raise


def _failure(run: Run, error: Exception) -> Failure:
    expected = isinstance(error, WanderlustError)
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    return Failure(run, message, "" if expected else "".join(traceback.format_exception(error)))
