"""The recap tables (Tables 3 to 8): their cells, our comparison with them, and both as text and CSV.

By the *plain rule* a cell agrees if both its numbers, discovery and success, differ from the paper's by at most 2.58
standard errors of the difference (99 %) plus half a point. `benchmarks/agreement_rule.py` measures how often two
samples of the same distribution differ by this rule. It is weak where few seeds make the errors large, so a second
measure asks whether the two are *equivalent*: the 95 % interval of the difference must be inside a margin, which is a
tenth of the paper's number and at most 5 points. If it is not, the cell differs if the interval excludes 0; otherwise
these seeds cannot tell.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from wanderlust.experiments.report.text_tables import as_csv, keep_words, markdown_cell, printable
from wanderlust.experiments.statistics import Interval, Percent, bootstrap_interval, interquartile_mean
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import LEARNT

PAPER_SEEDS = 20
MAX_STANDARD_ERRORS = 2.58
MAX_ROUNDING = 0.5
EQUIVALENCE_ERRORS = 1.96
EQUIVALENCE_SHARE, EQUIVALENCE_POINTS, EQUIVALENCE_ROUNDING = 0.1, 5.0, 0.01
AGREES, DIFFERS, CANNOT_TELL = "agrees", "differs", "cannot tell"
NOTHING_INFERRED, TABLES, INFERRED, FRESH = "nothing inferred", "tables", "inferred", "fresh"
"""Variants of a cell with at most 20 seeds: the released code; the setting of the tables; an alternative setting; and
seeds that no count uses, with the setting of the first."""
TITLES = {
    "deep-sea": "Deep sea",
    "taxi": "Taxi",
    "deep-gridworld": "Deep gridworld",
    "toy": "Gridworld (toy)",
    "prison": "Gridworld (prison)",
    "wall": "Gridworld (wall)",
    "noisy-deep-gridworld": "Stochastic deep gridworld",
    "noisy-toy": "Stochastic gridworld (toy)",
    "noisy-prison": "Stochastic gridworld (prison)",
}
DAGGER = "†"
"""Marks rows that were run with an alternative setting."""
LEGEND = """\
* discovery: states visited by the end, in percent of the reachable states
* verdict: by the plain rule, and by equivalence, with all seeds of the row; the scorecard has both rules
* success: return of the final policy, in percent of the optimal return
* ±: two standard errors over the seeds, as in the paper
* learnt: percent of the seeds whose final policy has more than 99 % of the optimal return, with the 95 % Wilson
  interval
"""
_VERDICT_STYLES = {"agrees": "green", "differs": "red", "not compared": "dim", "no runs": "dim"}
_HEADS = ("algorithm", "discovery (%)", "paper", "success (%)", "paper", "learnt", "seeds", "")
NUMBERS = ("discovery_mean", "discovery_ci95", "success_mean", "success_ci95")


class Cell(NamedTuple):
    """One row of the paper's recap tables, identified by scenario and algorithm."""

    environment: str
    initialization: str
    horizon: str
    algorithm: str

    @property
    def scenario(self) -> str:
        """The initialization and the horizon in the paper's words."""
        initialization = "zero init." if self.initialization == "zero" else "opt. init."
        return initialization if self.horizon == "fixed" else f"{initialization}, {self.horizon} horizon"


class Numbers(NamedTuple):
    """The two numbers of a cell."""

    discovery: Percent
    success: Percent


class Comparison(NamedTuple):
    """Our numbers of a cell compared with the paper's."""

    ours: Numbers
    seeds: int
    error: tuple[float, float]
    """Standard errors of the two differences."""
    verdict: str
    """By the plain rule: 'agrees' or 'differs'."""
    halved: str
    """The verdict with half of the tolerance."""
    doubled: str
    differences: tuple[Interval, Interval]
    """Ours minus the paper's, with the 95 % interval."""
    equivalence: str
    """'agrees', 'differs' or 'cannot tell'."""


