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

from wanderlust.gym.registration import register_with_gymnasium
from wanderlust.version import __version__ as __version__

if TYPE_CHECKING:
    from wanderlust.adapters import Tabular as Tabular
    from wanderlust.adapters import tabular as tabular
    from wanderlust.adapters import world_from_gym as world_from_gym
    from wanderlust.agent import Agent as Agent
    from wanderlust.drop_in import DropInExplorer
    from wanderlust.errors import WanderlustError as WanderlustError
    from wanderlust.exploration import registry
    from wanderlust.exploration.check import check_explorer as check_explorer
    from wanderlust.exploration.registry import explorer_names as explorer_names
    from wanderlust.learning.settings import Replay as Replay
    from wanderlust.learning.settings import Settings as Settings
    from wanderlust.practice import Callback as Callback
    from wanderlust.practice import Checkpoint as Checkpoint
    from wanderlust.practice import CsvLog as CsvLog
    from wanderlust.practice import EvaluateEvery as EvaluateEvery
    from wanderlust.practice import ProgressBar as ProgressBar
    from wanderlust.practice import StopWhenSolved as StopWhenSolved
    from wanderlust.practice import TensorBoard as TensorBoard
    from wanderlust.practice import evaluate as evaluate
    from wanderlust.practice import learn as learn
    from wanderlust.training import Record as Record
    from wanderlust.training import Session as Session
    from wanderlust.training import train as train
    from wanderlust.worlds import World as World
    from wanderlust.worlds import check_world as check_world
    from wanderlust.worlds import make_world as make_world
    from wanderlust.worlds import with_slips as with_slips
    from wanderlust.worlds import world_names as world_names

    explorer = DropInExplorer
    register_explorer = registry.explorer
    explorer_options = registry.options_of

_HOMES = {
    "Agent": "agent:Agent",
    "Callback": "practice:Callback",
    "Checkpoint": "practice:Checkpoint",
    "CsvLog": "practice:CsvLog",
    "EvaluateEvery": "practice:EvaluateEvery",
    "ProgressBar": "practice:ProgressBar",
    "Record": "training:Record",
    "Replay": "learning.settings:Replay",
    "Session": "training:Session",
    "Settings": "learning.settings:Settings",
    "StopWhenSolved": "practice:StopWhenSolved",
    "Tabular": "adapters:Tabular",
    "TensorBoard": "practice:TensorBoard",
    "WanderlustError": "errors:WanderlustError",
    "World": "worlds:World",
    "check_explorer": "exploration.check:check_explorer",
    "check_world": "worlds:check_world",
    "evaluate": "practice:evaluate",
    "explorer": "drop_in:DropInExplorer",
    "explorer_names": "exploration.registry:explorer_names",
    "explorer_options": "exploration.registry:options_of",
    "learn": "practice:learn",
    "make_world": "worlds:make_world",
    "register_explorer": "exploration.registry:explorer",
    "tabular": "adapters:tabular",
    "train": "training:train",
    "with_slips": "worlds:with_slips",
    "world_from_gym": "adapters:world_from_gym",
    "world_names": "worlds:world_names",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wanderlust' has no attribute {name!r}")
    home, _, attribute = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(f"wanderlust.{home}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


register_with_gymnasium()
