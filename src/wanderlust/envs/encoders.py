"""State encoders: functions from an observation to a state key, the hashable content that identifies a state."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

from wanderlust.core.errors import InvalidEnvironment, InvalidObservation, InvalidSetting, shown
from wanderlust.envs.bins import Bins, Bounds, Counts
from wanderlust.envs.state_keys import state_key

Key = str | Callable[..., Any]
_INFO = "info:"


class StateEncoder(NamedTuple):
    """Functions that return the state key and describe it, and the number of possible keys (None if unknown)."""

    key: Callable[[Any, dict[str, Any]], Hashable]
    n_states: int | None
    describe: Callable[[Any], str]


def make_encoder(env: Env[Any, Any], key: Key | None, bins: Counts | None, bounds: Bounds | None) -> StateEncoder:
    """Return the state encoder of an environment, or raise an error that names the missing option."""
    space = env.observation_space
    if key is not None and (bins is not None or bounds is not None):
        raise InvalidSetting("key cannot be combined with bins or bounds; set only one of them.")
    if bounds is not None and bins is None:
        raise InvalidSetting("bounds limit the bins; set bins as well, such as bins=20.")
    if bins is not None:
        if not isinstance(space, Box):
            raise InvalidEnvironment(f"bins requires a Box observation space, but the environment's is {space}.")
        grid = Bins(space, bins, bounds)
        return StateEncoder(lambda observation, info: grid.key_of(observation), grid.n_cells, grid.describe)
    if key is None:
        check_discrete(space, "")
        return StateEncoder(lambda observation, info: discrete_key(space, observation), space_size(space), str)
    return StateEncoder(_key_function(env, key), None, str)


def _key_function(env: Env[Any, Any], key: Key) -> Callable[[Any, dict[str, Any]], Hashable]:
    if callable(key):
        takes_info = _takes_info(key)
        return lambda observation, info: state_key(key(observation, info) if takes_info else key(observation))
    if isinstance(key, str) and key == "hash":
        inner = env.unwrapped
        if callable(getattr(inner, "hash", None)):
            return lambda observation, info: _environment_hash(inner)
        return lambda observation, info: state_key(observation)
    if isinstance(key, str) and key.startswith(_INFO) and len(key) > len(_INFO):
        field = key.removeprefix(_INFO)
        return lambda observation, info: _from_info(info, field)
    raise InvalidSetting(f"key must be 'hash', 'info:field' or a function of the observation, got {shown(key)}.")


def _environment_hash(env: Any) -> Hashable:
    """Return `env.hash()` together with the mission and the carried object, which MiniGrid's hash does not include."""
    carried = getattr(env, "carrying", None)
    return state_key((env.hash(), getattr(env, "mission", None), None if carried is None else carried.encode()))


def _from_info(info: dict[str, Any], field: str) -> Hashable:
    if field not in info:
        known = ", ".join(map(repr, info)) or "nothing"
        raise InvalidEnvironment(f"key='info:{field}' needs a field {field!r} in every info, but it contains {known}.")
    return state_key(info[field])


def _takes_info(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2


def check_discrete(space: Space[Any], where: str) -> None:
    """Raise an error unless the observations of a space can be used as state keys directly."""
    if isinstance(space, Dict):
        for name, part in space.spaces.items():
            check_discrete(part, f"{where}[{name!r}]")
    elif isinstance(space, Tuple):
        for i, part in enumerate(space.spaces):
            check_discrete(part, f"{where}[{i}]")
    elif not isinstance(space, Discrete | MultiDiscrete | MultiBinary | Text):
        use_bins = "bins=20 divides it into bins, " if isinstance(space, Box) and not where else ""
        raise InvalidEnvironment(
            f"observation{where} is {space}, which is not discrete; set a state encoding: {use_bins}key='hash' uses "
            "the environment's hash of its state or the content of the observation, key=function a user-defined key."
        )


def discrete_key(space: Space[Any], observation: Any) -> Hashable:
    """Return the state key of an observation of a discrete space; raise an error if it is outside the space."""
    if isinstance(space, Discrete):
        value = _as_integer(observation)
        if value is None or not 0 <= value - int(space.start) < int(space.n):
            raise _outside(space, observation)
        return value
    try:
        inside = space.contains(observation)
    except Exception:  # Some spaces raise exceptions for values of an unexpected type.
        inside = False
    if not inside:
        raise _outside(space, observation)
    return state_key(observation)


def _as_integer(value: Any) -> int | None:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        return int(value)
    return None


def _outside(space: Space[Any], observation: Any) -> InvalidObservation:
    return InvalidObservation(
        f"the environment returned the observation {shown(observation)}, which is outside its own space {space}. "
        "Correct the environment or its space, or set a state encoding with key=."
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
