"""Action spaces as a finite set of actions with indices from 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting
from wanderlust.envs.bins import Counts, bin_counts

MAX_ACTIONS = 10_000


class DiscreteActions(NamedTuple):
    """The number of actions, and a function from an action index to the environment's action."""

    n: int
    decode: Callable[[int], Any]


def discrete_actions(space: Space[Any], action_bins: Counts | None) -> DiscreteActions:
    """Return the actions of a space; if an action has several components, the last one varies fastest."""
    if isinstance(space, Box):
        return _from_box(space, action_bins)
    if action_bins is not None:
        raise InvalidSetting(f"action_bins requires a Box action space, but the environment's is {space}.")
    if isinstance(space, Discrete):
        first = int(space.start)
        return DiscreteActions(_check_size(int(space.n), space), lambda index: first + index)
    if isinstance(space, MultiDiscrete | MultiBinary):
        sizes = np.full(space.shape, 2) if isinstance(space, MultiBinary) else np.asarray(space.nvec)
        start = np.zeros(sizes.shape, np.int64) if isinstance(space, MultiBinary) else np.asarray(space.start)
        flat_sizes, dtype, shape = tuple(int(n) for n in sizes.ravel()), space.dtype, sizes.shape

        def decode(index: int) -> Any:
            return (np.array(np.unravel_index(index, flat_sizes)).reshape(shape) + start).astype(dtype)

        return DiscreteActions(_check_size(_product(flat_sizes), space), decode)
    raise InvalidEnvironment(
        f"the action space {space} is not supported; it must be Discrete, MultiDiscrete, MultiBinary or a Box. "
        "Wrap the environment in a gymnasium.ActionWrapper with such a space."
    )


def _from_box(space: Box, action_bins: Counts | None) -> DiscreteActions:
    if action_bins is None:
        raise InvalidEnvironment(
            f"the environment's action space is continuous, {space}; set the number of values per dimension, such as "
            "action_bins=5."
        )
    counts = bin_counts("action_bins", action_bins, int(np.prod(space.shape)))
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    for i in np.flatnonzero(~np.isfinite(low) | ~np.isfinite(high)):
        raise InvalidEnvironment(
            f"dimension {i} of the actions is unbounded ({low[i]:g} to {high[i]:g}), so it cannot be discretized; wrap "
            "the environment in gymnasium.wrappers.RescaleAction first."
        )
    levels = [_levels(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    sizes = tuple(int(n) for n in counts)

    def decode(index: int) -> Any:
        position = np.unravel_index(index, sizes)
        values = [level[i] for level, i in zip(levels, position, strict=True)]
        return np.array(values, space.dtype).reshape(space.shape)

    return DiscreteActions(_check_size(_product(sizes), space), decode)


def _levels(low: float, high: float, n: int) -> Any:
    return np.linspace(low, high, n) if n > 1 else np.array([(low + high) / 2])


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod([float(n) for n in sizes])) if sizes else 1


def _check_size(n: int, space: Space[Any]) -> int:
    if n > MAX_ACTIONS:
        raise InvalidEnvironment(
            f"the environment has {n:,} actions, {space}; the maximum is {MAX_ACTIONS:,}. Use fewer bins, or a wrapper "
            "with fewer actions."
        )
    return n
