"""Progress of an experiment: a bar on a terminal, otherwise a line every 30 seconds, nothing if quiet; status files.

The time of a run is estimated roughly, to order runs and to show the remaining time. The constants are microseconds per
step, measured once on a two-core machine.

What a folder's experiments are doing is in small files that any machine that sees the folder can read.
`status/NAME.keys.npz` has the keys of all runs of an experiment, `NAME.json` what its driver last reported, and
`NAME.failed.jsonl` one line per failed run. How many runs are done is counted in the store itself, so that it is right
even if the driver was killed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NotRequired, TypedDict

import msgspec
import numpy as np
from rich.console import Console

from wanderlust.core.archives import open_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError, counted
from wanderlust.core.files import atomic_write, cannot_write, read_text_file, write_file
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["ENSEMBLES", "Progress", "estimated_seconds", "format_duration", "total_seconds"]

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Shows the finished and failed runs, their rate and the remaining time."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self.console = console or Console(stderr=True, markup=False, emoji=False)
        self.quiet = quiet
        self._bar: Bar | None = None
        self._total = self._done = self._failed = 0
        self._estimated = self._left = 0.0
        """Estimated seconds of all runs, and of those that are not finished."""
        self._start = self._last_line = self._last_update = 0.0

    def message(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def track(self, runs: Sequence[Run], jobs: int, *, stored: int, place: str = "") -> Iterator[None]:
        """Show the progress of these runs inside the context."""
        self._total, self._done, self._failed = len(runs), 0, 0
        self._estimated = self._left = sum(map(estimated_seconds, runs))
        self._start = self._last_line = time.monotonic()
        skipped = f", {stored:,} already stored" if stored else ""
        where = f" on {place}" if place and runs else ""
        parallel = f"; {min(jobs, len(runs)):,} at a time" if len(runs) > 1 and jobs else ""
        waiting = "" if jobs else "; no CPU is free at the moment"
        self.message(f"{counted(len(runs), 'run')} to execute{skipped}{parallel or waiting}{where}")
        if self.quiet or not runs or not self.console.is_terminal:
            yield
            self._line(final=True)
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Bar(*columns, console=self.console) as bar:
            bar.add_task(self._rate(), total=len(runs))
            self._bar = bar
            try:
                yield
            finally:
                self._update()
                self._bar = None

    def run_finished(self, run: Run, *, is_failed: bool = False) -> None:
        """Count a finished run."""
        self._done += 1
        self._failed += is_failed
        self._left -= estimated_seconds(run)

    def refresh(self) -> None:
        """Update the bar, or print a line if the last one is old enough."""
        now = time.monotonic()
        if self._bar is not None and now - self._last_update > _SECONDS_BETWEEN_UPDATES:
            self._update()
        elif self._bar is None and now - self._last_line > _SECONDS_BETWEEN_LINES:
            self._line()

    def pace(self) -> tuple[float, float | None]:
        """Return the finished runs per second, and the seconds left if all estimates are wrong by the same factor."""
        elapsed = time.monotonic() - self._start
        if not self._done or elapsed <= 0:
            return 0.0, None
        finished = self._estimated - self._left
        return self._done / elapsed, elapsed * max(self._left, 0.0) / finished if finished > 0 else None

    def _update(self) -> None:
        assert self._bar is not None
        self._last_update = time.monotonic()
        self._bar.update(self._bar.task_ids[0], completed=self._done, description=self._rate())

    def _line(self, *, final: bool = False) -> None:
        self._last_line = time.monotonic()
        if self._total and (not final or self._done):
            self.message(f"{self._done:,} of {counted(self._total, 'run')}, {self._rate()}")

    def _rate(self) -> str:
        rate, left = self.pace()
        if not rate:
            return "..."
        failed = f"{self._failed:,} failed, " if self._failed else ""
        speed = f"{rate:.1f} runs per second" if rate >= 1 else f"{60 * rate:.1f} runs per minute"
        if self._done == self._total:
            return f"{failed}{speed}, {format_duration(time.monotonic() - self._start)} in total"
        return f"{failed}{speed}" + ("" if left is None else f", about {format_duration(left)} left")


# --- Estimates -------------------------------------------------------------------------------------------

ENSEMBLES = ("bootstrapped", "random-prior", "thompson")

_SECONDS_PER_RUN = 0.008
"""To create the learner and to seal the result."""
_SECONDS_PER_EXAM = 0.05
"""For the twelve evaluations of two policies."""
_PER_STEP = {"world": 0.3, "environment": 60.0, "model": 3.0}
"""Microseconds per step: in the compiled loop without replay; in Python; in the compiled loop on a transition table."""
# An update of one table sweeps over all pairs of states and actions; ensembles draw minibatches.
_PER_PAIR, _PER_STEP_OF_MINIBATCHES = 0.0005, 40.0
# Explorers that plan again and again, in a world of the exam with 180 states.
_PER_STEP_OF_PLANNING = {"goal-directed": 6.0, "ucbvi": 20.0, "rlsvi": 120.0, "psrl": 500.0}
_PER_EXACT_EVALUATION = 150.0
_STEPS_TO_LEARN = {"vv-ucb": 1, "vv-count": 6, "random-prior": 4, "bootstrapped": 8}
"""Steps per state-action pair to learn the deep sea; other explorers use their whole budget."""


@functools.lru_cache(maxsize=256)
def _size(world: str, options: str) -> tuple[int, int, bool, str]:
    """Return the pairs, the budget, whether it is deterministic and the memory of a world; zeros if it is not valid."""
    from wanderlust.worlds import make_world

    try:
        built = make_world(world, **json.loads(options))
    except WanderlustError:
        return 0, 0, True, ""
    pairs, defaults = built.n_states * built.n_actions, built.defaults
    return pairs, defaults.budget, bool(built.mdp.deterministic), defaults.replay


def estimated_seconds(run: Run) -> float:
    """Return the roughly estimated seconds of a run, without compilation."""
    steps, per_step = int(run.settings.get("steps") or run.settings.get("budget") or 0), _PER_STEP[run.kind]
    if run.kind != "world":
        return 1e-6 * per_step * steps
    pairs, budget, deterministic, replay = _size(run.world, json.dumps(dict(run.world_options)))
    steps = steps or budget
    if run.until == "positive-return":
        steps = min(steps, _STEPS_TO_LEARN.get(run.explorer, steps) * pairs)
    if run.settings.get("replay", replay) == "full":
        per_step += _PER_STEP_OF_MINIBATCHES if run.explorer in ENSEMBLES else _PER_PAIR * pairs
        per_step += _PER_STEP_OF_PLANNING.get(run.explorer, 0.0)
    if run.measure == "values" or not deterministic:
        per_step += 1.0 if run.measure == "values" else _PER_EXACT_EVALUATION / run.settings.get("evaluate_every", 50)
    return _SECONDS_PER_RUN + (_SECONDS_PER_EXAM if run.measure == "exam" else 0.0) + 1e-6 * per_step * steps


def format_duration(duration: float) -> str:
    """Return a number of seconds as text in seconds, minutes or hours."""
    if duration < 90:
        return f"{duration:.0f} s"
    return f"{duration / 60:.0f} min" if duration < 5400 else f"{duration / 3600:.1f} h"


def total_seconds(runs: Iterable[Run], jobs: int) -> float:
    """Return the estimated seconds of many runs, `jobs` at a time."""
    times = [estimated_seconds(run) for run in runs]
    return max([sum(times) / max(jobs, 1), *times]) if times else 0.0


# --- Status files ----------------------------------------------------------------------------------------

STATUS = "status"
SECONDS_BETWEEN_REPORTS = 2.0
STALE_SECONDS = 30.0
"""Age of a report from which its driver is taken to have ended."""
_KEYS, _STATE, _FAILED = ".keys.npz", ".json", ".failed.jsonl"
_MAX_BYTES = 100_000_000
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_UNSAFE = re.compile(r"[^\w.-]+")


class Status(NamedTuple):
    """The state of one experiment."""

    name: str
    total: int
    done: int
    failed: int
    running: int
    """Runs in progress; 0 if no driver is active."""
    rate: float
    """Runs per second, while a driver is active."""
    seconds_left: float | None
    driver: str
    """Where the driver is, what it does, and since when."""
    active: bool


class _Report(msgspec.Struct, kw_only=True):
    """What a driver last reported."""

    state: str
    running: int
    rate: float
    seconds_left: float | None
    on: str
    updated: _Time = msgspec.field(default_factory=lambda: _now())
    host: str = msgspec.field(default_factory=socket.gethostname)
    process: int = msgspec.field(default_factory=os.getpid)


class FailedRun(TypedDict):
    """A failed run: its key, the reason, the command that repeats it, and the traceback."""

    key: str
    error: str
    repeat: str
    trace: NotRequired[str]
    """The traceback of an error in the user's code."""


