"""Results on disk: packs of finished runs, which several processes can add and read at the same time.

The archive of a run has the run, its result and metadata of its execution, with a checksum. The same bytes are what a
worker sends to the driver. Reading executes no code: the names of explorers and environments are text, and the archive
contains the hashes of their code, which its key depends on.

A pack is a zip file without compression. Its members are archives, named KEY.npz, so any zip program can take them out.
Two more members are JSON: `index.json` has the key, place, size and CRC of every run, and `lines.json` has their lines
(see `wanderlust.experiments.table`). The comment at the end of the file has the places, sizes and CRCs of these two, so
that the keys of two thousand runs are read with two small reads. A pack is written once, atomically, and never changed.
Readers need no lock, on any file system.

Runs that arrive together are written as one pack, and are on disk before they are reported as finished. When there are
many small packs, one process merges them into a large one, so a store of a million runs has about five hundred files.
To join two stores, copy the packs of one into the other. Several processes can share a folder: at worst two of them
execute the same run and write the same numbers. A run that is stored twice, because a process was killed between
writing a merged pack and deleting the small ones, is read once.
"""

from __future__ import annotations

import contextlib
import functools
import json
import mmap
import os
import platform
import re
import time
import uuid
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, NotRequired, TypedDict, TypeVar, get_type_hints

import msgspec
import numpy as np

from wanderlust._numba.cache import numba_version
from wanderlust.core.archives import Header, archive_bytes, open_archive
from wanderlust.core.errors import (
    BadFile,
    CannotWrite,
    InvalidSetting,
    WanderlustError,
    check_instance,
    check_list,
    check_number,
    shown,
)
from wanderlust.core.files import (
    PARTIAL,
    atomic_write,
    locked,
    open_regular,
    partial_path,
    shown_path,
)
from wanderlust.core.schema import Strict
from wanderlust.experiments.run import ALGORITHM_VERSION, Result, Run
from wanderlust.experiments.table import EXECUTION, MEASURES, Line, line_of
from wanderlust.version import __version__

__all__ = ["PACKS", "Sealed", "Store", "StoredRun", "read_pack", "seal", "write_pack"]

T = TypeVar("T")
PACKS = "packs"
PACK_RUNS = 2000
"""Number of runs of a large pack; packs with less than half of it are merged."""
MAX_SMALL_PACKS = 100
"""Number of packs with fewer runs than this from which they are merged."""
_LOCK = ".lock"
_STALE_SECONDS = 3600.0
"""Age from which an unfinished file is deleted: its process died, since writing a file takes milliseconds."""
_SETTLED_NANOSECONDS = 2 * 10**9

# --- The archive of a run --------------------------------------------------------------------------------

_REQUIRED = [name for name in Result._fields if name not in Result._field_defaults]
_INTEGERS, _NUMBERS, _FLAGS, _TEXTS = "iu", "iuf", "b", "U"
ARRAYS: dict[str, tuple[str, int, int | None]] = {
    "steps": (_INTEGERS, 1, None), "returns": (_NUMBERS, 1, None), "discovered": (_INTEGERS, 1, None),
    "visits": (_INTEGERS, 2, None), "first_visit": (_INTEGERS, 1, None), "optimal_return": (_NUMBERS, 0, None),
    "reachable": (_INTEGERS, 0, None), "gaps": (_NUMBERS, 1, None), "bad_steps": (_INTEGERS, 1, None),
    "ends_good": (_FLAGS, 1, None), "moments": (_INTEGERS, 1, None), "value_errors": (_NUMBERS, 1, None),
    "visits_by_moment": (_INTEGERS, 2, None), "improvements": (_NUMBERS, 2, 2), "episodes": (_NUMBERS, 2, 4),
    "rewards": (_NUMBERS, 2, 3), "reward_places": (_TEXTS, 1, None), "pairs": (_INTEGERS, 1, 3),
    "outcomes": (_NUMBERS, 2, 5), "starts": (_NUMBERS, 2, 2), "time_penalty": (_NUMBERS, 1, 1),
    "hidden": (_NUMBERS, 2, 6), "events": (_NUMBERS, 1, 2), "data_returns": (_NUMBERS, 1, None),
    "learning_return": (_NUMBERS, 1, 1),
}  # fmt: skip
"""[array of a result]: what it contains, its number of dimensions, and the length of the last one if that is fixed."""


