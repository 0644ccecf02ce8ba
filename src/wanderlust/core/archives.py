"""Archives: NumPy arrays with JSON metadata and a checksum, as NumPy `.npz` files; nothing is ever unpickled.

Archives may come from anywhere, and a few megabytes of deflated zeros can fill the memory of any machine. So all sizes
are checked before any array is allocated, and a caller reads in three steps: the metadata, which say what the archive
is; the headers of the arrays, which must be the expected ones; then the arrays.

    with open_archive(path) as archive:
        check(archive.metadata, archive.headers)
        arrays = archive.read()
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

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


class Header(NamedTuple):
    """The type and the shape of an array, read before the array itself."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Archive:
    """An archive that is open for reading: its metadata, the headers of its arrays, and on demand the arrays."""

    def __init__(self, metadata: dict[str, Any], members: Mapping[str, _Member]) -> None:
        self._checksum = metadata.pop(_CHECKSUM, None)
        self.metadata = metadata
        self._members = members

    @property
    def headers(self) -> dict[str, Header]:
        """The types and shapes of all arrays by name; check them before `read` allocates the arrays."""
        return {name: member.header for name, member in self._members.items()}

    def read(self) -> dict[str, NDArray[Any]]:
        """Return all arrays; raise `ValueError` if the contents do not match their checksum."""
        arrays = {name: member.read() for name, member in self._members.items()}
        if self._checksum != _checksum(self.metadata, arrays):
            raise ValueError("its contents do not match their checksum; the file was damaged or changed")
        return arrays


@contextlib.contextmanager
def open_archive(source: Path | bytes, max_bytes: int = MAX_BYTES) -> Iterator[Archive]:
    """Open a file, or the contents of one, for reading; a damaged archive can raise almost any exception."""
    with contextlib.ExitStack() as stack:
        file = io.BytesIO(source) if isinstance(source, bytes) else stack.enter_context(open_regular(source))
        try:
            size = file.seek(0, os.SEEK_END)
            archive = stack.enter_context(zipfile.ZipFile(file))
            members = _checked_members(archive, max(max_bytes, MAX_RATIO * size))
            metadata = _read_metadata(archive, members.pop(_METADATA, None))
            opened = {name: _Member(each, stack.enter_context(archive.open(each))) for name, each in members.items()}
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise ValueError("its directory leads to places before its start") from error
        yield Archive(metadata, opened)


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
    return json.dumps(metadata, default=lambda number: number.item(), **options)


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
    with archive.open(member) as stream:
        text = _Member(member, stream).read()
    if text.dtype.kind != "U" or text.ndim:
        raise ValueError("its metadata is not a text")
    metadata = json.loads(str(text))
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is not a JSON object")
    return metadata


class _Member:
    """One array of an archive, whose header must agree with the size of its member."""

    def __init__(self, member: zipfile.ZipInfo, stream: IO[bytes]) -> None:
        self._member, self._stream = member, stream
        # Later versions have headers of up to 4 GB; savez writes them for structured arrays only.
        if npy.read_magic(stream) != (1, 0):
            raise ValueError(f"{member.filename} has an unknown version of the npy format")
        with _HEADER_LOCK:
            shape, self._is_fortran, kind = npy.read_array_header_1_0(stream)
        if kind.kind not in _PLAIN_KINDS or kind.itemsize == 0 or kind.hasobject:
            raise ValueError(f"{member.filename} has the dtype {kind}; only numbers and text are read")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"{member.filename} has the shape {shape}")
        if stream.tell() + math.prod(shape) * kind.itemsize != member.file_size:
            raise ValueError(f"{member.filename}: {kind} {shape} does not fit the {member.file_size:,} bytes there")
        self.header = Header(kind, shape)

    def read(self) -> NDArray[Any]:
        """Return the array."""
        kind, shape = self.header
        array: NDArray[Any] = np.empty(shape[::-1] if self._is_fortran else shape, kind)
        target, position = _bytes_of(array) if array.size else np.empty(0, np.uint8), 0
        while position < len(target):  # In pieces, so that the bytes are not in memory twice.
            piece = self._stream.read(min(_CHUNK_BYTES, len(target) - position))
            if not piece:
                raise ValueError(f"{self._member.filename} is cut short")
            target[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
            position += len(piece)
        if self._stream.read(1):  # At the end, zipfile compares the CRC.
            raise ValueError(f"{self._member.filename} is longer than declared")
        return array.T if self._is_fortran else array
