"""Sections 3.1 to 3.4, Figures 3, 4 and 6: behaviour policies in the 3×3 toy example.

There are no runs: the tables are trained to their fixed points, either on four given episodes (Figures 3 and 4), or on
one transition of every state-action pair except one (Figure 6).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from wanderlust import Run, make_world
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import EXACT, MUCH, Claim, at_least, check_all, claim_of, erratum, exact_claim, similar
from wanderlust_paper.figures.maps import ValuePanel, action_values_figure
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection
from wanderlust_paper.studies.toy_agents import (
    ACTION_NAMES,
    DOWN,
    LEFT,
    PRISON,
    RIGHT,
    SMALL_TREASURE,
    START,
    UP,
    VISITED,
    after_four_episodes,
    after_uniform_visits,
    best,
    cell,
)
from wanderlust_paper.studies.w_function_claims import AUXILIARY_REWARD_CHECKS, W_FUNCTION_CHECKS

EXPLORERS = ("greedy", "bonus", "ucb1", "vv-ucb", "vv-count")
_SETTING = "$\\gamma$ = $\\gamma_w$ = 0.99, $\\kappa$ = 200; tables at their fixed points, formulas of the text."
CELLS = {"(1,2)": cell(1, 2), "(2,3)": cell(2, 3), "(1,3)": START}


class ToyValues(NamedTuple):
    """The counts and the values of every policy, [state, action]."""

    counts: FloatArray
    """After the four episodes."""
    values: Mapping[str, FloatArray]
    uniform: Mapping[bool, Mapping[str, FloatArray]]
    """Treasures are terminal -> policy -> values, if all pairs except one were visited once."""
    equal: Mapping[bool, Mapping[str, FloatArray]]
    """The same if all pairs were visited once."""


def runs(selection: StudySelection) -> list[Run]:
    """Return an empty list: this experiment has no runs."""
    selection.select_worlds(("toy-example",))
    return []


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the three parts of the example, as figures and as a table."""
    results = {explorer: after_four_episodes(explorer) for explorer in EXPLORERS}
    counts = results["greedy"][0]
    panel = {explorer: ValuePanel(explorer, values) for explorer, (_, values) in results.items()}
    visits = ValuePanel("visits", counts, arrows=False)
    cases = {"terminal treasures": True, "non-terminal treasures": False}
    uniform = {
        name: [ValuePanel(each, after_uniform_visits(each, terminal=terminal)) for each in EXPLORERS]
        for name, terminal in cases.items()
    }
    layout = make_world("toy-example").layout
    assert layout is not None
    parts = {
        "part-1": ("Toy example, part 1", {"": [visits, *(panel[name] for name in ("greedy", "ucb1", "bonus"))]}),
        "part-2": ("Toy example, part 2", {"": [visits, *(panel[name] for name in EXPLORERS[3:])]}),
        "part-3": ("Toy example, part 3: all pairs visited once, except “left” in the start state", uniform),
    }
    panels = [("four episodes", ValuePanel("count", counts)), *(("four episodes", each) for each in panel.values())]
    panels += [(f"uniform visits, {name}", each) for name, row in uniform.items() for each in row]
    heads = ["experience", "policy", "row", "column", "left", "right", "up", "down"]
    rows = [
        [experience, each.title, str(s // 3 + 1), str(s % 3 + 1), *(f"{value:.6g}" for value in each.values[s])]
        for experience, each in panels
        for s in range(9)
    ]
    at_start = [[row[0], row[1], *row[4:]] for row in rows if row[2:4] == ["1", "1"]]
    title, columns = "Toy example: values of the actions in the start state", ["experience", "policy", *heads[4:]]
    toy = ToyValues(
        counts=counts,
        values={name: values for name, (_, values) in results.items()},
        uniform={cases[name]: {each.title: each.values for each in row} for name, row in uniform.items()},
        equal={
            terminal: {each: after_uniform_visits(each, terminal=terminal, skip=()) for each in EXPLORERS}
            for terminal in cases.values()
        },
    )
    return Report(
        renderables=[as_rich_table(title, columns, at_start, note, text_columns=2)],
        claims=check_all((*W_FUNCTION_CHECKS, *AUXILIARY_REWARD_CHECKS)) + check_all(CHECKS, toy),
        files={"table.md": as_markdown_table(title, columns, at_start, "", note), "values.csv": as_csv(heads, rows)},
        figures={
            name: functools.partial(action_values_figure, title, panel_rows, layout, note=f"{_SETTING} {note}".strip())
            for name, (title, panel_rows) in parts.items()
        },
    )


def names(actions: Iterable[int]) -> str:
    """Return actions as text."""
    return " or ".join(ACTION_NAMES[action] for action in sorted(actions))


def _counts(toy: ToyValues) -> Iterator[Claim]:
    n = toy.counts
    untried = {state: {a for a in range(4) if n[state, a] == 0} for state in range(9)}
    yield exact_claim(
        "3.1",
        "after the four episodes all actions were executed at least once in (1,3) and in the prison (2,2)",
        f"smallest counts {n[START].min():.0f} and {n[PRISON].min():.0f}",
        holds=bool((n[[START, PRISON]] > 0).all()),
    )
    yield exact_claim(
        "3.1",
        "“up” was not executed in (1,2)",
        f"not executed there: {names(untried[cell(1, 2)])}",
        holds=untried[cell(1, 2)] == {UP},
    )
    yield erratum(
        "3.1",
        "the agent visited (1,3) once and experienced the reward of 1",
        f"(1,3) is the start, with {n[START].sum():.0f} actions; (1,1) has the reward, with "
        f"{n[SMALL_TREASURE].sum():.0f}",
    )
    yield erratum(
        "3.1",
        "“up” and “right” were not executed in (2,1)",
        f"(2,1) was never visited; in (2,3), {names(untried[cell(2, 3)])} were not executed",
    )


def _greedy(toy: ToyValues) -> Iterator[Claim]:
    q = toy.values["greedy"]
    path = {START: DOWN, cell(1, 2): DOWN, SMALL_TREASURE: DOWN, cell(2, 3): LEFT}
    right = sum(best(q[state]) == {action} for state, action in path.items())
    text = f"in {right} of {len(path)} cells outside the prison the greedy action leads there"
    yield exact_claim("3.1", "the greedy policy points to the only reward collected", text, holds=right == len(path))


def chooses(place: str, claim: str, chosen: Mapping[str, set[int]], *expected: set[int]) -> Claim:
    """Check which actions policies choose; `expected` has those of each, or those of all."""
    found = "; ".join(f"{where}: {names(actions)}" for where, actions in chosen.items())
    each = expected if len(expected) == len(chosen) else expected * len(chosen)
    right = [actions == other for actions, other in zip(chosen.values(), each, strict=True)]
    return exact_claim(place, claim, found, holds=all(right), partly=any(right))


def _ucb1(toy: ToyValues) -> Iterator[Claim]:
    q, values = toy.values["greedy"].max(), toy.values["ucb1"]
    largest = values[list(VISITED)].max()
    chosen = {name: best(values[state]) for name, state in CELLS.items()}
    text = "UCB1 yields values of much larger magnitude than the greedy policy"
    values_text = f"largest values: {largest:.0f} and {q:.2f}"
    yield claim_of("3.1", text, values_text, at_least(float(largest / q), MUCH), kind=EXACT)
    claim, at_start = "UCB1 correctly selects unexecuted actions in (1,2) and (2,3)", {"(1,3)": chosen.pop("(1,3)")}
    yield chooses("3.1", claim, chosen, {UP}, {UP, RIGHT})
    claim = "in (1,3) UCB1 selects the least executed actions, “up” and “left”, which do not bring it anywhere"
    yield chooses("3.1", claim, at_start, {LEFT, UP})


def _bonus(toy: ToyValues) -> Iterator[Claim]:
    chosen = {name: best(toy.values["bonus"][state]) for name, state in CELLS.items()}
    at_start = {"(1,3)": chosen.pop("(1,3)")}
    claim = "in (1,3) the policy with the bonus also selects the actions with the smallest count"
    yield chooses("3.1", claim, at_start, {LEFT, UP})
    claim = "in (1,2) and (2,3) it chooses “left”, with count one, instead of actions with count zero"
    yield chooses("3.1", claim, chosen, {LEFT})


def _same_policy(toy: ToyValues) -> Iterator[Claim]:
    chosen = [[best(toy.values[name][state]) for state in VISITED] for name in VV_EXPLORERS]
    unvisited = [float(toy.values[name][cell(3, 3)].max()) for name in VV_EXPLORERS]
    same = sum(a == b for a, b in zip(*chosen, strict=True))
    orders = [np.sign(x[:, :, None] - x[:, None, :]) for x in (toy.values[name].round(6) for name in VV_EXPLORERS)]
    ordered = sum(bool((orders[0][state] == orders[1][state]).all()) for state in VISITED)
    yield exact_claim(
        "3.2",
        "the policies of both W-functions are identical",
        f"in {same} of {len(VISITED)} visited cells",
        holds=chosen[0] == chosen[1],
    )
    yield exact_claim(
        "3.2",
        "the only difference is the magnitude of the values, especially in unvisited states",
        f"largest value in the unvisited cell (3,3): vv-ucb {unvisited[0]:,.0f}, vv-count {unvisited[1]:,.0f}; the "
        f"best actions are the same in {same} and the order of all four in {ordered} of {len(VISITED)} visited cells",
        holds=unvisited[0] != unvisited[1] and ordered == len(VISITED),
        partly=unvisited[0] != unvisited[1] and same == len(VISITED),
    )


def _w_policies(toy: ToyValues) -> Iterator[Claim]:
    def chosen(state: int) -> dict[str, set[int]]:
        return {name: best(toy.values[name][state]) for name in VV_EXPLORERS}

    claim = "in (1,3) both select “down”, although “up” and “left” have lower counts"
    yield chooses("3.2", claim, chosen(START), {DOWN})
    claim = "in (1,2) both select “up”, overturning the greedy action “down”"
    greedy_is_down = best(toy.values["greedy"][cell(1, 2)]) == {DOWN}
    yield chooses("3.2", claim, chosen(cell(1, 2)), {UP} if greedy_is_down else set())
    yield chooses("3.2", "in (2,3) both select actions with count zero", chosen(cell(2, 3)), {UP, RIGHT})
    next_state = make_world("toy-example").mdp.next_state[:, :, 0]
    outside = [state for state in VISITED if state != PRISON]
    followed = [next_state[state, a] for state in outside for actions in chosen(state).values() for a in actions]
    into_prison = followed.count(PRISON)
    yield exact_claim(
        "3.2",
        "none of the policies leads the agent to the prison",
        f"{into_prison} of the selected actions lead there",
        holds=into_prison == 0,
    )
    counts, in_prison = toy.counts[PRISON], chosen(PRISON)
    others = {LEFT, UP, DOWN}
    yield exact_claim(
        "3.2",
        "in the prison both do not select “right”, because it was executed one more time than the other actions",
        "; ".join(f"{name}: {names(actions)}" for name, actions in in_prison.items())
        + f"; “right” was executed {counts[RIGHT]:.0f} times, the others {counts[LEFT]:.0f} time each",
        holds=all(each == others for each in in_prison.values()) and bool(counts[RIGHT] == counts[LEFT] + 1),
        partly=all(each == others for each in in_prison.values()),
    )
    spread = max(float(np.ptp(x[PRISON]) / x[PRISON].max()) for x in (toy.values[name] for name in VV_EXPLORERS))
    text = "in the prison the difference in the action values is minimal"
    found = f"{100 * spread:.2f} % of the largest value at most"
    yield claim_of("3.2", text, found, similar(100 * spread), kind=EXACT)


def _uniform(toy: ToyValues) -> Iterator[Claim]:
    both = toy.uniform.values()
    bonus = [values["bonus"] for values in both]
    ucb1_elsewhere = all(
        best(values["ucb1"][state]) == best(values["greedy"][state])
        for values in both
        for state in set(range(9)) - {START}
    )
    chosen = {name: [best(values[name][START]) for values in both] for name in ("ucb1", *VV_EXPLORERS)}
    reached, possible = 0, 0
    for terminal, values in toy.uniform.items():
        for name in VV_EXPLORERS:
            counts = _lead_to_start(values[name], terminal=terminal)
            reached, possible = reached + counts[0], possible + counts[1]
    yield exact_claim(
        "3.3",
        "all pairs visited once, except “left” in (1,3): the augmented policy has no interest in it, and its "
        "value is the lowest",
        f"its value: {bonus[0][START, LEFT]:g}; the lowest of all: {min(float(x.min()) for x in bonus):g}",
        holds=all(x[START, LEFT] == x.min() and LEFT not in best(x[START]) for x in bonus),
    )
    yield exact_claim(
        "3.3",
        "UCB1 acts greedily everywhere except in (1,3), where it selects the unexecuted action",
        f"(1,3): {names(chosen['ucb1'][0])}; greedy elsewhere: {'yes' if ucb1_elsewhere else 'no'}",
        holds=ucb1_elsewhere and all(actions == {LEFT} for actions in chosen["ucb1"]),
    )
    yield exact_claim(
        "3.3",
        "the policies of both W-functions bring the agent to the unexecuted action from any state",
        f"from {reached} of {9 * 4} states, over both W-functions, with terminal and non-terminal treasures; (1,3) can "
        f"be reached from {possible} of them",
        holds=reached == 9 * 4 and all(actions == {LEFT} for name in VV_EXPLORERS for actions in chosen[name]),
        partly=reached == possible,
    )


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


def _equal(toy: ToyValues) -> Iterator[Claim]:
    differ = [
        f"{name}, {'terminal' if terminal else 'non-terminal'} treasures"
        for terminal, values in toy.equal.items()
        for name in ("bonus", "ucb1", *VV_EXPLORERS)
        if any(best(values[name][state]) != best(values["greedy"][state]) for state in range(9))
    ]
    text = f"different: {', '.join(differ)}; 0.1 per step for ever is worth more than the treasure" if differ else "all"
    claim = "with uniform counts for all pairs, all policies look like the greedy one"
    yield exact_claim("3.3", claim, text, holds=not differ, partly=len(differ) < 4)


CHECKS = (_counts, _greedy, _ucb1, _bonus, _same_policy, _w_policies, _uniform, _equal)
STUDY = Study(
    id="toy-example",
    reference="Sections 3.1 to 3.4, Figures 3, 4, 6",
    description="behaviour policies after four given episodes, and under uniform visit counts",
    runs=runs,
    report=report,
    quick_changes="nothing: it takes seconds",
)
