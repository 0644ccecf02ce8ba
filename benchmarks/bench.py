"""Measure the speed of wanderlust: python benchmarks/bench.py, or `make bench`."""

from __future__ import annotations

import json as json_module
import shutil
import sys
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from speed import measures
from speed import report as bench_report
from tyro.conf import arg

from wanderlust.core.errors import InvalidSetting, WanderlustError
from wanderlust.core.files import check_writable, shown_path, write_file

_PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def bench(
    *,
    quick: Annotated[bool, arg(help="Fewer repeats and smaller sizes; takes about a minute.")] = False,
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write machine and results as JSON.")] = None,
    markdown: Annotated[Path | None, arg(metavar="FILE", help="Also write the table as Markdown.")] = None,
    plot: Annotated[Path | None, arg(metavar="FILE", help="Also plot time per step against problem size.")] = None,
    check: Annotated[
        Path | None,
        arg(metavar="FILE", help="Fail if a ratio is worse than in this JSON file by more than the noise margin."),
    ] = None,
    peers_python: Annotated[
        str | None,
        arg(metavar="PYTHON", help="Python with mushroom-rl and table-rl, if this one does not have them."),
    ] = None,
) -> None:
    """Measure the speed of wanderlust on this machine, relative to reference implementations.

    Example: python benchmarks/bench.py --quick
    """
    # Check before the measurements, which take minutes.
    for file in (json, markdown, plot):
        if file is not None:
            check_writable(file)
    if plot is not None and plot.suffix.lower() not in _PLOT_SUFFIXES:
        raise InvalidSetting(f"--plot must be a {', '.join(_PLOT_SUFFIXES)} file, got {shown_path(plot)!r}.")
    if peers_python is not None and shutil.which(peers_python) is None:
        raise InvalidSetting(f"--peers-python: there is no program {peers_python!r}; give a Python, such as python3.")

    committed = json_module.loads(check.read_text(encoding="utf-8"))["results"] if check else []
    ratios = {each["name"]: each["ratio"] for each in committed}

    console = Console(width=None if sys.stdout.isatty() else 150)
    results = bench_report.collect(measures.all_lines(quick, peers_python), console)
    if bench_report.slower(results, ratios):
        console.print("measured once more: a ratio is worse than the committed one")
        again = bench_report.collect(measures.all_lines(quick, peers_python), console)
        results = bench_report.better(results, again)
    console.print(bench_report.table(results))
    if json is not None:
        write_file(json, f"{bench_report.as_json(results, quick)}\n")
    if markdown is not None:
        write_file(markdown, f"{bench_report.as_markdown(results)}\n")
    if plot is not None:
        write_file(plot, bench_report.growth_plot(results, plot.suffix[1:].lower()))
    for file in filter(None, (json, markdown, plot)):
        console.print(f"written to {file}", markup=False, soft_wrap=True)
    if slower := bench_report.slower(results, ratios):
        raise WanderlustError("; ".join(slower))
    if check is not None:
        console.print(f"no ratio is {bench_report.MARGIN:g} times worse than in {check}")


if __name__ == "__main__":
    try:
        tyro.cli(bench, config=(tyro.conf.FlagCreatePairsOff,))
    except WanderlustError as error:
        sys.exit(f"bench: {error}")
