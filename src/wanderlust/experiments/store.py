"""Results on disk: packs of finished runs, which several processes can add and read at the same time.

Runs that arrive together are written as one pack (see `wanderlust.experiments.packs`), and are on disk before they are
reported as finished. When there are many small packs, one process merges them into a large one, so a store of a million
runs has about five hundred files. To join two stores, copy the packs of one into the other.

Several processes can share a folder: at worst two of them execute the same run and write the same numbers. A run that
is stored twice, because a process was killed between writing a merged pack and deleting the small ones, is read once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wanderlust.core.errors import BadFile, CannotWrite, shown
from wanderlust.core.files import PARTIAL, locked_unless_held, partial_path
from wanderlust.experiments.packs import SUFFIX, Pack, read_pack, write_pack
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.stored_run import Damaged as Damaged
from wanderlust.experiments.stored_run import Sealed, read_contents, seal
from wanderlust.experiments.stored_run import StoredRun as StoredRun
from wanderlust.experiments.table import Line

__all__ = ["PACKS", "Damaged", "Store", "StoredRun"]

PACKS = "packs"
PACK_RUNS = 2000
"""Number of runs of a large pack; packs with less than half of it are merged."""
MAX_SMALL_PACKS = 100
"""Number of packs with fewer runs than this from which they are merged."""
_ADDS_PER_MERGE = 10
"""How often it is checked whether there are enough small packs to merge: at the first addition, then at every tenth."""
_LOCK = ".lock"
_STALE_SECONDS = 3600.0
"""Age from which an unfinished file is deleted: its process died, since writing a file takes milliseconds."""
_SETTLED_NANOSECONDS = 2 * 10**9


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.packs = self.folder / PACKS
        """The folder of the packs."""
        self._packs: dict[str, Pack] = {}
        self._unusable: dict[str, str] = {}
        self._damaged: set[str] = set()
        """Names of packs that cannot be merged."""
        self._changed = -1
        self._checked = -1.0
        self._n_added = 0
        self._places: dict[str, tuple[Pack, int]] | None = None

    def prepare(self) -> None:
        """Create the folder, check that it is writable, and delete stale unfinished files."""
        try:
            self.packs.mkdir(parents=True, exist_ok=True)
            trial = partial_path(self.packs / "trial")
            trial.touch()
            trial.unlink()
        except OSError as error:
            raise self._cannot_write(error) from error
        for file in self.packs.glob(f".*{PARTIAL}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _STALE_SECONDS:
                    file.unlink()

    # --- Reading -----------------------------------------------------------------------------------------

    def load(self, run: Run) -> StoredRun | None:
        """Return the stored result of a run, or None if there is none; raise `BadFile` if it cannot be read."""
        return self._load(run.key)

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield the stored ones of `runs`; append a sentence to `problems` for each that cannot be read."""
        self.refresh(problems)
        return self._load_keys((run.key for run in runs), problems)

    def load_all(self, problems: list[str]) -> Iterator[StoredRun]:
        """Yield every stored run; append a sentence to `problems` for each pack or run that cannot be read."""
        self.check_exists()
        self.refresh(problems)
        return self._load_keys(sorted(self._index()), problems)

    def _load_keys(self, keys: Iterable[str], problems: list[str]) -> Iterator[StoredRun]:
        for key in keys:
            try:
                stored = self._load(key)
            except BadFile as error:
                problems.append(str(error))
                continue
            if stored is not None:
                yield stored

    def _load(self, key: str) -> StoredRun | None:
        for _ in range(3):
            place = self._index().get(key)
            if place is None:
                before = self._packs
                self.refresh()
                place = self._index().get(key) if self._packs is not before else None
            if place is None:
                return None
            pack, row = place
            try:
                contents = pack.contents(row)
            except FileNotFoundError:
                self._changed = -1  # The pack was merged into a larger one.
                self.refresh()
                continue
            except OSError as error:
                raise BadFile(f"{pack.path}: cannot be read ({error.strerror or error}).") from error
            return read_contents(f"{pack.path} ({key})", key, contents)
        raise BadFile(f"{self.packs}: the run {key} cannot be read: its pack is replaced again and again.")

    def lines(self, problems: list[str]) -> Iterator[Line]:
        """Yield the line of every stored run (see `wanderlust.experiments.table`); the results are not read."""
        self.check_exists()
        self.refresh(problems)
        return self._lines(problems)

    def _lines(self, problems: list[str]) -> Iterator[Line]:
        seen: set[str] = set()
        done: set[str] = set()
        while todo := [pack for name, pack in reversed(self._packs.items()) if name not in done]:
            for pack in todo:
                done.add(pack.path.name)
                try:
                    lines = pack.lines()
                except FileNotFoundError:
                    # Merged since the last refresh: the next round reads the larger pack.
                    self._changed = -1
                    self.refresh(problems)
                    continue
                except (BadFile, OSError) as error:
                    problems.append(str(error))
                    continue
                yield from (line for line in lines if line["key"] not in seen)
                seen |= {line["key"] for line in lines}

    def stored_keys(self, problems: list[str] | None = None) -> set[str]:
        """Return the keys of all stored runs, from the indices of the packs."""
        self.refresh(problems)
        return set().union(*(pack.keys for pack in self._packs.values()))

    def intact_keys(self, keys: Iterable[str], problems: list[str]) -> set[str]:
        """Return those of the keys whose runs are stored with intact bytes."""
        self.refresh(problems)
        index = self._index()
        rows: dict[Path, tuple[Pack, list[int]]] = {}
        for key in keys:
            if key in index:
                pack, row = index[key]
                rows.setdefault(pack.path, (pack, []))[1].append(row)
        intact: set[str] = set()
        for pack, wanted in rows.values():
            try:
                for row, archive in zip(wanted, pack.archives(wanted), strict=True):
                    if archive is not None:
                        intact.add(pack.keys[row])
                    else:
                        problems.append(f"{pack.path}: the run {pack.keys[row]} is damaged; it is executed again.")
            except OSError as error:
                problems.append(f"{pack.path}: cannot be read ({error.strerror or error}).")
        return intact

    def has(self, key: str) -> bool:
        """Return whether a run is stored, as of a second ago; its contents are not checked."""
        if time.monotonic() - self._checked > 1.0:
            self.refresh()
            self._checked = time.monotonic()
        return key in self._index()

    def check_exists(self) -> None:
        """Raise `BadFile` if there is no store in this folder."""
        try:
            self.packs.stat()
        except FileNotFoundError:
            has_files = (self.folder / "runs").is_dir()
            earlier = "; its folder 'runs' has results of an earlier format, which are not read" if has_files else ""
            raise BadFile(
                f"{self.folder}: there are no results in this folder (it has no folder {PACKS!r}{earlier})."
            ) from None
        except OSError as error:
            raise BadFile(f"{self.folder}: results cannot be read there ({error.strerror or error}).") from error
        except ValueError as error:  # A name that the file system cannot have.
            raise BadFile(f"{shown(str(self.folder))}: not the name of a folder ({error}).") from error

    # --- The packs ---------------------------------------------------------------------------------------

    def refresh(self, problems: list[str] | None = None) -> None:
        """Read the indices of new packs, and forget deleted ones; add a sentence to `problems` for unusable ones."""
        try:
            changed = self.packs.stat().st_mtime_ns
            if changed != self._changed:
                self._read({path.name: path for path in sorted(self.packs.glob(f"*{SUFFIX}"))})
                # The clock of a file system is coarse: a folder that changed just now may change again unnoticed.
                self._changed = changed if abs(time.time_ns() - changed) > _SETTLED_NANOSECONDS else -1
        except (OSError, ValueError):
            self._read({})
        if problems is not None:
            problems += [text for text in self._unusable.values() if text not in problems]

    def _read(self, paths: dict[str, Path]) -> None:
        unusable = {}
        packs = {}
        for name, path in paths.items():
            try:
                packs[name] = self._packs.get(name) or read_pack(path)
            except BadFile as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    unusable[name] = str(error)
        if self._places is not None:
            # Only the changes: a store of a million runs gets a new pack every few seconds.
            self._places |= _places(pack for name, pack in packs.items() if name not in self._packs)
            for name, pack in self._packs.items():
                if name not in packs:
                    for key in pack.keys:
                        if self._places[key][0] is pack:
                            del self._places[key]
        self._packs, self._unusable = packs, unusable
        self._checked = time.monotonic()

    def _index(self) -> dict[str, tuple[Pack, int]]:
        if self._places is None:
            self._places = _places(self._packs.values())
        return self._places

    # --- Writing -----------------------------------------------------------------------------------------

    def save(self, run: Run, result: Result, seconds: float) -> Path:
        """Store the result of one run; return the file."""
        return self._write([seal(run, result, seconds)])

    def add(self, results: Sequence[Sealed]) -> None:
        """Store results that arrived together; everything is on disk when this returns."""
        if results:
            self._write(results)
            if self._n_added % _ADDS_PER_MERGE == 0:
                self.merge()
            self._n_added += 1

    def merge(self) -> None:
        """Write small packs to one pack, if there are many of them."""
        if len(self._to_merge()) < 2:
            return
        with locked_unless_held(self.packs / _LOCK) as free:
            # Otherwise another process merges them, or has just done so.
            if free and len(packs := self._to_merge()) > 1:
                merged: list[Path] = []
                self._write(self._entries(packs, merged))
                for path in merged:
                    path.unlink(missing_ok=True)

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
                lines, archives = pack.lines(), list(pack.archives(range(len(pack))))
            except FileNotFoundError:
                continue  # Merged by another process.
            except (OSError, BadFile):
                self._damaged.add(pack.path.name)
                continue
            if None in archives:
                self._damaged.add(pack.path.name)
                continue
            for key, archive, line in zip(pack.keys, archives, lines, strict=True):
                if archive is not None and key not in seen:
                    yield Sealed(key, archive, line)
            seen.update(pack.keys)
            merged.append(pack.path)

    def _write(self, results: Iterable[Sealed]) -> Path:
        try:
            self.packs.mkdir(parents=True, exist_ok=True)
            return write_pack(self.packs, results)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> CannotWrite:
        return CannotWrite(
            f"{self.folder}: results cannot be written there ({error.strerror or error}). "
            "Finished runs are stored; free disk space or choose another folder with --out, then repeat the command."
        )


def _places(packs: Iterable[Pack]) -> dict[str, tuple[Pack, int]]:
    """Return key -> pack and row; of a run that is in two packs, the later one counts."""
    return {key: (pack, row) for pack in packs for row, key in enumerate(pack.keys)}
