"""Results on disk: one file per run, named by the run's key.

A file is an archive (see `wanderlust.core.archives`), there as a whole or not at all. Any number of processes can share a
folder: at worst two of them compute the same run and write the same numbers.
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

from wanderlust.core.archives import PARTIAL, is_intact, partial_path, read_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError
from wanderlust.experiments.run import MATHEMATICS, Result, Run
from wanderlust.version import __version__

FORMAT = 1
RUNS = "runs"
_ALWAYS = [name for name in Result._fields if name not in Result._field_defaults]
_ASIDE = ".damaged"
_STALE_AFTER = 3600.0
"""Seconds after which a file that was never finished is some dead process's: writing one takes milliseconds."""


class CannotWrite(BadFile):
    """The store's folder takes no more files: the disk is full, or the folder is not ours to write in."""


class OtherVersion(BadFile):
    """A file of another version: nothing is wrong with it, but it is not for us to read."""


class Stored(NamedTuple):
    """A run, its result, and what was noted when it was made."""

    run: Run
    result: Result
    about: dict[str, Any]
    """wanderlust, numpy, numba, python, machine, seconds, finished."""


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / RUNS

    def prepare(self) -> None:
        """Make the folder, see that it can be written in, and sweep out what dead processes left unfinished."""
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            trial = partial_path(self.runs / "trial")
            trial.touch()
            trial.unlink()
        except OSError as error:
            raise self._cannot_write(error) from error
        for file in self.runs.glob(f"*{PARTIAL}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _STALE_AFTER:
                    file.unlink()

    def path(self, run: Run) -> Path:
        """Return where a run's result is kept."""
        return self.runs / f"{run.key}.npz"

    def load(self, run: Run) -> Stored | None:
        """Return what is stored of a run, None if nothing is, or raise `BadFile`."""
        path = self.path(run)
        return read(path) if path.exists() else None

    def each(self, runs: Iterable[Run], problems: list[str]) -> Iterator[Stored]:
        """Yield what is stored of some runs; of each file that cannot be used, add a sentence to `problems`."""
        return _usable((path for run in runs if (path := self.path(run)).exists()), problems)

    def all(self, problems: list[str]) -> Iterator[Stored]:
        """Yield all that is stored; of each file that cannot be used, add a sentence to `problems`."""
        if not self.runs.is_dir():
            raise BadFile(f"{self.folder}: there are no results in this folder (it has no folder {RUNS!r}).")
        return _usable((f for f in sorted(self.runs.iterdir()) if f.suffix not in (PARTIAL, _ASIDE)), problems)

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Write a result under its run's key; it is there as a whole or not at all."""
        path = self.path(run)
        about = {
            "format": FORMAT,
            "mathematics": MATHEMATICS,
            "run": run.description,
            "seconds": round(seconds, 4),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **_origin(),
        }
        # What a run does not measure is empty, and not written.
        arrays = {name: array for name, array in result._asdict().items() if np.size(array) or name in _ALWAYS}
        try:
            write_archive(path, about, arrays)
        except OSError as error:
            raise self._cannot_write(error) from error
        return path

    def set_aside(self, run: Run) -> Path:
        """Move a damaged file out of the way, so that its run can be made again; return where it is now."""
        path = self.path(run)
        for number in range(1, 1000):
            aside = path.with_name(f"{path.name}.{number}{_ASIDE}")
            if not aside.exists():
                break
        try:
            os.replace(path, aside)
        except FileNotFoundError:
            pass  # Another process was faster.
        except OSError as error:
            raise self._cannot_write(error) from error
        return aside

    def _cannot_write(self, error: OSError) -> CannotWrite:
        return CannotWrite(
            f"{self.folder}: results cannot be written there ({error.strerror or error}). "
            "What was finished before is kept; make room or choose another folder with --out, then run the same again."
        )


def read(path: Path) -> Stored:
    """Read one file, or raise `BadFile` with what is wrong with it."""
    try:
        about, arrays = read_archive(path)
        version = about["format"], about["mathematics"]
    except PermissionError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}).") from error
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise almost anything.
        raise BadFile(f"{path}: damaged, or not a result that wanderlust stored ({error}).") from error
    if version != (FORMAT, MATHEMATICS):
        raise OtherVersion(
            f"{path}: made by wanderlust {about.get('wanderlust')} (format {version[0]}, mathematics {version[1]}), "
            f"not usable in {__version__} (format {FORMAT}, mathematics {MATHEMATICS}); left alone."
        )
    if not is_intact(about, arrays):
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        run = Run(**about.pop("run"))
        result = Result(**arrays)
    except (KeyError, TypeError, WanderlustError) as error:
        raise BadFile(f"{path}: its description cannot be used ({error}).") from error
    if path.stem != run.key:
        raise BadFile(
            f"{path}: holds another run than its name says ({run.json}): renamed, or the explorer was edited."
        )
    return Stored(run, result, about)


def _usable(files: Iterable[Path], problems: list[str]) -> Iterator[Stored]:
    for file in files:
        try:
            stored = read(file)
        except BadFile as error:
            problems.append(str(error))
            continue
        yield stored


def _origin() -> dict[str, Any]:
    """Return what made a result: versions and machine."""
    from wanderlust._numba.jit import JIT_ENABLED

    numba = "off"
    if JIT_ENABLED:
        import numba as compiler

        numba = compiler.__version__
    return {
        "wanderlust": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
