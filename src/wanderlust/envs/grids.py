"""What Gymnasium environments do not describe themselves: the names of their actions, and the maps of their grids."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from wanderlust.envs.tabular import Tabular
from wanderlust.worlds.base import CellKind, Layout, single_layer_layout
from wanderlust.worlds.plain_layout import checked_names

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
