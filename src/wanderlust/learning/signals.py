"""Which reward a table learns from.

Q learns from the environment's reward. The behaviour's Q may learn from reward + bonus, and W learns from the
visitation reward. Bonus and visitation reward are functions of the visit counts that the explorer defines, so they are
computed again whenever a count changes.

These functions take an explorer and are compiled for each explorer class; see `wanderlust.explorers.hooks`.
"""

from __future__ import annotations

from typing import Any

from wanderlust._numba.jit import inlined
from wanderlust.learning.spec import REWARD, Ints, TableSpec
from wanderlust.learning.state import NONE, TERMINAL, LearnerState


@inlined
def total_visits(visits: Ints, first_pair: int, n_actions: int) -> int:
    """Return Σ_a n(s, a) of the state whose first pair is given."""
    total = 0
    for pair in range(first_pair, first_pair + n_actions):
        total += visits[pair]
    return total


@inlined
def signal_value(
    explorer: Any, signal: int, reward: float, pair: int, total: int, is_terminal: bool, learner: Any, spec: TableSpec
) -> float:
    """Return the value of a signal for one outcome of a pair."""
    if signal == REWARD:
        return reward
    visits = learner.visits[pair]
    if signal == spec.bonus_signal:
        return reward + explorer.bonus(visits)  # type: ignore[no-any-return]
    if is_terminal:
        return explorer.terminal_visitation_reward(visits, total, learner.counters.max_visits)  # type: ignore[no-any-return]
    return explorer.visitation_reward(visits, total, learner.counters.max_visits)  # type: ignore[no-any-return]


@inlined
def write_signals(explorer: Any, first: int, end: int, learner: LearnerState, spec: TableSpec) -> None:
    """Compute the explorer's signals for the outcomes of some pairs of one state, from the counts as they are now."""
    outcomes = learner.outcomes
    total = total_visits(learner.visits, first - first % spec.n_actions, spec.n_actions)
    for pair in range(first, end):
        outcome = learner.first_outcome[pair]
        while outcome != NONE:
            is_terminal = outcomes.next_state[outcome] == TERMINAL
            reward = outcomes.signals[REWARD, outcome]
            for signal in range(REWARD + 1, len(outcomes.signals)):
                value = signal_value(explorer, signal, reward, pair, total, is_terminal, learner, spec)
                outcomes.signals[signal, outcome] = value
            outcome = outcomes.next_of_pair[outcome]


@inlined
def transition_signal(
    explorer: Any, signal: int, reward: float, pair: int, next_state: int, learner: LearnerState, spec: TableSpec
) -> float:
    """Return the value of a signal for the current transition."""
    total = total_visits(learner.visits, pair - pair % spec.n_actions, spec.n_actions)
    return signal_value(explorer, signal, reward, pair, total, next_state == TERMINAL, learner, spec)
