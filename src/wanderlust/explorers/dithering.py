"""Random exploration: the uniform policy and ε-greedy (Appendix A.1)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from wanderlust._numba.jit import inlined
from wanderlust.core.errors import check_number
from wanderlust.explorers.choice import greedy_action, random_action
from wanderlust.explorers.formulas import decayed_epsilon, epsilon_decay
from wanderlust.explorers.protocol import Problem, View, register_explorer
from wanderlust.learning.state import EXPLORER, Streams, uniform
from wanderlust.learning.td import Floats

EpsilonStart = Annotated[float | None, "ε at the first step; the world's default (1) if not given."]
EpsilonEnd = Annotated[
    float | None, "ε at the end of the budget, after geometric decay; the world's default (0.1) if not given."
]

BLOCK_LENGTH = 1024
# The explorer's notes that hold the current block of steps (counted from 1) and the bounds of ε in it.
BLOCK, LOWEST, HIGHEST = 5, 6, 7
# Larger than the rounding error of a power, so that the bounds hold.
ROUNDING = 1e-12


def epsilon_schedule(problem: Problem, start: float | None, end: float | None) -> tuple[float, float]:
    """Return (ε_0, ξ) from the options, or from the problem if they are not given."""
    start = check_number("epsilon_start", problem.epsilon_start if start is None else start, low=0, high=1)
    end = check_number("epsilon_end", problem.epsilon_end if end is None else end, low=0, high=1)
    return start, epsilon_decay(start, end, problem.budget)


@inlined
def explores(explorer: Any, view: View, random: Streams) -> bool:
    """Return True with probability ε_i = ε_0 ξ^i.

    The power takes longer than the rest of a choice. Within a block of steps ε lies between its values at both ends,
    which are kept in `notes`; only a draw between them needs the power itself.
    """
    notes, block = view.notes, view.step // BLOCK_LENGTH
    if notes[BLOCK] != block + 1:
        one = decayed_epsilon(explorer.epsilon, explorer.decay, block * BLOCK_LENGTH)
        other = decayed_epsilon(explorer.epsilon, explorer.decay, (block + 1) * BLOCK_LENGTH)
        notes[BLOCK] = block + 1
        notes[LOWEST] = (one if one < other else other) * (1.0 - ROUNDING)
        notes[HIGHEST] = (other if one < other else one) * (1.0 + ROUNDING)
    drawn = uniform(random, EXPLORER)
    if drawn < notes[LOWEST]:
        return True
    return drawn < notes[HIGHEST] and drawn < decayed_epsilon(explorer.epsilon, explorer.decay, view.step)


@inlined
def choose_epsilon_greedy(explorer: Any, view: View, scores: Floats, random: Streams) -> int:
    """Choose a random action with probability ε, otherwise the greedy one by score. Uses the last notes."""
    if explorer.epsilon > 0.0 and explores(explorer, view, random):
        return random_action(random, view.n_actions)
    explorer.score(view, scores)
    return greedy_action(scores, random)


@register_explorer("random")
class Random(NamedTuple):
    """Every action with the same probability (Eq. 31)."""

    n_actions: int

    @classmethod
    def configure(cls, problem: Problem) -> Random:
        """Return the policy for the number of actions."""
        return cls(problem.n_actions)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Draw an action."""
        return random_action(random, view.n_actions)


@register_explorer("epsilon-greedy")
class EpsilonGreedy(NamedTuple):
    """The greedy action by Q, or a random action with a probability ε that decays (Eq. 32)."""

    epsilon: float
    decay: float

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon_start: EpsilonStart = None, epsilon_end: EpsilonEnd = None
    ) -> EpsilonGreedy:
        """Compute the decay of ε."""
        return cls(*epsilon_schedule(problem, epsilon_start, epsilon_end))

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Choose a random action with probability ε, otherwise the greedy one."""
        return choose_epsilon_greedy(self, view, scores, random)
