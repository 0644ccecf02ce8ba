"""Exploration by the long-term visitation value W, learnt beside Q and never mixed into its reward (Section 3.2).

W(s, a) is the discounted sum of a visitation reward that is to be had from taking `a` in `s`: a value of where
exploration is still to be had. Terminal states pay theirs as if the agent stayed in them for ever, or it would never
return to them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_choice, check_flag, check_number
from wanderlust.explorers.counts import Kappa, coefficient
from wanderlust.explorers.formulas import (
    discounted_forever,
    local_ucb_start,
    long_term_ucb,
    long_term_ucb_start,
    pseudocount,
    ucb,
    untried_pseudocount_ucb,
)
from wanderlust.explorers.protocol import ExtraTables, Problem, Visitation
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.learning.state import Floats

GammaW = Annotated[
    float | None, "γ_w, how far ahead W looks; the world's own (0.99) if not given. 0 is UCB1."
]


def _discount(problem: Problem, given: float | None) -> float:
    value = problem.gamma_w if given is None else given
    return check_number("gamma_w", value, low=0, high=1, open_high=True)


@register_explorer("vv-ucb")
class VvUcb(NamedTuple):
    """Q plus κ (1 - γ_w) W, where W is the long-term upper confidence bound."""

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
        initial_margin: Annotated[float, "How far above its bound W starts; 0 is the next larger number."] = 0.0,
        initial_bound: Annotated[
            str,
            "What W starts above: 'everywhere', so that an untried action is worth any way to it, or 'here', so that "
            "it goes before the tried ones of its own state: better where chance decides what can be reached.",
        ] = "everywhere",
        log_plus_one: Annotated[bool, "Whether the visitation reward has log(1 + Σn) instead of log Σn."] = False,
    ) -> VvUcb:
        """Work out κ and the initial value of W."""
        kappa, span = coefficient(problem, kappa)
        discount = _discount(problem, gamma_w)
        margin = check_number("initial_margin", initial_margin, low=0)
        bound = long_term_ucb_start(problem.n_actions, span, discount)
        if check_choice("initial_bound", initial_bound, ("everywhere", "here")) == "here":
            bound = local_ucb_start(problem.n_actions, discount)
        start = bound + margin if margin > 0.0 else float(np.nextafter(bound, np.inf))
        return cls(kappa, discount, start, 1.0 if check_flag("log_plus_one", log_plus_one) else 0.0)

    def extra_tables(self) -> ExtraTables:
        """Return a W-table that is maximised and starts above its bound."""
        return ExtraTables(visitation=Visitation(discount=self.gamma_w, initial=self.initial))

    def visitation_reward(self, visits: int, total: int, largest: int) -> float:
        """√(2 log Σn / n)."""
        return ucb(visits, total, self.plus)

    def terminal_visitation_reward(self, visits: int, total: int, largest: int) -> float:
        """√(2 log Σn / n) / (1 - γ_w)."""
        return discounted_forever(ucb(visits, total, self.plus), self.gamma_w)

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ (1 - γ_w) W."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.kappa * long_term_ucb(view.w(action), self.gamma_w)


@register_explorer("vv-count")
class VvCount(NamedTuple):
    """Q plus κ times the upper confidence bound of the pseudocount (1 - γ_w) W, where W is the long-term count."""

    kappa: float
    gamma_w: float
    untried: float
    largest_at_end: bool

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        kappa: Kappa = None,
        gamma_w: GammaW = None,
        terminal_count: Annotated[
            str, "The count at a terminal pair: 'pair', its own, or 'largest', the largest of the whole table."
        ] = "pair",
        untried_bound: Annotated[
            str, "The bound of an untried action: 'text' adds +1 in the logarithm, 'equation' does not."
        ] = "text",
    ) -> VvCount:
        """Work out κ and the bound of untried actions."""
        kappa, span = coefficient(problem, kappa)
        discount = _discount(problem, gamma_w)
        largest = check_choice("terminal_count", terminal_count, ("pair", "largest")) == "largest"
        plus = 1.0 if check_choice("untried_bound", untried_bound, ("text", "equation")) == "text" else 0.0
        if plus + (1.0 - discount) + problem.n_actions - 2 <= 0.0 or (plus == 0.0 and problem.n_actions == 2):
            raise InvalidSetting(
                f"untried_bound='equation' has no value for {problem.n_actions} actions (the logarithm of a number "
                "below one); use 'text'."
            )
        untried = untried_pseudocount_ucb(max(problem.n_actions, 2), span, discount, plus=plus)
        return cls(kappa, discount, untried, largest)

    def extra_tables(self) -> ExtraTables:
        """Return a W-table that is minimised and starts at zero."""
        return ExtraTables(
            visitation=Visitation(
                discount=self.gamma_w, initial=0.0, minimise=True, largest_matters=self.largest_at_end
            )
        )

    def visitation_reward(self, visits: int, total: int, largest: int) -> float:
        """n."""
        return float(visits)

    def terminal_visitation_reward(self, visits: int, total: int, largest: int) -> float:
        """n / (1 - γ_w)."""
        return discounted_forever(float(largest if self.largest_at_end else visits), self.gamma_w)

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ √(2 log(1 + Σn̂) / n̂)."""
        total = 0.0
        for action in range(view.n_actions):
            total += pseudocount(view.w(action), self.gamma_w)
        for action in range(view.n_actions):
            count = pseudocount(view.w(action), self.gamma_w)
            bound = ucb(count, total, 1.0) if count > 0.0 else self.untried
            scores[action] = view.q(action) + self.kappa * bound
