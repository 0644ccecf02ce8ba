"""Remembering what happened: counts, outcome rows, stored transitions, and the rewards that follow from the counts."""

from __future__ import annotations

from typing import Any

from wanderlust.compiled import compiled, compiled_for_rule, inlined, wide
from wanderlust.learning.mind import (
    END,
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
    WINDOW,
    Mind,
    Plan,
)
from wanderlust.learning.sweep import activate


@inlined
def has_room(mind: Mind, plan: Plan) -> bool:
    """Tell whether one more transition surely fits: two new states, one row, one stored transition."""
    numbers = mind.numbers
    if numbers[N_STATES] + 3 > numbers[ROOM]:
        return False
    if plan.memory == NO_MEMORY:
        return True
    return bool(numbers[N_ROWS] < mind.row_ints.shape[1] and numbers[N_STORED] < len(mind.memory))


@inlined
def known_state(state: int, ids: Any, mind: Mind) -> int:
    """Return the number of an environment's state, giving it the next one when it is new."""
    number = ids[state]
    if number == END:
        mind.numbers[N_STATES] += 1
        number = mind.numbers[N_STATES]
        ids[state] = number
    return number  # type: ignore[no-any-return]


@inlined
def count_try(state: int, action: int, mind: Mind, plan: Plan) -> bool:
    """Count the action; return whether some count is now larger than any before."""
    first = state * plan.n_actions
    new = True
    for pair in range(first, first + plan.n_actions):
        if mind.tries[pair] != 0:
            new = False
    if new:
        mind.numbers[N_SEEN] += 1
    pair = first + action
    mind.tries[pair] += 1
    if mind.tries[pair] > mind.numbers[LARGEST]:
        mind.numbers[LARGEST] = mind.tries[pair]
        return True
    return False


@compiled
def find_or_add_row(pair: int, state: int, following: int, mind: Mind, plan: Plan) -> int:
    """Return the row of an outcome, behind the pair's other rows if it is new."""
    last = NONE
    row = mind.first_row[pair]
    while row != NONE:
        if mind.row_ints[ROW_NEXT, row] == following:
            return row  # type: ignore[no-any-return]
        last = row
        row = mind.row_ints[ROW_CHAIN, row]
    row = mind.numbers[N_ROWS]
    mind.numbers[N_ROWS] += 1
    mind.row_ints[ROW_PAIR, row] = pair
    mind.row_ints[ROW_STATE, row] = state
    mind.row_ints[ROW_NEXT, row] = following
    mind.row_ints[ROW_CHAIN, row] = NONE
    mind.row_ints[ROW_INTO, row] = mind.into[following]
    mind.into[following] = row
    if last == NONE:
        mind.first_row[pair] = row
    else:
        if last == mind.first_row[pair]:
            mind.multi[mind.numbers[N_MULTI]] = pair
            mind.numbers[N_MULTI] += 1
            mind.flags[plan.n_swept, state] = 1
        mind.row_ints[ROW_CHAIN, last] = row
    return row  # type: ignore[no-any-return]


@inlined
def store(row: int, reward: float, mind: Mind, plan: Plan) -> int:
    """Add one transition to its row, and to the list of transitions where single ones are replayed.

    Return the row of the transition that had to go for it, or `NONE`.
    """
    count = mind.row_floats[ROW_COUNT, row] + 1.0
    mind.row_floats[ROW_COUNT, row] = count
    mean = mind.row_floats[ROW_REWARD, row]
    # A running mean, since it stays exactly r while every reward is r: equal actions must stay exactly equal.
    mind.row_floats[ROW_REWARD, row] = reward if count == 1.0 else mean + (reward - mean) / count
    n_stored = mind.numbers[N_STORED]
    if plan.memory == FULL:
        if plan.n_heads > 0:
            mind.memory[n_stored] = row
            mind.numbers[N_STORED] += 1
        return NONE
    mind.stored[mind.row_ints[ROW_PAIR, row]] += 1
    if n_stored < plan.window:
        mind.memory[n_stored] = row
        mind.slots[n_stored] = n_stored
        mind.numbers[N_STORED] += 1
        return NONE
    oldest = mind.numbers[STEP] % plan.window
    gone: int = mind.memory[oldest]
    mind.memory[oldest] = row
    mind.row_floats[ROW_COUNT, gone] -= 1.0
    mind.stored[mind.row_ints[ROW_PAIR, gone]] -= 1
    return gone


