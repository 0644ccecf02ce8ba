"""Statements of the paper's text, each with our result, the rule that judges it, and a verdict.

A kind of statement has one rule; `RULES` has all of them, and the scorecard prints them before the statements. A rule
returns a `Judgement`: the verdict, the verdicts that it would be with every tolerance halved and doubled, and the
margin, the measured number beside the tolerance. A statement about several worlds or explorers is judged once for each
of them.

A *check* yields the claims about a table of runs. It raises `NoRuns` when it looks up runs that there are not.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeVar

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.statistics import Interval, probability_of_improvement
from wanderlust.experiments.table import Group

REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_TESTABLE = "reproduced", "partly", "not reproduced", "not testable"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_TESTABLE)
EMPIRICAL, EXACT, ERRATUM, REASON = "empirical", "exact", "erratum", "reason"
KINDS = {
    EMPIRICAL: "about runs: the verdict depends on seeds and on the rules",
    EXACT: "definitions, worked examples and maps: computed, without seeds; only “much” and “minimal” have a tolerance",
    ERRATUM: "sentences that contradict the paper's own definitions, tables, maps or code: none holds as printed",
}
"""Kinds of statements. 'reason' is not a statement of the paper, but our reason for a difference, which runs test."""
_REASON_VERDICTS = {REPRODUCED: "supported", PARTLY: "partly", NOT_REPRODUCED: "not supported"}
T = TypeVar("T")
Numbers = Sequence[float] | FloatArray

LEARNT = 99.0 + 1e-6
"""Success, in percent, from which a policy counts as learnt, in every table, figure and claim: more than 99 %, with a
tolerance for rounding. One step too many costs 1 %."""
LEVEL = 0.05
RARE_SHARE = 0.05
FEW = 0.10
ABOUT, LESS_ABOUT = 0.25, 1.0
EXPONENT = 0.25
MUCH = 2.0
SIMILAR, LESS_SIMILAR = 5.0, 10.0
TREND, LESS_TREND = 0.1, 0.5
FACTORS = (0.5, 1.0, 2.0)
"""Of all tolerances: halved, as stated, doubled."""

RULES = {
    "exact": (
        "definitions, worked examples, maps; the part of “only” and “the most” about the other explorers",
        "it holds as printed",
        "some of its parts hold",
        "none",
    ),
    "never": (
        "“never”, “always”, “none”, “cannot”, “only k times”",
        f"p ≥ {LEVEL:g} in Fisher's exact test of our exceptions against the paper's, none or k",
        f"at most {100 * RARE_SHARE:.0f} % exceptions",
        "the level and the share",
    ),
    "mostly": (
        "“solves”, “performs well”, “most”",
        f"at least {100 * (1 - FEW):.0f} % of the runs",
        "at least half",
        f"{100 * FEW:.0f} %",
    ),
    "rarely": (
        "“rarely”, “poorly”, “barely exploring”",
        f"at most {100 * FEW:.0f} % of the runs",
        "at most half",
        f"{100 * FEW:.0f} %",
    ),
    "about": (
        "“about x”, “around x”, “×x”, “only slightly increases” (x = 1)",
        f"within a factor of {1 + ABOUT:g} of x",
        f"within a factor of {1 + LESS_ABOUT:g}",
        "the factors minus 1",
    ),
    "ratio": (
        "“at least k times”; “much”, “highly”, “late”, “substantially” (k = 2); “close to zero”, “several orders of "
        "magnitude” (k = 100)",
        "the ratio is at least k",
        "it is above 1",
        "k becomes k² or √k",
    ),
    "exponent": (
        "“grows like N^x”, “slower than N^x”",
        f"the 95 % interval of the exponent is inside x ± {EXPONENT:g} (slower: below x)",
        "it overlaps (slower: the estimate is below x)",
        f"± {EXPONENT:g}",
    ),
    "order": (
        "“better”, “worse”, “earlier”, “quickly”, “slowly”, “longer”, “larger”, “helps”",
        f"true for more than half of the pairs of seeds, p < {LEVEL:g} in the rank sum test",
        "true for more than half of the pairs",
        "the level",
    ),
    "similar": (
        "“similar”, “overlap”, “matches”, “not” or “barely affected”, “does not change”",
        f"the means differ by at most {SIMILAR:g} points of percent, steps by {SIMILAR:g} % of the larger",
        f"by at most {LESS_SIMILAR:g} points",
        "the points",
    ),
    "trend": (
        "“the higher … the more”, “decreases with”",
        f"the rank correlation is at least {1 - TREND:g}",
        f"at least {LESS_TREND:g}",
        "the distance from 1",
    ),
}
"""Rule -> the words it is for, what is reproduced, what is partly reproduced, what is halved and doubled."""
SEVERAL = (
    "A statement about several worlds, explorers or numbers is judged for each of them: it is reproduced if all are, "
    "and partly reproduced if at least half are at least partly. “Never” and “always” count the runs of all explorers "
    "and horizons that a sentence names in a world together. A “never” that is reproduced *with exceptions* has "
    "counter-examples in our runs, too few to contradict the paper's sample; the fewer seeds, the more easily."
)


class Judgement(NamedTuple):
    """What a rule says about one number."""

    rule: str
    verdicts: tuple[str, ...]
    """With the tolerances halved, as stated, and doubled."""
    margin: str
    """The number beside its tolerance."""
    used: float
    """The part of the tolerance that the number uses: at most 1 if the verdict is 'reproduced'."""
    exceptions: int = 0
    """Runs that contradict “never”."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, our result, and the verdict."""

    place: str
    """The section of the paper."""
    claim: str
    found: str
    """Our result, as text."""
    verdict: str
    rule: str = "exact"
    margin: str = ""
    halved: str = ""
    """The verdict if every tolerance were half of what it is."""
    doubled: str = ""
    kind: str = EMPIRICAL
    fresh: str = ""
    """Verdict and result with seeds that the verdict does not use; empty if there are none."""
    exceptions: int = 0
    """Runs that contradict a “never” that is reproduced."""
    all_seeds: str = ""
    """The verdict with all stored seeds, if it does not use all."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of a table: section, claim, our result, rule, margin, verdict."""
        verdict = self.verdict if self.kind != REASON else _REASON_VERDICTS[self.verdict]
        verdict += ", with exceptions" * bool(self.exceptions)
        verdict += f" (with all stored seeds: {self.all_seeds})" if self.all_seeds not in ("", self.verdict) else ""
        return self.place, self.claim, self.found, self.rule, self.margin, verdict


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


