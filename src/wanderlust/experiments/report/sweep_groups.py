"""The settings of a sweep: groups of runs that differ only in their seed, and their measurements."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.result import OPTIMAL_SUCCESS
from wanderlust.experiments.statistics import Interval, bootstrap_interval, wilson_interval
from wanderlust.experiments.summary import Line, fields_of

SUCCESS, RETURN = "success", "final_return"
TITLES = {SUCCESS: "success (%)", RETURN: "final return"}
PROBLEM, EXPLORER, SEED, MAP = "world", "explorer", "seed", "map"
Value = Any
"""The value of a field: a number, a text, or None where a run does not have the field."""


class Setting(NamedTuple):
    """The runs of one combination of fields."""

    fields: dict[str, Value]
    """The fields that differ between settings."""
    problem_fields: tuple[str, ...]
    """The fields of the problem: the world or environment, and those of its options that differ."""
    seeds: list[int]
    values: FloatArray
    """[seed]: the measure."""
    steps_to_learn: FloatArray
    """[seed]: infinite if never."""
    discovery: FloatArray
    """[seed]: in percent; NaN if unknown."""
    measure: str

    @property
    def interval(self) -> Interval:
        """The mean of the measure, with its bootstrap interval over the seeds."""
        return bootstrap_interval(self.values)

    @property
    def learnt(self) -> Interval:
        """The share of seeds that ended with an optimal policy."""
        return wilson_interval(int(np.isfinite(self.steps_to_learn).sum()), len(self.values))

    @property
    def median_step(self) -> float:
        """The median step from which a seed had learnt; infinite if most seeds never did."""
        return float(np.median(self.steps_to_learn))

    @property
    def problem(self) -> str:
        """The world or environment with its options, as text: settings are compared within a problem."""
        return self.label(without=self.fields.keys() - {*self.problem_fields})

    def label(self, without: Iterable[str] = ()) -> str:
        """Return the fields as text."""
        left_out = {*without}
        parts = [f"{name}={format_value(value)}" for name, value in self.fields.items()
                 if name not in left_out and value is not None]  # fmt: skip
        return ", ".join(parts).replace(f"{EXPLORER}=", "").replace(f"{PROBLEM}=", "")


def swept_fields(rows: Sequence[Line]) -> dict[str, list[Value]]:
    """Return the fields that differ between runs, given as tables of their fields, with their values in this order."""
    names = dict.fromkeys(name for row in rows for name in row if name != "kind")
    found = {name: _distinct(row.get(name) for row in rows) for name in names}
    if MAP in found and len(_distinct([row.get(PROBLEM), row.get(MAP)] for row in rows)) == len(found[PROBLEM]):
        del found[MAP]  # The name of the map's file is enough.
    return {name: values for name, values in found.items() if len(values) > 1 or name in (PROBLEM, EXPLORER)}


def settings_of(lines: Sequence[Line]) -> list[Setting]:
    """Return the settings of stored runs, in the order of the first run of each."""
    rows = [fields_of(line["run"]) for line in lines]
    names = [name for name in swept_fields(rows) if name != SEED]
    problem = (PROBLEM, *_world_options([line["run"] for line in lines], names))
    groups: dict[str, list[Line]] = {}
    fields: dict[str, dict[str, Value]] = {}
    for row, line in zip(rows, lines, strict=True):
        key = _key(row, names)
        groups.setdefault(key, []).append(line)
        fields.setdefault(key, {name: row.get(name) for name in names})
    return [_setting(fields[key], problem, group) for key, group in groups.items()]


def _world_options(runs: Sequence[Line], names: Sequence[str]) -> list[str]:
    """Return those of the fields that are options of worlds or environments."""
    options = {name for run in runs for name in run.get("world_options", ())}
    # See `fields_of`: an option with the name of another field has a prefix.
    columns = {prefixed if (prefixed := f"option_{name}") in names else name for name in options}
    return [name for name in names if name in columns]


def _setting(fields: dict[str, Value], problem: tuple[str, ...], lines: Sequence[Line]) -> Setting:
    measure = SUCCESS if all(line.get(SUCCESS) is not None for line in lines) else RETURN
    return Setting(
        fields=fields,
        problem_fields=problem,
        seeds=[int(line["run"].get(SEED, 0)) for line in lines],
        values=_numbers(lines, measure),
        steps_to_learn=np.array([_step(line) for line in lines]),
        discovery=_numbers(lines, "discovery"),
        measure=measure,
    )


def _step(line: Line) -> float:
    success, step = line.get(SUCCESS), line.get("steps_to_learn")
    return float(step) if step is not None and success is not None and success >= OPTIMAL_SUCCESS else math.inf


def _numbers(lines: Sequence[Line], name: str) -> FloatArray:
    return np.array([math.nan if line.get(name) is None else float(line[name]) for line in lines])


def best_settings(settings: Sequence[Setting]) -> dict[str, tuple[Setting, int]]:
    """Return, for each problem, the best setting and the number of others inside its interval.

    The best one has the highest mean; of several, the one that learns first. There is none if all are equal in both.
    """
    best = {}
    for problem, group in by_problem(settings).items():
        others = [each for each in group if np.isfinite(each.values).all()]
        if len({_merit(each) for each in others}) > 1:
            chosen = max(others, key=_merit)
            low = chosen.interval.low
            best[problem] = chosen, sum(float(each.values.mean()) >= low for each in others) - 1
    return best


def _merit(setting: Setting) -> tuple[float, float]:
    return round(float(setting.values.mean()), 9), -setting.median_step


def by_problem(settings: Sequence[Setting]) -> dict[str, list[Setting]]:
    """Return problem -> settings, in their order."""
    groups: dict[str, list[Setting]] = {}
    for each in settings:
        groups.setdefault(each.problem, []).append(each)
    return groups


def is_number(value: Value) -> bool:
    """Return whether a value is a number, which has a place on an axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def numeric_fields(settings: Sequence[Setting]) -> list[str]:
    """Return the fields with several numeric values, those with the most values first."""
    counts = {}
    for name in settings[0].fields if settings else ():
        values = _distinct(each.fields[name] for each in settings if each.fields[name] is not None)
        if len(values) > 1 and all(map(is_number, values)):
            counts[name] = len(values)
    return sorted(counts, key=lambda name: -counts[name])


def format_value(value: Value) -> str:
    """Return a value as text."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _key(row: Line, names: Sequence[str]) -> str:
    return json.dumps([row.get(name) for name in names], sort_keys=True)


def _distinct(values: Iterable[Value]) -> list[Value]:
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())
