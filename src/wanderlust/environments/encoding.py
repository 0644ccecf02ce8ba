"""The encoding of an environment: observations to state indices, action indices to actions.

A state encoder gives the state key of an observation, the hashable content that identifies a state; `StateKeys` has the
index of each key.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from wanderlust.core.errors import (
    MAX_PAIRS,
    MAX_SHOWN,
    BadFile,
    InvalidEnvironment,
    InvalidObservation,
    InvalidSetting,
    check_index,
    shown,
)
from wanderlust.environments.bins import Bins, Bounds, Counts
from wanderlust.environments.keys import Downscale, Rounded, SimHash
from wanderlust.environments.spaces import (
    DiscreteActions,
    check_discrete,
    discrete_actions,
    integer_array,
    space_from_plain,
    space_size,
    space_to_plain,
)

Key = str | Callable[..., Any]

MAX_STATES = 200_000_000
MAX_OWN_PAIRS = 10_000_000
"""Discrete observations are their own state indices if there are at most this many pairs; more would waste memory."""
_BYTES = "bytes"
_SMALL_ARRAY = 32
INFO_PREFIX = "info:"
DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION = "discrete", "bins", "environment", "content", "info", "function"
KINDS = (DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION)


@dataclass(eq=False)
class Encoding:
    """Observations to state indices, action indices to actions."""

    encoder: StateEncoder
    actions: DiscreteActions
    keys: StateKeys | IntegerKeys
    """The state keys and their indices."""
    spaces: tuple[str, str]
    """The observation space and the action space of the environment, as text."""

    @classmethod
    def of(
        cls,
        env: Env[Any, Any] | Space[Any],
        action_space: Space[Any],
        *,
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        action_bins: Counts | None = None,
    ) -> Encoding:
        """Return the encoding of an environment, or of a space of observations; see `wanderlust.tabular`."""
        encoder, actions = make_encoder(env, key, bins, bounds), discrete_actions(action_space, action_bins)
        space = env if isinstance(env, Space) else env.observation_space
        return cls(encoder, actions, _new_keys(encoder, actions), (_as_text(space), _as_text(action_space)))

    def key(self, observation: Any, info: Mapping[str, Any] | None = None, env: Any = None) -> Hashable:
        """Return the state key of an observation."""
        return self.encoder.key(observation, info, env)

    def describe(self, state: int) -> str:
        """Return a readable description of a state: its key, or the intervals of its bins."""
        return self.encoder.describe(self.keys.key_of(state))

    def check_environment(self, env: Env[Any, Any]) -> None:
        """Raise `InvalidEnvironment` unless the environment has the spaces of this encoding."""
        spaces = _as_text(env.observation_space), _as_text(env.action_space)
        for what, here, there in zip(("observation", "action"), self.spaces, spaces, strict=True):
            if here != there:
                raise InvalidEnvironment(f"the agent was trained with the {what} space {here}, but here it is {there}.")

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
            first, second = map(str, plain["spaces"])
        except Exception as error:  # Values of any type can raise almost anything.
            raise BadFile(f"the state encoding cannot be read ({type(error).__name__}: {error}).") from error
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if function is not None and (encoder.kind != FUNCTION or name != encoder.name):
            raise BadFile(f"states are encoded by {encoder}, but key={name} was given.")
        keys = _new_keys(encoder, actions)
        if isinstance(keys, StateKeys):
            keys = StateKeys.from_array(stored_keys, limit=keys.limit)
        elif stored_keys.size:
            raise BadFile("state_keys must be empty: observations are their own state indices.")
        return cls(encoder, actions, keys, (first, second))


def _new_keys(encoder: StateEncoder, actions: DiscreteActions) -> StateKeys | IntegerKeys:
    space = encoder.space
    if isinstance(space, Discrete) and space.n * actions.n <= MAX_OWN_PAIRS:
        return IntegerKeys(int(space.start), int(space.n))
    return StateKeys(limit=min(MAX_STATES, MAX_PAIRS // actions.n))


def _as_text(space: Space[Any]) -> str:
    # Some spaces print functions with their addresses.
    return re.sub(r" at 0x[0-9a-f]+", "", str(space))


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
        return self._keys[check_index("state", index, len(self._keys))]

    def to_array(self) -> NDArray[np.uint8]:
        """Return all keys as the bytes of a JSON text, for `from_array`."""
        text = json.dumps([_to_json(key) for key in self._keys], separators=(",", ":"))
        return np.frombuffer(text.encode(), np.uint8)

    @classmethod
    def from_array(cls, stored: NDArray[np.uint8], *, limit: int = MAX_STATES) -> StateKeys:
        """Return the keys stored by `to_array`."""
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
        return self.start + check_index("state", index, self.n)

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


# --- States ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StateEncoder:
    """How the state key follows from an observation; everything but a user-defined function is plain data."""

    kind: str
    """'discrete': the observation. 'bins': its bins. 'environment': the environment's hash. 'content': the content of
    the observation. 'info': a field of `info`. 'function': the result of a user-defined function."""
    space: Space[Any] | None = None
    """The observation space, if `kind` is 'discrete'."""
    bins: Bins | None = None
    name: str = ""
    """The field of `info`, or the name of the function."""
    function: Callable[..., Any] | None = None
    array: tuple[np.dtype[Any], tuple[int, ...]] | None = None
    """The type and the shape of the observations, if `kind` is 'content' and they are from a given Box space."""

    def key(self, observation: Any, info: Mapping[str, Any] | None = None, env: Any = None) -> Hashable:
        """Return the state key of an observation; some kinds need `info` or the environment."""
        if self.kind == DISCRETE:
            assert self.space is not None
            return discrete_key(self.space, observation)
        if self.kind == BINS:
            assert self.bins is not None
            return self.bins.key_of(observation)
        if self.kind == CONTENT:
            return state_key(observation if self.array is None else _as_array(observation, *self.array))
        if self.kind == INFO:
            values = _needed("info", info, f"the state is its field {self.name!r}")
            if self.name not in values:
                known = ", ".join(map(repr, values)) or "nothing"
                raise InvalidEnvironment(
                    f"key='info:{self.name}' needs a field {self.name!r} in every info, but it contains {known}."
                )
            return state_key(values[self.name])
        if self.kind == ENVIRONMENT:
            inner = _needed("env", env, "the state is the environment's hash").unwrapped
            # MiniGrid's hash does not include the mission and the carried object.
            carried = getattr(inner, "carrying", None)
            carried = None if carried is None else carried.encode()
            return state_key((inner.hash(), getattr(inner, "mission", None), carried))
        if self.function is None:
            raise InvalidSetting(
                f"the state key is the result of the function {self.name!r}, which is not saved with an agent; give "
                f"it: Agent.load(path, key={self.name})."
            )
        if not _takes_info(self.function):
            return state_key(self.function(observation))
        return state_key(self.function(observation, _needed("info", info, f"{self.name} takes it")))

    @property
    def n_states(self) -> int | None:
        """The number of possible state keys, or None if it is unknown."""
        if self.kind == DISCRETE:
            assert self.space is not None
            return space_size(self.space)
        return None if self.bins is None else self.bins.n_cells

    def describe(self, key: Any) -> str:
        """Return a readable description of a state key."""
        return _readable(key) if self.bins is None else self.bins.describe(key)

    def __str__(self) -> str:
        described = {
            DISCRETE: "the observation",
            BINS: "bins" if self.bins is None else f"bins {self.bins.to_plain()}",
            ENVIRONMENT: "the environment's hash",
            CONTENT: "the content of the observation",
            INFO: f"the field {self.name!r} of info",
            FUNCTION: f"the function {self.name}",
        }
        return described[self.kind]

    def to_plain(self) -> dict[str, Any]:
        """Return the encoder as JSON values; a key of `wl.keys` is saved, another function is not."""
        key: Any = self.function
        return {
            "kind": self.kind,
            "space": None if self.space is None else space_to_plain(self.space),
            "bins": None if self.bins is None else self.bins.to_plain(),
            "name": self.name,
            "function": {"key": type(key).__name__, **asdict(key)} if type(key) in _SAVED_KEYS else None,
            "array": None if self.array is None else [self.array[0].name, list(self.array[1])],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], function: Callable[..., Any] | None = None) -> StateEncoder:
        """Return the encoder that `to_plain` described; `function` is the user-defined function, if there is one."""
        kind, name = plain["kind"], plain["name"]
        if kind not in KINDS or not isinstance(name, str):
            raise ValueError(f"unknown kind of state encoder {kind!r}")
        if (kind == DISCRETE) != (plain["space"] is not None) or (kind == BINS) != (plain["bins"] is not None):
            raise ValueError(f"a state encoder of kind {kind!r} needs other fields")
        space = None if plain["space"] is None else space_from_plain(plain["space"])
        bins = None if plain["bins"] is None else Bins.from_plain(plain["bins"])
        if function is None and plain.get("function") is not None:
            options = dict(plain["function"])
            by_name: dict[str, Any] = {key.__name__: key for key in _SAVED_KEYS}
            function = by_name[options.pop("key")](**options)
        array = plain.get("array")
        array = None if array is None else (np.dtype(str(array[0])), tuple(map(int, array[1])))
        if array is not None and array[0].kind not in "biuf":
            raise ValueError(f"observations of type {array[0]} are no numbers")
        return cls(kind, space, bins, name, function if kind == FUNCTION else None, array)


_SAVED_KEYS = Downscale, Rounded, SimHash


def _needed(name: str, value: Any, why: str) -> Any:
    if value is None:
        raise InvalidSetting(f"{name}= is needed: {why}.")
    return value


def make_encoder(
    env: Env[Any, Any] | Space[Any], key: Key | None, bins: Counts | None, bounds: Bounds | None
) -> StateEncoder:
    """Return the state encoder of an environment or an observation space; an error names the missing option."""
    space = env if isinstance(env, Space) else env.observation_space
    if key is not None and (bins is not None or bounds is not None):
        raise InvalidSetting("key cannot be combined with bins or bounds; set only one of them.")
    if bounds is not None and bins is None:
        raise InvalidSetting("bounds limit the bins; set bins as well, such as bins=8.")
    if bins is not None:
        if not isinstance(space, Box):
            raise InvalidEnvironment(f"bins requires a Box observation space, but the environment's is {space}.")
        return StateEncoder(BINS, bins=Bins.of_space(space, bins, bounds))
    if key is None:
        space = integer_array(space)
        check_discrete(space, "")
        return StateEncoder(DISCRETE, space)
    is_field = isinstance(key, str) and key.startswith(INFO_PREFIX) and key != INFO_PREFIX
    if isinstance(env, Space) and (is_field or (callable(key) and _takes_info(key))):
        raise InvalidSetting(f"key={shown(key)} needs info, which is not given here; make it part of the observation.")
    if isinstance(key, Downscale) and isinstance(space, Box) and space.high.max() < key.high:
        largest = f"the observation space has {space.high.max():g}"
        raise InvalidSetting(f"high={key.high:g} must be the largest value of downscale's images, but {largest}.")
    if callable(key):
        return StateEncoder(FUNCTION, name=str(getattr(key, "__qualname__", type(key).__qualname__)), function=key)
    if isinstance(key, str) and key == "hash":
        has_hash = isinstance(env, Env) and callable(getattr(env.unwrapped, "hash", None))
        array = (np.dtype(env.dtype), env.shape) if isinstance(env, Box) else None
        return StateEncoder(ENVIRONMENT if has_hash else CONTENT, array=array)
    if is_field:
        return StateEncoder(INFO, name=key.removeprefix(INFO_PREFIX))
    raise InvalidSetting(f"key must be 'hash', 'info:field' or a function of the observation, got {shown(key)}.")


def discrete_key(space: Space[Any], observation: Any) -> Hashable:
    """Return the state key of an observation of a discrete space; raise an error if it is outside the space."""
    if isinstance(space, Discrete):
        value = _as_integer(observation)
        if value is not None and 0 <= value - int(space.start) < int(space.n):
            return value
        inside = False
    else:
        try:
            inside = space.contains(observation)
        except Exception:  # Some spaces raise exceptions for values of an unexpected type.
            inside = False
    if inside:
        return state_key(observation)
    raise InvalidObservation(
        f"the observation {shown(observation)} is outside the observation space {space}. If the environment returned "
        "it, correct the environment or its space, or set a state encoding with key=."
    )


def _as_integer(value: Any) -> int | None:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        return int(value)
    return None


def _takes_info(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2


def _as_array(observation: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an observation of a Box space as an array of its type, so that equal ones have the same bytes."""
    array: NDArray[Any] = observation
    if type(observation) is not np.ndarray or observation.dtype is not dtype:
        try:
            given = np.asarray(observation)
            array = given.astype(dtype)
        except Exception:  # Any object can be given.
            given = array = np.zeros(0)
        if dtype.kind in "iu" and array.shape == shape and (given != array).any():
            array = np.zeros(0)
    if array.shape != shape:
        raise InvalidObservation(f"observations are arrays of {dtype} of the shape {shape}, got {shown(observation)}.")
    return array + 0.0 if dtype.kind == "f" else array  # -0.0 equals 0.0.


