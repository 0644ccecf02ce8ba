"""Exploration by chance: the random policy and ε-greedy (Appendix A.1)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from wanderlust._numba.jit import inlined
from wanderlust.core.errors import check_number
from wanderlust.explorers.choice import greedy_action_of, random_action
from wanderlust.explorers.formulas import decayed_epsilon, epsilon_decay
from wanderlust.explorers.protocol import Problem
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.learning.random_streams import EXPLORER, Streams, uniform
from wanderlust.learning.state import Floats

EpsilonStart = Annotated[float | None, "ε at the first step; the world's own (1) if not given."]
EpsilonEnd = Annotated[
    float | None, "ε at the end of the budget, reached geometrically; the world's own (0.1) if not given."
]

STRETCH_LENGTH = 1024
# Which of the explorer's notes say for which stretch of steps (counted from 1) ε lies between which values.
STRETCH, LOWEST, HIGHEST = 5, 6, 7
# More than a power's last digits can be wrong by, so that the bounds hold.
ROUNDING = 1e-12


def epsilon_schedule(problem: Problem, start: float | None, end: float | None) -> tuple[float, float]:
    """Return (ε_0, ξ) from the options, or from the problem where they are not given."""
    start = check_number("epsilon_start", problem.epsilon_start if start is None else start, low=0, high=1)
    end = check_number("epsilon_end", problem.epsilon_end if end is None else end, low=0, high=1)
    return start, epsilon_decay(start, end, problem.budget)


@inlined
def explores(rule: Any, view: View, random: Streams) -> bool:
    """Return True with probability ε_i = ε_0 ξ^i.

    The power takes longer than all the rest of a choice. Over a stretch of steps ε stays between its values at both
    ends, which are noted; only a draw that falls between them needs the power itself.
    """
    notes, stretch = view.notes, view.step // STRETCH_LENGTH
    if notes[STRETCH] != stretch + 1:
        one = decayed_epsilon(rule.epsilon, rule.decay, stretch * STRETCH_LENGTH)
        other = decayed_epsilon(rule.epsilon, rule.decay, (stretch + 1) * STRETCH_LENGTH)
        notes[STRETCH] = stretch + 1
        notes[LOWEST] = (one if one < other else other) * (1.0 - ROUNDING)
        notes[HIGHEST] = (other if one < other else one) * (1.0 + ROUNDING)
    drawn = uniform(random, EXPLORER)
    if drawn < notes[LOWEST]:
        return True
    return drawn < notes[HIGHEST] and drawn < decayed_epsilon(rule.epsilon, rule.decay, view.step)


@inlined
def choose_dithering(rule: Any, view: View, scores: Floats, random: Streams) -> int:
    """Choose any action with probability ε, otherwise the best by the rule's own scores; the last notes are used."""
    if rule.epsilon > 0.0 and explores(rule, view, random):
        return random_action(random, view.n_actions)
    rule.score(view, scores)
    return greedy_action_of(scores, random)


@register_explorer("random")
class Random(NamedTuple):
    """Every action with the same probability."""

    n_actions: int

    @classmethod
    def configure(cls, problem: Problem) -> Random:
        """Take the number of actions from the problem."""
        return cls(problem.n_actions)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Draw an action."""
        return random_action(random, self.n_actions)


@register_explorer("epsilon-greedy")
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
