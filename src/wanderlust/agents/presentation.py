"""What an agent shows: why it chooses an action (Q, visits, W and the exploration term), its summary, its maps.

The functions with a parameter `self` are methods of `Agent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust._numba.jit import by_pointer, call_none, entry
from wanderlust.agents.masks import MaskedView, excluded_actions
from wanderlust.core.errors import InvalidSetting, check_choice, counted
from wanderlust.core.mdp import FloatArray
from wanderlust.learning.hooks import Hooks, choose_action
from wanderlust.learning.state import TERMINAL, LearnerState
from wanderlust.learning.td import NO_SIGNAL, TARGET, Floats, TableSpec
from wanderlust.worlds import World, as_world
from wanderlust.worlds.action_values import action_values_figure
from wanderlust.worlds.base import Layout
from wanderlust.worlds.drawing import figure_html, text_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wanderlust.agents.agent import Agent


@dataclass(frozen=True)
class ActionReason:
    """The values of one action."""

    action: int
    name: str
    """The name of the action, "" if it is unknown."""
    q: float
    """The behaviour's Q-value; -∞ for an action that was never valid."""
    visits: int
    """n(s, a), its visit count."""
    w: float | None
    """W(s, a), if the explorer learns it."""
    bonus: float
    """The exploration term κ U that the explorer adds to Q."""
    score: float
    """Q plus the exploration term."""
    chosen: bool
    greedy: bool
    """Whether the greedy policy, that of `predict` and `evaluate`, takes it; several with equal probability."""


@dataclass(frozen=True)
class Explanation:
    """The action that an explorer chooses in a state, and the values of all actions."""

    state: int
    actions: tuple[ActionReason, ...]
    chosen: int
    reason: str
    """'exploit': also the greedy action by Q. 'explore': the exploration term decided. 'tie': drawn at random from
    several equal scores. 'random': not one of the largest scores, drawn at random."""

    def __str__(self) -> str:
        names = [f"{a.action} {a.name}".rstrip() for a in self.actions]
        width = max(6, *map(len, names))
        lines = [f"state {self.state}: action {names[self.chosen]} ({self.reason})", ""]
        lines.append(f"{'action':>{width}} {'Q':>12} {'visits':>7} {'W':>12} {'bonus':>12} {'score':>12}  greedy")
        for name, a in zip(names, self.actions, strict=True):
            w = "-" if a.w is None else f"{a.w:.6g}"
            values = f"{name:>{width}} {a.q:>12.6g} {a.visits:>7} {w:>12} {a.bonus:>12.6g} {a.score:>12.6g}"
            lines.append(f"{values}  {'yes' if a.greedy else '':6}{'  <-' if a.chosen else ''}".rstrip())
        return "\n".join(lines)


@entry
def choose(hooks: Hooks, learner: LearnerState, spec: TableSpec, state: int) -> int:
    """Return the explorer's action in a state, by its index."""
    return choose_action(hooks, state, learner, spec)


@entry
def _write_scores(address: Any, explorer: Any, learner: LearnerState, spec: TableSpec, scores: Any) -> None:
    """Write the scores of states, by their index: [state, action]."""
    for state in range(len(scores)):
        call_none(address, explorer, learner, spec, state, scores[state])


def _scratch_copy(learner: LearnerState) -> LearnerState:
    """Return the learner with copies of everything that choosing an action changes."""
    return learner._replace(
        notes=learner.notes.copy(), streams=learner.streams.copy(), scores=np.zeros_like(learner.scores)
    )


