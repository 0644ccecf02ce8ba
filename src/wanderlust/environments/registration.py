"""Registration of the worlds with Gymnasium.

Importing Gymnasium takes far longer than importing wanderlust, so `import wanderlust` does not import it. It registers
the worlds if Gymnasium was imported before; otherwise the first use of a public name such as `wl.learn` does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

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


def is_built_in(name: str) -> bool:
    """Return whether a name is that of a built-in world, also as a Gymnasium id."""
    return name in WORLDS or name in EXAM_WORLDS or name.startswith("wanderlust/")


def environment_id(name: str) -> str:
    """Return the Gymnasium id of a world: "wanderlust/DeepSea-v0" for "deep-sea"."""
    words = re.split(r"[^a-zA-Z0-9]+", name)
    return f"wanderlust/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


def register_environments(names: Iterable[str] = (*WORLDS, *EXAM_WORLDS)) -> None:
    """Register the environments of these worlds and the one for text maps, if Gymnasium is imported.

    Existing entries are not changed.
    """
    if "gymnasium" not in sys.modules:
        return
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
            additional_wrappers=(WrapperSpec("TimeLimit", f"{_MODULE}:apply_world_horizon", {}),),
            kwargs=options,
        )
