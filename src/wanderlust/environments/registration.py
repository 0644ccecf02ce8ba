"""Registration of the worlds with Gymnasium, in either order of import.

Importing Gymnasium takes far longer than importing wanderlust, so wanderlust does not import it. The worlds are
registered at once if Gymnasium is already imported, and otherwise when it is imported. Gymnasium has had no plugin
entry point for this purpose since version 1.0.
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
"""The built-in worlds. `world_names()` returns the same names, but has to import NumPy."""

EXAM_WORLDS = tuple(
    f"exam-{family}"
    for family in (
        "depth", "lock", "actions", "idle", "size", "cutoff", "distract", "mislead",
        "cliffs", "prison", "slip", "noise", "river", "chain", "tv", "copies",
    )
)  # fmt: skip
"""The worlds of the exam, for the same reason."""

_MODULE = "wanderlust.environments.world_env"
GRID_ID = "wanderlust/Grid-v0"

WORLD_HORIZON = sys.maxsize
"""A placeholder for `max_episode_steps` until the world has been made: see `apply_world_horizon`."""

_GYMNASIUM_ENVS = "gymnasium.envs"
"""The module that registers Gymnasium's environments; importing any part of Gymnasium imports it."""


def is_built_in(name: str) -> bool:
    """Return whether a name is that of a built-in world, also as a Gymnasium id."""
    return name in WORLDS or name in EXAM_WORLDS or name.startswith("wanderlust/")


def environment_id(name: str) -> str:
    """Return the Gymnasium id of a world: "wanderlust/DeepSea-v0" for "deep-sea"."""
    words = re.split(r"[^a-zA-Z0-9]+", name)
    return f"wanderlust/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


def register_environments(names: Iterable[str] = (*WORLDS, *EXAM_WORLDS)) -> None:
    """Register the environments of these worlds and the one for text maps; existing entries are not changed."""
    _register(GRID_ID, f"{_MODULE}:GridEnv", {})
    for name in names:
        _register(environment_id(name), f"{_MODULE}:WorldEnv", {"world": name})


def _register(environment: str, entry_point: str, options: dict[str, str]) -> None:
    from gymnasium.envs.registration import WrapperSpec, register, registry

    if environment not in registry:
        register(
            environment,
            entry_point=entry_point,
            max_episode_steps=WORLD_HORIZON,
            additional_wrappers=(
                WrapperSpec("TimeLimit", "wanderlust.environments.world_env:apply_world_horizon", {}),
            ),
            kwargs=options,
        )


def register_with_gymnasium() -> None:
    """Register the environments now, or when Gymnasium is imported."""
    if _GYMNASIUM_ENVS in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _RegisterOnImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RegisterOnImport())


class _RegisterOnImport:
    """An import hook that registers the environments after Gymnasium has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of `gymnasium.envs` with a modified loader; None for other modules."""
        if name != _GYMNASIUM_ENVS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = self._with_registration(loader.exec_module)
        return spec

    def _with_registration(self, load: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        def load_and_register(module: ModuleType) -> None:
            load(module)
            register_environments()
            sys.meta_path.remove(self)

        return load_and_register
