"""The report of a sweep: a table of its settings, the best one of each world, and plots over the swept fields.

A setting is a group of runs that differ only in their seed. Plots are lines over one swept number, heat maps over two,
points over names; every seed is a point.
"""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust.core.errors import BadFile, counted
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.execute.progress import keys_of
from wanderlust.experiments.report.figures import (
    GREY,
    PAGE_WIDTH,
    SMALL_FONT,
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
from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.text_tables import (
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
    for problem, group in by_problem(settings).items():
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
    chosen, n_ties = equal[len(equal) // 2], len(equal) - 1  # The middle one: less likely to be at the edge of a range.
    measured = chosen.on(measuring)
    first = f", where {counted(n_ties, 'other')} {'is' if n_ties == 1 else 'are'} equal" if n_ties else ""
    note = f"chosen on others{first}" if choosing != measuring and measured.rows else "not validated"
    measured = measured if measured.rows else chosen
    _, low, high = measured.mean
    others = [other for each in group if each is not chosen and (other := each.on(measuring)).rows]
    is_inside = [each.estimate <= high if each.measure == STEPS else each.estimate >= low for each in others]
    return Best(chosen, measured, sum(is_inside), note if len(group) > 1 else "the only setting")


def best_sentences(settings: Sequence[Setting], *, explorers: bool = True) -> list[str]:
    """Return a sentence on the best setting of each problem, and on the best one of each explorer."""
    sentences = []
    found = best_settings(settings)
    for problem, explorer, best in ((problem, *pair) for problem, each in found.items() for pair in each.items()):
        if explorer and not explorers:
            continue
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


def group_settings(settings: Iterable[Setting], by: Callable[[Setting], str]) -> dict[str, list[Setting]]:
    """Return text -> settings, in their order."""
    groups: dict[str, list[Setting]] = {}
    for each in settings:
        groups.setdefault(by(each), []).append(each)
    return groups


def by_problem(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Return problem -> settings, in their order."""
    return group_settings(settings, lambda each: each.problem)


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


# --- The report ------------------------------------------------------------------------------------------

_LEARNT = "learnt (%)"
MAX_PRINTED = 40
"""Number of rows of the table that are printed, the best ones of each world; the files have all."""
_LEGEND = (
    "Mean over seeds with the 95 % bootstrap interval. Success: final return in percent of the optimum; learnt: seeds "
    "with an optimal policy at the end, with the 95 % Wilson interval; steps to learn: median over all seeds."
)
_CHOICE = "The best setting has the highest mean{fewest}; of equal means, the fewest steps to learn. "
_VALIDATED = (
    "It is chosen on every second seed ({}) and measured on the others ({}). The table has all seeds: the highest of "
    "many means is too high on average."
)
_NOT_VALIDATED = "With one seed, it is chosen and measured on the same runs, so its mean is too high on average."


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
    heads = [*settings[0].fields, "seeds", *_measure_heads(settings)]
    rows = [_row(setting, heads) for setting in settings]
    top = _top(settings)
    shown = [list(map(printable, row)) for row, each in zip(rows, settings, strict=True) if id(each) in top]
    best_ones = f"{len(shown):,} of {len(rows):,} settings are shown, the best ones of each world."
    note = stored if len(shown) == len(rows) else f"{stored} {best_ones}"
    n_text = len(settings[0].fields)
    best = best_sentences(settings)
    best += [_how_chosen(settings)] if best else []
    parts = {"curves": [each for each in settings if each.has_optimum],
             "returns": [each for each in settings if not each.has_optimum]}  # fmt: skip
    draw = functools.partial(best_curves_figure, sweep.name, store=store)
    curves = {name: functools.partial(draw, part) for name, part in parts.items() if part}
    markdown = [[markdown_cell(cell) for cell in row] for row in rows]
    return Report(
        renderables=[
            as_rich_table(title, [printable(head) for head in heads], shown, note, text_columns=n_text),
            *map(as_line, best),
        ],
        files={
            "table.md": as_markdown_table(title, heads, markdown, _LEGEND, stored)
            + "\n" + "\n".join(f"* {markdown_cell(line)}" for line in best) + "\n",
            "table.csv": _csv(settings),
            "seeds.csv": _seeds_csv(settings),
        },
        figures={"plot": functools.partial(sweep_figure, sweep.name, settings), **curves},
    )  # fmt: skip


def _measure_heads(settings: Sequence[Setting]) -> list[str]:
    # In the order of the titles: the chosen measure first.
    measures = list(dict.fromkeys(TITLES[each.measure] for each in settings))
    others = [TITLES[DISCOVERY], _LEARNT, TITLES[STEPS]] if any(each.has_optimum for each in settings) else []
    return [" or ".join(measures), *(head for head in others if head not in measures)]


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


def _top(settings: Sequence[Setting]) -> set[int]:
    """Return the ids of the settings to print: all, or the best ones of each world."""
    if len(settings) <= MAX_PRINTED:
        return {id(each) for each in settings}
    ranked = sorted(settings, key=lambda each: each.merit if each.is_complete else (-math.inf, -math.inf), reverse=True)
    problems = by_problem(ranked)
    places = max(MAX_PRINTED // len(problems), 1)
    return {id(each) for group in problems.values() for each in group[:places]}


def _how_chosen(settings: Sequence[Setting]) -> str:
    fewest = " (of steps to learn, the lowest median)" if any(each.measure == STEPS for each in settings) else ""
    choosing, measuring = (", ".join([*map(str, half[:3]), *(["…"] if len(half) > 3 else [])])
                           for half in seed_halves(settings))  # fmt: skip
    how = _NOT_VALIDATED if choosing == measuring else _VALIDATED.format(choosing, measuring)
    return f"{_CHOICE.format(fewest=fewest)}{how}"


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
        rows.append([*_plain(each), len(each.values), each.measure, *cells])
    return as_csv([*settings[0].fields, *heads], rows)


def _seeds_csv(settings: Sequence[Setting]) -> str:
    rows = [[*_plain(each), row[SEED], each.measure, f"{value:.6g}"]
            for each in settings for row, value in zip(each.rows, each.values, strict=True)]  # fmt: skip
    return as_csv([*settings[0].fields, SEED, "measure", "value"], rows)


def _plain(setting: Setting) -> list[object]:
    return [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in setting.fields.values()
    ]


# --- Plots -----------------------------------------------------------------------------------------------

MAX_PANELS = 24
_COLUMNS = 3
_TITLE_WIDTH = 34
"""Number of characters of a line of a panel's title."""
_NOTE_CHARS_PER_INCH = 12
_MAX_BEST_NOTES = 4
_MAX_CELLS_WITH_TEXT = 100
_TICK_CHARS, _MAX_ROW_TICKS = 48, 12
"""Number of characters below a heat map, and of labels beside it."""
_LOG_RATIO = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


@styled
def sweep_figure(title: str, settings: Sequence[Setting]) -> Figure:
    """Draw the measure of a sweep over its swept fields."""
    numbers = numeric_fields(settings)
    if len(numbers) >= 2:
        return _heat_maps(title, settings, numbers[0], numbers[1])
    return _lines_or_points(title, settings, numbers[0] if numbers else None)


def _panels(title: str, names: Sequence[str], height: float) -> tuple[Figure, dict[str, Axes], str]:
    """Return a figure with one panel per name, and a note if there are more names than panels."""
    shown = names[:MAX_PANELS]
    note = "" if len(shown) == len(names) else f"The first {len(shown)} of {len(names)} panels; table.csv has all."
    columns = 2 if len(shown) == 4 else min(len(shown), _COLUMNS)
    rows = math.ceil(len(shown) / columns)
    figure = new_figure(literal_label(title), min(PAGE_WIDTH, 1.5 + 3.2 * columns), 0.9 + height * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[len(shown) :]:
        unused.set_visible(False)
    return figure, dict(zip(shown, axes, strict=False)), note


def _styles(labels: Sequence[str], settings: Sequence[Setting]) -> dict[str, Style]:
    """Return a style for each line: that of the explorer if the lines are explorers."""
    explorers = {setting.fields.get(EXPLORER) for setting in settings}
    return explorer_styles(labels) if {*labels} <= explorers else sequential_styles(labels, markers=True)


# --- One swept number: lines; none: points ---------------------------------------------------------------


def _lines_or_points(title: str, settings: Sequence[Setting], x_name: str | None) -> Figure:
    """Draw a panel for each world: lines over a swept number, or a row of points for each combination."""
    worlds = list(dict.fromkeys(each.fields[PROBLEM] for each in settings))
    without = [PROBLEM, *([x_name] if x_name else [])]
    labels = list(dict.fromkeys(each.text(without) for each in settings))
    styles = _styles(labels, settings)
    figure, panels, note = _panels(title, worlds, 2.9 if x_name else 1.2 + 0.25 * len(labels))
    handles: dict[str, object] = {}
    x_values = [each.fields[x_name] for each in settings if x_name and each.fields[x_name] is not None]
    is_log = bool(x_values) and min(x_values) > 0 and max(x_values) / min(x_values) >= _LOG_RATIO
    for world, axes in panels.items():
        axes.set_title(literal_label(world))
        for rank, label in enumerate(labels):
            group = [each for each in settings if each.fields[PROBLEM] == world and each.text(without) == label]
            if group and x_name:
                handles[literal_label(label or x_name)] = _line(axes, group, x_name, styles[label], rank, is_log)
            elif group:
                _point(axes, group[0], styles[label], len(labels) - 1 - rank)
        axis = "y" if x_name else "x"
        axes.set(**{f"{axis}label": TITLES[settings[0].measure]})
        if settings[0].measure in PERCENT:  # 0 to 100, or further for returns below zero.
            axes.set(**{f"{axis}lim": (min(0.0, *(float(np.nanmin(each.values)) for each in settings)) - 4, 104)})
        if x_name:
            axes.set_xlabel(literal_label(x_name))
            _set_ticks(axes, x_values, is_log=is_log)
        else:
            axes.set_yticks(range(len(labels)), [literal_label(label) for label in reversed(labels)])
            axes.set_ylim(-0.6, len(labels) - 0.4)
    add_legend(figure, handles, _note("Lines" if x_name else "Large marker and bar", settings, note))
    return figure


def _point(axes: Axes, setting: Setting, style: Style, row: int) -> None:
    axes.plot(setting.values, np.full(len(setting.values), row), ".", color=style.colour, alpha=0.35, zorder=1)
    if np.isfinite(setting.values).all():
        mean, low, high = setting.mean
        axes.plot([low, high], [row, row], color=style.colour, linewidth=3, alpha=0.5, zorder=2)
        axes.plot(mean, row, marker=style.marker, color=style.colour, markeredgecolor=GREY, zorder=3)


def _line(axes: Axes, line: list[Setting], x_name: str, style: Style, rank: int, is_log: bool) -> object:
    placed = sorted((each for each in line if each.fields[x_name] is not None), key=lambda each: each.fields[x_name])
    if not placed:
        return _level(axes, line[0], style)
    x = np.array([each.fields[x_name] for each in placed], float)
    intervals = np.array([each.mean for each in placed])
    intervals[np.isinf(intervals)] = math.nan
    for value, each in zip(x, placed, strict=True):
        # The points of a setting are next to each other, those of the next line further right.
        shift = 0.005 * (np.arange(len(each.values)) % 4) + 0.025 * (rank % 4) + 0.015
        places = value * (1 + 4 * shift) if is_log else value + shift * (x.max() - x.min() or 1.0)
        axes.plot(places, each.values, ".", color=style.colour, alpha=0.7, markersize=5, markeredgewidth=0, zorder=1)
    axes.fill_between(x, intervals[:, 1], intervals[:, 2], color=style.colour, alpha=0.15, linewidth=0, zorder=2)
    (handle,) = axes.plot(x, intervals[:, 0], color=style.colour, marker=style.marker, linestyle=style.dash, zorder=3)
    return handle


def _level(axes: Axes, setting: Setting, style: Style) -> object:
    """Draw runs that do not have the swept option: the same result for every value of it; seeds at the left edge."""
    if np.isfinite(setting.values).all():
        mean, low, high = setting.mean
        axes.axhspan(low, high, color=style.colour, alpha=0.12, linewidth=0, zorder=1)
    else:
        mean = math.nan
    places = 0.005 + 0.006 * (np.arange(len(setting.values)) % 4)
    axes.plot(places, setting.values, ".", color=style.colour, alpha=0.7, markersize=5, markeredgewidth=0, zorder=1,
              transform=axes.get_yaxis_transform())  # fmt: skip
    return axes.axhline(mean, color=style.colour, linestyle=":", zorder=2)


def _set_ticks(axes: Axes, values: Sequence[float], *, is_log: bool) -> None:
    """Label the swept values themselves, unless there are many."""
    distinct = sorted(set(values))
    if is_log:
        axes.set_xscale("log")
    if len(distinct) <= 8:
        axes.set_xticks(distinct, [format_value(value) for value in distinct])
        axes.minorticks_off()


# --- Two swept numbers: heat maps ------------------------------------------------------------------------


def _heat_maps(title: str, settings: Sequence[Setting], x_name: str, y_name: str) -> Figure:
    placed = [each for each in settings if None not in (each.fields[x_name], each.fields[y_name])]
    groups = group_settings(placed, lambda each: each.text([x_name, y_name]))
    best = {id(found[""].setting) for found in best_settings(settings).values() if found[""]}
    figure, panels, note = _panels(title, list(groups) or [""], 2.8)
    limits = scale_limits(placed)
    image: Any = None
    for label, axes in panels.items():
        image = _heat_map(axes, groups.get(label, []), (x_name, y_name), limits, best)
        axes.set_title(_wrapped(label), fontsize="medium")
    if image is not None:
        figure.colorbar(image, ax=list(panels.values()), shrink=0.8, label=TITLES[settings[0].measure])
    missing = dict.fromkeys(each.fields[EXPLORER] for each in settings
                            if None in (each.fields[x_name], each.fields[y_name]))  # fmt: skip
    without = f"Without {x_name} or {y_name}, so only in the table: {', '.join(missing)}." if missing else ""
    options = [name for name in settings[0].problem_fields if name != PROBLEM]
    for_each = f", for each value of {', '.join(options)}" if options else ""
    kind = "median" if settings[0].measure == STEPS else "mean"
    has_text = all(len(group) <= _MAX_CELLS_WITH_TEXT for group in groups.values())
    what = f"Numbers: {kind} over seeds; points: seeds, from left to right as on the scale." if has_text else ""
    text = f"{what or f'Colours: {kind} over seeds.'} A frame marks the best setting of each world{for_each}."
    sentences = [text, *_best_notes(settings), without, note]
    width = int(_NOTE_CHARS_PER_INCH * figure.get_figwidth())
    note = textwrap.fill(" ".join(sentence for sentence in sentences if sentence), width, break_long_words=False)
    figure.supxlabel("\n".join(map(literal_label, note.split("\n"))), fontsize=SMALL_FONT, color=GREY)
    return figure


def scale_limits(settings: Sequence[Setting]) -> tuple[float, float]:
    """Return the ends of the scale: the lowest and the highest seed, which are points on the same scale."""
    values = [float(value) for each in settings for value in each.values if np.isfinite(value)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low > 1e-6 * max(abs(low), abs(high)):
        return low, high
    # All seeds are equal, apart from rounding errors.
    return (min(low, 0.0), max(high, 100.0)) if settings and settings[0].measure in PERCENT else (low - 0.5, low + 0.5)


def _tick(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else format_value(value)


def _wrapped(label: str) -> str:
    return "\n".join(literal_label(line) for line in textwrap.wrap(label, _TITLE_WIDTH))


def _note(what: str, settings: Sequence[Setting], note: str) -> str:
    kind, never = ("median", "Seeds that never learnt are not shown.") if settings[0].measure == STEPS else ("mean", "")
    sentences = [f"{what}: {kind} and 95 % bootstrap interval; points: seeds.", never, *_best_notes(settings), note]
    return literal_label(" ".join(filter(None, sentences)))


def _best_notes(settings: Sequence[Setting]) -> list[str]:
    """Return the best setting of each world with its interval, unless there are many."""
    sentences = best_sentences(settings, explorers=False)
    return [f"B{each[1:]}" for each in sentences] if len(sentences) <= _MAX_BEST_NOTES else []


def _heat_map(
    axes: Axes, settings: Sequence[Setting], names: tuple[str, str], limits: tuple[float, float], best: set[int]
) -> Any:
    from matplotlib.patches import Rectangle

    x_name, y_name = names
    columns = sorted({each.fields[x_name] for each in settings})
    rows = sorted({each.fields[y_name] for each in settings})
    places = [(rows.index(each.fields[y_name]), columns.index(each.fields[x_name])) for each in settings]
    cells = np.full((len(rows), len(columns)), np.nan)
    for (row, column), each in zip(places, settings, strict=True):
        cells[row, column] = each.estimate if math.isfinite(each.estimate) else math.nan
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap="viridis", vmin=limits[0], vmax=limits[1])
    for (row, column), each in zip(places, settings, strict=True):
        if id(each) in best:
            for colour, width in (("white", 4.0), ("black", 2.0)):  # Visible on light and on dark cells.
                corner = column - 0.5, row - 0.5
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=colour, linewidth=width, zorder=4))
        if cells.size <= _MAX_CELLS_WITH_TEXT and np.isfinite(value := cells[row, column]):
            shares = np.clip((each.values - limits[0]) / (limits[1] - limits[0]), 0, 1)
            colour = "black" if (value - limits[0]) / (limits[1] - limits[0]) > 0.6 else "white"
            axes.text(column, row + 0.05, f"{value:z.3g}", ha="center", va="center", color=colour, fontsize=6.5)
            axes.plot(column - 0.42 + 0.84 * shares, row - 0.38 + 0.03 * (np.arange(len(shares)) % 4), ".",
                      color=colour, alpha=0.6, markersize=2.5, markeredgewidth=0, zorder=3)  # fmt: skip
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.grid(visible=False)
    longest = max((len(_tick(value)) for value in columns), default=0)
    for set_ticks, values, n_labels in (
        (axes.set_xticks, columns, max(_TICK_CHARS // (longest + 2), 2)),
        (axes.set_yticks, rows, _MAX_ROW_TICKS),
    ):
        every = max(math.ceil(len(values) / n_labels), 1)  # More labels would overlap.
        set_ticks(range(0, len(values), every), [_tick(value) for value in values[::every]])
    axes.set_xlabel(literal_label(x_name))
    axes.set_ylabel(literal_label(y_name))
    return image


# --- Learning curves -------------------------------------------------------------------------------------

_MAX_CURVE_COLUMNS = 4


def best_curves_figure(title: str, settings: Sequence[Setting], store: Store) -> Figure:
    """Draw the learning curves of the best setting of each explorer, one column per problem.

    All problems are worlds, whose curves are in percent of the optimum, or all are environments.
    """
    best, (choosing, measuring) = best_settings(settings), seed_halves(settings)
    columns: dict[str, dict[str, Curves]] = {}
    percent = settings[0].has_optimum
    problems = by_problem(settings)
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
