"""The archive of one run: the run, its result and metadata of its execution, with a checksum.

The same bytes are a file of a store, a member of a pack, and what a worker sends to the driver. Reading executes no
code: the names of explorers and environments are text, and the archive contains the hashes of their code, which its
key depends on.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.archives import archive_bytes, is_intact, read_archive, read_archive_bytes
from wanderlust.core.errors import BadFile, WanderlustError
from wanderlust.experiments.packs import Sealed
from wanderlust.experiments.run import ALGORITHM_VERSION, Result, Run
from wanderlust.experiments.table import line_of
from wanderlust.version import __version__

FORMAT = 1
_VERSION_FIELD = "mathematics"
"""The name of `ALGORITHM_VERSION` in the files, which existing files have."""
_REQUIRED = [name for name in Result._fields if name not in Result._field_defaults]
_DIMENSIONS = {
    "steps": 1,
    "returns": 1,
    "discovered": 1,
    "visits": 2,
    "first_visit": 1,
    "optimal_return": 0,
    "reachable": 0,
}
Contents = tuple[dict[str, Any], dict[str, Any]]
"""Metadata and arrays."""
_BUILT_IN = ("",)
"""`Run.code` of runs without user-defined code, which is not stored."""


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


def seal(run: Run, result: Result, seconds: float) -> Sealed:
    """Return a finished run as it is stored."""
    metadata, contents = archive_of(run, result, seconds)
    return Sealed(run.key, contents, line_of(StoredRun(run, result, {**metadata, "key": run.key})))


def archive_of(run: Run, result: Result, seconds: float) -> tuple[dict[str, Any], bytes]:
    """Return the metadata of a finished run, and the contents of its file."""
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
    return metadata, archive_bytes(metadata, arrays)


def read(path: Path) -> StoredRun:
    """Read one file; raise `BadFile` with the cause if it is unusable, `Damaged` only if the file is damaged."""
    return _checked_run(str(path), path.name.partition(".")[0], *read_metadata(path))


def read_contents(place: str, key: str, contents: bytes) -> StoredRun:
    """Do the same for the contents of a file that has this key; `place` is named in errors."""
    return _checked_run(place, key, *_check_version(place, *_parsed(place, lambda: read_archive_bytes(contents))))


def read_metadata(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of a file of this version, checksum included and not checked yet."""
    return _check_version(str(path), *_parsed(str(path), lambda: read_archive(path)))


def _parsed(place: str, parse: Callable[[], Contents]) -> Contents:
    try:
        return parse()
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise BadFile(f"{place}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
        raise Damaged(f"{place}: damaged, or not a result stored by wanderlust ({error}).") from error


def _check_version(place: str, metadata: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    if _VERSION_FIELD not in metadata:
        raise OtherKind(f"{place}: ignored, an archive of another kind, not the result of a run.")
    version = metadata.get("format"), metadata[_VERSION_FIELD]
    if version != (FORMAT, ALGORITHM_VERSION):
        raise OtherVersion(
            f"{place}: ignored, written by wanderlust {metadata.get('wanderlust')} (format {version[0]}, algorithm "
            f"version {version[1]}); this is {__version__} (format {FORMAT}, algorithm version {ALGORITHM_VERSION})."
        )
    return metadata, arrays


def _checked_run(place: str, name: str, metadata: dict[str, Any], arrays: dict[str, Any]) -> StoredRun:
    if not is_intact(metadata, arrays):
        raise Damaged(f"{place}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        run = Run(**metadata.pop("run"))
        result = _checked(Result(**arrays))
        key = run.key_with(tuple(map(str, metadata.pop("code", _BUILT_IN))))
    except (KeyError, TypeError, IndexError, WanderlustError) as error:
        raise Damaged(f"{place}: its description of the run is invalid ({error}).") from error
    if name != key:
        raise Damaged(f"{place}: contains a run with another key ({run.json}): the file was renamed.")
    return StoredRun(run, result, {**metadata, "key": key})


def _checked(result: Result) -> Result:
    """Return a result if its arrays have the right dimensions and contain numbers, else raise `TypeError`."""
    for name, dimensions in _DIMENSIONS.items():
        array = getattr(result, name)
        if array.ndim != dimensions or array.dtype.kind not in "iuf":
            raise TypeError(f"the array {name!r} must contain numbers in {dimensions} dimensions")
    if not len(result.steps) == len(result.returns) == len(result.discovered):
        raise TypeError("the arrays 'steps', 'returns' and 'discovered' differ in length")
    return result


@functools.cache
def _versions() -> dict[str, Any]:
    """Return the versions of the software, and the machine."""
    from wanderlust._numba.jit import numba_version

    return {
        "wanderlust": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
