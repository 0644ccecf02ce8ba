"""Measure the cost of many runs: time per run over a long sweep, overhead of the executors, formats of the store.

    python benchmarks/scaling.py runs --count 10000 --on local       # time per run, by thousand
    python benchmarks/scaling.py runs --count 10000 --on ray
    python benchmarks/scaling.py store --count 1000000               # status of a store of synthetic results
    python benchmarks/scaling.py formats --count 10000               # single files, packs, SQLite, Parquet

docs/scaling.md has the numbers. Every command prints times of this machine; ratios are what to compare.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from wanderlust.experiments import status
from wanderlust.experiments.packs import Sealed, write_pack
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import run_all
from wanderlust.experiments.store import PACK_RUNS, PACKS, Store, read
from wanderlust.experiments.stored_run import seal
from wanderlust.experiments.sweep import Sweep

TINY = {"world": "toy", "explorer": "ucb1", "settings": {"steps": 200}}
KAPPAS = [round(0.1 * i, 1) for i in range(1, 11)]


class Clock(Progress):
    """Notes when each run was stored."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.times: list[float] = []
        self.cpu: list[float] = []

    def run_finished(self, run: Run, *, is_failed: bool = False) -> None:
        """Note the time."""
        super().run_finished(run, is_failed=is_failed)
        self.times.append(time.perf_counter())
        self.cpu.append(time.process_time())


def measure_runs(folder: Path, count: int, on: str, jobs: int) -> None:
    """Execute tiny runs; print the time per run by thousand, and where it was spent."""
    start = time.process_time()
    settings = {"steps": 200, "kappa": KAPPAS}
    sweep = Sweep(name="tiny", worlds="toy", explorers="ucb1", settings=settings, seeds=count // len(KAPPAS))
    keys = [run.key for run in sweep.runs]
    print(f"description and key: {1e3 * (time.process_time() - start) / len(keys):.3f} ms per run")
    run_all(sweep.runs[:50], Store(folder / "warm-up"), on=on, jobs=jobs)
    clock, cpu = Clock(), time.process_time()
    begin = time.perf_counter()
    sweep.run(folder / "results", on=on, jobs=jobs, progress=clock)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    size = min(1000, count // 2)
    for name, noted in (("time", clock.times), ("processor time of this process", clock.cpu)):
        marks = [noted[0], *noted[size - 1 :: size]]
        parts = [1e3 * (b - a) / size for a, b in itertools.pairwise(marks)]
        print(f"{name} by thousand, ms per run: {' '.join(f'{part:.2f}' for part in parts)}")
        print(f"last / first: {parts[-1] / parts[0]:.2f}")
    stored = Store(folder / "results")
    inside = [line["seconds"] for line in stored.lines([])]
    print(f"wall {1e3 * wall / count:.2f} ms per run with {jobs} jobs; training {1e3 * np.mean(inside):.2f} ms; "
          f"processor time of the driver {1e3 * cpu / count:.2f} ms")  # fmt: skip
    _print_reading(folder / "results")


def _print_reading(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    files = sum(path.is_file() for path in folder.rglob("*"))
    count = len(Store(folder).stored_keys())
    print(f"{count:,} runs in {files:,} files, {size / count:,.0f} bytes per run")
    for command in ("status", "report", "results"):
        if command != "status" and count > 20_000:
            continue
        start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "wanderlust", command, str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        wall = time.perf_counter() - start
        print(f"wanderlust {command}: {wall:.1f} s, of which processor {cpu:.1f} s, exit code {done.returncode}")


def measure_store(folder: Path, count: int) -> None:
    """Write a store of synthetic results, and measure `status`."""
    run = Run(**TINY)
    sealed = seal(run, run.train(), 0.001)
    start = time.perf_counter()
    keys = []
    store = Store(folder / "results")
    store.prepare()
    for first in range(0, count, PACK_RUNS):
        names = [f"{seed:024x}" for seed in range(first, min(first + PACK_RUNS, count))]
        write_pack(store.folder / PACKS, [Sealed(key, sealed.contents, {**sealed.line, "key": key}) for key in names])
        keys += names
    print(f"written: {1e3 * (time.perf_counter() - start) / count:.3f} ms per run")
    status.StatusFile(store, "synthetic", keys, "local").report(
        "finished", running=0, rate=0, seconds_left=None, force=True
    )
    _print_reading(folder / "results")


def measure_formats(folder: Path, count: int) -> None:
    """Compare ways to store the archives of finished runs, written in groups of ten."""
    run = Run(**TINY)
    result = run.train()
    entries = [Sealed(f"{i:024x}", seal(run, result, 0.001).contents, {"key": f"{i:024x}"}) for i in range(200)]
    entries = [entries[i % 200]._replace(key=f"{i:024x}", line={"key": f"{i:024x}", "seconds": 0.001})
               for i in range(count)]  # fmt: skip
    for name, write, keys in (
        ("single files", _write_files, lambda place: [path.stem for path in place.iterdir()]),
        ("packs", _write_packs, lambda place: Store(place).stored_keys()),
        ("SQLite, WAL", _write_sqlite, _sqlite_keys),
        ("Parquet", _write_parquet, _parquet_keys),
    ):
        place = folder / name
        place.mkdir()
        start = time.perf_counter()
        write(place, entries)
        written = time.perf_counter() - start
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        start = time.perf_counter()
        assert len(keys(place)) == count
        listed = time.perf_counter() - start
        print(f"{name:<14} write {1e3 * written / count:.3f} ms per run, {size / count:,.0f} bytes per run, "
              f"list all keys {1e3 * listed:.1f} ms")  # fmt: skip
    store = Store(folder / "one")
    store.prepare()
    path = store.save(run, result, 0.0)
    start = time.process_time()
    for _ in range(200):
        read(path)
    print(f"reading and checking one archive: {1e3 * (time.process_time() - start) / 200:.2f} ms")


def _groups(entries: list[Sealed]) -> list[list[Sealed]]:
    return [entries[i : i + 10] for i in range(0, len(entries), 10)]


def _write_files(place: Path, entries: list[Sealed]) -> None:
    from wanderlust.core.archives import atomic_write

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

    from wanderlust.core.archives import atomic_write

    for i, group in enumerate(_groups(entries)):
        buffer = io.BytesIO()
        columns = {"key": [e.key for e in group], "contents": [e.contents for e in group]}
        parquet.write_table(pyarrow.table(columns), buffer)
        with atomic_write(place / f"{i:08d}.parquet") as file:
            file.write(buffer.getvalue())


def _parquet_keys(place: Path) -> list[str]:
    from pyarrow import parquet

    return [key for path in place.iterdir() for key in parquet.read_table(path, columns=["key"])["key"].to_pylist()]


def main() -> None:
    """Read the command line and measure in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("runs", "store", "formats"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--on", default="local")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for the store; a temporary one if not given")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="wanderlust-scaling-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if given.what == "runs":
            measure_runs(folder, given.count, given.on, given.jobs)
        elif given.what == "store":
            measure_store(folder, given.count)
        else:
            measure_formats(folder, given.count)
    finally:
        if given.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
