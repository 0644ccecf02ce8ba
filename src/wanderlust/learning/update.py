"""Learning from one transition: count it, remember it, move every table."""

from __future__ import annotations

from typing import Any

from wanderlust._numba.jit import compiled, compiled_for_rule, inlined
from wanderlust.learning.memory import count_visit, refresh_terminal_signals, remember
from wanderlust.learning.random_streams import REPLAY, below
from wanderlust.learning.replay import discard_batch, draw_batch, replay_heads, update_by_batch
from wanderlust.learning.state import (
    FULL,
    LARGEST,
    MAX_MOVES,
    N_MULTI,
    N_STATES,
    NO_MEMORY,
    POLICY_CHANGED,
    ROW_REWARD,
    STEP,
    TERMINAL,
    LearnerState,
    TableSpec,
)
from wanderlust.learning.sweep import sweep
from wanderlust.learning.td import best_action_value, moved_with_prior, outcome_target

# How to learn; see `update_mode`.
BY_SWEEPS, IN_ANY_WAY = None, True
UpdateMode = bool | None


def update_mode(spec: TableSpec) -> UpdateMode:
    """Return how to learn: `IN_ANY_WAY`, or only `BY_SWEEPS` where there is no ensemble and the memory is whole.

    Both do the same where the latter serves. But machine code for minibatches, or for no memory at all, need not be
    made then, which is a quarter of the time of the first compilation: numba leaves out what comes under a condition
    that is false for an argument that is None.
    """
    return BY_SWEEPS if spec.memory == FULL and spec.n_heads == 0 else IN_ANY_WAY


@inlined
def learn(
    rule: Any, state: int, action: int, reward: float, following: int, learner: LearnerState, spec: TableSpec, mode: UpdateMode
) -> None:
    """Learn from one transition; `following` is `TERMINAL` if it was terminal."""
    larger = count_visit(state, action, learner, spec)
    if mode is None:
        remember_and_refresh(rule, state, action, reward, following, larger, learner, spec)
        sweep_all(learner, spec)
    else:
        learn_in_any_way(rule, state, action, reward, following, larger, learner, spec)
    learner.numbers[STEP] += 1


@inlined
def remember_and_refresh(
    rule: Any, state: int, action: int, reward: float, following: int, larger: bool, learner: LearnerState, spec: TableSpec
) -> None:
    """Store a transition, and bring up to date what depends on it or on the largest count."""
    remember(rule, state, action, reward, following, learner, spec)
    if spec.largest_matters and larger:
        refresh_terminal_signals(rule, learner, spec)


@compiled
def sweep_all(learner: LearnerState, spec: TableSpec) -> None:
    """Move every table but the heads by all that is remembered."""
    for _ in range(n_sweeps(learner, spec)):
        for table in range(0 if spec.learns_q else 1, spec.n_swept):
            sweep(table, learner, spec)


@inlined
def n_sweeps(learner: LearnerState, spec: TableSpec) -> int:
    """Return how many sweeps this step takes.

    One where chance has been met: an outcome seen once is no more than a hint, and to follow it to the end leads
    astray.
    """
    if spec.sweeps == 1 or learner.numbers[N_MULTI] > 0:
        return 1
    n_pairs = learner.numbers[N_STATES] * spec.n_actions
    # Compared, not max and min of them: those take longer to compile than all else here.
    if spec.sweeps * n_pairs <= MAX_MOVES:
        return spec.sweeps
    most: int = MAX_MOVES // n_pairs
    return most if most > 1 else 1


@inlined
def learn_in_any_way(
    rule: Any, state: int, action: int, reward: float, following: int, larger: bool, learner: LearnerState, spec: TableSpec
) -> None:
    """Learn from a transition that has been counted, with any memory and any tables."""
    if spec.memory == NO_MEMORY:
        learn_at_once(rule, state, action, reward, following, learner, spec)
        return
    remember_and_refresh(rule, state, action, reward, following, larger, learner, spec)
    if spec.memory == FULL or spec.n_heads > 0:
        sweep_all(learner, spec)
    else:
        n_drawn = draw_batch(learner, spec)
        for table in range(0 if spec.learns_q else 1, spec.n_swept):
            update_by_batch(table, n_drawn, 0.0, learner, spec)
        discard_batch(n_drawn, learner)
    if spec.n_heads > 0:
        replay_heads(learner, spec)


@compiled_for_rule
def learn_at_once(rule: Any, state: int, action: int, reward: float, following: int, learner: LearnerState, spec: TableSpec) -> None:
    """Move every table by the current transition alone; of an ensemble, one head drawn at random."""
    pair = state * spec.n_actions + action
    lucky_head = spec.n_swept + below(learner.streams, REPLAY, spec.n_heads) if spec.n_heads > 0 else TERMINAL
    visits = learner.visits[pair]
    total = 0
    for other in range(state * spec.n_actions, (state + 1) * spec.n_actions):
        total += learner.visits[other]
    for table in range(0 if spec.learns_q else 1, spec.n_swept + spec.n_heads):
        if table >= spec.n_swept and table != lucky_head:
            continue
        signal = spec.signal[table]
        table_reward = reward
        if signal != ROW_REWARD and signal == spec.bonus_row:
            table_reward = reward + rule.bonus(visits)
        elif signal != ROW_REWARD and following == TERMINAL:
            table_reward = rule.terminal_visitation_reward(visits, total, learner.numbers[LARGEST])
        elif signal != ROW_REWARD:
            table_reward = rule.visitation_reward(visits, total, learner.numbers[LARGEST])
        values, best = learner.values[table], learner.best[table]
        target = outcome_target(table_reward, spec.discount[table], best[following])
        prior_weight = spec.prior_weight if table >= spec.n_swept else 0.0
        values[pair] = moved_with_prior(values[pair], target, spec.learning_rate, prior_weight)
        best[state] = best_action_value(values, state, spec.n_actions, spec.minimise[table])
    learner.numbers[POLICY_CHANGED] = 1
