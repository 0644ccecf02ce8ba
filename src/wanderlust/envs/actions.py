"""An environment's own actions, numbered from 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting
from wanderlust.envs.bins import Counts, bin_counts

MAX_ACTIONS = 10_000


class Actions(NamedTuple):
    """How many actions there are, and what the environment takes for each number."""

    n: int
    decode: Callable[[int], Any]


def numbered_actions(space: Space[Any], action_bins: Counts | None) -> Actions:
    """Return the actions of a space in order; of several parts, the last varies fastest."""
    if isinstance(space, Box):
        return _from_box(space, action_bins)
    if action_bins is not None:
        raise InvalidSetting(f"action_bins is for actions that are a Box, but the environment's are {space}.")
    if isinstance(space, Discrete):
        first = int(space.start)
        return Actions(_checked(int(space.n), space), lambda number: first + number)
    if isinstance(space, MultiDiscrete | MultiBinary):
        sizes = np.full(space.shape, 2) if isinstance(space, MultiBinary) else np.asarray(space.nvec)
        start = np.zeros(sizes.shape, np.int64) if isinstance(space, MultiBinary) else np.asarray(space.start)
        shape, dtype = tuple(int(n) for n in sizes.ravel()), space.dtype
        grid = sizes.shape

        def parts(number: int) -> Any:
            return (np.array(np.unravel_index(number, shape)).reshape(grid) + start).astype(dtype)

        return Actions(_checked(_product(shape), space), parts)
    raise InvalidEnvironment(
        f"actions of the space {space} cannot be numbered; they must be Discrete, MultiDiscrete, MultiBinary or a Box. "
        "Wrap the environment in a gymnasium.ActionWrapper that has such actions."
    )


def _from_box(space: Box, action_bins: Counts | None) -> Actions:
    if action_bins is None:
        raise InvalidEnvironment(
            f"the environment's actions are continuous, {space}; say into how many values to cut each dimension, such "
            "as action_bins=5."
        )
    counts = bin_counts("action_bins", action_bins, int(np.prod(space.shape)))
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    for i in np.flatnonzero(~np.isfinite(low) | ~np.isfinite(high)):
        raise InvalidEnvironment(
            f"dimension {i} of the actions is unbounded ({low[i]:g} to {high[i]:g}), so it cannot be cut; wrap the "
            "environment in gymnasium.wrappers.RescaleAction first."
        )
    levels = [_levels(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    sizes = tuple(int(n) for n in counts)

    def point(number: int) -> Any:
        place = np.unravel_index(number, sizes)
        return np.array([values[i] for values, i in zip(levels, place, strict=True)], space.dtype).reshape(space.shape)

    return Actions(_checked(_product(sizes), space), point)


def _levels(low: float, high: float, n: int) -> Any:
    return np.linspace(low, high, n) if n > 1 else np.array([(low + high) / 2])


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod([float(n) for n in sizes])) if sizes else 1


def _checked(n: int, space: Space[Any]) -> int:
    if n > MAX_ACTIONS:
        raise InvalidEnvironment(
            f"the environment has {n:,} actions, {space}; at most {MAX_ACTIONS:,} can be numbered. Use fewer bins, or "
            "a wrapper with fewer actions."
        )
    return n
