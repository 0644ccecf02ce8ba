"""Archives: NumPy arrays with JSON metadata and a checksum, as NumPy `.npz` files; nothing is ever unpickled.

Archives may come from anywhere. So all sizes are checked before any array is allocated: a few megabytes of deflated
zeros can otherwise fill the memory of any machine.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wanderlust.core.files import atomic_write, open_regular

MAX_BYTES, MAX_RATIO = 2**32, 50
"""The arrays of an archive may take `MAX_BYTES` of memory, or `MAX_RATIO` times the size of a larger file."""
_MAX_MEMBERS, _MAX_METADATA_BYTES = 1000, 2**26
_CHUNK_BYTES = 2**20
_METADATA, _CHECKSUM, _NPY = "about", "checksum", ".npy"
_HEADER_LOCK = threading.Lock()
"""NumPy reads headers with Python's parser, which can fail in Python 3.11 if two threads use it at the same time."""
_PLAIN_KINDS = "biufSU"
"""Booleans, integers, floats and text: the kinds of NumPy arrays whose bytes contain no references."""


def write_archive(path: Path, metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays together with metadata that JSON can represent."""
    with atomic_write(path) as file:
        _write_to(file, metadata, arrays)


def archive_bytes(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Return the contents of the file that `write_archive` writes."""
    buffer = io.BytesIO()
    _write_to(buffer, metadata, arrays)
    return buffer.getvalue()


def _write_to(file: BinaryIO, metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    text = _as_json({**metadata, _CHECKSUM: _checksum(metadata, arrays)})
    np.savez_compressed(file, **{_METADATA: np.array(text), **arrays})


def read_archive(path: Path, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata, checksum included, and the arrays; a damaged file can raise almost any exception."""
    with open_regular(path) as file:
        return _read_from(file, max(max_bytes, MAX_RATIO * os.fstat(file.fileno()).st_size))


def read_archive_bytes(contents: bytes, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do the same for the contents of a file."""
    return _read_from(io.BytesIO(contents), max(max_bytes, MAX_RATIO * len(contents)))


def _read_from(file: BinaryIO, max_bytes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = _checked_members(archive, max_bytes)
            metadata = _read_metadata(archive, members.pop(_METADATA, None))
            return metadata, {name: _read_array(archive, member) for name, member in members.items()}
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise ValueError("its directory leads to places before its start") from error


def is_intact(metadata: dict[str, Any], arrays: Mapping[str, Any]) -> bool:
    """Remove the checksum from the metadata and return whether it is correct."""
    stored: str | None = metadata.pop(_CHECKSUM, None)
    return stored == _checksum(metadata, arrays)


def _checksum(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(_as_json(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        if array.size:
            digest.update(_bytes_of(array).data)
    return digest.hexdigest()


def _as_json(metadata: Mapping[str, Any], **options: Any) -> str:
    """Return metadata as JSON; numbers of NumPy, which callers may have given as options, become Python's."""
    return json.dumps(metadata, default=_as_python_number, **options)


def _as_python_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be saved")


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array without copying them."""
    return array.reshape(-1).view(np.uint8)


# --- Reading -------------------------------------------------------------------------------------------


def _checked_members(archive: zipfile.ZipFile, max_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by the names of their arrays, if their sizes and formats are acceptable."""
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise ValueError(f"it has {len(members):,} members; at most {_MAX_MEMBERS:,} are read")
    total = sum(member.file_size for member in members)
    if total > max_bytes:
        raise ValueError(f"its contents would take {total:,} bytes; at most {max_bytes:,} are read")
    named: dict[str, zipfile.ZipInfo] = {}
    for member in members:
        name = member.filename.removesuffix(_NPY)
        if name == member.filename or name in named:
            raise ValueError(f"its member {member.filename!r} is repeated or not an array")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"its member {member.filename!r} is compressed with an unknown method")
        named[name] = member
    return named


def _read_metadata(archive: zipfile.ZipFile, member: zipfile.ZipInfo | None) -> dict[str, Any]:
    if member is None or member.file_size > _MAX_METADATA_BYTES:
        raise ValueError("it has no metadata, or too much")
    text = _read_array(archive, member)
    if text.dtype.kind != "U" or text.ndim:
        raise ValueError("its metadata is not a text")
    metadata = json.loads(str(text))
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is not a JSON object")
    return metadata


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array, whose header must agree with the size of its member."""
    with archive.open(member) as stream:
        shape, is_fortran, kind = _read_header(stream, member)
        size = math.prod(shape) * kind.itemsize
        if stream.tell() + size != member.file_size:
            raise ValueError(f"{member.filename}: {kind} {shape} does not fit the {member.file_size:,} bytes there")
        array: NDArray[Any] = np.empty(shape[::-1] if is_fortran else shape, kind)
        if size:
            _fill(_bytes_of(array), stream, member)
        if stream.read(1):  # At the end, zipfile compares the CRC.
            raise ValueError(f"{member.filename} is longer than declared")
    return array.T if is_fortran else array


def _read_header(stream: IO[bytes], member: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    # Later versions have headers of up to 4 GB; savez writes them for structured arrays only.
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{member.filename} has an unknown version of the npy format")
    with _HEADER_LOCK:
        shape, is_fortran, kind = npy.read_array_header_1_0(stream)
    if kind.kind not in _PLAIN_KINDS or kind.itemsize == 0 or kind.hasobject:
        raise ValueError(f"{member.filename} has the dtype {kind}; only numbers and text are read")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"{member.filename} has the shape {shape}")
    return shape, is_fortran, kind


def _fill(target: NDArray[np.uint8], stream: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Read the bytes of an array in pieces, so that they are not in memory twice."""
    position = 0
    while position < len(target):
        piece = stream.read(min(_CHUNK_BYTES, len(target) - position))
        if not piece:
            raise ValueError(f"{member.filename} is cut short")
        target[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
        position += len(piece)
