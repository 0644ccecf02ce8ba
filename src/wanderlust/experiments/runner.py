"""Many runs at a time: what is stored already is kept, the rest is made, and one that fails stops none of the others.

Runs are threads. The compiled loop of a run lets go of Python's lock, so threads keep every core busy, and they share
the compiled code and the worlds. Processes were not faster: on two cores that were busy with other work as well, two
threads took 25 to 32 s for 1,440 short runs and 23 to 26 s for 72 long ones, two processes 29 to 30 s and 23 to 25 s.

Runs in environments that Python steps hold that lock most of the time, so they are processes, unless they are so short
that starting those takes longer: on the same two cores, two threads took 67 s for eight runs of 60,000 steps in an 8×8
FrozenLake, and 19 s for eight of 20,000, two processes 51 s and 24 s. The results are the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile, WanderlustError, check_integer
from wanderlust.experiments import estimate
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.run import KINDS, Run
from wanderlust.experiments.store import CannotWrite, Store

WORTH_PROCESSES = 20.0
"""Seconds of work, by estimate, from which on it pays to start processes."""


@dataclass(frozen=True)
class Failure:
    """A run that raised an error."""

    run: Run
    error: str
    trace: str
    """Where it happened, unless the error is one that a user's input explains."""

    def __str__(self) -> str:
        return f"{self.error}\n  again: {self.run.command}"


@dataclass
class Outcome:
    """What became of the runs."""

    kept: int = 0
    """How many were there already."""
    made: int = 0
    failures: list[Failure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Sentences on stored files that could not be used."""
    seconds: float = 0.0


def run_all(runs: Iterable[Run], store: Store, *, jobs: int | None = None, progress: Progress | None = None) -> Outcome:
    """Make what is not in the store yet, the longest runs first.

    Interrupted, it waits for the runs under way to notice, at most some seconds, and raises `KeyboardInterrupt`.
    `CannotWrite` stops it as well. All that was finished is in the store by then.
    """
    jobs = check_integer("jobs", jobs if jobs is not None else os.cpu_count() or 1, low=1)
    progress = progress or Progress(quiet=True)
    outcome, begun = Outcome(), time.perf_counter()
    store.prepare()
    missing = [run for run in dict.fromkeys(runs) if not _is_kept(run, store, outcome)]
    missing.sort(key=estimate.seconds, reverse=True)
    for problem in outcome.problems:
        progress.say(problem)
    missing = _compiled(missing, outcome, progress)
    with progress.over(missing, jobs, kept=outcome.kept):
        for kind in KINDS:
            _make([run for run in missing if run.kind == kind], store, jobs, outcome, progress)
    outcome.seconds = time.perf_counter() - begun
    return outcome


def _is_kept(run: Run, store: Store, outcome: Outcome) -> bool:
    """Tell whether a run's result is stored; a damaged one is moved aside first."""
    try:
        found = store.load(run)
    except BadFile as error:
        outcome.problems.append(f"{error} Moved to {store.set_aside(run).name}; the run is made again.")
        return False
    outcome.kept += found is not None
    return found is not None


def _compiled(runs: list[Run], outcome: Outcome, progress: Progress) -> list[Run]:
    """Compile every explorer, one after the other, by a step of a run of each; return the runs that can go on.

    Trap: compiling sets options of numba that all threads share.
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
            outcome.failures.append(_failure(run, error))
            progress.say(f"failed: {outcome.failures[-1]}")
    return [run for run in runs if run not in failed]


def _make(runs: list[Run], store: Store, jobs: int, outcome: Outcome, progress: Progress) -> None:
    """Make runs in a pool of threads or processes; only this thread counts and prints."""
    pool, stop, make = _pool_for(runs, store, jobs)
    waiting: dict[Future[float], Run] = {pool.submit(make, run): run for run in runs}
    try:
        while waiting:
            finished, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                run = waiting.pop(future)
                try:
                    future.result()
                    outcome.made += 1
                except CannotWrite:
                    raise
                except Exception as error:
                    outcome.failures.append(_failure(run, error))
                    progress.say(f"failed: {outcome.failures[-1]}")
                progress.finished(run)
            progress.tick()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _pool_for(runs: list[Run], store: Store, jobs: int) -> tuple[Executor, Any, Callable[[Run], float]]:
    """Return who makes the runs, the event that calls them off, and how one is made."""
    in_python = bool(runs) and runs[0].kind == "environment"
    if in_python and jobs > 1 and len(runs) > 1 and sum(map(estimate.seconds, runs)) > WORTH_PROCESSES:
        # A forked process could inherit locks that a thread of this one holds.
        context = multiprocessing.get_context("spawn")
        shared = context.Event()
        workers = min(jobs, len(runs))
        pool = ProcessPoolExecutor(workers, context, initializer=_begin_worker, initargs=(shared, store.folder))
        return pool, shared, _make_in_worker
    stop = threading.Event()
    threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run")
    return threads, stop, lambda run: _make_one(run, store, stop.is_set)


def _make_one(run: Run, store: Store, stopped: Callable[[], bool]) -> float:
    """Make a run and store its result; return how long it took."""
    begun = time.perf_counter()
    result = run.train(stopped)
    seconds = time.perf_counter() - begun
    store.save(run, result, seconds)
    return seconds


_worker: tuple[Any, Path] | None = None
"""In a process that makes runs: the event that calls them off, and the store's folder."""


def _begin_worker(stop: Any, folder: Path) -> None:
    """Be told what to do with every run. Ctrl-C is the parent's business, which then sets the event."""
    global _worker
    _worker = (stop, folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _make_in_worker(run: Run) -> float:
    """Make a run in a process of the pool."""
    assert _worker is not None
    stop, folder = _worker
    try:
        return _make_one(run, Store(folder), stop.is_set)
    except WanderlustError as error:
        error.agent = None  # It would have to travel with the error, and nobody asks for it.
        raise


def _failure(run: Run, error: Exception) -> Failure:
    known = isinstance(error, WanderlustError)
    sentence = str(error) if known else f"{type(error).__name__}: {error}"
    return Failure(run, sentence, "" if known else "".join(traceback.format_exception(error)))
