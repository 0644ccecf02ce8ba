"""The scorecard: which of the paper's numbers come out here, cell by cell, and which of its sentences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from wanderlust.reports import claims as in_words
from wanderlust.reports import reasons
from wanderlust.reports.cells import PAPER_SEEDS, Row, as_entry
from wanderlust.reports.claims import Claim
from wanderlust.reports.formats import percent, scenario, title_of
from wanderlust.version import __version__

RULE = (
    "A cell agrees if its discovery and its success both differ from the paper's by no more than 2.58 standard errors "
    "of the difference and half a point. By chance alone about one cell in fifty would not, more where a "
    "few seeds decide. `random` does not heed the start of Q: its lines for zero and optimistic hold the same numbers."
)


def summary(rows: Iterable[Row], note: str) -> str:
    """Return the scorecard in a few sentences."""
    rows = list(rows)
    verdicts = Counter(row.verdict for row in rows)
    compared = verdicts.get("agrees", 0) + verdicts.get("differs", 0)
    text = f"{verdicts.get('agrees', 0)} of {compared} cells agree with the paper."
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
        "cells": [as_entry(row) | _why(row, note) for row in rows],
        "claims": [asdict(claim) for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _why(row: Row, note: str) -> dict[str, str]:
    if row.verdict != "differs":
        return {}
    found = reasons.reason(row, note)
    return {"cause": found.cause, "why": found.text}


def as_markdown(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard for people: the sum, how many cells of each world agree, and each cell that does not."""
    rows = list(rows)
    parts = ["# Scorecard\n", f"{summary(rows, note)} {in_words.summary(claims) if claims else ''}\n", f"{RULE}\n"]
    parts += ["| world | agree | differ | not compared | no runs |", "|---|---:|---:|---:|---:|"]
    for environment in dict.fromkeys(row.cell.environment for row in rows):
        here = [row.verdict for row in rows if row.cell.environment == environment]
        counts = [str(here.count(verdict)) for verdict in ("agrees", "differs", "not compared", "no runs")]
        parts.append(f"| {title_of(environment)} | {' | '.join(counts)} |")
    differing = [row for row in rows if row.verdict == "differs" and row.ours and row.theirs]
    if differing:
        parts += ["\n## Cells that differ\n"]
        parts += [f"{reasons.summary(rows, note)}\n"] if reasons.summary(rows, note) else []
        parts += [
            "| world | scenario | algorithm | discovery | paper | success | paper | why |",
            "|---|---|---|---:|---:|---:|---:|---|",
        ]
        for row in differing:
            assert row.ours
            assert row.theirs
            numbers = (row.ours.discovery, row.theirs.discovery, row.ours.success, row.theirs.success)
            cells = [title_of(row.cell.environment), scenario(row.cell), row.cell.algorithm, *map(percent, numbers)]
            parts.append(f"| {' | '.join([*cells, reasons.reason(row, note).text])} |")
    if claims:
        parts += ["", in_words.as_markdown(claims)]
    return "\n".join(parts) + "\n"