def state_key(observation: Any) -> Hashable:
    """Return an observation as a hashable state key: numbers, strings and tuples of them; large arrays as bytes."""
    if not isinstance(observation, np.ndarray | np.generic) and hasattr(observation, "__array__"):
        observation = np.asarray(observation)  # A tensor.
    if isinstance(observation, np.ndarray):
        if observation.size <= _SMALL_ARRAY and observation.dtype.kind in "biuf":
            return state_key(observation.ravel().tolist())
        return observation.tobytes()
    if isinstance(observation, np.generic):
        return state_key(observation.item())
    if isinstance(observation, dict):
        return tuple((str(name), state_key(observation[name])) for name in sorted(observation, key=str))
    if isinstance(observation, list | tuple):
        return tuple(state_key(part) for part in observation)
    if isinstance(observation, float) and math.isnan(observation):
        raise InvalidObservation("the observation contains NaN, which equals no other value, so it cannot be a state.")
    if isinstance(observation, frozenset):
        return tuple(sorted((state_key(part) for part in observation), key=repr))
    if isinstance(observation, Enum):
        return observation.name
    if is_dataclass(observation) and not isinstance(observation, type):
        return state_key({field.name: getattr(observation, field.name) for field in fields(observation)})
    if (reason := _unusable(observation)) is not None:
        raise InvalidObservation(
            f"{type(observation).__name__} cannot be a state key, because {reason}: {shown(observation)}. "
            "Set key= to a function that returns numbers, strings, bytes or tuples of them."
        )
    return observation  # type: ignore[no-any-return]


def _readable(key: Hashable) -> str:
    """Return a state key as text, with the length of bytes instead of their content."""
    if isinstance(key, bytes):
        return f"<{len(key):,} bytes>"
    text = f"({', '.join(map(_readable, key))})" if isinstance(key, tuple) else str(key)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def _unusable(observation: Any) -> str | None:
    """Return why a value cannot be a state key, or None if it can."""
    try:
        hash(observation)
    except TypeError:
        return "it is not hashable"
    # The default hash of an object is derived from its address in memory.
    default_hash: Any = object.__hash__
    if observation is not None and type(observation).__hash__ is default_hash:
        return "it is compared by identity, so that no state would be visited twice"
    return None
