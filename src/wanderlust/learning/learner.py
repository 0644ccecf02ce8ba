"""Learning from one transition: count it, remember it, move every table."""

from __future__ import annotations

from typing import Any

from wanderlust.compiled import compiled, compiled_for_rule, inlined
from wanderlust.learning.experience import count_try, refresh_terminal_signals, remember
from wanderlust.learning.mind import (
    END,
    FULL,
    LARGEST,
    MOST_MOVES,
    N_MULTI,
    N_STATES,
    NO_MEMORY,
    POLICY_CHANGED,
    ROW_REWARD,
    STEP,
    Mind,
    Plan,
)
from wanderlust.learning.replay import discard_batch, draw_batch, replay_heads, update_by_batch
from wanderlust.learning.sweep import sweep
from wanderlust.learning.update import best_action_value, moved_with_prior, outcome_target
from wanderlust.streams import REPLAY, below

# How to learn; see `manner_of`.
BY_SWEEPS, IN_ANY_WAY = None, True
Manner = bool | None


def manner_of(plan: Plan) -> Manner:
    """Return how to learn: `IN_ANY_WAY`, or only `BY_SWEEPS` where there is no ensemble and the memory is whole.

    Both do the same where the latter serves. But machine code for minibatches, or for no memory at all, need not be
    made then, which is a quarter of the time of the first compilation: numba leaves out what comes under a condition
    that is false for an argument that is None.
    """
    return BY_SWEEPS if plan.memory == FULL and plan.n_heads == 0 else IN_ANY_WAY


@inlined
def learn(
    rule: Any, state: int, action: int, reward: float, following: int, mind: Mind, plan: Plan, manner: Manner
) -> None:
    """Learn from one transition; `following` is `END` if it was terminal."""
    larger = count_try(state, action, mind, plan)
    if manner is None:
        remember_and_refresh(rule, state, action, reward, following, larger, mind, plan)
        sweep_all(mind, plan)
    else:
        learn_in_any_way(rule, state, action, reward, following, larger, mind, plan)
    mind.numbers[STEP] += 1


@inlined
def remember_and_refresh(
    rule: Any, state: int, action: int, reward: float, following: int, larger: bool, mind: Mind, plan: Plan
) -> None:
    """Store a transition, and bring up to date what depends on it or on the largest count."""
    remember(rule, state, action, reward, following, mind, plan)
    if plan.largest_matters and larger:
        refresh_terminal_signals(rule, mind, plan)


@compiled
def sweep_all(mind: Mind, plan: Plan) -> None:
    """Move every table but the heads by all that is remembered."""
    for _ in range(n_sweeps(mind, plan)):
        for table in range(0 if plan.learns_q else 1, plan.n_swept):
            sweep(table, mind, plan)


@inlined
def n_sweeps(mind: Mind, plan: Plan) -> int:
    """Return how many sweeps this step takes.

    One where chance has been met: an outcome seen once is no more than a hint, and to follow it to the end leads
    astray.
    """
    if plan.sweeps == 1 or mind.numbers[N_MULTI] > 0:
        return 1
    n_pairs = mind.numbers[N_STATES] * plan.n_actions
    # Compared, not max and min of them: those take longer to compile than all else here.
    if plan.sweeps * n_pairs <= MOST_MOVES:
        return plan.sweeps
    most: int = MOST_MOVES // n_pairs
    return most if most > 1 else 1


@inlined
def learn_in_any_way(
    rule: Any, state: int, action: int, reward: float, following: int, larger: bool, mind: Mind, plan: Plan
) -> None:
    """Learn from a transition that has been counted, with any memory and any tables."""
    if plan.memory == NO_MEMORY:
        learn_at_once(rule, state, action, reward, following, mind, plan)
        return
    remember_and_refresh(rule, state, action, reward, following, larger, mind, plan)
    if plan.memory == FULL or plan.n_heads > 0:
        sweep_all(mind, plan)
    else:
        n_drawn = draw_batch(mind, plan)
        for table in range(0 if plan.learns_q else 1, plan.n_swept):
            update_by_batch(table, n_drawn, 0.0, mind, plan)
        discard_batch(n_drawn, mind)
    if plan.n_heads > 0:
        replay_heads(mind, plan)


@compiled_for_rule
def learn_at_once(rule: Any, state: int, action: int, reward: float, following: int, mind: Mind, plan: Plan) -> None:
    """Move every table by the current transition alone; of an ensemble, one head drawn at random."""
    pair = state * plan.n_actions + action
    lucky_head = plan.n_swept + below(mind.streams, REPLAY, plan.n_heads) if plan.n_heads > 0 else END
    tries = mind.tries[pair]
    total = 0
    for other in range(state * plan.n_actions, (state + 1) * plan.n_actions):
        total += mind.tries[other]
    for table in range(0 if plan.learns_q else 1, plan.n_swept + plan.n_heads):
        if table >= plan.n_swept and table != lucky_head:
            continue
        signal = plan.signal[table]
        table_reward = reward
        if signal != ROW_REWARD and signal == plan.bonus_row:
            table_reward = reward + rule.bonus(tries)
        elif signal != ROW_REWARD and following == END:
            table_reward = rule.terminal_visit_reward(tries, total, mind.numbers[LARGEST])
        elif signal != ROW_REWARD:
            table_reward = rule.visit_reward(tries, total, mind.numbers[LARGEST])
        values, best = mind.values[table], mind.best[table]
        target = outcome_target(table_reward, plan.discount[table], best[following])
        prior_weight = plan.prior_weight if table >= plan.n_swept else 0.0
        values[pair] = moved_with_prior(values[pair], target, plan.learning_rate, prior_weight)
        best[state] = best_action_value(values, state, plan.n_actions, plan.minimise[table])
    mind.numbers[POLICY_CHANGED] = 1
