"""Browsing a folder of results: the runs, and the studies and sweeps that they belong to, with tables and figures.

Everything read from a store is data: names are shown as text, nothing is imported, and a page names groups, reports and
figures by their number in the list, never by a path. A file is shown only if it is inside the folder, after all
symbolic links.
"""

from __future__ import annotations

import base64
import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError, check_integer
from wanderlust.core.extensions import report_kinds
from wanderlust.core.files import finite, open_regular, read_text_file
from wanderlust.experiments.execute.progress import keys_of
from wanderlust.experiments.report.sweep_report import sweep_report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import PACKS, Store
from wanderlust.experiments.sweep import SWEEP_FILE, SWEEPS, Sweep, read_json
from wanderlust.experiments.table import Group, Row, fields_of, group_rows, row_of, superseded
from wanderlust.studio import limits
from wanderlust.studio.setup import LaneSettings, Results, SharedSettings, read_setup

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_MAX_REPORT = 400_000
_MAX_FIGURE = 3_000_000
_MAX_COLLECTIONS = 100
_MAX_FILES = 100
"""Reports of a collection, and as many figures."""
_MAX_POINTS = 200
_MAX_SEEDS = 200
_STORED_TABLE = "table of the stored runs"
_TAGS = {name: name for name in ("table", "thead", "tbody", "tr", "th", "td", "strong", "em")} | {
    "heading": "h3", "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li",
    "code_inline": "code", "code_block": "pre", "fence": "pre",
}  # fmt: skip
"""The elements of Markdown that a page shows."""
_NOT_SHOWN = ("evaluate_every", "plain_sweeps")
"""Settings that do not change what an agent learns."""


class _Stored(NamedTuple):
    """The runs of a store in groups that differ only in their seed; a row has its run as the column `run`."""

    groups: list[Group]
    numbers: dict[str, int]
    """Key of a stored run -> index in `groups`."""
    problems: list[str]
    left_out: int


class _Collection(NamedTuple):
    """A study, a sweep, or the folder itself."""

    kind: str
    name: str
    groups: list[int]
    """Of the store's groups, those with its runs."""
    reports: dict[str, Callable[[], str]]
    """By their names, functions that return them as Markdown."""
    figures: list[Path]


def browse(folder: Path, chosen: Results) -> dict[str, Any]:
    """Return all groups of a store, its studies and sweeps; or what is chosen."""
    stored = _read_groups(folder, _version_of(folder))
    if chosen.group is not None:
        return {"group": _curves(_picked("group", chosen.group, stored.groups))}
    collections, problems = _collections(folder, stored)
    if any(number is not None for number in (chosen.collection, chosen.report, chosen.figure)):
        collection = _picked("collection", chosen.collection, collections)
        if chosen.figure is not None:
            return {"figure": _figure(_picked("figure", chosen.figure, collection.figures))}
        read = _picked("report", chosen.report, list(collection.reports.values()))
        return {"report": {"parts": report_parts(read())}}
    return {
        "groups": [_summary(group) for group in stored.groups],
        "collections": [
            each._asdict() | {"reports": list(each.reports), "figures": [figure.stem for figure in each.figures]}
            for each in collections
        ],
        "problems": [*stored.problems, *problems][:20],
        "leftOut": stored.left_out,
    }


def _picked(what: str, number: Any, values: list[Any]) -> Any:
    if not values:
        raise InvalidSetting(f"there is no {what} in this folder.")
    return values[check_integer(what, number, low=0, high=len(values) - 1)]


# --- Groups of runs ----------------------------------------------------------------------------------------------


def _version_of(folder: Path) -> int:
    """Return what changes when a run is added to a store; 0 if there is none."""
    packs = folder / PACKS
    return packs.stat().st_mtime_ns if packs.exists() else 0


