"""Ways to store the archives of finished runs: the time to write one, and its bytes; for benchmarks/scaling.py."""

from __future__ import annotations

import io
import json
import sqlite3
import time
from pathlib import Path

from scaling_page import Measured

from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Sealed, Store, seal


def measure_formats(folder: Path, count: int) -> Measured:
    """Compare ways to store the archives of finished runs, written in groups of ten."""
    # Different results: a format that stores equal values once must not have an advantage.
    runs = [Run(world="toy", explorer="ucb1", seed=seed, settings={"steps": 200}) for seed in range(100)]
    sealed = [seal(run, run.train(), 0.001) for run in runs]
    entries = [Sealed(f"{i:024x}", sealed[i % 100].contents, {"key": f"{i:024x}", "seconds": 0.001})
               for i in range(count)]  # fmt: skip
    measured: Measured = {"count": count}
    for name, write, keys in (
        ("files", _write_files, lambda place: [path.stem for path in place.iterdir()]),
        ("packs", _write_packs, lambda place: Store(place).stored_keys()),
        ("sqlite", _write_sqlite, _sqlite_keys),
        ("parquet", _write_parquet, _parquet_keys),
    ):
        place = folder / name
        place.mkdir()
        start = time.perf_counter()
        write(place, entries)
        written = time.perf_counter() - start
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        assert len(keys(place)) == count
        measured[name] = {"write_ms": 1e3 * written / count, "bytes": size / count}
    return measured


def _groups(entries: list[Sealed]) -> list[list[Sealed]]:
    return [entries[i : i + 10] for i in range(0, len(entries), 10)]


def _write_files(place: Path, entries: list[Sealed]) -> None:
    from wanderlust.core.files import atomic_write

    for entry in entries:
        with atomic_write(place / f"{entry.key}.npz") as file:
            file.write(entry.contents)


def _write_packs(place: Path, entries: list[Sealed]) -> None:
    store = Store(place)
    store.prepare()
    for group in _groups(entries):
        store.add(group)


def _write_sqlite(place: Path, entries: list[Sealed]) -> None:
    connection = sqlite3.connect(place / "runs.db")
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=full")
    connection.execute("create table runs (key text primary key, contents blob, line text)")
    for group in _groups(entries):
        with connection:
            rows = [(entry.key, entry.contents, json.dumps(entry.line)) for entry in group]
            connection.executemany("insert into runs values (?, ?, ?)", rows)
    connection.close()


def _sqlite_keys(place: Path) -> list[str]:
    connection = sqlite3.connect(place / "runs.db")
    try:
        return [key for (key,) in connection.execute("select key from runs")]
    finally:
        connection.close()


def _write_parquet(place: Path, entries: list[Sealed]) -> None:
    import pyarrow
    from pyarrow import parquet

    from wanderlust.core.files import atomic_write

    for i, group in enumerate(_groups(entries)):
        buffer = io.BytesIO()
        columns = {"key": [e.key for e in group], "contents": [e.contents for e in group]}
        parquet.write_table(pyarrow.table(columns), buffer)
        with atomic_write(place / f"{i:08d}.parquet") as file:
            file.write(buffer.getvalue())


def _parquet_keys(place: Path) -> list[str]:
    from pyarrow import parquet

    return [key for path in place.iterdir() for key in parquet.read_table(path, columns=["key"])["key"].to_pylist()]
