"""The scorecard of all studies: how many cells of the paper's tables agree, with which settings, and every claim.

The counts begin with the plain rule and the paper's own seeds. Each setting that was inferred from the paper's numbers
is counted apart. 109 of the 198 cells are 100 ± 0 in both columns, and the rows of `random` with optimistic
initialization repeat those with zero initialization: the other cells are *informative*.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from wanderlust import __version__
from wanderlust.experiments.report.text_tables import format_percent, markdown_cell
from wanderlust_paper import claims as claims_module
from wanderlust_paper.claims import Claim
from wanderlust_paper.reports.known_differences import explain_difference
from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, Numbers, Row, as_entry
from wanderlust_paper.reports.recap_tables import scenario, world_title

PERFECT = (100.0, 0.0)
_DEEP_SEA = "deep sea: 100,000 steps instead of the 500,000 of the released code"
_COMPARED = ("agrees", "differs")


class Count(NamedTuple):
    """A number of cells that agree, of all and of the informative ones."""

    agree: int
    cells: int
    informative_agree: int
    informative: int

    @property
    def texts(self) -> list[str]:
        """The count of all cells, and of the informative ones."""
        return [f"{self.agree} of {self.cells}", f"{self.informative_agree} of {self.informative}"]


class Inferred(NamedTuple):
    """A setting inferred from the paper's numbers, and the cells that it concerns."""

    setting: str
    without: Count | None
    """With the setting of the released code; None if there are no such runs."""
    with_it: Count


class Headline(NamedTuple):
    """All counts."""

    plain: Count
    more_seeds: Count
    inferred: list[Inferred]
    nothing_inferred: Count | None
    everything_inferred: Count


def is_informative(row: Row) -> bool:
    """Return whether a cell can tell explorers apart: not 100 ± 0 in both columns, and not a repeated row."""
    repeated = row.cell.algorithm == "random" and row.cell.initialization == "optimistic"
    return row.theirs is not None and not repeated and not all(tuple(each) == PERFECT for each in row.theirs)


def _count(rows: Iterable[Row], agrees: Callable[[Row], bool]) -> Count:
    rows = list(rows)
    informative = [row for row in rows if is_informative(row)]
    return Count(sum(map(agrees, rows)), len(rows), sum(map(agrees, informative)), len(informative))


def headline(rows: Sequence[Row]) -> Headline | None:
    """Return the counts of the cells that were compared with the paper; None if there are none."""
    compared = [row for row in rows if row.verdict in _COMPARED]
    if not compared:
        return None
    inferred: list[Inferred] = []
    released = [row for row in compared if row.released_verdict in _COMPARED]
    if released:
        without = _count(released, lambda row: row.released_verdict == "agrees")
        inferred.append(Inferred(_DEEP_SEA, without, _count(released, lambda row: row.agrees_by_default)))
    for setting in dict.fromkeys(row.setting for row in compared if row.setting):
        cells = [row for row in compared if row.setting == setting]
        worlds = " and ".join(dict.fromkeys(f"{row.cell.environment}/{row.cell.algorithm}" for row in cells))
        counts = (_count(cells, lambda row: row.agrees_by_default), _count(cells, lambda row: True))
        inferred.append(Inferred(f"{worlds}: {setting}", *counts))

    def without_any(row: Row) -> bool:
        return row.released_verdict == "agrees" if row.released_verdict in _COMPARED else row.agrees_by_default

    return Headline(
        plain=_count((row for row in compared if row.plain), lambda row: row.plain == "agrees"),
        more_seeds=_count(compared, lambda row: row.agrees_by_default),
        inferred=inferred,
        nothing_inferred=_count(compared, without_any) if released else None,
        everything_inferred=_count(compared, lambda row: row.verdict == "agrees"),
    )


def as_table(counts: Headline) -> list[list[str]]:
    """Return the rows of the table: what is counted, all cells, informative cells."""
    deep_sea = any(each.setting == _DEEP_SEA for each in counts.inferred)
    where = ", deep sea with 100,000 steps" if deep_sea else ""
    rows = [
        [f"plain: seeds 1 to 20, the released code{where}", *counts.plain.texts],
        ["more seeds: up to 200 where runs are brief, otherwise the same", *counts.more_seeds.texts],
    ]
    for setting, without, with_it in counts.inferred:
        before = without.texts if without else ["–", "–"]
        pairs = [f"{a} → {b}" for a, b in zip(before, with_it.texts, strict=True)]
        rows.append([f"inferred, {setting}: without → with", *pairs])
    if counts.nothing_inferred:
        rows.append(["more seeds, without any inferred setting", *counts.nothing_inferred.texts])
    rows.append(["more seeds, with all inferred settings", *counts.everything_inferred.texts])
    return rows


TABLE_HEADS = ("cells that agree with the paper", "all", "informative")
LEGEND = (
    "*Informative* cells are those that can tell explorers apart: not 100 ± 0 in both columns of the paper, and not "
    "the rows of `random` with optimistic initialization, which repeat those with zero initialization."
)


def sentence(counts: Headline) -> str:
    """Return the headline in one sentence."""
    plain, more = counts.plain, counts.more_seeds
    text = (
        f"{plain.agree} of {plain.cells} cells agree with the paper with the plain rule and no more than its 20 seeds"
    )
    text += f" ({plain.informative_agree} of the {plain.informative} informative ones)"
    if more.agree != plain.agree:
        text += f", {more.agree} with more seeds where runs are brief ({more.informative_agree})"
    others = counts.everything_inferred.agree - more.agree
    if others:
        text += f"; {others} more with settings inferred from its numbers"
    return text


