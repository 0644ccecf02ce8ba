"""The commands `results` and `clean`, for the stored runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.cli.options import Name, Names, OptionalFile
from wanderlust.core.errors import InvalidSetting, counted, unknown_name

_HIDDEN = (
    "key", "kind", "optimal_return", "states_reachable", "seconds", "finished", "code", "git", "wanderlust", "numpy",
    "numba", "host", "machine",
)  # fmt: skip
"""Columns that are not printed unless asked for; files have them."""


def results(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with the stored runs.")],
    *,
    where: Annotated[
        str, arg(metavar="CONDITION", help="Only these runs: 'world==\"prison\" and kappa>1'; all if not given.")
    ] = "",
    sweep: Annotated[str, arg(metavar="NAME", help="Only the runs of this sweep, as it was last started.")] = "",
    all_versions: Annotated[
        bool, arg(help="Also results of other code: the column `code` tells them apart. Otherwise one per run.")
    ] = False,
    columns: Annotated[Names, arg(help="Columns, in this order; 'all' for all of them.")] = (),
    sort: Annotated[Name, arg(help="Sort by this column, the largest first; by the run if not given.")] = "",
    limit: Annotated[int, arg(metavar="N", help="Print at most N rows; 0 for all.")] = 50,
    to: Annotated[OptionalFile, arg(help="Write all rows to a .csv, .json or .parquet file instead.")] = None,
    curves: Annotated[
        bool, arg(help="With --to: also the learning curves, as columns curve_steps, curve_returns, curve_discovered.")
    ] = False,
) -> None:
    """Print the stored runs as a table: one row per run, its options and its measurements.

    Example: wanderlust results results/ --where 'world=="prison" and kappa>1' --columns kappa success steps_to_learn

    Example: wanderlust results results/ --to runs.parquet --curves
    """
    from wanderlust.experiments import table
    from wanderlust.experiments.execute.progress import keys_of
    from wanderlust.experiments.report.text_tables import new_console, new_table, print_problems
    from wanderlust.experiments.store import Store

    if to is not None:
        table.check_table_file(to)
    elif curves:
        raise InvalidSetting("--curves is for a file: add --to FILE, such as --to runs.parquet.")
    problems: list[str] = []
    store = Store(folder)
    lines = list(store.lines([] if curves else problems))
    if sweep:
        keys = set(keys_of(folder, sweep))
        text = {line["key"]: json.dumps(line["run"], sort_keys=True) for line in lines if all_versions}
        runs = {text[key] for key in keys & text.keys()}
        old = {line["key"] for line in lines} - keys - {key for key, run in text.items() if run in runs}
    else:
        old = set() if all_versions else table.superseded(lines)
    if curves:
        found = [table.row_of(stored, curves=True) for stored in store.load_all(problems)]
    else:
        found = [table.row_of_line(line) for line in lines]
    rows = table.same_columns([row for row in found if row["key"] not in old])
    if old and not sweep:
        problems.append(f"{counted(len(old), 'result')} of other code left out; --all-versions shows them, too.")
    if not all_versions and (n := table.of_other_code(line for line in lines if line["key"] not in old)):
        problems.append(
            f"{n:,} of the results below are of other code than the present one, which was edited or is not found "
            "from this folder; there are none of the present code."
        )
    print_problems(problems)
    every = list(rows[0]) if rows else []
    for name in (*columns, *([sort] if sort else [])):
        if rows and name not in every and name != "all":
            raise unknown_name("column", name, every)
    fulfilled = table.condition(where, every) if where and rows else lambda _: True
    selected = _sorted([row for row in rows if fulfilled(row)], every, sort)
    used = [name for name in every if name not in _HIDDEN and any(row[name] is not None for row in selected)]
    names = every if columns == ("all",) else list(columns) or (used if to is None else every)
    if to is not None:
        table.write_rows(to, [{name: row[name] for name in names} for row in selected])
        print(f"{counted(len(selected), 'run')} written to {to}")
        return
    console = new_console()
    shown = selected[:limit] if limit > 0 else selected
    if shown:
        texts = [name for name in names if not any(isinstance(row[name], int | float) for row in shown)]
        cells = [[_cell(row[name]) for name in names] for row in shown]
        console.print(new_table(names, cells, left=texts), crop=False)
    count = f"{len(selected):,} of {counted(len(rows), 'stored run')}"
    print(count if len(shown) == len(selected) else f"{count}; {len(shown):,} shown, --limit 0 shows all")


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
    from wanderlust.experiments.execute.progress import all_keys
    from wanderlust.experiments.report.text_tables import new_console, new_table, print_problems
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
    new_console().print(new_table(names, cells, left=[name for name in names if name != "results"]), crop=False)
    if delete:
        print(f"{store.remove(old):,} of {counted(len(lines), 'stored result')} removed")
    else:
        command = f"wanderlust clean {shlex.quote(str(folder))} --delete"
        print(f"{len(old):,} of {counted(len(lines), 'stored result')} would be removed: {command}")


def _sorted(rows: list[dict[str, Any]], every: list[str], sort: str) -> list[dict[str, Any]]:
    """Return rows by a column, the largest first; without one, the seeds of a setting next to each other."""
    if not sort:
        options = every[: every.index("success")] if "success" in every else every
        names = dict.fromkeys(["world", "explorer", *options])
        by = [name for name in names if name not in (*_HIDDEN, "seed") and name in every] + ["seed"]
        return sorted(rows, key=lambda row: [_rank(row.get(name)) for name in by])
    return sorted(rows, key=lambda row: _rank(row[sort]), reverse=True)


def _rank(value: Any) -> tuple[int, float, str]:
    """Return a sort key for values of any type: missing ones, then numbers, then texts."""
    if isinstance(value, int | float):
        return 1, value, ""
    return (0, 0.0, "") if value is None else (2, 0.0, str(value))


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
