"""Second thoughts: what changes in a mind when it is not experience but the view of it that has changed."""

from __future__ import annotations

import numpy as np

from wanderlust.compiled import compiled, entry, formula, wide
from wanderlust.learning.experience import activate_everywhere, reflect
from wanderlust.learning.mind import (
    END,
    N_STATES,
    N_WORK,
    NONE,
    ROW_INTO,
    ROW_PAIR,
    ROW_REWARD,
    ROW_STATE,
    Ints,
    Mind,
    Plan,
)
from wanderlust.learning.sweep import activate
from wanderlust.learning.update import best_action_value


def replant(mind: Mind, plan: Plan, before: Plan) -> None:
    """Give pairs that were never tried the initial values of another plan, where that differs from the one before.

    Every state is looked at again where values are discounted otherwise than before.
    """
    n_pairs = mind.room * plan.n_actions
    untried = mind.tries[:n_pairs] == 0
    untried[: plan.n_actions] = False
    mind.asleep[:] = 0
    for table in np.flatnonzero(plan.initial != before.initial):
        values, mirror = mind.values[table, :n_pairs], mind.mirror[: table + 1, :n_pairs]
        values[untried] += plan.initial[table] - before.initial[table]
        if table < plan.n_swept:
            # Not by adding: where W starts is the next number above a bound, and must be that very number.
            values[untried] = mirror[table, untried] = plan.initial[table]
        by_state = values.reshape(-1, plan.n_actions)
        mind.best[table, : mind.room] = by_state.min(axis=1) if plan.minimise[table] else by_state.max(axis=1)
    changed = (plan.initial != before.initial) | (plan.discount != before.discount)
    for table in np.flatnonzero(changed[: plan.n_swept]):
        look_at_all(int(table), mind)


def look_at_all(table: int, mind: Mind) -> None:
    """Put every state on a table's work list."""
    n_states = mind.numbers[N_STATES]
    mind.flags[table, 1 : n_states + 1] = 1
    mind.work[table, :n_states] = np.arange(1, n_states + 1)
    mind.pace[table, N_WORK] = n_states


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
def let_idle_wait(
    mind: Mind, plan: Plan, state: int, action: int, following: int, idle: bool, counts: Ints, detour: int
) -> None:
    """Count whether an action did anything, if that was its first try in a state; then temper W there and thereafter.

    `counts` are tries and idle tries by action. `following` is `END` if the episode is over.
    """
    if mind.tries[state * plan.n_actions + action] == 1:
        counts[0, action] += 1
        counts[1, action] += idle
    temper(state, counts, detour, mind, plan)
    if following != END and following != state:
        temper(following, counts, detour, mind, plan)


@compiled
def temper(state: int, counts: Ints, detour: int, mind: Mind, plan: Plan) -> None:
    """Let W of a state's untried actions start the lower the more often they were idle elsewhere."""
    table, first = plan.visitation, state * plan.n_actions
    values, changed = mind.values[table], False
    for action in range(plan.n_actions):
        pair = first + action
        if mind.tries[pair] == 0:
            start = idle_start(plan.initial[table], plan.discount[table], detour, counts[0, action], counts[1, action])
            changed = changed or start != values[pair]
            values[pair] = mind.mirror[table, pair] = start
    if not changed:
        return
    best = best_action_value(values, state, plan.n_actions, plan.minimise[table])
    if best != mind.best[table, state]:
        mind.best[table, state] = best
        row = mind.into[state]
        while row != NONE:
            activate(mind.row_ints[ROW_STATE, row], table, mind)
            row = mind.row_ints[ROW_INTO, row]


@formula
def idle_start(initial: float, discount: float, detour: int, tried: int, idle: int) -> float:
    """Return γ_w^(k · share of idle tries) of W's initial value, as if an idle action were k steps away.

    The share has one try in it that did something, so that an action is not given up after the first.
    """
    return initial * float(discount ** (detour * (idle / (tried + 1.0))))
