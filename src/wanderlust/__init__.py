"""wanderlust: exploration for sparse-reward reinforcement learning.

    import wanderlust as wl

    world = wl.make_world("prison")
    record = wl.train(world, "vv-ucb", seed=1)
    record.returns[-1], record.discovered[-1]

Names are imported at first use, so `import wanderlust` is fast.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from wanderlust.version import __version__ as __version__

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent as Agent
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
    from wanderlust.environments import keys as keys
    from wanderlust.environments.model import world_from_gym as world_from_gym
    from wanderlust.environments.tabular import Tabular as Tabular
    from wanderlust.environments.tabular import tabular as tabular
    from wanderlust.exams.exam import exam as exam
    from wanderlust.experiments.diagnosis import check_env as check_env
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
    from wanderlust.explorers.protocol import explorer_names as explorer_names
    from wanderlust.explorers.protocol import explorer_options as explorer_options
    from wanderlust.explorers.protocol import register_explorer as register_explorer
    from wanderlust.training.callbacks import Callback as Callback
    from wanderlust.training.callbacks import Checkpoint as Checkpoint
    from wanderlust.training.callbacks import CsvLog as CsvLog
    from wanderlust.training.callbacks import ProgressBar as ProgressBar
    from wanderlust.training.callbacks import TensorBoard as TensorBoard
    from wanderlust.training.drop_in import Explorer as Explorer
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

_NAMES = {
    "agents.agent": "Agent",
    "agents.history": "History",
    "agents.session": "Record Session train",
    "agents.settings": "Replay Settings",
    "checks": "check_explorer",
    "core.errors": "check_integer check_number WanderlustError",
    "environments": "keys",
    "environments.model": "world_from_gym",
    "environments.tabular": "Tabular tabular",
    "exams.exam": "exam",
    "experiments.diagnosis": "check_env",
    "experiments.execute.driver": "run_all",
    "experiments.run": "Run",
    "experiments.store": "Store",
    "experiments.sweep": "Sweep",
    "explorers": "formulas",
    "explorers.choice": "bernoulli greedy_action random_action",
    "explorers.protocol": "Ensemble ExtraTables Problem View Visitation explorer_names explorer_options "
    "register_explorer",
    "training.callbacks": "Callback Checkpoint CsvLog ProgressBar TensorBoard",
    "training.drop_in": "Explorer",
    "training.evaluation": "evaluate EvaluateEvery StopWhenSolved",
    "training.learn": "learn",
    "training.loop": "TrainingLoop",
    "worlds": "check_world make_world register_world with_slips World world_names world_options",
}
"""The modules, and the public names that each defines: what the block above tells type checkers."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'wanderlust' has no attribute {name!r}")
    module = importlib.import_module(f"wanderlust.{_MODULES[name]}")
    value = getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{module.__name__}.{name}")
    globals()[name] = value
    _register_environments()  # Gymnasium may have been imported meanwhile.
    return value


def __dir__() -> list[str]:
    return __all__


def _register_environments() -> None:
    """Register the worlds with Gymnasium if it is imported: that takes far longer than importing wanderlust."""
    if "gymnasium" in sys.modules:
        importlib.import_module("wanderlust.environments")


_register_environments()
