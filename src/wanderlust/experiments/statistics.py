"""Statistics over seeds.

Given one number per seed, x₁ … x_n:

    paper       mean ± 2 σ/√n, σ² = Σ(x − mean)²/n                     (Table 1; the text calls it 95 %)
    Wilson      an interval for a share k/n that stays inside [0, 1]  (Wilson 1927)
    bootstrap   percentiles of a statistic over samples with replacement
    IQM         the interquartile mean                                 (Agarwal et al. 2021)
    P(X > Y)    probability of improvement, ties counting half         (Agarwal et al. 2021)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.core.mdp import FloatArray

__all__ = [
    "Interval", "Percent", "bootstrap_interval", "interquartile_mean", "paper_curve", "paper_percent",
    "probability_of_improvement", "wilson_interval",
]  # fmt: skip

_STANDARD_ERRORS = 2.0
_LEVEL, _NORMAL_95 = 0.95, 1.959963984540054


class Interval(NamedTuple):
    """An estimate with its lower and upper bound."""

    estimate: float
    low: float
    high: float


class Percent(NamedTuple):
    """A mean over seeds and its ±, as the recap tables print them."""

    mean: float
    ci: float

    @property
    def standard_error(self) -> float:
        """The standard error: half of the ±."""
        return self.ci / _STANDARD_ERRORS


def _numbers(values: ArrayLike) -> FloatArray:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise InvalidSetting(f"statistics need at least one finite number per seed, got {values!r}.")
    return x


def paper_percent(values: ArrayLike) -> Percent:
    """Return mean ± 2 σ/√n, σ with divisor n, as in the paper's tables."""
    mean, ci = paper_curve(_numbers(values))
    return Percent(float(mean), float(ci))


def paper_curve(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same mean and ± for each point of curves [seed, ...]."""
    return values.mean(axis=0), _STANDARD_ERRORS * values.std(axis=0) / math.sqrt(len(values))


def wilson_interval(successes: int, n: int) -> Interval:
    """Return the share of successes with Wilson's interval: (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n)."""
    n = check_integer("n", n, low=1)
    k = check_integer("successes", successes, low=0, high=n)
    z = _NORMAL_95
    share, scale = k / n, 1.0 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    # Rounding must not move a bound past the share itself.
    return Interval(share, min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share))


def interquartile_mean(values: ArrayLike) -> float:
    """Return the mean between the quartiles; if n/4 is not an integer, the outermost seeds have fractional weights."""
    x = np.sort(_numbers(values))
    n = len(x)
    # Seed i covers the ranks [i, i + 1]; its weight is the length of the part between the quartiles n/4 and 3n/4.
    ranks = np.arange(n)
    weight = np.clip(np.minimum(ranks + 1, 0.75 * n) - np.maximum(ranks, 0.25 * n), 0.0, 1.0)
    return float(np.clip((weight @ x) / weight.sum(), x[0], x[-1]))


def _mean(x: FloatArray) -> FloatArray:
    return np.asarray(x.mean(axis=-1))


def bootstrap_interval(
    values: ArrayLike, statistic: Callable[[FloatArray], FloatArray] = _mean, *, samples: int = 2000
) -> Interval:
    """Return a statistic and its percentile bootstrap interval over the seeds, always with the same random samples.

    `statistic` takes an array [..., seed] and returns one number per leading index.
    """
    x = _numbers(values)
    resampled = np.random.default_rng(0).integers(len(x), size=(samples, len(x)))
    statistics = np.asarray(statistic(x[resampled]))
    low, high = np.quantile(statistics, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(float(statistic(x)), float(low), float(high))


def probability_of_improvement(x: ArrayLike, y: ArrayLike) -> float:
    """Return the share of pairs in which a seed of `x` exceeds a seed of `y`; a tie counts half."""
    a, b = _numbers(x)[:, None], _numbers(y)[None, :]
    return float((a > b).mean() + 0.5 * (a == b).mean())
