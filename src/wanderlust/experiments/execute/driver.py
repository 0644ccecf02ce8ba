"""Execute many runs in parallel: skip those already stored, and continue after a failure.

The driver, this module, plans batches, gives them to an executor, stores the results and repeats runs whose worker was
lost. It alone writes to the store: workers return the archive of each result.

On this machine, runs in worlds use threads. The compiled loop releases the GIL, so threads use all cores, and they
share compiled code and worlds; processes were not faster. Threads cannot be killed, so a time limit and code of the
user, which may hang or exit, need processes: each thread has one. Runs in Gymnasium environments hold the GIL most of
the time, so they use processes, unless starting those would take longer than it saves. docs/scaling.md has the
measurements. The results are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any, NamedTuple

from wanderlust._numba.cache import cache_folder, numba_version, source_hash
from wanderlust.core.errors import ClusterLost, WanderlustError, check_instance, check_list, counted
from wanderlust.core.files import locked
from wanderlust.core.user_code import modules_named
from wanderlust.experiments.execute import LOCAL, Execution
from wanderlust.experiments.execute.progress import (
    FailedRun,
    Progress,
    StatusFile,
    estimated_seconds,
    failures,
    format_duration,
)
from wanderlust.experiments.run import Run, RunCancelled, source_files
from wanderlust.experiments.store import Sealed, Store, seal

if TYPE_CHECKING:
    from wanderlust.experiments.execute.ray_cluster import RayExecutor

__all__ = ["RunSummary", "run_all"]

MIN_SECONDS_FOR_PROCESSES = 20.0
"""Estimated seconds of work from which processes are used instead of threads."""
MAX_TRIES = 3
"""How often a run is executed that was lost with its worker."""
_POLL_SECONDS = 0.5
OTHER_CODE = (
    "the code of the library, of the explorer or of the environment was edited during the run, or a worker has another "
    "version of it; repeat the run."
)


class TaskResult(NamedTuple):
    """What a run ended with: a result, an error, or nothing because its worker was lost."""

    run: Run
    sealed: Sealed | None = None
    error: str = ""
    """What went wrong; empty if there is a result, if the run was cancelled, or if a loss is not its fault."""
    trace: str = ""
    """The traceback of the first cause; empty for a `WanderlustError` without a cause, whose message is enough."""
    lost: bool = False
    """Whether the worker ended before the run did: the run is executed again."""

    def __str__(self) -> str:
        return f"{self.error}\n  repeat: {self.run.command}"


@dataclass
class RunSummary:
    """What `run_all` did."""

    stored: int = 0
    """Number of runs that were stored before."""
    executed: int = 0
    failures: list[TaskResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One sentence for each unusable stored file."""
    seconds: float = 0.0

    def print(self, *, quiet: bool) -> None:
        """Print the failures, and how many runs were executed, unless `quiet`."""
        self.print_failures(quiet=quiet)
        if not quiet:
            print(
                f"{counted(self.executed, 'run')} executed in {format_duration(self.seconds)}, "
                f"{self.stored:,} already stored, {len(self.failures):,} failed"
            )

    def print_failures(self, *, quiet: bool) -> None:
        """Print the failures to the standard error."""
        traces = set()
        for failure in self.failures:
            # A mistake in an explorer often gives every run the same traceback.
            trace = "" if failure.trace in traces else failure.trace
            traces.add(trace)
            # Without --quiet, the progress display has printed the failure already.
            print(f"failed: {failure}\n{trace}" if quiet else trace, end="", file=sys.stderr)


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

    `options` are fields of `Execution`, such as `jobs` and `time_limit`. With a `name`, `wanderlust status` shows the
    progress.

    On an interrupt it waits a few seconds for the active runs to stop, then raises `KeyboardInterrupt`. `CannotWrite`
    stops it as well. In all cases every finished run is in the store.
    """
    check_instance("store", store, Store)
    check_instance("name", name, str)
    progress = Progress(quiet=True) if progress is None else check_instance("progress", progress, Progress)
    execution = Execution() if execution is None else check_instance("execution", execution, Execution)
    distinct = list(dict.fromkeys(check_list("runs", runs, Run)))
    driver = _Driver(distinct, store, replace(execution, **options), progress, name)
    start = time.perf_counter()
    driver.run()
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

    def __init__(self, runs: Sequence[Run], store: Store, execution: Execution, progress: Progress, name: str) -> None:
        store.prepare()
        self.store, self.execution, self.progress = store, execution, progress
        self.summary = RunSummary()
        self._missing = missing_runs(runs, store, self.summary)
        failed_before = {each["key"]: each for each in failures(store.folder)} if execution.skip_failed else {}
        skipped = {run.key: failed_before[run.key] for run in self._missing if run.key in failed_before}
        self._missing = [run for run in self._missing if run.key not in skipped]
        if skipped:
            progress.message(f"{counted(len(skipped), 'run')} skipped, which failed before (--skip-failed)")
        self._unusable = {run.key for run in self._missing if store.has(run.key)}
        """Keys of missing runs whose stored bytes are damaged."""
        keys = [run.key for run in runs]
        self._status = StatusFile(store, name, keys, execution.on, skipped.values())
        self._mistakes: set[str] = set()

    def run(self) -> None:
        for problem in self.summary.problems:
            self.progress.message(problem)
        self._report("running", force=True)
        state = "interrupted"
        try:
            if self.execution.on == LOCAL:
                self._run_locally(self._missing)
            elif self._missing:
                try:
                    self._run_on_ray()
                except ClusterLost as lost:
                    if not self.execution.fallback:
                        raise
                    self.progress.message(f"{str(lost).partition('. ')[0]}; the other runs are executed here.")
                    done = {failure.run for failure in self.summary.failures}
                    others = missing_runs(self._missing, self.store, RunSummary())
                    self._run_locally([run for run in others if run not in done])
            state = "finished"
        except KeyboardInterrupt as interrupt:
            left = len(self._missing) - self.summary.executed - len(self.summary.failures)
            said = f"{counted(left, 'run')} left; finished runs are stored, the same command continues."
            interrupt.args = (f"interrupted; {said}",)
            raise
        finally:
            self._report(state, force=True)

    def _run_locally(self, missing: Sequence[Run]) -> None:
        jobs = self.execution.jobs or os.cpu_count() or 1
        environments = [run for run in missing if run.kind == "environment"]
        is_long = len(environments) > 1 < jobs and sum(map(estimated_seconds, environments)) > MIN_SECONDS_FOR_PROCESSES
        apart = {run for run in missing if self._needs_process(run, is_long=is_long)}
        with self.progress.track(missing, jobs, stored=self.summary.stored):
            # One after the other, because compiling sets numba options that all threads share.
            compiled: set[tuple[str, ...]] = set()
            for run in missing:
                kind = run.explorer, run.kind, str(run.settings.get("replay"))
                if run in apart or kind in compiled:
                    continue
                self._report("running")
                with contextlib.suppress(Exception, SystemExit):  # It is executed again, which gives the same error.
                    run.train(steps=1)
                    compiled.add(kind)
            if missing:
                jobs = min(jobs, len(missing))
                self._drive(missing, LocalExecutor(jobs, apart, self.execution.time_limit))

    def _needs_process(self, run: Run, *, is_long: bool) -> bool:
        """Return whether a run is executed in a process; `is_long` tells that many steps of environments are left."""
        if self.execution.processes is not None or self.execution.time_limit is not None:
            return self.execution.processes is not False
        named = modules_named([run.explorer, run.world, run.encoder_options.get("key")])
        # A module without a file, such as one of a notebook, is only in this process.
        is_of_user = any(module.partition(".")[0] != "wanderlust" and source_files(module) for module in named)
        return is_of_user or (is_long and run.kind == "environment")

    def _run_on_ray(self) -> None:
        from wanderlust.experiments.execute.ray_cluster import RayExecutor

        executor = RayExecutor(self.execution, self._missing, message=self.progress.message)
        with self.progress.track(self._missing, executor.slots, stored=self.summary.stored, place=executor.name):
            self._drive(self._missing, executor)

    def _drive(self, runs: Sequence[Run], executor: LocalExecutor | RayExecutor) -> None:
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
            self._add([_checked(outcome) for outcome in executor.close()])

    def _next_batch(self, batches: Batches, slots: int) -> list[Run]:
        """Return the next runs that are not stored; another process may have stored some meanwhile."""
        self.store.refresh()
        while batch := batches.next(slots):
            remaining = []
            for run in batch:
                if run.key in self._unusable or not self.store.has(run.key):
                    remaining.append(run)
                    continue
                batches.finish(run)
                self.summary.stored += 1
                self.progress.run_finished(run)
            if remaining:
                return remaining
        return []

    def _handle(self, outcomes: Sequence[TaskResult], batches: Batches) -> None:
        outcomes = [_checked(outcome) for outcome in outcomes]
        # Results are stored first: they are lost if anything else fails.
        self._add(outcomes)
        for outcome in outcomes:
            run = outcome.run
            if outcome.lost and batches.lose(run, blame=bool(outcome.error)):
                continue
            batches.finish(run)
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
        self.summary.failures.append(outcome)
        if (mistake := outcome.trace or outcome.error) not in self._mistakes:  # Often, one mistake ends every run.
            self.progress.message(f"failed: {outcome}")
        self._mistakes.add(mistake)
        run = outcome.run
        self._status.failure(FailedRun(key=run.key, error=outcome.error, repeat=run.command, trace=outcome.trace))

    def _report(self, state: str, *, running: int = 0, force: bool = False) -> None:
        rate, left = self.progress.pace()
        self._status.report(state, running=running, rate=rate, seconds_left=left, force=force)


def _checked(outcome: TaskResult) -> TaskResult:
    """Return an outcome; an error instead of a result of other code than the driver's."""
    if outcome.sealed is None or outcome.sealed.key == outcome.run.key:
        return outcome
    return TaskResult(outcome.run, error=OTHER_CODE)