@functools.lru_cache(maxsize=2)
def _read_groups(folder: Path, version: int) -> _Stored:
    """Return the groups of a store, by world and explorer; `version` is that of `_version_of`."""
    problems: list[str] = []
    if not version:
        return _Stored([], {}, problems, 0)
    old = superseded(list(Store(folder).lines([])))
    stored = (each for each in Store(folder).load_all(problems) if each.metadata["key"] not in old)
    rows = [row_of(each, curves=True) | {"run": each.run} for each in itertools.islice(stored, limits.MAX_STORED_RUNS)]
    groups = sorted(group_rows(rows, by=_group_of), key=lambda group: group.text(["kind"]))
    numbers = {row["key"]: i for i, group in enumerate(groups) for row in group.rows}
    return _Stored(groups, numbers, problems, left_out=sum(1 for _ in stored))


def _group_of(row: Row) -> Row:
    """Return the columns in which the runs of a group agree: all fields but the seed."""
    return {name: value for name, value in fields_of(row["run"].description).items() if name != "seed"}


def _summary(group: Group) -> dict[str, Any]:
    """Return the row of a group in the list."""
    return {
        "world": group.fields["world"],
        "explorer": group.fields["explorer"],
        "changes": group.text(["kind", "world", "explorer", "map"]),
        "seeds": len(group),
        "return": _mean(group, "final_return"),
        "success": _mean(group, "success"),
        "discovery": _mean(group, "discovery"),
    }


def _curves(group: Group) -> dict[str, Any]:
    """Return the mean curves of a group, with the smallest and largest value of any seed, and its runs."""
    rows = sorted(group.rows, key=lambda row: row["run"].seed)[:_MAX_SEEDS]
    length = min(len(row["curve_steps"]) for row in rows)
    at = np.unique(np.linspace(0, max(length - 1, 0), min(length, _MAX_POINTS)).astype(np.int64))
    lines = {}
    for name in ("returns", "discovered"):
        values = np.array([row[f"curve_{name}"][at] for row in rows], np.float64)
        bounds = {"mean": values.mean(axis=0), "low": values.min(axis=0), "high": values.max(axis=0)}
        lines[name] = {bound: list(map(finite, line.tolist())) for bound, line in bounds.items()}
    return {
        "steps": rows[0]["curve_steps"][at].tolist(),
        "curves": lines,
        "optimum": rows[0]["optimal_return"],
        "reachable": rows[0]["states_reachable"],
        "note": setup_of(rows[0]["run"])[1],
        "runs": [
            {
                "seed": row["run"].seed,
                "return": row["final_return"],
                "discovered": row["states_discovered"],
                "setup": setup_of(row["run"])[0],
            }
            for row in rows
        ],
    }


def _mean(group: Group, name: str) -> float | None:
    known = [value for value in group.column(name).tolist() if np.isfinite(value)]
    return sum(known) / len(known) if known else None


def setup_of(run: Run) -> tuple[dict[str, Any] | None, str]:
    """Return the setup that shows a stored run in a lane; and in what they differ, or why there is none."""
    if run.kind != "world":
        return None, "The studio shows runs in built-in and painted worlds; this one is in an environment."
    shared, own = SharedSettings.__struct_fields__, LaneSettings.__struct_fields__
    unknown = [name for name in run.settings if name not in (*shared, *own, *_NOT_SHOWN)]
    if unknown:
        return None, f"A lane does not have the setting {unknown[0]}."
    lane = {
        "explorer": run.explorer,
        "preset": run.preset,
        "options": dict(run.explorer_options),
        "settings": {name: value for name, value in run.settings.items() if name in own},
    }
    given = {
        "world": run.world,
        "world_options": dict(run.world_options),
        "seed": run.seed,
        "settings": {name: value for name, value in run.settings.items() if name in shared},
        "lanes": [lane],
    }
    notes = []
    if run.until == "positive-return":
        notes.append("The stored run ends with the first positive return; the lane goes on.")
    if run.measure != "returns":
        notes.append(f"The stored run has the measure {run.measure!r}; the lane takes the same steps.")
    if any(name in run.settings for name in _NOT_SHOWN):
        notes.append("The lane evaluates the greedy policy at other steps.")
    try:
        return read_setup(given).description, " ".join(notes)
    except ValueError as error:
        return None, f"The studio cannot show these runs: {error}"


