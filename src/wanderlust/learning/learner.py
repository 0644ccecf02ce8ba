"""Learning from one transition: count it, remember it, move every table."""

from __future__ import annotations

from typing import Any

from wanderlust.compiled import compiled_for_rule, inlined
from wanderlust.learning.experience import count_try, refresh_terminal_signals, remember
from wanderlust.learning.mind import (
    END,
    FULL,
    LARGEST,
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


@compiled_for_rule
def learn(rule: Any, state: int, action: int, reward: float, following: int, mind: Mind, plan: Plan) -> None:
    """Learn from one transition; `following` is `END` if it was terminal."""
    larger = count_try(state, action, mind, plan)
    if plan.memory == NO_MEMORY:
        learn_at_once(rule, state, action, reward, following, mind, plan)
    else:
        remember(rule, state, action, reward, following, mind, plan)
        if plan.largest_matters and larger:
            refresh_terminal_signals(rule, mind, plan)
        replay(mind, plan)
    mind.numbers[STEP] += 1


@inlined
def replay(mind: Mind, plan: Plan) -> None:
    """Move every table by what is remembered: swept over all of it, or by minibatches."""
    if plan.memory == FULL or plan.n_heads > 0:
        for table in range(0 if plan.learns_q else 1, plan.n_swept):
            sweep(table, mind, plan)
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