# --- Batches ---------------------------------------------------------------------------------------------

MAX_BATCH = 200
_LOSSES_WITHOUT_BLAME = 10
"""How often a run may be lost for reasons that are not its own, before one of them counts as its own."""
_BATCHES_PER_SLOT = 3
"""Number of batches per slot into which the remaining runs are divided at least."""


class Batches:
    """The runs that are not finished: which ones are executed next, and how many of them together.

    Long runs come first, each alone: the last ones to finish are then short, and no short run waits behind a long one
    in the same batch. Of equally long ones, the first seed of every setting comes before the second. Short runs are put
    together until a batch takes long enough that scheduling it does not matter. Near the end, batches become smaller,
    so that all workers finish at about the same time. A run that was lost with its worker is executed alone, so that it
    cannot take others with it again.
    """

    def __init__(self, runs: Iterable[Run], batch_seconds: float) -> None:
        self._batch_seconds = batch_seconds
        estimated = sorted(((estimated_seconds(run), run) for run in runs), key=lambda pair: (-pair[0], pair[1].seed))
        self._queue: deque[tuple[float, Run]] = deque(estimated)
        self._waiting_seconds = sum(seconds for seconds, _ in estimated)
        self._suspects: deque[Run] = deque()
        self._losses: dict[Run, int] = {}
        self._submitted: set[Run] = set()

    @property
    def unfinished(self) -> int:
        """The number of runs that are neither done nor failed."""
        return len(self._queue) + len(self._suspects) + len(self._submitted)

    @property
    def submitted(self) -> int:
        """The number of runs that were given to the executor and are not finished."""
        return len(self._submitted)

    def next(self, slots: int) -> list[Run]:
        """Return the runs of the next batch, empty if none is waiting."""
        if self._suspects:
            run = self._suspects.popleft()
            self._submitted.add(run)
            return [run]
        share = self._waiting_seconds / (_BATCHES_PER_SLOT * max(slots, 1))
        limit = min(self._batch_seconds, share)
        batch: list[Run] = []
        total = 0.0
        while self._queue and len(batch) < MAX_BATCH and (not batch or total + self._queue[0][0] <= limit):
            seconds, run = self._queue.popleft()
            total += seconds
            self._submitted.add(run)
            batch.append(run)
        self._waiting_seconds -= total
        return batch

    def finish(self, run: Run) -> None:
        """Count a run as finished."""
        self._submitted.discard(run)

    def lose(self, run: Run, *, blame: bool) -> bool:
        """Put a run whose worker ended back, and return True; return False if it was lost too often.

        `blame` tells whether the run itself may have ended its worker.
        """
        losses = self._losses.get(run, 0) + (_LOSSES_WITHOUT_BLAME if blame else 1)
        self._losses[run] = losses
        if losses >= MAX_TRIES * _LOSSES_WITHOUT_BLAME:
            return False
        self._submitted.discard(run)
        if blame:
            self._suspects.append(run)
        else:
            self._queue.append((estimated_seconds(run), run))
            self._waiting_seconds += estimated_seconds(run)
        return True


