"""Measure the cost of many runs: time per run over a long sweep, overhead of the executors, formats of the store.

    python benchmarks/scaling.py costs                               # one run of three worlds; a batch of Ray
    python benchmarks/scaling.py runs --count 10000 --on local       # time per run, by thousand
    python benchmarks/scaling.py runs --count 10000 --on ray
    python benchmarks/scaling.py store --count 1000000               # status of a store of synthetic results
    python benchmarks/scaling.py formats --count 3000                # single files, packs, SQLite, Parquet
    python benchmarks/scaling.py workers                             # threads against processes
    python benchmarks/scaling.py page                                # write the stored measurements to docs/scaling.md

Every command adds its measurements to benchmarks/scaling.json. Times are of this machine; ratios are what to compare.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scaling_page import Measured, write_page
from store_formats import measure_formats

from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute import progress as status
from wanderlust.experiments.execute.driver import Batches, LocalExecutor, run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.execute.ray_cluster import BATCH_SECONDS, RayExecutor
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import PACK_RUNS, PACKS, Sealed, Store, seal, write_pack
from wanderlust.experiments.sweep import Sweep

TINY = {"world": "toy", "explorer": "ucb1", "settings": {"steps": 200}}
MEASUREMENTS = Path(__file__).with_name("scaling.json")
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
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


def measure_runs(folder: Path, count: int, on: str, jobs: int) -> Measured:
    """Execute tiny runs; return the time per run by thousand, and where it was spent."""
    start = time.process_time()
    settings = {"steps": 200, "kappa": KAPPAS}
    sweep = Sweep(name="tiny", worlds="toy", explorers="ucb1", settings=settings, seeds=count // len(KAPPAS))
    keys = [run.key for run in sweep.runs]
    described = time.process_time() - start
    run_all(sweep.runs[:50], Store(folder / "warm-up"), on=on, jobs=jobs)
    clock, cpu = Clock(), time.process_time()
    begin = time.perf_counter()
    sweep.run(folder / "results", on=on, jobs=jobs, progress=clock)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    size = min(1000, count // 2)
    marks = [clock.times[0], *clock.times[size - 1 :: size]]
    parts = [1e3 * (b - a) / size for a, b in itertools.pairwise(marks)]
    cpu_marks = [clock.cpu[0], *clock.cpu[size - 1 :: size]]
    cpu_parts = [b - a for a, b in itertools.pairwise(cpu_marks)]
    inside = [line["seconds"] for line in Store(folder / "results").lines([])]
    return {
        "description_ms": 1e3 * described / len(keys),
        "jobs": jobs,
        "by_thousand_ms": parts,
        "last_over_first": parts[-1] / parts[0],
        "last_over_first_of_driver": cpu_parts[-1] / cpu_parts[0],
        "wall_ms": 1e3 * wall / count,
        "training_ms": 1e3 * float(np.mean(inside)),
        "driver_cpu_ms": 1e3 * cpu / count,
        **_reading(folder / "results"),
    }


def _reading(folder: Path) -> Measured:
    """Return the size of a store, and the times of the commands that read it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    count = len(Store(folder).stored_keys())
    size = sum(path.stat().st_size for path in files)
    measured: Measured = {"count": count, "files": len(files), "bytes": size / count}
    for command in ("status", "report", "results"):
        if command != "status" and count > 20_000:
            continue
        times = []
        for _ in range(3):
            start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            words = [sys.executable, "-m", "wanderlust", command, str(folder)]
            subprocess.run(words, capture_output=True, text=True, check=True)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            times.append((time.perf_counter() - start, cpu))
        measured[command] = {"wall_s": min(wall for wall, _ in times), "cpu_s": min(cpu for _, cpu in times)}
    return measured


def measure_store(folder: Path, count: int) -> Measured:
    """Write a store of synthetic results, and measure `status`."""
    run = Run(**TINY)
    sealed = seal(run, run.train(), 0.001)
    start = time.process_time()
    keys = []
    store = Store(folder / "results")
    store.prepare()
    for first in range(0, count, PACK_RUNS):
        names = [f"{seed:024x}" for seed in range(first, min(first + PACK_RUNS, count))]
        write_pack(store.folder / PACKS, [Sealed(key, sealed.contents, {**sealed.line, "key": key}) for key in names])
        keys += names
    written = 1e3 * (time.process_time() - start) / count
    status.StatusFile(store, "synthetic", keys, "local").report(
        "finished", running=0, rate=0, seconds_left=None, force=True
    )
    return {"write_cpu_ms": written, **_reading(folder / "results")}


