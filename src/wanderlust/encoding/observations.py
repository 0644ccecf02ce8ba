"""State encoders: from an observation to a state key, the hashable content that identifies a state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium import Env, Space
from gymnasium.spaces import Box

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, shown
from wanderlust.encoding.bins import Bins, Bounds, Counts
from wanderlust.encoding.spaces import check_discrete, discrete_key, space_from_plain, space_size, space_to_plain
from wanderlust.encoding.state_keys import state_key

Key = str | Callable[..., Any]

_INFO = "info:"
DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION = "discrete", "bins", "environment", "content", "info", "function"
KINDS = (DISCRETE, BINS, ENVIRONMENT, CONTENT, INFO, FUNCTION)


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
