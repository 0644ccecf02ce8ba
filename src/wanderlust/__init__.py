"""wanderlust: exploration for sparse-reward reinforcement learning.

    import wanderlust as wl

    world = wl.make_world("prison")
    record = wl.train(world, "vv-ucb", seed=1)
    record.returns[-1], record.discovered[-1]

Names are imported at first use, so `import wanderlust` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wanderlust.environments.registration import register_environments
from wanderlust.version import __version__ as __version__

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent as Agent
    from wanderlust.agents.drop_in import Explorer as Explorer
    from wanderlust.agents.history import History as History
    from wanderlust.agents.session import Record as Record
    from wanderlust.agents.session import Session as Session
    from wanderlust.agents.session import train as train
    from wanderlust.agents.settings import Replay as Replay
    from wanderlust.agents.settings import Settings as Settings
    from wanderlust.checks import check_explorer as check_explorer
    from wanderlust.core.errors import WanderlustError as WanderlustError
    from wanderlust.core.errors import check_integer as check_integer
    from wanderlust.core.errors import check_number as check_number
    from wanderlust.environments.model import world_from_gym as world_from_gym
    from wanderlust.environments.tabular import Tabular as Tabular
    from wanderlust.environments.tabular import tabular as tabular
    from wanderlust.exams.exam import exam as exam
    from wanderlust.experiments.execute.driver import run_all as run_all
    from wanderlust.experiments.run import Run as Run
    from wanderlust.experiments.store import Store as Store
    from wanderlust.experiments.sweep import Sweep as Sweep
    from wanderlust.explorers import formulas as formulas
    from wanderlust.explorers.choice import bernoulli as bernoulli
    from wanderlust.explorers.choice import greedy_action as greedy_action
    from wanderlust.explorers.choice import random_action as random_action
    from wanderlust.explorers.protocol import Ensemble as Ensemble
    from wanderlust.explorers.protocol import ExtraTables as ExtraTables
    from wanderlust.explorers.protocol import Problem as Problem
    from wanderlust.explorers.protocol import View as View
    from wanderlust.explorers.protocol import Visitation as Visitation
    from wanderlust.explorers.registry import explorer_names as explorer_names
    from wanderlust.explorers.registry import explorer_options as explorer_options
    from wanderlust.explorers.registry import register_explorer as register_explorer
    from wanderlust.training.callbacks import Callback as Callback
    from wanderlust.training.callbacks import Checkpoint as Checkpoint
    from wanderlust.training.callbacks import CsvLog as CsvLog
    from wanderlust.training.callbacks import ProgressBar as ProgressBar
    from wanderlust.training.callbacks import TensorBoard as TensorBoard
    from wanderlust.training.evaluation import EvaluateEvery as EvaluateEvery
    from wanderlust.training.evaluation import StopWhenSolved as StopWhenSolved
    from wanderlust.training.evaluation import evaluate as evaluate
    from wanderlust.training.learn import learn as learn
    from wanderlust.training.loop import TrainingLoop as TrainingLoop
    from wanderlust.worlds import World as World
    from wanderlust.worlds import check_world as check_world
    from wanderlust.worlds import make_world as make_world
    from wanderlust.worlds import register_world as register_world
    from wanderlust.worlds import with_slips as with_slips
    from wanderlust.worlds import world_names as world_names
    from wanderlust.worlds import world_options as world_options

_MODULES = {
    "Agent": "agents.agent",
    "bernoulli": "explorers.choice",
    "Callback": "training.callbacks",
    "check_explorer": "checks",
    "check_integer": "core.errors",
    "check_number": "core.errors",
    "check_world": "worlds",
    "Checkpoint": "training.callbacks",
    "CsvLog": "training.callbacks",
    "Ensemble": "explorers.protocol",
    "evaluate": "training.evaluation",
    "EvaluateEvery": "training.evaluation",
    "exam": "exams.exam",
    "Explorer": "agents.drop_in",
    "explorer_names": "explorers.registry",
    "explorer_options": "explorers.registry",
    "ExtraTables": "explorers.protocol",
    "formulas": "explorers",
    "greedy_action": "explorers.choice",
    "History": "agents.history",
    "learn": "training.learn",
    "make_world": "worlds",
    "Problem": "explorers.protocol",
    "ProgressBar": "training.callbacks",
    "random_action": "explorers.choice",
    "Record": "agents.session",
    "register_explorer": "explorers.registry",
    "register_world": "worlds",
    "Replay": "agents.settings",
    "Run": "experiments.run",
    "run_all": "experiments.execute.driver",
    "Session": "agents.session",
    "Settings": "agents.settings",
    "StopWhenSolved": "training.evaluation",
    "Store": "experiments.store",
    "Sweep": "experiments.sweep",
    "Tabular": "environments.tabular",
    "tabular": "environments.tabular",
    "TensorBoard": "training.callbacks",
    "train": "agents.session",
    "TrainingLoop": "training.loop",
    "View": "explorers.protocol",
    "Visitation": "explorers.protocol",
    "WanderlustError": "core.errors",
    "with_slips": "worlds",
    "World": "worlds",
    "world_from_gym": "environments.model",
    "world_names": "worlds",
    "world_options": "worlds",
}
"""The public names, and the module in which each is defined."""

__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'wanderlust' has no attribute {name!r}")
    module = importlib.import_module(f"wanderlust.{_MODULES[name]}")
    value = getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{module.__name__}.{name}")
    globals()[name] = value
    register_environments()  # Gymnasium may have been imported meanwhile.
    return value


def __dir__() -> list[str]:
    return __all__


register_environments()
