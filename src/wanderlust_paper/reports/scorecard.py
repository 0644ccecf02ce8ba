"""The scorecard: which cells of the paper's tables, and which statements of its text, are reproduced."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from wanderlust.experiments.report.text_tables import format_percent, markdown_cell
from wanderlust.version import __version__
from wanderlust_paper.claims import claims as claims_module
from wanderlust_paper.claims.claims import Claim
from wanderlust_paper.reports import headline as headline_module
from wanderlust_paper.reports.headline import headline
from wanderlust_paper.reports.known_differences import explain_difference
from wanderlust_paper.reports.recap_cells import PAPER_SEEDS, Numbers, Row, as_entry
from wanderlust_paper.reports.recap_tables import scenario, world_title

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
    text = f"{headline_module.sentence(counts)}." if counts else ""
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
        "headline": headline_module.as_table(counts) if counts else [],
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
        parts += markdown_table(headline_module.TABLE_HEADS, headline_module.as_table(counts), "lrr")
        parts += ["", f"{headline_module.LEGEND}\n"]
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
