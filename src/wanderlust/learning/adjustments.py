"""Changes of a learner that do not come from a transition: other settings, or rewards that are read differently."""

from __future__ import annotations

import numpy as np

from wanderlust._numba.jit import as_int64, compiled, entry, formula
from wanderlust.learning.memory import activate_in_all_tables, update_sweep_inputs
from wanderlust.learning.spec import NO_SIGNAL, REWARD, Ints, TableSpec
from wanderlust.learning.state import NONE, TERMINAL, LearnerState
from wanderlust.learning.sweep import activate
from wanderlust.learning.td import best_action_value


def reinitialise_untried(learner: LearnerState, spec: TableSpec, before: TableSpec) -> None:
    """Give pairs that were never tried the initial values of another spec, where they differ.

    All states become active in the tables whose initial values or discount changed.
    """
    n_states = int(learner.counters.n_initialised)
    n_pairs = n_states * spec.n_actions
    untried = learner.visits[:n_pairs] == 0
    untried[: spec.n_actions] = False
    learner.converged[:] = 0
    for table in np.flatnonzero(spec.initial != before.initial):
        values, sweep_reward = learner.values[table, :n_pairs], learner.sweep_reward[: table + 1, :n_pairs]
        values[untried] += spec.initial[table] - before.initial[table]
        if table < spec.n_swept:
            # Assigned, not added: the initial W is the next number above a bound, and must be exactly that number.
            values[untried] = sweep_reward[table, untried] = spec.initial[table]
        by_state = values.reshape(-1, spec.n_actions)
        best = by_state.min(axis=1) if spec.minimise[table] else by_state.max(axis=1)
        learner.state_values[table, :n_states] = best
    changed = (spec.initial != before.initial) | (spec.discount != before.discount)
    for table in np.flatnonzero(changed[: spec.n_swept]):
        activate_all(int(table), learner)
    if spec.n_own:
        learner.flags[spec.n_swept + 1, 1 : learner.counters.n_states + 1] = 1


def activate_all(table: int, learner: LearnerState) -> None:
    """Add every state to the work list of a table."""
    n_states = learner.counters.n_states
    learner.flags[table, 1 : n_states + 1] = 1
    learner.work[table, :n_states] = np.arange(1, n_states + 1)
    learner.sweep_mode[table].n_active = n_states


@entry
def replace_terminal_rewards(learner: LearnerState, spec: TableSpec, reward: float) -> None:
    """Replace every positive mean reward of a terminal outcome by the given one."""
    outcomes = learner.outcomes
    learner.converged[:] = 0
    outcome = learner.first_into[TERMINAL]
    while outcome != NONE:
        received = outcomes.signals[REWARD, outcome]
        if received > 0.0:
            outcomes.signals[REWARD, outcome] = reward
            if spec.bonus_signal != NO_SIGNAL:
                outcomes.signals[spec.bonus_signal, outcome] += reward - received
            update_sweep_inputs(as_int64(outcomes.pair[outcome]), learner, spec)
            activate_in_all_tables(outcomes.state[outcome], learner, spec)
            if spec.n_own > 0:
                learner.flags[spec.n_swept + 1, outcomes.state[outcome]] = 1
        outcome = outcomes.next_into[outcome]


@entry
def defer_idle_actions(
    learner: LearnerState,
    spec: TableSpec,
    state: int,
    action: int,
    next_state: int,
    idle: bool,
    counts: Ints,
    delay: int,
) -> None:
    """Lower W of the untried actions of two states by how often these actions changed nothing elsewhere.

    `counts` are [first visits, idle first visits] by action. `next_state` may be `TERMINAL`.
    """
    if learner.visits[state * spec.n_actions + action] == 1:
        counts[0, action] += 1
        counts[1, action] += idle
    lower_untried(state, counts, delay, learner, spec)
    if next_state != TERMINAL and next_state != state:
        lower_untried(next_state, counts, delay, learner, spec)


@compiled
def lower_untried(state: int, counts: Ints, delay: int, learner: LearnerState, spec: TableSpec) -> None:
    """Set W of a state's untried actions to the initial value of `idle_initial_value`."""
    table, first = spec.visitation, state * spec.n_actions
    values, changed = learner.values[table], False
    for action in range(spec.n_actions):
        pair = first + action
        if learner.visits[pair] == 0:
            initial = idle_initial_value(
                spec.initial[table], spec.discount[table], delay, counts[0, action], counts[1, action]
            )
            changed = changed or initial != values[pair]
            values[pair] = learner.sweep_reward[table, pair] = initial
    if not changed:
        return
    best = best_action_value(values, state, spec.n_actions, spec.minimise[table])
    if best != learner.state_values[table, state]:
        learner.state_values[table, state] = best
        outcome = learner.first_into[state]
        while outcome != NONE:
            activate(learner.outcomes.state[outcome], table, learner)
            outcome = learner.outcomes.next_into[outcome]


@formula
def idle_initial_value(initial: float, discount: float, delay: int, n: int, n_idle: int) -> float:
    """Return γ_w^(k · share of idle visits) of the initial W, as if an idle action took k more steps.

    One visit that was not idle is added, so that an action is not discarded after its first visit.
    """
    return initial * float(discount ** (delay * (n_idle / (n + 1.0))))