RULE = (
    "A cell agrees if its discovery and its success both differ from the paper's by at most 2.58 standard errors of "
    "the difference plus half a point. Of the cells that vary over seeds, about 1 % would differ by chance."
)
ALTERNATIVE_SETTING_NOTE = (
    "The paper does not state the length of its runs, and not all its tables were produced with the settings of the "
    "released code. These cells differ with the setting of the other rows of their table (*default*) and agree with "
    "one alternative, which was inferred from the numbers; docs/deviations.md has the evidence."
)
RELEASED_NOTE = (
    "The tables have 100,000 steps in the deep sea. This number is not in the paper's text, and the released code has "
    "500,000: it was inferred from the numbers of the explorers that learn nothing there."
)


_NAMES = ("world", "scenario", "algorithm")


def summary(rows: Iterable[Row], note: str) -> str:
    """Return a short summary of the scorecard."""
    rows = list(rows)
    verdicts = Counter(row.verdict for row in rows)
    counts = headline(rows)
    text = f"{sentence(counts)}." if counts else ""
    for verdict in ("not compared", "no runs"):
        if verdicts.get(verdict):
            text += f" {verdict.capitalize()}: {verdicts[verdict]}."
    fewest = min((row.seeds for row in rows if row.verdict in ("agrees", "differs")), default=PAPER_SEEDS)
    if fewest < PAPER_SEEDS:
        text += f" With {fewest} seeds (the paper: {PAPER_SEEDS}) intervals are wide, and agreement is weak evidence."
    return f"{text} ({note})".strip() if note else text.strip()


def as_json(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as JSON; `cells` has one entry per row of the tables, `claims` one per statement."""
    rows = list(rows)
    counts = headline(rows)
    document = {
        "wanderlust": __version__,
        "note": note,
        "rule": RULE,
        "summary": summary(rows, note),
        "headline": as_table(counts) if counts else [],
        "verdicts": dict(Counter(row.verdict for row in rows)),
        "cells": [
            as_entry(row) | ({"why": explain_difference(row, note)} if row.verdict == "differs" else {}) for row in rows
        ],
        "claims": [asdict(claim) for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def as_markdown(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as Markdown: counts, verdicts by world, the cells that differ, and the claims."""
    rows = list(rows)
    parts = ["# Scorecard\n", f"{summary(rows, note)} {claims_module.summary(claims) if claims else ''}\n"]
    counts = headline(rows)
    if counts:
        parts.append("## Cells of the tables\n")
        parts += markdown_table(TABLE_HEADS, as_table(counts), "lrr")
        parts += ["", f"{LEGEND}\n"]
    parts.append(f"{RULE}\n")
    worlds = dict.fromkeys(row.cell.environment for row in rows)
    parts += markdown_table(
        ("world", "agree", "differ", "not compared", "no runs"),
        [[markdown_cell(world_title(world)), *_verdicts(rows, world)] for world in worlds],
        "lrrrr",
    )
    parts += _alternative_settings([row for row in rows if row.setting])
    parts += _released([row for row in rows if row.released])
    parts += _differing([row for row in rows if row.verdict == "differs"], note)
    if claims:
        parts += ["", claims_module.as_markdown(claims)]
    return "\n".join(parts) + "\n"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> list[str]:
    """Return the lines of a Markdown table; `align` has l or r for each column."""
    rule = "|" + "".join({"l": "---|", "r": "---:|"}[each] for each in align)
    return [f"| {' | '.join(heads)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]


def _verdicts(rows: Iterable[Row], environment: str) -> list[str]:
    verdicts = [row.verdict for row in rows if row.cell.environment == environment]
    return [str(verdicts.count(verdict)) for verdict in ("agrees", "differs", "not compared", "no runs")]


def _alternative_settings(rows: list[Row]) -> list[str]:
    """Return the cells that agree only with an alternative setting, with their default numbers."""
    if not rows:
        return []
    heads = [*_NAMES, "setting", "discovery", "default", "paper", "success", "default", "paper"]
    lines = [[*_names(row), markdown_cell(row.setting), *_numbers(row.ours, row.default, row.theirs)] for row in rows]
    title = "\n## Cells that agree with an alternative setting\n"
    return [title, f"{ALTERNATIVE_SETTING_NOTE}\n", *markdown_table(heads, lines, "llllrrrrrr")]


def _released(rows: list[Row]) -> list[str]:
    """Return the cells of the deep sea with the inferred number of steps, and with that of the released code."""
    if not rows:
        return []
    heads = [*_NAMES[1:], "discovery", "with 500,000 steps", "paper"]
    heads += ["success", "with 500,000 steps", "paper", "verdict with 500,000 steps", "seeds"]
    lines = []
    for row in rows:
        numbers = _numbers(row.default or row.ours, row.released, row.theirs)
        lines.append([*_names(row)[1:], *numbers, row.released_verdict, str(row.released_seeds)])
    return ["\n## The steps of the deep sea\n", f"{RELEASED_NOTE}\n", *markdown_table(heads, lines, "llrrrrrrlr")]


def _differing(rows: list[Row], note: str) -> list[str]:
    """Return the cells that differ, each with an explanation."""
    if not rows:
        return []
    heads = [*_NAMES, "discovery", "paper", "success", "paper", "why"]
    lines = [[*_names(row), *_numbers(row.ours, row.theirs), explain_difference(row, note)] for row in rows]
    return ["\n## Cells that differ\n", *markdown_table(heads, lines, "lllrrrrl")]


def _names(row: Row) -> list[str]:
    return [markdown_cell(text) for text in (world_title(row.cell.environment), scenario(row.cell), row.cell.algorithm)]


def _numbers(*given: Numbers | None) -> list[str]:
    """Return the discovery of each argument, then the success of each."""
    return [format_percent(numbers[i] if numbers else None) for i in range(len(Numbers._fields)) for numbers in given]
