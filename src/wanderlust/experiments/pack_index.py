"""The packs of a store: where each run is. Other processes may add packs and merge small ones at any time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from wanderlust.core.errors import BadFile
from wanderlust.experiments.packs import SUFFIX, Pack, Sealed, read_pack
from wanderlust.experiments.stored_run import StoredRun, read_contents
from wanderlust.experiments.table import Line

_SETTLED_NANOSECONDS = 2 * 10**9


class PackIndex:
    """The packs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packs: dict[str, Pack] = {}
        self._unusable: dict[str, str] = {}
        self._changed = -1
        self._checked = -1.0
        self._places: dict[str, tuple[Pack, int]] | None = None

    @property
    def packs(self) -> list[Pack]:
        """The packs, the oldest first, as of the last `refresh`."""
        return list(self._packs.values())

    def refresh(self, problems: list[str] | None = None) -> None:
        """Read the indices of new packs, and forget deleted ones; add a sentence to `problems` for unusable ones."""
        try:
            changed = self.folder.stat().st_mtime_ns
            if changed != self._changed:
                self._read({path.name: path for path in sorted(self.folder.glob(f"*{SUFFIX}"))})
                # The clock of a file system is coarse: a folder that changed just now may change again unnoticed.
                self._changed = changed if abs(time.time_ns() - changed) > _SETTLED_NANOSECONDS else -1
        except OSError:
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
            # Not all anew: a store of a million runs gets a new pack every few seconds.
            self._places |= _places(pack for name, pack in packs.items() if name not in self._packs)
            for name, pack in self._packs.items():
                if name not in packs:
                    for key in pack.names():
                        if self._places[key][0] is pack:
                            del self._places[key]
        self._packs, self._unusable = packs, unusable
        self._checked = time.monotonic()

    def sorted_keys(self) -> list[str]:
        """Return the keys of all packed runs, as of the last `refresh`, sorted."""
        return sorted(self._index())

    def has(self, key: str) -> bool:
        """Return whether a run is packed, as of a second ago."""
        if time.monotonic() - self._checked > 1.0:
            self.refresh()
            self._checked = time.monotonic()
        return key in self._index()

    def load(self, key: str) -> StoredRun | None:
        """Return a packed run, or None; raise `Damaged` if its bytes are damaged."""
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
        raise BadFile(f"{self.folder}: the run {key} cannot be read: its pack is replaced again and again.")

    def lines(self, problems: list[str]) -> Iterator[Line]:
        """Yield the lines of all packed runs; a run that is in two packs, twice, the later one first."""
        done: set[str] = set()
        while todo := [pack for name, pack in reversed(self._packs.items()) if name not in done]:
            for pack in todo:
                done.add(pack.path.name)
                try:
                    yield from pack.lines()
                except FileNotFoundError:
                    # Merged since the last refresh: the next round reads the larger pack.
                    self._changed = -1
                    self.refresh(problems)
                except (BadFile, OSError, ValueError, KeyError, TypeError) as error:
                    problems.append(str(error))

    def entries(self, pack: Pack) -> Iterator[Sealed]:
        """Yield the runs of a pack; raise `BadFile` before the first one if any of them is damaged."""
        lines = pack.lines()
        if pack.damaged_rows(range(len(pack))):
            raise BadFile(f"{pack.path}: some of its runs are damaged.")
        for row, (key, line) in enumerate(zip(pack.names(), lines, strict=True)):
            yield Sealed(key, pack.contents(row), line)

    def intact(self, keys: Iterable[str], problems: list[str]) -> set[str]:
        """Return those of the keys whose bytes are intact."""
        index = self._index()
        rows: dict[Path, tuple[Pack, list[int]]] = {}
        for key in keys:
            if key in index:
                pack, row = index[key]
                rows.setdefault(pack.path, (pack, []))[1].append(row)
        intact: set[str] = set()
        for pack, wanted in rows.values():
            names = pack.names()
            try:
                damaged = set(pack.damaged_rows(wanted))
            except OSError as error:
                problems.append(f"{pack.path}: cannot be read ({error.strerror or error}).")
                continue
            intact |= {names[row] for row in wanted if row not in damaged}
            problems += [f"{pack.path}: the run {names[row]} is damaged; it is executed again." for row in damaged]
        return intact

    def _index(self) -> dict[str, tuple[Pack, int]]:
        if self._places is None:
            self._places = _places(self.packs)
        return self._places


def _places(packs: Iterable[Pack]) -> dict[str, tuple[Pack, int]]:
    """Return key -> pack and row; of a run that is in two packs, the later one counts."""
    return {key: (pack, row) for pack in packs for row, key in enumerate(pack.names())}
