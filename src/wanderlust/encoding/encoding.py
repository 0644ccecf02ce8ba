"""The encoding of an environment: observations to state indices, action indices to actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from wanderlust.core.errors import MAX_PAIRS, BadFile, InvalidEnvironment
from wanderlust.encoding.actions import DiscreteActions, discrete_actions
from wanderlust.encoding.bins import Bounds, Counts
from wanderlust.encoding.observations import FUNCTION, Key, StateEncoder, make_encoder
from wanderlust.encoding.state_keys import MAX_STATES, IntegerKeys, StateKeys

MAX_OWN_PAIRS = 10_000_000
"""Discrete observations are their own state indices if there are at most this many pairs; more would waste memory."""


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
        plain = {
            "encoder": self.encoder.to_plain(),
            "actions": self.actions.to_plain(),
            "spaces": list(self.spaces),
        }
        return plain, self.keys.to_array()

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
