"""The table of runs: one row per run, one grouping with the statistics of a group, and tables for other programs.

A row has the fields of a run, each option and setting under its own name, and the run's measurements, without arrays.
Reports add columns of their own, also arrays. `group_rows` puts together the rows that agree in some columns, or in all
fields but the seed; a `Group` has the mean of any column with its interval over the seeds:

    rows = [row_of(stored) for stored in store.load_all(problems)]
    for group in group_rows(rows, by=("world", "explorer")):
        print(*group.label, len(group), group.interval("success"))

Packs contain the line of every run (see `line_of`), so tables of thousands of runs do not read every result.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import (
    InvalidSetting,
    MissingPackage,
    UnknownName,
    WanderlustError,
    counted,
    shown,
    unknown_name,
)
from wanderlust.core.files import check_writable, finite, write_file
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.run import OPTIMAL_SUCCESS, Result, Run, step_learnt
from wanderlust.experiments.statistics import Interval, Percent, bootstrap_interval, paper_percent, wilson_interval

if TYPE_CHECKING:
    from wanderlust.experiments.execute.driver import RunSummary, TaskResult
    from wanderlust.experiments.store import Store, StoredRun

__all__ = [
    "CURVES", "Group", "Line", "Results", "Row", "as_text", "condition", "fields_of", "format_value", "group_rows",
    "line_of", "of_other_code", "row_of", "row_of_line", "same_columns", "superseded", "swept_fields", "write_rows",
]  # fmt: skip

Line = dict[str, Any]
"""The key of a run, its description, and its measurements."""
Row = dict[str, Any]
"""The same as flat columns; None where a run does not have a value."""
MEASURES = ("success", "discovery", "final_return", "area_under_curve", "optimal_return", "states_discovered",
            "states_reachable", "steps_to_learn", "first_reward")  # fmt: skip
CURVES = ("steps", "returns", "discovered")
"""The arrays of a result that are learning curves. Their columns have a prefix: `steps` is also a setting."""
CURVE_PREFIX = "curve_"
EXECUTION = ("seconds", "finished", "code", "git", "wanderlust", "numpy", "numba", "host", "machine")
_SHORT_HASH = 12
_MEASURED = {*MEASURES, *EXECUTION, *(f"{CURVE_PREFIX}{name}" for name in CURVES)}
_ALWAYS: Row = {"kind": "world", "world": "", "explorer": "", "seed": 0}
"""Fields that every row has, with their defaults."""
_SOMETIMES = ("preset", "until", "measure", "episodes", "env_version")
_TAKEN = frozenset({*_ALWAYS, *_SOMETIMES, *MEASURES, *EXECUTION, "key", "memory"})
"""Names of columns that are not options."""

# --- Rows ------------------------------------------------------------------------------------------------


def line_of(run: Run, result: Result, metadata: Mapping[str, Any]) -> Line:
    """Return the line of a run: its key, its description, and its measurements."""
    measured = {
        "success": result.success,
        "discovery": result.discovery,
        "final_return": float(result.returns[-1]) if len(result.returns) else math.nan,
        "area_under_curve": result.area_under_curve,
        "optimal_return": float(result.optimal_return),
        "states_discovered": result.n_discovered,
        "states_reachable": int(result.reachable) or math.nan,
        "steps_to_learn": step_learnt(result.percent_curves) if run.kind == "world" else math.nan,
        "first_reward": result.first_events[0],
    }
    return {
        "key": metadata.get("key"),
        "run": run.description,
        **{name: finite(value) for name, value in measured.items()},
        **{name: metadata.get(name) for name in EXECUTION},
        "code": _short_code(metadata.get("code", ())),
    }


def row_of(stored: StoredRun, *, curves: bool = False) -> Row:
    """Return the row of a stored run; with `curves`, the learning curves are columns of arrays."""
    row = row_of_line(line_of(*stored))
    return row | {f"{CURVE_PREFIX}{name}": getattr(stored.result, name) for name in CURVES} if curves else row


def row_of_line(line: Line) -> Row:
    """Return a line as flat columns."""
    measured = line.copy()
    return {"key": line["key"], **fields_of(measured.pop("run")), **measured}


def fields_of(description: Mapping[str, Any]) -> Row:
    """Return the fields of a run, given as `Run.description`, with every option and setting under its own name.

    The replay memory is the column `memory`. An option that has the name of another column gets the prefix `option_`.
    """
    flat: Row = {name: description.get(name, default) for name, default in _ALWAYS.items()}
    for name in _SOMETIMES:
        if name in description:
            flat[name] = description[name]
    for table in ("settings", "explorer_options", "world_options", "encoder_options"):
        options = description.get(table, {})
        for name, value in options.items() if isinstance(options, dict) else ():
            if table == "settings" and name == "replay":
                flat["memory"] = value
            else:
                flat[f"option_{name}" if name in _TAKEN or name in flat else name] = value
    return flat


def superseded(lines: Sequence[Line]) -> set[str]:
    """Return the keys of results of other code than another result of the same run.

    Of several results, that of the code as it is now counts; if there is none, the last one. User-defined code is
    looked for in the current folder, too, and not imported.
    """
    versions: dict[str, list[str]] = {}
    # Of the same second, the first one: a store has the lines of the last pack first.
    for line in sorted(lines, key=lambda line: str(line.get("finished")), reverse=True):
        versions.setdefault(json.dumps(line["run"], sort_keys=True), []).append(line["key"])
    with _current_folder_on_path():
        return {line["key"] for line in lines} - {_current(run, keys) for run, keys in versions.items()}


def of_other_code(lines: Iterable[Line]) -> int:
    """Return the number of results of other code than the present one, which was edited since or is not found."""
    by_code: dict[str, list[Line]] = {}
    for line in lines:
        by_code.setdefault(str(line.get("code", "")), []).append(line)
    count = 0
    with _current_folder_on_path():
        for code, same in by_code.items():
            with contextlib.suppress(WanderlustError):  # A run that this version does not have.
                count += len(same) * (_short_code(Run.from_json(json.dumps(same[0]["run"])).code) != code)
    return count


@contextlib.contextmanager
def _current_folder_on_path() -> Iterator[None]:
    earlier, sys.path = sys.path, [*sys.path, os.getcwd()]
    try:
        yield
    finally:
        sys.path = earlier


def _short_code(code: Iterable[object]) -> str:
    return " ".join(str(each)[:_SHORT_HASH] for each in code if each)


def _current(run: str, keys: Sequence[str]) -> str:
    if len(keys) > 1:
        with contextlib.suppress(WanderlustError):  # A run that this version does not have.
            if (key := Run.from_json(run).key) in keys:
                return key
    return keys[0]


def same_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows that all have the columns of all rows, None where a row has no value; options before measures."""
    every = _column_names(rows)
    return [{name: row.get(name) for name in every} for row in rows]


