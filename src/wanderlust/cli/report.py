"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from rich.console import Console

    from wanderlust.cli.comparison_request import ComparisonRequest
    from wanderlust.experiments.store import Store


def report(
    folder: Annotated[
        Positional[Path], arg(metavar="FOLDER", help="Output folder of `sweep`, `reproduce` or `compare`.")
    ],
) -> None:
    """Rebuild tables, plots and the scorecard from stored runs, without executing any run.

    For a sweep: a table of its settings, the best one with its interval, lines over one swept number and heat maps
    over two.

    Example: wanderlust report results/

    Example: wanderlust report results/compare-FrozenLake-v1
    """
    from wanderlust.cli.comparison_request import read_request
    from wanderlust.cli.printing import new_console
    from wanderlust.core.errors import BadFile
    from wanderlust.experiments.paper.reproduce import REQUEST_FILE
    from wanderlust.experiments.reports.sweep_report import show_sweep_report, sweeps_in
    from wanderlust.experiments.store import Store

    if (request := read_request(folder)) is not None:
        _report_comparison(request, folder)
        return
    console, store = new_console(), Store(folder)
    try:
        sweeps = list(sweeps_in(folder))
        has_studies = any(folder.glob(f"*/{REQUEST_FILE}"))
    except OSError as error:
        raise BadFile(f"{folder}: cannot be read ({error.strerror or error}).") from error
    for place, sweep in sweeps:
        show_sweep_report(sweep, place, store, console)
    if has_studies or not sweeps:
        _report_studies(folder, store, console)


def _report_studies(folder: Path, store: Store, console: Console) -> None:
    from rich.text import Text

    from wanderlust.experiments.paper.reproduce import show_report, studies_in, write_scorecard
    from wanderlust.experiments.reports.tables import printable

    suffixes: list[str] = []
    for stored in studies_in(folder):
        title = f"{stored.study.reference}. {stored.study.description}"
        name = Text(printable(stored.folder.name), "bold")
        console.print(Text.assemble(name, f": {title}"), soft_wrap=True)
        show_report(stored, store, console)
        suffixes.append(stored.suffix)
    for suffix in dict.fromkeys(suffixes):
        write_scorecard(folder, suffix, console)


def _report_comparison(request: ComparisonRequest, folder: Path) -> None:
    from wanderlust.cli.compare import show_comparison
    from wanderlust.cli.runs import stored_results
    from wanderlust.core.errors import BadFile
    from wanderlust.experiments.store import Store

    results = {explorer: found for explorer, found in stored_results(request.runs, Store(folder)).items() if found}
    if not results:
        raise BadFile(f"{folder}: none of the runs of this comparison is stored; repeat `wanderlust compare`.")
    show_comparison(request, results, folder)
