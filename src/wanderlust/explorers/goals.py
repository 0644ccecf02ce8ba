"""Exploration by going to the least visited pair: directed exploration with successor functions."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_number
from wanderlust.explorers.formulas import doubled
from wanderlust.explorers.protocol import ExtraTables, OwnTables, Problem
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.learning.model import Model, Transition
from wanderlust.learning.planned import EXACT, mark, plan
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.spec import Floats

GOAL, N_PAIRS, EXPLORES = 0, 1, 2
"""Notes: the goal as the index of a pair (0 if there is none), the pairs when it was chosen, whether to go there."""


@register_explorer("goal-directed")
class GoalDirected(NamedTuple):
    """To the least visited pair, by a successor function, while ln t / n is large; then greedy (Parisi et al. 2024)."""

    threshold: float
    discount: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        threshold: Annotated[float, "β: it goes to the least visited pair while ln t / n exceeds it."] = 0.01,
    ) -> GoalDirected:
        """Check β."""
        return cls(check_number("threshold", threshold, low=0, open_low=True), problem.discount)

    def extra_tables(self) -> ExtraTables:
        """Return the successor function of the current goal; the Q-table is that of the target policy."""
        return ExtraTables(own=OwnTables(initial=(0.0,), is_q=False))

    def backup(self, model: Model, pair: int) -> float:
        """S(s, a | g) = 1 if (s, a) is the goal, otherwise γ P̂ max S(s', · | g); 0 if it is untried."""
        if pair == model.notes()[GOAL]:
            return 1.0
        return self.discount * model.next_mean(pair) if model.n(pair) > 0 else 0.0

    def learn_tables(self, model: Model, transition: Transition, random: Streams) -> None:
        """Choose the least visited pair as the goal; plan if it is another one, or if a visit count has doubled."""
        notes = model.notes()
        mark(model, transition.state)
        is_new = False
        # Counts only increase, so the least visited pair changes only if it was visited or a new state was discovered.
        if notes[GOAL] == 0 or notes[GOAL] == transition.pair or notes[N_PAIRS] != model.end_pair():
            is_new = self.choose_goal(model)
        if is_new or doubled(model.n(transition.pair)):
            plan(self, model, EXACT, False)
        least = model.n(model.visited_pair(notes[GOAL]))
        notes[EXPLORES] = least == 0 or math.log(model.step() + 1.0) > self.threshold * least

    def choose_goal(self, model: Model) -> bool:
        """Make the least visited pair the goal, of several the first; return whether it is another one."""
        notes, goal = model.notes(), model.first_pair()
        for pair in range(model.first_pair(), model.end_pair()):
            if model.n(pair) < model.n(goal):
                goal = pair
        notes[N_PAIRS] = model.end_pair()
        if goal == notes[GOAL]:
            return False
        notes[GOAL] = goal
        # From zero, values only increase. Those of another goal would decrease slowly, by γ with every cycle.
        for pair in range(model.first_pair(), model.end_pair()):
            model.set_value(0, pair, 0.0)
        mark(model, goal // model.spec.n_actions)
        return True

    def score(self, view: View, scores: Floats) -> None:
        """S(s, a | g) if it goes to the goal, otherwise Q."""
        for action in range(view.n_actions):
            scores[action] = view.own(0, action) if view.notes[EXPLORES] != 0.0 else view.q(action)
