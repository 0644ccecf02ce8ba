"""Gymnasium environments as tasks with numbered states and actions."""

from wanderlust.adapters.model import world_from_gym
from wanderlust.adapters.tabular import Tabular, tabular

__all__ = ["Tabular", "tabular", "world_from_gym"]
