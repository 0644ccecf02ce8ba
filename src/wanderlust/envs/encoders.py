"""What a state is told by: the observation itself, its bins, its content, a field of `info`, or a function of it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

from wanderlust.core.errors import InvalidEnvironment, InvalidObservation, InvalidSetting
from wanderlust.envs.bins import Bins, Bounds, Counts
from wanderlust.envs.state_keys import content_of

Key = str | Callable[..., Any]
_INFO = "info:"


class StateEncoder(NamedTuple):
    """How a state is told: `key(observation, info)`, how many there can be if that is known, and a key in words."""

    key: Callable[[Any, dict[str, Any]], Hashable]
    n_states: int | None
    describe: Callable[[Any], str]


def make_encoder(env: Env[Any, Any], key: Key | None, bins: Counts | None, bounds: Bounds | None) -> StateEncoder:
    """Return how the states of an environment are told, or say what must be given."""
    space = env.observation_space
    if key is not None and (bins is not None or bounds is not None):
        raise InvalidSetting("give either key or bins (with bounds): a state is told by one of them.")
    if bounds is not None and bins is None:
        raise InvalidSetting("bounds say where bins end; give bins as well, such as bins=20.")
    if bins is not None:
        if not isinstance(space, Box):
            raise InvalidEnvironment(f"bins is for observations that are a Box, but the environment's are {space}.")
        grid = Bins(space, bins, bounds)
        return StateEncoder(lambda observation, info: grid.key_of(observation), grid.n_cells, grid.describe)
    if key is None:
        check_exact(space, "")
        return StateEncoder(lambda observation, info: exact_key(space, observation), n_members(space), str)
    return StateEncoder(_by_key(env, key), None, str)


def _by_key(env: Env[Any, Any], key: Key) -> Callable[[Any, dict[str, Any]], Hashable]:
    if callable(key):
        takes_info = _takes_info(key)
        return lambda observation, info: content_of(key(observation, info) if takes_info else key(observation))
    if key == "hash":
        state = env.unwrapped
        if callable(getattr(state, "hash", None)):
            return lambda observation, info: _whole_state(state)
        return lambda observation, info: content_of(observation)
    if isinstance(key, str) and key.startswith(_INFO) and len(key) > len(_INFO):
        field = key.removeprefix(_INFO)
        return lambda observation, info: _from_info(info, field)
    raise InvalidSetting(f"key must be 'hash', 'info:field' or a function of the observation, got {key!r}.")


def _whole_state(env: Any) -> Hashable:
    """Return the environment's hash of its state, and what MiniGrid's leaves out: the mission and what is carried."""
    carried = getattr(env, "carrying", None)
    return content_of((env.hash(), getattr(env, "mission", None), None if carried is None else carried.encode()))


def _from_info(info: dict[str, Any], field: str) -> Hashable:
    if field not in info:
        known = ", ".join(map(repr, info)) or "nothing"
        raise InvalidEnvironment(f"key='info:{field}' needs a field {field!r} in every info, which holds {known}.")
    return content_of(info[field])


def _takes_info(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2


def check_exact(space: Space[Any], where: str) -> None:
    """Raise an error unless observations of a space are states as they are."""
    if isinstance(space, Dict):
        for name, part in space.spaces.items():
            check_exact(part, f"{where}[{name!r}]")
    elif isinstance(space, Tuple):
        for i, part in enumerate(space.spaces):
            check_exact(part, f"{where}[{i}]")
    elif not isinstance(space, Discrete | MultiDiscrete | MultiBinary | Text):
        how = "bins=20 cuts it into bins, " if isinstance(space, Box) and not where else ""
        raise InvalidEnvironment(
            f"observation{where} is {space}, which is not a state that would be met again: {how}key='hash' takes the "
            "whole content (or the environment's own hash of its state), key=function makes a key from an observation."
        )


def exact_key(space: Space[Any], observation: Any) -> Hashable:
    """Return an observation of an exact space as numbers, texts and tuples of them; it must lie in its space."""
    if isinstance(space, Discrete):
        number = _whole_number(observation)
        if number is None or not 0 <= number - int(space.start) < int(space.n):
            raise _outside(space, observation)
        return number
    try:
        inside = space.contains(observation)
    except Exception:  # Spaces compare what they are given in many ways, and some of them fail on the unexpected.
        inside = False
    if not inside:
        raise _outside(space, observation)
    return content_of(observation)


def _whole_number(value: Any) -> int | None:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        return int(value)
    return None


def _outside(space: Space[Any], observation: Any) -> InvalidObservation:
    return InvalidObservation(
        f"the environment returned the observation {observation!r}, which is outside its own space {space}. Correct "
        "the environment or its space, or tell states otherwise: key=."
    )


def n_members(space: Space[Any]) -> int | None:
    """Return how many members a space has, if they are few enough to count."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return math.prod(int(n) for n in np.asarray(space.nvec).ravel())
    if isinstance(space, MultiBinary):
        return int(2 ** math.prod(space.shape))
    if isinstance(space, Dict | Tuple):
        parts = space.spaces.values() if isinstance(space, Dict) else space.spaces
        counts = [n_members(part) for part in parts]
        return None if None in counts else math.prod(n for n in counts if n is not None)
    return None