class Row(NamedTuple):
    """A cell with our numbers, the paper's numbers and the verdict."""

    cell: Cell
    seeds: int
    planned: int
    ours: Numbers | None
    theirs: Numbers | None
    error: tuple[float, float]
    """Standard errors of the two differences."""
    learnt: Interval | None
    """The share of seeds that learnt."""
    success_iqm: Interval | None
    verdict: str
    """'agrees', 'differs', 'not compared' or 'no runs', with all seeds."""
    equivalence: str = ""
    """'agrees', 'differs' or 'cannot tell', with all seeds."""
    setting: str = ""
    """The alternative setting of `ours`, if the row agrees only with that."""
    follows_text: bool = False
    """Whether that setting follows the paper's text instead of the released code."""
    default: Numbers | None = None
    """Our numbers with the setting of the other rows, if `setting` is not empty."""
    variants: Mapping[str, Comparison] = MappingProxyType({})
    """By name; see `NOTHING_INFERRED`."""
    is_inferred: bool = False
    """Whether the setting of the tables was inferred, and the first variant has that of the released code."""

    @property
    def released(self) -> Comparison | None:
        """The comparison with the released code, if the setting of the tables was inferred."""
        return self.variants.get(NOTHING_INFERRED) if self.is_inferred else None


@functools.cache
def paper_cells() -> Mapping[Cell, Numbers]:
    """Return the 198 cells of the paper's six tables."""
    text = resources.files("wanderlust_paper.reports").joinpath("recap_tables.csv").read_text(encoding="utf-8")
    cells = {}
    for line in csv.DictReader(io.StringIO(text)):
        numbers = [float(line[name]) for name in NUMBERS]
        cells[Cell(*(line[name] for name in Cell._fields))] = Numbers(Percent(*numbers[:2]), Percent(*numbers[2:]))
    return cells


def format_percent(value: Percent | None, seeds: int | None = None) -> str:
    """Return "mean ± interval" with two decimals, as in the paper; without ± for a single seed."""
    if value is None:
        return "–"
    return f"{value.mean:.2f}" if seeds == 1 else f"{value.mean:.2f} ± {value.ci:.2f}"


def standard_error_of_difference(ours: Percent, theirs: Percent, seeds: tuple[int, int]) -> float:
    """Return the standard error of the difference of two means under the same distribution: σ √(1/n + 1/m).

    σ² is the pooled variance of both samples. For equal numbers of seeds it equals √(SE² + SE²). Otherwise that would
    underestimate the error of the smaller sample: if one seed in twenty fails, all of 20 seeds often succeed, and
    their SE is 0.
    """
    n, m = seeds
    pooled = ((n * ours.standard_error) ** 2 + (m * theirs.standard_error) ** 2) / (n + m)
    return math.sqrt(pooled * (1 / n + 1 / m))


def compare(ours: Percent, theirs: Percent, seeds: int, factor: float = 1.0) -> tuple[float, bool]:
    """Return the standard error of the difference, and whether the two agree with this factor of the tolerance."""
    error = standard_error_of_difference(ours, theirs, (seeds, PAPER_SEEDS))
    return error, abs(ours.mean - theirs.mean) <= factor * (MAX_STANDARD_ERRORS * error + MAX_ROUNDING)


def margin_of(theirs: Percent) -> float:
    """Return the margin of equivalence: a tenth of the paper's number, at most 5 points."""
    return max(min(EQUIVALENCE_SHARE * abs(theirs.mean), EQUIVALENCE_POINTS), EQUIVALENCE_ROUNDING)


def equivalence(difference: Interval, margin: float) -> str:
    """Return whether a difference is inside a margin, is not zero, or these seeds cannot tell."""
    if -margin <= difference.low and difference.high <= margin:
        return AGREES
    return DIFFERS if difference.low > 0 or difference.high < 0 else CANNOT_TELL


def compare_group(group: Group, theirs: Numbers) -> Comparison:
    """Compare the runs of a cell with the paper's numbers."""
    ours = numbers_of(group)
    pairs = list(zip(ours, theirs, strict=True))
    errors = tuple(compare(*pair, len(group))[0] for pair in pairs)
    verdicts = [
        AGREES if all(compare(*pair, len(group), factor)[1] for pair in pairs) else DIFFERS
        for factor in (1.0, 0.5, 2.0)
    ]
    differences = tuple(
        Interval(a.mean - b.mean, a.mean - b.mean - EQUIVALENCE_ERRORS * e, a.mean - b.mean + EQUIVALENCE_ERRORS * e)
        for (a, b), e in zip(pairs, errors, strict=True)
    )
    each = [equivalence(d, margin_of(b)) for d, (_, b) in zip(differences, pairs, strict=True)]
    both = DIFFERS if DIFFERS in each else CANNOT_TELL if CANNOT_TELL in each else AGREES
    return Comparison(
        ours=ours,
        seeds=len(group),
        error=(errors[0], errors[1]),
        verdict=verdicts[0],
        halved=verdicts[1],
        doubled=verdicts[2],
        differences=(differences[0], differences[1]),
        equivalence=both,
    )


