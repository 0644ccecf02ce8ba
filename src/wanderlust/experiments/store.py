"""Results on disk: one file per run, named by the run's key.

A file is an archive (see `wanderlust.core.archives`), written atomically. Several processes can share a folder: at
worst two of them execute the same run and write the same numbers.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust._numba.jit import numba_version
from wanderlust.core.archives import PARTIAL, is_intact, partial_path, read_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError
from wanderlust.experiments.run import ALGORITHM_VERSION, Result, Run
from wanderlust.version import __version__

FORMAT = 1
_VERSION_FIELD = "mathematics"
"""The name of `ALGORITHM_VERSION` in the files, which existing files have."""
RUNS = "runs"
_REQUIRED = [name for name in Result._fields if name not in Result._field_defaults]
_DAMAGED = ".damaged"
_STALE_SECONDS = 3600.0
"""Age from which an unfinished file is deleted: its process died, since writing a file takes milliseconds."""


class CannotWrite(BadFile):
    """The store's folder is not writable: the disk is full, or a permission is missing."""


class OtherVersion(BadFile):
    """An intact file that was written by an incompatible version."""


class StoredRun(NamedTuple):
    """A run, its result, and metadata of its execution."""

    run: Run
    result: Result
    metadata: dict[str, Any]
    """wanderlust, numpy, numba, python, machine, seconds, finished."""


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / RUNS

    def prepare(self) -> None:
        """Create the folder, check that it is writable, and delete stale unfinished files."""
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            trial = partial_path(self.runs / "trial")
            trial.touch()
            trial.unlink()
        except OSError as error:
            raise self._cannot_write(error) from error
        for file in self.runs.glob(f"*{PARTIAL}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _STALE_SECONDS:
                    file.unlink()

    def path(self, run: Run) -> Path:
        """Return the file of a run's result."""
        return self.runs / f"{run.key}.npz"

    def load(self, run: Run) -> StoredRun | None:
        """Return the stored result of a run, or None if there is none; raise `BadFile` if it is unusable."""
        path = self.path(run)
        return read(path) if path.exists() else None

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored ones of `runs`; append a sentence to `problems` for each unusable file."""
        return _read_usable((path for run in runs if (path := self.path(run)).exists()), problems)

    def load_all(self, problems: list[str]) -> Iterator[StoredRun]:
        """Yield every stored run; append a sentence to `problems` for each unusable file."""
        if not self.runs.is_dir():
            raise BadFile(f"{self.folder}: there are no results in this folder (it has no folder {RUNS!r}).")
        return _read_usable((f for f in sorted(self.runs.iterdir()) if f.suffix not in (PARTIAL, _DAMAGED)), problems)

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Write a result atomically under its run's key; return the file."""
        path = self.path(run)
        metadata = {
            "format": FORMAT,
            _VERSION_FIELD: ALGORITHM_VERSION,
            "run": run.description,
            "seconds": round(seconds, 4),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **_versions(),
        }
        # Arrays that this kind of run does not measure are empty, and not written.
        arrays = {name: array for name, array in result._asdict().items() if np.size(array) or name in _REQUIRED}
        try:
            write_archive(path, metadata, arrays)
        except OSError as error:
            raise self._cannot_write(error) from error
        return path

    def move_damaged(self, run: Run) -> Path:
        """Rename a damaged file, so that its run can be executed again; return the new path."""
        path = self.path(run)
        for number in range(1, 1000):
            target = path.with_name(f"{path.name}.{number}{_DAMAGED}")
            if not target.exists():
                break
        try:
            os.replace(path, target)
        except FileNotFoundError:
            pass  # Another process moved it already.
        except OSError as error:
            raise self._cannot_write(error) from error
        return target

    def _cannot_write(self, error: OSError) -> CannotWrite:
        return CannotWrite(
            f"{self.folder}: results cannot be written there ({error.strerror or error}). "
            "Finished runs are stored; free disk space or choose another folder with --out, then repeat the command."
        )


def read(path: Path) -> StoredRun:
    """Read one file; raise `BadFile` with the cause if it is unusable."""
    try:
        metadata, arrays = read_archive(path)
        version = metadata["format"], metadata[_VERSION_FIELD]
    except PermissionError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}).") from error
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise BadFile(f"{path}: damaged, or not a result stored by wanderlust ({error}).") from error
    if version != (FORMAT, ALGORITHM_VERSION):
        raise OtherVersion(
            f"{path}: ignored, written by wanderlust {metadata.get('wanderlust')} (format {version[0]}, algorithm "
            f"version {version[1]}); this is {__version__} (format {FORMAT}, algorithm version {ALGORITHM_VERSION})."
        )
    if not is_intact(metadata, arrays):
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        run = Run(**metadata.pop("run"))
        result = Result(**arrays)
    except (KeyError, TypeError, WanderlustError) as error:
        raise BadFile(f"{path}: its description of the run is invalid ({error}).") from error
    if path.stem != run.key:
        raise BadFile(
            f"{path}: contains a run with another key ({run.json}): the file was renamed, or the explorer was edited."
        )
    return StoredRun(run, result, metadata)


def _read_usable(files: Iterable[Path], problems: list[str]) -> Iterator[StoredRun]:
    for file in files:
        try:
            stored = read(file)
        except BadFile as error:
            problems.append(str(error))
            continue
        yield stored


def _versions() -> dict[str, Any]:
    """Return the versions of the software, and the machine."""
    return {
        "wanderlust": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
