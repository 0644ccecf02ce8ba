"""wanderlust: exploration for sparse-reward reinforcement learning.

    import wanderlust as wl

    world = wl.make_world("prison")
    record = wl.train(world, "vv-ucb", seed=1)
    record.returns[-1], record.discovered[-1]

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wanderlust.version import __version__

if TYPE_CHECKING:
    from wanderlust.agent import Agent as Agent
    from wanderlust.training import Record as Record
    from wanderlust.training import train as train

_HOMES = {
    "train": "training",
    "Record": "training",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wanderlust' has no attribute {name!r}")
    return getattr(importlib.import_module(f"wanderlust.{home}"), name)
