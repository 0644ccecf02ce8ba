"""What the paper says in words, as checks: each with a number of ours and a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from wanderlust.core.errors import BadFile

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what came of it here."""

    place: str
    """Where the paper says so."""
    claim: str
    found: str
    """Our numbers, in words."""
    verdict: str
    """'reproduced', 'partly' or 'not reproduced'."""


def judged(place: str, claim: str, found: str, *, holds: bool, partly: bool = False) -> Claim:
    """Return a claim with the verdict that follows from whether it holds, or holds in part."""
    return Claim(place, claim, found, REPRODUCED if holds else PARTLY if partly else NOT_REPRODUCED)


def as_json(claims: Iterable[Claim]) -> str:
    """Return claims to be read by `from_json`."""
    return json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, where: str) -> list[Claim]:
    """Return the claims that `as_json` wrote."""
    try:
        return [Claim(**each) for each in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise BadFile(f"{where}: is not a list of claims ({error}).") from error


def summary(claims: Sequence[Claim]) -> str:
    """Return how many claims got which verdict, in words."""
    counts = [f"{sum(claim.verdict == verdict for claim in claims)} {verdict}" for verdict in VERDICTS]
    return f"Of {len(claims)} {'claim' if len(claims) == 1 else 'claims'} of the text: {', '.join(counts)}."


def as_markdown(claims: Sequence[Claim]) -> str:
    """Return the claims as a section with a table."""
    lines = [f"| {claim.place} | {claim.claim} | {claim.found} | {claim.verdict} |" for claim in claims]
    heads = ["## What the paper says in words\n", f"{summary(claims)}\n", "| where | claim | here | verdict |"]
    return "\n".join([*heads, "|---|---|---|---|", *lines]) + "\n"
