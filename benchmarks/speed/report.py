"""The benchmark's results as a table, as JSON, and as a plot of time against size."""

from __future__ import annotations

import io
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from speed.result import Result, Skipped
from wanderlust._numba.cache import numba_version
from wanderlust.version import __version__

MARGIN = 2.0
"""How many times worse than committed a ratio may be; ratios of quick runs on a shared machine vary that much."""


def machine() -> dict[str, Any]:
    """Return the hardware and software versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba_version(),
        "wanderlust": __version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def collect(lines: Iterable[Result | Skipped], console: Console) -> list[Result | Skipped]:
    """Run the measurements and print each when it is done, since some take a minute."""
    results: list[Result | Skipped] = []
    with console.status("measuring ...") as status:
        for line in lines:
            results.append(line)
            mark = "skipped" if isinstance(line, Skipped) else "met" if line.met else "missed"
            console.print(f"  {mark:>7}  {line.name}")
            status.update(f"measuring ... ({len(results)} done)")
    return results


def table(lines: list[Result | Skipped]) -> Table:
    """Return the table: measurement, ours, reference, ratio, target, met."""
    caption = "Ratios are measured within this run; times depend on the machine."
    rich_table = Table(title="wanderlust bench", caption=caption)
    rich_table.add_column("measurement", overflow="fold")
    for column in ("ours", "reference", "ratio", "target"):
        rich_table.add_column(column, justify="right", no_wrap=True)
    rich_table.add_column("met")
    colours = {"yes": "green", "no": "red"}
    for line in lines:
        *numbers, met = _cells(line)
        note = line.reason if isinstance(line, Skipped) else line.note
        name = f"{line.name}\n[dim]{note}[/dim]" if note else line.name
        rich_table.add_row(name, *numbers, f"[{colours[met]}]{met}[/]" if met in colours else met)
    return rich_table


def as_markdown(lines: list[Result | Skipped]) -> str:
    """Return the same table as Markdown."""
    rows = ["| measurement | ours | reference | ratio | target | met |", "|---|---:|---:|---:|---:|---|"]
    for line in lines:
        note = line.reason if isinstance(line, Skipped) else line.note
        name = f"{line.name} ({note})" if note else line.name
        rows.append(f"| {' | '.join([name, *_cells(line)])} |")
    return "\n".join(rows)


def _cells(line: Result | Skipped) -> list[str]:
    """Return the other cells of a line: ours, reference, ratio, target, met."""
    if isinstance(line, Skipped):
        return ["", "", "", "", "skipped"]
    sign = "≥" if line.sense == "at least" else "≤"
    ours, met = f"{line.ours:.3g} {line.unit}", "yes" if line.met else "no"
    if line.reference is None:
        return [ours, "", "", f"{sign} {line.target:g} {line.unit}", met]
    return [ours, f"{line.reference:.3g} {line.unit}", f"{line.ratio:.3g}×", f"{sign} {line.target:g}×", met]


def as_json(lines: list[Result | Skipped], quick: bool) -> str:
    """Return the machine and the results as JSON."""
    results = [asdict(line) | {"met": line.met} for line in lines if isinstance(line, Result)]
    skipped = [asdict(line) for line in lines if isinstance(line, Skipped)]
    document = {"machine": machine(), "quick": quick, "results": results, "skipped": skipped}
    return json.dumps(document, indent=2, ensure_ascii=False)


def better(first: Iterable[Result | Skipped], second: Iterable[Result | Skipped]) -> list[Result | Skipped]:
    """Return the better one of two measurements of each line: other load makes only some of them worse."""

    def rank(line: Result | Skipped) -> float:
        ratio = line.ratio if isinstance(line, Result) else 0.0
        return -ratio if isinstance(line, Result) and line.sense == "at most" else ratio

    return [max(pair, key=rank) for pair in zip(first, second, strict=True)]


def slower(lines: Iterable[Result | Skipped], committed: Mapping[str, float]) -> list[str]:
    """Return a sentence for each ratio that is worse than the committed one by more than `MARGIN`, or not measured."""
    measured = {line.name: line for line in lines}
    sentences = []
    for name, expected in committed.items():
        line = measured.get(name)
        if line is None:
            sentences.append(f"{name}: committed, but not measured")
        elif isinstance(line, Result) and line.reference is not None:
            worse = expected / line.ratio if line.sense == "at least" else line.ratio / expected
            if worse > MARGIN:
                sentences.append(f"{name}: {line.ratio:.3g}×, committed {expected:.3g}×, so {worse:.2f} times as slow")
    return sentences


def growth_plot(lines: list[Result | Skipped], form: str) -> bytes:
    """Return a plot of time against size for the results with several sizes, on logarithmic axes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    with_points = [line for line in lines if isinstance(line, Result) and line.points]
    figure = Figure(figsize=(4.8 * len(with_points), 3.6))
    axes = figure.subplots(1, len(with_points), squeeze=False)
    labels = (("gridworld, ε-greedy with converged Q", "cells"), ("deep sea, vv-ucb", "visited pairs"))
    for axis, line, (title, size) in zip(axes[0], with_points, labels, strict=True):
        x, y = zip(*line.points, strict=True)
        axis.loglog(x, y, "o-", color="#0072b2")
        # Limits and labels at powers of ten only: the slope is what matters.
        axis.set(xlabel=size, ylabel="ns per step", xlim=_decades(x), ylim=_decades(y))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3, which="both")
    figure.tight_layout()
    contents = io.BytesIO()
    figure.savefig(contents, dpi=120, format=form)
    return contents.getvalue()


def _decades(values: tuple[float, ...]) -> tuple[float, float]:
    """Return the powers of ten below and above some numbers."""
    return 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(max(values) * 1.01))
