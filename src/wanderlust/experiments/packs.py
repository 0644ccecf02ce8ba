"""Packs: the results of many runs in one file, with an index.

A pack is a zip file without compression. Its members are the archives of the runs (see
`wanderlust.experiments.stored_run`), named KEY.npz, so any zip program can take them out. Two more members are archives
as well: `index.npz` has the key, place, size and CRC of every run, and `lines.npz` has one line of JSON per run (see
`wanderlust.experiments.table`). The comment at the end of the file tells where these two are, so that the keys of two
thousand runs are read with two small reads.

A pack is written once, atomically, and never changed. Readers need no lock, on any file system.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import time
import uuid
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.archives import archive_bytes, is_intact, read_archive_bytes
from wanderlust.core.errors import BadFile
from wanderlust.core.files import atomic_write, open_regular
from wanderlust.experiments.run import ALGORITHM_VERSION
from wanderlust.experiments.stored_run import Sealed
from wanderlust.experiments.table import Line

FORMAT = 2
SUFFIX = ".zip"
INDEX, LINES = "index.npz", "lines.npz"
KEY = re.compile(r"[0-9a-f]{24}")
_COMMENT = "wanderlust pack {} {:015d} {:015d} {:015d} {:015d}"
_COMMENT_PATTERN = re.compile(rb"wanderlust pack (\d+) (\d{15}) (\d{15}) (\d{15}) (\d{15})\Z")
_COMMENT_BYTES = len(_COMMENT.format(FORMAT, 0, 0, 0, 0))
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all members: equal results make equal packs."""


@dataclass(frozen=True)
class Pack:
    """The index of a pack."""

    path: Path
    keys: NDArray[np.bytes_]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    crcs: NDArray[np.int64]
    seconds: NDArray[np.float64]
    lines_place: tuple[int, int]
    """The offset and the size of `lines.npz`."""

    def __len__(self) -> int:
        return len(self.keys)

    def names(self) -> list[str]:
        """Return the keys as text."""
        return [key.decode() for key in self.keys.tolist()]

    def contents(self, row: int) -> bytes:
        """Return the archive of one run."""
        with open_regular(self.path) as file:
            file.seek(int(self.offsets[row]))
            return file.read(int(self.sizes[row]))

    def lines(self) -> list[Line]:
        """Return the line of every run, or raise `BadFile`."""
        offset, size = self.lines_place
        with open_regular(self.path) as file:
            file.seek(offset)
            _, arrays = _intact(self.path, file.read(size))
        lines = [json.loads(line) for line in bytes(arrays["lines"]).split(b"\n")]
        if len(lines) != len(self) or any(line["key"] != key for line, key in zip(lines, self.names(), strict=True)):
            raise BadFile(f"{self.path}: its lines do not match its index; the file was damaged or changed.")
        return lines

    def damaged_rows(self, rows: Iterable[int]) -> list[int]:
        """Return those of the rows whose bytes do not match their CRC."""
        starts, ends, crcs = self.offsets.tolist(), (self.offsets + self.sizes).tolist(), self.crcs.tolist()
        with open_regular(self.path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            return [row for row in rows if zlib.crc32(contents[starts[row] : ends[row]]) != crcs[row]]


def write_pack(folder: Path, entries: Iterable[Sealed]) -> Path:
    """Write runs to a new pack; return its path."""
    # Later packs have larger names: of two results with the same key, the later one is used.
    path = folder / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{SUFFIX}"
    keys, places, seconds, lines = [], [], [], []
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            offset = _add(archive, f"{entry.key}.npz", entry.contents)
            keys.append(entry.key)
            places.append((offset, len(entry.contents), zlib.crc32(entry.contents)))
            seconds.append(float(entry.line.get("seconds") or 0.0))
            lines.append(json.dumps(entry.line, ensure_ascii=False).encode(errors="surrogatepass"))
        offsets, sizes, crcs = np.array(places, np.int64).reshape(-1, 3).T
        index = archive_bytes(
            {"pack": FORMAT, "algorithm": ALGORITHM_VERSION},
            {
                "keys": np.array(keys, "S24"),
                "offsets": offsets,
                "sizes": sizes,
                "crcs": crcs,
                "seconds": np.array(seconds, np.float64),
            },
        )
        table = archive_bytes({"pack": FORMAT}, {"lines": np.frombuffer(b"\n".join(lines), np.uint8)})
        places_of_both = _add(archive, INDEX, index), len(index), _add(archive, LINES, table), len(table)
        archive.comment = _COMMENT.format(FORMAT, *places_of_both).encode()
    return path


def read_pack(path: Path) -> Pack:
    """Read the index of a pack; raise `BadFile` if it is damaged or not a pack."""
    try:
        with open_regular(path) as file:
            length = os.fstat(file.fileno()).st_size
            file.seek(max(length - _COMMENT_BYTES, 0))
            found = _COMMENT_PATTERN.match(file.read(_COMMENT_BYTES))
            if found is None:
                raise BadFile(f"{path}: damaged, or not a pack of runs.")
            form, offset, size, *lines_place = map(int, found.groups())
            if form != FORMAT:
                raise BadFile(f"{path}: ignored, a pack of format {form}; this version reads format {FORMAT}.")
            if offset + size > length or sum(lines_place) > length:
                raise BadFile(f"{path}: damaged: its index is outside of the file.")
            file.seek(offset)
            metadata, arrays = _intact(path, file.read(size))
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}).") from error
    if metadata.get("algorithm") != ALGORITHM_VERSION:
        version = f"algorithm version {metadata.get('algorithm')}"
        raise BadFile(f"{path}: ignored, a pack of {version}; this is algorithm version {ALGORITHM_VERSION}.")
    if arrays.keys() != _KINDS.keys() or any(
        array.dtype != np.dtype(_KINDS[name]) or array.shape != (arrays["keys"].size,) for name, array in arrays.items()
    ):
        raise BadFile(f"{path}: its index is invalid.")
    pack = Pack(path, **arrays, lines_place=(lines_place[0], lines_place[1]))
    letters = np.frombuffer(pack.keys.tobytes(), np.uint8)
    if not _IS_HEXADECIMAL[letters].all() or (pack.offsets < 0).any() or (pack.sizes < 0).any():
        raise BadFile(f"{path}: its index is invalid.")
    if (pack.offsets + pack.sizes > length).any():
        raise BadFile(f"{path}: its index names places outside of the file.")
    return pack


_IS_HEXADECIMAL = np.isin(np.arange(256), list(b"0123456789abcdef"))
_KINDS = {"keys": "S24", "offsets": "int64", "sizes": "int64", "crcs": "int64", "seconds": "float64"}


def _add(archive: zipfile.ZipFile, name: str, contents: bytes) -> int:
    """Add a member; return the offset of its contents in the file."""
    archive.writestr(zipfile.ZipInfo(name, _DATE), contents)
    assert archive.fp is not None
    return archive.fp.tell() - len(contents)


def _intact(path: Path, contents: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        metadata, arrays = read_archive_bytes(contents)
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise BadFile(f"{path}: damaged ({error}).") from error
    if not is_intact(metadata, arrays):
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    return metadata, arrays
