"""When an environment counts as solved: what the user says, what it says itself, or what is possible at all."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from wanderlust.core.errors import WanderlustError
from wanderlust.core.mdp import TabularMDP
from wanderlust.envs.model import world_from_gym
from wanderlust.envs.tabular import Tabular

ENOUGH = 0.95
"""The share of the best return that counts as solved where returns depend on chance."""
_LONGEST = 10_000


class Threshold(NamedTuple):
    """The mean return that counts as solved, and why it is that."""

    at: float | None
    because: str

    @property
    def in_words(self) -> str:
        """A sentence."""
        if self.at is None:
            return f"Nobody knows what solved means here ({self.because}): give --solved-at RETURN. Only returns count."
        return f"Solved: a mean return of {self.at:.6g} or more ({self.because})."

    def reached(self, returns: float) -> bool:
        """Tell whether a mean return is enough, but for rounding."""
        return self.at is not None and returns >= self.at - 1e-9 * max(1.0, abs(self.at))


def threshold_of(env: Tabular, solved_at: float | None) -> Threshold:
    """Return when an environment counts as solved."""
    spec = env.env.spec
    if solved_at is not None:
        return Threshold(solved_at, "as asked for")
    if spec is not None and spec.reward_threshold is not None:
        return Threshold(float(spec.reward_threshold), f"as {env.name} says itself")
    try:
        world = world_from_gym(env.env)
    except WanderlustError:
        return Threshold(None, "the environment has neither a reward threshold nor a model")
    best = best_return(world.mdp, env.horizon)
    if best is None:
        return Threshold(None, "the environment has no reward threshold, and its episodes no end")
    if bool(world.mdp.deterministic) and np.count_nonzero(world.mdp.start) == 1:
        return Threshold(best, "the best possible, by its model")
    enough = best - (1.0 - ENOUGH) * abs(best)
    return Threshold(enough, f"within {100 * (1 - ENOUGH):.0f} % of the best possible, {best:.6g}, by its model")


def best_return(mdp: TabularMDP, horizon: int | None) -> float | None:
    """Return the best expected undiscounted return of an episode, which is cut off at the horizon.

    V_0 = 0 and V_h(s) = max_a Σ_k p (r + (1 − terminal) V_{h−1}(s′)). Without a horizon it is the limit, if there is
    one.
    """
    reward = (mdp.probability * mdp.reward).sum(axis=2)
    onward = np.where(mdp.terminal, 0.0, mdp.probability)
    value = np.zeros(mdp.n_states)
    for _ in range(_LONGEST if horizon is None else min(horizon, _LONGEST)):
        before = value
        value = (reward + (onward * value[mdp.next_state]).sum(axis=2)).max(axis=1)
        if np.array_equal(value, before):
            break
    else:
        if horizon is None:
            return None
    best = float(mdp.start @ value)
    return best if math.isfinite(best) else None
