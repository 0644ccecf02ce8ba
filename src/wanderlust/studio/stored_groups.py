"""The runs of a store in groups that differ only in their seed; their curves, and the setup that opens one."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.agents.settings import AS_WRITTEN
from wanderlust.core.files import finite
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import PACKS, RUNS, Store
from wanderlust.studio import limits
from wanderlust.studio.setup import LaneSettings, SharedSettings, read_setup

_MAX_POINTS = 200
_MAX_SEEDS = 200
_NOT_SHOWN = ("evaluate_every", "plain_sweeps")
"""Settings that do not change what an agent learns."""

Version = tuple[int, ...]


class Group(NamedTuple):
    """Runs that differ only in their seed."""

    runs: list[Run]
    results: list[Result]


class Groups(NamedTuple):
    """All groups of a store."""

    groups: list[Group]
    numbers: dict[str, int]
    """`group_key` -> index in `groups`."""
    numbers_of_runs: dict[str, int]
    """Key of a stored run -> index in `groups`."""
    problems: list[str]
    left_out: int


class Opened(NamedTuple):
    """The setup that shows a stored run in a lane."""

    setup: dict[str, Any] | None
    note: str
    """In what the lane differs from the stored run, or why there is none."""


def version_of(folder: Path) -> Version:
    """Return what changes when a run is added to a store."""
    times = []
    for part in (RUNS, PACKS):
        try:
            times.append((folder / part).stat().st_mtime_ns)
        except OSError:
            times.append(0)
    return tuple(times)


def group_key(run: Run) -> str:
    """Return the description of a run without its seed."""
    return json.dumps({name: value for name, value in run.description.items() if name != "seed"}, sort_keys=True)


@functools.lru_cache(maxsize=2)
def read_groups(folder: Path, version: Version) -> Groups:
    """Return the groups of a store, by world and explorer; `version` is that of `version_of`."""
    problems: list[str] = []
    if not any(version):
        return Groups([], {}, {}, problems, 0)
    found: dict[str, Group] = {}
    group_of: dict[str, str] = {}
    stored = Store(folder).load_all(problems)
    for each in itertools.islice(stored, limits.MAX_STORED_RUNS):
        group_of[each.metadata["key"]] = group_key(each.run)
        group = found.setdefault(group_of[each.metadata["key"]], Group([], []))
        if len(group.runs) < _MAX_SEEDS:
            group.runs.append(each.run)
            group.results.append(each.result._replace(visits=np.zeros((0, 0), np.int64)))
    left_out = sum(1 for _ in stored)
    order = sorted(found, key=lambda key: (found[key].runs[0].world, found[key].runs[0].explorer, key))
    numbers = {key: i for i, key in enumerate(order)}
    of_runs = {key: numbers[group] for key, group in group_of.items()}
    return Groups([found[key] for key in order], numbers, of_runs, problems, left_out)


def summary(group: Group) -> dict[str, Any]:
    """Return the row of a group in the list."""
    run = group.runs[0]
    changes = {**run.world_options, **run.settings, **run.explorer_options}
    changes.pop("map", None)
    if run.preset != AS_WRITTEN:
        changes["preset"] = run.preset
    if run.measure != "returns":
        changes["measure"] = run.measure
    return {
        "world": run.world,
        "explorer": run.explorer,
        "changes": ", ".join(f"{name}={value}" for name, value in changes.items()),
        "seeds": len(group.runs),
        "return": _mean([_last(result.returns) for result in group.results]),
        "success": _mean([result.success for result in group.results]),
        "discovery": _mean([result.discovery for result in group.results]),
        "canOpen": setup_of(run).setup is not None,
    }


def curves(group: Group) -> dict[str, Any]:
    """Return the mean curves of a group, with the smallest and largest value of any seed, and its runs."""
    length = min(len(result.steps) for result in group.results)
    at = np.unique(np.linspace(0, max(length - 1, 0), min(length, _MAX_POINTS)).astype(np.int64))
    lines = {}
    for name in ("returns", "discovered"):
        values = np.array([getattr(result, name)[at] for result in group.results], np.float64)
        lines[name] = {
            "mean": _plain_list(values.mean(axis=0)),
            "low": _plain_list(values.min(axis=0)),
            "high": _plain_list(values.max(axis=0)),
        }
    first = group.results[0]
    runs = sorted(zip(group.runs, group.results, strict=True), key=lambda pair: pair[0].seed)
    return {
        "steps": first.steps[at].tolist(),
        "curves": lines,
        "optimum": _plain(float(first.optimal_return)),
        "reachable": int(first.reachable) or None,
        "note": setup_of(group.runs[0]).note,
        "runs": [
            {
                "seed": run.seed,
                "return": _last(result.returns),
                "discovered": result.n_discovered,
                "setup": setup_of(run).setup,
            }
            for run, result in runs
        ],
    }


def setup_of(run: Run) -> Opened:
    """Return the setup that shows a stored run in a lane, and in what they differ."""
    if run.kind != "world":
        return Opened(None, "The studio shows runs in built-in and painted worlds; this one is in an environment.")
    shared, own = SharedSettings.__struct_fields__, LaneSettings.__struct_fields__
    unknown = [name for name in run.settings if name not in (*shared, *own, *_NOT_SHOWN)]
    if unknown:
        return Opened(None, f"A lane does not have the setting {unknown[0]}.")
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
    try:
        return Opened(read_setup(given).description, " ".join(_differences(run)))
    except ValueError as error:
        return Opened(None, f"The studio cannot show these runs: {error}")


def _differences(run: Run) -> list[str]:
    notes = []
    if run.until == "positive-return":
        notes.append("The stored run ends with the first positive return; the lane goes on.")
    if run.measure != "returns":
        notes.append(f"The stored run has the measure {run.measure!r}; the lane takes the same steps.")
    if any(name in run.settings for name in _NOT_SHOWN):
        notes.append("The lane evaluates the greedy policy at other steps.")
    return notes


def _last(values: FloatArray) -> float | None:
    return _plain(float(values[-1])) if len(values) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return _plain(sum(known) / len(known)) if known else None


def _plain(value: float) -> float | None:
    return finite(float(f"{value:.6g}"))


def _plain_list(values: FloatArray) -> list[float | None]:
    return [_plain(float(value)) for value in values]
