"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


def report(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Output folder of `wanderlust reproduce`.")],
) -> None:
    """Rebuild the tables and the scorecard from stored runs, without executing any run.

    Example: wanderlust report results/
    """
    from rich.text import Text

    from wanderlust.cli.printing import new_console
    from wanderlust.experiments.paper.reproduce import show_report, studies_in, write_scorecard
    from wanderlust.experiments.reports.tables import printable
    from wanderlust.experiments.store import Store

    console = new_console()
    suffixes: list[str] = []
    for stored in studies_in(folder):
        title = f"{stored.study.reference}. {stored.study.description}"
        name = Text(printable(stored.folder.name), "bold")
        console.print(Text.assemble(name, f": {title}"), soft_wrap=True)
        show_report(stored, Store(folder), console)
        suffixes.append(stored.suffix)
    for suffix in dict.fromkeys(suffixes):
        write_scorecard(folder, suffix, console)
