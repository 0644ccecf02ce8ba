"""What a folder's experiments are doing, in small files that any machine that sees the folder can read.

`status/NAME.keys.npz` has the keys of all runs of an experiment, `NAME.json` what its driver last reported, and
`NAME.failed.jsonl` one line per failed run. How many runs are done is counted in the store itself, so that it is right
even if the driver was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.archives import is_intact, read_archive, write_archive
from wanderlust.core.errors import BadFile
from wanderlust.core.files import atomic_write, cannot_write
from wanderlust.experiments.store import Store

STATUS = "status"
SECONDS_BETWEEN_REPORTS = 2.0
STALE_SECONDS = 30.0
"""Age of a report from which its driver is taken to have ended."""
_KEYS, _STATE, _FAILED = ".keys.npz", ".json", ".failed.jsonl"
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


class StatusFile:
    """Writes the status of one experiment; without a name, nothing."""

    def __init__(self, store: Store, name: str, keys: Sequence[str], place: str) -> None:
        self._base = None if not name else store.folder / STATUS / file_name(name)
        self._last = 0.0
        self._started = _now()
        self._place = place
        if self._base is None:
            return
        try:
            self._base.parent.mkdir(parents=True, exist_ok=True)
            write_archive(_with(self._base, _KEYS), {"name": name}, {"keys": np.array(list(keys), "S24")})
            _with(self._base, _FAILED).write_bytes(b"")
        except OSError as error:
            raise cannot_write(self._base.parent, error) from error

    def failure(self, key: str, error: str, command: str) -> None:
        """Add a failed run."""
        if self._base is None:
            return
        line = json.dumps({"key": key, "error": error, "repeat": command})
        # A status that cannot be written must not end an experiment that goes on.
        with contextlib.suppress(OSError), _with(self._base, _FAILED).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def report(self, state: str, *, running: int, rate: float, seconds_left: float | None, force: bool = False) -> None:
        """Write what the driver does, at most every two seconds unless forced."""
        if self._base is None or (not force and time.monotonic() - self._last < SECONDS_BETWEEN_REPORTS):
            return
        self._last = time.monotonic()
        report = {
            "state": state,
            "running": running,
            "rate": rate,
            "seconds_left": seconds_left,
            "started": self._started,
            "updated": _now(),
            "host": socket.gethostname(),
            "process": os.getpid(),
            "on": self._place,
        }
        with contextlib.suppress(OSError), atomic_write(_with(self._base, _STATE)) as file:
            file.write(json.dumps(report).encode())


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


def failures(folder: Path, names: Iterable[str] | None = None) -> dict[str, list[dict[str, str]]]:
    """Return name -> failed runs (key, error, repeat) of the experiments in a folder."""
    found = {}
    for path in sorted((folder / STATUS).glob(f"*{_FAILED}")):
        name = path.name.removesuffix(_FAILED)
        if names is None or name in names:
            found[name] = _read_failures(path)
    return found


def _read_keys(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata and the keys of the runs of an experiment."""
    try:
        metadata, arrays = read_archive(path)
        intact = is_intact(metadata, arrays)
        keys = arrays["keys"].astype("U24").tolist()
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise BadFile(f"{path}: cannot be read ({error}).") from error
    if not intact:
        raise BadFile(f"{path}: damaged.")
    return metadata, keys


def _read(path: Path, stored: set[str]) -> Status:
    metadata, keys = _read_keys(path)
    base = path.with_name(path.name.removesuffix(_KEYS))
    done = sum(key in stored for key in keys)
    failed = {each["key"] for each in _read_failures(_with(base, _FAILED))}
    state = _read_state(_with(base, _STATE))
    age = time.time() - _seconds(state.get("updated"))
    active = state.get("state") == "running" and age < STALE_SECONDS
    n_failed = len(failed - stored)
    return Status(
        name=str(metadata.get("name", base.name)),
        total=len(keys),
        done=done,
        failed=n_failed,
        running=int(state.get("running", 0)) if active else 0,
        rate=float(state.get("rate", 0.0)) if active else 0.0,
        seconds_left=state.get("seconds_left") if active else None,
        driver=_describe(state, active=active, age=age, complete=done + n_failed >= len(keys)),
        active=active,
    )


def _describe(state: dict[str, Any], *, active: bool, age: float, complete: bool) -> str:
    from wanderlust.experiments.execute.estimate import format_duration

    if not state:
        return "not started"
    place = f"on {state.get('on')}, driver {state.get('host')} (process {state.get('process')})"
    ago = f"{format_duration(max(age, 0.0))} ago"
    if active:
        return f"running {place}, last report {ago}"
    if complete:
        return f"finished {ago}"
    word = "stopped" if state.get("state") == "running" else str(state.get("state"))
    return f"{word} {ago}, {place}; the same command continues"


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _read_failures(path: Path) -> list[dict[str, str]]:
    failed = {}
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):  # A line that is not complete yet.
                entry = json.loads(line)
                failed[entry["key"]] = {name: str(entry[name]) for name in ("key", "error", "repeat")}
    return list(failed.values())


def _seconds(time_text: Any) -> float:
    try:
        return datetime.fromisoformat(str(time_text)).timestamp()
    except ValueError:
        return 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _with(base: Path, suffix: str) -> Path:
    return base.with_name(f"{base.name}{suffix}")
