"""Gymnasium environments: the worlds as environments, and any environment with discrete states and actions.

Importing this package registers the worlds with Gymnasium. `import wanderlust` imports it if Gymnasium was imported
before; otherwise the first use of a public name such as `wl.learn` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import gymnasium
from gymnasium.envs.registration import WrapperSpec

from wanderlust.worlds.registry import EXAM_WORLDS, GRID_ID, environment_id, world_names

WORLD_HORIZON = sys.maxsize
"""A placeholder for `max_episode_steps` until the world has been made: see `apply_world_horizon`."""


def register_environments(worlds: Iterable[str]) -> None:
    """Register the environments of these worlds and the one for text maps; existing entries are not changed."""
    module = "wanderlust.environments.world_env"
    entries: dict[str, tuple[str, dict[str, str]]] = {GRID_ID: ("GridEnv", {})}
    entries |= {environment_id(name): ("WorldEnv", {"world": name}) for name in worlds}
    for environment, (cls, options) in entries.items():
        if environment not in gymnasium.registry:
            gymnasium.register(
                environment,
                entry_point=f"{module}:{cls}",
                max_episode_steps=WORLD_HORIZON,
                additional_wrappers=(WrapperSpec("TimeLimit", f"{module}:apply_world_horizon", {}),),
                kwargs=options,
            )


register_environments((*world_names(), *EXAM_WORLDS))
