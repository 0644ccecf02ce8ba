"""Files that are there as a whole or not at all, and archives: plain arrays and one JSON text, sealed by a checksum.

A file is written beside its place, forced to the disk, and then renamed, so that a reader sees a whole file or none,
whenever the power goes. An archive is NumPy's; nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

PARTIAL = ".partial"
"""How the names of files end that are not finished yet."""
_ABOUT, _SEAL = "about", "checksum"


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` once all is written; after an error nothing does."""
    partial = beside(path)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    _force_folder(path.parent)


def beside(path: Path) -> Path:
    """Return where a file is written before it takes its place."""
    return path.with_name(f".{path.stem}.{os.getpid()}.{uuid.uuid4().hex[:8]}{PARTIAL}")


def write_archive(path: Path, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays, and what is to be said about them as plain values."""
    sealed = json.dumps({**about, _SEAL: _checksum(about, arrays)})
    with written_whole(path) as file:
        np.savez_compressed(file, **{_ABOUT: np.array(sealed), **arrays})


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `write_archive` was given; a damaged file makes zipfile, NumPy and this raise almost anything."""
    # Opened here, since NumPy leaves files that it cannot read open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    about = json.loads(str(arrays.pop(_ABOUT)))
    if not isinstance(about, dict):
        raise TypeError("its description is not a table of values")
    return about, arrays


def is_intact(about: dict[str, Any], arrays: Mapping[str, Any]) -> bool:
    """Take the seal off and tell whether it fits."""
    seal: str | None = about.pop(_SEAL, None)
    return seal == _checksum(about, arrays)


def _checksum(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _force_folder(folder: Path) -> None:
    """Force a rename to the disk, on systems that can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
