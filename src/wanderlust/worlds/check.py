"""Consistency checks for worlds, built-in and user-defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidWorld, WanderlustError, check_integer, check_number, check_pairs, shown
from wanderlust.core.mdp import TabularMDP
from wanderlust.worlds.base import Defaults, Layout, World

_TYPES = {
    "probability": np.float64,
    "next_state": np.int32,
    "reward": np.float64,
    "terminal": np.bool_,
    "start": np.float64,
}


def check_world(world: World, *, start_can_be_left: bool = True) -> None:
    """Raise `InvalidWorld` with the first problem and its location if the world is not valid.

    With `start_can_be_left=False`, a world in which the agent cannot move is valid.
    """
    if not isinstance(world, World):
        raise InvalidWorld(f"a world must be a World, got {type(world).__name__}.")
    if not isinstance(world.name, str):
        raise InvalidWorld(f"the name of a world must be text, got {shown(world.name)}.")
    try:
        check_mdp(world.mdp, start_can_be_left=start_can_be_left)
        _check_settings(world)
        if world.layout is not None:
            _check_layout(world.layout, world.n_states)
    except WanderlustError as error:
        raise InvalidWorld(f"world {shown(world.name)}: {error}") from None


def check_mdp(mdp: TabularMDP, *, start_can_be_left: bool = True) -> None:
    """Raise `InvalidWorld` unless the arrays are a Markov decision process whose start states can be left."""
    if not isinstance(mdp, TabularMDP):
        raise InvalidWorld(f"mdp must be a TabularMDP, got {type(mdp).__name__}.")
    for name, dtype in _TYPES.items():
        array = getattr(mdp, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            got = getattr(array, "dtype", type(array).__name__)
            raise InvalidWorld(f"{name} must be an array of {np.dtype(dtype)}, got {got}.")
    shape = mdp.next_state.shape
    if len(shape) != 3 or 0 in shape:
        raise InvalidWorld(f"next_state must have the shape [state, action, outcome], got {shape}.")
    check_pairs("next_state", shape[0], shape[1])
    for name in ("probability", "reward", "terminal"):
        if getattr(mdp, name).shape != shape:
            raise InvalidWorld(f"{name} must have the shape {shape} of next_state, got {getattr(mdp, name).shape}.")
    if mdp.start.shape != shape[:1]:
        raise InvalidWorld(f"start must have the shape {shape[:1]}, got {mdp.start.shape}.")
    _reject(~((mdp.probability >= 0) & (mdp.probability <= 1)), mdp.probability, "probability", "in [0, 1]")
    total = mdp.probability.sum(axis=2)
    _reject(np.abs(total - 1) > 1e-9, total, "the sum of probability over outcomes", "1")
    inside = (mdp.next_state >= 0) & (mdp.next_state < shape[0])
    _reject(~inside, mdp.next_state, "next_state", f"from 0 to {shape[0] - 1}")
    _reject(~np.isfinite(mdp.reward), mdp.reward, "reward", "finite")
    _reject(~((mdp.start >= 0) & (mdp.start <= 1)), mdp.start, "start", "in [0, 1]")
    if abs(mdp.start.sum() - 1) > 1e-9:
        raise InvalidWorld(f"start must sum to 1, got {mdp.start.sum():g}.")
    if start_can_be_left:
        _check_start_can_be_left(mdp)


def _reject(invalid: NDArray[np.bool_], values: NDArray[Any], name: str, valid: str) -> None:
    if invalid.any():
        where = tuple(int(i) for i in np.argwhere(invalid)[0])
        labels = ("state", "action", "outcome")
        place = ", ".join(f"{label} {index}" for label, index in zip(labels, where, strict=False))
        raise InvalidWorld(f"{name} must be {valid}, got {values[where]} at {place}.")


def _check_start_can_be_left(mdp: TabularMDP) -> None:
    # A world with one state (a bandit), or one that terminates at once, is valid although nothing can be reached.
    starts = np.flatnonzero(mdp.start)
    possible = mdp.probability[starts] > 0
    leaves = mdp.next_state[starts] != starts[:, None, None]
    if mdp.n_states > 1 and not (possible & (leaves | mdp.terminal[starts])).any():
        raise InvalidWorld(f"no action leads away from the start (state {starts[0]}).")


def _check_settings(world: World) -> None:
    defaults, names = world.defaults, world.action_names
    is_text = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
    if not is_text or len(names) != world.n_actions:
        raise InvalidWorld(f"action_names must have {world.n_actions} names, one per action, got {shown(names)}.")
    if not isinstance(defaults, Defaults):
        raise InvalidWorld(f"defaults must be Defaults, got {shown(defaults)}.")
    if not isinstance(world.options, Mapping):
        raise InvalidWorld(f"options must be a dict, got {shown(world.options)}.")
    check_number("r_max", world.r_max)
    for name in ("horizon", "budget", "long_horizon"):
        value = getattr(defaults, name)
        if value is not None or name != "long_horizon":
            check_integer(name, value, low=1)
    for name in ("discount", "gamma_w"):
        check_number(name, getattr(defaults, name), low=0, high=1, open_high=True)
    check_number("learning_rate", defaults.learning_rate, low=0, high=1, open_low=True)
    for name in ("epsilon_start", "epsilon_end"):
        check_number(name, getattr(defaults, name))
    if not 0 <= defaults.epsilon_end <= defaults.epsilon_start <= 1:
        raise InvalidWorld(
            "epsilon must be in [0, 1] and must not increase, "
            f"got epsilon_start {defaults.epsilon_start} and epsilon_end {defaults.epsilon_end}."
        )


def _check_layout(layout: Layout, n_states: int) -> None:
    if not isinstance(layout, Layout):
        raise InvalidWorld(f"layout must be a Layout or None, got {shown(layout)}.")
    arrays = {name: getattr(layout, name) for name in ("row", "column", "layer", "kind", "value", "entry")}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) and not (name == "entry" and array is None):
            raise InvalidWorld(f"layout.{name} must be an array, got {shown(array)}.")
    if not isinstance(layout.layer_names, tuple | list):
        raise InvalidWorld(f"layout.layer_names must be a tuple of names, got {shown(layout.layer_names)}.")
    for name in ("rows", "columns"):
        check_integer(f"layout.{name}", getattr(layout, name), low=1)
    for name, bound in (("row", layout.rows), ("column", layout.columns), ("layer", layout.n_layers)):
        array = getattr(layout, name)
        if array.shape != (n_states,):
            raise InvalidWorld(f"layout.{name} must have one entry for each of {n_states} states.")
        _reject((array < 0) | (array >= bound), array, f"layout.{name}", f"from 0 to {bound - 1}")
    shape = (layout.n_layers, layout.rows, layout.columns)
    for name in ("kind", "value"):
        if getattr(layout, name).shape != shape:
            raise InvalidWorld(f"layout.{name} must have the shape {shape}, got {getattr(layout, name).shape}.")
    if layout.entry is not None and layout.entry.shape != shape[1:]:
        raise InvalidWorld(f"layout.entry must have the shape {shape[1:]}, got {layout.entry.shape}.")
    cells = np.ravel_multi_index((layout.layer, layout.row, layout.column), shape)
    if len(np.unique(cells)) != n_states:
        raise InvalidWorld("layout must assign a separate cell to each state, got two states in one cell.")