def _column_names(rows: Sequence[Row]) -> list[str]:
    # Each row has its own options between the fields and the measurements.
    found: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= found.keys():
            found |= dict.fromkeys(row)
    return sorted(found, key=lambda name: name in _MEASURED)


# --- Groups ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Rows that agree in some columns; by default, runs that differ only in their seed."""

    fields: dict[str, Any]
    """The columns in which they agree."""
    rows: list[Row]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def label(self) -> tuple[Any, ...]:
        """The values in which the rows agree."""
        return tuple(self.fields.values())

    def column(self, name: str) -> FloatArray:
        """Return the numbers of a column, one per run; NaN where a run has none."""
        return np.array([math.nan if row.get(name) is None else float(row[name]) for row in self.rows])

    def cells(self, name: str) -> list[Any]:
        """Return the values of a column as they are, such as texts and arrays."""
        return [row.get(name) for row in self.rows]

    def interval(self, name: str) -> Interval:
        """Return the mean of a column with its bootstrap interval; NaN if a run does not have it."""
        values = self.column(name)
        return bootstrap_interval(values) if np.isfinite(values).all() else Interval(math.nan, math.nan, math.nan)

    def percent(self, name: str) -> Percent:
        """Return the mean of a column with its ± = 2 σ/√n, as the paper's tables have it."""
        return paper_percent(self.column(name))

    def learnt(self, threshold: float = OPTIMAL_SUCCESS) -> Interval:
        """Return the share of runs that ended with at least this success, in percent, with its Wilson interval."""
        return wilson_interval(int((self.column("success") >= threshold).sum()), len(self))

    def median_step(self) -> float:
        """Return the median step from which a run had an optimal policy; infinite if most runs never did."""
        steps, is_optimal = self.column("steps_to_learn"), self.column("success") >= OPTIMAL_SUCCESS
        return float(np.median(np.where(is_optimal & np.isfinite(steps), steps, math.inf)))

    def text(self, without: Iterable[str] = ()) -> str:
        """Return the columns in which the rows agree as text: the values of names, and name=value for all others."""
        left_out = {*without}
        parts = {name: format_value(value) for name, value in self.fields.items()
                 if name not in left_out and value is not None}  # fmt: skip
        return ", ".join(text if name in ("world", "explorer") else f"{name}={text}" for name, text in parts.items())


