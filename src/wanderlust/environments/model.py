"""Conversion of a Gymnasium environment with a known model into a `World`."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from wanderlust.core.errors import EnvironmentFailed, InvalidEnvironment, InvalidWorld, shown
from wanderlust.core.mdp import FloatArray, TabularMDP, merge_outcomes
from wanderlust.environments.make import make_environment, time_limit
from wanderlust.environments.tabular import Tabular
from wanderlust.worlds import Defaults, World, check_mdp, check_world
from wanderlust.worlds.base import CellKind, Layout, checked_names, single_layer_layout

OBSERVED_RESETS = 10_000
_HORIZON, _BUDGET = 1_000, 100_000
_HASH_LENGTH = 24


def world_from_gym(env: Env[Any, Any] | str, **options: Any) -> World:
    """Return the world of an environment with a transition table, such as Gymnasium's toy-text environments.

    `train` runs in it many times faster than `learn` in the environment. The built-in worlds are returned as
    they are.

    The table is `env.unwrapped.P[state][action]`, a list of (probability, next state, reward, terminated). The start
    distribution is `initial_state_distrib`, or estimated from many resets. The horizon is the
    environment's time limit. If `env` is a name, `options` are passed to `gymnasium.make`.
    """
    env = make_environment(env, **options)
    built_in = getattr(env.unwrapped, "world", None)
    if isinstance(built_in, World):
        return built_in
    model = getattr(env.unwrapped, "P", None)
    name = type(env.unwrapped).__name__ if env.spec is None else str(env.spec.id)
    if not isinstance(model, Mapping | Sequence) or len(model) == 0:
        raise InvalidEnvironment(
            f"{name} has no model: env.unwrapped.P must be the table of all transitions, as in FrozenLake, "
            "CliffWalking and Taxi. `wl.learn`, and the commands without --exact, work without a model."
        )
    mdp = _mdp_from_model(model, name)
    mdp = mdp._replace(start=_start_distribution(env, mdp.n_states, name))
    try:
        # Before merging, which sets the probability of a single outcome to 1.
        check_mdp(mdp)
    except InvalidWorld as error:
        raise InvalidWorld(f"{name}: {error}") from None
    mdp = merge_outcomes(mdp)
    horizon = time_limit(env)
    world = World(
        name=name,
        mdp=mdp,
        defaults=Defaults(horizon=_HORIZON if horizon is None else horizon, budget=_BUDGET),
        action_names=action_names(env, mdp.n_actions) or tuple(str(action) for action in range(mdp.n_actions)),
        r_max=mdp.reward_range[1],
        layout=grid_layout(env, mdp.n_states),
    )
    check_world(world)
    return world


def model_hash(world: World) -> str:
    """Return a hash of everything that a run in a world depends on: its dynamics and its settings."""
    digest = hashlib.sha256(repr((world.reward_range, world.defaults)).encode())
    for array in world.mdp:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:_HASH_LENGTH]


def _mdp_from_model(model: Any, name: str) -> TabularMDP:
    n_states = len(model)
    rows = [_outcomes(model, state, name) for state in range(n_states)]
    n_actions = len(rows[0])
    width = max(len(outcomes) for row in rows for outcomes in row)
    shape = (n_states, n_actions, width)
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminal = np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    for state, row in enumerate(rows):
        if len(row) != n_actions:
            raise InvalidWorld(f"{name}: state {state} has {len(row)} actions in P, but state 0 has {n_actions}.")
        for action, outcomes in enumerate(row):
            for k, outcome in enumerate(outcomes):
                i = (state, action, k)
                try:
                    probability[i], successor, reward[i], terminated = outcome
                    next_state[i], terminal[i] = operator.index(successor), bool(terminated)
                except Exception:  # Any object can be an outcome.
                    raise InvalidWorld(
                        f"{name}: P[{state}][{action}] must list (probability, next state, reward, terminated), "
                        f"got {shown(outcome)}."
                    ) from None
    return TabularMDP(probability, next_state, reward, terminal, start=np.zeros(n_states))


def _outcomes(model: Any, state: int, name: str) -> list[list[Any]]:
    """Return the outcomes of each action of a state."""
    try:
        actions = model[state]
        outcomes = [list(actions[action]) for action in range(len(actions))]
    except Exception:  # A user-defined table may raise anything.
        raise InvalidWorld(f"{name}: P must have every state from 0 and every action from 0; see P[{state}].") from None
    if not outcomes or not all(outcomes):
        raise InvalidWorld(f"{name}: P[{state}] has no actions, or an action without outcomes.")
    return outcomes


def _start_distribution(env: Env[Any, Any], n_states: int, name: str) -> FloatArray:
    distribution = getattr(env.unwrapped, "initial_state_distrib", None)
    if distribution is not None:
        try:
            start = np.asarray(distribution, np.float64).ravel()
        except Exception:  # Any object can be given.
            start = np.full(1, np.nan)
        total = float(start.sum())
        if start.shape != (n_states,) or not abs(total - 1.0) < 1e-6:
            raise InvalidWorld(
                f"{name}: initial_state_distrib must be {n_states} probabilities that sum to 1, got {len(start)} that "
                f"sum to {total:g}."
            )
        return start / total
    counts = np.zeros(n_states)
    for seed in range(OBSERVED_RESETS):
        try:
            state, _ = env.reset(seed=seed)
            index = operator.index(state)
        except Exception as error:  # A user-defined environment may raise anything.
            raise EnvironmentFailed(f"{name}: reset failed: {type(error).__name__}: {error}") from error
        if not 0 <= index < n_states:
            raise InvalidWorld(f"{name}: reset returned state {index}; P has the states 0 to {n_states - 1}.")
        counts[index] += 1
    return counts / OBSERVED_RESETS


_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("down", "up", "right", "left", "pick up", "drop off"),
    "BlackjackEnv": ("stick", "hit"),
    "CartPoleEnv": ("push left", "push right"),
    "MountainCarEnv": ("accelerate left", "coast", "accelerate right"),
    "AcrobotEnv": ("torque -1", "torque 0", "torque +1"),
}
"""Of Gymnasium's own environments, by the name of their class."""
_FROZEN_LAKE = {b"S": CellKind.START, b"F": CellKind.FLOOR, b"H": CellKind.PENALTY, b"G": CellKind.TREASURE}


