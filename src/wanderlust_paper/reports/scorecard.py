"""The scorecard of all studies: how many cells of the paper's tables agree, with which settings, and every claim.

The counts begin with the plain rule and the paper's own seeds. Each setting that was inferred from the paper's numbers
is counted apart. 109 of the 198 cells are 100 ± 0 in both columns, and the rows of `random` with optimistic
initialization repeat those with zero initialization: the other cells are *informative*.

The page and the Markdown are templates, `templates/scorecard.html` and `templates/scorecard.md`.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from wanderlust import __version__
from wanderlust.experiments.report.text_tables import format_percent, markdown_cell
from wanderlust_paper import claims as claims_module
from wanderlust_paper.claims import Claim
from wanderlust_paper.reports.recap_tables import (
    PAPER_SEEDS,
    Cell,
    Numbers,
    Row,
    alternative_setting_notes,
    as_entry,
    group_by_environment,
    row_texts,
    world_title,
)

PERFECT = (100.0, 0.0)
_DEEP_SEA = "deep sea: 100,000 steps instead of the 500,000 of the released code"
_COMPARED = ("agrees", "differs")
_SYMBOLS = {"agrees": "✓", "differs": "✗", "not compared": "·", "no runs": "·"}
RULE = (
    "A cell agrees if its discovery and its success both differ from the paper's by at most 2.58 standard errors of "
    "the difference plus half a point. Of the cells that vary over seeds, about 1 % would differ by chance."
)
LEGEND = (
    "*Informative* cells are those that can tell explorers apart: not 100 ± 0 in both columns of the paper, and not "
    "the rows of `random` with optimistic initialization, which repeat those with zero initialization."
)
TOLERANCES = (
    "Statements of the same kind have the same tolerance (`wanderlust_paper/claims.py`), which was set before "
    "the full run that is reported here. The column *tolerance* has what is required for the verdict *reproduced*, "
    "then for *partly*. “Never” and “always” are tests of consistency: the exceptions among our runs, of which there "
    "are more than in the paper, are compared with none among the paper's."
)


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
    without: Count
    """With the setting of the released code."""
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
        pairs = [f"{a} → {b}" for a, b in zip(without.texts, with_it.texts, strict=True)]
        rows.append([f"inferred, {setting}: without → with", *pairs])
    if counts.nothing_inferred:
        rows.append(["more seeds, without any inferred setting", *counts.nothing_inferred.texts])
    rows.append(["more seeds, with all inferred settings", *counts.everything_inferred.texts])
    return rows


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


def summary(rows: Sequence[Row], note: str) -> str:
    """Return a short summary of the scorecard."""
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


def as_json(rows: Sequence[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as JSON; `cells` has one entry per row of the tables, `claims` one per statement."""
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


def _render(template: str, rows: Sequence[Row], claims: Sequence[Claim], note: str) -> str:
    import jinja2
    from markupsafe import Markup, escape

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wanderlust_paper.reports", "templates"), autoescape=template.endswith(".html"),
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "row": lambda cells: f"| {' | '.join(markdown_cell(str(cell)) for cell in cells)} |",
        "paragraph": lambda text: " ".join(text.split()) + "\n",
        "with_code": lambda text: Markup(re.sub("`([^`]*)`", r"<code>\1</code>", escape(text.replace("*", "")))),
    }
    counts = headline(rows)
    worlds = [_World(*each, note) for each in group_by_environment(rows)]
    return environment.get_template(template).render(
        summary=summary(rows, note),
        claims_summary=claims_module.summary(claims) if claims else "",
        counts=as_table(counts) if counts else [],
        legend=LEGEND,
        rule=RULE,
        tolerances=TOLERANCES,
        worlds=worlds,
        verdicts=[[world.title, *world.counts] for world in worlds],
        alternative=[
            [*_names(row), row.setting, *_numbers(row.ours, row.default, row.theirs)] for row in rows if row.setting
        ],
        released=[
            [
                *_names(row)[1:],
                *_numbers(row.default or row.ours, row.released, row.theirs),
                row.released_verdict,
                row.released_seeds,
            ]
            for row in rows
            if row.released
        ],
        differing=[
            [*_names(row), *_numbers(row.ours, row.theirs), explain_difference(row, note)]
            for row in rows
            if row.verdict == "differs"
        ],
        statements=[claim for claim in claims if claim.kind == claims_module.CLAIM],
        reasons=[claim for claim in claims if claim.kind == claims_module.REASON],
        version=__version__,
    )


