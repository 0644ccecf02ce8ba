"""The scorecard: which cells of the paper's tables, and which statements of its text, are reproduced."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from wanderlust.experiments.reports import claims as claims_module
from wanderlust.experiments.reports.claims import Claim
from wanderlust.experiments.reports.known_differences import explain_difference
from wanderlust.experiments.reports.recap_cells import PAPER_SEEDS, Numbers, Row, as_entry
from wanderlust.experiments.reports.recap_tables import scenario, world_title
from wanderlust.experiments.reports.tables import format_percent, markdown_cell
from wanderlust.version import __version__

RULE = (
    "A cell agrees if its discovery and its success both differ from the paper's by at most 2.58 standard errors of "
    "the difference plus half a point. Of the cells that vary over seeds, about 1 % would differ by chance. "
    "`random` does not depend on the initialization of Q: its rows for zero and opt. init. have the same numbers."
)


ALTERNATIVE_SETTING_NOTE = (
    "The paper does not state the length of its runs, and not all its tables were produced with the settings of the "
    "released code. These cells differ with the setting of the other rows of their table (*default*) and agree with "
    "one alternative, which was inferred from the numbers; docs/deviations.md has the evidence."
)


def summary(rows: Iterable[Row], note: str) -> str:
    """Return a short summary of the scorecard."""
    rows = list(rows)
    verdicts = Counter(row.verdict for row in rows)
    compared = verdicts.get("agrees", 0) + verdicts.get("differs", 0)
    by_text = sum(row.follows_text for row in rows)
    others = sum(bool(row.setting) for row in rows) - by_text
    text = f"{verdicts.get('agrees', 0) - others} of {compared} cells agree with the paper"
    text += f" ({by_text} of them with the setting of its text, not of its released code)" if by_text else ""
    text += f", and {others} more with an alternative setting inferred from the paper's numbers." if others else "."
    for verdict in ("not compared", "no runs"):
        if verdicts.get(verdict):
            text += f" {verdict.capitalize()}: {verdicts[verdict]}."
    fewest = min((row.seeds for row in rows if row.verdict in ("agrees", "differs")), default=PAPER_SEEDS)
    if fewest < PAPER_SEEDS:
        text += f" With {fewest} seeds (the paper: {PAPER_SEEDS}) intervals are wide, and agreement is weak evidence."
    return f"{text} ({note})" if note else text


def as_json(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as JSON; `cells` has one entry per row of the tables, `claims` one per statement."""
    rows = list(rows)
    document = {
        "wanderlust": __version__,
        "note": note,
        "rule": RULE,
        "summary": summary(rows, note),
        "verdicts": dict(Counter(row.verdict for row in rows)),
        "cells": [
            as_entry(row) | ({"why": explain_difference(row, note)} if row.verdict == "differs" else {}) for row in rows
        ],
        "claims": [asdict(claim) for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def as_markdown(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as Markdown: a summary, verdicts by world, the cells that differ, and the claims."""
    rows = list(rows)
    parts = ["# Scorecard\n", f"{summary(rows, note)} {claims_module.summary(claims) if claims else ''}\n", f"{RULE}\n"]
    parts += ["| world | agree | differ | not compared | no runs |", "|---|---:|---:|---:|---:|"]
    for environment in dict.fromkeys(row.cell.environment for row in rows):
        verdicts = [row.verdict for row in rows if row.cell.environment == environment]
        counts = [str(verdicts.count(verdict)) for verdict in ("agrees", "differs", "not compared", "no runs")]
        parts.append(f"| {markdown_cell(world_title(environment))} | {' | '.join(counts)} |")
    parts += _alternative_settings([row for row in rows if row.setting])
    parts += _differing([row for row in rows if row.verdict == "differs"], note)
    if claims:
        parts += ["", claims_module.as_markdown(claims)]
    return "\n".join(parts) + "\n"


def _alternative_settings(rows: list[Row]) -> list[str]:
    """Return the cells that agree only with an alternative setting, with their default numbers."""
    if not rows:
        return []
    parts = ["\n## Cells that agree with an alternative setting\n", f"{ALTERNATIVE_SETTING_NOTE}\n"]
    parts += [
        "| world | scenario | algorithm | setting | discovery | default | paper | success | default | paper |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        numbers = _numbers(row.ours, row.default, row.theirs)
        parts.append(f"| {' | '.join([*_names(row), markdown_cell(row.setting), *numbers])} |")
    return parts


def _differing(rows: list[Row], note: str) -> list[str]:
    """Return the cells that differ, each with an explanation."""
    if not rows:
        return []
    parts = ["\n## Cells that differ\n", "| world | scenario | algorithm | discovery | paper | success | paper | why |"]
    parts += ["|---|---|---|---:|---:|---:|---:|---|"]
    for row in rows:
        texts = [*_names(row), *_numbers(row.ours, row.theirs), explain_difference(row, note)]
        parts.append(f"| {' | '.join(texts)} |")
    return parts


def _names(row: Row) -> list[str]:
    return [markdown_cell(text) for text in (world_title(row.cell.environment), scenario(row.cell), row.cell.algorithm)]


def _numbers(*given: Numbers | None) -> list[str]:
    """Return the discovery of each argument, then the success of each."""
    return [format_percent(numbers[i] if numbers else None) for i in range(len(Numbers._fields)) for numbers in given]
