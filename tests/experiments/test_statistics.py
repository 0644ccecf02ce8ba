"""Statistics over seeds: known values, and properties for arbitrary numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.statistics import (
    Interval,
    Percent,
    bootstrap_interval,
    interquartile_mean,
    paper_percent,
    probability_of_improvement,
    standard_error_of_difference,
    wilson_interval,
)
from wanderlust_paper.claims import claim_rules
from wanderlust_paper.claims.claims import as_json, as_markdown, check_reason, from_json, summary
from wanderlust_paper.reports import recap_report
from wanderlust_paper.reports.feasibility import largest_interval, smallest_interval

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def test_the_paper_interval_of_two_seeds():
    assert paper_percent([0.0, 100.0]) == (50.0, pytest.approx(100.0 / math.sqrt(2.0)))


def test_the_paper_interval_of_a_toy_cell():
    """Eight of twenty seeds at 100: the paper prints 40 ± 21.91."""
    mean, ci = paper_percent([100.0] * 8 + [0.0] * 12)
    assert (mean, round(ci, 2)) == (40.0, 21.91)


@given(numbers, st.floats(-100, 100), st.floats(0, 10))
def test_the_paper_interval_is_equivariant_to_shift_and_scale(values, shift, scale):
    before, after = paper_percent(values), paper_percent(scale * np.array(values) + shift)
    assert after.mean == pytest.approx(scale * before.mean + shift, rel=1e-9, abs=1e-6)
    assert after.ci == pytest.approx(scale * before.ci, rel=1e-6, abs=1e-6)


def test_wilson_known_values():
    """Newcombe (1998): 81 of 263 gives 0.2553 to 0.3662."""
    share, low, high = wilson_interval(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert share == 81 / 263


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_inside_and_is_symmetric(k_of_n):
    k, n = k_of_n
    share, low, high = wilson_interval(k, n)
    assert 0.0 <= low <= share <= high <= 1.0
    mirrored = wilson_interval(n - k, n)
    assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))
    assert high > low


@given(st.integers(1, 100))
def test_wilson_narrows_with_more_seeds(n):
    few, many = wilson_interval(n, 2 * n), wilson_interval(2 * n, 4 * n)
    assert many.high - many.low < few.high - few.low


def test_iqm_known_values():
    assert interquartile_mean([1, 2, 3, 4]) == 2.5
    assert interquartile_mean([-1000, 2, 3, 1000]) == 2.5
    # A quarter of five is 1.25: the second and the fourth number have a weight of three quarters each.
    assert interquartile_mean([0, 1, 2, 3, 100]) == pytest.approx((0.75 * 1 + 2 + 0.75 * 3) / 2.5)
    assert interquartile_mean([7]) == 7


@given(numbers, st.randoms())
def test_iqm_lies_between_the_extremes_and_does_not_depend_on_the_order(values, random):
    shuffled = values[:]
    random.shuffle(shuffled)
    assert min(values) <= interquartile_mean(values) <= max(values)
    assert interquartile_mean(values) == interquartile_mean(shuffled)


@given(numbers)
def test_bootstrap_interval_lies_between_the_extremes_and_repeats(values):
    first, again = (bootstrap_interval(values, samples=50, seed=3) for _ in range(2))
    assert first == again
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= first.low <= first.high <= max(values) + slack
    assert first.estimate == pytest.approx(np.mean(values))


def test_bootstrap_interval_of_a_mean_is_about_two_standard_errors():
    values = np.random.default_rng(0).normal(size=200)
    _, low, high = bootstrap_interval(values)
    assert (high - low) / 2 == pytest.approx(paper_percent(values).ci, rel=0.1)


@given(numbers, numbers)
def test_probability_of_improvement_and_its_opposite_sum_to_one(x, y):
    forth, back = probability_of_improvement(x, y), probability_of_improvement(y, x)
    assert 0.0 <= forth <= 1.0
    assert forth + back == pytest.approx(1.0)
    assert probability_of_improvement(x, x) == pytest.approx(0.5)


def test_probability_of_improvement_known_values():
    assert probability_of_improvement([3, 4], [1, 2]) == 1.0
    assert probability_of_improvement([1, 2], [1, 2]) == 0.5


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [[1.0]]])
def test_empty_or_infinite_samples_are_rejected(bad):
    for function in (paper_percent, interquartile_mean, bootstrap_interval):
        with pytest.raises(WanderlustError, match="at least one finite number"):
            function(bad)


def test_the_paper_tables_are_complete():
    cells = recap_report.paper_cells()
    assert len(cells) == 198
    assert cells[recap_report.Cell("taxi", "zero", "short", "bonus")] == ((74.62, 2.24), (17.6, 2.56))


@given(st.floats(0, 100), st.floats(0, 20), st.integers(1, 20))
def test_a_number_agrees_with_itself(mean, ci, seeds):
    assert recap_report.compare(Percent(mean, ci), Percent(mean, ci), seeds)[1]


def test_the_tolerance_is_half_a_point_without_variation():
    theirs = Percent(100.0, 0.0)
    assert recap_report.compare(Percent(99.5, 0.0), theirs, 20) == (0.0, True)
    assert recap_report.compare(Percent(99.4, 0.0), theirs, 20) == (0.0, False)


def test_the_tolerance_is_2_58_standard_errors():
    ours, theirs = Percent(10.0, 6.0), Percent(10.0 + 2.58 * 5 + 0.4, 8.0)
    assert recap_report.compare(ours, theirs, 20) == (5.0, True)
    assert not recap_report.compare(ours, theirs._replace(mean=theirs.mean + 0.2), 20)[1]


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 500))
def test_with_equal_numbers_of_seeds_the_error_is_that_of_independent_means(ci, other_ci, seeds):
    error = standard_error_of_difference(Percent(0, ci), Percent(0, other_ci), (seeds, seeds))
    assert error == pytest.approx(math.hypot(ci, other_ci) / 2)


@pytest.mark.parametrize("share", [0.5, 0.83, 0.955])
def test_samples_of_the_same_distribution_rarely_differ(share):
    random = np.random.default_rng(0)
    differ = [
        not recap_report.compare(paper_percent(100 * (random.random(200) < share)), twenty, 200)[1]
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
        claim_rules.fact("3.1", "a statement", "so", holds=True),
        check_reason("4.1.1", "a reason", "so", tolerance="a prediction", holds=True),
    ]
    assert summary(claims) == "Of 1 claim of the text: 1 reproduced, 0 partly, 0 not reproduced."
    text = as_markdown(claims)
    assert "| 4.1.1 | a reason | so | a prediction | supported |" in text
    assert "| 3.1 | a statement | so | exact | reproduced |" in text
    assert from_json(as_json(claims), "here") == claims
