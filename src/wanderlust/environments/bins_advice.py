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
_FEW_BINS = 3.0
"""Bounds are suggested for dimensions whose observed range has fewer bins: these hardly tell states apart. With more,
bounds do harm: a trained agent can go beyond the range of random actions, as in MountainCar."""
_MARGIN = 0.5
"""What a trained agent may reach beyond the observed range, as a share of it, on either side."""
_UNBOUNDED = 1e30


class Dimension(NamedTuple):
    """One dimension of the observations."""

    number: int
    observed: tuple[float, float]
    declared: tuple[float, float]

    def is_narrow(self, bins: int) -> bool:
        """Whether the observed range has few of the bins of the declared range."""
        (low, high), (first, last) = self.declared, self.observed
        return max(abs(low), abs(high)) > _UNBOUNDED or bins * (last - first) < _FEW_BINS * (high - low)

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
    bins = suggested_bins(len(dimensions))
    return f"--bins {bins}{bounds_option([each for each in dimensions if each.is_narrow(bins)])}"


def bounds_option(dimensions: list[Dimension]) -> str:
    """Return the option that sets the bounds of these dimensions; "" if there are none."""
    pairs = [f"{each.number}={each.bounds[0]:g},{each.bounds[1]:g}" for each in dimensions]
    return f" --bounds {' '.join(pairs)}" if pairs else ""


def bins_sentences(env: Env[Any, Any], counts: list[int], low: list[float], high: list[float]) -> list[str]:
    """Return sentences on bins that the observations hardly use, and on their number."""
    try:
        dimensions = observed_dimensions(env)
    except Exception:  # The environment fails; training reports how.
        return []
    binned = [each._replace(declared=(low[each.number], high[each.number])) for each in dimensions]
    narrow = [each for each in binned if each.is_narrow(counts[each.number])]
    sentences = [
        f"Dimension {each.number}: the bins cover {each.declared[0]:.4g} to {each.declared[1]:.4g}, but random actions "
        f"reach only {each.observed[0]:.4g} to {each.observed[1]:.4g}."
        for each in narrow
    ]
    suggested, cells = suggested_bins(len(counts)), math.prod(counts)
    is_finer = any(counts[each.number] < suggested for each in narrow)
    if narrow:
        bounds = bounds_option([each for each in narrow if each.is_narrow(max(counts[each.number], suggested))])
        options = f"{f' --bins {suggested}' if is_finer else ''}{bounds}"
        sentences.append(f"Finer bins tell the states of this range apart:{options}")
    if cells > MAX_CELLS and not is_finer:
        sentences.append(
            f"There are {counted(cells, 'cell')}, each of which must be visited to be known; try --bins {suggested}."
        )
    return sentences or [f"The range that random actions reach has at least {_FEW_BINS:g} bins in each dimension."]


def _rounded(value: float, round_outwards: Any, scale: float) -> float:
    """Return a number with the decimals that matter at a scale."""
    unit = 10.0 ** (math.floor(math.log10(scale)) - 1) if scale > 0 else 1.0
    rounded = round_outwards(value / unit) * unit
    return float(f"{rounded:.6g}")