def make_row(cell: Cell, group: Group, planned: int, *, is_compared: bool = True) -> Row:
    """Return a cell with the numbers of its runs, the paper's numbers and the verdict, if it is compared."""
    theirs = paper_cells().get(cell)
    if not len(group):
        return Row(cell, 0, planned, None, theirs, (math.nan, math.nan), None, None, "no runs")
    ours = numbers_of(group)
    success = group.column("success")
    iqm = bootstrap_interval(success, lambda x: np.apply_along_axis(interquartile_mean, -1, x), samples=200)
    row = Row(cell, len(group), planned, ours, theirs, (math.nan, math.nan), group.learnt(LEARNT), iqm, "not compared")
    if theirs is None or not is_compared:
        return row
    compared = compare_group(group, theirs)
    first = first_seeds(group)
    variants = {TABLES: compare_group(first, theirs)} if len(first) else {}
    return row._replace(
        error=compared.error, verdict=compared.verdict, equivalence=compared.equivalence, variants=variants
    )


def first_seeds(group: Group) -> Group:
    """Return the runs with the paper's seeds, 1 to 20."""
    return Group(group.fields, [each for each in group.rows if each["seed"] <= PAPER_SEEDS])


def numbers_of(group: Group) -> Numbers:
    """Return the mean discovery and success of a group, each with its ±."""
    return Numbers(group.percent("discovery"), group.percent("success"))


def rounded(row: Row) -> Row:
    """Return a row without differences that are only rounding errors."""

    def eight_digits(numbers: Numbers | None) -> Numbers | None:
        return numbers and Numbers(*(Percent(round(each.mean, 8), round(each.ci, 8)) for each in numbers))

    return row._replace(
        ours=eight_digits(row.ours),
        theirs=eight_digits(row.theirs),
        error=(round(row.error[0], 8), round(row.error[1], 8)),
        default=eight_digits(row.default),
    )


# --- Formats ---------------------------------------------------------------------------------------------


def as_entry(row: Row) -> dict[str, Any]:
    """Return a row as plain values."""
    difference = error = None
    if row.ours and row.theirs and row.verdict in ("agrees", "differs"):
        pairs = zip(Numbers._fields, row.ours, row.theirs, strict=True)
        difference = {name: round(ours.mean - theirs.mean, 4) for name, ours, theirs in pairs}
        error = {name: round(each, 4) for name, each in zip(Numbers._fields, row.error, strict=True)}
    entry = {
        **row.cell._asdict(),
        "seeds": row.seeds,
        "planned": row.planned,
        "ours": _numbers_entry(row.ours),
        "theirs": _numbers_entry(row.theirs),
        "difference": difference,
        "standard_error": error,
        "learnt": row.learnt._asdict() if row.learnt else None,
        "success_iqm": row.success_iqm._asdict() if row.success_iqm else None,
        "verdict": row.verdict,
        "equivalence": row.equivalence,
        "with_20_seeds": {
            name: {
                "seeds": each.seeds,
                "ours": _numbers_entry(each.ours),
                "verdict": each.verdict,
                "equivalence": each.equivalence,
            }
            for name, each in row.variants.items()
        },
    }
    if row.setting:
        default = _numbers_entry(row.default)
        entry |= {"setting": row.setting, "of_text": row.follows_text, "with_the_usual_setting": default}
    return entry


def _numbers_entry(numbers: Numbers | None) -> dict[str, dict[str, float]] | None:
    if numbers is None:
        return None
    return {name: {"mean": round(x.mean, 4), "ci95": round(x.ci, 4)} for name, x in numbers._asdict().items()}


def world_title(environment: str) -> str:
    """Return the paper's title of a world."""
    return TITLES.get(environment, environment)


