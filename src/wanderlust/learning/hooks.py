"""The parts of the loop that differ between explorers: addresses of compiled functions, and the signals.

The loop is compiled once for all explorers and calls these functions by their addresses; see
`wanderlust._numba.pointers`. `wanderlust.explorers.compiled` fills them in.

A signal is a reward that a table learns from. Q learns from the environment's reward. The behaviour's Q may learn from
reward + bonus, and W learns from the visitation reward. Bonus and visitation reward are functions of the visit counts
that the explorer defines, so they are computed again whenever a count changes. The functions for it take an explorer
and are compiled for each explorer class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wanderlust._numba.jit import always_by_pointer, as_int64, call_int, call_none, inlined
from wanderlust.learning.state import NONE, TERMINAL, LearnerState
from wanderlust.learning.td import REWARD, Ints, TableSpec


@always_by_pointer
class Hooks(NamedTuple):
    """Addresses. Without numba they are the explorer and Python functions themselves."""

    explorer: Any
    """The explorer's fields; the first argument of its functions."""
    choose: Any
    begin_episode: Any
    write_signals: Any
    """0 if the explorer has no signals of its own."""
    transition_signal: Any
    """0 unless nothing is remembered."""
    learn: Any
    """The update of all tables from one transition; see `wanderlust.learning.update`."""
    learn_by_sweeps: Any
    """The part of `learn` for the swept tables; 0 unless there are others."""
    learn_own: Any
    """The explorer's update of its own tables; 0 if it has none."""


@inlined
def choose_action(hooks: Hooks, state: int, learner: LearnerState, spec: TableSpec) -> int:
    """Return the explorer's action in a state."""
    return call_int(hooks.choose, hooks.explorer, learner, spec, as_int64(state))  # type: ignore[no-any-return]


@inlined
def begin_episode(hooks: Hooks, learner: LearnerState, spec: TableSpec) -> None:
    """Tell the explorer that an episode begins."""
    call_none(hooks.begin_episode, hooks.explorer, learner, spec)


@inlined
def learn(
    hooks: Hooks, state: int, action: int, reward: float, next_state: int, learner: LearnerState, spec: TableSpec
) -> None:
    """Update all tables from one transition; `next_state` is `TERMINAL` if it terminated."""
    call_none(hooks.learn, hooks, learner, spec, as_int64(state), as_int64(action), reward, as_int64(next_state))
    learner.counters.step += 1


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
