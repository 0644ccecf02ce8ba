"""Exploration by the visitation value W, learnt beside Q and never mixed into its reward (Section 3.2).

W(s, a) is the discounted sum of visitation rewards after taking `a` in `s` (Eq. 7): the long-term value of exploring
from there. A terminal transition gives the visitation reward as if it were repeated forever. Otherwise the agent would
never return to terminal states.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_choice, check_flag, check_number
from wanderlust.explorers.formulas import (
    discounted_forever,
    long_term_ucb,
    long_term_ucb_bound,
    pseudocount,
    ucb,
    untried_pseudocount_ucb,
)
from wanderlust.explorers.protocol import ExtraTables, Kappa, Problem, View, Visitation, register_explorer
from wanderlust.learning.td import Floats

GammaW = Annotated[float | None, "γ_w, the discount of W; the world's default (0.99) if not given. 0 gives UCB1."]


def chosen_gamma_w(problem: Problem, given: float | None) -> float:
    """Return γ_w from the option, or from the problem if it is not given."""
    value = problem.gamma_w if given is None else given
    return check_number("gamma_w", value, low=0, high=1, open_high=True)


@register_explorer("vv-ucb")
class VvUcb(NamedTuple):
    """Q plus κ (1 - γ_w) W, where W is the long-term upper confidence bound (Algorithm 3)."""

    kappa: float
    gamma_w: float
    initial: float
    plus: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        kappa: Kappa = None,
        gamma_w: GammaW = None,
        initial_margin: Annotated[
            float, "Initial W minus its lower bound; 0 gives the next larger floating-point number."
        ] = 0.0,
        log_plus_one: Annotated[bool, "Whether the visitation reward uses log(1 + Σn) instead of log Σn."] = False,
    ) -> VvUcb:
        """Compute κ and the initial W."""
        kappa, span = problem.kappa_and_span(kappa)
        discount = chosen_gamma_w(problem, gamma_w)
        margin = check_number("initial_margin", initial_margin, low=0)
        bound = long_term_ucb_bound(problem.n_actions, span, discount)
        initial = bound + margin if margin > 0.0 else float(np.nextafter(bound, np.inf))
        return cls(kappa, discount, initial, 1.0 if check_flag("log_plus_one", log_plus_one) else 0.0)

    def extra_tables(self) -> ExtraTables:
        """Return a W-table that is maximised and starts above its bound (Eq. 24)."""
        return ExtraTables(visitation=Visitation(discount=self.gamma_w, initial=self.initial))

    def visitation_reward(self, visits: int, total: int, max_visits: int) -> float:
        """√(2 log Σn / n) (Eq. 10)."""
        return ucb(visits, total, self.plus)

    def terminal_visitation_reward(self, visits: int, total: int, max_visits: int) -> float:
        """√(2 log Σn / n) / (1 - γ_w) (Eq. 10, terminal)."""
        return discounted_forever(ucb(visits, total, self.plus), self.gamma_w)

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ (1 - γ_w) W (Eq. 14)."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.kappa * long_term_ucb(view.w(action), self.gamma_w)


@register_explorer("vv-count")
class VvCount(NamedTuple):
    """Q plus κ times the UCB of the pseudocount (1 - γ_w) W, where W is the long-term count (Algorithm 4)."""

    kappa: float
    gamma_w: float
    untried: float
    max_visits_at_end: bool

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        kappa: Kappa = None,
        gamma_w: GammaW = None,
        terminal_count: Annotated[
            str, "The visit count at a terminal transition: 'pair', its own, or 'largest', the largest of any pair."
        ] = "pair",
        untried_bound: Annotated[
            str, "The exploration term of an untried action: 'text' adds +1 in the logarithm, 'equation' does not."
        ] = "text",
    ) -> VvCount:
        """Compute κ and the exploration term of untried actions."""
        kappa, span = problem.kappa_and_span(kappa)
        discount = chosen_gamma_w(problem, gamma_w)
        largest = check_choice("terminal_count", terminal_count, ("pair", "largest")) == "largest"
        plus = 1.0 if check_choice("untried_bound", untried_bound, ("text", "equation")) == "text" else 0.0
        if plus + (1.0 - discount) + problem.n_actions - 2 <= 0.0 or (plus == 0.0 and problem.n_actions == 2):
            raise InvalidSetting(
                f"untried_bound='equation' is undefined for {problem.n_actions} actions (the logarithm of a number "
                "below one); use 'text'."
            )
        untried = untried_pseudocount_ucb(max(problem.n_actions, 2), span, discount, plus=plus)
        return cls(kappa, discount, untried, largest)

    def extra_tables(self) -> ExtraTables:
        """Return a W-table that is minimised and starts at zero."""
        return ExtraTables(
            visitation=Visitation(
                discount=self.gamma_w, initial=0.0, minimise=True, uses_max_visits=self.max_visits_at_end
            )
        )

    def visitation_reward(self, visits: int, total: int, max_visits: int) -> float:
        """n (Eq. 15)."""
        return float(visits)

    def terminal_visitation_reward(self, visits: int, total: int, max_visits: int) -> float:
        """n / (1 - γ_w) (Eq. 15, terminal)."""
        return discounted_forever(float(max_visits if self.max_visits_at_end else visits), self.gamma_w)

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ √(2 log(1 + Σn̂) / n̂) (Eq. 19)."""
        total = 0.0
        for action in range(view.n_actions):
            total += pseudocount(view.w(action), self.gamma_w)
        for action in range(view.n_actions):
            count = pseudocount(view.w(action), self.gamma_w)
            bound = ucb(count, total, 1.0) if count > 0.0 else self.untried
            scores[action] = view.q(action) + self.kappa * bound
