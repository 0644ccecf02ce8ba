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
    SEED,
    SUCCESS,
    TITLES,
    Setting,
    best_settings,
    by_problem,
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

DISCOVERY = "discovery"
MAX_PRINTED = 40
"""Number of rows of the table that are printed, the best ones of each world; the files have all."""
_LEGEND = (
    "Mean over seeds with the 95 % bootstrap interval. Success: final return in percent of the optimum; learnt: seeds "
    "with an optimal policy at the end, with the 95 % Wilson interval; steps to learn: median over all seeds."
)
_CAUTION = (
    "The best setting has the highest mean; of equal means, the fewest steps to learn. It was chosen on the same seeds "
    "that it is measured with, so its mean is too high on average."
)


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


def sweep_report(sweep: Sweep, store: Store, problems: list[str]) -> Report:
    """Return the report of a sweep from the stored runs."""
    title = f"Sweep {printable(sweep.name)}"
    # Not from the description, so that a report needs no code of the explorers.
    try:
        ranks = {key: rank for rank, key in enumerate(keys_of(store.folder, sweep.name))}
    except BadFile as error:  # Written when the first run starts; the other sweeps of the folder have reports.
        problems.append(str(error))
        return Report([Text(f"{title}: no run is stored; the same `wanderlust sweep` starts it.")], {})
    lines = [line for line in store.lines(problems) if line["key"] in ranks]
    settings = settings_of(sorted(lines, key=lambda line: ranks[line["key"]]))
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
    best = _best_lines(settings)
    markdown = [[markdown_cell(cell) for cell in row] for row in rows]
    return Report(
        renderables=[
            as_rich_table(title, [printable(head) for head in heads], shown, note, text_columns=n_text),
            *([Text("\n".join([*best, _CAUTION]))] if best else []),
        ],
        files={
            "table.md": as_markdown_table(title, heads, markdown, _LEGEND, stored)
            + "\n" + "\n".join(f"* {markdown_cell(line)}" for line in best) + "\n",
            "table.csv": _csv(settings),
            "seeds.csv": _seeds_csv(settings),
        },
        figures={"plot": functools.partial(sweep_figure, sweep.name, settings)},
    )  # fmt: skip


def show_sweep_report(sweep: Sweep, folder: Path, store: Store, console: Console) -> None:
    """Print the report of a sweep and write its files."""
    problems: list[str] = []
    report = sweep_report(sweep, store, problems)
    for problem in problems:
        console.print(printable(problem), markup=False, highlight=False, soft_wrap=True)
    for renderable in report.renderables:
        console.print(fit_to_width(renderable, console.width))
    for name, text in report.files.items():
        write_file(folder / name, text.encode())
    for name, draw in report.figures.items():
        for form, contents in as_files(draw).items():
            write_file(folder / f"{name}.{form}", contents)
    if report.files:
        names = ", ".join([*report.files, *(f"{name}.{{{','.join(FORMATS)}}}" for name in report.figures)])
        console.print(f"written to {folder}: {names}", markup=False, highlight=False, soft_wrap=True)


def _measure_heads(settings: Sequence[Setting]) -> list[str]:
    if any(each.measure == SUCCESS for each in settings):
        return [TITLES[SUCCESS], "discovery (%)", "learnt (%)", "steps to learn"]
    return [TITLES["final_return"]]


def _row(setting: Setting, heads: Sequence[str]) -> list[str]:
    cells = ["" if value is None else format_value(value) for value in setting.fields.values()]
    cells += [str(len(setting.values)), _interval_text(setting)]
    if "learnt (%)" in heads:
        if setting.measure == SUCCESS:
            learnt, step = setting.learnt(), setting.median_step()
            cells.append(f"{np.nanmean(setting.column(DISCOVERY)):.1f}")
            cells.append(f"{100 * learnt.estimate:.0f} [{100 * learnt.low:.0f}, {100 * learnt.high:.0f}]")
            cells.append(f"{step:,.0f}" if math.isfinite(step) else "–")
        else:
            cells += ["", "", ""]
    return cells


def _interval_text(setting: Setting) -> str:
    if not np.isfinite(setting.values).all():
        return "–"
    mean, low, high = setting.mean
    digits = "z.1f" if setting.measure == SUCCESS else "z.4g"  # z: no sign for a zero.
    return f"{mean:{digits}}" if len(setting.values) == 1 else f"{mean:{digits}} [{low:{digits}}, {high:{digits}}]"


def _top(settings: Sequence[Setting]) -> set[int]:
    """Return the ids of the settings to print: all, or the best ones of each world."""
    if len(settings) <= MAX_PRINTED:
        return {id(each) for each in settings}
    ranked = sorted(settings, key=lambda each: (-float(np.nan_to_num(each.values.mean())), each.median_step()))
    problems = by_problem(ranked)
    places = max(MAX_PRINTED // len(problems), 1)
    return {id(each) for group in problems.values() for each in group[:places]}


def _best_lines(settings: Sequence[Setting]) -> list[str]:
    """Return a sentence on the best setting of each world or environment with several."""
    lines = []
    found = best_settings(settings)
    for problem, group in by_problem(settings).items():
        if problem not in found:
            if len(group) > 1 and all(np.isfinite(each.values).all() for each in group):
                equal = f"{counted(len(group), 'setting')} with equal means and steps to learn"
                lines.append(f"best in {printable(problem)}: none; {equal}.")
            continue
        best, n_others = found[problem]
        label = best.text(without=best.problem_fields)
        verb = "has" if n_others == 1 else "have"
        others = f"{counted(n_others, 'other setting')} {verb} a mean inside this interval"
        note = f"; {others}" if n_others else ""
        measure = TITLES[best.measure]
        seeds = counted(len(best.values), "seed")
        lines.append(
            f"best in {printable(problem)}: {printable(label)}: {measure} {_interval_text(best)}, {seeds}{note}."
        )
    return lines


def _csv(settings: Sequence[Setting]) -> str:
    heads = ("seeds", "measure", "mean", "low", "high", "discovery_mean", "learnt_share", "median_steps_to_learn")
    rows = []
    for each in settings:
        discovery = float(each.column(DISCOVERY).mean())
        numbers = [*each.mean, discovery, each.learnt().estimate, each.median_step()]
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
