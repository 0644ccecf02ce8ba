"""Statements of the paper's text, each with our result, the tolerance, and a verdict; a kind of statement has one rule.

never, always     Fisher's exact test: are our exceptions consistent with none among the paper's runs?
about x           within a quarter of x
N^x               the 95 % interval of the fitted exponent, within a quarter of x: the paper gives x in halves
at least k times  the estimate
better, earlier   the probability that a seed of one is better than a seed of the other, with the rank sum test
similar           the difference of two means, in points
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from wanderlust.experiments.report.text_tables import markdown_cell
from wanderlust.experiments.statistics import Interval, probability_of_improvement

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
    """Return the claims as JSON."""
    return json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False) + "\n"


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
    "Statements of the same kind have the same tolerance (`wanderlust_paper/claims.py`), which was set before "
    "the full run that is reported here. The column *tolerance* has what is required for the verdict *reproduced*, "
    "then for *partly*. “Never” and “always” are tests of consistency: the exceptions among our runs, of which there "
    "are more than in the paper, are compared with none among the paper's."
)


LEVEL = 0.05
"""Of all tests."""
RARE_SHARE = 0.05
"""The share of exceptions up to which a claim of the kind "this never happens" is partly reproduced."""
ABOUT = 0.25
"""The relative difference that "about" and "around" allow."""
EXPONENT = 0.25
SIMILAR, LESS_SIMILAR = 5.0, 10.0
"""Points of percent that "similar" allows."""


def chance_of_none(exceptions: int, runs: int, others: int) -> float:
    """Return the probability that none of the exceptions is among `others` runs, of `runs` + `others` (Fisher)."""
    return math.comb(runs, exceptions) / math.comb(runs + others, exceptions)


def never(place: str, claim: str, exceptions: int, runs: int, *, paper_runs: int, found: str = "") -> Claim:
    """Check that something never happens: our exceptions are consistent with none in the paper's runs."""
    chance = chance_of_none(exceptions, runs, paper_runs)
    text = found or f"{exceptions:,} of {runs:,} runs did"
    return check_claim(
        place,
        claim,
        f"{text}; consistent with none of the paper's {paper_runs:,} runs: p = {chance:.2g}" if exceptions else text,
        tolerance=f"p ≥ {LEVEL:g} (Fisher's exact test); exceptions ≤ {RARE_SHARE:.0%}".replace("%", " %"),
        holds=chance >= LEVEL,
        partly=exceptions <= RARE_SHARE * runs,
    )


def about(place: str, claim: str, value: float, paper: float, found: str) -> Claim:
    """Check a number that the paper gives as "about" or "around"."""
    return check_claim(
        place,
        claim,
        found,
        tolerance=f"within 25 % of {paper:,g}; within a factor of 2",
        holds=abs(value - paper) <= ABOUT * paper,
        partly=paper / 2 <= value <= 2 * paper,
    )


def exponent(place: str, claim: str, fit: Interval, paper: float) -> Claim:
    """Check an exponent that the paper gives in halves: the whole interval must be nearest to it."""
    low, high = paper - EXPONENT, paper + EXPONENT
    return check_claim(
        place,
        claim,
        f"exponent {fit.estimate:.2f}, 95 % interval {fit.low:.2f} to {fit.high:.2f}",
        tolerance=f"the interval is inside {low:g} to {high:g}; it overlaps",
        holds=low <= fit.low and fit.high <= high,
        partly=fit.low <= high and low <= fit.high,
    )


def at_most_exponent(place: str, claim: str, fit: Interval, paper: float) -> Claim:
    """Check an exponent that is below a number of the paper."""
    return check_claim(
        place,
        claim,
        f"exponent {fit.estimate:.2f}, 95 % interval {fit.low:.2f} to {fit.high:.2f}",
        tolerance=f"the interval is below {paper:g}; the estimate is",
        holds=fit.high < paper,
        partly=fit.estimate < paper,
    )


def at_least(place: str, claim: str, ratio: float, paper: float, found: str) -> Claim:
    """Check a ratio that is at least a number of the paper."""
    return check_claim(
        place, claim, found, tolerance=f"ratio ≥ {paper:g}; ratio > 1", holds=ratio >= paper, partly=ratio > 1.0
    )


def larger(place: str, claim: str, x: Sequence[float], y: Sequence[float], found: str) -> Claim:
    """Check that the seeds of `x` tend to have larger numbers than those of `y`."""
    from scipy.stats import mannwhitneyu

    share = probability_of_improvement(x, y)
    p = float(mannwhitneyu(x, y).pvalue) if len(set(x) | set(y)) > 1 else 1.0
    return check_claim(
        place,
        claim,
        f"{found}; true for {100 * share:.0f} % of the pairs of seeds, p = {p:.2g}",
        tolerance=f"more than half of the pairs with p < {LEVEL:g} (rank sum test); more than half",
        holds=share > 0.5 and p < LEVEL,
        partly=share > 0.5,
    )


def similar(place: str, claim: str, differences: Sequence[float], found: str) -> Claim:
    """Check that two explorers are similar, by the differences of their means in points of percent."""
    largest = max(map(abs, differences))
    return check_claim(
        place,
        claim,
        found,
        tolerance=f"differences ≤ {SIMILAR:g} points; ≤ {LESS_SIMILAR:g} points",
        holds=largest <= SIMILAR,
        partly=largest <= LESS_SIMILAR,
    )


def fact(place: str, claim: str, found: str, *, holds: bool, partly: bool = False, tolerance: str = "exact") -> Claim:
    """Check a statement without random numbers."""
    return check_claim(place, claim, found, tolerance=tolerance, holds=holds, partly=partly)