def action_names(env: Env[Any, Any], n_actions: int) -> tuple[str, ...] | None:
    """Return the names of an environment's actions, or None if they are unknown.

    They are its attribute `action_names` (a list), the members of its enumeration `actions` as in MiniGrid, or those
    of one of Gymnasium's own environments.
    """
    inner = env.unwrapped
    members = getattr(inner, "actions", None)
    if isinstance(members, type) and issubclass(members, Enum):
        members = [member.name for member in sorted(members, key=lambda member: int(member.value))]
    world = getattr(inner, "world", None)
    for names in (getattr(inner, "action_names", None), getattr(world, "action_names", None), members):
        if (checked := checked_names(names, n_actions)) is not None:
            return checked
    is_of_gymnasium = type(inner).__module__.partition(".")[0] == "gymnasium"
    return checked_names(_NAMES.get(type(inner).__name__) if is_of_gymnasium else None, n_actions)


def description_of(env: Tabular) -> tuple[Layout | None, tuple[str, ...] | None]:
    """Return the map of an environment, if its states are the cells of one, and the names of its actions."""
    is_own_index = env.fixed_n_states is not None
    layout = grid_layout(env.env, env.n_states) if is_own_index and env.keys.key_of(0) == 0 else None
    is_own_action = isinstance(env.env.action_space, Discrete)
    return layout, action_names(env.env, env.n_actions) if is_own_action else None


def grid_layout(env: Env[Any, Any], n_states: int) -> Layout | None:
    """Return the map of an environment whose states are the cells of a grid, or None.

    Known are the worlds of this package, FrozenLake and CliffWalking.
    """
    inner: Any = env.unwrapped
    world_layout = getattr(getattr(inner, "world", None), "layout", None)
    if isinstance(world_layout, Layout):
        return world_layout if len(world_layout.row) == n_states else None
    if type(inner).__module__.partition(".")[0] != "gymnasium":
        return None
    kind = {"FrozenLakeEnv": _frozen_lake, "CliffWalkingEnv": _cliff_walking}.get(type(inner).__name__)
    kinds = None if kind is None else kind(inner)
    if kinds is None or kinds.size != n_states:
        return None
    value = np.where(kinds == CellKind.TREASURE, 1.0, 0.0)
    if type(inner).__name__ == "CliffWalkingEnv":
        value = np.where(kinds == CellKind.PUDDLE, -100.0, -1.0 * (kinds == CellKind.TREASURE))
    return single_layer_layout(kinds, value)


def _frozen_lake(env: Any) -> NDArray[np.uint8]:
    return np.array([[_FROZEN_LAKE[bytes(cell)] for cell in row] for row in env.desc], np.uint8)


def _cliff_walking(env: Any) -> NDArray[np.uint8]:
    kinds = np.full(env.shape, CellKind.FLOOR, np.uint8)
    kinds[np.asarray(env._cliff, np.bool_)] = CellKind.PUDDLE
    kinds.ravel()[[int(env.start_state_index), kinds.size - 1]] = CellKind.START, CellKind.TREASURE
    return kinds
