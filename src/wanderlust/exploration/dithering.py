"""Exploration by chance: the random policy and ε-greedy (Appendix A.1)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from wanderlust.compiled import inlined
from wanderlust.errors import check_number
from wanderlust.exploration.choice import best_choice, chance, random_choice
from wanderlust.exploration.formulas import decayed_epsilon, epsilon_decay
from wanderlust.exploration.protocol import Problem
from wanderlust.exploration.registry import explorer
from wanderlust.exploration.view import View
from wanderlust.learning.mind import Floats
from wanderlust.streams import Streams

EpsilonStart = Annotated[float | None, "ε at the first step; the world's own (1) if not given."]
EpsilonEnd = Annotated[
    float | None, "ε at the end of the budget, reached geometrically; the world's own (0.1) if not given."
]


def epsilon_schedule(problem: Problem, start: float | None, end: float | None) -> tuple[float, float]:
    """Return (ε_0, ξ) from the options, or from the problem where they are not given."""
    start = check_number("epsilon_start", problem.epsilon_start if start is None else start, low=0, high=1)
    end = check_number("epsilon_end", problem.epsilon_end if end is None else end, low=0, high=1)
    return start, epsilon_decay(start, end, problem.budget)


@inlined
def choose_dithering(rule: Any, view: View, scores: Floats, random: Streams) -> int:
    """Choose any action with probability ε, otherwise the best by the rule's own scores."""
    if rule.epsilon > 0.0 and chance(random, decayed_epsilon(rule.epsilon, rule.decay, view.step)):
        return random_choice(random, view.n_actions)
    rule.score(view, scores)
    return best_choice(scores, random)


@explorer("random")
class Random(NamedTuple):
    """Every action with the same probability."""

    n_actions: int

    @classmethod
    def configure(cls, problem: Problem) -> Random:
        """Take the number of actions from the problem."""
        return cls(problem.n_actions)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Draw an action."""
        return random_choice(random, self.n_actions)


@explorer("epsilon-greedy")
class EpsilonGreedy(NamedTuple):
    """The best action by Q, and any action with a probability ε that decays."""

    epsilon: float
    decay: float

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon_start: EpsilonStart = None, epsilon_end: EpsilonEnd = None
    ) -> EpsilonGreedy:
        """Work out the decay of ε."""
        return cls(*epsilon_schedule(problem, epsilon_start, epsilon_end))

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Explore with probability ε, otherwise exploit."""
        return choose_dithering(self, view, scores, random)