class StoredRun(NamedTuple):
    """A run, its result, and metadata of its execution."""

    run: Run
    result: Result
    metadata: dict[str, Any]
    """key, place (the file and the key, for messages), code (hashes), git (commit), host, machine, seconds, finished,
    and the versions of wanderlust, numpy, numba and python."""


class Sealed(NamedTuple):
    """A finished run as it travels and is stored: the bytes of its archive, and its line."""

    key: str
    contents: bytes
    line: Line


def seal(run: Run, result: Result, seconds: float) -> Sealed:
    """Return a finished run as it is stored."""
    metadata = {
        "run": run.description,
        "code": list(run.code),
        "git": run.git,
        "seconds": round(seconds, 4),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **_versions(),
    }
    # Arrays that this kind of run does not measure are empty, and not written.
    arrays = {name: array for name, array in result._asdict().items() if np.size(array) or name in _REQUIRED}
    line = line_of(run, result, {**metadata, "key": run.key})
    return Sealed(run.key, archive_bytes(metadata, arrays), line)


@functools.cache
def _versions() -> dict[str, Any]:
    """Return the versions of the software, and the machine."""
    return {
        "wanderlust": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba_version(),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _read_archive(place: str, key: str, contents: bytes) -> StoredRun:
    """Return the run with this key from its archive; raise `BadFile` with the cause, naming the place."""
    try:
        with open_archive(contents) as archive:
            metadata = archive.metadata
            _check_headers(archive.headers)
            arrays = archive.read()
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise many types of errors.
        raise BadFile(f"{place}: damaged, or not a result stored by wanderlust ({error}).") from error
    try:
        run = Run(**metadata.pop("run"))
        result = Result(**arrays)
        found = run.key_with(tuple(map(str, metadata["code"])))
    except (KeyError, TypeError, IndexError, WanderlustError) as error:
        raise BadFile(f"{place}: its description of the run is invalid ({error}).") from error
    if key != found:
        raise BadFile(f"{place}: contains a run with another key ({run.json}).")
    return StoredRun(run, result, {**metadata, "key": key, "place": place})


def _check_headers(headers: Mapping[str, Header]) -> None:
    """Raise `ValueError` unless the arrays are those of a result: numbers of the right dimensions."""
    if wrong := (headers.keys() - set(Result._fields)) | (set(_REQUIRED) - headers.keys()):
        raise ValueError(f"the arrays {', '.join(sorted(wrong))} are missing or unknown")
    for name, (dtype, shape) in headers.items():
        kinds, dimensions, columns = ARRAYS[name]
        if dtype.kind not in kinds or len(shape) != dimensions or (columns and shape[-1] != columns):
            raise ValueError(f"the array {name!r} of a result cannot have the type {dtype} and the shape {shape}")
    if len({headers[name].shape for name in ("steps", "returns", "discovered")}) > 1:
        raise ValueError("the arrays 'steps', 'returns' and 'discovered' differ in length")


# --- Packs -----------------------------------------------------------------------------------------------

PACK_FORMAT = 3
_COMMENT = "wanderlust pack {}" + 6 * " {:015d}"
_COMMENT_BYTES = len(_COMMENT.format(PACK_FORMAT, *[0] * 6))
_COMMENT_PATTERN = re.compile(rb"wanderlust pack (\d+)((?: \d{15})+)\Z")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all members: equal results make equal packs."""

Place = tuple[int, int, int]
"""The offset of a member's contents in the file, their size and their CRC."""
_Key = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{24}$")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**48)]


_RUN: Any = {name: NotRequired[kind] for name, kind in get_type_hints(Run).items()} | {"world": str, "explorer": str}
_LINE: Any = {
    "key": str,
    "run": TypedDict("run", _RUN),  # type: ignore[operator]
    **dict.fromkeys(MEASURES, NotRequired[int | float | None]),
    **dict.fromkeys(EXECUTION, NotRequired[str | None]),
    "seconds": NotRequired[float | None],
}
_LINES: Any = list[TypedDict("line", _LINE)]  # type: ignore[misc,operator]
"""Lines as they are read (see `wanderlust.experiments.table.line_of`); what else they have is not read."""


class _Index(Strict, frozen=True):
    """The contents of `index.json`."""

    algorithm: int
    runs: list[tuple[_Key, _Number, _Number, _Number]]
    """The key of each run, and its place."""


@dataclass(frozen=True)
class Pack:
    """The index of a pack."""

    path: Path
    places: dict[str, Place]
    """The place of the archive of each run, by its key."""
    lines_place: Place

    def __len__(self) -> int:
        return len(self.places)

    def contents(self, key: str) -> bytes:
        """Return the archive of one run."""
        offset, size, _ = self.places[key]
        with open_regular(self.path) as file:
            file.seek(offset)
            return file.read(size)

    def lines(self) -> list[Line]:
        """Return the line of every run, or raise `BadFile`."""
        with open_regular(self.path) as file:
            lines: list[Line] = _read_member(self.path, file, self.lines_place, _LINES)
        if [line["key"] for line in lines] != list(self.places):
            raise BadFile(f"{self.path}: its lines do not match its index; the file was damaged or changed.")
        return lines

    def archives(self, keys: Iterable[str]) -> Iterator[bytes | None]:
        """Yield the archives of some runs; None for a run whose bytes do not match their CRC."""
        with open_regular(self.path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            for offset, size, crc in map(self.places.__getitem__, keys):
                archive = contents[offset : offset + size]
                yield archive if zlib.crc32(archive) == crc else None


def write_pack(folder: Path, entries: Iterable[Sealed]) -> Path:
    """Write runs to a new pack; return its path."""
    # Later packs have larger names: of two results with the same key, the later one is used.
    path = folder / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.zip"
    runs, lines = [], []
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def add(name: str, contents: bytes) -> Place:
            archive.writestr(zipfile.ZipInfo(name, _DATE), contents)
            return file.tell() - len(contents), len(contents), zlib.crc32(contents)

        for entry in entries:
            runs.append((entry.key, *add(f"{entry.key}.npz", entry.contents)))
            lines.append(entry.line)
        index = {"algorithm": ALGORITHM_VERSION, "runs": runs}
        places = *add("index.json", json.dumps(index).encode()), *add("lines.json", json.dumps(lines).encode())
        archive.comment = _COMMENT.format(PACK_FORMAT, *places).encode()
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
            if (version := int(found[1])) != PACK_FORMAT:
                raise BadFile(f"{path}: ignored, a pack of format {version}; this version reads format {PACK_FORMAT}.")
            offset, size, crc, *lines_place = map(int, found[2].split())
            index = _read_member(path, file, (offset, size, crc), _Index)
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}).") from error
    if index.algorithm != ALGORITHM_VERSION:
        raise BadFile(
            f"{path}: ignored, a pack of algorithm version {index.algorithm}; this is version {ALGORITHM_VERSION}."
        )
    if any(offset + size > length for _, offset, size, _ in index.runs):
        raise BadFile(f"{path}: its index names places outside of the file.")
    places = {key: (offset, size, crc) for key, offset, size, crc in index.runs}
    return Pack(path, places, (lines_place[0], lines_place[1], lines_place[2]))


