"""The settings of a sweep: groups of runs that differ only in their seed, and which of them is best in each problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.statistics import Interval
from wanderlust.experiments.table import Group, Line, distinct, fields_of, group_rows, row_of_line, swept_fields

SUCCESS, RETURN = "success", "final_return"
TITLES = {SUCCESS: "success (%)", RETURN: "final return"}
PROBLEM, EXPLORER, SEED = "world", "explorer", "seed"


@dataclass(frozen=True)
class Setting(Group):
    """The runs of one combination of fields."""

    problem_fields: tuple[str, ...] = (PROBLEM,)
    """The fields of the problem: the world or environment, and those of its options that differ."""

    @property
    def measure(self) -> str:
        """What is compared: the success, or the final return where the optimum is not known."""
        return SUCCESS if all(row.get(SUCCESS) is not None for row in self.rows) else RETURN

    @property
    def values(self) -> FloatArray:
        """[seed]: the measure."""
        return self.column(self.measure)

    @property
    def mean(self) -> Interval:
        """The mean of the measure, with its bootstrap interval over the seeds; NaN if a run does not have it."""
        return self.interval(self.measure)

    @property
    def problem(self) -> str:
        """The world or environment with its options, as text: settings are compared within a problem."""
        return self.text(without=self.fields.keys() - {*self.problem_fields})


def settings_of(lines: Sequence[Line]) -> list[Setting]:
    """Return the settings of stored runs, in the order of the first run of each."""
    names = [name for name in swept_fields([fields_of(line["run"]) for line in lines]) if name != SEED]
    options = {name for line in lines for name in line["run"].get("world_options", ())}
    # See `fields_of`: an option with the name of another field has a prefix.
    columns = {prefixed if (prefixed := f"option_{name}") in names else name for name in options}
    problem = (PROBLEM, *(name for name in names if name in columns))
    groups = group_rows(map(row_of_line, lines), by=names)
    return [Setting(group.fields, group.rows, problem) for group in groups]


def best_settings(settings: Sequence[Setting]) -> dict[str, tuple[Setting, int]]:
    """Return, for each problem, the best setting and the number of others inside its interval.

    The best one has the highest mean; of several, the one that learns first. There is none if all are equal in both.
    """
    best = {}
    for problem, group in by_problem(settings).items():
        others = [each for each in group if np.isfinite(each.values).all()]
        if len({_merit(each) for each in others}) > 1:
            chosen = max(others, key=_merit)
            low = chosen.mean.low
            best[problem] = chosen, sum(float(each.values.mean()) >= low for each in others) - 1
    return best


def _merit(setting: Setting) -> tuple[float, float]:
    return round(float(setting.values.mean()), 9), -setting.median_step()


def by_problem(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Return problem -> settings, in their order."""
    groups: dict[str, list[Setting]] = {}
    for each in settings:
        groups.setdefault(each.problem, []).append(each)
    return groups


def numeric_fields(settings: Sequence[Setting]) -> list[str]:
    """Return the fields with several numeric values, those with the most values first."""
    counts = {}
    for name in settings[0].fields if settings else ():
        values = distinct(each.fields[name] for each in settings if each.fields[name] is not None)
        if len(values) > 1 and all(map(_is_number, values)):
            counts[name] = len(values)
    return sorted(counts, key=lambda name: -counts[name])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
