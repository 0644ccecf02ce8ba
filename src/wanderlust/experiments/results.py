"""Results of many runs as tables for pandas, Polars and Arrow, and as files; one row per run."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanderlust.core.errors import InvalidSetting, MissingPackage, counted
from wanderlust.core.files import check_writable, write_file
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.experiments.table import CURVE_PREFIX, Row, row_of, same_columns

if TYPE_CHECKING:
    from wanderlust.experiments.execute.driver import Failure, RunSummary

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
    def failures(self) -> list[Failure]:
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
        return same_columns([row_of(stored, curves=curves) for stored in self])

    def to_pandas(self, *, curves: bool = True) -> Any:
        """Return a pandas DataFrame with one row per run; the curves are arrays."""
        return import_package("pandas").DataFrame(self.rows(curves=curves))

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
        cells = [[_as_text(value) if isinstance(value, list) else value for value in row.values()]
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
    return [{name: _as_text(value) if name in mixed else value for name, value in row.items()} for row in listed]


def _with_lists(row: Row) -> Row:
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}


def _is_mixed(rows: Sequence[Row], name: str) -> bool:
    kinds = {type(row[name]) for row in rows if row[name] is not None}
    return bool(kinds & {list, dict}) or len(kinds - {int, float}) > (0 if kinds & {int, float} else 1)


def _as_text(value: Any) -> str | None:
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
