"""A wrapper that gives any Gymnasium environment discrete states and actions.

    env = wl.tabular(gym.make("MountainCar-v0"), bins=(24, 24))
    env = wl.tabular("FrozenLake-v1")
    env = wl.tabular(gym.make("MiniGrid-DoorKey-6x6-v0"), key="hash", reset_seed=0)

A Discrete observation is its own state index. Other states get their indices in the order in which they are
discovered, so their number need not be known in advance.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

import numpy as np
from gymnasium import Env, Wrapper
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from wanderlust.core.errors import InvalidEnvironment, InvalidObservation, check_integer, shown
from wanderlust.encoding.bins import Bounds, Counts
from wanderlust.encoding.encoding import Encoding
from wanderlust.encoding.observations import Key
from wanderlust.encoding.state_keys import MAX_STATES, IntegerKeys, StateKeys
from wanderlust.envs.make import copy_environment, make_environment, time_limit


class Tabular(Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose observations are state indices and whose actions are action indices, both from 0."""

    def __init__(
        self,
        env: Env[Any, Any],
        *,
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        action_bins: Counts | None = None,
        reset_seed: int | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        """Wrap an environment; `encoding` is that of a trained agent, instead of the options before it."""
        self.encoder_options: dict[str, Any] = {
            "key": key,
            "bins": bins,
            "bounds": bounds,
            "action_bins": action_bins,
            "reset_seed": reset_seed,
        }
        """The constructor's options."""
        if not isinstance(env, Env):
            raise InvalidEnvironment(f"Tabular needs a gymnasium.Env, got {shown(env)}; wl.tabular also takes names.")
        RecordConstructorArgs.__init__(self, **self.encoder_options, encoding=encoding)
        Wrapper.__init__(self, env)
        self.reset_seed = None if reset_seed is None else check_integer("reset_seed", reset_seed, low=0)
        if encoding is None:
            encoding = Encoding.of_environment(env, key=key, bins=bins, bounds=bounds, action_bins=action_bins)
        else:
            encoding.check_environment(env)
        self.encoding = encoding
        """How states and actions are encoded."""
        self.adds_new_states = True
        """Whether a new state gets an index of its own; if not, all new states share the index `n_states`."""
        # Observations and actions that are integers from 0 already need no encoding, which takes longer than a step.
        keys, levels = encoding.keys, encoding.actions.levels
        self._n_plain_states = keys.n if isinstance(keys, IntegerKeys) and keys.start == 0 else 0
        self._n_plain_actions = encoding.actions.n if encoding.actions.shape is None and levels[0][0] == 0 else 0
        self.observation_space = Discrete(min(encoding.encoder.n_states or MAX_STATES, MAX_STATES))
        self.action_space = Discrete(encoding.actions.n)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode; with `reset_seed`, always with that seed, so that all episodes have the same randomness."""
        seed = self.reset_seed if self.reset_seed is not None else seed
        observation, info = self.env.reset(seed=seed, options=options)
        return self.state_of(observation, info), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        """Take an action given by its index."""
        observation, reward, terminated, truncated, info = self.env.step(self.action_of(action))
        return self.state_of(observation, info), reward, terminated, truncated, info

    def state_of(self, observation: Any, info: dict[str, Any] | None = None) -> int:
        """Return the state index of an observation."""
        if type(observation) is int and 0 <= observation < self._n_plain_states:
            return observation
        key = self.encoding.key(observation, {} if info is None else info, self.env)
        return self.keys.add(key) if self.adds_new_states else self.keys.find(key)

    def key_of(self, state: int) -> Hashable:
        """Return the state key: the observation, its bins, its hash, or the result of `key`."""
        try:
            index = operator.index(state)
        except TypeError:
            raise InvalidObservation(f"state must be a whole number, got {shown(state)}.") from None
        return self.keys.key_of(index)

    def describe(self, state: int) -> str:
        """Return a readable description of a state: its key, or the intervals of its bins."""
        return self.encoding.describe(state)

    def action_of(self, index: int) -> Any:
        """Return the wrapped environment's action for an action index."""
        if type(index) is int and 0 <= index < self._n_plain_actions:
            return index
        if not isinstance(index, int | np.integer) or not 0 <= index < self.n_actions:
            valid = f"from 0 to {self.n_actions - 1}"
            raise InvalidObservation(f"action must be a whole number {valid}, got {shown(index)}.")
        return self.encoding.actions.decode(int(index))

    @property
    def keys(self) -> StateKeys | IntegerKeys:
        """The state keys and their indices."""
        return self.encoding.keys

    @property
    def is_binned(self) -> bool:
        """Whether a state is a bin of a continuous observation space."""
        return self.encoding.encoder.bins is not None

    @property
    def n_states(self) -> int:
        """The number of state indices: all of a Discrete observation space, otherwise those discovered so far."""
        return len(self.keys)

    @property
    def fixed_n_states(self) -> int | None:
        """The number of state indices if it does not grow, otherwise None."""
        return len(self.keys) if isinstance(self.keys, IntegerKeys) else None

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return int(self.action_space.n)  # type: ignore[attr-defined]

    @property
    def name(self) -> str:
        """The environment's id, or the name of its class if it has none."""
        spec = self.env.spec
        return type(self.env.unwrapped).__name__ if spec is None else str(spec.id)

    @property
    def horizon(self) -> int | None:
        """The number of steps after which episodes are truncated, or None if unknown."""
        return time_limit(self.env)

    def copy(self, env: Env[Any, Any] | None = None) -> Tabular:
        """Return a copy, or `env` with the same encoding, that shares the state indices and adds no new states."""
        if isinstance(env, Tabular):
            env = env.env
        env = copy_environment(self.env) if env is None else env
        other = Tabular(env, reset_seed=self.reset_seed, encoding=self.encoding)
        other.adds_new_states = False
        return other


def tabular(
    env: Env[Any, Any] | str,
    *,
    key: Key | None = None,
    bins: Counts | None = None,
    bounds: Bounds | None = None,
    action_bins: Counts | None = None,
    reset_seed: int | None = None,
) -> Tabular:
    """Return an environment, given as such or by its name, with discrete states and actions.

    Observations that are Discrete, MultiDiscrete, MultiBinary, Text, or a Tuple or Dict of those are used as state
    keys directly. For other observations, set the state encoding:

    * `key="hash"`: the environment's `hash()` of its state if it has one, as in MiniGrid (together with the mission
      and the carried object, which that hash does not include); otherwise the content of the observation.
    * `key="info:field"`: a field of `info`.
    * `key=function`: the result of a function of (observation) or (observation, info): numbers, strings, bytes, or
      tuples of them.
    * `bins=20` or `bins=(20, 10)`: the number of bins per dimension of a Box; `bounds` limits unbounded dimensions,
      with (low, high) or None for each, or {dimension: (low, high)}.

    `action_bins` is the number of evenly spaced values, bounds included, per dimension of a Box action space.
    With `reset_seed` every episode starts with that seed: the same layout and the same randomness each time.
    """
    env = make_environment(env)
    return Tabular(env, key=key, bins=bins, bounds=bounds, action_bins=action_bins, reset_seed=reset_seed)
