"""The report of a sweep: a table of its settings, the best one of each world, and plots over the swept fields.

A setting is a group of runs that differ only in their seed. In the plots, every seed is a point.
"""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust.core.errors import BadFile, counted
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.execute.progress import keys_of
from wanderlust.experiments.report.figures import (
    PAGE_WIDTH,
    Curves,
    Style,
    add_legend,
    curves_figure,
    explorer_styles,
    literal_label,
    mean_curves,
    new_figure,
    sequential_styles,
    styled,
)
from wanderlust.experiments.report.text_tables import (
    Report,
    as_csv,
    as_line,
    as_markdown_table,
    as_rich_table,
    markdown_cell,
    printable,
)
from wanderlust.experiments.run import Result
from wanderlust.experiments.statistics import Interval, bootstrap_interval
from wanderlust.experiments.store import Store
from wanderlust.experiments.sweep import SWEEP_FILE, SWEEPS, Sweep, read_json
from wanderlust.experiments.table import (
    Group,
    Line,
    as_text,
    distinct,
    fields_of,
    format_value,
    group_rows,
    row_of_line,
    swept_fields,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

# --- Settings --------------------------------------------------------------------------------------------

SUCCESS, RETURN, STEPS, DISCOVERY = "success", "final_return", "steps_to_learn", "discovery"
TITLES = {SUCCESS: "success (%)", RETURN: "final return", STEPS: "steps to learn", DISCOVERY: "discovery (%)",
          "area_under_curve": "area under the curve"}  # fmt: skip
"""The measures by which settings are compared."""
PERCENT = (SUCCESS, DISCOVERY)
_NEVER, _MAX_STEPS = 1e18, 1e13
"""What stands for infinitely many steps in a bootstrap, and the largest number that does not."""
PROBLEM, EXPLORER, SEED = "world", "explorer", "seed"


@dataclass(frozen=True)
class Setting(Group):
    """The runs of one combination of fields."""

    problem_fields: tuple[str, ...] = (PROBLEM,)
    """The fields of the problem: the world or environment, and those of its options that differ."""

    measure: str = SUCCESS
    """What is compared, one of `TITLES`."""

    @property
    def values(self) -> FloatArray:
        """[seed]: the measure; NaN if a run does not have it, infinite if it never learnt."""
        values = self.column(self.measure)
        return np.where(np.isnan(values), math.inf, values) if self.measure == STEPS else values

    @property
    def has_optimum(self) -> bool:
        """Whether the optimum is known, so that the runs have a success in percent of it."""
        return all(row.get(SUCCESS) is not None for row in self.rows)

    @property
    def is_complete(self) -> bool:
        """Whether all runs have the measure."""
        return not np.isnan(self.values).any()

    @property
    def estimate(self) -> float:
        """The mean of the measure; of the steps to learn, which may be infinite, the median."""
        return float(np.median(self.values) if self.measure == STEPS else self.values.mean())

    @property
    def mean(self) -> Interval:
        """The estimate with its bootstrap interval over the seeds; NaN if a run does not have the measure."""
        if self.measure != STEPS:
            return self.interval(self.measure)
        found = bootstrap_interval(np.minimum(self.values, _NEVER), lambda x: np.median(x, axis=-1))
        return Interval(*(value if value < _MAX_STEPS else math.inf for value in found))

    @property
    def merit(self) -> tuple[float, float]:
        """What is larger for a better setting: the mean; of equal means, the one that learns first."""
        sign = -1 if self.measure == STEPS else 1
        return sign * round(self.estimate, 9), -self.median_step()

    def on(self, seeds: Collection[int]) -> Setting:
        """Return the setting with only the runs of some seeds."""
        return replace(self, rows=[row for row in self.rows if row[SEED] in seeds])

    @property
    def interval_text(self) -> str:
        """The estimate with its interval, as text."""
        if not self.is_complete:
            return "–"
        digits = "z.1f" if self.measure in PERCENT else ",.0f" if self.measure == STEPS else "z.4g"
        mean, low, high = (f"{value:{digits}}" if math.isfinite(value) else "never" for value in self.mean)
        return mean if len(self) == 1 else f"{mean} [{low}, {high}]"

    @property
    def problem(self) -> str:
        """The world or environment with its options, as text: settings are compared within a problem."""
        return self.text(without=self.fields.keys() - {*self.problem_fields})


def settings_of(lines: Sequence[Line], measure: str = "") -> list[Setting]:
    """Return the settings of stored runs, in the order of the first run of each.

    They are compared by `measure`, if their runs have it; otherwise by the success, or by the final return where the
    optimum is not known.
    """
    names = [name for name in swept_fields([fields_of(line["run"]) for line in lines]) if name != SEED]
    options = {name for line in lines for name in line["run"].get("world_options", ())}
    # See `fields_of`: an option with the name of another field has a prefix.
    columns = {prefixed if (prefixed := f"option_{name}") in names else name for name in options}
    problem = (PROBLEM, *(name for name in names if name in columns))
    groups = group_rows(map(row_of_line, lines), by=names)
    return [Setting(group.fields, group.rows, problem, _measure_of(group, measure)) for group in groups]


def _measure_of(group: Group, measure: str) -> str:
    # A run in a world that never learns has a success, but no steps to learn.
    known = {name for name in (SUCCESS, measure) if all(row.get(name) is not None for row in group.rows)}
    if measure and (SUCCESS if measure == STEPS else measure) in known:
        return measure
    return SUCCESS if SUCCESS in known else RETURN


class Best(NamedTuple):
    """The best setting of a problem, or of one explorer there: chosen on every second seed, measured on the others."""

    setting: Setting
    measured: Setting
    """Its runs with seeds on which it was not chosen; if there are none, all of them."""
    n_inside: int
    """The number of other settings whose mean, on the same seeds, is inside its interval."""
    note: str
    """Whether it was measured on other seeds than those on which it was chosen."""


def best_settings(settings: Sequence[Setting]) -> dict[str, dict[str, Best | None]]:
    """Return, for each problem with several settings, the best one as "", and that of each of several explorers.

    The highest of many means is too high on average. So the best setting is chosen on every second seed, and measured
    on the others. It is None if all are equal; see `Setting.merit`.
    """
    halves = seed_halves(settings)
    best = {}
    for problem, group in group_settings(settings).items():
        explorers = group_settings(group, lambda each: str(each.fields.get(EXPLORER)))
        if len(group) > 1 and all(each.is_complete for each in group):
            groups = {"": group, **(explorers if len(explorers) > 1 else {})}
            best[problem] = {name: _best_of(each, *halves) for name, each in groups.items()}
    return best


def seed_halves(settings: Sequence[Setting]) -> tuple[list[int], list[int]]:
    """Return the seeds on which settings are chosen, and those on which they are measured; of one seed, both."""
    seeds = sorted({row[SEED] for each in settings for row in each.rows})
    return seeds[1::2] or seeds, seeds[::2]


def _best_of(group: Sequence[Setting], choosing: Sequence[int], measuring: Sequence[int]) -> Best | None:
    pairs = [(each, half) for each in group if (half := each.on(choosing)).rows]
    if not pairs or (len({half.merit for _, half in pairs}) == 1 and len(group) > 1):
        return None
    highest = max(half.merit for _, half in pairs)
    equal = [each for each, half in pairs if half.merit == highest]
    chosen = equal[len(equal) // 2]  # The middle one: less likely to be at the edge of a range.
    measured = chosen.on(measuring)
    note = "chosen on others" if choosing != measuring and measured.rows else "not validated"
    measured = measured if measured.rows else chosen
    _, low, high = measured.mean
    others = [other for each in group if each is not chosen and (other := each.on(measuring)).rows]
    is_inside = [each.estimate <= high if each.measure == STEPS else each.estimate >= low for each in others]
    return Best(chosen, measured, sum(is_inside), note if len(group) > 1 else "the only setting")


def best_sentences(settings: Sequence[Setting]) -> list[str]:
    """Return a sentence on the best setting of each problem, and on the best one of each explorer."""
    sentences = []
    found = best_settings(settings)
    for problem, explorer, best in ((problem, *pair) for problem, each in found.items() for pair in each.items()):
        where = f"best of {explorer} in {problem}" if explorer else f"best in {problem}"
        if best is None:
            sentences.append(f"{where}: none; its settings have equal means and steps to learn.")
            continue
        setting, measured, n_inside, note = best
        label = setting.text(without=[*setting.problem_fields, *([EXPLORER] if explorer else [])]) or explorer
        verb = "has" if n_inside == 1 else "have"
        others = f"; {counted(n_inside, 'other setting')} {verb} a mean inside this interval" if n_inside else ""
        value = f"{TITLES[setting.measure]} {measured.interval_text}"
        sentences.append(f"{where}: {label}: {value} on {counted(len(measured), 'seed')}, {note}{others}.")
    return sentences


def group_settings(
    settings: Iterable[Setting], by: Callable[[Setting], str] = lambda each: each.problem
) -> dict[str, list[Setting]]:
    """Return text -> settings, in their order; by default by problem."""
    groups: dict[str, list[Setting]] = {}
    for each in settings:
        groups.setdefault(by(each), []).append(each)
    return groups


def numeric_fields(settings: Sequence[Setting]) -> list[str]:
    """Return the fields with several numeric values."""
    several = [name for name in settings[0].fields if len(_values(name, settings)) > 1]
    return [name for name in several if all(map(_is_number, _values(name, settings)))]


def _values(name: str, settings: Sequence[Setting]) -> list[Any]:
    return distinct(each.fields[name] for each in settings if each.fields[name] is not None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- The report ------------------------------------------------------------------------------------------

_LEARNT = "learnt (%)"
MAX_PRINTED = 40
"""Number of rows up to which the table is printed; the files always have it."""
_LEGEND = (
    "Mean over seeds with the 95 % bootstrap interval. Success: final return in percent of the optimum; learnt: seeds "
    "with an optimal policy at the end, with the 95 % Wilson interval; steps to learn: median over all seeds."
)
_HOW_CHOSEN = (
    "The best setting has the highest mean (of steps to learn, the lowest median); of equal means, the fewest steps to "
    "learn. With several seeds, it is chosen on every second one and measured on the others, since the highest of many "
    "means is too high on average. The table has all seeds."
)


def sweeps_in(folder: Path, problems: list[str]) -> Iterator[tuple[Path, Sweep]]:
    """Yield the folder and the description of each sweep in a results folder; name those that cannot be read."""
    for path in sorted(folder.glob(f"{SWEEPS}/*/{SWEEP_FILE}")):
        try:
            yield path.parent, read_json(path)
        except BadFile as error:
            problems.append(str(error))


def sweep_report(sweep: Sweep, store: Store, problems: list[str], measure: str = "") -> Report:
    """Return the report of a sweep from the stored runs; `measure` is what its settings are compared by."""
    title = f"Sweep {printable(sweep.name)}"
    # Not from the description, so that a report needs no code of the explorers.
    try:
        ranks = {key: rank for rank, key in enumerate(keys_of(store.folder, sweep.name))}
    except BadFile as error:  # Written when the first run starts; the other sweeps of the folder have reports.
        problems.append(str(error))
        return Report([as_line(f"{title}: no run is stored; the same `wanderlust sweep` starts it.")], {})
    lines = [line for line in store.lines(problems) if line["key"] in ranks]
    settings = settings_of(sorted(lines, key=lambda line: ranks[line["key"]]), measure)
    n_stored = sum(len(each.values) for each in settings)
    stored = f"{n_stored:,} of {counted(len(ranks), 'run')} stored."
    if not settings:
        return Report([as_line(f"{title}: {stored}")], {})
    # In the order of the titles: the chosen measure first.
    measures = list(dict.fromkeys(TITLES[each.measure] for each in settings))
    others = [TITLES[DISCOVERY], _LEARNT, TITLES[STEPS]] if any(each.has_optimum for each in settings) else []
    others = [head for head in others if head not in measures]
    heads = [*settings[0].fields, "seeds", " or ".join(measures), *others]
    rows = [_row(setting, heads) for setting in settings]
    best = best_sentences(settings)
    best += [_HOW_CHOSEN] if best else []
    parts = {"curves": [each for each in settings if each.has_optimum],
             "returns": [each for each in settings if not each.has_optimum]}  # fmt: skip
    draw = functools.partial(best_curves_figure, sweep.name, store=store)
    curves = {name: functools.partial(draw, part) for name, part in parts.items() if part}
    markdown = [[markdown_cell(cell) for cell in row] for row in rows]
    if len(rows) <= MAX_PRINTED:
        table: RenderableType = as_rich_table(title, heads, rows, stored, text_columns=len(settings[0].fields))
    else:
        table = as_line(f"{title}: {stored} The table of its {len(rows):,} settings is in table.md.")
    text = as_markdown_table(title, heads, markdown, _LEGEND, stored)
    text += "\n" + "\n".join(f"* {markdown_cell(line)}" for line in best) + "\n"
    return Report(
        renderables=[table, *map(as_line, best)],
        files={"table.md": text, "table.csv": _csv(settings)},
        figures={"plot": functools.partial(sweep_figure, sweep.name, settings), **curves},
    )


def _row(setting: Setting, heads: Sequence[str]) -> list[str]:
    cells = ["" if value is None else format_value(value) for value in setting.fields.values()]
    cells += [str(len(setting)), setting.interval_text]
    others = dict.fromkeys((TITLES[DISCOVERY], _LEARNT, TITLES[STEPS]), "")
    if setting.has_optimum:
        learnt, step = setting.learnt(), setting.median_step()
        share = f"{100 * learnt.estimate:.0f} [{100 * learnt.low:.0f}, {100 * learnt.high:.0f}]"
        steps = f"{step:,.0f}" if math.isfinite(step) else "–"
        others = dict(zip(others, [f"{np.nanmean(setting.column(DISCOVERY)):.1f}", share, steps], strict=True))
    return cells + [others[head] for head in heads[len(cells) :]]


def _csv(settings: Sequence[Setting]) -> str:
    heads = ("seeds", "measure", "mean", "low", "high", "discovery_mean", "learnt_share", "median_steps_to_learn",
             "mean_of_choosing_seeds", "mean_of_measuring_seeds")  # fmt: skip
    rows = []
    halves = seed_halves(settings)
    for each in settings:
        discovery = float(each.column(DISCOVERY).mean())
        means = [half.estimate if (half := each.on(seeds)).rows else math.nan for seeds in halves]
        numbers = [*each.mean, discovery, each.learnt().estimate, each.median_step(), *means]
        cells = ["" if not math.isfinite(number) else f"{number:.6g}" for number in numbers]
        rows.append([*map(as_text, each.fields.values()), len(each.values), each.measure, *cells])
    return as_csv([*settings[0].fields, *heads], rows)


# --- Plots -----------------------------------------------------------------------------------------------

MAX_PANELS = 24
_COLUMNS = 3
_MAX_LEGEND = 16
"""Number of lines that a legend names; of more, every second or third one."""
_LOG_RATIO = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
_MAX_TICKS = 8


@styled
def sweep_figure(title: str, settings: Sequence[Setting]) -> Figure:
    """Draw the measure of a sweep over the swept number with the most values, or over names if no number is swept.

    There is a panel for each world, with a line for each combination of the other fields.
    """
    names = [name for name in settings[0].fields if name != PROBLEM]
    x_name = max(numeric_fields(settings) or names, key=lambda name: len(_values(name, settings)))
    panels = group_settings(settings, lambda each: each.text(names))
    labels = list(dict.fromkeys(each.text([PROBLEM, x_name]) for each in settings))
    are_explorers = {*labels} <= {setting.fields.get(EXPLORER) for setting in settings}
    styles = explorer_styles(labels) if are_explorers else sequential_styles(labels, markers=True)
    figure, axes_of, note = _panels(title, list(panels))
    handles: dict[str, object] = {}
    for panel, axes in axes_of.items():
        axes.set_title("\n".join(map(literal_label, textwrap.wrap(panel, 34))), fontsize="medium")
        places = _set_scale(axes, x_name, settings)
        for label, line in group_settings(panels[panel], lambda each: each.text([PROBLEM, x_name])).items():
            handles[literal_label(label or x_name)] = _line(axes, line, x_name, styles[label], places)
        axes.set(xlabel=literal_label(x_name), ylabel=TITLES[settings[0].measure])
        if settings[0].measure in PERCENT:  # 0 to 100, or further for returns below zero.
            axes.set_ylim(min(0.0, *(float(np.nanmin(each.values)) for each in settings)) - 4, 104)
    kind, never = ("median", "Seeds that never learnt are not shown.") if settings[0].measure == STEPS else ("mean", "")
    sentences = [f"Lines: {kind} and 95 % bootstrap interval; points: seeds.", never, note]
    every = math.ceil(len(handles) / _MAX_LEGEND)
    add_legend(figure, dict(list(handles.items())[::every]), literal_label(" ".join(filter(None, sentences))))
    return figure


def _panels(title: str, names: Sequence[str]) -> tuple[Figure, dict[str, Axes], str]:
    """Return a figure with one panel per name, and a note if there are more names than panels."""
    shown = names[:MAX_PANELS]
    note = "" if len(shown) == len(names) else f"The first {len(shown)} of {len(names)} panels; table.csv has all."
    columns = 2 if len(shown) == 4 else min(len(shown), _COLUMNS)
    rows = math.ceil(len(shown) / columns)
    figure = new_figure(literal_label(title), min(PAGE_WIDTH, 1.5 + 3.2 * columns), 0.9 + 2.9 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[len(shown) :]:
        unused.set_visible(False)
    return figure, dict(zip(shown, axes, strict=False)), note


def _set_scale(axes: Axes, x_name: str, settings: Sequence[Setting]) -> dict[str, float]:
    """Set the scale of the x axis; return the place of each value, as text, on it."""
    values = _values(x_name, settings)
    if is_number := all(map(_is_number, values)):
        values.sort()
    places = [float(value) if is_number else float(i) for i, value in enumerate(values)]
    if is_number and places[0] > 0 and places[-1] / places[0] >= _LOG_RATIO:
        axes.set_xscale("log")
    if len(values) <= _MAX_TICKS or not is_number:
        axes.set_xticks(places, [literal_label(format_value(each)) for each in values], rotation=0 if is_number else 30)
        axes.minorticks_off()
    return dict(zip(map(json.dumps, values), places, strict=True))


def _line(axes: Axes, line: Sequence[Setting], x_name: str, style: Style, places: Mapping[str, float]) -> object:
    """Draw settings over the places of their values; one without the field has the same result for every value."""
    placed = [(places[json.dumps(each.fields[x_name])], each) for each in line if each.fields[x_name] is not None]
    placed = placed or [(place, line[0]) for place in places.values()]
    placed.sort(key=lambda pair: pair[0])
    x, intervals = np.array([place for place, _ in placed]), np.array([each.mean for _, each in placed])
    intervals[np.isinf(intervals)] = math.nan
    for place, each in placed:
        seeds = np.full(len(each), place), each.values
        axes.plot(*seeds, ".", color=style.colour, alpha=0.5, markeredgewidth=0, zorder=1)
    axes.vlines(x, intervals[:, 1], intervals[:, 2], color=style.colour, zorder=2)
    dash = style.dash if all(map(_is_number, map(json.loads, places))) else ""  # Nothing is between two names.
    (handle,) = axes.plot(x, intervals[:, 0], color=style.colour, marker=style.marker, linestyle=dash, zorder=3)
    return handle


# --- Learning curves -------------------------------------------------------------------------------------

_MAX_CURVE_COLUMNS = 4


def best_curves_figure(title: str, settings: Sequence[Setting], store: Store) -> Figure:
    """Draw the learning curves of the best setting of each explorer, one column per problem.

    All problems are worlds, whose curves are in percent of the optimum, or all are environments.
    """
    best, (choosing, measuring) = best_settings(settings), seed_halves(settings)
    columns: dict[str, dict[str, Curves]] = {}
    percent = settings[0].has_optimum
    problems = group_settings(settings)
    for problem, group in list(problems.items())[:_MAX_CURVE_COLUMNS]:
        lines = columns.setdefault(literal_label(problem), {})
        for explorer, own in group_settings(group, lambda each: str(each.fields.get(EXPLORER))).items():
            found = best.get(problem, {}).get(explorer if len(own) < len(group) else "")
            measured = found.measured if found else own[0].on(measuring)
            results = [stored.result for stored in store.load_keys((row["key"] for row in measured.rows), [])]
            if results:
                lines[explorer] = mean_curves([_curves_of(result, percent=percent) for result in results])
    shown = "" if len(problems) == len(columns) else f"The first {len(columns)} of {len(problems)} worlds. "
    seeds = "not validated: one seed" if choosing == measuring else "on the seeds that it was not chosen on"
    note = f"{shown}The best setting of each explorer, {seeds}; mean ± 2 standard errors."
    styles = explorer_styles(name for lines in columns.values() for name in lines)
    return curves_figure(literal_label(title), columns, styles, note=note, percent=percent)


def _curves_of(result: Result, *, percent: bool) -> FloatArray:
    return result.percent_curves if percent else np.stack([result.steps, result.discovered, result.returns])
