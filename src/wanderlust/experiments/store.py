"""Results on disk: one file per run while an experiment runs, then packs of two thousand runs.

The folder `runs` has one archive per run, named by the run's key and written atomically. Results that arrive together,
and every two thousand single files, become one pack in the folder `packs`; see `wanderlust.experiments.packs`. A small
store is therefore a folder of readable files, and a store of a million runs has about five hundred of them.

Several processes can share a folder: at worst two of them execute the same run and write the same numbers. A run that
is stored twice, because a process was killed between writing a pack and deleting its single files, is read once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wanderlust.core.errors import BadFile, CannotWrite, shown
from wanderlust.core.files import PARTIAL, atomic_write, partial_path
from wanderlust.experiments.file_lock import locked_unless_held
from wanderlust.experiments.pack_index import PackIndex
from wanderlust.experiments.packs import KEY, Pack, Sealed, write_pack
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.stored_run import Damaged as Damaged
from wanderlust.experiments.stored_run import StoredRun as StoredRun
from wanderlust.experiments.stored_run import archive_of, read_contents, read_metadata
from wanderlust.experiments.stored_run import read as read
from wanderlust.experiments.table import Line, line_of

RUNS, PACKS = "runs", "packs"
PACK_RUNS = 2000
"""Number of single files and runs in small packs from which a pack is written."""
GROUP_RUNS = 4
"""Number of results that arrive together from which they are written as a pack: one flush to disk instead of many."""
_NPZ, _DAMAGED, _LOCK = ".npz", ".damaged", ".lock"
_STALE_SECONDS = 3600.0
"""Age from which an unfinished file is deleted: its process died, since writing a file takes milliseconds."""


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / RUNS
        self._packs = PackIndex(self.folder / PACKS)
        self._since_packing = PACK_RUNS
        """Results written since the single files were counted."""

    def prepare(self) -> None:
        """Create the folder, check that it is writable, and delete stale unfinished files."""
        try:
            for folder in (self.runs, self._packs.folder):
                folder.mkdir(parents=True, exist_ok=True)
                trial = partial_path(folder / "trial")
                trial.touch()
                trial.unlink()
        except OSError as error:
            raise self._cannot_write(error) from error
        for folder in (self.runs, self._packs.folder):
            for file in folder.glob(f".*{PARTIAL}"):
                with contextlib.suppress(OSError):
                    if time.time() - file.stat().st_mtime > _STALE_SECONDS:
                        file.unlink()

    # --- Reading -----------------------------------------------------------------------------------------

    def load(self, run: Run, problems: list[str] | None = None) -> StoredRun | None:
        """Return the stored result of a run, or None if there is none; raise `Damaged` if its file is damaged.

        Files of other versions, of another kind, or that cannot be read are skipped, with a sentence in `problems`.
        """
        for path in self._names(run.key):
            try:
                return read(path)
            except Damaged:
                raise
            except BadFile as error:
                if problems is not None and not isinstance(error.__cause__, FileNotFoundError):
                    problems.append(str(error))
        return self._packs.load(run.key)

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored ones of `runs`; append a sentence to `problems` for each unusable file."""
        for run in runs:
            try:
                stored = self.load(run, problems)
            except Damaged as error:
                problems.append(str(error))
                continue
            if stored is not None:
                yield stored

    def load_all(self, problems: list[str]) -> Iterator[StoredRun]:
        """Yield every stored run; append a sentence to `problems` for each unusable file."""
        return self._load_all(self._files(), problems)

    def _load_all(self, files: list[Path], problems: list[str]) -> Iterator[StoredRun]:
        seen: set[str] = set()
        for stored in _read_usable(files, problems):
            seen.add(stored.metadata["key"])
            yield stored
        # After the single files: what has been packed since they were listed is in a pack now.
        self._packs.refresh(problems)
        for key in self._packs.sorted_keys():
            if key in seen:
                continue
            try:
                packed = self._packs.load(key)
            except BadFile as error:
                problems.append(str(error))
                continue
            if packed is not None:
                yield packed

    def lines(self, problems: list[str]) -> Iterator[Line]:
        """Yield the line of every stored run (see `summary`); of packed runs, the arrays are not read."""
        return self._lines(self._files(), problems)

    def _lines(self, files: list[Path], problems: list[str]) -> Iterator[Line]:
        seen: set[str] = set()
        for stored in _read_usable(files, problems):
            seen.add(stored.metadata["key"])
            yield line_of(stored)
        self._packs.refresh(problems)
        for line in self._packs.lines(problems):
            if line["key"] not in seen:
                seen.add(line["key"])
                yield line

    def stored_keys(self, problems: list[str] | None = None) -> set[bytes]:
        """Return the keys of all stored runs, from the names of files and the indices of packs."""
        keys = {key.encode() for key in self.single_keys()}
        self._packs.refresh(problems)
        return keys.union(*(pack.keys.tolist() for pack in self._packs.packs))

    def intact_packed_keys(self, keys: Iterable[str], problems: list[str]) -> set[str]:
        """Return those of the keys that are in packs and whose bytes there are intact."""
        self._packs.refresh(problems)
        return self._packs.intact(keys, problems)

    def single_keys(self) -> set[str]:
        """Return the keys that single files are named by."""
        try:
            names = [name.partition(".")[0] for name in os.listdir(self.runs) if name.endswith(_NPZ)]
        except OSError:
            return set()
        return {name for name in names if KEY.fullmatch(name)}

    def has(self, key: str) -> bool:
        """Return whether another process has stored a run meanwhile; its contents are not checked."""
        return self._names(key)[0].is_file() or self._packs.has(key)

    def _files(self) -> list[Path]:
        """Return the single files; raise `BadFile` if there is no store."""
        try:
            if not self.runs.is_dir() and self._packs.folder.is_dir():
                return []
            files = sorted(self.runs.iterdir())
        except FileNotFoundError:
            raise BadFile(f"{self.folder}: there are no results in this folder (it has no folder {RUNS!r}).") from None
        except OSError as error:
            raise BadFile(f"{self.folder}: results cannot be read there ({error.strerror or error}).") from error
        except ValueError as error:  # A name that the file system cannot have.
            raise BadFile(f"{shown(str(self.folder))}: not the name of a folder ({error}).") from error
        return [file for file in files if file.suffix not in (PARTIAL, _DAMAGED)]

    # --- Writing -----------------------------------------------------------------------------------------

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Write a result atomically under its run's key; return the file."""
        return self._write_file(run.key, archive_of(run, result, seconds)[1])

    def add(self, results: Sequence[Sealed]) -> None:
        """Store results that arrived together; everything is on disk when this returns."""
        if len(results) < GROUP_RUNS:
            for result in results:
                self._write_file(result.key, result.contents)
        else:
            self._write_pack(results)
        self._since_packing += len(results)
        if self._since_packing >= PACK_RUNS:
            self.pack()

    def pack(self) -> None:
        """Write single files and small packs to one pack, if there are enough of them."""
        self._since_packing = 0
        files = [path for path in self._files() if path.suffix == _NPZ and KEY.fullmatch(path.name.partition(".")[0])]
        self._packs.refresh()
        small = [pack for pack in self._packs.packs if 2 * len(pack) <= PACK_RUNS]
        if len(files) + sum(map(len, small)) < PACK_RUNS:
            return
        with locked_unless_held(self._packs.folder / _LOCK) as free:
            if not free:
                return  # Another process does it.
            try:
                self._pack_files(files[:PACK_RUNS], small)
                for i in range(PACK_RUNS, len(files), PACK_RUNS):
                    self._pack_files(files[i : i + PACK_RUNS], [])
            except OSError as error:
                raise self._cannot_write(error) from error

    def _pack_files(self, files: list[Path], small: Sequence[Pack]) -> None:
        """Write the runs of files and small packs to one pack, then delete these."""
        replaced: list[Path] = []
        write_pack(self._packs.folder, self._intact_entries(files, small, replaced))
        for path in replaced:
            path.unlink(missing_ok=True)

    def _intact_entries(self, files: list[Path], small: Sequence[Pack], replaced: list[Path]) -> Iterator[Sealed]:
        """Yield every run once; append the files that may be deleted to `replaced`. Damaged files stay as they are."""
        seen: set[str] = set()
        for file in files:
            try:
                contents = file.read_bytes()
                stored = read_contents(str(file), file.name.partition(".")[0], contents)
            except (OSError, BadFile):
                continue  # Also gone meanwhile, or of another version.
            replaced.append(file)
            key = stored.metadata["key"]
            if key not in seen:
                seen.add(key)
                yield Sealed(key, contents, line_of(stored))
        for pack in small:
            try:
                for entry in self._packs.entries(pack):
                    if entry.key not in seen:
                        seen.add(entry.key)
                        yield entry
            except (OSError, BadFile):
                continue
            replaced.append(pack.path)

    def _write_pack(self, results: Sequence[Sealed]) -> None:
        try:
            write_pack(self._packs.folder, results)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _write_file(self, key: str, contents: bytes) -> Path:
        path = self._free_path(key)
        try:
            with atomic_write(path) as file:
                file.write(contents)
        except OSError as error:
            raise self._cannot_write(error) from error
        return path

    def path(self, run: Run) -> Path:
        """Return the file for a run's result: KEY.npz, or KEY.2.npz if a foreign file has that name."""
        return self._free_path(run.key)

    def _free_path(self, key: str) -> Path:
        path = next((path for path in self._names(key) if not _is_foreign(path)), None)
        if path is None:
            raise CannotWrite(f"{self.runs}: all names for the run {key} are taken by files of other versions.")
        return path

    def move_damaged(self, run: Run) -> Path:
        """Rename a damaged file, so that its run can be executed again; return the new path."""
        path = self.path(run)
        for number in range(1, 1000):
            target = path.with_name(f"{path.name}.{number}{_DAMAGED}")
            if not target.exists():
                break
        try:
            os.replace(path, target)
        except FileNotFoundError:
            pass  # Another process moved it already.
        except OSError as error:
            raise self._cannot_write(error) from error
        return target

    def _names(self, key: str) -> tuple[Path, ...]:
        """Return the names that a run's file can have, in the order in which they are used."""
        return tuple(self.runs / f"{key}{suffix}{_NPZ}" for suffix in ("", ".2", ".3"))

    def _cannot_write(self, error: OSError) -> CannotWrite:
        return CannotWrite(
            f"{self.folder}: results cannot be written there ({error.strerror or error}). "
            "Finished runs are stored; free disk space or choose another folder with --out, then repeat the command."
        )


def _is_foreign(path: Path) -> bool:
    """Return whether a file exists that must not be replaced: of another version or kind, or unreadable."""
    try:
        read_metadata(path)
    except Damaged:
        return False
    except BadFile as error:
        return not isinstance(error.__cause__, FileNotFoundError)
    return False


def _read_usable(files: Iterable[Path], problems: list[str]) -> Iterator[StoredRun]:
    for file in files:
        try:
            stored = read(file)
        except BadFile as error:
            if not isinstance(error.__cause__, FileNotFoundError):  # Packed since the files were listed.
                problems.append(str(error))
            continue
        yield stored
