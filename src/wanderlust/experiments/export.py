"""Export all stored runs of a folder to one CSV, JSON or Parquet file."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wanderlust.core.errors import WanderlustError, check_choice
from wanderlust.core.files import finite, write_file
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.store import StoredRun

FORMATS = ("csv", "json", "parquet")
CURVES = ("steps", "returns", "discovered")


def export(stored: Iterable[StoredRun], path: Path, form: str) -> int:
    """Write one entry per run to a file; return their number. JSON and Parquet contain the learning curves as well."""
    check_choice("format", form, FORMATS)
    entries = [_entry(each, curves=form != "csv") for each in stored]
    contents = _as_parquet(entries) if form == "parquet" else _as_text(entries, form).encode()
    write_file(path, contents)
    return len(entries)


def _as_text(entries: list[dict[str, Any]], form: str) -> str:
    if form == "json":
        return json.dumps(entries, indent=1)
    return as_csv(list(entries[0]) if entries else [], [[_cell(v) for v in entry.values()] for entry in entries])


def _entry(stored: StoredRun, *, curves: bool) -> dict[str, Any]:
    """Return a run with its final numbers and the metadata of its execution."""
    run, result, metadata = stored
    entry: dict[str, Any] = {
        "key": metadata["key"],
        "kind": run.kind,
        "world": run.world,
        "world_options": dict(run.world_options),
        "encoder_options": dict(run.encoder_options),
        "explorer": run.explorer,
        "explorer_options": dict(run.explorer_options),
        "settings": dict(run.settings),
        "preset": run.preset,
        "seed": run.seed,
        "until": run.until,
        "measure": run.measure,
        "discovery_percent": finite(result.discovery),
        "success_percent": finite(result.success),
        "final_return": float(result.returns[-1]) if len(result.returns) else None,
        "optimal_return": finite(float(result.optimal_return)),
        "states_discovered": result.n_discovered,
        "states_reachable": int(result.reachable) or None,
        **{name: metadata.get(name) for name in ("seconds", "finished", "wanderlust", "numpy", "numba", "machine")},
    }
    if curves:
        entry |= {name: getattr(result, name).tolist() for name in CURVES}
    return entry


def _cell(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value


def _as_parquet(entries: list[dict[str, Any]]) -> bytes:
    try:
        pyarrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError:
        raise WanderlustError(
            "Parquet files need pyarrow, which is not installed: pip install 'wanderlust[parquet]', "
            "or choose --format csv or json."
        ) from None
    lines = [{key: _cell(value) for key, value in entry.items()} for entry in entries]
    # Given a path, pyarrow would delete the file there if writing fails.
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(lines), buffer)
    return buffer.getvalue()
