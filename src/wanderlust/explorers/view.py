"""What an explorer sees of the agent's learner when it chooses an action in a state."""

from __future__ import annotations

from typing import NamedTuple

from wanderlust._numba.jit import inlined, with_methods
from wanderlust.learning.state import STEP, Floats, Ints, LearnerState, TableSpec


@with_methods
class View(NamedTuple):
    """A window on one state: its values, its counts, the step, and a few numbers of the explorer's own to keep."""

    values: Floats
    visits: Ints
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
        return self.visits[self.first_pair + action]  # type: ignore[no-any-return]

    def total(self) -> int:
        """Return how often any action was tried in this state."""
        total = 0
        for action in range(self.n_actions):
            total += self.visits[self.first_pair + action]
        return total


@inlined
def view_of(state: int, learner: LearnerState, spec: TableSpec) -> View:
    """Return the view of one state, by its number."""
    return View(
        learner.values,
        learner.visits,
        state * spec.n_actions,
        spec.n_actions,
        spec.behaviour,
        spec.visitation,
        spec.n_swept,
        spec.n_heads,
        learner.numbers[STEP],
        learner.notes,
    )
