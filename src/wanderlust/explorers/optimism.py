"""Exploration by optimistic Q-values that learn from replay, and by Boltzmann's distribution."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_number
from wanderlust.explorers.choice import draw_weighted
from wanderlust.explorers.formulas import count_bonus
from wanderlust.explorers.protocol import ExtraTables, Problem
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.spec import Floats


def largest_reward(problem: Problem) -> float:
    """Return r_max, or what stands for it in `Problem.value_range` if no reward is positive."""
    return problem.value_range * (1.0 - problem.discount)


@register_explorer("optimistic")
class Optimistic(NamedTuple):
    """Greedy on a Q-table that starts at r_max / (1 - γ) (Sutton and Barto 2018, Section 2.6)."""

    value_range: float

    @classmethod
    def configure(cls, problem: Problem) -> Optimistic:
        """Return the policy; the initial values follow from the rewards and the discount."""
        return cls(problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return an optimistic Q-table of the behaviour."""
        return ExtraTables(optimistic=True)


@register_explorer("mbie-eb")
class MbieEb(NamedTuple):
    """Greedy on an optimistic Q-table that learns from reward + β / √n (MBIE-EB, Strehl and Littman 2008)."""

    beta: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        beta: Annotated[float | None, "β, the weight of the bonus; 0.3 r_max if not given."] = None,
    ) -> MbieEb:
        """Compute β."""
        return cls(check_number("beta", 0.3 * largest_reward(problem) if beta is None else beta, low=0))

    def extra_tables(self) -> ExtraTables:
        """Return an optimistic Q-table of the behaviour that learns from reward + bonus: untried pairs keep V."""
        return ExtraTables(bonus=True, optimistic=True)

    def bonus(self, visits: int) -> float:
        """β / √n, so that Q = r̂ + β / √n + γ P̂V (equation 6 of Strehl and Littman)."""
        return count_bonus(visits, self.beta)


@register_explorer("boltzmann")
class Boltzmann(NamedTuple):
    """Every action with a probability proportional to exp(Q / τ) (Sutton and Barto 2018, Section 2.8)."""

    temperature: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        temperature: Annotated[float | None, "τ, in units of the reward; r_max if not given."] = None,
    ) -> Boltzmann:
        """Compute τ."""
        given = largest_reward(problem) if temperature is None else temperature
        return cls(check_number("temperature", given, low=0, open_low=True))

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Draw an action; the largest Q is subtracted first, so that no exponential overflows."""
        best = view.q(0)
        for action in range(1, view.n_actions):
            best = view.q(action) if view.q(action) > best else best
        for action in range(view.n_actions):
            scores[action] = math.exp((view.q(action) - best) / self.temperature)
        return draw_weighted(scores, random)
