"""Gymnasium's spaces: which are discrete, how large they are, as JSON values; action indices to actions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting
from wanderlust.environments.bins import Counts, bin_counts

MAX_ACTIONS = 10_000
_MAX_VALUES = 2**31 - 1
"""A dimension of integers is bounded if it has fewer values."""
_WHITE = 255


def integer_array(space: Space[Any]) -> Space[Any]:
    """Return a Box of bounded integers as the equal MultiDiscrete; other spaces, and images, as they are.

    Images are arrays of bytes from 0 to 255 with rows and columns. Nearly every one differs from all others, so
    an image is a state only with key="hash".
    """
    if isinstance(space, Dict):
        return Dict({name: integer_array(part) for name, part in space.spaces.items()})
    if isinstance(space, Tuple):
        return Tuple([integer_array(part) for part in space.spaces])
    if not isinstance(space, Box) or space.dtype.kind not in "iu" or space.shape == ():
        return space
    if len(space.shape) > 1 and space.dtype == np.uint8 and (space.high == _WHITE).all():
        return space
    low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
    # The bounds of an unbounded dimension are those of its type.
    is_bounded = (high - low < _MAX_VALUES) & (np.abs(low) < _MAX_VALUES)
    return MultiDiscrete((high - low + 1).astype(np.int64), start=low.astype(np.int64)) if is_bounded.all() else space


def check_discrete(space: Space[Any], where: str) -> None:
    """Raise an error unless the observations of a space can be used as state keys directly."""
    for name, part in _parts(space).items():
        check_discrete(part, f"{where}[{name!r}]")
    if not isinstance(space, Discrete | MultiDiscrete | MultiBinary | Text | Tuple | Dict):
        use_bins = "bins=8 divides each dimension into 8 bins, " if isinstance(space, Box) and not where else ""
        raise InvalidEnvironment(
            f"observation{where} is {space}, which is not discrete; set a state encoding: {use_bins}"
            "key='hash' uses the environment's hash of its state or the content of the observation, key=function a "
            "user-defined key."
        )


def _parts(space: Space[Any]) -> dict[Any, Space[Any]]:
    """Return the parts of a Dict or Tuple by name or position; other spaces have none."""
    if isinstance(space, Dict):
        return dict(space.spaces)
    return dict(enumerate(space.spaces)) if isinstance(space, Tuple) else {}


def space_size(space: Space[Any]) -> int | None:
    """Return the number of elements of a discrete space, or None if it is unknown."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return math.prod(int(n) for n in np.asarray(space.nvec).ravel())
    if isinstance(space, MultiBinary):
        # 2 to the power of a million takes long to compute, and all counts above the maximum are equal.
        return int(2 ** min(math.prod(space.shape), 64))
    if not isinstance(space, Dict | Tuple):
        return None
    sizes = [space_size(part) for part in _parts(space).values()]
    return None if None in sizes else math.prod(n for n in sizes if n is not None)


_ARGUMENTS = {Discrete: ("n", "start"), MultiDiscrete: ("nvec", "start"), MultiBinary: ("n",)}
"""The arguments of spaces that are kept under their own names; each is an attribute, too."""


def space_to_plain(space: Space[Any]) -> dict[str, Any]:
    """Return a discrete space as JSON values."""
    cls: Any = next(cls for cls in (*_ARGUMENTS, Text, Tuple, Dict) if isinstance(space, cls))
    plain: dict[str, Any] = {"kind": cls.__name__}
    if isinstance(space, Text):
        return plain | {"min": space.min_length, "max": space.max_length, "characters": "".join(space.character_list)}
    if isinstance(space, Tuple):
        return plain | {"spaces": [space_to_plain(part) for part in space.spaces]}
    if isinstance(space, Dict):
        return plain | {"spaces": {name: space_to_plain(part) for name, part in space.spaces.items()}}
    return plain | {name: np.asarray(getattr(space, name)).tolist() for name in _ARGUMENTS[cls]}


def space_from_plain(plain: Mapping[str, Any]) -> Space[Any]:
    """Return the space that `space_to_plain` described."""
    kind = plain["kind"]
    if kind == "Text":
        return Text(int(plain["max"]), min_length=int(plain["min"]), charset=str(plain["characters"]))
    if kind == "Tuple":
        return Tuple([space_from_plain(part) for part in plain["spaces"]])
    if kind == "Dict":
        return Dict({str(name): space_from_plain(part) for name, part in plain["spaces"].items()})
    by_name: dict[str, Any] = {cls.__name__: cls for cls in _ARGUMENTS}
    return by_name[kind](**{name: plain[name] for name in _ARGUMENTS[by_name[kind]]})  # type: ignore[no-any-return]


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
        return math.prod(len(values) for values in self.levels)

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
    if action_bins is not None and not isinstance(space, Box):
        raise InvalidSetting(f"action_bins requires a Box action space, but the environment's is {space}.")
    shape: tuple[int, ...] | None = space.shape
    levels: tuple[tuple[float, ...] | range, ...]
    if isinstance(space, Box):
        levels = _levels_of_box(space, action_bins)
    elif isinstance(space, Discrete):
        levels, shape = (range(int(space.start), int(space.start) + int(space.n)),), None
    elif isinstance(space, MultiDiscrete | MultiBinary):
        sizes = np.full(space.shape, 2) if isinstance(space, MultiBinary) else np.asarray(space.nvec)
        start = np.zeros(sizes.shape, np.int64) if isinstance(space, MultiBinary) else np.asarray(space.start)
        levels = tuple(range(a, a + n) for a, n in zip(start.ravel().tolist(), sizes.ravel().tolist(), strict=True))
    else:
        raise InvalidEnvironment(
            f"the action space {space} is not supported; it must be Discrete, MultiDiscrete, MultiBinary or a Box. "
            "Wrap the environment in a gymnasium.ActionWrapper with such a space."
        )
    actions = DiscreteActions(levels, shape, np.dtype(np.int64 if shape is None else space.dtype).str)
    if actions.n > MAX_ACTIONS:
        raise InvalidEnvironment(
            f"the environment has {actions.n:,} actions, {space}; the maximum is {MAX_ACTIONS:,}. Use fewer bins, or a "
            "wrapper with fewer actions."
        )
    return actions


def _levels_of_box(space: Box, action_bins: Counts | None) -> tuple[tuple[float, ...], ...]:
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
    return tuple(
        tuple(np.linspace(a, b, n).tolist()) if n > 1 else (float(a + b) / 2,)
        for a, b, n in zip(low, high, counts, strict=True)
    )