def measure_costs(folder: Path) -> Measured:
    """Return the processor time and the stored bytes of single runs, the memory of a description, and Ray's batches."""
    measured: Measured = {}
    for name, run, seeds in (
        ("toy", Run(**TINY), 200),
        ("prison", Run(world="prison", explorer="vv-ucb", settings={"steps": 1000}), 100),
        ("wall", Run(world="wall", explorer="vv-ucb", settings={"steps": 100_000}), 3),
    ):
        run.train()
        start = time.process_time()
        sealed = [seal(each, each.train(), 0.1) for each in (replace(run, seed=seed) for seed in range(seeds))]
        measured[name] = {
            "cpu_ms": 1e3 * (time.process_time() - start) / seeds,
            "bytes": sum(len(each.contents) for each in sealed) / seeds,
        }
    store = Store(folder)
    store.prepare()
    store.save(run, run.train(), 0.0)
    start = time.process_time()
    for _ in range(200):
        store.load(run)
    measured["read_cpu_ms"] = 1e3 * (time.process_time() - start) / 200
    tracemalloc.start()
    runs = Sweep(worlds="toy", explorers="ucb1", settings={"steps": 200}, seeds=10_000).runs
    keys = [run.key for run in runs]
    measured["memory_bytes"] = tracemalloc.get_traced_memory()[0] / len(keys)
    tracemalloc.stop()
    return {**measured, **_batches()}


def _batches() -> Measured:
    """Return the time of an empty batch of Ray: to schedule it, to check the versions, and to return."""
    executor = RayExecutor(Execution(on="ray", jobs=1), [], message=print)
    try:
        times, used, room = [], time.process_time(), executor.room()
        for _ in range(300):
            start = time.perf_counter()
            executor.submit([])
            while executor.room() < room:
                executor.collect(1.0)
            times.append(time.perf_counter() - start)
        used = time.process_time() - used
    finally:
        executor.close()
    batch = {"batch_ms": 1e3 * float(np.median(times)), "batch_driver_cpu_ms": 1e3 * used / 300}
    return {**batch, "batch_s": BATCH_SECONDS}


def measure_workers(chosen: str) -> Measured:
    """Return the wall-clock time of threads and of processes for several kinds of runs."""
    lake = {"kind": "environment", "world": "FrozenLake-v1", "explorer": "vv-ucb"}
    kinds = {
        "short": [Run(**TINY, seed=seed) for seed in range(600)],
        "long": [Run(world="deep-sea", world_options={"depth": 30}, explorer="vv-ucb", settings={"steps": 60_000},
                     seed=seed) for seed in range(12)],
        "environment": [Run(**lake, settings={"steps": 10_000}, seed=seed) for seed in range(8)],
        "long environment": [Run(**lake, settings={"steps": 80_000}, seed=seed) for seed in range(8)],
    }  # fmt: skip
    noted = json.loads(MEASUREMENTS.read_text()).get("workers", {}) if MEASUREMENTS.exists() else {}
    measured: Measured = noted if chosen else {}
    for name, runs in kinds.items():
        if chosen not in ("", name):
            continue
        times: dict[str, list[float]] = {"threads": [], "processes": []}
        for each in ["threads", "processes"] * 3:
            start = time.perf_counter()
            executor = LocalExecutor(2, runs if each == "processes" else ())
            batches = Batches(runs, executor.batch_seconds)
            while batches.unfinished:
                for _ in range(executor.room()):
                    if batch := batches.next(2):
                        executor.submit(batch)
                for outcome in executor.collect(0.5):
                    assert outcome.sealed is not None, outcome
                    batches.finish(outcome.run)
            executor.close()
            times[each].append(time.perf_counter() - start)
        measured[name] = {"runs": len(runs), **{each: float(np.median(values)) for each, values in times.items()}}
    return measured


def main() -> None:
    """Read the command line, measure in a temporary folder, and note the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("costs", "runs", "store", "formats", "workers", "page"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--on", default="local")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kind", default="", help="with workers: only this kind of runs, such as 'long environment'")
    given = parser.parse_args()
    if given.what == "page":
        write_page(PAGE, json.loads(MEASUREMENTS.read_text()))
        return
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="wanderlust-scaling-") as temporary:
        folder = Path(temporary)
        if given.what == "runs":
            name, measured = f"runs-{given.on}", measure_runs(folder, given.count, given.on, given.jobs)
        elif given.what == "store":
            name, measured = "store", measure_store(folder, given.count)
        elif given.what == "formats":
            name, measured = "formats", measure_formats(folder, given.count)
        elif given.what == "workers":
            name, measured = "workers", measure_workers(given.kind)
        else:
            name, measured = "costs", measure_costs(folder)
    measured["load"] = [load, os.getloadavg()[0]]
    print(json.dumps({name: measured}, indent=1))
    noted = json.loads(MEASUREMENTS.read_text()) if MEASUREMENTS.exists() else {}
    MEASUREMENTS.write_text(json.dumps({**noted, name: _rounded(measured)}, indent=1, sort_keys=True) + "\n")


def _rounded(value: Any) -> Any:
    """Return measurements with four digits."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
