"""Statements of the paper's text, each with our result, the tolerance, and a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from wanderlust.core.errors import BadFile, check_choice
from wanderlust.experiments.report.text_tables import markdown_cell

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED)
HEADS = ("section", "claim", "here", "tolerance", "verdict")
REASON_HEADS = ("section", "reason", "test", "prediction", "verdict")
CLAIM, REASON = "claim", "reason"
_REASON_VERDICTS = {REPRODUCED: "supported", PARTLY: "partly", NOT_REPRODUCED: "not supported"}


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
    tolerance: str = ""
    """What our result must satisfy for 'reproduced', and for 'partly'; see `claim_rules`."""
    kind: str = CLAIM
    """'claim', or 'reason': not a statement of the paper, but our reason for a difference, which runs test."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of `HEADS`, or of `REASON_HEADS`."""
        verdict = self.verdict if self.kind == CLAIM else _REASON_VERDICTS[self.verdict]
        return self.place, self.claim, self.found, self.tolerance, verdict


def check_claim(place: str, claim: str, found: str, *, tolerance: str, holds: bool, partly: bool = False) -> Claim:
    """Return a claim with its verdict: reproduced if it holds, partly, or not reproduced."""
    return Claim(place, claim, found, REPRODUCED if holds else PARTLY if partly else NOT_REPRODUCED, tolerance)


def check_reason(place: str, reason: str, found: str, *, tolerance: str, holds: bool, partly: bool = False) -> Claim:
    """Return our reason for a difference from the paper, with the verdict of its test."""
    return replace(check_claim(place, reason, found, tolerance=tolerance, holds=holds, partly=partly), kind=REASON)


def in_order(claims: Iterable[Claim]) -> list[Claim]:
    """Return claims in the order of the paper's sections; those about a table after the section that has it."""
    return sorted(claims, key=lambda claim: _section(claim.place))


def _section(place: str) -> tuple[float, ...]:
    """Return the numbers of a section; the appendix follows, and tables are in 4.1 and A.4."""
    place = {"Table 1": "4.1.9", "Table 2": "A.4"}.get(place.partition(",")[0], place.partition(",")[0])
    parts = place.replace("A", "9").split(".")
    return tuple(float(part) if part.isdecimal() else 99.0 for part in parts)


def statements(claims: Iterable[Claim]) -> list[Claim]:
    """Return the statements of the paper."""
    return [claim for claim in claims if claim.kind == CLAIM]


def reasons(claims: Iterable[Claim]) -> list[Claim]:
    """Return the reasons for differences."""
    return [claim for claim in claims if claim.kind == REASON]


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
    check_choice("kind", claim.kind, (CLAIM, REASON))
    return claim


def summary(claims: Iterable[Claim]) -> str:
    """Return the number of the paper's statements with each verdict, as a sentence."""
    claims = statements(claims)
    counts = [f"{sum(claim.verdict == verdict for claim in claims)} {verdict}" for verdict in VERDICTS]
    return f"Of {len(claims)} {'claim' if len(claims) == 1 else 'claims'} of the text: {', '.join(counts)}."


def as_markdown(claims: Iterable[Claim]) -> str:
    """Return the claims as a section with a table, and the reasons as another."""
    claims = list(claims)
    parts = ["## Statements of the paper's text\n", f"{summary(claims)}\n", f"{TOLERANCES}\n"]
    parts += _table(HEADS, statements(claims))
    if reasons(claims):
        parts += ["\n## Reasons of differences, tested\n", *_table(REASON_HEADS, reasons(claims))]
    return "\n".join(parts) + "\n"


def _table(heads: Sequence[str], claims: Iterable[Claim]) -> list[str]:
    lines = [f"| {' | '.join(map(markdown_cell, claim.texts))} |" for claim in claims]
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines]


TOLERANCES = (
    "Statements of the same kind have the same tolerance (`claims/claim_rules.py`), which was set before "
    "the full run that is reported here. The column *tolerance* has what is required for the verdict *reproduced*, "
    "then for *partly*. “Never” and “always” are tests of consistency: the exceptions among our runs, of which there "
    "are more than in the paper, are compared with none among the paper's."
)
