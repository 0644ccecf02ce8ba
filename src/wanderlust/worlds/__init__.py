"""Worlds: environments whose dynamics are given as a tabular MDP.

`make_world` returns one by name or from a text map (see `wanderlust.worlds.grid`).
"""

from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, Layout, World, check_mdp, check_world
from wanderlust.worlds.grid import grid_world
from wanderlust.worlds.registry import WorldOption, as_world, make_world, register_world, world_names, world_options
from wanderlust.worlds.slips import slip_mdp, with_slips

__all__ = [
    "GRID_ACTIONS", "CellKind", "Defaults", "Layout", "World", "WorldOption", "as_world", "check_mdp", "check_world",
    "grid_world", "make_world", "register_world", "slip_mdp", "with_slips", "world_names", "world_options",
]  # fmt: skip
