"""The workers of a Ray cluster: one started here, the one that RAY_ADDRESS names, or one at an address.

Batches are Ray tasks of one CPU. Ray does not repeat them: the driver does, because it knows which runs are stored
already and which run ended its worker. A worker whose versions differ from the driver's refuses; its node gets no more
batches.

Ray would put the driver's folder on the path of all workers. Instead, they get a folder with the files of the modules
that the runs name, and these are printed. A cluster that is started here listens on the loopback interface only, with a
token of its own.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import importlib
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust._numba.cache import numba_version, source_hash
from wanderlust.core.errors import ClusterLost, MissingPackage, WanderlustError
from wanderlust.core.user_code import modules_named
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute.driver import SECONDS_TO_COMPILE, TaskResult, TimeLimitReached, execute
from wanderlust.experiments.run import (
    ADAPTIVE_VERSION,
    ALGORITHM_VERSION,
    NUMERICAL_SOURCES,
    Run,
    files_to_send,
    library_hash,
)
from wanderlust.version import __version__

ADDRESS = "RAY_ADDRESS"
BATCH_SECONDS = 0.5
"""Scheduling a batch takes one to two milliseconds."""
_SECONDS_BETWEEN_COUNTS = 5.0
"""How often the CPUs of the cluster are counted."""
_SECONDS_WITHOUT_WORKERS = 600.0
"""How long the driver waits for a node, once there is none."""
_SECONDS_TO_END = 10.0
"""How long after the time limit of a run its worker ends itself, if the run could not be interrupted."""
GRACE_SECONDS = 60.0
"""How long after that the driver waits for the worker."""
SECONDS_WITHOUT_HEAD = 15.0
"""How long the head may not answer before the cluster is taken to be lost."""
LONG_WAIT = 4.0
"""Batches of equal length take twice as long as their execution, since one waits for each slot; beyond this multiple of
it, there are too many slots."""
_RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"
_PACKAGE = Path(__file__).parents[2]
_AUTHENTICATION, _TOKEN, _TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_NODE_LABEL = "ray.io/node-id"


class _Pending(NamedTuple):
    batch: Sequence[Run]
    submitted: float


class RayExecutor:
    """Executes batches as tasks of a Ray cluster."""

    def __init__(self, execution: Execution, runs: Sequence[Run], *, message: Callable[[str], None]) -> None:
        self._jobs, self._time_limit, self._message = execution.jobs, execution.time_limit, message
        if self._time_limit is not None and not hasattr(signal, "setitimer"):
            raise WanderlustError("--time-limit on Ray is not possible on Windows; leave it out, or leave out --on.")
        address = _address(execution.on)
        self.name = f"Ray at {address}" if address else "Ray"
        self._own_token = address is None and _protect_own_cluster()
        if address is not None:
            os.environ.setdefault(_RECONNECT, str(24 * 3600))  # Ray would end this process a minute after the head.
        self._ray = _import_ray()
        self._owned = not self._ray.is_initialized()
        if self._owned:
            self._connect(address, runs, ship_package=execution.ship_package)
        elif execution.ship_package:
            # Ray sends local folders only when a connection is made.
            raise WanderlustError(
                "this program is connected to Ray already; to send the package, connect with "
                f"ray.init(runtime_env={{'py_modules': [{str(_PACKAGE)!r}]}})."
            )
        is_client = address is not None and address.startswith("ray://")  # Its errors tell that the head is lost.
        self._head = "" if is_client else self._ray.get_runtime_context().gcs_address
        self._head_answered = time.monotonic()
        self._is_lost = False
        self.batch_seconds = BATCH_SECONDS
        self.slots = 0
        self._refused: dict[str, str] = {}
        """Node -> what is different there."""
        self._counted = self._last_worker = time.monotonic()
        memory = {} if execution.ray_memory is None else {"memory": int(execution.ray_memory * 1e9)}
        self._needs = {"CPU": 1, **memory}
        self._pending: dict[Any, _Pending] = {}
        self._count(force=True)
        self._expected = versions()
        remote = self._ray.remote(num_cpus=1, max_retries=0, retry_exceptions=False, **memory)
        self._execute = remote(_remote_function())

    def room(self) -> int:
        """Return how many more batches should be submitted now.

        One batch waits for each slot, so that no CPU waits for the driver. Without a slot, two batches wait: a cluster
        that starts nodes on demand sees them.
        """
        self._count()
        return 2 * max(self.slots, 1) - len(self._pending)

    def submit(self, batch: Sequence[Run]) -> None:
        """Start to execute runs, one after the other."""
        options = {"label_selector": {_NODE_LABEL: f"!in({','.join(self._refused)})"}} if self._refused else {}
        execute = self._execute.options(**options) if options else self._execute
        with self._connection():
            runs = [(run.json, run.git) for run in batch]
            reference = execute.remote(self._expected, runs, self._time_limit, library_hash())
        self._pending[reference] = _Pending(batch, time.monotonic())

    def collect(self, timeout: float) -> list[TaskResult]:
        """Return outcomes that arrived since the last call; wait at most `timeout` seconds for the first."""
        if not self._pending:
            time.sleep(timeout)  # There is no worker at the moment.
            return []
        with self._connection():
            self._ray.wait(list(self._pending), num_returns=1, timeout=timeout)
            ready, _ = self._ray.wait(list(self._pending), num_returns=len(self._pending), timeout=0)
            outcomes = [outcome for reference in ready for outcome in self._outcomes(reference)]
            self._cancel_late()
        return outcomes

    def close(self) -> list[TaskResult]:
        """Cancel everything; return the results that arrived meanwhile."""
        outcomes: list[TaskResult] = []
        with contextlib.suppress(Exception):
            if self._is_lost:
                return []  # Ray would wait for the head.
            outcomes = self.collect(0.0) if self._pending else []
            for reference in self._pending:
                self._ray.cancel(reference, force=True)
        self._pending.clear()
        if self._owned:
            with contextlib.suppress(Exception):
                self._ray.shutdown()
            _print_messages_of_ray(on=True)
        if self._own_token:
            os.environ.pop(_TOKEN, None)
        return outcomes

    def _connect(self, address: str | None, runs: Sequence[Run], *, ship_package: bool) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            options |= {"include_dashboard": False, "num_cpus": self._jobs}
        files = files_to_send(modules_named([run.description for run in runs]))
        if files:
            self._message(f"sent to the workers: {', '.join(sorted(files))}")
        # Otherwise Ray announces a change of its defaults on every start.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        with tempfile.TemporaryDirectory(prefix="wanderlust-") as folder:
            for name, file in files.items():
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, Path(folder) / name)
            options["runtime_env"] = {
                "working_dir": folder,
                **({"py_modules": [str(_PACKAGE)]} if ship_package else {}),
            }
            try:
                # Without an address, Ray would join any cluster that it finds on this machine.
                self._ray.init(address=address or "local", **options)
            except Exception as error:  # Ray raises errors of many kinds, of its own and of gRPC.
                is_set = bool(os.environ.get(_AUTHENTICATION))
                token = "" if is_set else f" If the cluster asks for a token, set {_AUTHENTICATION}=token."
                reason = f"{type(error).__name__}: {_first_line(error)}"
                raise WanderlustError(
                    f"Ray cannot be reached at {address or 'this machine'} ({reason}).{token}"
                ) from error
        _print_messages_of_ray(on=False)

    def _count(self, *, force: bool = False) -> None:
        """Count the slots: CPUs that are free or execute batches of this driver, on nodes that have not refused.

        While there are free resources, every submitted batch has started. Otherwise some wait for those of others, see
        `_outcomes`.
        """
        if not force and time.monotonic() - self._counted < _SECONDS_BETWEEN_COUNTS:
            return
        self._counted = time.monotonic()
        with self._connection():
            if not self._has_head():
                return
            nodes, available = self._ray.nodes(), self._ray.available_resources()
        cpus = [
            node["Resources"].get("CPU", 0) for node in nodes if node["Alive"] and node["NodeID"] not in self._refused
        ]
        free = int(min(available.get(name, 0) // need for name, need in self._needs.items()))
        busy = len(self._pending) if free else self.slots
        self.slots = min(busy + free, int(sum(cpus)), self._jobs or 10**9)
        if any(cpus):
            self._last_worker = time.monotonic()
        elif self._refused:
            raise WanderlustError(
                f"no node of the cluster has the driver's versions: {'; '.join(sorted(set(self._refused.values())))}. "
                "Install the same versions there, or send this package with --ship-package."
            )
        elif time.monotonic() - self._last_worker > _SECONDS_WITHOUT_WORKERS:
            raise WanderlustError(f"{self.name}: there is no node with a CPU. Finished runs are stored; repeat later.")

    def _has_head(self) -> bool:
        """Return whether the head accepts connections; raise `ConnectionError` if it has not done so for a while."""
        if self._head:
            host, _, port = self._head.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_BETWEEN_COUNTS).close()
            except OSError as error:
                if time.monotonic() - self._head_answered > SECONDS_WITHOUT_HEAD:
                    raise ConnectionError(f"its head does not answer: {error.strerror or error}") from error
                return False
        self._head_answered = time.monotonic()
        return True

    def _outcomes(self, reference: Any) -> list[TaskResult]:
        """Return the outcomes of a finished batch."""
        batch, submitted = self._pending.pop(reference)
        try:
            kind, *reply = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return self._lost(batch, error)
        if kind == "refused":
            self._refuse(*reply)
            return [TaskResult(run, lost=True) for run in batch]
        executed, outcomes = reply
        if time.monotonic() - submitted > LONG_WAIT * max(executed, self.batch_seconds):
            self.slots = max(self.slots - 1, 1)  # Others use the CPU now.
        return [TaskResult(run, *parts) for run, parts in zip(batch, outcomes, strict=True)]

    def _lost(self, batch: Sequence[Run], error: Exception) -> list[TaskResult]:
        """Return the outcomes of a batch whose worker ended; it does not tell which run it was at."""
        errors = self._ray.exceptions
        is_excused = isinstance(error, errors.NodeDiedError | errors.ObjectLostError | errors.TaskCancelledError)
        reason = "" if is_excused else f"the worker process ended: {type(error).__name__}: {_first_line(error)}"
        return [TaskResult(run, error=reason, lost=True) for run in batch]

    def _refuse(self, node: str, sentence: str) -> None:
        if node not in self._refused:
            self._refused[node] = sentence
            self._message(f"a node is not used: {sentence}.")
        self._count(force=True)

    def _cancel_late(self) -> None:
        """Cancel batches whose worker should have ended itself long ago; they are repeated.

        A batch that waits for a CPU is not late: it would have started if there was a free one.
        """
        if self._time_limit is None:
            return
        seconds = self._time_limit + _SECONDS_TO_END
        grace, now = SECONDS_TO_COMPILE + GRACE_SECONDS, time.monotonic()
        late = [reference for reference, (batch, submitted) in self._pending.items()
                if now - submitted > seconds * len(batch) + grace]  # fmt: skip
        if late and self._ray.available_resources().get("CPU", 0) >= 1:
            for reference in late:
                self._ray.cancel(reference, force=True)

    @contextlib.contextmanager
    def _connection(self) -> Any:
        """Turn a lost connection to the cluster into a clear error."""
        try:
            yield
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            self._is_lost = True
            raise ClusterLost(
                f"the connection to {self.name} is lost ({_first_line(error)}). Finished runs are stored; repeat the "
                "command to continue, or add --fallback local to continue on this machine."
            ) from error


def cluster_size(execution: Execution, here: int) -> tuple[str, int]:
    """Return the name of a cluster and the number of its free CPUs; of one that would be started here, those here."""
    if _address(execution.on) is None:
        return "on Ray here", here
    executor = RayExecutor(execution, [], message=lambda _: None)
    executor.close()
    return f"on {executor.name}", max(executor.slots, 1)


def _address(on: str) -> str | None:
    """Return the address of the cluster; None to start one here."""
    return on if on.startswith("ray://") else os.environ.get(ADDRESS) or None


def _protect_own_cluster() -> bool:
    """Make the cluster that is started here listen on the loopback interface, and ask for a token of its own.

    The value tells whether there is such a token: not if the user has set up tokens otherwise. Ray reads these
    variables when it is imported; a program that has imported Ray before has set it up itself.
    """
    if "ray" in sys.modules:
        return False
    # Named after the systems where this is the default.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    if any(name in os.environ for name in (_AUTHENTICATION, _TOKEN, _TOKEN_PATH)):
        return False
    os.environ |= {_AUTHENTICATION: "token", _TOKEN: secrets.token_hex(32)}
    return True


def _remote_function() -> Callable[..., Any]:
    def execute_batch(expected: Any, runs: Any, time_limit: Any, library: Any) -> Any:
        # Sent to workers as code, not by its name, which a worker with another version may not have.
        import ray

        node = ray.get_runtime_context().get_node_id()
        try:
            from wanderlust.experiments.execute import ray_cluster

            if different := ray_cluster.differences(expected):
                return "refused", node, different
        except (ImportError, AttributeError, KeyError) as error:
            return "refused", node, f"{socket.gethostname()} has no usable wanderlust ({error})"
        start = time.monotonic()
        outcomes = ray_cluster.execute_batch(runs, time_limit, library)
        return "done", time.monotonic() - start, outcomes

    return execute_batch


@functools.cache
def _import_ray() -> Any:
    try:
        importlib.import_module("ray.exceptions")  # A folder of the user can be named ray, too.
        return importlib.import_module("ray")
    except ImportError:
        raise MissingPackage(
            "Ray is not installed: pip install 'wanderlust[ray]', or leave out --on to use this machine."
        ) from None


def _print_messages_of_ray(*, on: bool) -> None:
    """Let Ray print a paragraph for every worker or node that ends, or not: the driver lists failed runs itself."""
    with contextlib.suppress(Exception):  # Not a public variable of Ray.
        worker: Any = importlib.import_module("ray._private.worker")
        worker._worker_logs_enabled = on


def _first_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # After a colon, the reason is at the end of a traceback.
    return (f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0])[:300]


# --- In a worker -----------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Return what must be the same on all workers, so that the results are the same bit for bit."""
    return {
        "wanderlust": __version__,
        "algorithm version": f"{ALGORITHM_VERSION}.{ADAPTIVE_VERSION}",
        "sources": source_hash(NUMERICAL_SOURCES)[:12],
        "numba": numba_version(),
        "NumPy": np.__version__,
    }


