"""The report of a sweep: a table of its settings, the best one of each world, and plots over the swept fields."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console, RenderableType
from rich.text import Text

from wanderlust.core.errors import BadFile, counted
from wanderlust.core.files import write_file
from wanderlust.experiments.report.style import FORMATS, as_files
from wanderlust.experiments.report.sweep_figure import (
    DISCOVERY,
    SEED,
    STEPS,
    TITLES,
    Setting,
    best_curves_figure,
    best_sentences,
    by_problem,
    seed_halves,
    settings_of,
    sweep_figure,
)
from wanderlust.experiments.report.text_tables import (
    as_csv,
    as_markdown_table,
    as_rich_table,
    fit_to_width,
    markdown_cell,
    printable,
)
from wanderlust.experiments.status import keys_of
from wanderlust.experiments.store import Store
from wanderlust.experiments.sweep import SWEEP_FILE, SWEEPS, Sweep, read_json
from wanderlust.experiments.table import format_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


class Report(NamedTuple):
    """What a report consists of."""

    renderables: list[RenderableType]
    """For the terminal."""
    files: Mapping[str, str]
    """File name -> contents."""
    figures: Mapping[str, Callable[[], Figure]] = MappingProxyType({})
    """File name without suffix -> function that draws the figure."""


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
        return Report([Text(f"{title}: no run is stored; the same `wanderlust sweep` starts it.")], {})
    lines = [line for line in store.lines(problems) if line["key"] in ranks]
    settings = settings_of(sorted(lines, key=lambda line: ranks[line["key"]]), measure)
    n_stored = sum(len(each.values) for each in settings)
    stored = f"{n_stored:,} of {counted(len(ranks), 'run')} stored."
    if not settings:
        return Report([Text(f"{title}: {stored}")], {})
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
            *([Text("\n".join(map(printable, best)))] if best else []),
        ],
        files={
            "table.md": as_markdown_table(title, heads, markdown, _LEGEND, stored)
            + "\n" + "\n".join(f"* {markdown_cell(line)}" for line in best) + "\n",
            "table.csv": _csv(settings),
            "seeds.csv": _seeds_csv(settings),
        },
        figures={"plot": functools.partial(sweep_figure, sweep.name, settings), **curves},
    )  # fmt: skip


def show_sweep_report(
    sweep: Sweep,
    folder: Path,
    store: Store,
    console: Console,
    *,
    measure: str = "",
    formats: Sequence[str] = FORMATS,
    quiet: bool = False,
) -> None:
    """Print the report of a sweep, unless `quiet`, and write its files to a folder."""
    problems: list[str] = []
    report = sweep_report(sweep, store, problems, measure)
    for problem in problems:
        console.print(printable(problem), markup=False, highlight=False, soft_wrap=True)
    for renderable in [] if quiet else report.renderables:
        console.print(fit_to_width(renderable, console.width))
    for name, text in report.files.items():
        write_file(folder / name, text.encode())
    for name, draw in report.figures.items():
        for form, contents in as_files(draw, formats).items():
            write_file(folder / f"{name}.{form}", contents)
    if report.files and not quiet:
        suffix = formats[0] if len(formats) == 1 else f"{{{','.join(formats)}}}"
        names = ", ".join([*report.files, *(f"{name}.{suffix}" for name in report.figures)])
        console.print(f"written to {folder}: {names}", markup=False, highlight=False, soft_wrap=True)


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