@compiled
def reweigh(pair: int, mind: Mind) -> None:
    """Give each outcome of a pair its share of the pair's stored transitions."""
    if mind.stored[pair] == 0:
        return
    row = mind.first_row[pair]
    while row != NONE:
        mind.row_floats[ROW_WEIGHT, row] = mind.row_floats[ROW_COUNT, row] / mind.stored[pair]
        row = mind.row_ints[ROW_CHAIN, row]


@compiled
def reflect(pair: int, mind: Mind, plan: Plan) -> None:
    """Let the sweeps see the pair as its rows are now."""
    row = mind.first_row[pair]
    single = mind.stored[pair] > 0 and mind.row_ints[ROW_CHAIN, row] == NONE
    mind.next_id[pair] = mind.row_ints[ROW_NEXT, row] if single else END
    for table in range(plan.n_swept):
        mind.mirror[table, pair] = mind.row_floats[plan.signal[table], row] if single else mind.values[table, pair]


@compiled_for_rule
def refresh_signals(rule: Any, first: int, end: int, mind: Mind, plan: Plan) -> None:
    """Recompute the explorer's own rewards of some pairs of one state from the counts as they are now."""
    largest = mind.numbers[LARGEST]
    state = first // plan.n_actions
    total = 0
    for pair in range(state * plan.n_actions, (state + 1) * plan.n_actions):
        total += mind.tries[pair]
    for pair in range(first, end):
        tries = mind.tries[pair]
        row = mind.first_row[pair]
        while row != NONE:
            if plan.bonus_row > 0:
                mind.row_floats[plan.bonus_row, row] = mind.row_floats[ROW_REWARD, row] + rule.bonus(tries)
            if plan.visit_row > 0 and mind.row_ints[ROW_NEXT, row] == END:
                mind.row_floats[plan.visit_row, row] = rule.terminal_visit_reward(tries, total, largest)
            elif plan.visit_row > 0:
                mind.row_floats[plan.visit_row, row] = rule.visit_reward(tries, total, largest)
            row = mind.row_ints[ROW_CHAIN, row]
        if tries > 0:
            reflect(pair, mind, plan)


@inlined
def activate_everywhere(state: int, mind: Mind, plan: Plan) -> None:
    """Put a state on the work lists of all tables."""
    for table in range(plan.n_swept):
        activate(state, table, mind)


@compiled_for_rule
def remember(rule: Any, state: int, action: int, reward: float, following: int, mind: Mind, plan: Plan) -> None:
    """Store a transition that has been counted, and bring all rewards that depend on it up to date."""
    pair = state * plan.n_actions + action
    rows_before = mind.numbers[N_ROWS]
    row = find_or_add_row(pair, state, following, mind, plan)
    mean_before = mind.row_floats[ROW_REWARD, row]
    gone = store(row, reward, mind, plan)
    # What was seen before just so, as the only outcome of its pair, teaches nothing new about rewards.
    is_news = (
        row == rows_before
        or mind.row_floats[ROW_REWARD, row] != mean_before
        or mind.row_ints[ROW_CHAIN, mind.first_row[pair]] != NONE
        or plan.memory == WINDOW
    )
    if is_news:
        reweigh(pair, mind)
        # Trap: a whole array written in one assignment takes numba longer to compile than all else here.
        for head in range(len(mind.asleep)):
            mind.asleep[head] = 0
    if plan.visit_row > 0 or plan.bonus_row > 0:
        # The logarithm of the state's total count is in the visitation reward of each of its actions.
        first, n_pairs = (pair - action, plan.n_actions) if plan.visit_row > 0 else (pair, 1)
        refresh_signals(rule, first, first + n_pairs, mind, plan)
    elif is_news:
        reflect(pair, mind, plan)
    for table in range(plan.n_swept):
        if is_news or plan.signal[table] != ROW_REWARD:
            activate(state, table, mind)
    if gone != NONE:
        pair_gone = wide(mind.row_ints[ROW_PAIR, gone])
        reweigh(pair_gone, mind)
        reflect(pair_gone, mind, plan)
        activate_everywhere(mind.row_ints[ROW_STATE, gone], mind, plan)


@compiled_for_rule
def refresh_terminal_signals(rule: Any, mind: Mind, plan: Plan) -> None:
    """Recompute the visitation rewards at the end of episodes, all of which may depend on the largest count."""
    row = mind.into[END]
    while row != NONE:
        pair = wide(mind.row_ints[ROW_PAIR, row])
        refresh_signals(rule, pair, pair + 1, mind, plan)
        activate_everywhere(mind.row_ints[ROW_STATE, row], mind, plan)
        row = mind.row_ints[ROW_INTO, row]
