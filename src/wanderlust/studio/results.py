"""Browsing a folder of results: groups of runs that differ only in their seed, their curves, and the reports.

Everything read from a store is data: names are shown as text, nothing is imported, and a page names groups and reports
by their number in the list, never by a path.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.errors import BadFile, InvalidSetting, check_integer
from wanderlust.core.input_files import read_text_file
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import RUNS, Store
from wanderlust.studio import limits
from wanderlust.studio.setup import LANE_SETTINGS, SHARED_SETTINGS, read_setup

_MAX_POINTS = 200
_MAX_SEEDS = 200
_MAX_REPORT = 400_000
_REPORTS = ("scorecard*.md", "*/tables.md", "*/*.md")
_MAX_REPORTS = 100


class _Group(NamedTuple):
    runs: list[Run]
    results: list[Result]


def browse(folder: Path, chosen: Any = None) -> dict[str, Any]:
    """Return all groups of a store and its reports; or with {"group": i} or {"report": i} the contents of one."""
    groups, problems, left_out = _read_groups(folder, _version(folder))
    reports = _reports(folder)
    if isinstance(chosen, dict) and "report" in chosen:
        index = check_integer("report", chosen["report"], low=0, high=max(len(reports) - 1, 0))
        if not reports:
            raise InvalidSetting("there are no reports in this folder.")
        return {"report": {"name": _name(folder, reports[index]), "text": _text(reports[index])}}
    if isinstance(chosen, dict) and "group" in chosen:
        index = check_integer("group", chosen["group"], low=0, high=max(len(groups) - 1, 0))
        if not groups:
            raise InvalidSetting("there are no runs in this folder.")
        return {"group": _curves(groups[index])}
    return {
        "groups": [_summary(group) for group in groups],
        "reports": [_name(folder, path) for path in reports],
        "problems": problems[:20],
        "leftOut": left_out,
    }


def _version(folder: Path) -> tuple[int, int]:
    """Return what changes when a run is added to a store."""
    try:
        status = (folder / RUNS).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


@functools.lru_cache(maxsize=2)
def _read_groups(folder: Path, version: tuple[int, int]) -> tuple[list[_Group], list[str], int]:
    problems: list[str] = []
    if version == (0, 0):
        return [], problems, 0
    found: dict[str, _Group] = {}
    stored = Store(folder).load_all(problems)
    for each in itertools.islice(stored, limits.MAX_STORED_RUNS):
        description = {name: value for name, value in each.run.description.items() if name != "seed"}
        group = found.setdefault(json.dumps(description, sort_keys=True), _Group([], []))
        if len(group.runs) < _MAX_SEEDS:
            group.runs.append(each.run)
            group.results.append(each.result._replace(visits=np.zeros((0, 0), np.int64)))
    left_out = sum(1 for _ in stored)
    order = sorted(found, key=lambda key: (found[key].runs[0].world, found[key].runs[0].explorer, key))
    return [found[key] for key in order], problems, left_out


def _summary(group: _Group) -> dict[str, Any]:
    run = group.runs[0]
    changes = {**run.world_options, **run.settings, **run.explorer_options}
    changes.pop("map", None)
    if run.preset != "as_written":
        changes["preset"] = run.preset
    return {
        "world": run.world,
        "explorer": run.explorer,
        "changes": ", ".join(f"{name}={value}" for name, value in changes.items()),
        "seeds": len(group.runs),
        "return": _mean([_last(result.returns) for result in group.results]),
        "success": _mean([result.success for result in group.results]),
        "discovery": _mean([result.discovery for result in group.results]),
        "canOpen": _setup_of(run) is not None,
    }


def _curves(group: _Group) -> dict[str, Any]:
    """Return the mean curves of a group, with the smallest and largest value of any seed, and its runs."""
    length = min(len(result.steps) for result in group.results)
    at = np.unique(np.linspace(0, max(length - 1, 0), min(length, _MAX_POINTS)).astype(np.int64))
    curves = {}
    for name in ("returns", "discovered"):
        values = np.array([getattr(result, name)[at] for result in group.results], np.float64)
        curves[name] = {
            "mean": _plain_list(values.mean(axis=0)),
            "low": _plain_list(values.min(axis=0)),
            "high": _plain_list(values.max(axis=0)),
        }
    first = group.results[0]
    runs = zip(group.runs, group.results, strict=True)
    return {
        "steps": first.steps[at].tolist(),
        "curves": curves,
        "optimum": _plain(float(first.optimal_return)),
        "reachable": int(first.reachable) or None,
        "runs": [
            {
                "seed": run.seed,
                "return": _last(result.returns),
                "discovered": result.n_discovered,
                "setup": _setup_of(run),
            }
            for run, result in sorted(runs, key=lambda pair: pair[0].seed)
        ],
    }


def _setup_of(run: Run) -> dict[str, Any] | None:
    """Return the setup that shows a stored run in a lane; None if the studio cannot show it."""
    if run.kind != "world" or run.preset != "as_written" or run.measure != "returns":
        return None
    shared = {name: value for name, value in run.settings.items() if name in SHARED_SETTINGS}
    own = {name: value for name, value in run.settings.items() if name in LANE_SETTINGS}
    if len(shared) + len(own) < len(run.settings):
        return None
    lane = {"explorer": run.explorer, "options": dict(run.explorer_options), "settings": own}
    given = {
        "world": run.world,
        "world_options": dict(run.world_options),
        "seed": run.seed,
        "settings": shared,
        "lanes": [lane],
    }
    try:
        return read_setup(given).description
    except ValueError:
        return None


def _reports(folder: Path) -> Sequence[Path]:
    found = dict.fromkeys(path for pattern in _REPORTS for path in sorted(folder.glob(pattern)))
    return list(found)[:_MAX_REPORTS]


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _text(path: Path) -> str:
    try:
        return read_text_file(path, max_bytes=_MAX_REPORT)
    except BadFile as error:
        raise InvalidSetting(str(error)) from None


def _last(values: FloatArray) -> float | None:
    return _plain(float(values[-1])) if len(values) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return _plain(sum(known) / len(known)) if known else None


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _plain_list(values: FloatArray) -> list[float | None]:
    return [_plain(float(value)) for value in values]