def differences(expected: dict[str, str]) -> str:
    """Return which versions differ here from the driver's, or ""."""
    found = versions()
    other = [f"{name} {found[name]} (the driver has {version})" for name, version in expected.items()
             if found[name] != version]  # fmt: skip
    return f"{socket.gethostname()} has {', '.join(other)}" if other else ""


def execute_batch(runs: list[tuple[str, str]], time_limit: float | None, library: str) -> list[tuple[Any, ...]]:
    """Execute runs, given as JSON with their commit; return the fields of their outcomes but the runs."""
    outcomes = []
    for text, git in runs:
        run = Run.from_json(text)
        # The sources are equal, see `differences`; but only the driver or only the worker may have them as a release.
        # A worker has copies of the user's files, without their repository.
        vars(run).update(code=(library, *run.code[1:]), git=git)
        with _interrupt_after(time_limit) as start:
            outcomes.append(execute(run, started=start)[1:4])
    return outcomes


@contextlib.contextmanager
def _interrupt_after(seconds: float | None) -> Iterator[Callable[[], None]]:
    """Raise `TimeLimitReached` in the block if it takes longer; end the process if that does not end the block.

    The time counts from the call of the function that it yields: before, the explorer is compiled.
    """
    if seconds is None:
        yield lambda: None
        return

    def interrupt(*_: Any) -> None:
        raise TimeLimitReached(seconds)

    def start() -> None:
        # Unlike a timer in Python, this needs neither the GIL nor a free thread.
        faulthandler.dump_traceback_later(seconds + _SECONDS_TO_END, exit=True, file=nowhere)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    earlier = signal.signal(signal.SIGALRM, interrupt)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            faulthandler.dump_traceback_later(seconds + SECONDS_TO_COMPILE, exit=True, file=nowhere)
            yield start
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, earlier)