def seeds_of(groups: Groups, *, above: int = 0, up_to: int | None = None) -> Groups:
    """Return the same groups with some of their seeds, without those that have none of them."""
    last = math.inf if up_to is None else up_to
    parts = {
        label: Group(group.fields, [row for row in group.rows if above < row["seed"] <= last])
        for label, group in groups.items()
    }
    return Groups({label: group for label, group in parts.items() if len(group)})


def with_fresh_seeds(
    claims: Iterable[Claim], fresh: Iterable[Claim], seeds: str, every: Iterable[Claim] = ()
) -> list[Claim]:
    """Return the claims, each with the result of the same claim about other seeds, and its verdict with all seeds."""
    others, pooled = ({(each.place, each.claim): each for each in some} for some in (fresh, every))
    return [
        replace(
            claim,
            fresh=f"{seeds}: {other.verdict}; {other.found}",
            all_seeds=pooled[claim.place, claim.claim].verdict if pooled else "",
        )
        if (other := others.get((claim.place, claim.claim))) and claim.kind == EMPIRICAL
        else claim
        for claim in claims
    ]


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


def counts_by_kind(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """Return kind -> verdict -> number of statements, without reasons."""
    claims = list(claims)
    return {
        kind: {v: sum(c.kind == kind and c.verdict == v for c in claims) for v in VERDICTS}
        for kind in KINDS
        if any(c.kind == kind for c in claims)
    }


def summary(claims: Iterable[Claim]) -> str:
    """Return the number of the paper's statements with each verdict, by kind, as a sentence."""
    claims, parts = list(claims), []
    for kind, verdicts in counts_by_kind(claims).items():
        total = sum(verdicts.values())
        excepted = sum(bool(c.exceptions) for c in claims if c.kind == kind)
        names = dict(zip(VERDICTS, VERDICTS, strict=True))
        names[REPRODUCED] += f" ({excepted} of them with exceptions)" if excepted else ""
        numbers = ", ".join(f"{n} {names[verdict]}" for verdict, n in verdicts.items() if n)
        what = {EMPIRICAL: f"{total} claims about runs: {numbers}", EXACT: f"{total} exact ones: {numbers}"}
        parts.append(what.get(kind, f"{total} more do not hold as printed"))
    return f"Statements of the text: {'; '.join(parts)}." if parts else ""


def sensitivity(claims: Iterable[Claim]) -> str:
    """Return how many verdicts about runs would change with every tolerance halved and doubled."""
    judged = [claim for claim in claims if claim.kind == EMPIRICAL and claim.verdict != NOT_TESTABLE]
    halved, doubled = (sum(getattr(c, name) != c.verdict for c in judged) for name in ("halved", "doubled"))
    pooled = [claim for claim in judged if claim.all_seeds]
    changed = sum(claim.all_seeds != claim.verdict for claim in pooled)
    text = (
        f"If every tolerance were halved, {halved} of {len(judged)} verdicts about runs would change; if every "
        f"tolerance were doubled, {doubled} would."
    )
    more = f" {len(pooled)} verdicts use the paper's number of seeds; with all stored seeds {changed} would change."
    return text + more if pooled else text


def step_text(step: float) -> str:
    """Return a step as text."""
    return f"{step:,.0f}" if math.isfinite(step) else "never"


def claim_of(place: str, claim: str, found: str, *cases: Judgement, kind: str = EMPIRICAL) -> Claim:
    """Return a claim with the verdict on all its cases; without cases there are no runs of it."""
    if not cases:
        raise NoRuns(claim)
    halved, verdict, doubled = (_combined([case.verdicts[i] for case in cases]) for i in range(len(FACTORS)))
    worst = max(cases, key=lambda case: (VERDICTS.index(case.verdicts[1]), case.used))
    met = sum(case.verdicts[1] == REPRODUCED for case in cases)
    margin = "; ".join(filter(None, [f"{met} of {len(cases)} cases" if len(cases) > 1 else "", worst.margin]))
    rules = " and ".join(dict.fromkeys(case.rule for case in cases))
    exceptions = sum(case.exceptions for case in cases) if verdict == REPRODUCED else 0
    return Claim(place, claim, found, verdict, rules, margin, halved, doubled, kind, exceptions=exceptions)


def _combined(verdicts: Sequence[str]) -> str:
    if all(verdict == REPRODUCED for verdict in verdicts):
        return REPRODUCED
    some = sum(verdict in (REPRODUCED, PARTLY) for verdict in verdicts)
    return PARTLY if 2 * some >= len(verdicts) else NOT_REPRODUCED


def exact_claim(
    place: str, claim: str, found: str, *, holds: bool, partly: bool = False, kind: str = EXACT, margin: str = ""
) -> Claim:
    """Return a claim that holds or does not, without tolerance."""
    return claim_of(place, claim, found, exact(holds=holds, partly=partly, margin=margin), kind=kind)


def erratum(place: str, claim: str, found: str) -> Claim:
    """Return a sentence that cannot hold as printed, with what holds instead."""
    return Claim(place, claim, found, NOT_REPRODUCED, kind=ERRATUM)


def not_testable(place: str, claim: str, why: str) -> Claim:
    """Return a claim that these runs cannot decide."""
    return Claim(place, claim, why, NOT_TESTABLE, rule="–")


# --- Rules -----------------------------------------------------------------------------------------------


def _judge(
    rule: str, margin: str, used: float, holds: Callable[[float], bool], partly: Callable[[float], bool]
) -> Judgement:
    """Return the verdicts of a rule; its functions take the factor of all tolerances."""
    verdicts = (REPRODUCED if holds(f) else PARTLY if partly(f) else NOT_REPRODUCED for f in FACTORS)
    return Judgement(rule, tuple(verdicts), margin, used)


def exact(*, holds: bool, partly: bool = False, margin: str = "") -> Judgement:
    """Judge what holds or does not."""
    return _judge("exact", margin, 0.0 if holds else math.inf, lambda _: bool(holds), lambda _: bool(partly))


def chance_of_none(exceptions: int, runs: int, others: int) -> float:
    """Return the probability that none of the exceptions is among `others` runs, of `runs` + `others` (Fisher)."""
    return math.comb(runs, exceptions) / math.comb(runs + others, exceptions)


def never(exceptions: int, runs: int, *, paper_runs: int, paper_exceptions: int = 0) -> Judgement:
    """Judge that something never happens, or as often as in the paper: our exceptions are consistent with its own."""
    chance = chance_of_none(exceptions, runs, paper_runs)
    if paper_exceptions:
        from scipy.stats import fisher_exact

        table = [[exceptions, runs - exceptions], [paper_exceptions, paper_runs - paper_exceptions]]
        chance = float(fisher_exact(table).pvalue)
    margin = f"p = {chance:.2g} of {LEVEL:g}" if exceptions or paper_exceptions else "no exception"
    used = LEVEL / max(chance, 1e-300) if exceptions or paper_exceptions else 0.0
    judged = _judge("never", margin, used, lambda f: chance >= LEVEL / f, lambda f: exceptions <= RARE_SHARE * f * runs)
    return judged._replace(exceptions=0 if paper_exceptions else int(exceptions))


def mostly(n: int, runs: int) -> Judgement:
    """Judge that something happens in most runs."""
    share = n / runs
    return _judge(
        "mostly",
        f"{100 * share:.0f} % of {100 * (1 - FEW):.0f} %",
        (1 - share) / FEW,
        lambda f: share >= 1 - FEW * f,
        lambda _: share >= 0.5,
    )


def rarely(n: float, runs: float) -> Judgement:
    """Judge that something happens in few runs, or that a share is small."""
    share = n / runs
    margin = f"{100 * share:.0f} % of {100 * FEW:.0f} %"
    return _judge("rarely", margin, share / FEW, lambda f: share <= FEW * f, lambda _: share <= 0.5)


def about(value: float, paper: float) -> Judgement:
    """Judge a number that the paper gives."""
    factor = max(value / paper, paper / value) if value > 0 else math.inf
    return _judge(
        "about",
        f"factor {factor:.2f} of {1 + ABOUT:g}",
        (factor - 1) / ABOUT,
        lambda f: factor <= 1 + ABOUT * f,
        lambda f: factor <= 1 + LESS_ABOUT * f,
    )


def at_least(ratio: float, k: float) -> Judgement:
    """Judge a ratio that is at least a number."""
    used = k / max(ratio, 1e-300)
    return _judge("ratio", f"{ratio:.3g} of {k:g}", used, lambda f: ratio >= k ** (1 / f), lambda _: ratio > 1.0)


def exponent(fit: Interval, paper: float) -> Judgement:
    """Judge an exponent: its whole interval must be near the paper's."""
    return _judge(
        "exponent",
        f"[{fit.low:.2f}, {fit.high:.2f}] of {paper:g} ± {EXPONENT:g}",
        max(paper - fit.low, fit.high - paper) / EXPONENT,
        lambda f: paper - EXPONENT * f <= fit.low and fit.high <= paper + EXPONENT * f,
        lambda f: fit.low <= paper + EXPONENT * f and paper - EXPONENT * f <= fit.high,
    )


def slower_than_exponent(fit: Interval, paper: float) -> Judgement:
    """Judge an exponent that is below a number of the paper."""
    margin = f"[{fit.low:.2f}, {fit.high:.2f}] below {paper:.3g}"
    used = 0.0 if fit.high < paper else fit.high / paper
    return _judge("exponent", margin, used, lambda _: fit.high < paper, lambda _: fit.estimate < paper)


def larger(x: Numbers, y: Numbers) -> Judgement:
    """Judge that the seeds of `x` tend to have larger numbers than those of `y`."""
    from scipy.stats import mannwhitneyu

    share = probability_of_improvement(x, y)
    p = float(mannwhitneyu(x, y).pvalue) if len({*x, *y}) > 1 else 1.0
    margin = f"{100 * share:.0f} % of the pairs, p = {p:.2g}"
    used = p / LEVEL if share > 0.5 else 2 / LEVEL - p / LEVEL
    return _judge("order", margin, used, lambda f: share > 0.5 and p < LEVEL * f, lambda _: share > 0.5)


def similar(*differences: float) -> Judgement:
    """Judge that differences of means, in points of percent, are small."""
    largest = max(map(abs, differences))
    return _judge(
        "similar",
        f"{largest:.1f} of {SIMILAR:g} points",
        largest / SIMILAR,
        lambda f: largest <= SIMILAR * f,
        lambda f: largest <= LESS_SIMILAR * f,
    )


def trend(x: Numbers, y: Numbers) -> Judgement:
    """Judge that `y` grows with `x`."""
    from scipy.stats import spearmanr

    return correlated(float(spearmanr(x, y).statistic))


def correlated(rank: float) -> Judgement:
    """Judge a rank correlation."""
    return _judge(
        "trend",
        f"{rank:.2f} of {1 - TREND:g}",
        (1 - rank) / TREND,
        lambda f: rank >= 1 - TREND * f,
        lambda f: rank >= 1 - LESS_TREND * f,
    )