def scores(self: Agent) -> Floats:
    """Return the explorer's score of every action in every state, [state, action]; the agent is not changed."""
    hooks, learner, spec = self.hooks, self.learner, self.spec
    written: Floats = np.zeros((len(learner.visits) // spec.n_actions, spec.n_actions))
    _write_scores(hooks.score, hooks.explorer, by_pointer(_scratch_copy(learner)), by_pointer(spec), written)
    return written[self.state_index]


def explain(self: Agent, state: int) -> Explanation:
    """Return the explorer's choice in a state and its reasons; the agent is not changed."""
    state = self._checked_state(state, "state")
    hooks, learner, spec, names = self.hooks, self.learner, self.spec, self.action_names
    index = int(self.state_index[state])
    copy = _scratch_copy(learner)
    if index == TERMINAL:
        # Never visited: show its initial values, not the zeros of the terminal state.
        copy = copy._replace(values=np.repeat(spec.initial, spec.n_actions).reshape(-1, spec.n_actions))
    first, n_actions = index * spec.n_actions, spec.n_actions
    pointers = by_pointer(copy), by_pointer(spec)
    is_excluded = excluded_actions(index, copy, spec)
    if is_excluded.any():
        valid = np.flatnonzero(~is_excluded)
        view = MaskedView.of(copy, spec, len(valid))
        view.show(index, valid, copy, n_actions)
        chosen = int(valid[choose(hooks.pointer, view.learner, view.spec, 0)])
    else:
        chosen = int(choose(hooks.pointer, *pointers, index))
    # After the choice: the scores of an ensemble are those of the head that the choice has drawn.
    all_scores = np.zeros((index + 1, n_actions))
    _write_scores(hooks.score, hooks.explorer, *pointers, all_scores)
    scores = np.where(is_excluded, -np.inf, all_scores[index])
    pairs = slice(first, first + n_actions)
    # The heads of an ensemble explore by their differences; nothing is added to the Q-values of any one of them.
    q = np.where(is_excluded, -np.inf, scores if spec.n_heads else copy.values[spec.behaviour, pairs])
    best = np.flatnonzero(scores == scores.max())
    if chosen not in best:
        reason = "random"
    elif len(best) > 1:
        reason = "tie"
    else:
        reason = "exploit" if q[chosen] == q.max() else "explore"
    w, target = np.where(is_excluded, np.nan, copy.values[spec.visitation, pairs]), copy.values[TARGET, pairs]
    return Explanation(
        state=state,
        chosen=chosen,
        reason=reason,
        actions=tuple(
            ActionReason(
                action=a,
                name=names[a] if names else "",
                q=float(q[a]),
                visits=int(copy.visits[first + a]),
                w=float(w[a]) if spec.visitation_signal != NO_SIGNAL else None,
                bonus=0.0 if is_excluded[a] else float(scores[a] - q[a]),
                score=float(scores[a]),
                chosen=a == chosen,
                greedy=bool(target[a] == target.max()),
            )
            for a in range(n_actions)
        ),
    )


PLOTS = {"Q": "target", "W": "visitation", "behaviour": "behaviour", "visits": "visits"}
"""What `Agent.plot` draws, and the name of its table."""


def text(self: Agent) -> str:
    """Return a summary of an agent in a few lines."""
    low, high = self.reward_range
    name = (self.environment or {}).get("name")
    trained = f"{counted(self.steps, 'step')}{f' in {name}' if name else ''}"
    n_states = f" of {self.n_states:,}" if self.n_states is not None else ""
    actions = "" if self.action_names is None else f" ({', '.join(self.action_names)})"
    return "\n".join(
        [
            f"Agent: {self.explorer}, {trained}, seed {self.seed}",
            f"{self.discovered:,}{n_states} states visited, {counted(self.n_actions, 'action')}{actions}",
            f"rewards from {low:g} to {high:g}, discount {self.settings.discount:g}, tables {', '.join(self.tables)}",
        ]
    )


def short_text(self: Agent) -> str:
    """Return the first line of the summary."""
    return f"<{text(self).splitlines()[0]}>"


def html(self: Agent) -> str:
    """Return the summary, and W (or Q) on the map if there is one."""
    what = "W" if "visitation" in self.tables else "Q"
    try:
        return figure_html(plot(self, what), text(self))
    except InvalidSetting:  # No map, or one that does not fit.
        return text_html(text(self))


def plot(self: Agent, what: str = "W", *, world: World | str | None = None) -> Figure:
    """Return a matplotlib figure of "W", "Q", "behaviour" (its Q-table) or "visits" on the map of the world.

    Each cell has a triangle for each of the actions left, right, up and down; arrows show the best actions.
    `world` gives the map of an agent that has none, such as one that was trained in a user-defined loop.
    """
    check_choice("what", what, PLOTS)
    layout, names = _map_of(self, world)
    tables = self.tables | {"visits": self.visits.astype(np.float64)}
    if PLOTS[what] not in tables:
        drawn = ", ".join(repr(each) for each, table in PLOTS.items() if table in tables)
        raise InvalidSetting(f"explorer {self.explorer!r} does not learn {what}; plot {drawn}.")
    values = _by_state(tables[PLOTS[what]], len(layout.row))
    visited = _by_state(tables["visits"], len(layout.row)).sum(axis=1) > 0
    values[~visited] = np.nan
    values[~np.isfinite(values)] = np.nan  # Invalid actions.
    visitation = self.configured_explorer.extra_tables().visitation
    return action_values_figure(
        f"{what}, {self.explorer}, {self.steps:,} steps",
        values,
        layout,
        names,
        minimise=what == "W" and visitation is not None and visitation.minimise,
        counts=what == "visits",
    )


def _map_of(agent: Agent, world: World | str | None) -> tuple[Layout, tuple[str, ...]]:
    """Return the map and the action names of a world, by default those of the agent."""
    if world is None:
        layout, names = agent.layout, agent.action_names
        hint = "give its world: world=wl.make_world(...) or world=wl.world_from_gym(...)"
    else:
        world = as_world(world)
        layout, names = world.layout, world.action_names
        hint = f"world {world.name!r} has none"
        if world.n_actions != agent.n_actions:
            raise InvalidSetting(f"world {world.name!r} has {world.n_actions} actions, the agent {agent.n_actions}.")
    if layout is None or names is None:
        raise InvalidSetting(f"a plot needs the map of the agent's environment; {hint}.")
    return layout, names


def _by_state(table: FloatArray, n_states: int) -> FloatArray:
    """Return the first rows of a table, with NaN for states that it does not have."""
    values = np.full((n_states, table.shape[1]), np.nan)
    values[: len(table)] = table[:n_states]
    return values
