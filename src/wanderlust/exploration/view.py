"""What an explorer sees of the agent's mind when it chooses an action in a state."""

from __future__ import annotations

from typing import NamedTuple

from wanderlust.compiled import inlined, with_methods
from wanderlust.learning.mind import STEP, Floats, Ints, Mind, Plan


@with_methods
class View(NamedTuple):
    """A window on one state: its values, its counts, the step, and a few numbers of the explorer's own to keep."""

    values: Floats
    tries: Ints
    first_pair: int
    n_actions: int
    behaviour: int
    visitation: int
    first_head: int
    n_heads: int
    step: int
    notes: Floats

    def q(self, action: int) -> float:
        """Return the behaviour's Q-value of an action."""
        return self.values[self.behaviour, self.first_pair + action]  # type: ignore[no-any-return]

    def w(self, action: int) -> float:
        """Return the visitation value of an action."""
        return self.values[self.visitation, self.first_pair + action]  # type: ignore[no-any-return]

    def head(self, head: int, action: int) -> float:
        """Return the Q-value of an action by one head of the ensemble."""
        return self.values[self.first_head + head, self.first_pair + action]  # type: ignore[no-any-return]

    def n(self, action: int) -> int:
        """Return how often an action was tried in this state."""
        return self.tries[self.first_pair + action]  # type: ignore[no-any-return]

    def total(self) -> int:
        """Return how often any action was tried in this state."""
        total = 0
        for action in range(self.n_actions):
            total += self.tries[self.first_pair + action]
        return total


@inlined
def view_of(state: int, mind: Mind, plan: Plan) -> View:
    """Return the view of one state, by its number."""
    return View(
        mind.values,
        mind.tries,
        state * plan.n_actions,
        plan.n_actions,
        plan.behaviour,
        plan.visitation,
        plan.n_swept,
        plan.n_heads,
        mind.numbers[STEP],
        mind.notes,
    )
