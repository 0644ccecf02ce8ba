"""The benchmark as a table on the terminal, as JSON, and as a figure of growth."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from wanderlust.bench.result import Result, Skipped
from wanderlust.version import __version__


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    import numba

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
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
    """Take measurements one by one, saying which is done, since some take a minute."""
    found: list[Result | Skipped] = []
    with console.status("measuring ...") as status:
        for line in lines:
            found.append(line)
            mark = "skipped" if isinstance(line, Skipped) else "met" if line.met else "missed"
            console.print(f"  {mark:>7}  {line.name}")
            status.update(f"measuring ... ({len(found)} done)")
    return found


def table(lines: list[Result | Skipped]) -> Table:
    """Return the table: what, ours, reference, ratio, target."""
    shown = Table(title="wanderlust bench", caption="Ratios are measured inside this run; times are this machine's.")
    shown.add_column("what", overflow="fold")
    for column in ("ours", "reference", "ratio", "target"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("met")
    for line in lines:
        if isinstance(line, Skipped):
            shown.add_row(f"{line.name}\n[dim]{line.why}[/dim]", "", "", "", "", "skipped")
            continue
        name = f"{line.name}\n[dim]{line.note}[/dim]" if line.note else line.name
        sign = "≥" if line.sense == "at least" else "≤"
        has_ratio = line.reference is not None
        shown.add_row(
            name,
            f"{line.ours:.3g} {line.unit}",
            f"{line.reference:.3g} {line.unit}" if has_ratio else "",
            f"{line.ratio:.3g}x" if has_ratio else "",
            f"{sign} {line.target:g}{'x' if has_ratio else ' ' + line.unit}",
            "[green]yes[/green]" if line.met else "[red]no[/red]",
        )
    return shown


def as_json(lines: list[Result | Skipped], quick: bool) -> str:
    """Return the results for machines to read."""
    results = [
        {
            "name": line.name,
            "ours": line.ours,
            "reference": line.reference,
            "ratio": line.ratio,
            "target": line.target,
            "sense": line.sense,
            "unit": line.unit,
            "note": line.note,
            "met": line.met,
        }
        for line in lines
        if isinstance(line, Result)
    ]
    skipped = [{"name": line.name, "why": line.why} for line in lines if isinstance(line, Skipped)]
    document = {"machine": machine(), "quick": quick, "results": results, "skipped": skipped}
    return json.dumps(document, indent=2, ensure_ascii=False)
