"""A wrapper that gives any Gymnasium environment discrete states and actions.

    env = wl.tabular(gym.make("MountainCar-v0"), bins=(24, 24))
    env = wl.tabular("FrozenLake-v1")
    env = wl.tabular(gym.make("MiniGrid-DoorKey-6x6-v0"), key="hash", reset_seed=0)

A Discrete observation is its own state index. Other states get their indices in the order in which they are
discovered, so their number need not be known in advance.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any

import gymnasium
from gymnasium import Env, Wrapper
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from wanderlust.core.errors import (
    InvalidEnvironment,
    InvalidSetting,
    UnknownName,
    check_index,
    check_instance,
    check_integer,
    check_options,
    shown,
)
from wanderlust.core.user_code import check_allowed, defined_in, import_named
from wanderlust.environments.bins import Bounds, Counts
from wanderlust.environments.encoding import INFO_PREFIX, MAX_STATES, Encoding, IntegerKeys, Key, StateKeys
from wanderlust.environments.make import (
    action_names,
    copy_environment,
    grid_layout,
    import_environment_package,
    make_environment,
    time_limit,
)
from wanderlust.environments.vector import SubEnvironment
from wanderlust.worlds import Layout


class Tabular(Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose observations are state indices and whose actions are action indices, both from 0."""

    observation: Any = None
    """The wrapped environment's latest observation."""

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
        if not isinstance(env, Env):
            raise InvalidEnvironment(f"Tabular needs a gymnasium.Env, got {shown(env)}; wl.tabular also takes names.")
        RecordConstructorArgs.__init__(
            self, key=key, bins=bins, bounds=bounds, action_bins=action_bins, reset_seed=reset_seed, encoding=encoding
        )
        Wrapper.__init__(self, env)
        self.reset_seed = None if reset_seed is None else check_integer("reset_seed", reset_seed, low=0)
        if encoding is None:
            encoding = Encoding.of(env, env.action_space, key=key, bins=bins, bounds=bounds, action_bins=action_bins)
        else:
            check_instance("encoding", encoding, Encoding).check_environment(env)
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
        seed = None if seed is None else check_integer("seed", seed, low=0)
        self.observation, info = self.env.reset(seed=seed, options=options)
        return self.state_of(self.observation, info), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        """Take an action given by its index."""
        observation, reward, terminated, truncated, info = self.env.step(self.action_of(action))
        self.observation = observation
        return self.state_of(observation, info), reward, terminated, truncated, info

    def state_of(self, observation: Any, info: dict[str, Any] | None = None) -> int:
        """Return the state index of an observation."""
        if type(observation) is int and 0 <= observation < self._n_plain_states:
            return observation
        key = self.encoding.key(observation, {} if info is None else info, self.env)
        return self.keys.add(key) if self.adds_new_states else self.keys.find(key)

    def key_of(self, state: int) -> Hashable:
        """Return the state key: the observation, its bins, its hash, or the result of `key`."""
        return self.keys.key_of(state)

    def describe(self, state: int) -> str:
        """Return a readable description of a state: its key, or the intervals of its bins."""
        return self.encoding.describe(state)

    def action_of(self, index: int) -> Any:
        """Return the wrapped environment's action for an action index."""
        if type(index) is int and 0 <= index < self._n_plain_actions:
            return index
        return self.encoding.actions.decode(check_index("action", index, self.n_actions))

    def action_mask(self, info: Mapping[str, Any]) -> Any:
        """Return the valid actions: `info["action_mask"]`, or the result of the environment's `action_masks()`."""
        if "action_mask" in check_instance("info", info, Mapping):
            return info["action_mask"]
        if not self.env.has_wrapper_attr("action_masks"):
            raise InvalidEnvironment(
                f"action_masks=True needs info['action_mask'] or a method action_masks(), but {self.name} has neither."
            )
        return self.env.get_wrapper_attr("action_masks")()

    @property
    def keys(self) -> StateKeys | IntegerKeys:
        """The state keys and their indices."""
        return self.encoding.keys

    @property
    def has_plain_indices(self) -> bool:
        """Whether states and actions are those of the wrapped environment, and episodes do not repeat one seed."""
        return bool(self._n_plain_states and self._n_plain_actions) and self.reset_seed is None

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
        if spec is None and isinstance(self.env, SubEnvironment):
            return self.env.class_name
        return type(self.env.unwrapped).__name__ if spec is None else str(spec.id)

    @property
    def horizon(self) -> int | None:
        """The number of steps after which episodes are truncated, or None if unknown."""
        return time_limit(self.env)

    @property
    def layout(self) -> Layout | None:
        """The map of the environment if its states are the cells of one."""
        return grid_layout(self.env, self.n_states) if self._n_plain_states else None

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """The names of the actions, or None if they are unknown."""
        return action_names(self.env, self.n_actions) if isinstance(self.env.action_space, Discrete) else None

    def copy(self, env: Env[Any, Any] | None = None) -> Tabular:
        """Return a copy, or `env` with the same encoding, that shares the state indices and adds no new states."""
        if isinstance(env, Tabular):
            env = env.env
        env = copy_environment(self.env) if env is None else env
        other = Tabular(env, reset_seed=self.reset_seed, encoding=self.encoding)
        other.adds_new_states = False
        return other


