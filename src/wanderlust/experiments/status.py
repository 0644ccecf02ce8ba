"""What a folder's experiments are doing, in small files that any machine that sees the folder can read.

`status/NAME.keys.npz` has the keys of all runs of an experiment, `NAME.json` what its driver last reported, and
`NAME.failed.jsonl` one line per failed run. How many runs are done is counted in the store itself, so that it is right
even if the driver was killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple, NotRequired, TypedDict

import msgspec
import numpy as np

from wanderlust.core.archives import open_archive, write_archive
from wanderlust.core.errors import BadFile
from wanderlust.core.files import atomic_write, cannot_write, read_text_file, write_file
from wanderlust.experiments.store import Store

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
    started: _Time
    updated: _Time
    host: str
    process: int
    on: str


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
        self._started = _now()
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
        report = _Report(
            state=state,
            running=running,
            rate=rate,
            seconds_left=seconds_left,
            started=self._started,
            updated=_now(),
            host=socket.gethostname(),
            process=os.getpid(),
            on=self._place,
        )
        with contextlib.suppress(OSError), atomic_write(_with(self._base, _STATE)) as file:
            file.write(msgspec.json.encode(report))


def file_name(name: str) -> str:
    """Return a name for files: other characters than letters, digits, dots and dashes are replaced."""
    return _UNSAFE.sub("-", name).strip(".-")[:80] or "runs"


def read_all(store: Store, problems: list[str], stored: set[str] | None = None) -> Iterator[Status]:
    """Yield the status of every experiment in a folder; `stored` are the keys of the store, if they are known."""
    for path in sorted((store.folder / STATUS).glob(f"*{_KEYS}")):
        stored = store.stored_keys(problems) if stored is None else stored
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


def failures(folder: Path, names: Iterable[str] | None = None) -> dict[str, list[FailedRun]]:
    """Return name -> failed runs of the experiments in a folder."""
    paths = {path.name.removesuffix(_FAILED): path for path in sorted((folder / STATUS).glob(f"*{_FAILED}"))}
    return {name: _read_failures(path) for name, path in paths.items() if names is None or name in names}


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
    driver = _describe(report, active=active, age=age, complete=done + failed >= len(keys))
    pace = (report.running, report.rate, report.seconds_left) if active else (0, 0.0, None)
    return Status(name, len(keys), done, failed, *pace, driver, active)


def _describe(report: _Report, *, active: bool, age: float, complete: bool) -> str:
    from wanderlust.experiments.execute.progress import format_duration

    place = f"on {report.on}, driver {report.host} (process {report.process})"
    ago = f"{format_duration(max(age, 0.0))} ago"
    if active:
        return f"running {place}, last report {ago}"
    if complete:
        return f"finished {ago}"
    word = "stopped" if report.state == "running" else report.state
    return f"{word} {ago}, {place}; the same command continues"


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
