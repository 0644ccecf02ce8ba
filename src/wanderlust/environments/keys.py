"""State encoders: from an observation to a state key, the hashable content that identifies a state."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from numpy.typing import NDArray

from wanderlust.core.errors import (
    InvalidEnvironment,
    InvalidObservation,
    InvalidSetting,
    check_integer,
    check_number,
    plain_value,
    shown,
)

Key = str | Callable[..., Any]
Counts = int | Sequence[int]
Bounds = Sequence[tuple[float, float] | None] | Mapping[int, tuple[float, float]]

MAX_BINS = 1_000_000
# Some environments use the largest 32-bit float for "unbounded".
_UNBOUNDED = 1e30
_SMALL_ARRAY = 32
_INFO = "info:"
DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION = "discrete", "bins", "environment", "content", "info", "function"
KINDS = (DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION)


class Bins:
    """A Box with bins of equal width in each dimension; values beyond a bound belong to the outermost bin."""

    def __init__(self, counts: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self.counts, self.low, self.high = counts, low, high
        self._scale = self.counts / (self.high - self.low)
        self._last = self.counts - 1

    @classmethod
    def of_space(cls, space: Box, bins: Counts, bounds: Bounds | None = None) -> Bins:
        """Return the bins of a Box."""
        size = int(np.prod(space.shape))
        return cls(bin_counts("bins", bins, size), *_limits(space, size, bounds))

    def to_plain(self) -> dict[str, list[float]]:
        """Return the bins as JSON values."""
        return {"counts": self.counts.tolist(), "low": self.low.tolist(), "high": self.high.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Bins:
        """Return the bins that `to_plain` described."""
        low, high = (np.array([float(value) for value in plain[name]]) for name in ("low", "high"))
        counts = bin_counts("bins", list(plain["counts"]), len(low))
        if low.shape != high.shape or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError("the low bound of a bin's dimension must be finite and below the high bound")
        return cls(counts, low, high)

    @property
    def n_cells(self) -> int:
        """The total number of cells of the grid."""
        return int(np.prod([int(count) for count in self.counts]))

    def key_of(self, observation: Any) -> tuple[int, ...]:
        """Return the state key: the bin index of each dimension."""
        try:
            point = np.asarray(observation, np.float64).ravel()
        except Exception:  # Any object can be given.
            point = np.full(1, np.nan)
        if point.shape != self.low.shape or np.isnan(point).any():
            raise InvalidObservation(
                f"an observation must be {len(self.low)} numbers, none of them NaN, got {shown(observation)}."
            )
        # Clipped before the conversion to integers, because infinity has no integer value.
        position = np.clip((point - self.low) * self._scale, 0, self._last)
        return tuple(position.astype(np.int64).tolist())

    def describe(self, key: tuple[int, ...]) -> str:
        """Return the interval of each dimension, such as "[-0.6, -0.5] × [0, 0.01]"."""
        width = (self.high - self.low) / self.counts
        edges = [self.low + (np.array(key) + i) * width for i in (0, 1)]
        # A bound that is 0 but for a rounding error is 0.
        first, last = (np.where(np.abs(edge) < 1e-9 * width, 0.0, edge) for edge in edges)
        return " × ".join(f"[{low:.4g}, {high:.4g}]" for low, high in zip(first, last, strict=True))


def bin_counts(name: str, bins: Counts, size: int) -> NDArray[np.int64]:
    """Return the number of bins of each dimension."""
    number = plain_value(bins)
    given = [number] * size if isinstance(number, bool | int | float | str) else number
    try:
        counts = [check_integer(f"{name} of dimension {i}", n, low=1, high=MAX_BINS) for i, n in enumerate(given)]
    except TypeError:
        raise InvalidSetting(f"{name} must be a whole number or one for each dimension, got {shown(bins)}.") from None
    if len(counts) != size:
        raise InvalidSetting(f"{name} must be one number or {size}, one for each dimension, got {len(counts)}.")
    return np.array(counts, np.int64)


def _limits(space: Box, size: int, bounds: Bounds | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    for i, pair in _by_dimension(bounds, size).items():
        try:
            first, last = pair
        except (TypeError, ValueError):
            raise InvalidSetting(f"bounds of dimension {i} must be (low, high) or None, got {shown(pair)}.") from None
        low[i] = check_number(f"the low bound of dimension {i}", first)
        high[i] = check_number(f"the high bound of dimension {i}", last, low=low[i], open_low=True)
    for unbounded in np.flatnonzero((np.abs(low) > _UNBOUNDED) | (np.abs(high) > _UNBOUNDED)):
        i = int(unbounded)
        raise InvalidEnvironment(
            f"dimension {i} of the observation is unbounded ({low[i]:g} to {high[i]:g}), so it cannot be divided into "
            f"bins; set its bounds: bounds={{{i}: (low, high)}}. Values beyond them belong to the outermost bin."
        )
    return low, high


def _by_dimension(bounds: Bounds | None, size: int) -> dict[int, Any]:
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        limits = bounds.items()
        return {check_integer("a dimension of bounds", i, low=0, high=size - 1): pair for i, pair in limits}
    is_list = isinstance(bounds, Sequence) or (isinstance(bounds, np.ndarray) and bounds.ndim > 0)
    if not is_list or isinstance(bounds, str) or len(bounds) != size:
        raise InvalidSetting(
            f"bounds must be one (low, high) or None for each of the {size} dimensions, or a dict from dimension to "
            f"(low, high), got {shown(bounds)}."
        )
    return {i: pair for i, pair in enumerate(bounds) if pair is not None}


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

    def key(self, observation: Any, info: Mapping[str, Any] | None = None, env: Any = None) -> Hashable:
        """Return the state key of an observation; some kinds need `info` or the environment."""
        if self.kind == DISCRETE:
            assert self.space is not None
            return discrete_key(self.space, observation)
        if self.kind == BINS:
            assert self.bins is not None
            return self.bins.key_of(observation)
        if self.kind == CONTENT:
            return state_key(observation)
        if self.kind == INFO:
            return _from_info(_needed("info", info, f"the state is its field {self.name!r}"), self.name)
        if self.kind == ENVIRONMENT:
            return _environment_hash(_needed("env", env, "the state is the environment's hash").unwrapped)
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
        return str(key) if self.bins is None else self.bins.describe(key)

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
        """Return the encoder as JSON values."""
        return {
            "kind": self.kind,
            "space": None if self.space is None else space_to_plain(self.space),
            "bins": None if self.bins is None else self.bins.to_plain(),
            "name": self.name,
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
        return cls(kind, space, bins, name, function if kind == FUNCTION else None)


def _needed(name: str, value: Any, why: str) -> Any:
    if value is None:
        raise InvalidSetting(f"{name}= is needed: {why}.")
    return value


def make_encoder(env: Env[Any, Any], key: Key | None, bins: Counts | None, bounds: Bounds | None) -> StateEncoder:
    """Return the state encoder of an environment, or raise an error that names the missing option."""
    space = env.observation_space
    if key is not None and (bins is not None or bounds is not None):
        raise InvalidSetting("key cannot be combined with bins or bounds; set only one of them.")
    if bounds is not None and bins is None:
        raise InvalidSetting("bounds limit the bins; set bins as well, such as bins=8.")
    if bins is not None:
        if not isinstance(space, Box):
            raise InvalidEnvironment(f"bins requires a Box observation space, but the environment's is {space}.")
        return StateEncoder(BINS, bins=Bins.of_space(space, bins, bounds))
    if key is None:
        check_discrete(space, "")
        return StateEncoder(DISCRETE, space)
    if callable(key):
        return StateEncoder(FUNCTION, name=str(getattr(key, "__qualname__", type(key).__qualname__)), function=key)
    if isinstance(key, str) and key == "hash":
        return StateEncoder(ENVIRONMENT if callable(getattr(env.unwrapped, "hash", None)) else CONTENT)
    if isinstance(key, str) and key.startswith(_INFO) and len(key) > len(_INFO):
        return StateEncoder(INFO, name=key.removeprefix(_INFO))
    raise InvalidSetting(f"key must be 'hash', 'info:field' or a function of the observation, got {shown(key)}.")


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
        f"the observation {shown(observation)} is outside the observation space {space}. If the environment returned "
        "it, correct the environment or its space, or set a state encoding with key=."
    )


def _environment_hash(env: Any) -> Hashable:
    """Return `env.hash()` together with the mission and the carried object, which MiniGrid's hash does not include."""
    carried = getattr(env, "carrying", None)
    return state_key((env.hash(), getattr(env, "mission", None), None if carried is None else carried.encode()))


def _from_info(info: Mapping[str, Any], field: str) -> Hashable:
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


def check_discrete(space: Space[Any], where: str) -> None:
    """Raise an error unless the observations of a space can be used as state keys directly."""
    for name, part in _parts(space).items():
        check_discrete(part, f"{where}[{name!r}]")
    if not isinstance(space, Discrete | MultiDiscrete | MultiBinary | Text | Tuple | Dict):
        use_bins = "bins=8 divides each dimension into 8 bins, " if isinstance(space, Box) and not where else ""
        raise InvalidEnvironment(
            f"observation{where} is {space}, which is not discrete; set a state encoding in wl.tabular: {use_bins}"
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
