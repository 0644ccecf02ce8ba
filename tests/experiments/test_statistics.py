"""Statistics over seeds: known values, and properties for arbitrary numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.statistics import (
    bootstrap_interval,
    interquartile_mean,
    paper_percent,
    probability_of_improvement,
    wilson_interval,
)

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def test_the_paper_interval():
    assert paper_percent([0.0, 100.0]) == (50.0, pytest.approx(100.0 / math.sqrt(2.0)))
    mean, ci = paper_percent([100.0] * 8 + [0.0] * 12)
    assert (mean, round(ci, 2)) == (40.0, 21.91), "a cell of the paper's Table 1"


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


def test_iqm_known_values():
    assert interquartile_mean([1, 2, 3, 4]) == 2.5
    assert interquartile_mean([-1000, 2, 3, 1000]) == 2.5
    # A quarter of five is 1.25: the second and the fourth number have a weight of three quarters each.
    assert interquartile_mean([100, 1, 3, 2, 0]) == pytest.approx((0.75 * 1 + 2 + 0.75 * 3) / 2.5)
    assert interquartile_mean([7]) == 7


@given(numbers)
def test_estimates_lie_between_the_extremes(values):
    first, again = (bootstrap_interval(values, samples=50) for _ in range(2))
    assert first == again
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= first.low <= first.high <= max(values) + slack
    assert first.estimate == pytest.approx(np.mean(values))
    assert min(values) <= interquartile_mean(values) <= max(values)


def test_bootstrap_interval_of_a_mean_is_about_two_standard_errors():
    values = np.random.default_rng(0).normal(size=200)
    mean, low, high = bootstrap_interval(values)
    ci = paper_percent(values).ci
    assert (mean - low, high - mean) == (pytest.approx(ci, rel=0.1), pytest.approx(ci, rel=0.1))


@given(numbers, numbers)
def test_probability_of_improvement_and_its_opposite_sum_to_one(x, y):
    assert probability_of_improvement(x, y) + probability_of_improvement(y, x) == pytest.approx(1.0)
    assert probability_of_improvement([3, 4], [1, 2]) == 1.0


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [[1.0]]])
def test_empty_or_infinite_samples_are_rejected(bad):
    for function in (paper_percent, interquartile_mean, bootstrap_interval):
        with pytest.raises(WanderlustError, match="at least one finite number"):
            function(bad)
