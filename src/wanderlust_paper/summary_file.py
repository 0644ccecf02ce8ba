"""All runs of a reproduction in one compressed CSV file, from which every table, figure and claim can be recomputed.

A line is a run with its description, its final numbers, and the arrays that the reports use. Arrays are text: numbers
separated by spaces, where `x*n` stands for n times x. `discovered` and `visits_by_moment` have the differences of
successive entries. What reports do not use is left out: `visits` has one column with the visits of each state, and if
the order of `first_visit` is not kept, it only shows how many states were visited; runs of `chain`, and those that end
when they learn, have their last evaluation only. A number that is not known is empty.

    pandas.read_csv("runs.csv.gz")[["run", "discovery_percent", "success_percent"]]
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run, Store, WanderlustError
from wanderlust.core.errors import BadFile
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import PACKS, StoredRun

FILE = "runs.csv.gz"
_METADATA = ("seconds", "finished", "wanderlust", "python", "numpy", "numba", "machine")
_INTEGERS = ("discovered", "visits", "first_visit", "bad_steps", "ends_good", "moments", "visits_by_moment")
_FLOATS = ("returns", "value_errors", "gaps")
_DIFFERENCES = ("discovered", "visits_by_moment")
_ARRAYS = ("steps", *_FLOATS, *_INTEGERS)
_NUMBERS = ("discovery_percent", "success_percent", "n_discovered", "reachable", "optimal_return")
_COLUMNS = ("run", *_NUMBERS, *_METADATA, *_ARRAYS)
_MAX_FIELD = 2**24
_MAX_REPEATS = 10**7


class RunSource(Protocol):
    """Where reports read runs from: a `Store`, or a `Summary`."""

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield those of `runs` that it has; append a sentence to `problems` for each unusable one."""


def source_in(folder: Path) -> RunSource:
    """Return the runs of a results folder: its stored runs, or else its summary."""
    # Unlike Path.exists, this is false for names that the file system cannot have.
    has_runs = os.path.exists(folder / PACKS)
    return Summary(folder / FILE) if os.path.exists(folder / FILE) and not has_runs else Store(folder)


def reduced(result: Result, *, keep: Iterable[str] = (), max_points: int | None = None) -> Result:
    """Return the part of a result that reports use: curves, final numbers, and the arrays named in `keep`.

    With `max_points`, the states discovered are exact at that many evaluations, the last one included, and in between
    those of the previous one. With one point, only the last evaluation is kept.
    """
    from wanderlust.experiments.report.figures import thinned

    keep, discovered = set(keep), result.discovered
    if max_points is not None and len(discovered) > max_points:
        exact, last = thinned(len(discovered), max_points), np.zeros(len(discovered), np.int64)
        last[exact] = np.arange(len(discovered))[exact]
        discovered = discovered[np.maximum.accumulate(last)]
    visited = result.n_discovered
    counted = np.repeat([0, -1], [visited, max(int(result.reachable) - visited, 0)])
    if not visited:  # Not known: every run visits its start.
        counted = result.first_visit[:0]
    part = slice(-1 if max_points == 1 else None, None)
    empty = np.zeros(0)
    kept = {name: getattr(result, name) if name in keep else empty for name in Result._field_defaults}
    return Result(
        steps=result.steps[part],
        returns=result.returns[part],
        discovered=discovered[part],
        visits=result.visits.sum(axis=1, keepdims=True) if "visits" in keep else np.zeros((0, 1), np.int64),
        first_visit=result.first_visit if "first_visit" in keep else counted,
        optimal_return=result.optimal_return,
        reachable=result.reachable,
        **kept,
    )