# --- Studies, sweeps and their files -----------------------------------------------------------------------------


def _collections(folder: Path, stored: _Stored) -> tuple[list[_Collection], list[str]]:
    """Return the folder itself, its studies and its sweeps, and what could not be read."""
    everything = list(range(len(stored.groups)))
    found = [_Collection("folder", "all runs", everything, _reports(folder, folder, "scorecard*.md"), [])]
    problems: list[str] = []
    for kind in report_kinds():
        for path in sorted(folder.glob(f"*/{kind.REQUEST_FILE}"))[:_MAX_COLLECTIONS]:
            place = path.parent
            reports, figures = _reports(folder, place), _files(folder, place, "*.png")
            found.append(_Collection("study", place.name, _groups_of(folder, place.name, stored), reports, figures))
    for path in sorted(folder.glob(f"{SWEEPS}/*/{SWEEP_FILE}"))[:_MAX_COLLECTIONS]:
        try:
            sweep = read_json(path)
        except WanderlustError as error:  # A problem to show; the others are shown nevertheless.
            problems.append(str(error))
            continue
        reports = {_STORED_TABLE: functools.partial(_sweep_table, sweep, folder, _version_of(folder))}
        figures = _files(folder, path.parent, "*.png")
        found.append(_Collection("sweep", sweep.name, _groups_of(folder, sweep.name, stored), reports, figures))
    return found, problems


def _groups_of(folder: Path, name: str, stored: _Stored) -> list[int]:
    """Return the groups with runs of an experiment.

    The list of its runs is stored: making them from its description could import explorers of the user.
    """
    try:
        return sorted({stored.numbers[key] for key in keys_of(folder, name) if key in stored.numbers})
    except BadFile:
        return []


@functools.lru_cache(maxsize=8)
def _sweep_table(sweep: Sweep, folder: Path, version: int) -> str:
    problems: list[str] = []
    report = sweep_report(sweep, Store(folder), problems)
    return report.files.get("table.md", f"# Sweep {sweep.name}\n\nNone of its runs is stored.\n")


def _reports(folder: Path, place: Path, pattern: str = "*.md") -> dict[str, Callable[[], str]]:
    files = sorted(_files(folder, place, pattern), key=lambda file: (len(file.name), file.name))
    return {file.name: functools.partial(read_text_file, file, max_bytes=_MAX_REPORT) for file in files}


def report_parts(text: str) -> list[Any]:
    """Return Markdown as plain values: texts, and lists of a tag and its parts. Links and pictures are their words."""
    from markdown_it import MarkdownIt  # Part of rich.
    from markdown_it.tree import SyntaxTreeNode

    return _parts_of(SyntaxTreeNode(MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)))


def _parts_of(node: SyntaxTreeNode) -> list[Any]:
    parts = [part for child in node.children for part in _parts_of(child)]
    if not node.children:
        text = " " if node.type.endswith("break") else node.content.replace("<br>", " ")
        parts = [text] if text else []
    return [[_TAGS[node.type], *parts]] if node.type in _TAGS else parts


def _files(folder: Path, place: Path, pattern: str) -> list[Path]:
    """Return files of a place in the results folder, without links that lead out of the folder."""
    root = folder.resolve()
    return [file for file in sorted(place.glob(pattern)) if file.resolve().is_relative_to(root)][:_MAX_FILES]


def _figure(path: Path) -> dict[str, str]:
    try:
        with open_regular(path) as file:
            contents = file.read(_MAX_FIGURE + 1)
    except OSError as error:
        raise InvalidSetting(f"{path.name}: cannot be read ({error.strerror or error}).") from None
    if not contents.startswith(b"\x89PNG") or len(contents) > _MAX_FIGURE:
        raise InvalidSetting(f"{path.name}: is not a PNG file of at most {_MAX_FIGURE // 1_000_000} MB.")
    return {"name": path.stem, "png": base64.b64encode(contents).decode()}
