"""The counts and values of the toy example (Section 3), and the names of its cells.

The paper denotes cells as (column, row from the bottom); `cell` takes this form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from wanderlust import make_world
from wanderlust.core.mdp import FloatArray
from wanderlust_paper.claims import Claim, fact

LEFT, RIGHT, UP, DOWN = range(4)
ACTION_NAMES = ("left", "right", "up", "down")
W_EXPLORERS = ("vv-ucb", "vv-count")


def cell(column: int, row_from_bottom: int) -> int:
    """Return the index of the state that the paper denotes as (column, row from the bottom)."""
    return 3 * (3 - row_from_bottom) + column - 1


START, PRISON, SMALL_TREASURE, LARGE_TREASURE = cell(1, 3), cell(2, 2), cell(1, 1), cell(3, 1)
VISITED = (START, cell(1, 2), SMALL_TREASURE, cell(2, 3), PRISON)


class ToyValues(NamedTuple):
    """The counts and the values of every policy, [state, action]."""

    counts: FloatArray
    """After the four episodes."""
    values: Mapping[str, FloatArray]
    uniform: Mapping[bool, Mapping[str, FloatArray]]
    """Treasures are terminal -> policy -> values, if all pairs except one were visited once."""
    equal: Mapping[bool, Mapping[str, FloatArray]]
    """The same if all pairs were visited once."""


def best(values: FloatArray) -> set[int]:
    """Return the best actions, with a tolerance for rounding."""
    return set(np.flatnonzero(values >= values.max() - 1e-7).tolist())


def names(actions: Iterable[int]) -> str:
    """Return actions as text."""
    return " or ".join(ACTION_NAMES[action] for action in sorted(actions))


def check_claims(toy: ToyValues) -> list[Claim]:
    """Check all statements."""
    checks = (_counts, _greedy, _ucb1, _bonus, _same_policy, _w_policies, _prison, _uniform, _equal)
    return [claim for check in checks for claim in check(toy)]


def _counts(toy: ToyValues) -> list[Claim]:
    n = toy.counts
    untried = {state: {a for a in range(4) if n[state, a] == 0} for state in range(9)}
    return [
        fact(
            "3.1",
            "after the four episodes all actions were executed at least once in (1,3) and in the prison (2,2)",
            f"smallest counts {n[START].min():.0f} and {n[PRISON].min():.0f}",
            holds=bool((n[[START, PRISON]] > 0).all()),
        ),
        fact(
            "3.1",
            "“up” was not executed in (1,2)",
            f"not executed there: {names(untried[cell(1, 2)])}",
            holds=untried[cell(1, 2)] == {UP},
        ),
        fact(
            "3.1",
            "the agent visited (1,3) once and experienced the reward of 1",
            f"(1,3) is the start, with {n[START].sum():.0f} actions; (1,1) has the reward, with "
            f"{n[SMALL_TREASURE].sum():.0f}",
            holds=bool(n[START].sum() == 1),
        ),
        fact(
            "3.1",
            "“up” and “right” were not executed in (2,1)",
            f"(2,1) was never visited; in (2,3), {names(untried[cell(2, 3)])} were not executed",
            holds=untried[cell(2, 1)] == {UP, RIGHT},
        ),
    ]


def _greedy(toy: ToyValues) -> list[Claim]:
    q = toy.values["greedy"]
    path = {START: DOWN, cell(1, 2): DOWN, SMALL_TREASURE: DOWN, cell(2, 3): LEFT}
    right = sum(best(q[state]) == {action} for state, action in path.items())
    text = f"in {right} of {len(path)} cells outside the prison the greedy action leads there"
    return [fact("3.1", "the greedy policy points to the only reward collected", text, holds=right == len(path))]


def _ucb1(toy: ToyValues) -> list[Claim]:
    q, values = toy.values["greedy"], toy.values["ucb1"]
    chosen = {state: best(values[state]) for state in (START, cell(1, 2), cell(2, 3))}
    ratio = values[list(VISITED)].max() / q.max()
    return [
        fact(
            "3.1",
            "UCB1 yields values of much larger magnitude than the greedy policy",
            f"largest values: {values[list(VISITED)].max():.0f} and {q.max():.2f}",
            holds=ratio > 100,
            tolerance="more than 100 times",
        ),
        fact(
            "3.1",
            "UCB1 correctly selects unexecuted actions in (1,2) and (2,3)",
            f"(1,2): {names(chosen[cell(1, 2)])}; (2,3): {names(chosen[cell(2, 3)])}",
            holds=chosen[cell(1, 2)] == {UP} and chosen[cell(2, 3)] == {UP, RIGHT},
        ),
        fact(
            "3.1",
            "in (1,3) UCB1 selects the least executed actions, “up” and “left”, which do not bring it anywhere",
            f"(1,3): {names(chosen[START])}",
            holds=chosen[START] == {LEFT, UP},
        ),
    ]


def _bonus(toy: ToyValues) -> list[Claim]:
    chosen = {state: best(toy.values["bonus"][state]) for state in (START, cell(1, 2), cell(2, 3))}
    text = f"(1,2): {names(chosen[cell(1, 2)])}; (2,3): {names(chosen[cell(2, 3)])}"
    return [
        fact(
            "3.1",
            "in (1,3) the policy with the bonus also selects the actions with the smallest count",
            f"(1,3): {names(chosen[START])}",
            holds=chosen[START] == {LEFT, UP},
        ),
        fact(
            "3.1",
            "in (1,2) and (2,3) it chooses “left”, with count one, instead of actions with count zero",
            text,
            holds=chosen[cell(1, 2)] == chosen[cell(2, 3)] == {LEFT},
        ),
    ]


def _same_policy(toy: ToyValues) -> list[Claim]:
    chosen = [[best(toy.values[name][state]) for state in VISITED] for name in W_EXPLORERS]
    unvisited = [float(toy.values[name][cell(3, 3)].max()) for name in W_EXPLORERS]
    return [
        fact(
            "3.2",
            "the policies of both W-functions are identical",
            f"in {sum(a == b for a, b in zip(*chosen, strict=True))} of {len(VISITED)} visited cells",
            holds=chosen[0] == chosen[1],
        ),
        fact(
            "3.2",
            "the only difference is the magnitude of the values, especially in unvisited states",
            f"largest value in the unvisited cell (3,3): vv-ucb {unvisited[0]:,.0f}, vv-count {unvisited[1]:,.0f}",
            holds=unvisited[0] != unvisited[1],
        ),
    ]


def _w_policies(toy: ToyValues) -> list[Claim]:
    next_state = make_world("toy-example").mdp.next_state[:, :, 0]
    chosen = {name: {state: best(toy.values[name][state]) for state in VISITED} for name in W_EXPLORERS}

    def everywhere(state: int, actions: set[int]) -> bool:
        return all(chosen[name][state] == actions for name in W_EXPLORERS)

    def text(state: int) -> str:
        return "; ".join(f"{name}: {names(chosen[name][state])}" for name in W_EXPLORERS)

    into_prison = sum(
        int(next_state[state, action]) == PRISON
        for name in W_EXPLORERS
        for state in VISITED
        if state != PRISON
        for action in chosen[name][state]
    )
    return [
        fact(
            "3.2",
            "in (1,3) both select “down”, although “up” and “left” have lower counts",
            text(START),
            holds=everywhere(START, {DOWN}),
        ),
        fact(
            "3.2",
            "in (1,2) both select “up”, overturning the greedy action “down”",
            text(cell(1, 2)),
            holds=everywhere(cell(1, 2), {UP}) and best(toy.values["greedy"][cell(1, 2)]) == {DOWN},
        ),
        fact(
            "3.2",
            "in (2,3) both select actions with count zero",
            text(cell(2, 3)),
            holds=everywhere(cell(2, 3), {UP, RIGHT}),
        ),
        fact(
            "3.2",
            "none of the policies leads the agent to the prison",
            f"{into_prison} of the selected actions lead there",
            holds=into_prison == 0,
        ),
    ]


def _prison(toy: ToyValues) -> list[Claim]:
    counts = toy.counts[PRISON]
    spread = [float(np.ptp(toy.values[name][PRISON]) / toy.values[name][PRISON].max()) for name in W_EXPLORERS]
    chosen = {name: best(toy.values[name][PRISON]) for name in W_EXPLORERS}
    return [
        fact(
            "3.2",
            "in the prison both do not select “right”",
            "; ".join(f"{name}: {names(actions)}" for name, actions in chosen.items()),
            holds=all(actions == {LEFT, UP, DOWN} for actions in chosen.values()),
        ),
        fact(
            "3.2",
            "in the prison “right” was executed one more time than the other actions",
            f"executed {counts[RIGHT]:.0f} times, the others {counts[LEFT]:.0f} time each",
            holds=bool(counts[RIGHT] == counts[LEFT] + 1),
        ),
        fact(
            "3.2",
            "in the prison the difference in the action values is minimal",
            f"{100 * max(spread):.2f} % of the largest value at most",
            tolerance="at most 1 %",
            holds=max(spread) <= 0.01,
        ),
    ]


def _uniform(toy: ToyValues) -> list[Claim]:
    both = toy.uniform.values()
    bonus = [values["bonus"] for values in both]
    ucb1_elsewhere = all(
        best(values["ucb1"][state]) == best(values["greedy"][state])
        for values in both
        for state in set(range(9)) - {START}
    )
    chosen = {name: [best(values[name][START]) for values in both] for name in ("ucb1", *W_EXPLORERS)}
    reached, possible = 0, 0
    for terminal, values in toy.uniform.items():
        for name in W_EXPLORERS:
            counts = _lead_to_start(values[name], terminal=terminal)
            reached, possible = reached + counts[0], possible + counts[1]
    return [
        fact(
            "3.3",
            "all pairs visited once, except “left” in (1,3): the augmented policy has no interest in it, and its "
            "value is the lowest",
            f"its value: {bonus[0][START, LEFT]:g}; the lowest of all: {min(float(x.min()) for x in bonus):g}",
            holds=all(x[START, LEFT] == x.min() and LEFT not in best(x[START]) for x in bonus),
        ),
        fact(
            "3.3",
            "UCB1 acts greedily everywhere except in (1,3), where it selects the unexecuted action",
            f"(1,3): {names(chosen['ucb1'][0])}; greedy elsewhere: {'yes' if ucb1_elsewhere else 'no'}",
            holds=ucb1_elsewhere and all(actions == {LEFT} for actions in chosen["ucb1"]),
        ),
        fact(
            "3.3",
            "the policies of both W-functions bring the agent to the unexecuted action from any state",
            f"from {reached} of {possible} states from which (1,3) can be reached, over both W-functions and both "
            "cases",
            holds=reached == possible and all(actions == {LEFT} for name in W_EXPLORERS for actions in chosen[name]),
        ),
    ]


def _lead_to_start(values: FloatArray, *, terminal: bool) -> tuple[int, int]:
    """Return from how many states a policy leads to the start, and from how many the start can be reached."""
    mdp = make_world("toy-example", terminal=terminal).mdp
    moves = np.where(mdp.terminal[:, :, 0], -1, mdp.next_state[:, :, 0])
    possible = {START}
    while True:
        more = {s for s in range(9) if any(int(m) in possible for m in moves[s])} | possible
        if more == possible:
            break
        possible = more
    reached = 0
    for state in possible:
        for _ in range(9):
            if state == START:
                break
            state = int(moves[state, max(best(values[state]))])
        reached += state == START
    return reached, len(possible)


def _equal(toy: ToyValues) -> list[Claim]:
    differ = [
        f"{name}, {'terminal' if terminal else 'non-terminal'} treasures"
        for terminal, values in toy.equal.items()
        for name in ("bonus", "ucb1", *W_EXPLORERS)
        if any(best(values[name][state]) != best(values["greedy"][state]) for state in range(9))
    ]
    text = f"different: {', '.join(differ)}; 0.1 per step for ever is worth more than the treasure" if differ else "all"
    return [
        fact("3.3", "with uniform counts for all pairs, all policies look like the greedy one", text, holds=not differ)
    ]