def tabular(
    env: Env[Any, Any] | VectorEnv[Any, Any, Any] | str,
    *,
    key: Key | None = None,
    bins: Counts | None = None,
    bounds: Bounds | None = None,
    action_bins: Counts | None = None,
    reset_seed: int | None = None,
) -> Tabular:
    """Return an environment, given as such or by its name, with discrete states and actions.

    Observations that are Discrete, MultiDiscrete, MultiBinary, Text, or a Tuple or Dict of those, and arrays of bounded
    integers (a Box) that are not images, are used as state keys directly. For others, set the state encoding:

    * `key="hash"`: the environment's `hash()` of its state if it has one, as in MiniGrid (together with the mission
      and the carried object, which that hash does not include); otherwise the content of the observation.
    * `key="info:field"`: a field of `info`.
    * `key=function`: the result of a function of (observation) or (observation, info): numbers, strings, bytes, or
      tuples of them.
    * `bins=20` or `bins=(20, 10)`: the number of bins per dimension of a Box; `bounds` limits unbounded dimensions,
      with (low, high) or None for each, or {dimension: (low, high)}.

    `action_bins` is the number of evenly spaced values, bounds included, per dimension of a Box action space.
    With `reset_seed` every episode starts with that seed: the same layout and the same randomness each time.

    Of a `VectorEnv`, `learn` takes the steps; `key="hash"` is then the content of the observation.
    """
    if isinstance(env, VectorEnv) and reset_seed is not None:
        raise InvalidSetting("reset_seed is not possible with a VectorEnv, which resets its environments itself.")
    env = SubEnvironment(env) if isinstance(env, VectorEnv) else env
    return Tabular(
        make_environment(env), key=key, bins=bins, bounds=bounds, action_bins=action_bins, reset_seed=reset_seed
    )


ENCODER_OPTIONS = ("key", "bins", "bounds", "action_bins", "reset_seed")
"""The options of `wl.tabular`."""


def tabular_from_options(
    env: Env[Any, Any] | str, options: Mapping[str, Any], encoder_options: Mapping[str, Any]
) -> Tabular:
    """Return an environment, given as such or by its name and options, wrapped in `Tabular`.

    `encoder_options` are the options of `wl.tabular` as plain values: a key is 'hash', 'info:field' or
    'module:function', and bounds have their dimension as a string key, {'1': [-3, 3]}.
    """
    env = make_environment(env, **options)
    check_options("wl.tabular", encoder_options, ENCODER_OPTIONS)
    key = encoder_options.get("key")
    key = load_function(key) if isinstance(key, str) and module_of(key) is not None else key
    return Tabular(env, **{**encoder_options, "key": key})


def module_of(name: str) -> str | None:
    """Return the module of a name 'module:attribute', or None for other names, including 'info:field'."""
    module, colon, _ = name.partition(":")
    return module if colon and f"{module}:" != INFO_PREFIX else None


def registered_module(name: str) -> str | None:
    """Return the module of an environment that is registered in Gymnasium, or None."""
    spec = gymnasium.registry.get(name)
    entry = None if spec is None else spec.entry_point
    return entry.partition(":")[0] if isinstance(entry, str) else getattr(entry, "__module__", None)


def load_function(name: str) -> Any:
    """Return the key function that 'module:function' names."""
    module, function = import_named("key", name)
    if not defined_in(module, function):
        raise UnknownName(
            f"key {name!r} must be 'hash', 'info:field' or 'module:function'; {module.__name__} defines no function of "
            "that name."
        )
    return function


RECORDERS = ("RecordEpisodeStatistics", "RecordVideo", "RenderCollection", "HumanRendering")
"""The wrappers of Gymnasium that change neither observations, actions and rewards nor the length of episodes."""


def saved_environment(env: Tabular) -> dict[str, Any]:
    """Return the name of an environment, and its options if they are plain values (None if they are not).

    A time limit and wrappers are included if they are not those of the registered environment.
    """
    spec = env.env.spec
    options = {} if spec is None else {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    try:
        plain = json.loads(json.dumps(options))
    except (TypeError, ValueError):
        plain = None
    saved = {"name": env.name, "options": plain if plain == options else None, "reset_seed": env.reset_seed}
    registered = gymnasium.registry.get(env.name)
    if spec is not None and registered is not None:
        if spec.max_episode_steps != registered.max_episode_steps:
            saved["max_episode_steps"] = spec.max_episode_steps
        added = [each.name for each in spec.additional_wrappers if each not in registered.additional_wrappers]
        if wrappers := [name for name in added if name not in RECORDERS]:
            saved["wrappers"] = wrappers
    return saved


def remake_environment(saved: Mapping[str, Any] | None, **changes: Any) -> Env[Any, Any]:
    """Return a new environment like the one an agent was trained in.

    Only environments that Gymnasium knows are made, without wrappers: a file must not name code that is imported.
    """
    saved = saved or {}
    name, options, limit = saved.get("name"), saved.get("options"), saved.get("max_episode_steps")
    if wrappers := saved.get("wrappers"):
        names = ", ".join(map(str, wrappers)) if isinstance(wrappers, list) else shown(wrappers)
        raise InvalidEnvironment(
            f"the environment of this agent, {name}, had wrappers that cannot be made from its file ({names}); give "
            "the environment with its wrappers."
        )
    if isinstance(name, str) and isinstance(options, Mapping):
        check_allowed("the environment of this agent", options)  # Some of Gymnasium's import what an option names.
        import_environment_package(name)
        if name in gymnasium.registry:
            if limit is not None:
                changes["max_episode_steps"] = check_integer("max_episode_steps of the file", limit, low=1)
            return make_environment(name, **options, **changes)
    raise InvalidEnvironment(
        f"the environment of this agent, {name}, cannot be made from its file, since it is not registered in "
        "Gymnasium or has options that are not plain values; give the environment."
    )
