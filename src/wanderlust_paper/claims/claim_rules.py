"""The tolerances of the paper's claims: one rule for each kind of statement.

never, always     Fisher's exact test: are our exceptions consistent with none among the paper's runs?
about x           within a quarter of x
N^x               the 95 % interval of the fitted exponent, within a quarter of x: the paper gives x in halves
at least k times  the estimate
better, earlier   the probability that a seed of one is better than a seed of the other, with the rank sum test
similar           the difference of two means, in points
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wanderlust.experiments.statistics import Interval, probability_of_improvement
from wanderlust_paper.claims.claims import Claim, check_claim

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
