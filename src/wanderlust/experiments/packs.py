"""Packs: the results of many runs in one file, with an index.

A pack is a zip file without compression. Its members are the archives of the runs (see
`wanderlust.experiments.stored_run`), named KEY.npz, so any zip program can take them out. Two more members are JSON:
`index.json` has the key, place, size and CRC of every run, and `lines.json` has their lines (see
`wanderlust.experiments.table`). The comment at the end of the file has the places, sizes and CRCs of these two, so that
the keys of two thousand runs are read with two small reads.

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import BadFile
from wanderlust.core.files import atomic_write, open_regular
from wanderlust.core.schema import Strict
from wanderlust.experiments.run import ALGORITHM_VERSION
from wanderlust.experiments.stored_run import Sealed
from wanderlust.experiments.table import Line

T = TypeVar("T")
FORMAT = 3
SUFFIX = ".zip"
INDEX, LINES = "index.json", "lines.json"
_COMMENT = "wanderlust pack {}" + 6 * " {:015d}"
_COMMENT_BYTES = len(_COMMENT.format(FORMAT, *[0] * 6))
_COMMENT_PATTERN = re.compile(rb"wanderlust pack (\d+)((?: \d{15})+)\Z")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all members: equal results make equal packs."""

Place = tuple[int, int, int]
"""The offset of a member's contents in the file, their size and their CRC."""
_Key = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{24}$")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**48)]


class _Index(Strict, frozen=True):
    """The contents of `index.json`."""

    algorithm: int
    runs: list[tuple[_Key, _Number, _Number, _Number]]
    """The key of each run, and its place."""


@dataclass(frozen=True)
class Pack:
    """The index of a pack."""

    path: Path
    keys: list[str]
    places: NDArray[np.int64]
    """[run, (offset, size, CRC)]"""
    lines_place: Place

    def __len__(self) -> int:
        return len(self.keys)

    def contents(self, row: int) -> bytes:
        """Return the archive of one run."""
        offset, size, _ = self.places[row].tolist()
        with open_regular(self.path) as file:
            file.seek(offset)
            return file.read(size)

    def lines(self) -> list[Line]:
        """Return the line of every run, or raise `BadFile`."""
        with open_regular(self.path) as file:
            lines = _read(self.path, file, self.lines_place, list[dict[str, Any]])
        if [line.get("key") for line in lines] != self.keys or not all(type(line.get("run")) is dict for line in lines):
            raise BadFile(f"{self.path}: its lines do not match its index; the file was damaged or changed.")
        return lines

    def archives(self, rows: Iterable[int]) -> Iterator[bytes | None]:
        """Yield the archives of some runs; None for a run whose bytes do not match their CRC."""
        with open_regular(self.path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            places = self.places.tolist()
            for offset, size, crc in (places[row] for row in rows):
                archive = contents[offset : offset + size]
                yield archive if zlib.crc32(archive) == crc else None


def write_pack(folder: Path, entries: Iterable[Sealed]) -> Path:
    """Write runs to a new pack; return its path."""
    # Later packs have larger names: of two results with the same key, the later one is used.
    path = folder / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{SUFFIX}"
    runs, lines = [], []
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            runs.append((entry.key, *_add(archive, f"{entry.key}.npz", entry.contents)))
            lines.append(entry.line)
        index = {"algorithm": ALGORITHM_VERSION, "runs": runs}
        places = [_add(archive, name, json.dumps(values).encode()) for name, values in ((INDEX, index), (LINES, lines))]
        archive.comment = _COMMENT.format(FORMAT, *places[0], *places[1]).encode()
    return path


def read_pack(path: Path) -> Pack:
    """Read the index of a pack; raise `BadFile` if it is damaged or not a pack."""
    try:
        with open_regular(path) as file:
            length = os.fstat(file.fileno()).st_size
            file.seek(max(length - _COMMENT_BYTES, 0))
            found = _COMMENT_PATTERN.search(file.read(_COMMENT_BYTES))
            if found is None:
                raise BadFile(f"{path}: damaged, or not a pack of runs.")
            if int(found[1]) != FORMAT:
                raise BadFile(f"{path}: ignored, a pack of format {int(found[1])}; this version reads format {FORMAT}.")
            first, size, crc, *lines_place = map(int, found[2].split())
            index = _read(path, file, (first, size, crc), _Index)
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}).") from error
    if index.algorithm != ALGORITHM_VERSION:
        version = f"algorithm version {index.algorithm}"
        raise BadFile(f"{path}: ignored, a pack of {version}; this is algorithm version {ALGORITHM_VERSION}.")
    places = np.array([run[1:] for run in index.runs], np.int64).reshape(-1, 3)
    if (places[:, 0] + places[:, 1] > length).any():
        raise BadFile(f"{path}: its index names places outside of the file.")
    return Pack(path, [run[0] for run in index.runs], places, (lines_place[0], lines_place[1], lines_place[2]))


def _read(path: Path, file: BinaryIO, place: Place, schema: type[T]) -> T:
    """Return the values of a member of JSON, or raise `BadFile`."""
    offset, size, crc = place
    file.seek(offset)
    text = file.read(size)
    if len(text) != size or zlib.crc32(text) != crc:
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        return msgspec.json.decode(text, type=schema)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path}: its index is invalid ({error}).") from error


def _add(archive: zipfile.ZipFile, name: str, contents: bytes) -> Place:
    """Add a member; return its place."""
    archive.writestr(zipfile.ZipInfo(name, _DATE), contents)
    assert archive.fp is not None
    return archive.fp.tell() - len(contents), len(contents), zlib.crc32(contents)
