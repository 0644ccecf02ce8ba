"""Second thoughts: what changes in a mind when it is not experience but the view of it that has changed."""

from __future__ import annotations

import numpy as np

from wanderlust.compiled import entry
from wanderlust.learning.experience import activate_everywhere, reflect, wide
from wanderlust.learning.mind import (
    END,
    N_STATES,
    N_WORK,
    NONE,
    ROW_INTO,
    ROW_PAIR,
    ROW_REWARD,
    ROW_STATE,
    Floats,
    Mind,
    Plan,
)
from wanderlust.learning.sweep import activate
from wanderlust.learning.update import best_action_value


def replant(mind: Mind, plan: Plan, before: Plan) -> None:
    """Give pairs that were never tried the initial values of another plan, where that differs from the one before."""
    n_pairs, n_states = mind.room * plan.n_actions, mind.numbers[N_STATES]
    untried = mind.tries[:n_pairs] == 0
    untried[: plan.n_actions] = False
    mind.asleep[:] = 0
    for table in np.flatnonzero(plan.initial != before.initial):
        values, mirror = mind.values[table, :n_pairs], mind.mirror[: table + 1, :n_pairs]
        values[untried] += plan.initial[table] - before.initial[table]
        if table < plan.n_swept:
            # Not by adding: where W starts is the next number above a bound, and must be that very number.
            values[untried] = mirror[table, untried] = plan.initial[table]
            mind.flags[table, 1 : n_states + 1] = 1
            mind.work[table, :n_states] = np.arange(1, n_states + 1)
            mind.pace[table, N_WORK] = n_states
        by_state = values.reshape(-1, plan.n_actions)
        mind.best[table, : mind.room] = by_state.min(axis=1) if plan.minimise[table] else by_state.max(axis=1)


@entry
def repay_ends(mind: Mind, plan: Plan, reward: float) -> None:
    """Let every end of an episode that was paid something above zero have been paid this."""
    mind.asleep[:] = 0
    row = mind.into[END]
    while row != NONE:
        paid = mind.row_floats[ROW_REWARD, row]
        if paid > 0.0:
            mind.row_floats[ROW_REWARD, row] = reward
            if plan.bonus_row > 0:
                mind.row_floats[plan.bonus_row, row] += reward - paid
            reflect(wide(mind.row_ints[ROW_PAIR, row]), mind, plan)
            activate_everywhere(mind.row_ints[ROW_STATE, row], mind, plan)
        row = mind.row_ints[ROW_INTO, row]


@entry
def temper(mind: Mind, plan: Plan, state: int, starts: Floats) -> None:
    """Let W of a state's untried actions be what `starts` has for each action."""
    table, first = plan.visitation, state * plan.n_actions
    values = mind.values[table]
    for action in range(plan.n_actions):
        if mind.tries[first + action] == 0:
            values[first + action] = mind.mirror[table, first + action] = starts[action]
    best = best_action_value(values, state, plan.n_actions, plan.minimise[table])
    if best != mind.best[table, state]:
        mind.best[table, state] = best
        row = mind.into[state]
        while row != NONE:
            activate(mind.row_ints[ROW_STATE, row], table, mind)
            row = mind.row_ints[ROW_INTO, row]
