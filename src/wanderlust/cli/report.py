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
    from wanderlust.cli.printing import new_console
    from wanderlust.experiments.paper.reproduce import show_report, studies_in, write_scorecard
    from wanderlust.experiments.store import Store

    console = new_console()
    suffixes: list[str] = []
    for stored in studies_in(folder):
        title = f"{stored.study.reference}. {stored.study.description}"
        console.print(f"[bold]{stored.folder.name}[/bold]: {title}", soft_wrap=True)
        show_report(stored, Store(folder), console)
        suffixes.append(stored.suffix)
    for suffix in dict.fromkeys(suffixes):
        write_scorecard(folder, suffix, console)
