"""Why an explorer does what it does in a state: Q, counts, W and the exploration term of every action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wanderlust._numba.jit import announce, by_reference, compiled_now, kernel
from wanderlust.explorers.protocol import ExplorerBox
from wanderlust.explorers.view import View, view_of
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.state import STEP, Floats, LearnerState, TableSpec


@dataclass(frozen=True)
class ActionReason:
    """What speaks for one action."""

    action: int
    q: float
    """The behaviour's Q-value."""
    count: int
    """How often it was tried here."""
    w: float | None
    """Its visitation value, if the explorer learns one."""
    bonus: float
    """The exploration term κ U: what the explorer adds to Q."""
    score: float
    """Q plus the exploration term: what is compared."""
    chosen: bool


@dataclass(frozen=True)
class Explanation:
    """What an explorer would do in a state now, and why."""

    state: int
    actions: tuple[ActionReason, ...]
    chosen: int
    reason: str
    """'exploit': the best by Q too. 'explore': the exploration term decided. 'tie': one of several equal scores,
    drawn at
    random. 'chance': not one of the best scores at all, drawn at random."""

    def __str__(self) -> str:
        lines = [f"state {self.state}: action {self.chosen} ({self.reason})", ""]
        lines.append(f"{'action':>6} {'Q':>12} {'count':>7} {'W':>12} {'bonus':>12} {'sum':>12}")
        for a in self.actions:
            w = "-" if a.w is None else f"{a.w:.6g}"
            mark = "  <-" if a.chosen else ""
            lines.append(f"{a.action:>6} {a.q:>12.6g} {a.count:>7} {w:>12} {a.bonus:>12.6g} {a.score:>12.6g}{mark}")
        return "\n".join(lines)


def _preview(ruled: ExplorerBox, view: View, scores: Floats, streams: Streams) -> int:
    """Return the choice that would be made, and fill in the scores."""
    rule = ruled.rule
    chosen = rule.choose(view, scores, streams)
    rule.score(view, scores)
    return chosen  # type: ignore[no-any-return]


def _write_best_scores(ruled: ExplorerBox, learner: LearnerState, spec: TableSpec, scores: Floats, best: Floats) -> None:
    """Write the best score of every state, by its number."""
    rule = ruled.rule
    for number in range(len(best)):
        rule.score(view_of(number, learner, spec), scores)
        best[number] = scores.max()


_preview_for = kernel(_preview)
_best_scores_for = kernel(_write_best_scores)


def best_scores(rule: Any, learner: LearnerState, spec: TableSpec) -> Floats:
    """Return the best score of every state, by its number; nothing is changed by looking."""
    copy = learner._replace(notes=learner.notes.copy())
    best: Floats = np.zeros(len(learner.visits) // spec.n_actions)
    compiling = announce(type(rule), "scores")
    write = _best_scores_for(type(rule))
    write(by_reference(ExplorerBox(rule)), by_reference(copy), by_reference(spec), np.zeros(spec.n_actions), best)
    if compiling:
        compiled_now(type(rule), "scores")
    return best


def explain(rule: Any, number: int, state: int, learner: LearnerState, spec: TableSpec) -> Explanation:
    """Return the explanation for a state that is known by `number`, with copies of all that choosing changes."""
    first, n_actions = number * spec.n_actions, spec.n_actions
    values = learner.values
    if number == 0:
        # Never met: show what it will start with, not the zeros that stand for the end of an episode.
        values = np.repeat(spec.initial, n_actions).reshape(-1, n_actions)
    view = View(
        values,
        learner.visits,
        first,
        n_actions,
        spec.behaviour,
        spec.visitation,
        spec.n_swept,
        spec.n_heads,
        int(learner.numbers[STEP]),
        learner.notes.copy(),
    )
    scores: Floats = np.zeros(n_actions)
    chosen = int(_preview_for(type(rule))(by_reference(ExplorerBox(rule)), view, scores, learner.streams.copy()))
    # An ensemble explores by the spread of its tables; it adds nothing to the Q-values of any one of them.
    q = scores.copy() if spec.n_heads else np.array([view.q(a) for a in range(n_actions)])
    best = np.flatnonzero(scores == scores.max())
    if chosen not in best:
        reason = "chance"
    elif len(best) > 1:
        reason = "tie"
    else:
        reason = "exploit" if q[chosen] == q.max() else "explore"
    return Explanation(
        state=state,
        chosen=chosen,
        reason=reason,
        actions=tuple(
            ActionReason(
                action=a,
                q=float(q[a]),
                count=int(view.n(a)),
                w=float(view.w(a)) if spec.visit_row > 0 else None,
                bonus=float(scores[a] - q[a]),
                score=float(scores[a]),
                chosen=a == chosen,
            )
            for a in range(n_actions)
        ),
    )
