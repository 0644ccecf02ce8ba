"""Remembering what happened: counts, outcome rows, stored transitions, and the rewards that follow from the counts."""

from __future__ import annotations

from typing import Any

from wanderlust._numba.jit import as_int64, compiled, compiled_for_rule, inlined
from wanderlust.learning.state import (
    FULL,
    LARGEST,
    N_MULTI,
    N_ROWS,
    N_SEEN,
    N_STATES,
    N_STORED,
    NO_MEMORY,
    NONE,
    ROOM,
    ROW_CHAIN,
    ROW_COUNT,
    ROW_INTO,
    ROW_NEXT,
    ROW_PAIR,
    ROW_REWARD,
    ROW_STATE,
    ROW_WEIGHT,
    STEP,
    TERMINAL,
    WINDOW,
    LearnerState,
    TableSpec,
)
from wanderlust.learning.sweep import activate


@inlined
def has_room(learner: LearnerState, spec: TableSpec) -> bool:
    """Tell whether one more transition surely fits: two new states, one row, one stored transition."""
    numbers = learner.numbers
    if numbers[N_STATES] + 3 > numbers[ROOM]:
        return False
    if spec.memory == NO_MEMORY:
        return True
    return bool(numbers[N_ROWS] < learner.row_ints.shape[1] and numbers[N_STORED] < len(learner.memory))


@inlined
def known_state(state: int, ids: Any, learner: LearnerState) -> int:
    """Return the number of an environment's state, giving it the next one when it is new."""
    number = ids[state]
    if number == TERMINAL:
        learner.numbers[N_STATES] += 1
        number = learner.numbers[N_STATES]
        ids[state] = number
    return number  # type: ignore[no-any-return]


@inlined
def count_visit(state: int, action: int, learner: LearnerState, spec: TableSpec) -> bool:
    """Count the action; return whether some count is now larger than any before."""
    first = state * spec.n_actions
    new = True
    for pair in range(first, first + spec.n_actions):
        if learner.visits[pair] != 0:
            new = False
    if new:
        learner.numbers[N_SEEN] += 1
    pair = first + action
    learner.visits[pair] += 1
    if learner.visits[pair] > learner.numbers[LARGEST]:
        learner.numbers[LARGEST] = learner.visits[pair]
        return True
    return False


@compiled
def find_or_add_row(pair: int, state: int, following: int, learner: LearnerState, spec: TableSpec) -> int:
    """Return the row of an outcome, behind the pair's other rows if it is new."""
    last = NONE
    row = learner.first_row[pair]
    while row != NONE:
        if learner.row_ints[ROW_NEXT, row] == following:
            return row  # type: ignore[no-any-return]
        last = row
        row = learner.row_ints[ROW_CHAIN, row]
    row = learner.numbers[N_ROWS]
    learner.numbers[N_ROWS] += 1
    learner.row_ints[ROW_PAIR, row] = pair
    learner.row_ints[ROW_STATE, row] = state
    learner.row_ints[ROW_NEXT, row] = following
    learner.row_ints[ROW_CHAIN, row] = NONE
    learner.row_ints[ROW_INTO, row] = learner.into[following]
    learner.into[following] = row
    if last == NONE:
        learner.first_row[pair] = row
    else:
        if last == learner.first_row[pair]:
            learner.multi[learner.numbers[N_MULTI]] = pair
            learner.numbers[N_MULTI] += 1
            learner.flags[spec.n_swept, state] = 1
        learner.row_ints[ROW_CHAIN, last] = row
    return row  # type: ignore[no-any-return]


@inlined
def store(row: int, reward: float, learner: LearnerState, spec: TableSpec) -> int:
    """Add one transition to its row, and to the list of transitions where single ones are replayed.

    Return the row of the transition that had to go for it, or `NONE`.
    """
    count = learner.row_floats[ROW_COUNT, row] + 1.0
    learner.row_floats[ROW_COUNT, row] = count
    mean = learner.row_floats[ROW_REWARD, row]
    # A running mean, since it stays exactly r while every reward is r: equal actions must stay exactly equal.
    learner.row_floats[ROW_REWARD, row] = reward if count == 1.0 else mean + (reward - mean) / count
    n_stored = learner.numbers[N_STORED]
    if spec.memory == FULL:
        if spec.n_heads > 0:
            learner.memory[n_stored] = row
            learner.numbers[N_STORED] += 1
        return NONE
    learner.stored[learner.row_ints[ROW_PAIR, row]] += 1
    if n_stored < spec.window:
        learner.memory[n_stored] = row
        learner.slots[n_stored] = n_stored
        learner.numbers[N_STORED] += 1
        return NONE
    oldest = learner.numbers[STEP] % spec.window
    gone: int = learner.memory[oldest]
    learner.memory[oldest] = row
    learner.row_floats[ROW_COUNT, gone] -= 1.0
    learner.stored[learner.row_ints[ROW_PAIR, gone]] -= 1
    return gone