def _read_member(path: Path, file: BinaryIO, place: Place, schema: type[T]) -> T:
    """Return the values of a member of JSON, or raise `BadFile`."""
    offset, size, crc = place
    file.seek(offset)
    text = file.read(size) if offset + size <= os.fstat(file.fileno()).st_size else b""
    if len(text) != size or zlib.crc32(text) != crc:
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    try:
        return msgspec.json.decode(text, type=schema)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path}: its index is invalid ({error}).") from error


# --- The folder ------------------------------------------------------------------------------------------


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        if not isinstance(folder, str | Path):
            raise InvalidSetting(f"the folder of a store must be a path, got {shown(folder)}.")
        self.folder = Path(folder)
        self.packs = self.folder / PACKS
        """The folder of the packs."""
        self._packs: dict[str, Pack] = {}
        self._unusable: list[str] = []
        """One sentence for each pack that cannot be read."""
        self._damaged: set[str] = set()
        """Names of packs that cannot be merged."""
        self._modified = -1

    def prepare(self) -> None:
        """Create the folder, check that it is writable, and delete stale unfinished files."""
        with self._writing():
            self.packs.mkdir(parents=True, exist_ok=True)
            trial = partial_path(self.packs / "trial")
            trial.touch()
            trial.unlink()
        for file in self.packs.glob(f".*{PARTIAL}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _STALE_SECONDS:
                    file.unlink()

    # --- Reading -----------------------------------------------------------------------------------------

    def load(self, run: Run) -> StoredRun | None:
        """Return the stored result of a run, or None if there is none; raise `BadFile` if it cannot be read."""
        return self._load(check_instance("run", run, Run).key)

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored ones of `runs`; append a sentence to `problems` for each that cannot be read."""
        return self.load_keys([run.key for run in check_list("runs", runs, Run)], problems)

    def load_all(self, problems: list[str]) -> Iterator[StoredRun]:
        """Yield every stored run; append a sentence to `problems` for each pack or run that cannot be read."""
        self.check_exists()
        return self.load_keys(sorted(self.stored_keys(problems)), problems)

    def load_keys(self, keys: Iterable[str], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored runs with these keys; append a sentence to `problems` for each that cannot be read."""
        self.refresh(problems)
        for key in check_list("keys", keys, str):
            try:
                stored = self._load(key)
            except BadFile as error:
                problems.append(str(error))
                continue
            if stored is not None:
                yield stored

    def _load(self, key: str) -> StoredRun | None:
        if self._pack_of(key) is None:
            self.refresh()
        for _ in range(3):
            if (pack := self._pack_of(key)) is None:
                return None
            try:
                return _read_archive(f"{pack.path} ({key})", key, pack.contents(key))
            except FileNotFoundError:
                self.refresh(changed=True)  # The pack was merged into a larger one.
            except OSError as error:
                raise BadFile(f"{pack.path}: cannot be read ({error.strerror or error}).") from error
        raise BadFile(f"{self.packs}: the run {key} cannot be read: its pack is replaced again and again.")

    def lines(self, problems: list[str]) -> Iterator[Line]:
        """Yield the line of every stored run (see `wanderlust.experiments.table`); the results are not read."""
        self.check_exists()
        self.refresh(problems)
        seen: set[str] = set()
        done: set[str] = set()
        while todo := [pack for pack in self._latest_first() if pack.path.name not in done]:
            for pack in todo:
                done.add(pack.path.name)
                try:
                    lines = pack.lines()
                except FileNotFoundError:
                    # Merged since the last refresh: the next round reads the larger pack.
                    self.refresh(problems, changed=True)
                    continue
                except (BadFile, OSError) as error:
                    problems.append(str(error))
                    continue
                yield from (line for line in lines if line["key"] not in seen)
                seen |= {line["key"] for line in lines}

    def stored_keys(self, problems: list[str] | None = None) -> set[str]:
        """Return the keys of all stored runs, from the indices of the packs."""
        self.refresh(problems)
        return set().union(*(pack.places for pack in self._packs.values()))

    def intact_keys(self, keys: Iterable[str], problems: list[str]) -> set[str]:
        """Return those of the keys whose runs are stored with intact bytes."""
        self.refresh(problems)
        left, intact = set(check_list("keys", keys, str)), set[str]()
        for pack in self._latest_first():
            found = sorted(left & pack.places.keys())
            left.difference_update(found)
            try:
                for key, archive in zip(found, pack.archives(found), strict=True):
                    if archive is not None:
                        intact.add(key)
                    else:
                        problems.append(f"{pack.path}: the run {key} is damaged; it is executed again.")
            except OSError as error:
                problems.append(f"{pack.path}: cannot be read ({error.strerror or error}).")
        return intact

    def has(self, key: str) -> bool:
        """Return whether a run is stored, as of the last `refresh`; its contents are not checked."""
        return self._pack_of(check_instance("key", key, str)) is not None

    def check_exists(self) -> None:
        """Raise `BadFile` if there is no store in this folder."""
        try:
            self.packs.stat()
        except FileNotFoundError:
            has_files = (self.folder / "runs").is_dir()
            earlier = "; its folder 'runs' has results of an earlier format, which are not read" if has_files else ""
            reason = f"there are no results in this folder (it has no folder {PACKS!r}{earlier})"
            raise BadFile(f"{self.folder}: {reason}.") from None
        except (OSError, ValueError) as error:  # ValueError: a name that the file system cannot have.
            raise BadFile(f"{shown_path(self.folder)}: results cannot be read there ({error}).") from error

    # --- The packs ---------------------------------------------------------------------------------------

    def refresh(self, problems: list[str] | None = None, *, changed: bool = False) -> None:
        """Read the indices of new packs, and forget deleted ones; add a sentence to `problems` for unusable ones.

        Nothing is read if the folder has not changed since the last time, unless it is known to have `changed`.
        """
        try:
            modified = self.packs.stat().st_mtime_ns
            if changed or modified != self._modified:
                self._read(sorted(self.packs.glob("*.zip")))
                # The clock of a file system is coarse: a folder that changed just now may change again unnoticed.
                self._modified = modified if abs(time.time_ns() - modified) > _SETTLED_NANOSECONDS else -1
        except (OSError, ValueError):
            self._read([])
        if problems is not None:
            problems += [text for text in self._unusable if text not in problems]

    def _read(self, paths: Sequence[Path]) -> None:
        packs, unusable = {}, []
        for path in paths:
            try:
                packs[path.name] = self._packs.get(path.name) or read_pack(path)
            except BadFile as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    unusable.append(str(error))
        self._packs, self._unusable = packs, unusable

    def _latest_first(self) -> Iterator[Pack]:
        """Return the packs; of a run that is in two of them, the first one counts."""
        return reversed(self._packs.values())

    def _pack_of(self, key: str) -> Pack | None:
        return next((pack for pack in self._latest_first() if key in pack.places), None)

    # --- Writing -----------------------------------------------------------------------------------------

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Store the result of one run; return the file."""
        check_instance("result", result, Result)
        return self._write([seal(check_instance("run", run, Run), result, check_number("seconds", seconds, low=0))])

    def add(self, results: Sequence[Sealed]) -> None:
        """Store results that arrived together; everything is on disk when this returns."""
        if results := check_list("results", results, Sealed):
            self._write(results)
            self.merge()

    def merge(self) -> None:
        """Write small packs to one pack, if there are many of them."""
        if len(self._to_merge()) < 2:
            return
        with locked(self.packs / _LOCK, wait=False) as free:
            # Otherwise another process merges them, or has just done so.
            if free and len(packs := self._to_merge()) > 1:
                merged: list[Path] = []
                self._write(self._entries(packs, merged))
                for path in merged:
                    path.unlink(missing_ok=True)

    def remove(self, keys: Collection[str]) -> int:
        """Delete runs, by writing the packs that have any of them again; return how many. Damaged packs stay."""
        unwanted, n_removed = set(check_list("keys", keys, str)), 0
        with self._writing(), locked(self.packs / _LOCK):
            self.refresh(changed=True)
            for pack in [each for each in self._packs.values() if not unwanted.isdisjoint(each.places)]:
                replaced: list[Path] = []
                if left := [entry for entry in self._entries([pack], replaced) if entry.key not in unwanted]:
                    self._write(left)
                for path in replaced:
                    path.unlink(missing_ok=True)
                    n_removed += len(pack) - len(left)
        return n_removed

    def _to_merge(self) -> list[Pack]:
        """Return all small packs once they fill a large one, or the tiny ones once there are many of them.

        So a run is written three times at most: alone, with a hundred others, and in a large pack.
        """
        self.refresh()
        small = [pack for name, pack in self._packs.items()
                 if 2 * len(pack) <= PACK_RUNS and name not in self._damaged]  # fmt: skip
        if sum(map(len, small)) >= PACK_RUNS:
            return small
        tiny = [pack for pack in small if len(pack) < MAX_SMALL_PACKS]
        return tiny if len(tiny) >= MAX_SMALL_PACKS else []

    def _entries(self, packs: Sequence[Pack], merged: list[Path]) -> Iterator[Sealed]:
        """Yield every run of some packs once; append the packs to `merged`. Damaged packs stay as they are."""
        seen: set[str] = set()
        for pack in reversed(packs):  # Of a run that is in two packs, the later one counts.
            try:
                lines, archives = pack.lines(), list(pack.archives(pack.places))
            except FileNotFoundError:
                continue  # Merged by another process.
            except (OSError, BadFile):
                archives = [None]
            if None in archives:
                self._damaged.add(pack.path.name)
                continue
            for key, archive, line in zip(pack.places, archives, lines, strict=True):
                if archive is not None and key not in seen:
                    yield Sealed(key, archive, line)
            seen |= pack.places.keys()
            merged.append(pack.path)

    def _write(self, results: Iterable[Sealed]) -> Path:
        with self._writing():
            self.packs.mkdir(parents=True, exist_ok=True)
            return write_pack(self.packs, results)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: a name that the file system cannot have.
            reason = getattr(error, "strerror", None) or error
            raise CannotWrite(
                f"{shown_path(self.folder)}: results cannot be written there ({reason}). Finished runs are stored; "
                "free disk space or choose another folder with --out, then repeat the command."
            ) from error
