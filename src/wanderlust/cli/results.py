"""The command `results`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.cli import HELP_ONLY

if TYPE_CHECKING or not HELP_ONLY:
    from rich.table import Table

    from wanderlust.cli.printing import new_console, new_table, print_problems, print_table
    from wanderlust.core.errors import InvalidSetting, counted, unknown_name
    from wanderlust.experiments.results import check_table_file, write_rows
    from wanderlust.experiments.store import Store
    from wanderlust.experiments.table import condition, row_of, row_of_line, same_columns

_HIDDEN = (
    "key", "kind", "optimal_return", "states_reachable", "seconds", "finished", "wanderlust", "numpy", "numba",
    "machine",
)  # fmt: skip
"""Columns that are not shown unless asked for."""


def results(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with the stored runs.")],
    *,
    where: Annotated[
        str, arg(metavar="CONDITION", help="Only these runs: 'world==\"prison\" and kappa>1'; all if not given.")
    ] = "",
    columns: Annotated[
        tuple[str, ...], arg(metavar="NAME ...", help="Columns, in this order; 'all' for all of them.")
    ] = (),
    sort: Annotated[
        str, arg(metavar="NAME", help="Sort by this column, the largest first; by the run if not given.")
    ] = "",
    limit: Annotated[int, arg(metavar="N", help="Print at most N rows; 0 for all.")] = 50,
    to: Annotated[
        Path | None, arg(metavar="FILE", help="Write all rows to a .csv, .json or .parquet file instead.")
    ] = None,
    curves: Annotated[
        bool, arg(help="With --to: also the learning curves, as columns curve_steps, curve_returns, curve_discovered.")
    ] = False,
) -> None:
    """Print the stored runs as a table: one row per run, its options and its measurements.

    Example: wanderlust results results/ --where 'world=="prison" and kappa>1' --columns kappa success steps_to_learn

    Example: wanderlust results results/ --to runs.parquet --curves
    """
    if to is not None:
        check_table_file(to)
    elif curves:
        raise InvalidSetting("--curves is for a file: add --to FILE, such as --to runs.parquet.")
    problems: list[str] = []
    store = Store(folder)
    if curves:
        rows = same_columns([row_of(stored, curves=True) for stored in store.load_all(problems)])
    else:
        rows = same_columns([row_of_line(line) for line in store.lines(problems)])
    print_problems(problems)
    selected, names = _selected(rows, where, columns, sort)
    if to is not None:
        write_rows(to, [{name: row[name] for name in names} for row in selected])
        print(f"{counted(len(selected), 'run')} written to {to}")
        return
    console = new_console()
    shown = selected[:limit] if limit > 0 else selected
    if shown:
        print_table(_table(shown, names), console)
    count = f"{len(selected):,} of {counted(len(rows), 'stored run')}"
    print(count if len(shown) == len(selected) else f"{count}; {len(shown):,} shown, --limit 0 shows all")


def _selected(
    rows: Sequence[dict[str, Any]], where: str, columns: tuple[str, ...], sort: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows that fulfil the condition, sorted, and the names of the columns to show."""
    every = list(rows[0]) if rows else []
    fulfilled = condition(where, every) if where and rows else lambda _: True
    selected = [row for row in rows if fulfilled(row)]
    for name in (*columns, *([sort] if sort else [])):
        if rows and name not in every and name != "all":
            raise unknown_name("column", name, every)
    if sort:
        present = [row for row in selected if row[sort] is not None]
        missing = [row for row in selected if row[sort] is None]
        try:
            present.sort(key=lambda row: row[sort], reverse=True)
        except TypeError:
            present.sort(key=lambda row: str(row[sort]), reverse=True)
        selected = present + missing
    else:
        # The seeds of a setting are next to each other.
        options = every[: every.index("success")] if "success" in every else every
        names = [*dict.fromkeys(["world", "explorer", *(name for name in options if name not in _HIDDEN), "seed"])]
        names.append(names.pop(names.index("seed")))
        selected.sort(key=lambda row: [_rank(row[name]) for name in names if name in row])
    if columns == ("all",):
        return selected, every
    used = [name for name in every if any(row[name] is not None for row in selected)]
    return selected, list(columns) or [name for name in used if name not in _HIDDEN]


def _rank(value: Any) -> tuple[int, float, str]:
    """Return a sort key for values of any type: missing ones, then numbers, then texts."""
    if isinstance(value, int | float):
        return 1, value, ""
    return (0, 0.0, "") if value is None else (2, 0.0, str(value))


def _table(rows: Sequence[dict[str, Any]], names: list[str]) -> Table:
    texts = [name for name in names if not any(isinstance(row[name], int | float) for row in rows)]
    return new_table(names, [[_cell(row[name]) for name in names] for row in rows], left=texts)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
