"""State keys and their indices: a new state key gets the next index."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import BadFile, InvalidObservation, shown

MAX_STATES = 200_000_000
_SMALL_ARRAY = 32
_BYTES = "bytes"


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


def state_key(observation: Any) -> Hashable:
    """Return an observation as a hashable state key: numbers, strings and tuples of them; large arrays as bytes."""
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
