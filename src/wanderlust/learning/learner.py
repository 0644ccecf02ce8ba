"""Learning from one transition: count it, remember it, move every table."""

from __future__ import annotations

from typing import Any, NamedTuple

from wanderlust.compiled import compiled_for_rule, inlined, with_methods
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


@inlined
def learn(ruled: Any, state: int, action: int, reward: float, following: int, mind: Mind, plan: Plan) -> None:
    """Learn from one transition; `following` is `END` if it was terminal."""
    larger = count_try(state, action, mind, plan)
    ruled.manner.take_in(ruled.rule, state, action, reward, following, larger, mind, plan)
    mind.numbers[STEP] += 1


@inlined
def remember_and_refresh(
    rule: Any, state: int, action: int, reward: float, following: int, larger: bool, mind: Mind, plan: Plan
) -> None:
    """Store a transition, and bring up to date what depends on it or on the largest count."""
    remember(rule, state, action, reward, following, mind, plan)
    if plan.largest_matters and larger:
        refresh_terminal_signals(rule, mind, plan)


@inlined
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


@with_methods
class BySweeps(NamedTuple):
    """How an explorer without an ensemble learns with the whole of its memory.

    `InAnyWay` would do the same. But machine code for minibatches, or for no memory at all, need not be made here: that
    is a quarter of the time of the first compilation.
    """

    number: int = 0
    """Means nothing; compiled code wants a field."""

    def take_in(
        self, rule: Any, state: int, action: int, reward: float, following: int, larger: bool, mind: Mind, plan: Plan
    ) -> None:
        """Learn from a transition that has been counted."""
        remember_and_refresh(rule, state, action, reward, following, larger, mind, plan)
        sweep_all(mind, plan)


@with_methods
class InAnyWay(NamedTuple):
    """How any explorer learns with any memory."""

    number: int = 0

    def take_in(
        self, rule: Any, state: int, action: int, reward: float, following: int, larger: bool, mind: Mind, plan: Plan
    ) -> None:
        """Learn from a transition that has been counted."""
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


def manner_of(plan: Plan) -> BySweeps | InAnyWay:
    """Return the leaner manner of learning where it serves."""
    return BySweeps() if plan.memory == FULL and plan.n_heads == 0 else InAnyWay()


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
