"""The command `clean`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.core.errors import counted


def clean(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with the stored runs.")],
    *,
    delete: Annotated[bool, arg(help="Remove the results; without this, they are only listed.")] = False,
) -> None:
    """Remove results of earlier code, if the same runs are stored with the code as it is now.

    Of several results of the same run, that of the code as it is now is kept; if this code is not found from the
    current folder, the last one. The runs of every sweep, exam and comparison as it was last started are kept, too.

    Example: wanderlust clean results/

    Example: wanderlust clean results/ --delete
    """
    from wanderlust.cli.printing import new_console, new_table, print_problems, print_table
    from wanderlust.experiments.status import all_keys
    from wanderlust.experiments.store import Store
    from wanderlust.experiments.table import group_rows, row_of_line, superseded

    problems: list[str] = []
    store = Store(folder)
    lines = list(store.lines(problems))
    print_problems(problems)
    others = superseded(lines)
    old = others - all_keys(folder)
    if in_use := len(others - old):
        print(f"{counted(in_use, 'result')} of other code kept: a sweep, exam or comparison was last started with it")
    if not old:
        print(f"nothing to remove from {counted(len(lines), 'stored result')}")
        return
    rows = [row_of_line(line) for line in lines if line["key"] in old]
    groups = group_rows(rows, by=("code", "git", "explorer"))
    cells = []
    for group in groups:
        finished = sorted(map(str, group.cells("finished")))
        cells.append([*map(str, group.label), f"{len(group):,}", finished[0], finished[-1]])
    names = ["code", "git", "explorer", "results", "from", "to"]
    print_table(new_table(names, cells, left=[name for name in names if name != "results"]), new_console())
    if delete:
        print(f"{store.remove(old):,} of {counted(len(lines), 'stored result')} removed")
    else:
        command = f"wanderlust clean {shlex.quote(str(folder))} --delete"
        print(f"{len(old):,} of {counted(len(lines), 'stored result')} would be removed: {command}")