class StatusFile:
    """Writes the status of one experiment; without a name, nothing."""

    def __init__(
        self, store: Store, name: str, keys: Sequence[str], place: str, skipped: Iterable[FailedRun] = ()
    ) -> None:
        self._base = None if not name else store.folder / STATUS / file_name(name)
        self._last = 0.0
        self._place = place
        if self._base is None:
            return
        try:
            self._base.parent.mkdir(parents=True, exist_ok=True)
            write_archive(_with(self._base, _KEYS), {"name": name}, {"keys": np.array(list(keys), "S24")})
        except OSError as error:
            raise cannot_write(self._base.parent, error) from error
        write_file(_with(self._base, _FAILED), b"")
        for failed in skipped:
            self.failure(failed)

    def failure(self, failed: FailedRun) -> None:
        """Add a failed run."""
        if self._base is None:
            return
        # A status that cannot be written must not end an experiment that goes on.
        with contextlib.suppress(OSError), _with(self._base, _FAILED).open("ab") as file:
            file.write(msgspec.json.encode(failed) + b"\n")

    def report(self, state: str, *, running: int, rate: float, seconds_left: float | None, force: bool = False) -> None:
        """Write what the driver does, at most every two seconds unless forced."""
        if self._base is None or (not force and time.monotonic() - self._last < SECONDS_BETWEEN_REPORTS):
            return
        self._last = time.monotonic()
        report = _Report(state=state, running=running, rate=rate, seconds_left=seconds_left, on=self._place)
        with contextlib.suppress(OSError), atomic_write(_with(self._base, _STATE)) as file:
            file.write(msgspec.json.encode(report))


