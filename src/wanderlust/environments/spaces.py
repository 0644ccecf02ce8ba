"""Discrete observation spaces: which they are, their sizes, and their description as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

from wanderlust.core.errors import InvalidEnvironment


def check_discrete(space: Space[Any], where: str) -> None:
    """Raise an error unless the observations of a space can be used as state keys directly."""
    if isinstance(space, Dict):
        for name, part in space.spaces.items():
            check_discrete(part, f"{where}[{name!r}]")
    elif isinstance(space, Tuple):
        for i, part in enumerate(space.spaces):
            check_discrete(part, f"{where}[{i}]")
    elif not isinstance(space, Discrete | MultiDiscrete | MultiBinary | Text):
        use_bins = "bins=8 divides each dimension into 8 bins, " if isinstance(space, Box) and not where else ""
        raise InvalidEnvironment(
            f"observation{where} is {space}, which is not discrete; set a state encoding in wl.tabular: {use_bins}"
            "key='hash' uses the environment's hash of its state or the content of the observation, key=function a "
            "user-defined key."
        )


def space_size(space: Space[Any]) -> int | None:
    """Return the number of elements of a discrete space, or None if it is unknown."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return math.prod(int(n) for n in np.asarray(space.nvec).ravel())
    if isinstance(space, MultiBinary):
        # 2 to the power of a million takes long to compute, and all counts above the maximum are equal.
        return int(2 ** min(math.prod(space.shape), 64))
    if isinstance(space, Dict | Tuple):
        parts = space.spaces.values() if isinstance(space, Dict) else space.spaces
        sizes = [space_size(part) for part in parts]
        return None if None in sizes else math.prod(n for n in sizes if n is not None)
    return None


def space_to_plain(space: Space[Any]) -> dict[str, Any]:
    """Return a discrete space as JSON values."""
    kind = type(space).__name__
    if isinstance(space, Discrete):
        return {"kind": kind, "n": int(space.n), "start": int(space.start)}
    if isinstance(space, MultiDiscrete):
        return {"kind": kind, "nvec": np.asarray(space.nvec).tolist(), "start": np.asarray(space.start).tolist()}
    if isinstance(space, MultiBinary):
        return {"kind": kind, "n": space.n if isinstance(space.n, int) else [int(n) for n in space.n]}
    if isinstance(space, Text):
        characters = "".join(space.character_list)
        return {"kind": kind, "min": space.min_length, "max": space.max_length, "characters": characters}
    if isinstance(space, Tuple):
        return {"kind": kind, "spaces": [space_to_plain(part) for part in space.spaces]}
    assert isinstance(space, Dict)
    return {"kind": kind, "spaces": {name: space_to_plain(part) for name, part in space.spaces.items()}}


def space_from_plain(plain: Mapping[str, Any]) -> Space[Any]:
    """Return the space that `space_to_plain` described."""
    kind = plain["kind"]
    if kind == "Discrete":
        return Discrete(int(plain["n"]), start=int(plain["start"]))
    if kind == "MultiDiscrete":
        return MultiDiscrete(np.array(plain["nvec"], np.int64), start=np.array(plain["start"], np.int64))
    if kind == "MultiBinary":
        return MultiBinary(plain["n"])
    if kind == "Text":
        return Text(int(plain["max"]), min_length=int(plain["min"]), charset=str(plain["characters"]))
    if kind == "Tuple":
        return Tuple([space_from_plain(part) for part in plain["spaces"]])
    if kind == "Dict":
        return Dict({str(name): space_from_plain(part) for name, part in plain["spaces"].items()})
    raise ValueError(f"unknown kind of space {kind!r}")
