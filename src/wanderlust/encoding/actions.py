"""Action spaces as a finite set of actions with indices from 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting
from wanderlust.encoding.bins import Counts, bin_counts

MAX_ACTIONS = 10_000


class DiscreteActions(NamedTuple):
    """The actions of a space: the values of each component; if there are several, the last one varies fastest."""

    levels: tuple[tuple[float, ...] | range, ...]
    """[component]: its values."""
    shape: tuple[int, ...] | None
    """The shape of an action, or None for a plain integer."""
    dtype: str

    @property
    def n(self) -> int:
        """The number of actions."""
        return _product(tuple(len(values) for values in self.levels))

    def decode(self, index: int) -> Any:
        """Return the environment's action for an action index."""
        if self.shape is None:
            return self.levels[0][index]
        position = np.unravel_index(index, [len(values) for values in self.levels])
        values = [level[i] for level, i in zip(self.levels, position, strict=True)]
        return np.array(values, self.dtype).reshape(self.shape)

    def to_plain(self) -> dict[str, Any]:
        """Return the actions as JSON values."""
        levels = [[v.start, v.stop] if isinstance(v, range) else {"values": list(v)} for v in self.levels]
        return {"levels": levels, "shape": None if self.shape is None else list(self.shape), "dtype": self.dtype}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> DiscreteActions:
        """Return the actions that `to_plain` described."""
        levels = tuple(
            tuple(float(value) for value in level["values"]) if isinstance(level, Mapping) else range(*map(int, level))
            for level in plain["levels"]
        )
        shape = None if plain["shape"] is None else tuple(int(n) for n in plain["shape"])
        dtype = np.dtype(plain["dtype"])
        size = 1 if shape is None else int(np.prod(shape))
        if dtype.kind not in "biuf" or len(levels) != size or not all(map(len, levels)):
            raise ValueError("the actions' levels, shape and dtype do not fit together")
        return cls(levels, shape, dtype.str)


def discrete_actions(space: Space[Any], action_bins: Counts | None) -> DiscreteActions:
    """Return the actions of a space."""
    if isinstance(space, Box):
        return _from_box(space, action_bins)
    if action_bins is not None:
        raise InvalidSetting(f"action_bins requires a Box action space, but the environment's is {space}.")
    if isinstance(space, Discrete):
        first = int(space.start)
        return _checked(DiscreteActions((range(first, first + int(space.n)),), None, np.dtype(np.int64).str), space)
    if isinstance(space, MultiDiscrete | MultiBinary):
        sizes = np.full(space.shape, 2) if isinstance(space, MultiBinary) else np.asarray(space.nvec)
        start = np.zeros(sizes.shape, np.int64) if isinstance(space, MultiBinary) else np.asarray(space.start)
        levels = tuple(range(a, a + n) for a, n in zip(start.ravel().tolist(), sizes.ravel().tolist(), strict=True))
        return _checked(DiscreteActions(levels, sizes.shape, np.dtype(space.dtype).str), space)
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
    levels = tuple(tuple(_levels(a, b, n).tolist()) for a, b, n in zip(low, high, counts, strict=True))
    return _checked(DiscreteActions(levels, space.shape, np.dtype(space.dtype).str), space)


def _levels(low: float, high: float, n: int) -> Any:
    return np.linspace(low, high, n) if n > 1 else np.array([(low + high) / 2])


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod([float(n) for n in sizes])) if sizes else 1


def _checked(actions: DiscreteActions, space: Space[Any]) -> DiscreteActions:
    if actions.n > MAX_ACTIONS:
        raise InvalidEnvironment(
            f"the environment has {actions.n:,} actions, {space}; the maximum is {MAX_ACTIONS:,}. Use fewer bins, or a "
            "wrapper with fewer actions."
        )
    return actions
