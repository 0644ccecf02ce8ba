"""The agreement with the paper's tables, and the rules of its claims."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.experiments.statistics import (
    Interval,
    Percent,
    paper_percent,
    standard_error_of_difference,
)
from wanderlust_paper import claims as claim_rules
from wanderlust_paper.claims import REASON, as_json, check_all, check_claim, summary
from wanderlust_paper.reports import recap_tables
from wanderlust_paper.reports.scorecard import FORMATS, largest_interval, smallest_interval


def test_the_paper_tables_are_complete():
    cells = recap_tables.paper_cells()
    assert len(cells) == 198
    assert cells[recap_tables.Cell("taxi", "zero", "short", "bonus")] == ((74.62, 2.24), (17.6, 2.56))


@given(st.floats(0, 100), st.floats(0, 20), st.integers(1, 20))
def test_a_number_agrees_with_itself(mean, ci, seeds):
    assert recap_tables.compare(Percent(mean, ci), Percent(mean, ci), seeds)[1]


def test_the_tolerance_is_half_a_point_without_variation():
    theirs = Percent(100.0, 0.0)
    assert recap_tables.compare(Percent(99.5, 0.0), theirs, 20) == (0.0, True)
    assert recap_tables.compare(Percent(99.4, 0.0), theirs, 20) == (0.0, False)


def test_the_tolerance_is_2_58_standard_errors():
    ours, theirs = Percent(10.0, 6.0), Percent(10.0 + 2.58 * 5 + 0.4, 8.0)
    assert recap_tables.compare(ours, theirs, 20) == (5.0, True)
    assert not recap_tables.compare(ours, theirs._replace(mean=theirs.mean + 0.2), 20)[1]


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 500))
def test_with_equal_numbers_of_seeds_the_error_is_that_of_independent_means(ci, other_ci, seeds):
    error = standard_error_of_difference(Percent(0, ci), Percent(0, other_ci), (seeds, seeds))
    assert error == pytest.approx(math.hypot(ci, other_ci) / 2)


@pytest.mark.parametrize("share", [0.5, 0.83, 0.955])
def test_samples_of_the_same_distribution_rarely_differ(share):
    random = np.random.default_rng(0)
    differ = [
        not recap_tables.compare(paper_percent(100 * (random.random(200) < share)), twenty, 200)[1]
        for twenty in (paper_percent(100 * (random.random(20) < share)) for _ in range(2_000))
    ]
    assert np.mean(differ) < 0.025


def test_never_is_a_test_of_consistency():
    """One exception in 800 runs is consistent with none of 80; one in eight is not consistent with none of 40."""
    from scipy.stats import fisher_exact

    rare = claim_rules.never("4.1", "never", 1, 800, paper_runs=80)
    assert rare.verdict == "reproduced"
    assert "p = 0.91" in rare.found
    assert claim_rules.never("4.1", "never", 0, 20, paper_runs=20).verdict == "reproduced"
    assert claim_rules.never("4.1", "never", 20, 400, paper_runs=400).verdict == "partly"
    assert claim_rules.never("4.1", "never", 413, 2800, paper_runs=280).verdict == "not reproduced"
    for k, n, m in ((3, 20, 20), (5, 40, 40), (1, 800, 80)):
        expected = fisher_exact([[k, n - k], [0, m]], alternative="greater").pvalue
        assert claim_rules.chance_of_none(k, n, m) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(2.9, 3.1, "reproduced"), (2.66, 2.77, "partly"), (2.38, 2.48, "not reproduced")]
)
def test_an_exponent_is_judged_by_its_interval(low, high, verdict):
    claim = claim_rules.exponent("4.2.3", "grows like N^3", Interval((low + high) / 2, low, high), 3.0)
    assert claim.verdict == verdict
    assert claim.tolerance == "the interval is inside 2.75 to 3.25; it overlaps"


@pytest.mark.parametrize(("value", "verdict"), [(900, "reproduced"), (652, "partly"), (400, "not reproduced")])
def test_about_allows_a_quarter(value, verdict):
    assert claim_rules.about("4.2.4", "around step 1,000", value, 1000.0, "").verdict == verdict


def test_an_order_needs_a_significant_difference():
    many, few = list(range(20)), list(range(3))
    assert claim_rules.larger("", "", [x + 10 for x in many], many, "").verdict == "reproduced"
    assert claim_rules.larger("", "", [x + 1 for x in few], few, "").verdict == "partly"
    assert claim_rules.larger("", "", many, [x + 10 for x in many], "").verdict == "not reproduced"
    assert claim_rules.larger("", "", [1.0] * 5, [1.0] * 5, "").verdict == "not reproduced"


def test_the_interval_of_20_seeds_is_between_its_bounds():
    """The smallest ± with one seed at 100, and the largest ± with none above 56.88, both are attained."""
    n, mean = 20, 56.4
    one = [100.0, *[(n * mean - 100.0) / (n - 1)] * (n - 1)]
    assert smallest_interval(mean, 100.0, n) == pytest.approx(paper_percent(one).ci)
    none = [n * mean - (n - 1) * 56.88, *[56.88] * (n - 1)]
    assert largest_interval(mean, 56.88, n) == pytest.approx(paper_percent(none).ci)


@given(st.lists(st.floats(0, 56.88), min_size=2, max_size=30))
def test_no_sample_exceeds_the_largest_interval(values):
    mean, ci = paper_percent(values)
    assert ci <= largest_interval(mean, 56.88, len(values)) + 1e-9
    assert ci >= smallest_interval(mean, values[0], len(values)) - 1e-9


def test_reasons_are_not_counted_as_claims_of_the_paper():
    claims = [
        check_claim("3.1", "a statement", "so", holds=True),
        check_claim("4.1.1", "a reason", "so", tolerance="a prediction", holds=True, kind=REASON),
    ]
    assert summary(claims) == "Of 1 claim of the text: 1 reproduced, 0 partly, 0 not reproduced."
    text = FORMATS["md"]([], claims, "")
    assert "| 4.1.1 | a reason | so | a prediction | supported |" in text
    assert "| 3.1 | a statement | so | exact | reproduced |" in text
    assert [each["kind"] for each in json.loads(as_json(claims))] == ["claim", "reason"]


def test_a_check_ends_where_runs_are_missing():
    def check(groups):
        yield check_claim("3.1", "first", "", holds=bool(groups["a"]))
        yield check_claim("3.1", "second", "", holds=bool(groups["b"]))

    groups = claim_rules.Found({"a": 1, "c": 0})
    assert [claim.claim for claim in check_all((check, check), groups)] == ["first", "first"]
    with pytest.raises(claim_rules.NoRuns):
        groups["b"]
