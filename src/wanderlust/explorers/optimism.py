"""Exploration by optimistic Q-values, by Boltzmann's distribution, and by E-values.

The own tables of `ucb-q` and `dora` learn from the current transition alone.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_number
from wanderlust.explorers.choice import draw_weighted
from wanderlust.explorers.formulas import annealed_rate, count_bonus, effective_horizon, hoeffding_bonus
from wanderlust.explorers.protocol import ExtraTables, OwnTables, Problem, View, register_explorer
from wanderlust.learning.planned import Model, Transition
from wanderlust.learning.state import TERMINAL, Streams
from wanderlust.learning.td import Floats, td_target, td_update

Beta = Annotated[float | None, "β, the weight of the bonus; 0.3 r_max if not given."]


def largest_reward(problem: Problem) -> float:
    """Return r_max, or what stands for it in `Problem.value_range` if no reward is positive."""
    return problem.value_range * (1.0 - problem.discount)


def chosen_beta(problem: Problem, given: float | None) -> float:
    """Return β of MBIE-EB from the option, or 0.3 r_max if it is not given."""
    return check_number("beta", 0.3 * largest_reward(problem) if given is None else given, low=0)


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
    def configure(cls, problem: Problem, *, beta: Beta = None) -> MbieEb:
        """Compute β."""
        return cls(chosen_beta(problem, beta))

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


BOUND, ESTIMATE = 0, 1
"""The own tables of `ucb-q`: Q̂, the smallest estimate so far, and Q."""


@register_explorer("ucb-q")
class UcbQ(NamedTuple):
    """Greedy on the smallest estimate so far of optimistic Q-learning with a bonus (Dong et al. 2020)."""

    scale: float
    horizon: float
    discount: float
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        scale: Annotated[float, "c, the weight of the bonus."] = 0.001,
        rate_horizon: Annotated[
            float | None, "H of the learning rate (H + 1) / (H + n); the source's, 2,205 for γ = 0.99, if not given."
        ] = None,
    ) -> UcbQ:
        """Check c and H."""
        given = effective_horizon(problem.discount) if rate_horizon is None else rate_horizon
        horizon = check_number("rate_horizon", given, low=0)
        return cls(check_number("scale", scale, low=0), horizon, problem.discount, problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return Q̂ and Q, which start at V."""
        return ExtraTables(own=OwnTables(initial=(self.value_range, self.value_range), plans=False))

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Q ← (1 - α) Q + α (r + b + γ V̂(s')), Q̂ ← min(Q̂, Q), V̂(s) = max_a Q̂(s, a) (algorithm 1 of Dong et al.)."""
        pair, visits = transition.pair, model.n(transition.pair)
        bonus = self.scale * self.value_range * hoeffding_bonus(visits)
        target = td_target(transition.reward + bonus, self.discount, model.best(BOUND, transition.next_state))
        estimate = td_update(model.table(ESTIMATE)[pair], target, annealed_rate(visits, self.horizon))
        model.set_value(ESTIMATE, pair, estimate)
        if estimate < model.table(BOUND)[pair]:
            model.set_value(BOUND, pair, estimate)


LAST_PAIR = 0
"""The note of `dora` that holds the pair of the previous step of the episode, or 0."""
UNTRIED = 700.0
"""-ln(-ln E) of an untried action, in place of infinity; that of a number below 1 is at most 37."""


@register_explorer("dora")
class Dora(NamedTuple):
    """Q - τ ln(-ln E), where E is a counter that starts at 1 and is propagated (DORA, Choshen et al. 2018)."""

    temperature: float
    gamma_e: float
    value_range: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        gamma_e: Annotated[float, "γ_E, the discount of E; with 0 it counts the visits of the pair alone."] = 0.9,
        temperature: Annotated[float | None, "τ, in units of the reward; r_max if not given."] = None,
    ) -> Dora:
        """Compute τ."""
        tau = check_number("temperature", largest_reward(problem) if temperature is None else temperature, low=0)
        return cls(tau, check_number("gamma_e", gamma_e, low=0, high=1, open_high=True), problem.value_range)

    def extra_tables(self) -> ExtraTables:
        """Return the E-table, which starts at 1."""
        return ExtraTables(own=OwnTables(initial=(1.0,), is_q=False, plans=False))

    def begin_episode(self, notes: Floats, random: Streams) -> None:
        """Forget the previous step."""
        notes[LAST_PAIR] = 0

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """E(s, a) ← (1 - η) E(s, a) + η γ_E E(s', a') once a' is known; E of the terminal state is 0."""
        e, rate, notes = model.table(0), model.spec.learning_rate, model.notes()
        last = model.visited_pair(notes[LAST_PAIR])
        if last > 0:
            e[last] = td_update(e[last], td_target(0.0, self.gamma_e, e[transition.pair]), rate)
        notes[LAST_PAIR] = transition.pair
        if transition.next_state == TERMINAL:
            e[transition.pair] = td_update(e[transition.pair], 0.0, rate)
            notes[LAST_PAIR] = 0

    def score(self, view: View, scores: Floats) -> None:
        """Q - τ ln(-ln E), the deterministic form ("LLL") of a softmax over Q; untried actions first."""
        for action in range(view.n_actions):
            e = view.own(0, action)
            novelty = -math.log(-math.log(e)) if 0.0 < e < 1.0 else UNTRIED if e >= 1.0 else -UNTRIED
            scores[action] = view.q(action) + self.temperature * novelty
            if e >= 1.0:
                scores[action] += self.value_range
