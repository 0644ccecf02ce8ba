"""The agreement with the paper's tables, and the rules of its claims."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.experiments.statistics import Interval, Percent, paper_percent
from wanderlust_paper import claims as claim_rules
from wanderlust_paper.claims import REASON, check_all, claim_of, exact_claim, sensitivity, summary
from wanderlust_paper.reports import recap_tables


def test_the_paper_tables_are_complete():
    cells = recap_tables.paper_cells()
    assert len(cells) == 198
    assert cells[recap_tables.Cell("taxi", "zero", "short", "bonus")] == ((74.62, 2.24), (17.6, 2.56))


def test_the_tolerance_is_2_58_standard_errors_and_half_a_point():
    theirs = Percent(100.0, 0.0)
    assert recap_tables.compare(Percent(99.5, 0.0), theirs, 20) == (0.0, True)
    assert recap_tables.compare(Percent(99.4, 0.0), theirs, 20) == (0.0, False)
    ours, theirs = Percent(10.0, 6.0), Percent(10.0 + 2.58 * 5 + 0.4, 8.0)
    assert recap_tables.compare(ours, theirs, 20) == (5.0, True)
    assert not recap_tables.compare(ours, theirs._replace(mean=theirs.mean + 0.2), 20)[1]


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 500))
def test_with_equal_numbers_of_seeds_the_error_is_that_of_independent_means(ci, other_ci, seeds):
    error = recap_tables.standard_error_of_difference(Percent(0, ci), Percent(0, other_ci), (seeds, seeds))
    assert error == pytest.approx(math.hypot(ci, other_ci) / 2)


def test_samples_of_the_same_distribution_rarely_differ():
    random = np.random.default_rng(0)
    differ = [
        not recap_tables.compare(paper_percent(100 * (random.random(200) < 0.83)), twenty, 200)[1]
        for twenty in (paper_percent(100 * (random.random(20) < 0.83)) for _ in range(500))
    ]
    assert np.mean(differ) < 0.025


def verdict(judgement):
    return judgement.verdicts[1]


def test_never_is_a_test_of_consistency():
    """One exception in 800 runs is consistent with none of 80; one in eight is not consistent with none of 40."""
    from scipy.stats import fisher_exact

    rare = claim_rules.never(1, 800, paper_runs=80)
    assert verdict(rare) == "reproduced"
    assert rare.margin == "p = 0.91 of 0.05"
    assert verdict(claim_rules.never(0, 20, paper_runs=20)) == "reproduced"
    assert verdict(claim_rules.never(20, 400, paper_runs=400)) == "partly"
    assert verdict(claim_rules.never(413, 2800, paper_runs=280)) == "not reproduced"
    assert verdict(claim_rules.never(1, 50, paper_runs=50, paper_exceptions=2)) == "reproduced"
    assert verdict(claim_rules.never(30, 50, paper_runs=50, paper_exceptions=2)) == "not reproduced"
    for k, n, m in ((3, 20, 20), (5, 40, 40), (1, 800, 80)):
        expected = fisher_exact([[k, n - k], [0, m]], alternative="greater").pvalue
        assert claim_rules.chance_of_none(k, n, m) == pytest.approx(expected)


def test_exponents_are_judged_by_their_interval_and_about_allows_a_quarter():
    for low, high, expected in ((2.9, 3.1, "reproduced"), (2.66, 2.77, "partly"), (2.38, 2.48, "not reproduced")):
        assert verdict(claim_rules.exponent(Interval((low + high) / 2, low, high), 3.0)) == expected
    for value, expected in ((900, "reproduced"), (652, "partly"), (400, "not reproduced")):
        assert verdict(claim_rules.about(value, 1000.0)) == expected


def test_an_order_needs_a_significant_difference():
    many, few = list(range(20)), list(range(3))
    assert verdict(claim_rules.larger([x + 10 for x in many], many)) == "reproduced"
    assert verdict(claim_rules.larger([x + 1 for x in few], few)) == "partly"
    assert verdict(claim_rules.larger(many, [x + 10 for x in many])) == "not reproduced"
    assert verdict(claim_rules.larger([1.0] * 5, [1.0] * 5)) == "not reproduced"


@pytest.mark.parametrize(
    "judgements",
    [
        [claim_rules.similar(x) for x in (1.0, 4.0, 8.0, 16.0, 40.0)],
        [claim_rules.about(x, 4.0) for x in (4.0, 4.8, 5.8, 7.9, 11.0, 30.0)],
        [claim_rules.mostly(n, 100) for n in (100, 93, 85, 60, 10)],
        [claim_rules.rarely(n, 100) for n in (0, 7, 15, 40, 90)],
        [claim_rules.never(n, 100, paper_runs=100) for n in (0, 4, 6, 10, 50)],
        [claim_rules.at_least(x, 2.0) for x in (9.0, 3.0, 1.5, 1.1, 0.5)],
        [claim_rules.correlated(x) for x in (1.0, 0.92, 0.85, 0.3, -1.0)],
        [claim_rules.exponent(Interval(x, x - 0.02, x + 0.02), 3.0) for x in (3.0, 3.2, 3.4, 4.0)],
    ],
)
def test_a_larger_tolerance_is_never_stricter(judgements):
    order = {"not reproduced": 0, "partly": 1, "reproduced": 2}
    for each in judgements:
        halved, stated, doubled = (order[verdict] for verdict in each.verdicts)
        assert halved <= stated <= doubled
    assert len({each.verdicts for each in judgements}) > 2, "the tolerance matters for some of these numbers"


def test_a_claim_has_the_verdict_of_all_its_cases():
    good, bad = claim_rules.similar(1.0), claim_rules.similar(20.0)
    assert claim_of("4.1", "both", "so", good, good).verdict == "reproduced"
    mixed = claim_of("4.1", "half", "so", good, bad)
    assert (mixed.verdict, mixed.margin) == ("partly", "1 of 2 cases; 20.0 of 5 points")
    assert claim_of("4.1", "few", "so", good, bad, bad).verdict == "not reproduced"
    cases = [claim_rules.similar(x) for x in (0.0, 4.9, 3.4)]
    nearest = claim_of("4.1", "all", "so", *cases, claim_rules.exact(holds=True))
    assert nearest.margin == "4 of 4 cases; 4.9 of 5 points", "that of the case nearest to its limit"
    assert sensitivity([claim_of("4.1", "near", "so", claim_rules.similar(4.0)), mixed]) == (
        "If every tolerance were halved, 1 of 2 verdicts about runs would change; if every tolerance were doubled, 0 "
        "would."
    )


def test_kinds_are_counted_apart_and_reasons_not_at_all():
    claims = [
        exact_claim("3.1", "a statement", "so", holds=True),
        claim_rules.erratum("3.1", "a misprint", "so"),
        claim_of("4.1", "about runs", "so", claim_rules.similar(1.0)),
        claim_rules.not_testable("4.1", "too large", "so"),
        claim_of("4.1.1", "a reason", "so", claim_rules.similar(1.0), kind=REASON),
    ]
    assert summary(claims) == (
        "Statements of the text: 2 claims about runs: 1 reproduced, 1 not testable; 1 exact ones: 1 reproduced; "
        "1 more do not hold as printed."
    )


def test_a_never_with_counter_examples_is_reproduced_with_exceptions():
    claim = claim_of("4.1", "never", "so", claim_rules.never(1, 800, paper_runs=80))
    assert (claim.verdict, claim.texts[-1]) == ("reproduced", "reproduced, with exceptions")
    assert "1 reproduced (1 of them with exceptions)" in summary([claim])
    failed = claim_of("4.1", "never", "so", claim_rules.never(413, 2800, paper_runs=280))
    assert failed.texts[-1] == "not reproduced"


def test_the_verdict_with_all_seeds_stands_beside_that_with_the_papers_seeds():
    few, fresh, every = (claim_of("A.5", "never", "so", claim_rules.never(*x, paper_runs=20))
                         for x in ((4, 20), (3, 20), (7, 40)))  # fmt: skip
    (claim,) = claim_rules.with_fresh_seeds([few], [fresh], "seeds 21 to 40", [every])
    assert claim.texts[-1] == "reproduced, with exceptions (with all stored seeds: not reproduced)"
    assert "1 verdicts use the paper's number of seeds; with all stored seeds 1 would change." in sensitivity([claim])


def test_a_check_ends_where_runs_are_missing():
    def check(groups):
        yield exact_claim("3.1", "first", "", holds=bool(groups["a"]))
        yield exact_claim("3.1", "second", "", holds=bool(groups["b"]))

    groups = claim_rules.Found({"a": 1, "c": 0})
    assert [claim.claim for claim in check_all((check, check), groups)] == ["first", "first"]
    with pytest.raises(claim_rules.NoRuns):
        groups["b"]
