"""Statements of the paper's text, each with our result and a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from wanderlust.core.errors import BadFile, check_choice
from wanderlust.experiments.reports.tables import markdown_cell

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, our result, and the verdict."""

    place: str
    """The section of the paper."""
    claim: str
    found: str
    """Our result, as text."""
    verdict: str
    """'reproduced', 'partly' or 'not reproduced'."""


def check_claim(place: str, claim: str, found: str, *, holds: bool, partly: bool = False) -> Claim:
    """Return a claim with its verdict: reproduced if it holds, partly, or not reproduced."""
    return Claim(place, claim, found, REPRODUCED if holds else PARTLY if partly else NOT_REPRODUCED)


def as_json(claims: Iterable[Claim]) -> str:
    """Return the JSON text that `from_json` reads."""
    return json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, where: str) -> list[Claim]:
    """Return the claims written by `as_json`; `where` names the file in errors."""
    try:
        return [_checked(Claim(**each)) for each in json.loads(text)]
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFile(f"{where}: is not a list of claims ({error}).") from error


def _checked(claim: Claim) -> Claim:
    if not all(isinstance(value, str) for value in asdict(claim).values()):
        raise TypeError(f"the fields of a claim must be text, got {claim}")
    check_choice("verdict", claim.verdict, VERDICTS)
    return claim


def summary(claims: Sequence[Claim]) -> str:
    """Return the number of claims with each verdict, as a sentence."""
    counts = [f"{sum(claim.verdict == verdict for claim in claims)} {verdict}" for verdict in VERDICTS]
    return f"Of {len(claims)} {'claim' if len(claims) == 1 else 'claims'} of the text: {', '.join(counts)}."


def as_markdown(claims: Sequence[Claim]) -> str:
    """Return the claims as a section with a table."""
    texts = [(claim.place, claim.claim, claim.found, claim.verdict) for claim in claims]
    lines = [f"| {' | '.join(map(markdown_cell, row))} |" for row in texts]
    heads = ["## Statements of the paper's text\n", f"{summary(claims)}\n", "| section | claim | here | verdict |"]
    return "\n".join([*heads, "|---|---|---|---|", *lines]) + "\n"
