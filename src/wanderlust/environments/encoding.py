"""The encoding of an environment: observations to state indices, action indices to actions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from numpy.typing import NDArray

from wanderlust.core.errors import MAX_PAIRS, BadFile, InvalidEnvironment, InvalidObservation, InvalidSetting, shown
from wanderlust.environments.keys import FUNCTION, Bounds, Counts, Key, StateEncoder, bin_counts, make_encoder

MAX_STATES = 200_000_000
MAX_ACTIONS = 10_000
MAX_OWN_PAIRS = 10_000_000
"""Discrete observations are their own state indices if there are at most this many pairs; more would waste memory."""
_BYTES = "bytes"


class Encoding:
    """Observations to state indices, action indices to actions."""

    def __init__(
        self, encoder: StateEncoder, actions: DiscreteActions, keys: StateKeys | IntegerKeys, spaces: tuple[str, str]
    ) -> None:
        self.encoder = encoder
        self.actions = actions
        self.keys = keys
        """The state keys and their indices."""
        self.spaces = spaces
        """The observation space and the action space of the environment, as text."""

    @classmethod
    def of_environment(
        cls,
        env: Env[Any, Any],
        *,
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        action_bins: Counts | None = None,
    ) -> Encoding:
        """Return the encoding of an environment; see `wanderlust.tabular` for the options."""
        encoder, actions = make_encoder(env, key, bins, bounds), discrete_actions(env.action_space, action_bins)
        return cls(encoder, actions, _new_keys(encoder, actions), _spaces(env))

    def key(self, observation: Any, info: Mapping[str, Any] | None = None, env: Any = None) -> Hashable:
        """Return the state key of an observation."""
        return self.encoder.key(observation, info, env)

    def describe(self, state: int) -> str:
        """Return a readable description of a state: its key, or the intervals of its bins."""
        return self.encoder.describe(self.keys.key_of(state))

    def check_environment(self, env: Env[Any, Any]) -> None:
        """Raise `InvalidEnvironment` unless the environment has the spaces of this encoding."""
        for what, here, there in zip(("observation", "action"), self.spaces, _spaces(env), strict=True):
            if here != there:
                raise InvalidEnvironment(
                    f"the agent was trained with the {what} space {here}, but this environment has {there}."
                )

    def difference(self, other: Encoding) -> str | None:
        """Return how another encoding differs, or None if it gives the same keys and actions."""
        mine, theirs = self.encoder.to_plain(), other.encoder.to_plain()
        if mine != theirs:
            return f"states are encoded by {self.encoder}, not by {other.encoder}"
        if self.actions != other.actions:
            return f"actions are {self.actions}, not {other.actions}"
        return None

    def to_file(self) -> tuple[dict[str, Any], NDArray[np.uint8]]:
        """Return the encoding as JSON values and the array of its state keys."""
        encoder, actions = self.encoder.to_plain(), self.actions.to_plain()
        return {"encoder": encoder, "actions": actions, "spaces": list(self.spaces)}, self.keys.to_array()

    @classmethod
    def from_file(
        cls, plain: Any, stored_keys: NDArray[np.uint8], function: Callable[..., Any] | None = None
    ) -> Encoding:
        """Return the encoding that `to_file` described; `function` is the user-defined key function, if any."""
        try:
            encoder = StateEncoder.from_plain(plain["encoder"], function)
            actions = DiscreteActions.from_plain(plain["actions"])
            observation_space, action_space = map(str, plain["spaces"])
        except Exception as error:  # Values of any type can raise almost anything.
            raise BadFile(f"the state encoding cannot be read ({type(error).__name__}: {error}).") from error
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if function is not None and (encoder.kind != FUNCTION or name != encoder.name):
            raise BadFile(f"states are encoded by {encoder}, but key={name} was given.")
        keys = _new_keys(encoder, actions)
        if isinstance(keys, StateKeys):
            keys = StateKeys.from_array(stored_keys, limit=keys.limit)
        elif stored_keys.dtype != np.uint8 or stored_keys.shape != (0,):
            raise BadFile("state_keys must be empty: observations are their own state indices.")
        return cls(encoder, actions, keys, (observation_space, action_space))


def _new_keys(encoder: StateEncoder, actions: DiscreteActions) -> StateKeys | IntegerKeys:
    space = encoder.space
    if isinstance(space, Discrete) and space.n * actions.n <= MAX_OWN_PAIRS:
        return IntegerKeys(int(space.start), int(space.n))
    return StateKeys(limit=min(MAX_STATES, MAX_PAIRS // actions.n))


def _spaces(env: Env[Any, Any]) -> tuple[str, str]:
    # Some spaces print functions with their addresses.
    observation_space, action_space = (
        re.sub(r" at 0x[0-9a-f]+", "", str(space)) for space in (env.observation_space, env.action_space)
    )
    return observation_space, action_space


class StateKeys:
    """The keys of all states discovered so far; a state's index is the position of its key."""

    def __init__(self, keys: Sequence[Hashable] = (), *, limit: int = MAX_STATES) -> None:
        self._keys = list(keys)
        self.limit = limit
        self._indices = {key: index for index, key in enumerate(self._keys)}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: Hashable) -> int:
        """Return the index of a key; a new key gets the next index."""
        index = self._indices.setdefault(key, len(self._keys))
        if index == len(self._keys):
            if index >= self.limit:
                del self._indices[key]
                raise InvalidObservation(
                    f"more than {self.limit:,} states were discovered, the maximum for this number of actions; "
                    "use a coarser state encoding: fewer bins, or another key."
                )
            self._keys.append(key)
        return index

    def find(self, key: Hashable) -> int:
        """Return the index of a key, or `len(self)` if the key is unknown."""
        return self._indices.get(key, len(self._keys))

    def key_of(self, index: int) -> Hashable:
        """Return the key of a state index."""
        if not 0 <= index < len(self._keys):
            raise InvalidObservation(
                f"there is no state {shown(index)}; {len(self._keys):,} states were discovered so far, with indices "
                "from 0."
            )
        return self._keys[index]

    def to_array(self) -> NDArray[np.uint8]:
        """Return all keys as the bytes of a JSON text, for `from_array`."""
        text = json.dumps([_to_json(key) for key in self._keys], separators=(",", ":"))
        return np.frombuffer(text.encode(), np.uint8)

    @classmethod
    def from_array(cls, stored: NDArray[np.uint8], *, limit: int = MAX_STATES) -> StateKeys:
        """Return the keys stored by `to_array`."""
        if stored.dtype != np.uint8 or stored.ndim != 1:
            raise BadFile(f"state_keys is {stored.dtype} {stored.shape}; it must be uint8 with one dimension.")
        try:
            keys = cls([_from_json(key) for key in json.loads(stored.tobytes().decode())], limit=limit)
        except Exception as error:  # JSON of another structure, or nested too deeply.
            raise BadFile(f"state_keys cannot be read ({type(error).__name__}: {error}).") from error
        if len(keys._indices) != len(keys):
            raise BadFile(f"state_keys has {len(keys._indices):,} distinct keys of {len(keys):,}.")
        return keys


