"""Atomic file writes, and archives: NumPy arrays with JSON metadata and a checksum.

A file is written under a temporary name in the same folder, flushed to disk and then renamed. A reader therefore sees
a complete file or none, even after a power failure. Archives are NumPy `.npz` files; nothing is ever unpickled.
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
"""The suffix of files that are still being written."""
_METADATA, _CHECKSUM = "about", "checksum"


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends; after an error `path` is unchanged."""
    partial = partial_path(path)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(path.parent)


def partial_path(path: Path) -> Path:
    """Return a unique temporary path in the folder of `path`."""
    return path.with_name(f".{path.stem}.{os.getpid()}.{uuid.uuid4().hex[:8]}{PARTIAL}")


def write_archive(path: Path, metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays together with metadata that JSON can represent."""
    text = json.dumps({**metadata, _CHECKSUM: _checksum(metadata, arrays)})
    with atomic_write(path) as file:
        np.savez_compressed(file, **{_METADATA: np.array(text), **arrays})


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata, checksum included, and the arrays; a damaged file can raise almost any exception."""
    # Opened here because NumPy does not close files that it cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    metadata = json.loads(str(arrays.pop(_METADATA)))
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is not a JSON object")
    return metadata, arrays


def is_intact(metadata: dict[str, Any], arrays: Mapping[str, Any]) -> bool:
    """Remove the checksum from the metadata and return whether it is correct."""
    stored: str | None = metadata.pop(_CHECKSUM, None)
    return stored == _checksum(metadata, arrays)


def _checksum(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Flush a rename to disk, on systems that support it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
