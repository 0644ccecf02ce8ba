"""Exploration by planning in a model that is drawn at random from what is known: RLSVI and PSRL.

A model is drawn when an episode starts, and when the visit count of a pair has doubled.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_choice, check_flag, check_number
from wanderlust.explorers.choice import random_action, standard_gamma, standard_normal
from wanderlust.explorers.formulas import discounted_forever, doubled
from wanderlust.explorers.optimism import largest_reward
from wanderlust.explorers.protocol import ExtraTables, OwnTables, Problem, register_explorer
from wanderlust.learning.planned import COARSE, Model, Transition, mark_all, plan
from wanderlust.learning.state import NONE, Streams

Deviation = Annotated[float | None, "σ, the standard deviation of rewards that is assumed; r_max / 10 if not given."]
WhenDoubled = Annotated[
    bool, "Whether a model is also drawn when a visit count has doubled, or only at the start of an episode."
]

DRAWN, ANYWHERE, SHARE = 1, 2, 3
"""Further tables: the reward that was drawn, or what is added to it; a state drawn from the prior; its probability."""


def _deviation(problem: Problem, given: float | None) -> float:
    return check_number("deviation", 0.1 * largest_reward(problem) if given is None else given, low=0, open_low=True)


@register_explorer("rlsvi")
class Rlsvi(NamedTuple):
    """Greedy on the plan of a model with randomly perturbed rewards (RLSVI, Osband et al. 2016)."""

    deviation: float
    when_doubled: bool
    prior_mean: float
    clip: bool
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        deviation: Deviation = None,
        when_doubled: WhenDoubled = True,
        prior_mean: Annotated[float, "The mean value of an untried pair as a share of r_max / (1 - γ)."] = 0.0,
        clip: Annotated[bool, "Whether values are at most r_max / (1 - γ), the largest possible return."] = False,
    ) -> Rlsvi:
        """Compute σ."""
        sigma, flag = _deviation(problem, deviation), check_flag("when_doubled", when_doubled)
        mean = check_number("prior_mean", prior_mean) * problem.value_range
        return cls(sigma, flag, mean, check_flag("clip", clip), problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return the Q-table of the drawn model, and the perturbations."""
        return ExtraTables(own=OwnTables(initial=(0.0, 0.0)))

    def draw(self, model: Model, pair: int, random: Streams) -> None:
        """Draw w ~ N(0, σ² / n); for an untried pair w ~ N(μ, V²), where μ is the prior's mean."""
        visits = model.n(pair)
        scale = self.deviation / math.sqrt(visits) if visits > 0 else self.value_range
        model.table(DRAWN)[pair] = (0.0 if visits > 0 else self.prior_mean) + scale * standard_normal(random)

    def backup(self, model: Model, pair: int) -> float:
        """r̂ + w + γ P̂V; the value of an untried pair is w."""
        value = model.value(DRAWN, pair) + (model.target(pair) if model.n(pair) > 0 else 0.0)
        return self.value_range if self.clip and value > self.value_range else value

    def plan_episode(self, model: Model, random: Streams) -> None:
        """Draw all perturbations, then plan."""
        for pair in range(model.first_pair(), model.end_pair()):
            self.draw(model, pair, random)
        mark_all(model)
        plan(self, model, COARSE * self.value_range, False)

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Do the same if the count of the pair has doubled."""
        if self.when_doubled and doubled(model.n(transition.pair)):
            self.plan_episode(model, random)


@register_explorer("psrl")
class Psrl(NamedTuple):
    """Greedy on the plan of a model that is drawn from its posterior distribution (PSRL, Osband et al. 2013)."""

    deviation: float
    when_doubled: bool
    is_optimistic: bool
    reward: float
    discount: float
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        deviation: Deviation = None,
        when_doubled: WhenDoubled = True,
        untried: Annotated[
            str,
            "What an untried pair gives in a drawn model: 'optimistic', a reward from N(r_max, r_max²) forever, or "
            "'visited', one from N(0, r_max²) on the way to a random visited state, as tried pairs may, too.",
        ] = "optimistic",
    ) -> Psrl:
        """Compute σ."""
        sigma, flag = _deviation(problem, deviation), check_flag("when_doubled", when_doubled)
        is_optimistic = check_choice("untried", untried, ("optimistic", "visited")) == "optimistic"
        return cls(sigma, flag, is_optimistic, largest_reward(problem), problem.discount, problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return the Q-table of the drawn model, its rewards, and its transitions from the prior.

        Its transitions to observed next states are a number of each outcome.
        """
        return ExtraTables(own=OwnTables(initial=(0.0, 0.0, 0.0, 1.0), outcome_numbers=True))

    def draw_reward(self, model: Model, pair: int, random: Streams) -> None:
        """Draw r ~ N((n r̂ + n_0 μ) / (n + n_0), σ² / (n + n_0)); the prior N(μ, r_max²) is worth n_0 visits.

        n_0 = (σ / r_max)²; μ is r_max if the prior is optimistic, otherwise 0.
        """
        visits, prior = model.n(pair), (self.deviation / self.reward) * (self.deviation / self.reward)
        mean = visits * model.mean_reward(pair) / (visits + prior)
        if self.is_optimistic:
            mean += prior * self.reward / (visits + prior)
        model.table(DRAWN)[pair] = mean + self.deviation / math.sqrt(visits + prior) * standard_normal(random)

    def draw_transitions(self, model: Model, pair: int, random: Streams) -> None:
        """Draw p ~ Dirichlet(1, n_1, n_2, ...): the prior is worth one visit, to a random visited state.

        If it is optimistic, the prior of a tried pair is worth nothing: p ~ Dirichlet(n_1, n_2, ...).
        """
        n_actions = model.spec.n_actions
        model.table(ANYWHERE)[pair] = n_actions * (1 + random_action(random, model.end_pair() // n_actions - 1))
        shares, stored = model.outcome_numbers(), model.learner.outcomes.stored
        prior = total = 0.0 if self.is_optimistic and model.n(pair) > 0 else standard_gamma(1.0, random)
        outcome = model.first_outcome(pair)
        while outcome != NONE:
            shares[outcome] = standard_gamma(stored[outcome], random)
            total += shares[outcome]
            outcome = model.next_outcome(outcome)
        model.table(SHARE)[pair] = prior / total
        outcome = model.first_outcome(pair)
        while outcome != NONE:
            shares[outcome] /= total
            outcome = model.next_outcome(outcome)

    def backup(self, model: Model, pair: int) -> float:
        """r + γ (p_0 V(s_0) + Σ_k p_k V(s'_k)), where s_0 was drawn from the prior; r / (1 - γ) if it is untried."""
        if self.is_optimistic and model.n(pair) == 0:
            return discounted_forever(model.value(DRAWN, pair), self.discount)
        anywhere = model.visited_pair(model.value(ANYWHERE, pair)) // model.spec.n_actions
        value, outcome = model.value(SHARE, pair) * model.best(0, anywhere), model.first_outcome(pair)
        while outcome != NONE:
            value += model.outcome_number(outcome) * model.best(0, model.learner.outcomes.next_state[outcome])
            outcome = model.next_outcome(outcome)
        return model.value(DRAWN, pair) + self.discount * value

    def plan_episode(self, model: Model, random: Streams) -> None:
        """Draw all rewards and transitions, then plan."""
        for pair in range(model.first_pair(), model.end_pair()):
            self.draw_reward(model, pair, random)
            self.draw_transitions(model, pair, random)
        mark_all(model)
        # Only the prior that is not optimistic leads to states that are not next states of the pair.
        plan(self, model, COARSE * self.value_range, not self.is_optimistic)

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Do the same if the count of the pair has doubled."""
        if self.when_doubled and doubled(model.n(transition.pair)):
            self.plan_episode(model, random)