# --- How any worker executes one run ---------------------------------------------------------------------


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
        # A worker process reads the hashes of the code itself: other code gives another key, which the driver refuses.
        return TaskResult(run, seal(run, result, time.perf_counter() - start))
    except RunCancelled:
        return TaskResult(run)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # Ctrl-C, or Ray cancels the run.
        return failed(run, error)


class TimeLimitReached(BaseException):
    """A run takes longer than the time limit; not an `Exception`, which code of the user may handle."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the run took longer than the time limit of {seconds:g} s.")


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
_compiled: set[tuple[str, str]] = set()
"""The explorers and kinds of runs that this process has compiled or loaded."""


def compile_once(run: Run) -> None:
    """Compile the explorer of a run, unless this process has done so; errors are raised.

    One step in a built-in world compiles it, so that the code of a user's environment does not delay this. The workers
    of a node share its cache of compiled code (see `wanderlust._numba.cache`). So that they do not all compile the same
    functions at the same time, the first one compiles while it holds a lock; a small file in the cache then tells the
    others that they only need to load.
    """
    what = run.explorer, "environment" if run.kind == "environment" else "world"
    if what in _compiled:
        return
    run = Run(world="toy", explorer=run.explorer, kind=what[1], settings={"steps": 1})
    folder = cache_folder()
    parts = (socket.gethostname(), *what, *run.code, source_hash(), numba_version())
    name = f"compiled-on-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"
    if folder is None or (folder.path / name).exists():
        run.train()
    else:
        with locked(folder.path / "compile.lock"):
            run.train()
            (folder.path / name).touch()
    _compiled.add(what)


# --- The workers of this machine --------------------------------------------------------------------------


class LocalExecutor:
    """Threads of this process, each with a worker process for the runs `apart`; outcomes are available at once."""

    def __init__(self, jobs: int, apart: Collection[Run] = (), time_limit: float | None = None) -> None:
        self.batch_seconds = 0.25
        """How long a batch of short runs should take: the threads go on while the driver waits for the disk."""
        self.slots = jobs
        """The number of batches that are executed at the same time."""
        self._apart, self._time_limit = apart, time_limit
        # That of processes starts a process of Python's, which tracks it.
        self._stop: Any = multiprocessing.get_context("spawn").Event() if apart else threading.Event()
        self._tasks: queue.SimpleQueue[Sequence[Run]] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[TaskResult] = queue.SimpleQueue()
        self._unfinished = 0
        self._threads: list[threading.Thread] = []
        self._workers: list[_WorkerProcess] = []

    def room(self) -> int:
        """Return how many more batches should be submitted now: one waits for each thread."""
        return 2 * self.slots - self._tasks.qsize() - min(self._unfinished, self.slots)

    def submit(self, batch: Sequence[Run]) -> None:
        """Start to execute runs, one after the other."""
        self._unfinished += len(batch)
        self._tasks.put(batch)
        if len(self._threads) < self.slots:
            self._workers.append(_WorkerProcess(self._stop, self._time_limit))
            work = threading.Thread(target=self._work, args=self._workers[-1:], daemon=True)
            self._threads.append(work)
            work.start()

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
        for thread in self._threads:  # One that hangs ends with this process.
            thread.join(max(deadline - time.monotonic(), 0.0))
        for worker in self._workers:
            worker.kill()
        return self.collect(0.0)

    def _work(self, worker: _WorkerProcess) -> None:
        while batch := self._tasks.get():
            for run in batch:
                if self._stop.is_set():
                    outcome = TaskResult(run)
                else:
                    outcome = worker.execute(run) if run in self._apart else execute(run, self._stop.is_set)
                self._outcomes.put(outcome)
        worker.end()


class _WorkerProcess:
    """A process for runs that hold the GIL, that may hang, or that may end it; it is started again when it has ended.

    It is used by one thread.
    """

    _starting = threading.Lock()

    def __init__(self, stop: Any, time_limit: float | None) -> None:
        self._stop, self._time_limit = stop, time_limit
        self._process: SpawnProcess | None = None
        self._connection: Any = None

    def execute(self, run: Run) -> TaskResult:
        """Execute a run in the process; its end and the time limit are outcomes, too."""
        try:
            if self._process is None:
                self._start()
            self._connection.send(run)
            message = self._receive(SECONDS_TO_COMPILE)
            # None: everything is imported and compiled, and the run starts.
            return TaskResult(run, *(self._receive() if message is None else message))
        except (EOFError, OSError):
            return TaskResult(run, error=f"the worker process {exit_reason(self.end())}.", lost=True)
        except BaseException as error:  # The time limit, or Python cannot start a process here.
            self.kill()
            self.end()
            return failed(run, error)

    def _receive(self, more_seconds: float = 0.0) -> Any:
        """Return the next message, or raise `TimeLimitReached` after the time limit and some more seconds."""
        limit = self._time_limit
        if limit is not None and not self._connection.poll(limit + more_seconds):
            raise TimeLimitReached(limit)
        return self._connection.recv()

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if (process := self._process) is not None:
            process.kill()

    def end(self) -> int | None:
        """End the process; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        self._connection.close()
        process.join(SECONDS_TO_STOP)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode

    def _start(self) -> None:
        # A forked process could inherit locks that a thread of this one holds.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # A module in the current folder is found there, also if the folder was changed since Python started.
        path = [folder or os.getcwd() for folder in sys.path]
        process = context.Process(target=_serve, args=(theirs, self._stop, path), daemon=True)
        with self._starting:
            # Without the program, which the new process would execute if it is a script without a `__main__` guard.
            main, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
            try:
                process.start()
            finally:
                sys.modules["__main__"] = main
        self._process = process
        theirs.close()


def exit_reason(code: int | None) -> str:
    """Return how a process ended, for a message."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was ended by {name}" + (", perhaps because memory was short" if name == "SIGKILL" else "")
    return f"ended with exit code {code}"


def _serve(connection: Connection, stop: Any, path: list[str]) -> None:
    """Execute the runs that arrive, in a worker process, until the parent closes the connection."""
    sys.path[:] = path
    # The parent handles Ctrl-C, by setting the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    while True:
        try:
            run = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(execute(run, stop.is_set, started=lambda: connection.send(None))[1:4])


def _exit_with_parent() -> None:
    """Wait until the parent process has ended, even if it was killed, and end this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
