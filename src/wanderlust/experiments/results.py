"""Results of many runs as tables: one row per run, for pandas, Polars and Arrow."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wanderlust.core.errors import MissingPackage, counted
from wanderlust.experiments.execute.driver import Failure, RunSummary
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.experiments.summary import Line, columns, summarise

CURVES = ("steps", "returns", "discovered")
CURVE_PREFIX = "curve_"
"""Of the columns of curves: `steps` is also the name of a setting."""


class Results:
    """The stored results of some runs of a store, in the order of the runs."""

    def __init__(self, store: Store, runs: Sequence[Run], summary: RunSummary | None = None) -> None:
        self.store = store
        self.runs = runs
        self.summary = summary or RunSummary()
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
        return sum(run.key.encode() in stored for run in self.runs)

    def rows(self, *, curves: bool = True) -> list[Line]:
        """Return one flat table per run: fields, options, measurements, and the learning curves as arrays."""
        rows = []
        for stored in self:
            row = columns(summarise(stored))
            if curves:
                row |= {f"{CURVE_PREFIX}{name}": getattr(stored.result, name) for name in CURVES}
            rows.append(row)
        return same_columns(rows)

    def to_pandas(self, *, curves: bool = True) -> Any:
        """Return a pandas DataFrame with one row per run; the curves are arrays."""
        return import_package("pandas").DataFrame(self.rows(curves=curves))

    def to_polars(self, *, curves: bool = True) -> Any:
        """Return a Polars DataFrame with one row per run; the curves are lists."""
        return import_package("polars").DataFrame(plain_rows(self.rows(curves=curves)), infer_schema_length=None)

    def to_arrow(self, *, curves: bool = True) -> Any:
        """Return an Arrow table with one row per run; the curves are lists."""
        return as_arrow(self.rows(curves=curves))


def as_arrow(rows: Iterable[Line]) -> Any:
    """Return rows as an Arrow table."""
    return import_package("pyarrow").Table.from_pylist(plain_rows(rows))


def as_parquet(rows: Iterable[Line]) -> bytes:
    """Return rows as the contents of a Parquet file."""
    table = as_arrow(rows)
    buffer = io.BytesIO()
    import_package("pyarrow.parquet").write_table(table, buffer)
    return buffer.getvalue()


def same_columns(rows: Sequence[Line]) -> list[Line]:
    """Return rows that all have the columns of all rows, None where a row has no value; options before measures."""
    order: dict[str, None] = {}
    late: dict[str, None] = {}
    for row in rows:
        names = list(row)
        # Each row has its own options between the fields and the measurements.
        cut = names.index("success") if "success" in row else len(names)
        order |= dict.fromkeys(names[:cut])
        late |= dict.fromkeys(names[cut:])
    every = [*order, *(name for name in late if name not in order)]
    return [{name: row.get(name) for name in every} for row in rows]


def plain_rows(rows: Iterable[Line]) -> list[Line]:
    """Return rows whose values fit into typed columns: arrays as lists, and mixed columns and tables as text."""
    listed = [{name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}
              for row in rows]  # fmt: skip
    names = [name for name in (listed[0] if listed else ()) if not name.startswith(CURVE_PREFIX)]
    mixed = {name for name in names if _is_mixed(listed, name)}
    return [{name: _as_text(value) if name in mixed else value for name, value in row.items()} for row in listed]


def _is_mixed(rows: Sequence[Line], name: str) -> bool:
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
