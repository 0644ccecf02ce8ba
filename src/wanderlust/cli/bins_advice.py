"""Advice on bins for continuous observations: how many, and bounds from the ranges that random actions reach."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box
from numpy.typing import NDArray

from wanderlust.core.errors import counted

RANDOM_STEPS = 2_000
MAX_CELLS = 50_000
"""The largest number of cells that is suggested: each must be visited to be known."""
_MIN_BINS, _MAX_BINS = 3, 20
_MAX_DIMENSIONS = 8
"""Bins of more dimensions have too many cells, whatever their number."""
_NARROW = 0.6
"""Bounds are suggested for dimensions of which less than this share of the declared range was observed."""
_MARGIN = 0.5
"""What a trained agent may reach beyond the observed range, as a share of it, on either side."""
_UNBOUNDED = 1e30


class Dimension(NamedTuple):
    """One dimension of the observations."""

    number: int
    observed: tuple[float, float]
    declared: tuple[float, float]

    @property
    def is_narrow(self) -> bool:
        """Whether much of the declared range was not observed."""
        (low, high), (first, last) = self.declared, self.observed
        return max(abs(low), abs(high)) > _UNBOUNDED or last - first < _NARROW * (high - low)

    @property
    def bounds(self) -> tuple[float, float]:
        """The observed range with a margin, within the declared one, as short numbers."""
        first, last = self.observed
        margin = _MARGIN * (last - first) or 1.0
        low, high = max(first - margin, self.declared[0]), min(last + margin, self.declared[1])
        return _rounded(low, math.floor, high - low), _rounded(high, math.ceil, high - low)


def suggested_bins(n_dimensions: int) -> int:
    """Return a number of bins per dimension with which there are not too many cells."""
    # A root can be slightly too small.
    largest = int(MAX_CELLS ** (1.0 / max(n_dimensions, 1)) + 1e-9)
    return min(max(largest, _MIN_BINS), _MAX_BINS)


def observed_dimensions(env: Env[Any, Any], steps: int = RANDOM_STEPS) -> list[Dimension]:
    """Return the range of each dimension over steps with random actions in an environment with Box observations."""
    space = env.observation_space
    assert isinstance(space, Box)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    low = high = np.asarray(observation, np.float64).ravel()
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        low, high = _extended(low, high, observation)
        if terminated or truncated:
            observation, _ = env.reset()
            low, high = _extended(low, high, observation)
    declared = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
    observed = zip(low.tolist(), high.tolist(), strict=True)
    return [Dimension(i, seen, limits) for i, (seen, limits) in enumerate(zip(observed, declared, strict=True))]


def _extended(low: NDArray[Any], high: NDArray[Any], observation: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    values = np.asarray(observation, np.float64).ravel()
    return np.minimum(low, values), np.maximum(high, values)


def bins_options(env: Env[Any, Any]) -> str | None:
    """Return the options that divide the observations of an environment into bins; None if that is no use."""
    space = env.observation_space
    if not isinstance(space, Box) or not 0 < int(np.prod(space.shape)) <= _MAX_DIMENSIONS:
        return None
    try:
        dimensions = observed_dimensions(env)
    except Exception:  # The environment fails; training reports how.
        return None
    return f"--bins {suggested_bins(len(dimensions))}{bounds_option(dimensions)}"


def bounds_option(dimensions: list[Dimension]) -> str:
    """Return the option for the dimensions of which little was observed; "" if there are none."""
    pairs = [f"{each.number}={each.bounds[0]:g},{each.bounds[1]:g}" for each in dimensions if each.is_narrow]
    return f" --bounds {' '.join(pairs)}" if pairs else ""


def bins_sentences(env: Env[Any, Any], counts: list[int], low: list[float], high: list[float]) -> list[str]:
    """Return sentences on bins that the observations hardly use, and on their number."""
    try:
        dimensions = observed_dimensions(env)
    except Exception:  # The environment fails; training reports how.
        return []
    binned = [each._replace(declared=(low[each.number], high[each.number])) for each in dimensions]
    sentences = [
        f"Dimension {each.number}: the bins cover {each.declared[0]:.4g} to {each.declared[1]:.4g}, but random actions "
        f"reach only {each.observed[0]:.4g} to {each.observed[1]:.4g}."
        for each in binned
        if each.is_narrow
    ]
    if sentences:
        sentences.append(f"Bins of the range that is used are finer:{bounds_option(binned)}")
    cells = math.prod(counts)
    if cells > MAX_CELLS:
        sentences.append(
            f"There are {counted(cells, 'cell')}, each of which must be visited to be known; try --bins "
            f"{suggested_bins(len(counts))}."
        )
    return sentences or ["The observations use most of the range that the bins cover."]


def _rounded(value: float, round_outwards: Any, scale: float) -> float:
    """Return a number with the decimals that matter at a scale."""
    unit = 10.0 ** (math.floor(math.log10(scale)) - 1) if scale > 0 else 1.0
    rounded = round_outwards(value / unit) * unit
    return float(f"{rounded:.6g}")