def write_summary(stored: Iterable[StoredRun], path: Path) -> int:
    """Write runs, whose results are `reduced`, to a file; return their number. The same runs give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    count = 0
    for each in stored:
        writer.writerow(_line(each))
        count += 1
    path.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    return count


def _line(stored: StoredRun) -> list[Any]:
    run, result, metadata = stored
    is_counted = len(result.first_visit) > 0
    final = [result.discovery if is_counted else math.nan, result.success]
    numbers = [f"{x:.6g}" if math.isfinite(x) else "" for x in final]
    arrays = {name: getattr(result, name) for name in _ARRAYS}
    texts = [_steps_text(result.steps), *(_pack(name, arrays[name]) for name in _ARRAYS[1:])]
    n_discovered = result.n_discovered if is_counted else ""
    scalars = [n_discovered, int(result.reachable), repr(float(result.optimal_return))]
    metadata = {**metadata, "seconds": f"{metadata['seconds']:.3g}"} if "seconds" in metadata else metadata
    return [run.json, *numbers, *scalars, *(metadata.get(name, "") for name in _METADATA), *texts]


def _steps_text(steps: NDArray[Any]) -> str:
    """Return evenly spaced steps as first:difference:count."""
    if not len(steps):
        return ""
    difference = int(steps[1] - steps[0]) if len(steps) > 1 else 1
    return f"{int(steps[0])}:{difference}:{len(steps)}"


def _pack(name: str, array: NDArray[Any]) -> str:
    if name in _DIFFERENCES and len(array):
        array = np.diff(array, axis=0, prepend=np.zeros_like(array[:1]))
    kind = int if name in _INTEGERS else float
    return " ".join(_repeats(value, len(list(group))) for value, group in groupby(map(kind, array.ravel().tolist())))


def _repeats(value: float, n: int) -> str:
    return repr(value) if n == 1 else f"{value!r}*{n}"


def _unpack(name: str, text: str) -> NDArray[Any]:
    kind: Any = int if name in _INTEGERS else float
    values: list[Any] = []
    for token in text.split():
        value, _, times = token.partition("*")
        n = int(times) if times else 1
        if not 0 < n <= _MAX_REPEATS or len(values) + n > _MAX_REPEATS:
            raise ValueError(f"{token[:40]!r} is not a number of repeats")
        values += [kind(value)] * n
    return np.array(values, dtype=np.int64 if kind is int else np.float64)


class Summary:
    """The runs of a summary file, by their description."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, dict[str, str]] = {}
        csv.field_size_limit(_MAX_FIELD)
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
                for line in csv.DictReader(file):
                    self._lines[line["run"]] = line
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, KeyError) as error:
            raise BadFile(f"{path}: is not a summary of runs ({error}).") from error

    def load_many(self, runs: Iterable[Run], problems: list[str]) -> Iterator[StoredRun]:
        """Yield those of `runs` that the file has; append a sentence to `problems` for each damaged line."""
        for run in runs:
            line = self._lines.get(run.json)
            if line is None:
                continue
            try:
                stored = StoredRun(run, _result(line), {"key": run.key, **_metadata(line)})
            except (ValueError, KeyError, TypeError, OverflowError, WanderlustError) as error:
                problems.append(f"{self.path}: the line of the run {run.json} is damaged ({error}).")
                continue
            yield stored


def _metadata(line: dict[str, str]) -> dict[str, Any]:
    return {name: float(line[name] or "nan") if name == "seconds" else line[name] for name in _METADATA}


def _result(line: dict[str, str]) -> Result:
    arrays = {name: _unpack(name, line[name]) for name in _ARRAYS[1:]}
    first, difference, count = (int(x) for x in line["steps"].split(":")) if line["steps"] else (0, 1, 0)
    if not 0 <= count <= _MAX_REPEATS:
        raise ValueError(f"{count} evaluations")
    arrays["discovered"] = np.cumsum(arrays["discovered"])
    moments = len(arrays["moments"])
    if moments:
        arrays["visits_by_moment"] = np.cumsum(arrays["visits_by_moment"].reshape(moments, -1), axis=0)
    arrays["ends_good"] = arrays["ends_good"].astype(np.bool_)
    if not len(arrays["returns"]) == len(arrays["discovered"]) == count:
        raise ValueError("the curves differ in length")
    arrays["visits"] = arrays["visits"].reshape(-1, 1)
    return Result(
        steps=first + difference * np.arange(count, dtype=np.int64),
        optimal_return=np.array(float(line["optimal_return"])),
        reachable=np.array(int(line["reachable"])),
        **arrays,
    )
