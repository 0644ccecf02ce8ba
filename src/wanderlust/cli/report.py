"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


def report(
    folder: Annotated[
        Positional[Path],
        arg(
            metavar="FOLDER", help="Output folder of `wanderlust reproduce`, or a folder with its summary, runs.csv.gz."
        ),
    ],
    *,
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Write the reports to this folder; by default to the same one.")
    ] = None,
    formats: Annotated[
        tuple[str, ...], arg(metavar="FORMAT ...", help="Formats of the figures: png, svg and pdf.")
    ] = ("png", "svg", "pdf"),
    quiet: Annotated[bool, arg(help="Print errors only.")] = False,
) -> None:
    """Rebuild the tables, figures and the scorecard from stored runs, without executing any run.

    Example: wanderlust report results/

    Example: wanderlust report docs/results --out report/
    """
    from wanderlust.cli.printing import new_console
    from wanderlust.core.errors import check_choice
    from wanderlust.experiments.paper.reproduce import Destination, write_reports
    from wanderlust.experiments.reports.figures.files import FORMATS

    chosen = tuple(check_choice("format", each, FORMATS) for each in formats)
    write_reports(folder, new_console(), quiet=quiet, destination=Destination(out or folder, chosen))