@compiled
def reweigh(pair: int, learner: LearnerState) -> None:
    """Give each outcome of a pair its share of the pair's stored transitions."""
    if learner.stored[pair] == 0:
        return
    row = learner.first_row[pair]
    while row != NONE:
        learner.row_floats[ROW_WEIGHT, row] = learner.row_floats[ROW_COUNT, row] / learner.stored[pair]
        row = learner.row_ints[ROW_CHAIN, row]


@compiled
def reflect(pair: int, learner: LearnerState, spec: TableSpec) -> None:
    """Let the sweeps see the pair as its rows are now."""
    row = learner.first_row[pair]
    single = learner.stored[pair] > 0 and learner.row_ints[ROW_CHAIN, row] == NONE
    learner.sweep_next[pair] = learner.row_ints[ROW_NEXT, row] if single else TERMINAL
    for table in range(spec.n_swept):
        learner.sweep_reward[table, pair] = learner.row_floats[spec.signal[table], row] if single else learner.values[table, pair]


@compiled_for_rule
def refresh_signals(rule: Any, first: int, end: int, learner: LearnerState, spec: TableSpec) -> None:
    """Recompute the explorer's own rewards of some pairs of one state from the counts as they are now."""
    largest = learner.numbers[LARGEST]
    state = first // spec.n_actions
    total = 0
    for pair in range(state * spec.n_actions, (state + 1) * spec.n_actions):
        total += learner.visits[pair]
    for pair in range(first, end):
        visits = learner.visits[pair]
        row = learner.first_row[pair]
        while row != NONE:
            if spec.bonus_row > 0:
                learner.row_floats[spec.bonus_row, row] = learner.row_floats[ROW_REWARD, row] + rule.bonus(visits)
            if spec.visit_row > 0 and learner.row_ints[ROW_NEXT, row] == TERMINAL:
                learner.row_floats[spec.visit_row, row] = rule.terminal_visitation_reward(visits, total, largest)
            elif spec.visit_row > 0:
                learner.row_floats[spec.visit_row, row] = rule.visitation_reward(visits, total, largest)
            row = learner.row_ints[ROW_CHAIN, row]
        if visits > 0:
            reflect(pair, learner, spec)


@inlined
def activate_everywhere(state: int, learner: LearnerState, spec: TableSpec) -> None:
    """Put a state on the work lists of all tables."""
    for table in range(spec.n_swept):
        activate(state, table, learner)


@compiled_for_rule
def remember(rule: Any, state: int, action: int, reward: float, following: int, learner: LearnerState, spec: TableSpec) -> None:
    """Store a transition that has been counted, and bring all rewards that depend on it up to date."""
    pair = state * spec.n_actions + action
    rows_before = learner.numbers[N_ROWS]
    row = find_or_add_row(pair, state, following, learner, spec)
    mean_before = learner.row_floats[ROW_REWARD, row]
    gone = store(row, reward, learner, spec)
    # What was seen before just so, as the only outcome of its pair, teaches nothing new about rewards.
    is_news = (
        row == rows_before
        or learner.row_floats[ROW_REWARD, row] != mean_before
        or learner.row_ints[ROW_CHAIN, learner.first_row[pair]] != NONE
        or spec.memory == WINDOW
    )
    if is_news:
        reweigh(pair, learner)
        # Trap: a whole array written in one assignment takes numba longer to compile than all else here.
        for head in range(len(learner.converged)):
            learner.converged[head] = 0
    if spec.visit_row > 0 or spec.bonus_row > 0:
        # The logarithm of the state's total count is in the visitation reward of each of its actions.
        first, n_pairs = (pair - action, spec.n_actions) if spec.visit_row > 0 else (pair, 1)
        refresh_signals(rule, first, first + n_pairs, learner, spec)
    elif is_news:
        reflect(pair, learner, spec)
    for table in range(spec.n_swept):
        if is_news or spec.signal[table] != ROW_REWARD:
            activate(state, table, learner)
    if gone != NONE:
        pair_gone = as_int64(learner.row_ints[ROW_PAIR, gone])
        reweigh(pair_gone, learner)
        reflect(pair_gone, learner, spec)
        activate_everywhere(learner.row_ints[ROW_STATE, gone], learner, spec)


@compiled_for_rule
def refresh_terminal_signals(rule: Any, learner: LearnerState, spec: TableSpec) -> None:
    """Recompute the visitation rewards at the end of episodes, all of which may depend on the largest count."""
    row = learner.into[TERMINAL]
    while row != NONE:
        pair = as_int64(learner.row_ints[ROW_PAIR, row])
        refresh_signals(rule, pair, pair + 1, learner, spec)
        activate_everywhere(learner.row_ints[ROW_STATE, row], learner, spec)
        row = learner.row_ints[ROW_INTO, row]
