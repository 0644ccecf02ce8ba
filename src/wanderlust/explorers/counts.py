"""Exploration by visit counts of the current state: UCB1 and the exploration bonus."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_number
from wanderlust.explorers.dithering import EpsilonEnd, EpsilonStart, choose_epsilon_greedy, epsilon_schedule
from wanderlust.explorers.formulas import count_bonus, ucb, untried_ucb
from wanderlust.explorers.protocol import ExtraTables, Kappa, Problem, View, register_explorer
from wanderlust.learning.state import Streams
from wanderlust.learning.td import Floats


@register_explorer("ucb1")
class Ucb1(NamedTuple):
    """Q plus κ times the upper confidence bound of the visit count (Auer et al. 2002, Eq. 5)."""

    kappa: float
    untried: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        kappa: Kappa = None,
        untried_value: Annotated[
            float | None, "The bound of an untried action in units of κ; (Q_max - Q_min)/κ + √(2 log |A|) if not given."
        ] = None,
    ) -> Ucb1:
        """Compute κ and the bound of untried actions."""
        kappa, span = problem.kappa_and_span(kappa)
        default = untried_ucb(problem.n_actions, span, counts_itself=True)
        return cls(kappa, check_number("untried_value", default if untried_value is None else untried_value, low=0))

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ √(2 log(1 + Σn) / n) (Eq. 33)."""
        total = view.total()
        for action in range(view.n_actions):
            visits = view.n(action)
            bound = ucb(visits, total, 1.0) if visits > 0 else self.untried
            scores[action] = view.q(action) + self.kappa * bound


@register_explorer("bonus")
class Bonus(NamedTuple):
    """ε-greedy on a Q-table that learns from reward + α / √n (Strehl and Littman 2008, Algorithm 2)."""

    scale: float
    epsilon: float
    decay: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        scale: Annotated[float, "α, the weight of the bonus."] = 0.1,
        epsilon_start: EpsilonStart = None,
        epsilon_end: EpsilonEnd = None,
    ) -> Bonus:
        """Compute the decay of ε."""
        return cls(check_number("scale", scale, low=0), *epsilon_schedule(problem, epsilon_start, epsilon_end))

    def extra_tables(self) -> ExtraTables:
        """Return a Q-table of the behaviour that learns from reward + bonus."""
        return ExtraTables(bonus=True)

    def bonus(self, visits: int) -> float:
        """α / √n (Eq. 6)."""
        return count_bonus(visits, self.scale)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Choose a random action with probability ε, otherwise the greedy one by the behaviour's Q."""
        return choose_epsilon_greedy(self, view, scores, random)
