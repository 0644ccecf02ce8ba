"""States by number: each key, whatever it is, gets the next number when it is first met."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import BadFile, InvalidObservation

MAX_STATES = 200_000_000
_SMALL_ARRAY = 32
_BYTES = "bytes"


class StateKeys:
    """The keys of all states met so far, numbered from 0 in the order in which they were met."""

    def __init__(self, keys: Sequence[Hashable] = ()) -> None:
        self._keys = list(keys)
        self._numbers = {key: number for number, key in enumerate(self._keys)}

    def __len__(self) -> int:
        return len(self._keys)

    def number_of(self, key: Hashable) -> int:
        """Return the number of a key, giving it the next one when it is new."""
        number = self._numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        return number

    def find(self, key: Hashable) -> int:
        """Return the number of a key, or, of one never met, the number that nothing has yet."""
        return self._numbers.get(key, len(self._keys))

    def key_of(self, number: int) -> Hashable:
        """Return the key that has a number."""
        if not 0 <= number < len(self._keys):
            raise InvalidObservation(
                f"there is no state {number!r}; the {len(self._keys):,} states met so far are numbered from 0."
            )
        return self._keys[number]

    def to_array(self) -> NDArray[np.uint8]:
        """Return all keys as bytes of JSON, for a file; `from_array` reads them."""
        text = json.dumps([_to_json(key) for key in self._keys], separators=(",", ":"))
        return np.frombuffer(text.encode(), np.uint8)

    @classmethod
    def from_array(cls, stored: NDArray[np.uint8]) -> StateKeys:
        """Return the keys that `to_array` wrote."""
        try:
            return cls([_from_json(key) for key in json.loads(stored.tobytes().decode())])
        except (TypeError, ValueError) as error:
            raise BadFile(f"the keys of the states cannot be read ({error}).") from error


def content_of(observation: Any) -> Hashable:
    """Return what an observation holds, as plain numbers, texts and tuples; large arrays as their bytes."""
    if isinstance(observation, np.ndarray):
        if observation.size <= _SMALL_ARRAY and observation.dtype.kind in "biuf":
            return content_of(observation.ravel().tolist())
        return observation.tobytes()
    if isinstance(observation, np.generic):
        return content_of(observation.item())
    if isinstance(observation, dict):
        return tuple((str(name), content_of(observation[name])) for name in sorted(observation, key=str))
    if isinstance(observation, list | tuple):
        return tuple(content_of(part) for part in observation)
    if isinstance(observation, float) and math.isnan(observation):
        raise InvalidObservation("the observation has NaN in it, which is no state that could ever be met again.")
    if isinstance(observation, frozenset):
        return tuple(sorted((content_of(part) for part in observation), key=repr))
    if isinstance(observation, Enum):
        return observation.name
    if is_dataclass(observation) and not isinstance(observation, type):
        return content_of({field.name: getattr(observation, field.name) for field in fields(observation)})
    if (why := _unfit(observation)) is not None:
        raise InvalidObservation(
            f"a state cannot be told by {type(observation).__name__}, {why}: {_shown(observation)}. "
            "Give key= a function that makes numbers, texts, bytes or tuples of them from an observation."
        )
    return observation  # type: ignore[no-any-return]


def _unfit(observation: Any) -> str | None:
    """Return why something tells no state, if it does not."""
    try:
        hash(observation)
    except TypeError:
        return "which is not hashable"
    # Python's own `hash` of an object is where it lies in memory.
    by_place: Any = object.__hash__
    if observation is not None and type(observation).__hash__ is by_place:
        return "of which every one differs from every other, so that no state would ever be met again"
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _to_json(key: Any) -> Any:
    if key is None or isinstance(key, bool | int | float | str):
        return key
    if isinstance(key, bytes):
        return {_BYTES: key.hex()}
    if isinstance(key, tuple):
        return [_to_json(part) for part in key]
    raise InvalidObservation(
        f"states told by {type(key).__name__} cannot be saved: {_shown(key)}. Make the keys numbers, texts, bytes "
        "or tuples of them."
    )


def _from_json(stored: Any) -> Hashable:
    if isinstance(stored, list):
        return tuple(_from_json(part) for part in stored)
    if isinstance(stored, dict):
        return bytes.fromhex(stored[_BYTES])
    return stored  # type: ignore[no-any-return]
