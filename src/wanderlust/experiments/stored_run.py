"""The archive of one run: the run, its result and metadata of its execution, with a checksum.

The same bytes are a member of a pack, and what a worker sends to the driver. Reading executes no
code: the names of explorers and environments are text, and the archive contains the hashes of their code, which its
key depends on.
"""

from __future__ import annotations

import functools
import os
import platform
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.archives import archive_bytes, is_intact, read_archive_bytes
from wanderlust.core.errors import BadFile, WanderlustError
from wanderlust.experiments.run import ALGORITHM_VERSION, Result, Run
from wanderlust.experiments.table import Line, line_of
from wanderlust.version import __version__

FORMAT = 2
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
_BUILT_IN = ("",)
"""`Run.code` of runs without user-defined code, which is not stored."""


class Damaged(BadFile):
    """A stored run whose contents are incomplete, changed, or not those that its key stands for."""


class StoredRun(NamedTuple):
    """A run, its result, and metadata of its execution."""

    run: Run
    result: Result
    metadata: dict[str, Any]
    """key, wanderlust, numpy, numba, python, machine, seconds, finished."""


class Sealed(NamedTuple):
    """A finished run as it travels and is stored: the bytes of its archive, and its line."""

    key: str
    contents: bytes
    line: Line


def seal(run: Run, result: Result, seconds: float) -> Sealed:
    """Return a finished run as it is stored."""
    metadata = {
        "format": FORMAT,
        "algorithm": ALGORITHM_VERSION,
        "run": run.description,
        **({} if run.code == _BUILT_IN else {"code": list(run.code)}),
        "seconds": round(seconds, 4),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **_versions(),
    }
    # Arrays that this kind of run does not measure are empty, and not written.
    arrays = {name: array for name, array in result._asdict().items() if np.size(array) or name in _REQUIRED}
    line = line_of(StoredRun(run, result, {**metadata, "key": run.key}))
    return Sealed(run.key, archive_bytes(metadata, arrays), line)


def read_contents(place: str, key: str, contents: bytes) -> StoredRun:
    """Return the run with this key from its archive; raise `BadFile` with the cause, naming the place."""
    try:
        metadata, arrays = read_archive_bytes(contents)
    except MemoryError as error:
        raise BadFile(f"{place}: cannot be read ({error}).") from error
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise Damaged(f"{place}: damaged, or not a result stored by wanderlust ({error}).") from error
    version = metadata.get("format"), metadata.get("algorithm")
    if version != (FORMAT, ALGORITHM_VERSION):
        raise BadFile(
            f"{place}: ignored, written by wanderlust {metadata.get('wanderlust')} (format {version[0]}, algorithm "
            f"version {version[1]}); this is {__version__} (format {FORMAT}, algorithm version {ALGORITHM_VERSION})."
        )
    if not is_intact(metadata, arrays):
        raise Damaged(f"{place}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        run = Run(**metadata.pop("run"))
        result = _checked(Result(**arrays))
        found = run.key_with(tuple(map(str, metadata.pop("code", _BUILT_IN))))
    except (KeyError, TypeError, IndexError, WanderlustError) as error:
        raise Damaged(f"{place}: its description of the run is invalid ({error}).") from error
    if key != found:
        raise Damaged(f"{place}: contains a run with another key ({run.json}).")
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
