"""Any Gymnasium environment with numbered states and actions.

    env = wl.tabular(gym.make("MountainCar-v0"), bins=(24, 24))
    env = wl.tabular("FrozenLake-v1")
    env = wl.tabular(gym.make("MiniGrid-DoorKey-6x6-v0"), key="hash", reset_seed=0)

States get their numbers in the order in which they are met, so there may be any number of them, known beforehand or
not.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

import numpy as np
from gymnasium import Env, Wrapper
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import TimeLimit

from wanderlust.core.errors import InvalidObservation, check_integer
from wanderlust.envs.actions import numbered_actions
from wanderlust.envs.bins import Bounds, Counts
from wanderlust.envs.encoders import Key, make_encoder
from wanderlust.envs.make import copy_of, make_environment
from wanderlust.envs.state_keys import MAX_STATES, StateKeys


class Tabular(Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose observations are the numbers of its states and whose actions are numbered from 0."""

    def __init__(
        self,
        env: Env[Any, Any],
        *,
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        action_bins: Counts | None = None,
        reset_seed: int | None = None,
    ) -> None:
        self.given: dict[str, Any] = {
            "key": key,
            "bins": bins,
            "bounds": bounds,
            "action_bins": action_bins,
            "reset_seed": reset_seed,
        }
        """What it was made with."""
        RecordConstructorArgs.__init__(self, **self.given)
        Wrapper.__init__(self, env)
        self.reset_seed = None if reset_seed is None else check_integer("reset_seed", reset_seed, low=0)
        self._telling = make_encoder(env, key, bins, bounds)
        self._actions = numbered_actions(env.action_space, action_bins)
        self.keys = StateKeys()
        """The keys of all states met so far."""
        self.adds_new_states = True
        """Whether a state met for the first time gets a number; otherwise all of them share the next number."""
        self.observation_space = Discrete(min(self._telling.n_states or MAX_STATES, MAX_STATES))
        self.action_space = Discrete(self._actions.n)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode; with `reset_seed`, always from that seed, so that layout and chance are the same again."""
        seed = self.reset_seed if self.reset_seed is not None else seed
        observation, info = self.env.reset(seed=seed, options=options)
        return self.state_of(observation, info), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        """Take an action by its number."""
        observation, reward, terminated, truncated, info = self.env.step(self.action_of(action))
        return self.state_of(observation, info), reward, terminated, truncated, info

    def state_of(self, observation: Any, info: dict[str, Any] | None = None) -> int:
        """Return the number of the state that an observation tells."""
        key = self._telling.key(observation, {} if info is None else info)
        return self.keys.number_of(key) if self.adds_new_states else self.keys.find(key)

    def key_of(self, state: int) -> Hashable:
        """Return what a state is told by: the observation, its bins, its hash, or what `key` made of it."""
        return self.keys.key_of(operator.index(state))

    def describe(self, state: int) -> str:
        """Return a state in words: its key, or the intervals of its bins."""
        return self._telling.describe(self.key_of(state))

    def action_of(self, number: int) -> Any:
        """Return the environment's own action that has a number."""
        if not isinstance(number, int | np.integer) or not 0 <= number < self._actions.n:
            raise InvalidObservation(f"action must be a whole number from 0 to {self._actions.n - 1}, got {number!r}.")
        return self._actions.decode(int(number))

    @property
    def n_states(self) -> int:
        """How many states were met so far."""
        return len(self.keys)

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return self._actions.n

    @property
    def name(self) -> str:
        """The environment's id, or its class where it has none."""
        spec = self.env.spec
        return type(self.env.unwrapped).__name__ if spec is None else str(spec.id)

    @property
    def horizon(self) -> int | None:
        """After how many steps episodes are cut off, if that is known."""
        spec, env = self.env.spec, self.env
        if spec is not None and spec.max_episode_steps is not None:
            return int(spec.max_episode_steps)
        while isinstance(env, Wrapper):
            if isinstance(env, TimeLimit):
                return int(env._max_episode_steps)
            env = env.env
        return None

    def copy(self, env: Env[Any, Any] | None = None) -> Tabular:
        """Return a second environment of the same kind that shares this one's numbers and gives out no new ones."""
        if isinstance(env, Tabular):
            env = env.env
        other = Tabular(copy_of(self.env) if env is None else env, **self.given)
        other.keys, other.adds_new_states = self.keys, False
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
    """Return an environment, or the one of that name, with its states and actions numbered.

    Observations that are Discrete, MultiDiscrete, MultiBinary, Text, or a Tuple or Dict of those are states as they
    are. Otherwise say what tells a state:

    * `key="hash"`: the environment's own hash of its whole state if it has one, as MiniGrid's have (together with the
      mission and what is carried, which that leaves out); else the content of the observation.
    * `key="info:field"`: a field of the info.
    * `key=function`: whatever it makes of (observation) or (observation, info): numbers, texts, bytes, tuples of them.
    * `bins=20` or `bins=(20, 10)`: a Box cut into so many bins in each dimension; `bounds` says where an unbounded
      dimension is cut off, one (low, high) or None for each, or {dimension: (low, high)}.

    Actions that are a Box are cut into `action_bins` evenly spaced values in each dimension, the bounds included.
    With `reset_seed` every episode starts from that seed: the same layout, and the same chance, each time.
    """
    given = make_environment(env)
    return Tabular(given, key=key, bins=bins, bounds=bounds, action_bins=action_bins, reset_seed=reset_seed)