def group_rows(
    rows: Iterable[Row], by: Sequence[str] | Callable[[Row], Mapping[str, Any]] | None = None
) -> list[Group]:
    """Return the groups of rows, in the order of the first row of each; 1, 1.0 and True are different values.

    `by` names the columns in which the rows of a group agree, or returns such columns for a row. By default these are
    all columns of the first rows before the measurements, but the key and the seed.
    """
    groups: dict[str, Group] = {}
    for row in rows:
        if callable(by):
            fields = dict(by(row))
        else:
            names = [name for name in row if name not in {*_MEASURED, "key", "seed"}] if by is None else by
            fields = {name: row.get(name) for name in names}
        groups.setdefault(_as_json(fields), Group(fields, [])).rows.append(row)
    return list(groups.values())


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def swept_fields(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the fields that differ between runs, given by `fields_of`, with their values in this order."""
    names = dict.fromkeys(name for row in rows for name in row if name != "kind")
    found = {name: distinct(row.get(name) for row in rows) for name in names}
    if "map" in found and len(distinct([row.get("world"), row.get("map")] for row in rows)) == len(found["world"]):
        del found["map"]  # The name of the map's file is enough.
    return {name: values for name, values in found.items() if len(values) > 1 or name in ("world", "explorer")}


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in their order; they may be lists and tables."""
    return list({_as_json(value): value for value in values}.values())


def format_value(value: Any) -> str:
    """Return the value of a field as text."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


# --- Tables for other programs ---------------------------------------------------------------------------

SUFFIXES = (".csv", ".json", ".parquet")


class Results:
    """The stored results of some runs of a store, in the order of the runs."""

    def __init__(self, store: Store, runs: Sequence[Run], summary: RunSummary) -> None:
        self.store = store
        self.runs = runs
        self.summary = summary
        self.problems: list[str] = []
        """One sentence for each stored file that cannot be read."""

    @property
    def failures(self) -> list[TaskResult]:
        """The runs that failed, with the reason and the command that repeats them."""
        return self.summary.failures

    def __repr__(self) -> str:
        return f"<Results of {counted(len(self.runs), 'run')} in {self.store.folder}: {len(self):,} stored>"

    def __iter__(self) -> Iterator[StoredRun]:
        return self.store.load_many(self.runs, self.problems)

    def __len__(self) -> int:
        stored = self.store.stored_keys()
        return sum(run.key in stored for run in self.runs)

    def rows(self, *, curves: bool = True) -> list[Row]:
        """Return one flat row per run: fields, options, measurements, and the learning curves as arrays."""
        return same_columns(self._rows(curves=curves))

    def _rows(self, *, curves: bool) -> list[Row]:
        if curves:
            return [row_of(stored, curves=True) for stored in self]
        lines = {line["key"]: line for line in self.store.lines(self.problems)}
        return [row_of_line(lines[run.key]) for run in self.runs if run.key in lines]

    def to_pandas(self, *, curves: bool = True) -> Any:
        """Return a pandas DataFrame with one row per run; the curves are arrays."""
        rows = self._rows(curves=curves)
        # Of columns, as pandas needs several times as long to take rows apart.
        columns = {name: [row.get(name) for row in rows] for name in _column_names(rows)}
        return import_package("pandas").DataFrame(columns)

    def to_polars(self, *, curves: bool = True) -> Any:
        """Return a Polars DataFrame with one row per run; the curves are lists."""
        return import_package("polars").DataFrame(plain_rows(self.rows(curves=curves)), infer_schema_length=None)

    def to_arrow(self, *, curves: bool = True) -> Any:
        """Return an Arrow table with one row per run; the curves are lists."""
        return import_package("pyarrow").Table.from_pylist(plain_rows(self.rows(curves=curves)))


def check_table_file(path: Path) -> None:
    """Raise an error unless a table can be written to this file."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidSetting(f"a table is written to a file with the suffix {', '.join(SUFFIXES)}, got {str(path)!r}.")
    check_writable(path)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows with the same columns to a CSV, JSON or Parquet file."""
    check_table_file(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        cells = [[as_text(value) if isinstance(value, list) else value for value in row.values()]
                 for row in plain_rows(rows)]  # fmt: skip
        write_file(path, as_csv(list(rows[0]) if rows else [], cells))
    elif suffix == ".json":
        write_file(path, json.dumps([_with_lists(row) for row in rows], indent=1))
    else:
        table = import_package("pyarrow").Table.from_pylist(plain_rows(rows))
        # Given a path, pyarrow would delete the file there if writing fails.
        buffer = io.BytesIO()
        import_package("pyarrow.parquet").write_table(table, buffer)
        write_file(path, buffer.getvalue())


def plain_rows(rows: Iterable[Row]) -> list[Row]:
    """Return rows whose values fit into typed columns: arrays as lists, and mixed columns and tables as text."""
    listed = [_with_lists(row) for row in rows]
    names = [name for name in (listed[0] if listed else ()) if not name.startswith(CURVE_PREFIX)]
    mixed = {name for name in names if _is_mixed(listed, name)}
    return [{name: as_text(value) if name in mixed else value for name, value in row.items()} for row in listed]


def _with_lists(row: Row) -> Row:
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}


def _is_mixed(rows: Sequence[Row], name: str) -> bool:
    kinds = {type(row[name]) for row in rows if row[name] is not None}
    return bool(kinds & {list, dict}) or len(kinds - {int, float}) > (0 if kinds & {int, float} else 1)


def as_text(value: Any) -> str | None:
    """Return a value for a column of texts; None stays None."""
    return value if value is None or isinstance(value, str) else json.dumps(value, sort_keys=True)


def import_package(package: str) -> Any:
    """Return a package of tables, or raise `MissingPackage`."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingPackage(
            f"this table needs {package}, which is not installed: pip install {package}, or pip install "
            "'wanderlust[dataframes]' for pandas, Polars and pyarrow."
        ) from None


