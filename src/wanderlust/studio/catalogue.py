"""What a page needs to know before a run: worlds, explorers and their options, as plain values for JSON."""

from __future__ import annotations

import functools
import re
import threading
import tomllib
import warnings
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np

from wanderlust.agents.settings import WORLD_PRESETS
from wanderlust.core.errors import InvalidMap, InvalidSetting
from wanderlust.core.files import finite
from wanderlust.core.mdp import BoolArray
from wanderlust.core.planning import optimal_values, reachable_states, start_value
from wanderlust.explorers.protocol import explorer_class, explorer_names, explorer_options
from wanderlust.studio import limits
from wanderlust.studio.setup import Setup
from wanderlust.worlds import World, world_names, world_options
from wanderlust.worlds.drawing import display_layout
from wanderlust.worlds.registry import world_meaning

_WARNINGS = threading.Lock()
_SOLVED: dict[str, tuple[float, BoolArray]] = {}
_MAX_SOLVED = 100


def catalogue(extra_explorers: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the worlds, explorers, teaching worlds and limits that a page offers."""
    return {
        "worlds": [_world(name) for name in world_names()],
        "gallery": gallery(),
        "explorers": [_explorer(name) for name in dict.fromkeys((*explorer_names(), *extra_explorers))],
        "presets": list(WORLD_PRESETS),
        "limits": {"lanes": limits.MAX_LANES, "side": limits.MAX_SIDE, "message": limits.MAX_MESSAGE},
    }


@functools.cache
def gallery() -> list[dict[str, str]]:
    """Return the teaching worlds: a text map, and what a class can see in it."""
    text = (files("wanderlust.studio") / "gallery.toml").read_text(encoding="utf-8")
    worlds: list[dict[str, str]] = tomllib.loads(text)["worlds"]
    return worlds


def _world(name: str) -> dict[str, Any]:
    step = next((option.default for option in world_options(name) if option.name == "step_penalty"), 0)
    return {"name": name, "meaning": world_meaning(name), "step": step}


def _explorer(name: str) -> dict[str, Any]:
    lines = (explorer_class(name).__doc__ or "").strip().splitlines()
    return {
        "name": name,
        "meaning": lines[0] if lines else "",
        "options": [_option(option.name, option.default, option.text) for option in explorer_options(name)],
    }


def _option(name: str, default: Any, text: str) -> dict[str, Any]:
    """Return an option with the kind of control that edits it. The descriptions quote the choices of a text."""
    kind = "flag" if isinstance(default, bool) else "choice" if isinstance(default, str) else "number"
    option = {"name": name, "default": default, "text": text, "kind": kind}
    if kind == "choice":
        option["choices"] = list(dict.fromkeys([default, *re.findall(r"'([\w-]+)'", text)]))
    return option


def describe_world(world: World) -> dict[str, Any]:
    """Return the layout of a world and what is known of it: the cells, the states in them, the optimal return."""
    layout = display_layout(world)
    cells = np.full((layout.n_layers, layout.rows, layout.columns), -1, np.int64)
    cells[layout.layer, layout.row, layout.column] = np.arange(world.n_states)
    best, reachable = optimum(world)
    starts: list[int] = sorted(set(layout.layer[np.flatnonzero(world.mdp.start)].tolist()))
    return {
        "name": world.name,
        "rows": layout.rows,
        "columns": layout.columns,
        "actions": list(world.action_names),
        "states": world.n_states,
        "layers": [
            {
                "name": layout.layer_names[layer],
                "state": cells[layer].ravel().tolist(),
                "kind": layout.kind[layer].ravel().tolist(),
                "value": layout.value[layer].ravel().tolist(),
            }
            for layer in range(layout.n_layers)
        ],
        "entry": None if layout.entry is None else layout.entry.ravel().tolist(),
        # Of several layers in which an episode can start, the one with the largest reward.
        "startLayer": max(starts, key=lambda layer: float(layout.value[layer].max())),
        "reachable": int(reachable.sum()),
        "unreachable": np.flatnonzero(~reachable).tolist(),
        "optimum": finite(best),
        "horizon": world.defaults.horizon,
        "budget": world.defaults.budget,
    }


def optimum(world: World) -> tuple[float, BoolArray]:
    """Return the optimal return and which states are reachable; they are kept for the worlds used last."""
    key = f"{world.name} {sorted(world.options.items())}"
    if key not in _SOLVED:
        if len(_SOLVED) >= _MAX_SOLVED:
            _SOLVED.clear()
        values = optimal_values(world.mdp, world.defaults.discount).v
        _SOLVED[key] = start_value(world.mdp, values), reachable_states(world.mdp)
    return _SOLVED[key]


def checked_world(setup: Setup) -> tuple[World, list[str]]:
    """Return the world of a setup and the warnings of its map, such as a treasure that cannot be reached."""
    # The filters of warnings are shared by all threads.
    with _WARNINGS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        world = setup.make_world()
    layout, side = world.layout, limits.MAX_SIDE
    if layout is not None and "map" in world.options and max(layout.rows, layout.columns) > side:
        raise InvalidMap(f"a map can have {side} rows and {side} columns, got {layout.rows} and {layout.columns}.")
    return world, [str(warning.message) for warning in caught]


def changed_worlds(setup: Setup, world: World) -> list[tuple[int, World]]:
    """Return the worlds that replace the world of a setup during its run, with their steps."""
    slips = {name: value for name, value in setup.world_options.items() if name == "slips"}
    found = []
    for change in setup.changes:
        options = {"map": change.map, **slips}
        changed, _ = checked_world(msgspec.structs.replace(setup, world="painted", world_options=options))
        if _shape_of(changed) != _shape_of(world):
            raise InvalidSetting(
                f"the map at step {change.step}: during a run, its size, the number of start cells, and whether it has "
                "chance cannot change; restart with the new map instead."
            )
        found.append((change.step, changed))
    return found


def _shape_of(world: World) -> tuple[Any, ...]:
    """Return what the arrays of a run depend on."""
    mdp, layout = world.mdp, display_layout(world)
    return layout.rows, layout.columns, mdp.next_state.shape, np.count_nonzero(mdp.start), mdp.deterministic
