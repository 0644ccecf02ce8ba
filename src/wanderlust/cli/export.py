"""The command `export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


def export(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with the stored runs.")],
    *,
    format: Annotated[str, arg(help="'csv' (one line per run), 'json' or 'parquet' (with learning curves).")] = "csv",
    to: Annotated[Path | None, arg(metavar="FILE", help="Output file; runs.FORMAT in the folder if not given.")] = None,
) -> None:
    """Write all stored runs to one file for other programs.

    Example: wanderlust export results/ --format json
    """
    from wanderlust.core.errors import counted
    from wanderlust.experiments.export import export as write_runs
    from wanderlust.experiments.report.text_tables import printable
    from wanderlust.experiments.store import Store

    problems: list[str] = []
    path = to or folder / f"runs.{format}"
    count = write_runs(Store(folder).load_all(problems), path, format)
    for problem in problems:
        print(printable(problem), file=sys.stderr)
    print(f"{counted(count, 'run')} written to {path}")
