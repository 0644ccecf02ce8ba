"""Statements of the paper's text, each with our result, the tolerance, and a verdict; a kind of statement has one rule.

never, always     Fisher's exact test: are our exceptions consistent with none among the paper's runs?
about x           within a quarter of x
N^x               the 95 % interval of the fitted exponent, within a quarter of x: the paper gives x in halves
at least k times  the estimate
better, earlier   the probability that a seed of one is better than a seed of the other, with the rank sum test
similar           the difference of two means, in points

A *check* yields the claims about a table of runs. It raises `NoRuns` when it looks up runs that there are not.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.statistics import Interval, probability_of_improvement
from wanderlust.experiments.table import Group

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED)
CLAIM, REASON = "claim", "reason"
_REASON_VERDICTS = {REPRODUCED: "supported", PARTLY: "partly", NOT_REPRODUCED: "not supported"}
T = TypeVar("T")
LEVEL = 0.05
"""Of all tests."""
RARE_SHARE = 0.05
"""The share of exceptions up to which a claim of the kind "this never happens" is partly reproduced."""
ABOUT = 0.25
"""The relative difference that "about" and "around" allow."""
EXPONENT = 0.25
SIMILAR, LESS_SIMILAR = 5.0, 10.0
"""Points of percent that "similar" allows."""


Numbers = Sequence[float] | FloatArray


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
    """What our result must satisfy for 'reproduced', and for 'partly'."""
    kind: str = CLAIM
    """'claim', or 'reason': not a statement of the paper, but our reason for a difference, which runs test."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of a table: section, claim, our result, tolerance, verdict."""
        verdict = self.verdict if self.kind == CLAIM else _REASON_VERDICTS[self.verdict]
        return self.place, self.claim, self.found, self.tolerance, verdict


Check = Callable[..., Iterable[Claim]]


class NoRuns(LookupError):
    """There are no runs of something that a check looked up."""


class Found(dict[Any, T]):
    """What there are runs of, by its label."""

    def __missing__(self, label: Any) -> T:
        raise NoRuns(label)


Groups = Found[Group]
"""The runs that differ only in their seed, by their label."""


def check_all(checks: Iterable[Check], *table: Any) -> list[Claim]:
    """Return the claims of all checks; a check ends where it looks up runs that there are not."""

    def until_runs_are_missing(check: Check) -> Iterator[Claim]:
        with contextlib.suppress(NoRuns):
            yield from check(*table)

    return [claim for check in checks for claim in until_runs_are_missing(check)]


def in_order(claims: Iterable[Claim]) -> list[Claim]:
    """Return claims in the order of the paper's sections; those about a table after the section that has it."""
    return sorted(claims, key=lambda claim: _section(claim.place))


def _section(place: str) -> tuple[float, ...]:
    """Return the numbers of a section; the appendix follows, and tables are in 4.1 and A.4."""
    place = {"Table 1": "4.1.9", "Table 2": "A.4"}.get(place.partition(",")[0], place.partition(",")[0])
    parts = place.replace("A", "9").split(".")
    return tuple(float(part) if part.isdecimal() else 99.0 for part in parts)


def as_json(claims: Iterable[Claim]) -> str:
    """Return the claims as JSON."""
    return json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False) + "\n"


def summary(claims: Iterable[Claim]) -> str:
    """Return the number of the paper's statements with each verdict, as a sentence."""
    verdicts = [claim.verdict for claim in claims if claim.kind == CLAIM]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    return f"Of {len(verdicts)} {'claim' if len(verdicts) == 1 else 'claims'} of the text: {counts}."


def step_text(step: float) -> str:
    """Return a step as text."""
    return f"{step:,.0f}" if math.isfinite(step) else "never"


# --- Rules -----------------------------------------------------------------------------------------------


def check_claim(
    place: str,
    claim: str,
    found: str,
    *,
    holds: bool,
    partly: bool = False,
    tolerance: str = "exact",
    kind: str = CLAIM,
) -> Claim:
    """Return a claim with its verdict: reproduced if it holds, partly, or not reproduced."""
    verdict = REPRODUCED if holds else PARTLY if partly else NOT_REPRODUCED
    return Claim(place, claim, found, verdict, tolerance, kind)


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
    tolerance = f"within 25 % of {paper:,g}; within a factor of 2"
    holds, partly = abs(value - paper) <= ABOUT * paper, paper / 2 <= value <= 2 * paper
    return check_claim(place, claim, found, tolerance=tolerance, holds=holds, partly=partly)


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
    found = f"exponent {fit.estimate:.2f}, 95 % interval {fit.low:.2f} to {fit.high:.2f}"
    tolerance = f"the interval is below {paper:g}; the estimate is"
    return check_claim(place, claim, found, tolerance=tolerance, holds=fit.high < paper, partly=fit.estimate < paper)


def at_least(place: str, claim: str, ratio: float, paper: float, found: str) -> Claim:
    """Check a ratio that is at least a number of the paper."""
    tolerance = f"ratio ≥ {paper:g}; ratio > 1"
    return check_claim(place, claim, found, tolerance=tolerance, holds=ratio >= paper, partly=ratio > 1.0)


def larger(place: str, claim: str, x: Numbers, y: Numbers, found: str) -> Claim:
    """Check that the seeds of `x` tend to have larger numbers than those of `y`."""
    from scipy.stats import mannwhitneyu

    share = probability_of_improvement(x, y)
    p = float(mannwhitneyu(x, y).pvalue) if len({*x, *y}) > 1 else 1.0
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
    largest, tolerance = max(map(abs, differences)), f"differences ≤ {SIMILAR:g} points; ≤ {LESS_SIMILAR:g} points"
    return check_claim(
        place, claim, found, tolerance=tolerance, holds=largest <= SIMILAR, partly=largest <= LESS_SIMILAR
    )
