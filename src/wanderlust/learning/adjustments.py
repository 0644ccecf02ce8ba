"""Second thoughts: what changes in a learner when it is not experience but the view of it that has changed."""

from __future__ import annotations

import numpy as np

from wanderlust._numba.jit import as_int64, compiled, entry, formula
from wanderlust.learning.memory import activate_everywhere, reflect
from wanderlust.learning.state import (
    N_STATES,
    N_WORK,
    NONE,
    ROW_INTO,
    ROW_PAIR,
    ROW_REWARD,
    ROW_STATE,
    TERMINAL,
    Ints,
    LearnerState,
    TableSpec,
)
from wanderlust.learning.sweep import activate
from wanderlust.learning.td import best_action_value


def reinitialise_untried(learner: LearnerState, spec: TableSpec, before: TableSpec) -> None:
    """Give pairs that were never tried the initial values of another spec, where that differs from the one before.

    Every state is looked at again where values are discounted otherwise than before.
    """
    n_pairs = learner.room * spec.n_actions
    untried = learner.visits[:n_pairs] == 0
    untried[: spec.n_actions] = False
    learner.converged[:] = 0
    for table in np.flatnonzero(spec.initial != before.initial):
        values, sweep_reward = learner.values[table, :n_pairs], learner.sweep_reward[: table + 1, :n_pairs]
        values[untried] += spec.initial[table] - before.initial[table]
        if table < spec.n_swept:
            # Not by adding: where W starts is the next number above a bound, and must be that very number.
            values[untried] = sweep_reward[table, untried] = spec.initial[table]
        by_state = values.reshape(-1, spec.n_actions)
        learner.best[table, : learner.room] = by_state.min(axis=1) if spec.minimise[table] else by_state.max(axis=1)
    changed = (spec.initial != before.initial) | (spec.discount != before.discount)
    for table in np.flatnonzero(changed[: spec.n_swept]):
        look_at_all(int(table), learner)


def look_at_all(table: int, learner: LearnerState) -> None:
    """Put every state on a table's work list."""
    n_states = learner.numbers[N_STATES]
    learner.flags[table, 1 : n_states + 1] = 1
    learner.work[table, :n_states] = np.arange(1, n_states + 1)
    learner.pace[table, N_WORK] = n_states


@entry
def replace_terminal_rewards(learner: LearnerState, spec: TableSpec, reward: float) -> None:
    """Let every end of an episode that was paid something above zero have been paid this."""
    learner.converged[:] = 0
    row = learner.into[TERMINAL]
    while row != NONE:
        paid = learner.row_floats[ROW_REWARD, row]
        if paid > 0.0:
            learner.row_floats[ROW_REWARD, row] = reward
            if spec.bonus_row > 0:
                learner.row_floats[spec.bonus_row, row] += reward - paid
            reflect(as_int64(learner.row_ints[ROW_PAIR, row]), learner, spec)
            activate_everywhere(learner.row_ints[ROW_STATE, row], learner, spec)
        row = learner.row_ints[ROW_INTO, row]


@entry
def defer_idle_actions(
    learner: LearnerState, spec: TableSpec, state: int, action: int, following: int, idle: bool, counts: Ints, detour: int
) -> None:
    """Count whether an action did anything, if that was its first try in a state; then temper W there and thereafter.

    `counts` are visits and idle visits by action. `following` is `TERMINAL` if the episode is over.
    """
    if learner.visits[state * spec.n_actions + action] == 1:
        counts[0, action] += 1
        counts[1, action] += idle
    temper(state, counts, detour, learner, spec)
    if following != TERMINAL and following != state:
        temper(following, counts, detour, learner, spec)


@compiled
def temper(state: int, counts: Ints, detour: int, learner: LearnerState, spec: TableSpec) -> None:
    """Let W of a state's untried actions start the lower the more often they were idle elsewhere."""
    table, first = spec.visitation, state * spec.n_actions
    values, changed = learner.values[table], False
    for action in range(spec.n_actions):
        pair = first + action
        if learner.visits[pair] == 0:
            start = idle_start(spec.initial[table], spec.discount[table], detour, counts[0, action], counts[1, action])
            changed = changed or start != values[pair]
            values[pair] = learner.sweep_reward[table, pair] = start
    if not changed:
        return
    best = best_action_value(values, state, spec.n_actions, spec.minimise[table])
    if best != learner.best[table, state]:
        learner.best[table, state] = best
        row = learner.into[state]
        while row != NONE:
            activate(learner.row_ints[ROW_STATE, row], table, learner)
            row = learner.row_ints[ROW_INTO, row]


@formula
def idle_start(initial: float, discount: float, detour: int, tried: int, idle: int) -> float:
    """Return γ_w^(k · share of idle visits) of W's initial value, as if an idle action were k steps away.

    The share has one try in it that did something, so that an action is not given up after the first.
    """
    return initial * float(discount ** (detour * (idle / (tried + 1.0))))