def file_name(name: str) -> str:
    """Return a name for files: other characters than letters, digits, dots and dashes are replaced."""
    return _UNSAFE.sub("-", name).strip(".-")[:80] or "runs"


def read_all(store: Store, problems: list[str]) -> Iterator[Status]:
    """Yield the status of every experiment in a folder."""
    stored = store.stored_keys(problems)
    for path in sorted((store.folder / STATUS).glob(f"*{_KEYS}")):
        try:
            yield _read(path, stored)
        except BadFile as error:
            problems.append(str(error))


def keys_of(folder: Path, name: str) -> list[str]:
    """Return the keys of the runs of an experiment in a folder, in their order; raise `BadFile` if there are none."""
    return _read_keys(_with(folder / STATUS / file_name(name), _KEYS))[1]


def all_keys(folder: Path) -> set[str]:
    """Return the keys of the runs of all experiments in a folder, as they were last started; or raise `BadFile`."""
    return {key for path in (folder / STATUS).glob(f"*{_KEYS}") for key in _read_keys(path)[1]}


def failures(folder: Path, name: str = "*") -> list[FailedRun]:
    """Return the failed runs of the experiments in a folder, or of the one whose files have this name."""
    return [failed for path in sorted((folder / STATUS).glob(f"{name}{_FAILED}")) for failed in _read_failures(path)]


def _read_keys(path: Path) -> tuple[str, list[str]]:
    """Return the name of an experiment and the keys of its runs."""
    try:
        with open_archive(path) as archive:
            metadata, is_ours = archive.metadata, list(archive.headers) == ["keys"]
            keys = archive.read()["keys"].astype("U24").tolist() if is_ours else None
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise BadFile(f"{path}: cannot be read ({error}).") from error
    if keys is None:
        raise BadFile(f"{path}: must contain the keys of runs, and nothing else.")
    return str(metadata.get("name", path.name.removesuffix(_KEYS))), keys


def _read(path: Path, stored: set[str]) -> Status:
    name, keys = _read_keys(path)
    base = path.with_name(path.name.removesuffix(_KEYS))
    done = sum(key in stored for key in keys)
    failed = len({each["key"] for each in _read_failures(_with(base, _FAILED))} - stored)
    try:
        report = msgspec.json.decode(read_text_file(_with(base, _STATE), max_bytes=_MAX_BYTES), type=_Report)
    except (BadFile, msgspec.DecodeError):
        return Status(name, len(keys), done, failed, 0, 0.0, None, "executed in shards", active=False)
    age = (_now() - report.updated).total_seconds()
    active = report.state == "running" and age < STALE_SECONDS
    state = "stopped" if report.state == "running" and not active else report.state
    ago = f"last report {format_duration(max(age, 0.0))} ago"
    driver = f"{state} on {report.on}, driver {report.host} (process {report.process}), {ago}"
    pace = (report.running, report.rate, report.seconds_left) if active else (0, 0.0, None)
    return Status(name, len(keys), done, failed, *pace, driver, active)


def _read_failures(path: Path) -> list[FailedRun]:
    failed = {}
    with contextlib.suppress(BadFile):
        for line in read_text_file(path, max_bytes=_MAX_BYTES).splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # A line that is not complete yet.
                entry = msgspec.json.decode(line, type=FailedRun)
                failed[entry["key"]] = entry
    return list(failed.values())


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _with(base: Path, suffix: str) -> Path:
    return base.with_name(f"{base.name}{suffix}")
