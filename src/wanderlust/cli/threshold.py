"""The return at which an environment counts as solved: --solved-at, the reward threshold, or the optimal return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wanderlust.core.errors import WanderlustError
from wanderlust.core.planning import optimal_episode_return
from wanderlust.environments.model import world_from_gym
from wanderlust.environments.tabular import Tabular

SOLVED_FRACTION = 0.95
"""The fraction of the optimal return that counts as solved in stochastic environments."""


class Threshold(NamedTuple):
    """The mean return that counts as solved, None if it is unknown, and where it comes from."""

    value: float | None
    source: str

    @property
    def description(self) -> str:
        """One sentence for the report."""
        if self.value is None:
            return f"The return that counts as solved is unknown: {self.source}."
        return f"Solved: a mean return of {self.value:.6g} or more ({self.source})."

    def reached(self, mean_return: float) -> bool:
        """Return whether a mean return reaches the threshold, up to rounding errors."""
        return self.value is not None and mean_return >= self.value - 1e-9 * max(1.0, abs(self.value))


def solved_threshold(env: Tabular, solved_at: float | None) -> Threshold:
    """Return the threshold of an environment; `solved_at` takes precedence."""
    spec = env.env.spec
    if solved_at is not None:
        return Threshold(solved_at, "set with --solved-at")
    if spec is not None and spec.reward_threshold is not None:
        return Threshold(float(spec.reward_threshold), f"the reward threshold of {env.name}")
    try:
        world = world_from_gym(env.env)
    except WanderlustError:
        return Threshold(None, "the environment has no reward threshold and no known model")
    optimal = optimal_episode_return(world.mdp, env.horizon)
    if optimal is None:
        return Threshold(None, "the environment has no reward threshold, no time limit and no finite optimal return")
    if bool(world.mdp.deterministic) and np.count_nonzero(world.mdp.start) == 1:
        return Threshold(optimal, "the optimal return, computed from the model")
    value = optimal - (1.0 - SOLVED_FRACTION) * abs(optimal)
    percent = 100 * (1 - SOLVED_FRACTION)
    return Threshold(value, f"within {percent:.0f} % of the optimal return, {optimal:.6g}, computed from the model")