class _World:
    """The table of a world: its cells with each verdict, the texts of every row, and footnotes."""

    def __init__(self, name: str, scenarios: Sequence[tuple[str, list[Row]]], note: str) -> None:
        rows = [row for _, scenario_rows in scenarios for row in scenario_rows]
        verdicts = Counter(row.verdict for row in rows)
        self.name, self.title = name, world_title(name)
        self.counts = [verdicts[each] for each in _SYMBOLS]
        self.scenarios = [(scenario, [(row.verdict, _cell_texts(row)) for row in part]) for scenario, part in scenarios]
        self.footnotes = alternative_setting_notes(rows) + [
            f"✗ {row.cell.algorithm}, {row.cell.scenario}: {explain_difference(row, note)}"
            for row in rows
            if row.verdict == "differs"
        ]


def _cell_texts(row: Row) -> list[str]:
    *numbers, _learnt, seeds, verdict = row_texts(row)
    return [*numbers, seeds, f"{_SYMBOLS[row.verdict]} {verdict}"]


def _names(row: Row) -> list[str]:
    return [world_title(row.cell.environment), row.cell.scenario, row.cell.algorithm]


def _numbers(*given: Numbers | None) -> list[str]:
    """Return the discovery of each argument, then the success of each."""
    return [format_percent(numbers[i] if numbers else None) for i in range(len(Numbers._fields)) for numbers in given]


FORMATS: Mapping[str, Callable[[Sequence[Row], Sequence[Claim], str], str]] = {
    "md": functools.partial(_render, "scorecard.md"),
    "html": functools.partial(_render, "scorecard.html"),
    "json": as_json,
}
"""The functions that return the scorecard in each format."""


# --- Explanations of cells that differ -------------------------------------------------------------------


def smallest_interval(mean: float, value: float, n: int) -> float:
    """Return the smallest ± of `n` numbers with this mean, one of which is `value`."""
    return 2.0 * abs(value - mean) / math.sqrt(n * (n - 1))


def largest_interval(mean: float, upper: float, n: int) -> float:
    """Return the largest ± of `n` numbers with this mean that do not exceed `upper`."""
    return 2.0 * (upper - mean) * math.sqrt((n - 1) / n)


_RANDOM_IN_TAXI = (
    "The paper's row has the same two ± as its row for the short horizon, and almost the same success. Our row for the "
    "short horizon agrees."
)
_EXPLANATIONS: Mapping[Cell, str] = {
    Cell("taxi", "zero", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "ucb1"): (
        "Unexplained. Our runs discover all states in every seed. The paper's discovery is larger with the short "
        "horizon than with the long one, and it is not that of the 264 open states."
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "All our seeds learnt an optimal policy. The paper's number results if ten of 20 seeds take one step too many "
        "and ten take two."
    ),
}
"""Explanations found by inspecting single cells of the full study."""

_DEEP_GRIDWORLD_UCB1 = Cell("deep-gridworld", "zero", "long", "ucb1")
_ROUNDING = 0.005
_DISTRACTOR = 56.88
"""Success of the shortest path to a smaller treasure of the deep gridworld, in percent: the paper's other rows."""


def impossible_interval(mean: float, interval: float) -> str:
    """Return why 20 seeds of the deep gridworld cannot have this mean and ±; empty if they can.

    A policy either collects the larger treasure, with a success of 100, or not, with a success of at most 56.88.
    """
    one_optimal = smallest_interval(mean, 100.0, PAPER_SEEDS)
    none_optimal = largest_interval(mean, _DISTRACTOR, PAPER_SEEDS)
    if not none_optimal + _ROUNDING < interval < one_optimal - _ROUNDING:
        return ""
    return (
        f"The paper's success is impossible for 20 seeds that end either at 100 or at no more than {_DISTRACTOR}: with "
        f"the mean {mean:.2f}, one seed at 100 makes the ± at least {one_optimal:.2f}, and none at 100 makes it at "
        f"most {none_optimal:.2f}; the paper has {interval:.2f}. The difference in discovery is unexplained: ours is "
        "similar with both horizons, and agrees with the paper for the short one."
    )


def explain_difference(row: Row, note: str) -> str:
    """Return the known explanation of a difference, or else its size.

    Explanations are valid for the full study. Cells of a reduced study, or of another preset, have a note.
    """
    explanation = _EXPLANATIONS.get(row.cell)
    if row.cell == _DEEP_GRIDWORLD_UCB1 and row.theirs:
        explanation = impossible_interval(*row.theirs.success) or None
    return explanation if explanation is not None and not note else _size_of_difference(row)


def _size_of_difference(row: Row) -> str:
    assert row.ours
    assert row.theirs
    parts = []
    for name, ours, theirs, error in zip(Numbers._fields, row.ours, row.theirs, row.error, strict=True):
        difference = abs(ours.mean - theirs.mean)
        if error > 0:
            parts.append(f"{name} differs by {difference / error:.1f} standard errors")
        elif difference > 0:
            parts.append(f"{name} differs by {difference:.2f} points, without variation over seeds in both samples")
    return "; ".join(parts) + "."
