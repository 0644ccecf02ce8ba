"""Making the worlds known to Gymnasium, whichever of the two packages is imported first.

Importing Gymnasium takes far longer than importing wanderlust, so nobody who does without it is made to wait: if it
is there already the worlds are registered at once, and otherwise as soon as someone imports it. Gymnasium itself has
no entry point for that: it looks for no plugins since its version 1.0.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

WORLDS = (
    "toy-example",
    "toy",
    "prison",
    "wall",
    "deep-gridworld",
    "taxi",
    "deep-sea",
    "chain",
    "noisy-toy",
    "noisy-prison",
    "noisy-deep-gridworld",
)
"""The package's worlds. `world_names()` would say the same, after importing NumPy and every world."""

GRID_ID = "wanderlust/Grid-v0"

HORIZON_OF_THE_WORLD = sys.maxsize
"""Stands for the `max_episode_steps` of an environment until its world has been made: see `within_horizon`."""

_REGISTRY = "gymnasium.envs"
"""Whoever imports any part of Gymnasium imports this module, which registers Gymnasium's own environments."""


def environment_id(name: str) -> str:
    """Return the id of a world's environment: "deep-sea" is "wanderlust/DeepSea-v0"."""
    words = re.split(r"[^a-zA-Z0-9]+", name)
    return f"wanderlust/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


def register_environments(names: Iterable[str] = WORLDS) -> None:
    """Register the environments of these worlds, and that of maps; what is registered already stays as it is."""
    _register(GRID_ID, "wanderlust.envs.world_env:GridEnv", {})
    for name in names:
        _register(environment_id(name), "wanderlust.envs.world_env:WorldEnv", {"world": name})


def _register(environment: str, entry_point: str, options: dict[str, str]) -> None:
    from gymnasium.envs.registration import WrapperSpec, register, registry

    if environment not in registry:
        register(
            environment,
            entry_point=entry_point,
            max_episode_steps=HORIZON_OF_THE_WORLD,
            additional_wrappers=(WrapperSpec("TimeLimit", "wanderlust.envs.world_env:within_horizon", {}),),
            kwargs=options,
        )


def register_with_gymnasium() -> None:
    """Register the environments now, or when Gymnasium is imported."""
    if _REGISTRY in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium:
    """Finds Gymnasium as Python would by itself, and registers the environments once it has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where to load a module from; None, which leaves it to the other finders, for all but one."""
        if name != _REGISTRY:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = self._then_register(loader.exec_module)
        return spec

    def _then_register(self, load: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        def load_and_register(module: ModuleType) -> None:
            load(module)
            register_environments()
            sys.meta_path.remove(self)

        return load_and_register
