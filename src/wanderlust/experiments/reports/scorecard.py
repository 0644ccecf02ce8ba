"""The scorecard: which of the paper's numbers come out here, cell by cell, and which of its sentences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from wanderlust.experiments.reports import claims as in_words
from wanderlust.experiments.reports import reasons
from wanderlust.experiments.reports.cells import PAPER_SEEDS, Numbers, Row, as_entry
from wanderlust.experiments.reports.claims import Claim
from wanderlust.experiments.reports.formats import percent, scenario, title_of
from wanderlust.version import __version__

RULE = (
    "A cell agrees if its discovery and its success both differ from the paper's by no more than 2.58 standard errors "
    "of the difference and half a point. By chance alone about one in a hundred of those that vary would not. `random` "
    "does not heed the start of Q: its lines for zero and optimistic hold the same numbers."
)


OTHER_SETTING = (
    "The paper's text does not say how long its runs were, and its tables were not all made with what its released "
    "code has. These cells differ with the setting of the rest of their table (*usual*) and agree with one other that "
    "was found from the numbers; docs/deviations.md has the evidence."
)


def summary(rows: Iterable[Row], note: str) -> str:
    """Return the scorecard in a few sentences."""
    rows = list(rows)
    verdicts = Counter(row.verdict for row in rows)
    compared = verdicts.get("agrees", 0) + verdicts.get("differs", 0)
    by_text = sum(row.of_text for row in rows)
    others = sum(bool(row.setting) for row in rows) - by_text
    text = f"{verdicts.get('agrees', 0) - others} of {compared} cells agree with the paper"
    text += f" ({by_text} of them as its text has it, not its released code)" if by_text else ""
    text += f", and {others} more with a setting of their own, found from the paper's numbers." if others else "."
    for verdict in ("not compared", "no runs"):
        if verdicts.get(verdict):
            text += f" {verdict.capitalize()}: {verdicts[verdict]}."
    fewest = min((row.seeds for row in rows if row.verdict in ("agrees", "differs")), default=PAPER_SEEDS)
    if fewest < PAPER_SEEDS:
        text += (
            f" With {fewest} seeds, where the paper has {PAPER_SEEDS}, intervals are wide and agreement says little."
        )
    return f"{text} ({note})" if note else text


def as_json(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard for machines; `cells` has one entry per line of the tables, `claims` one per sentence."""
    rows = list(rows)
    document = {
        "wanderlust": __version__,
        "note": note,
        "rule": RULE,
        "summary": summary(rows, note),
        "verdicts": dict(Counter(row.verdict for row in rows)),
        "cells": [
            as_entry(row) | ({"why": reasons.reason(row, note)} if row.verdict == "differs" else {}) for row in rows
        ],
        "claims": [asdict(claim) for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def as_markdown(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard for people: the sum, how many cells of each world agree, and each cell that does not."""
    rows = list(rows)
    parts = ["# Scorecard\n", f"{summary(rows, note)} {in_words.summary(claims) if claims else ''}\n", f"{RULE}\n"]
    parts += ["| world | agree | differ | not compared | no runs |", "|---|---:|---:|---:|---:|"]
    for environment in dict.fromkeys(row.cell.environment for row in rows):
        here = [row.verdict for row in rows if row.cell.environment == environment]
        counts = [str(here.count(verdict)) for verdict in ("agrees", "differs", "not compared", "no runs")]
        parts.append(f"| {title_of(environment)} | {' | '.join(counts)} |")
    parts += _other_settings([row for row in rows if row.setting])
    parts += _differing([row for row in rows if row.verdict == "differs"], note)
    if claims:
        parts += ["", in_words.as_markdown(claims)]
    return "\n".join(parts) + "\n"


def _other_settings(rows: list[Row]) -> list[str]:
    """Return the cells that agree with a setting of their own, with the numbers that they have without it."""
    if not rows:
        return []
    parts = ["\n## Cells that agree with another setting\n", f"{OTHER_SETTING}\n"]
    parts += [
        "| world | scenario | algorithm | setting | discovery | usual | paper | success | usual | paper |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        parts.append(f"| {' | '.join([*_names(row), row.setting, *_numbers(row.ours, row.usual, row.theirs)])} |")
    return parts


def _differing(rows: list[Row], note: str) -> list[str]:
    """Return the cells that differ, each with a sentence on why."""
    if not rows:
        return []
    parts = ["\n## Cells that differ\n", "| world | scenario | algorithm | discovery | paper | success | paper | why |"]
    parts += ["|---|---|---|---:|---:|---:|---:|---|"]
    for row in rows:
        parts.append(f"| {' | '.join([*_names(row), *_numbers(row.ours, row.theirs), reasons.reason(row, note)])} |")
    return parts


def _names(row: Row) -> list[str]:
    return [title_of(row.cell.environment), scenario(row.cell), row.cell.algorithm]


def _numbers(*given: Numbers | None) -> list[str]:
    """Return discovery of each, then success of each."""
    return [percent(numbers[i] if numbers else None) for i in range(len(Numbers._fields)) for numbers in given]