class IntegerKeys:
    """The keys of a Discrete space: integers from `start`; a state's index is its key minus `start`."""

    def __init__(self, start: int, n: int) -> None:
        self.start, self.n = start, n

    def __len__(self) -> int:
        return self.n

    def add(self, key: Hashable) -> int:
        """Return the index of a key."""
        return int(key) - self.start  # type: ignore[call-overload, no-any-return]

    find = add

    def key_of(self, index: int) -> int:
        """Return the key of a state index."""
        if not 0 <= index < self.n:
            raise InvalidObservation(f"there is no state {shown(index)}; states have indices from 0 to {self.n - 1:,}.")
        return self.start + index

    def to_array(self) -> NDArray[np.uint8]:
        """Return an empty array: the space describes the keys."""
        return np.zeros(0, np.uint8)


def _to_json(key: Any) -> Any:
    if key is None or isinstance(key, bool | int | float | str):
        return key
    if isinstance(key, bytes):
        return {_BYTES: key.hex()}
    if isinstance(key, tuple):
        return [_to_json(part) for part in key]
    raise InvalidObservation(
        f"state keys of type {type(key).__name__} cannot be saved: {shown(key)}. Use numbers, strings, bytes "
        "or tuples of them."
    )


def _from_json(stored: Any) -> Hashable:
    if isinstance(stored, list):
        return tuple(_from_json(part) for part in stored)
    if isinstance(stored, dict):
        return bytes.fromhex(stored[_BYTES])
    return stored  # type: ignore[no-any-return]


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
    levels = tuple(
        tuple(np.linspace(a, b, n).tolist()) if n > 1 else (float(a + b) / 2,)
        for a, b, n in zip(low, high, counts, strict=True)
    )
    return _checked(DiscreteActions(levels, space.shape, np.dtype(space.dtype).str), space)


def _checked(actions: DiscreteActions, space: Space[Any]) -> DiscreteActions:
    if actions.n > MAX_ACTIONS:
        raise InvalidEnvironment(
            f"the environment has {actions.n:,} actions, {space}; the maximum is {MAX_ACTIONS:,}. Use fewer bins, or a "
            "wrapper with fewer actions."
        )
    return actions
