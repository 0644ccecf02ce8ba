"""Browsing a folder of results: the runs, and the studies and sweeps that they belong to, with tables and figures.

Everything read from a store is data: names are shown as text, nothing is imported, and a page names groups, reports and
figures by their number in the list, never by a path.
"""

from __future__ import annotations

import base64
import functools
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError, check_integer
from wanderlust.core.files import read_text_file
from wanderlust.core.schema import Strict
from wanderlust.experiments.report.sweep_report import sweep_report
from wanderlust.experiments.report_kinds import ReportKind, report_kinds
from wanderlust.experiments.run import Run
from wanderlust.experiments.status import keys_of
from wanderlust.experiments.store import Store
from wanderlust.experiments.sweep import Sweep, read_json
from wanderlust.experiments.sweep_file import SWEEP_FILE, SWEEPS
from wanderlust.studio import limits
from wanderlust.studio.stored_groups import (
    Groups,
    Version,
    curves,
    group_key,
    read_groups,
    summary,
    version_of,
)

_MAX_REPORT = 400_000
_MAX_FIGURE = 3_000_000
_MAX_COLLECTIONS = 100
_MAX_FILES = 100
"""Reports of a collection, and as many figures."""
_STORED_TABLE = "table of the stored runs"


class _Report(NamedTuple):
    name: str
    read: Callable[[], str]


class _Collection(NamedTuple):
    """A study, a sweep, or the folder itself."""

    kind: str
    name: str
    groups: list[int]
    """Of the store's groups, those with runs of this collection."""
    reports: list[_Report]
    figures: list[Path]


class Chosen(Strict, frozen=True):
    """What a page chooses, by numbers: a group, or a report or a figure of a collection."""

    group: int | None = None
    collection: int | None = None
    report: int | None = None
    figure: int | None = None


def browse(folder: Path, chosen: Chosen | None = None) -> dict[str, Any]:
    """Return all groups of a store, its studies and sweeps; or what is chosen."""
    stored = read_groups(folder, version_of(folder))
    if chosen is not None and chosen.group is not None:
        return {"group": curves(_picked("group", chosen.group, stored.groups))}
    collections, problems = _collections(folder, stored)
    if chosen is not None:
        collection = _picked("collection", chosen.collection, collections)
        if chosen.figure is not None:
            return {"figure": _figure(_picked("figure", chosen.figure, collection.figures))}
        report = _picked("report", chosen.report, collection.reports)
        return {"report": {"name": report.name, "text": report.read()}}
    return {
        "groups": [summary(group) for group in stored.groups],
        "collections": [
            {
                "kind": each.kind,
                "name": each.name,
                "groups": each.groups,
                "reports": [report.name for report in each.reports],
                "figures": [figure.stem for figure in each.figures],
            }
            for each in collections
        ],
        "problems": [*stored.problems, *problems][:20],
        "leftOut": stored.left_out,
    }


def _picked(what: str, number: Any, values: list[Any]) -> Any:
    if not values:
        raise InvalidSetting(f"there is no {what} in this folder.")
    return values[check_integer(what, number, low=0, high=len(values) - 1)]


def _collections(folder: Path, stored: Groups) -> tuple[list[_Collection], list[str]]:
    """Return the folder itself, its studies and its sweeps, and what could not be read."""
    found = [_Collection("folder", "all runs", list(range(len(stored.groups))), _reports(folder, "scorecard*.md"), [])]
    problems: list[str] = []
    kinds: list[tuple[Callable[[Path, Path, Groups], _Collection], str]] = [
        *((functools.partial(_study, kind), f"*/{kind.REQUEST_FILE}") for kind in report_kinds()),
        (_sweep, f"{SWEEPS}/*/{SWEEP_FILE}"),
    ]
    for read, pattern in kinds:
        for path in sorted(folder.glob(pattern))[:_MAX_COLLECTIONS]:
            # A file that cannot be read is a problem to show; the others are shown nevertheless.
            try:
                found.append(read(path, folder, stored))
            except WanderlustError as error:
                problems.append(str(error))
    return found, problems


def _study(kind: ReportKind, path: Path, folder: Path, stored: Groups) -> _Collection:
    place = path.parent
    runs = kind.first_runs(read_text_file(path, max_bytes=_MAX_REPORT), str(path))
    return _Collection("study", place.name, _numbers(runs, stored), _reports(place), _figures(place))


def _sweep(path: Path, folder: Path, stored: Groups) -> _Collection:
    sweep = read_json(path)
    table = _Report(_STORED_TABLE, functools.partial(_sweep_table, sweep, folder, version_of(folder)))
    # The stored list of its runs: making them from the description could import explorers of the user.
    numbers = {stored.numbers_of_runs[key] for key in keys_of(folder, sweep.name) if key in stored.numbers_of_runs}
    return _Collection("sweep", sweep.name, sorted(numbers), [table], _figures(path.parent))


def _numbers(runs: Iterable[Run], stored: Groups) -> list[int]:
    """Return the groups of the runs; one seed of each is enough, since groups have all seeds."""
    keys = (group_key(run) for run in itertools.islice(runs, limits.MAX_STORED_RUNS))
    return sorted({stored.numbers[key] for key in keys if key in stored.numbers})


@functools.lru_cache(maxsize=8)
def _sweep_table(sweep: Sweep, folder: Path, version: Version) -> str:
    problems: list[str] = []
    report = sweep_report(sweep, Store(folder), problems)
    return report.files.get("table.md", f"# Sweep {sweep.name}\n\nNone of its runs is stored.\n")


def _reports(folder: Path, pattern: str = "*.md") -> list[_Report]:
    files = sorted(folder.glob(pattern), key=lambda file: (len(file.name), file.name))[:_MAX_FILES]
    return [_Report(file.name, functools.partial(_text, file)) for file in files]


def _figures(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.png"))[:_MAX_FILES]


def _text(path: Path) -> str:
    try:
        return read_text_file(path, max_bytes=_MAX_REPORT)
    except BadFile as error:
        raise InvalidSetting(str(error)) from None


def _figure(path: Path) -> dict[str, str]:
    try:
        contents = path.read_bytes() if path.stat().st_size <= _MAX_FIGURE else b""
    except OSError as error:
        raise InvalidSetting(f"{path.name}: cannot be read ({error.strerror or error}).") from None
    if not contents.startswith(b"\x89PNG"):
        raise InvalidSetting(f"{path.name}: is not a PNG file of at most {_MAX_FIGURE // 1_000_000} MB.")
    return {"name": path.stem, "png": base64.b64encode(contents).decode()}