def group_by_environment(rows: Iterable[Row]) -> Iterator[tuple[str, list[tuple[str, list[Row]]]]]:
    """Yield each world with its scenarios and their rows."""
    for environment, group in groupby(rows, key=lambda row: row.cell.environment):
        yield environment, [(name, list(part)) for name, part in groupby(group, key=lambda row: row.cell.scenario)]


def row_texts(row: Row) -> list[str]:
    """Return the columns `algorithm`, ours and the paper's discovery and success, `learnt`, `seeds` and the verdict."""
    ours, theirs = row.ours, row.theirs
    seeds = str(row.seeds) if row.seeds == row.planned else f"{row.seeds} of {row.planned}"
    return [
        row.cell.algorithm,
        format_percent(ours.discovery if ours else None, row.seeds),
        format_percent(theirs.discovery if theirs else None),
        format_percent(ours.success if ours else None, row.seeds),
        format_percent(theirs.success if theirs else None),
        f"{100 * row.learnt.estimate:.0f} [{100 * row.learnt.low:.0f}, {100 * row.learnt.high:.0f}]"
        if row.learnt
        else "–",
        seeds,
        row.verdict + (DAGGER if row.setting else "") + (f"; {row.equivalence}" if row.equivalence else ""),
    ]


def alternative_setting_notes(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each row that was run with an alternative setting."""
    return [
        f"{DAGGER} {row.cell.algorithm}, {row.cell.scenario}: with {row.setting}. With the setting of the other rows "
        f"discovery is {format_percent(row.default.discovery)} % and success {format_percent(row.default.success)} %."
        for row in rows
        if row.default
    ]


def rich_tables(rows: Iterable[Row], note: str) -> Iterator[Table]:
    """Yield one table per world."""
    for environment, scenarios in group_by_environment(rows):
        footnotes = alternative_setting_notes(row for _, scenario_rows in scenarios for row in scenario_rows)
        caption = "\n".join([*([note] if note else []), *footnotes])
        table = Table(title=f"{world_title(environment)}: results recap", caption=caption or None, title_justify="left")
        for head in _HEADS:
            is_text = head in ("algorithm", "")
            table.add_column(head, justify="left" if is_text else "right")
        for name, scenario_rows in scenarios:
            table.add_section()
            table.add_row(Text(name, "bold"))
            for row in scenario_rows:
                *texts, verdict = row_texts(row)
                style = _VERDICT_STYLES[row.verdict]
                table.add_row(*texts, Text(verdict, style))
        yield keep_words(table)


def as_markdown(rows: Iterable[Row], note: str) -> str:
    """Return the tables as Markdown, with a legend."""
    parts = ["# Results recap compared with the paper\n"]
    if note:
        parts.append(f"**{note}**\n")
    parts.append(LEGEND)
    for environment, scenarios in group_by_environment(rows):
        for name, scenario_rows in scenarios:
            parts.append(f"## {printable(world_title(environment))}, {name}\n")
            parts.append("| " + " | ".join(head or "verdict" for head in _HEADS) + " |")
            parts.append("|---|---:|---:|---:|---:|---:|---:|---|")
            parts += ["| " + " | ".join(map(markdown_cell, row_texts(row))) + " |" for row in scenario_rows]
            parts += ["", *(f"{text}\n" for text in alternative_setting_notes(scenario_rows))]
    return "\n".join(parts)


def rows_as_csv(rows: Iterable[Row], note: str) -> str:
    """Return all numbers of all rows, ours and the paper's, as CSV; the last column is the note."""
    heads = [*Cell._fields, "seeds", *NUMBERS, *(f"paper_{name}" for name in NUMBERS)]
    heads += ["learnt_share", "learnt_low", "learnt_high", "success_iqm", "iqm_low", "iqm_high"]
    heads += ["verdict", "equivalence", "setting", "note"]
    lines = []
    for row in rows:
        ours = [number for pair in row.ours for number in pair] if row.ours else [None] * 4
        theirs = [number for pair in row.theirs for number in pair] if row.theirs else [None] * 4
        intervals = [*(row.learnt or [None] * 3), *(row.success_iqm or [None] * 3)]
        numbers = ["" if number is None else f"{number:.6f}" for number in (*ours, *theirs, *intervals)]
        lines.append([*row.cell, row.seeds, *numbers, row.verdict, row.equivalence, row.setting, note])
    return as_csv(heads, lines)
