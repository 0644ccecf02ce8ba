"""What an explorer sees of the learner when it chooses an action in a state."""

from __future__ import annotations

from typing import NamedTuple

from wanderlust._numba.jit import inlined
from wanderlust._numba.methods import with_methods
from wanderlust.learning.signals import total_visits
from wanderlust.learning.spec import Floats, Ints, TableSpec
from wanderlust.learning.state import LearnerState


@with_methods
class View(NamedTuple):
    """Values and visit counts of one state, the step, and the numbers that the explorer keeps between steps.

    An explorer uses `q(action)`, `w(action)`, `n(action)`, `total()`, `head(head, action)`, `n_actions`, `n_heads`,
    `step` and `notes`; the other fields are where these are found.
    """

    values: Floats
    visits: Ints
    first_pair: int
    n_actions: int
    """The number of actions."""
    behaviour: int
    visitation: int
    first_head: int
    n_heads: int
    step: int
    """The number of steps so far."""
    notes: Floats
    """Eight numbers that the explorer may write; they are saved with the agent."""

    def q(self, action: int) -> float:
        """Return Q(s, a) of the behaviour: with a bonus it includes that, otherwise it is the target's Q(s, a)."""
        return self.values[self.behaviour, self.first_pair + action]  # type: ignore[no-any-return]

    def w(self, action: int) -> float:
        """Return W(s, a), the visitation value, if `extra_tables` asks for it."""
        return self.values[self.visitation, self.first_pair + action]  # type: ignore[no-any-return]

    def head(self, head: int, action: int) -> float:
        """Return Q(s, a) of one head of the ensemble."""
        return self.values[self.first_head + head, self.first_pair + action]  # type: ignore[no-any-return]

    def own(self, number: int, action: int) -> float:
        """Return the value of an action in one of the explorer's own tables."""
        return self.values[self.first_head + number, self.first_pair + action]  # type: ignore[no-any-return]

    def n(self, action: int) -> int:
        """Return the visit count of an action; 0 if it was never taken."""
        return self.visits[self.first_pair + action]  # type: ignore[no-any-return]

    def total(self) -> int:
        """Return Σ_a n(s, a), the visit count of the state."""
        return total_visits(self.visits, self.first_pair, self.n_actions)


@inlined
def view_of(state: int, learner: LearnerState, spec: TableSpec) -> View:
    """Return the view of a state, by its index."""
    return View(
        learner.values,
        learner.visits,
        state * spec.n_actions,
        spec.n_actions,
        spec.behaviour,
        spec.visitation,
        spec.n_swept,
        spec.n_heads,
        learner.counters.step,
        learner.notes,
    )
