"""Bins of continuous observations; and advice: how many, and bounds from the ranges that random actions reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box
from numpy.typing import NDArray

from wanderlust.core.errors import (
    InvalidEnvironment,
    InvalidObservation,
    InvalidSetting,
    check_integer,
    check_number,
    plain_value,
    shown,
)

Counts = int | Sequence[int]
Bounds = Sequence[tuple[float, float] | None] | Mapping[Any, tuple[float, float]]

MAX_BINS = 1_000_000
# Some environments use the largest 32-bit float for "unbounded".
_UNBOUNDED = 1e30


class Bins:
    """A Box with bins of equal width in each dimension; values beyond a bound belong to the outermost bin."""

    def __init__(self, counts: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self.counts, self.low, self.high = counts, low, high
        self._scale = self.counts / (self.high - self.low)
        self._last = self.counts - 1

    @classmethod
    def of_space(cls, space: Box, bins: Counts, bounds: Bounds | None = None) -> Bins:
        """Return the bins of a Box."""
        size = int(np.prod(space.shape))
        return cls(bin_counts("bins", bins, size), *_limits(space, size, bounds))

    def to_plain(self) -> dict[str, list[float]]:
        """Return the bins as JSON values."""
        return {"counts": self.counts.tolist(), "low": self.low.tolist(), "high": self.high.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Bins:
        """Return the bins that `to_plain` described."""
        low, high = (np.array([float(value) for value in plain[name]]) for name in ("low", "high"))
        counts = bin_counts("bins", list(plain["counts"]), len(low))
        if low.shape != high.shape or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError("the low bound of a bin's dimension must be finite and below the high bound")
        return cls(counts, low, high)

    @property
    def n_cells(self) -> int:
        """The total number of cells of the grid."""
        return int(np.prod([int(count) for count in self.counts]))

    def key_of(self, observation: Any) -> tuple[int, ...]:
        """Return the state key: the bin index of each dimension."""
        try:
            point = np.asarray(observation, np.float64).ravel()
        except Exception:  # Any object can be given.
            point = np.full(1, np.nan)
        if point.shape != self.low.shape or np.isnan(point).any():
            raise InvalidObservation(
                f"an observation must be {len(self.low)} numbers, none of them NaN, got {shown(observation)}."
            )
        # Clipped before the conversion to integers, because infinity has no integer value.
        position = np.clip((point - self.low) * self._scale, 0, self._last)
        return tuple(position.astype(np.int64).tolist())

    def describe(self, key: tuple[int, ...]) -> str:
        """Return the interval of each dimension, such as "[-0.6, -0.5] × [0, 0.01]"."""
        width = (self.high - self.low) / self.counts
        edges = [self.low + (np.array(key) + i) * width for i in (0, 1)]
        # A bound that is 0 but for a rounding error is 0.
        first, last = (np.where(np.abs(edge) < 1e-9 * width, 0.0, edge) for edge in edges)
        return " × ".join(f"[{low:.4g}, {high:.4g}]" for low, high in zip(first, last, strict=True))


def bin_counts(name: str, bins: Counts, size: int) -> NDArray[np.int64]:
    """Return the number of bins of each dimension."""
    number = plain_value(bins)
    given = [number] * size if isinstance(number, bool | int | float | str) else number
    try:
        counts = [check_integer(f"{name} of dimension {i}", n, low=1, high=MAX_BINS) for i, n in enumerate(given)]
    except TypeError:
        raise InvalidSetting(f"{name} must be a whole number or one for each dimension, got {shown(bins)}.") from None
    if len(counts) != size:
        raise InvalidSetting(f"{name} must be one number or {size}, one for each dimension, got {len(counts)}.")
    return np.array(counts, np.int64)


def _limits(space: Box, size: int, bounds: Bounds | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    for i, pair in _by_dimension(bounds, size).items():
        try:
            first, last = pair
        except (TypeError, ValueError):
            raise InvalidSetting(f"bounds of dimension {i} must be (low, high) or None, got {shown(pair)}.") from None
        low[i] = check_number(f"the low bound of dimension {i}", first)
        high[i] = check_number(f"the high bound of dimension {i}", last, low=low[i], open_low=True)
    for unbounded in np.flatnonzero((np.abs(low) > _UNBOUNDED) | (np.abs(high) > _UNBOUNDED)):
        i = int(unbounded)
        raise InvalidEnvironment(
            f"dimension {i} of the observation is unbounded ({low[i]:g} to {high[i]:g}), so it cannot be divided into "
            f"bins; set its bounds: bounds={{{i}: (low, high)}}. Values beyond them belong to the outermost bin."
        )
    return low, high


def _by_dimension(bounds: Bounds | None, size: int) -> dict[int, Any]:
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        by_text = {str(i): i for i in range(size)}  # In a table of a file, dimensions are text.
        limits = ((by_text.get(i, i) if isinstance(i, str) else i, pair) for i, pair in bounds.items())
        return {check_integer("a dimension of bounds", i, low=0, high=size - 1): pair for i, pair in limits}
    is_list = isinstance(bounds, Sequence) or (isinstance(bounds, np.ndarray) and bounds.ndim > 0)
    if not is_list or isinstance(bounds, str) or len(bounds) != size:
        raise InvalidSetting(
            f"bounds must be one (low, high) or None for each of the {size} dimensions, or a dict from dimension to "
            f"(low, high), got {shown(bounds)}."
        )
    return {i: pair for i, pair in enumerate(bounds) if pair is not None}


# --- Advice --------------------------------------------------------------------------------------------

RANDOM_STEPS = 2_000
MAX_CELLS = 50_000
"""The largest number of cells that is suggested: each must be visited to be known."""
_MIN_BINS, _MAX_BINS = 3, 20
_MAX_DIMENSIONS = 8
"""Bins of more dimensions have too many cells, whatever their number."""
_FEW_BINS = 3.0
"""Bounds are suggested for dimensions whose observed range has fewer bins: these hardly tell states apart. With more,
bounds do harm: a trained agent can go beyond the range of random actions, as in MountainCar."""
_MARGIN = 0.5
"""What a trained agent may reach beyond the observed range, as a share of it, on either side."""


def bins_options(env: Env[Any, Any]) -> str | None:
    """Return the options that divide the observations of an environment into bins; None if that is no use."""
    space = env.observation_space
    if not isinstance(space, Box) or not 0 < (size := int(np.prod(space.shape))) <= _MAX_DIMENSIONS:
        return None
    try:
        first, last = _observed_range(env)
    except Exception:  # The environment fails; training reports how.
        return None
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    # A root can be slightly too small.
    bins = min(max(int(MAX_CELLS ** (1.0 / size) + 1e-9), _MIN_BINS), _MAX_BINS)
    is_unbounded = np.maximum(np.abs(low), np.abs(high)) > _UNBOUNDED
    margin = np.where(last > first, _MARGIN * (last - first), 1.0)
    pairs = [
        f"{i}={max(first[i] - margin[i], low[i]):.2g},{min(last[i] + margin[i], high[i]):.2g}"
        for i in range(size)
        if is_unbounded[i] or bins * (last[i] - first[i]) < _FEW_BINS * (high[i] - low[i])
    ]
    return f"--bins {bins}{' --bounds ' if pairs else ''}{' '.join(pairs)}"


def _observed_range(env: Env[Any, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest value of each dimension over steps with random actions."""
    env.action_space.seed(0)
    observations = [np.array(env.reset(seed=0)[0])]
    for _ in range(RANDOM_STEPS):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        observations.append(np.array(observation))
        if terminated or truncated:
            observations.append(np.array(env.reset()[0]))
    seen = np.array([np.ravel(observation) for observation in observations], np.float64)
    return seen.min(axis=0), seen.max(axis=0)
