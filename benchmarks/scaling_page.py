"""The numbers of docs/scaling.md, from the measurements in benchmarks/scaling.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generated_tables import replace_table, replace_text

Measured = dict[str, Any]
PACK_RUNS = 2000


def write_page(page: Path, measured: Measured) -> None:
    """Replace the tables and the sentences with numbers."""
    costs, local, ray = measured["costs"], measured["runs-local"], measured["runs-ray"]
    replace_table(page, "costs", ["quantity", "measured"], _costs(costs, local, ray))
    replace_table(page, "tiny", ["", "threads", "Ray"], _tiny(local, ray))
    replace_text(page, "overhead", _overhead(costs, ray))
    replace_table(page, "formats", _FORMAT_HEADS, _formats(measured["formats"]))
    replace_text(page, "million", _million(measured["store"]))
    replace_table(page, "workers", ["runs, two at a time", "threads", "processes", "processes / threads"],
                  _workers(measured["workers"]))  # fmt: skip
    replace_table(page, "paper", ["", "a million runs of `prison`", "ten thousand runs of `wall`"],
                  _paper(costs, local, ray))  # fmt: skip
    replace_text(page, "limit", _limit(costs, ray))
    loads = [load for each in measured.values() for load in each["load"]]
    replace_text(page, "load", f"During the measurements the load was {min(loads):.0f} to {max(loads):.0f}: that many "
                 "processes wanted the two cores. Wall-clock times are therefore several times those of an idle "
                 "machine; processor times and ratios are what to compare.")  # fmt: skip


def _costs(costs: Measured, local: Measured, ray: Measured) -> list[list[str]]:
    return [
        ["description and key of a run, in the driver",
         f"{local['description_ms']:.2f} ms, {costs['memory_bytes'] / 1e3:.1f} kB of memory"],
        ["`toy`, `ucb1`, 200 steps: training and sealing", _run(costs["toy"])],
        ["`prison`, `vv-ucb`, 1,000 steps", _run(costs["prison"])],
        ["`wall`, `vv-ucb`, 100,000 steps", _run(costs["wall"])],
        ["driver with Ray: schedule, receive and store one result", f"{ray['driver_cpu_ms']:.2f} ms"],
        ["an empty batch of Ray, there and back", f"{costs['batch_ms']:.1f} ms of wall-clock time"],
        ["read and check one stored archive of `wall`", f"{costs['read_cpu_ms']:.1f} ms"],
    ]  # fmt: skip


def _run(cost: Measured) -> str:
    time = f"{cost['cpu_ms']:.1f} ms" if cost["cpu_ms"] < 100 else f"{cost['cpu_ms'] / 1e3:.2f} s"
    return f"{time}, {cost['bytes'] / 1e3:.1f} kB stored"


def _tiny(local: Measured, ray: Measured) -> list[list[str]]:
    def row(name: str, text: str) -> list[str]:
        return [name, text.format(**local), text.format(**ray)]

    return [
        row("runs", "{count:,}"),
        row("time per run, last thousand / first thousand", "{last_over_first:.2f}"),
        row("the same, processor time of the driver process", "{last_over_first_of_driver:.2f}"),
        row(f"wall-clock time per run, {local['jobs']} jobs", "{wall_ms:.1f} ms"),
        row("processor time of the driver process per run", "{driver_cpu_ms:.2f} ms"),
        row("files", "{files:,}"),
        *(row(f"`{name}`, processor time (wall-clock time)", f"{{{name}[cpu_s]:.1f}} s ({{{name}[wall_s]:.1f}} s)")
          for name in ("status", "report", "results")),
        row("load at the beginning and at the end", "{load[0]:.0f}, {load[1]:.0f}"),
    ]  # fmt: skip


def _overhead(costs: Measured, ray: Measured) -> str:
    per_batch = 1e3 * costs["batch_s"] / costs["toy"]["cpu_ms"]
    amortised = ray["driver_cpu_ms"] + costs["batch_ms"] / per_batch
    batch, driver = costs["batch_ms"], ray["driver_cpu_ms"]
    return (
        "Threads train in the driver process; with Ray, the driver only schedules and stores. A batch of short runs "
        f"takes about {costs['batch_s']:g} s, {per_batch:.0f} runs of `toy`. To send an empty batch and to receive its "
        f"reply takes {batch:.1f} ms, so scheduling is {batch / (10 * costs['batch_s']):.1f} % of the work. Ray's "
        f"overhead per run is the driver's {driver:.2f} ms plus {batch / per_batch:.2f} ms for its share of a batch: "
        f"{amortised:.2f} ms. Long runs are batches of their own and start first, so no short run waits behind a long "
        "one in a batch."
    )


_FORMAT_HEADS = ["format", "write one run", "bytes per run", "readers and writers on a network file system"]
_FORMATS = {
    "files": ("one file per run", "yes"),
    "packs": ("packs", "yes: files are written once and renamed"),
    "sqlite": ("SQLite in WAL mode", "no: WAL needs shared memory, so all processes must be on one machine"),
    "parquet": ("Parquet, one file per group",
                "yes, but small files stay small until they are rewritten, and pyarrow is needed to read a result"),
}  # fmt: skip


def _formats(formats: Measured) -> list[list[str]]:
    return [
        [title, f"{formats[name]['write_ms']:.1f} ms", f"{formats[name]['bytes']:,.0f}", note]
        for name, (title, note) in _FORMATS.items()
    ]


def _million(store: Measured) -> str:
    status, kilobytes = store["status"], store["bytes"] / 1e3
    return (
        f"`status` of {store['count']:,} synthetic runs of {kilobytes:.1f} kB in {store['files']:,} files takes "
        f"{status['cpu_s']:.1f} s of processor time, {status['wall_s']:.1f} s of wall-clock time at a load of "
        f"{store['load'][1]:.0f}."
    )


def _workers(workers: Measured) -> list[list[str]]:
    names = {
        "short": "`toy`, 200 steps",
        "long": "`deep-sea` of depth 30, 60,000 steps",
        "environment": "FrozenLake by its steps, 10,000 steps",
        "long environment": "FrozenLake by its steps, 80,000 steps",
    }
    return [
        [f"{workers[name]['runs']} runs: {title}", f"{workers[name]['threads']:.1f} s",
         f"{workers[name]['processes']:.1f} s", f"{workers[name]['processes'] / workers[name]['threads']:.2f}"]
        for name, title in names.items()
    ]  # fmt: skip


def _paper(costs: Measured, local: Measured, ray: Measured) -> list[list[str]]:
    cases: Sequence[tuple[str, float]] = (("prison", 1e6), ("wall", 1e4))

    def row(title: str, text: Any) -> list[str]:
        return [title, *(text(costs[name], count) for name, count in cases)]

    return [
        row("core hours (`vv-ucb`)", lambda cost, n: f"{cost['cpu_ms'] * n / 3.6e6:.1f}"),
        row("stored", lambda cost, n: f"{_size(cost['bytes'] * n)} in about {max(n / PACK_RUNS, 1):,.0f} packs"),
        row("driver: descriptions and keys", lambda _, n: _duration(local["description_ms"] * n / 1e3)),
        row("driver: schedule and store", lambda _, n: _duration(ray["driver_cpu_ms"] * n / 1e3)),
        row("memory of the driver, for the descriptions", lambda _, n: _size(costs["memory_bytes"] * n)),
    ]


def _limit(costs: Measured, ray: Measured) -> str:
    per_run, prison = ray["driver_cpu_ms"], costs["prison"]["cpu_ms"]
    return (
        f"The first limit is the driver: {per_run:.2f} ms per result, about {1e3 / per_run:,.0f} results per second. "
        f"With runs of `prison`, {prison:.1f} ms each, it keeps {prison / per_run:.0f} cores busy; with runs of a "
        f"second, {1e3 / per_run:,.0f} cores. The next is its memory, {costs['memory_bytes'] / 1e3:.1f} kB per run. "
        "For more short runs than that, start several sweeps into one folder, with other seeds."
    )


def _size(n: float) -> str:
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