# --- Conditions ------------------------------------------------------------------------------------------

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Name, ast.Load, ast.Constant,
    ast.Tuple, ast.List, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
)  # fmt: skip
_MAX_LENGTH = 10_000
_EXAMPLE = "'world == \"prison\" and kappa > 1'"


def condition(text: str, columns: Collection[str]) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that tells whether a row fulfills a condition, such as `world == "prison" and kappa > 1`.

    A condition is a Python expression of column names, numbers, texts, comparisons, `in`, `and`, `or`, `not` and
    arithmetic. Anything else is refused before it is evaluated. A comparison with a missing value is false.
    """
    if len(text) > _MAX_LENGTH:
        raise InvalidSetting(f"the condition is too long: {len(text):,} characters.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidSetting(f"the condition {shown(text)} is not valid ({reason}); an example: {_EXAMPLE}.") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise InvalidSetting(
                f"the condition {shown(text)} contains {type(node).__name__.lower()}, which is not allowed; it may "
                f"contain columns, numbers, texts, comparisons, in, and, or, not, + - * /. An example: {_EXAMPLE}."
            )
        if isinstance(node, ast.Name) and node.id not in columns:
            raise UnknownName(f"{unknown_name('column', node.id, columns)} A text is in quotes: {_EXAMPLE}.")
    # Safe: only the kinds of nodes above are left, none of which can call or look up anything but a column.
    code = compile(tree, "<condition>", "eval")

    def is_fulfilled(row: Mapping[str, Any]) -> bool:
        try:
            return bool(eval(code, {"__builtins__": {}}, dict.fromkeys(columns) | dict(row)))
        except (TypeError, ZeroDivisionError, OverflowError):
            return False  # A row without the option that is compared.

    return is_fulfilled
