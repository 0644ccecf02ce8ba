"""Exploration by planning in an optimistic model: R-MAX, UCBVI and a planned W. V is r_max / (1 - γ)."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from wanderlust.core.errors import check_integer, check_number
from wanderlust.explorers.counts import Kappa, kappa_and_span
from wanderlust.explorers.formulas import discounted_forever, doubled, long_term_ucb, long_term_ucb_bound, ucb
from wanderlust.explorers.protocol import ExtraTables, OwnTables, Problem
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.explorers.visitation import GammaW, chosen_gamma_w
from wanderlust.learning.model import Model, Transition
from wanderlust.learning.planned import EXACT, mark, plan, sweep_planned
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.spec import Floats
from wanderlust.learning.state import NONE, TERMINAL
from wanderlust.learning.td import td_target


@register_explorer("r-max")
class RMax(NamedTuple):
    """Greedy on the plan of a model in which pairs with fewer than m visits are worth V (Brafman, Tennenholtz 2002)."""

    known_after: int
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        known_after: Annotated[
            int, "m, the visits after which a pair is known: 1 in deterministic environments, more in stochastic ones."
        ] = 1,
    ) -> RMax:
        """Check m."""
        return cls(check_integer("known_after", known_after, low=1, high=2**31), problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return a Q-table that starts at V."""
        return ExtraTables(own=OwnTables(initial=(self.value_range,)))

    def backup(self, model: Model, pair: int) -> float:
        """r̂ + γ P̂V if n ≥ m, otherwise V."""
        return model.target(pair) if model.n(pair) >= self.known_after else self.value_range

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Plan when a pair becomes known, and when the count of a known pair has doubled."""
        visits = model.n(transition.pair)
        if visits >= self.known_after:
            mark(model, transition.state)
            if visits % self.known_after == 0 and doubled(visits // self.known_after):
                plan(self, model, EXACT * self.value_range, False)


@register_explorer("ucbvi")
class Ucbvi(NamedTuple):
    """Greedy on upper bounds of Q with a Bernstein bonus, one sweep a step (UCBVI-γ, He et al. 2021)."""

    scale: float
    correction: float
    discount: float
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        scale: Annotated[float, "c, the weight of the standard deviation of V(s')."] = 1.0,
        correction: Annotated[float, "c', the weight of V / n."] = 0.01,
    ) -> Ucbvi:
        """Check the weights."""
        return cls(
            check_number("scale", scale, low=0),
            check_number("correction", correction, low=0),
            problem.discount,
            problem.value_range,
        )

    def extra_tables(self) -> ExtraTables:
        """Return a Q-table that starts at V."""
        return ExtraTables(own=OwnTables(initial=(self.value_range,)))

    def backup(self, model: Model, pair: int) -> float:
        """min(Q, r̂ + γ (P̂V + b)), b = c √(Var V(s') / n) + c' V / n (UCBVI-γ, update of Q)."""
        value, visits = model.value(0, pair), model.n(pair)
        if visits == 0:
            return value
        bonus = self.scale * math.sqrt(model.next_variance(pair) / visits) + self.correction * self.value_range / visits
        bound = model.target(pair) + self.discount * bonus
        return bound if bound < value else value

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Sweep once, from the latest discovered state to the first."""
        mark(model, transition.state)
        sweep_planned(self, model, False, False)


@register_explorer("vv-plan")
class VvPlan(NamedTuple):
    """`vv-ucb` whose W is planned on the remembered transitions, one sweep a step, and so without a learning rate."""

    kappa: float
    gamma_w: float
    initial: float

    @classmethod
    def configure(cls, problem: Problem, *, kappa: Kappa = None, gamma_w: GammaW = None) -> VvPlan:
        """Compute κ and the initial W, as for `vv-ucb`."""
        kappa, span = kappa_and_span(problem, kappa)
        discount = chosen_gamma_w(problem, gamma_w)
        bound = long_term_ucb_bound(problem.n_actions, span, discount)
        return cls(kappa, discount, float(np.nextafter(bound, np.inf)))

    def extra_tables(self) -> ExtraTables:
        """Return W, which starts above the same bound as in `vv-ucb`."""
        return ExtraTables(own=OwnTables(initial=(self.initial,), is_q=False))

    def backup(self, model: Model, pair: int) -> float:
        """u + γ_w P̂ max W, u = √(2 log Σn / n), and u / (1 - γ_w) where it terminated: the target of `vv-ucb`."""
        visits = model.n(pair)
        if visits == 0:
            return self.initial
        reward, value = ucb(visits, model.total(pair), 0.0), 0.0
        outcomes, outcome = model.learner.outcomes, model.first_outcome(pair)
        while outcome != NONE:
            next_state = outcomes.next_state[outcome]
            target = td_target(reward, self.gamma_w, model.best(0, next_state))
            if next_state == TERMINAL:
                target = discounted_forever(reward, self.gamma_w)
            value += outcomes.weight[outcome] * target
            outcome = model.next_outcome(outcome)
        return value

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Sweep once, from the latest discovered state to the first."""
        mark(model, transition.state)
        sweep_planned(self, model, False, False)

    def score(self, view: View, scores: Floats) -> None:
        """Q + κ (1 - γ_w) W, as in `vv-ucb`."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.kappa * long_term_ucb(view.own(0, action), self.gamma_w)
