"""Results on disk: one file per run, named by the run's key.

A file is an archive (see `wanderlust.core.archives`), written atomically. Several processes can share a folder: at
worst two of them execute the same run and write the same numbers.

Reading executes no code: the names of explorers and environments in a file are text, and the file contains the hashes
of their code, which its key depends on.
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
from wanderlust.core.errors import BadFile, WanderlustError, shown
from wanderlust.experiments.run import ALGORITHM_VERSION, Result, Run
from wanderlust.version import __version__

FORMAT = 1
_VERSION_FIELD = "mathematics"
"""The name of `ALGORITHM_VERSION` in the files, which existing files have."""
RUNS = "runs"
_REQUIRED = [name for name in Result._fields if name not in Result._field_defaults]
_DIMENSIONS = {
    "steps": 1, "returns": 1, "discovered": 1, "visits": 2, "first_visit": 1,
    "optimal_return": 0, "reachable": 0,
}
_BUILT_IN = ("",)
"""`Run.code` of runs without user-defined code, which is not stored."""
_DAMAGED = ".damaged"
_STALE_SECONDS = 3600.0
"""Age from which an unfinished file is deleted: its process died, since writing a file takes milliseconds."""


class CannotWrite(BadFile):
    """The store's folder is not writable: the disk is full, or a permission is missing."""


class Damaged(BadFile):
    """A file whose contents are incomplete, changed, or not those that its name stands for."""


class OtherVersion(BadFile):
    """An intact file that was written by an incompatible version."""


class OtherKind(BadFile):
    """An intact archive that is not the result of a run."""


class StoredRun(NamedTuple):
    """A run, its result, and metadata of its execution."""

    run: Run
    result: Result
    metadata: dict[str, Any]
    """key, wanderlust, numpy, numba, python, machine, seconds, finished."""


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
        """Return the file for a run's result: KEY.npz, or KEY.2.npz if a foreign file has that name."""
        path = next((path for path in self._names(run) if not _is_foreign(path)), None)
        if path is None:
            raise CannotWrite(f"{self.runs}: all names for the run {run.key} are taken by files of other versions.")
        return path

    def load(self, run: Run, problems: list[str] | None = None) -> StoredRun | None:
        """Return the stored result of a run, or None if there is none; raise `Damaged` if its file is damaged.

        Files of other versions, of another kind, or that cannot be read are skipped, with a sentence in `problems`.
        """
        for path in self._names(run):
            try:
                return read(path)
            except Damaged:
                raise
            except BadFile as error:
                if problems is not None and not isinstance(error.__cause__, FileNotFoundError):
                    problems.append(str(error))
        return None

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored ones of `runs`; append a sentence to `problems` for each unusable file."""
        for run in runs:
            try:
                stored = self.load(run, problems)
            except Damaged as error:
                problems.append(str(error))
                continue
            if stored is not None:
                yield stored

    def load_all(self, problems: list[str]) -> Iterator[StoredRun]:
        """Yield every stored run; append a sentence to `problems` for each unusable file."""
        try:
            files = sorted(self.runs.iterdir())
        except FileNotFoundError:
            raise BadFile(f"{self.folder}: there are no results in this folder (it has no folder {RUNS!r}).") from None
        except OSError as error:
            raise BadFile(f"{self.folder}: results cannot be read there ({error.strerror or error}).") from error
        except ValueError as error:  # A name that the file system cannot have.
            raise BadFile(f"{shown(str(self.folder))}: not the name of a folder ({error}).") from error
        return _read_usable((file for file in files if file.suffix not in (PARTIAL, _DAMAGED)), problems)

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Write a result atomically under its run's key; return the file."""
        path = self.path(run)
        metadata = {
            "format": FORMAT,
            _VERSION_FIELD: ALGORITHM_VERSION,
            "run": run.description,
            **({} if run.code == _BUILT_IN else {"code": list(run.code)}),
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

    def _names(self, run: Run) -> tuple[Path, ...]:
        """Return the names that a run's file can have, in the order in which they are used."""
        return tuple(self.runs / f"{run.key}{suffix}.npz" for suffix in ("", ".2", ".3"))

    def _cannot_write(self, error: OSError) -> CannotWrite:
        return CannotWrite(
            f"{self.folder}: results cannot be written there ({error.strerror or error}). "
            "Finished runs are stored; free disk space or choose another folder with --out, then repeat the command."
        )


def read(path: Path) -> StoredRun:
    """Read one file; raise `BadFile` with the cause if it is unusable, `Damaged` only if the file is damaged."""
    metadata, arrays = _read_metadata(path)
    if not is_intact(metadata, arrays):
        raise Damaged(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        run = Run(**metadata.pop("run"))
        result = _checked(Result(**arrays))
        key = run.key_with(tuple(map(str, metadata.pop("code", _BUILT_IN))))
    except (KeyError, TypeError, IndexError, WanderlustError) as error:
        raise Damaged(f"{path}: its description of the run is invalid ({error}).") from error
    if path.name.partition(".")[0] != key:
        raise Damaged(f"{path}: contains a run with another key ({run.json}): the file was renamed.")
    return StoredRun(run, result, {**metadata, "key": key})


def _read_metadata(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of a file of this version, checksum included and not checked yet."""
    try:
        metadata, arrays = read_archive(path)
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise BadFile(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
        raise Damaged(f"{path}: damaged, or not a result stored by wanderlust ({error}).") from error
    if _VERSION_FIELD not in metadata:
        raise OtherKind(f"{path}: ignored, an archive of another kind, not the result of a run.")
    version = metadata.get("format"), metadata[_VERSION_FIELD]
    if version != (FORMAT, ALGORITHM_VERSION):
        raise OtherVersion(
            f"{path}: ignored, written by wanderlust {metadata.get('wanderlust')} (format {version[0]}, algorithm "
            f"version {version[1]}); this is {__version__} (format {FORMAT}, algorithm version {ALGORITHM_VERSION})."
        )
    return metadata, arrays


def _is_foreign(path: Path) -> bool:
    """Return whether a file exists that must not be replaced: of another version or kind, or unreadable."""
    try:
        _read_metadata(path)
    except Damaged:
        return False
    except BadFile as error:
        return not isinstance(error.__cause__, FileNotFoundError)
    return False


def _checked(result: Result) -> Result:
    """Return a result if its arrays have the right dimensions and contain numbers, else raise `TypeError`."""
    for name, dimensions in _DIMENSIONS.items():
        array = getattr(result, name)
        if array.ndim != dimensions or array.dtype.kind not in "iuf":
            raise TypeError(f"the array {name!r} must contain numbers in {dimensions} dimensions")
    if not len(result.steps) == len(result.returns) == len(result.discovered):
        raise TypeError("the arrays 'steps', 'returns' and 'discovered' differ in length")
    return result


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
