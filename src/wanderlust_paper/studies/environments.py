"""Figures 1, 2, 5, 7, 9, 11, 13 to 15 and 24, Table 2: the environments, drawn, and the statements about them.

There are no runs: the statements follow from the transitions and rewards of the worlds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from wanderlust import Agent, Run, World, make_world
from wanderlust.core.planning import optimal_values, reachable_states
from wanderlust.experiments.report.figures import GREY, styled
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds import CellKind
from wanderlust.worlds.drawing import draw_graph
from wanderlust_paper.claims import Claim, check_all, erratum, exact_claim
from wanderlust_paper.figures.maps import add_coordinates
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.studies.example_worlds import STATES, attempts, problem_chain, uniform_count_chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_2 = {"taxi": (29, 33, 66), "deep-gridworld": (11, 55, 110), "toy": (9, 11, 22), "prison": (9, 11, 22)}
TABLE_2 |= {"wall": (135, 330, 660)}
"""World -> steps of the optimal policy, short horizon, long horizon, as printed."""
STOCHASTIC_HORIZONS = {"noisy-deep-gridworld": 55, "noisy-toy": 15, "noisy-prison": 25}
_NOISE = 0.9
_FIGURE_5_GAMMA_W, _FIGURE_5_PSEUDOCOUNTS = 0.9, (3.8, 4.52)
_FIGURE_5_SWEEPS = 400
"""Sweeps over the replay memory after which W has converged: each multiplies its error by γ_w."""


def optimal_steps(world: World) -> int | None:
    """Return the number of steps of the optimal policy until the episode terminates; None if it never does.

    With several starts, the one with the highest value.
    """
    mdp = world.mdp
    if not mdp.deterministic:
        return None
    optimal = optimal_values(mdp, world.defaults.discount)
    state = int(np.where(mdp.start > 0, optimal.v, -np.inf).argmax())
    for step in range(1, mdp.n_states + 1):
        action = int(optimal.q[state].argmax())
        if mdp.terminal[state, action, 0]:
            return step
        state = int(mdp.next_state[state, action, 0])
    return None


def _problem_chain() -> Iterator[Claim]:
    sizes = (4, 6, 8)
    growth = (attempts(sizes[-1]) / attempts(sizes[0])) ** (1 / (sizes[-1] - sizes[0]))
    text = ", ".join(f"{attempts(n):,.0f} for N = {n} (4^N = {4**n:,})" for n in sizes)
    yield exact_claim(
        "1",
        "Figure 1: acting randomly takes on average 4^N attempts to find the rightmost reward",
        f"exact: {text}; a factor of {growth:.2f} per cell, because an attempt may move left and return",
        holds=all(round(attempts(n)) == 4**n for n in sizes),
    )


def _uniform_count_chain() -> Iterator[Claim]:
    _, executed = uniform_count_chain()
    missing = [STATES[s] for s in range(4) for a in range(3) if (s, a) not in executed]
    lowest, highest = pseudocounts()
    numbers = " and ".join(f"{each:g}" for each in _FIGURE_5_PSEUDOCOUNTS)
    yield erratum(
        "3.3",
        "Figure 5: after the two episodes all pairs were executed once, except “left” in A",
        f"not executed: one action of {' and one of '.join(missing)}: the episodes visit C only twice",
    )
    yield erratum(
        "3.3",
        f"Figure 5: with γ_w = 0.9 the pseudocounts of A are {numbers}",
        f"with all counts one, pseudocounts are {lowest:.2f} to {highest:.2f} here, and never above 1 by the paper's "
        "own bounds. 3.8 = 2 + 0.9 · 2 and 4.52 = 2 + 0.9 (1 + 0.9 · 2): values of W, not of (1 − γ_w) W, with counts "
        "of 2",
    )


def pseudocounts() -> tuple[float, float]:
    """Return the smallest and the largest pseudocount of the executed pairs of Figure 5."""
    world, executed = uniform_count_chain()
    agent = Agent(
        "vv-count",
        n_states=world.n_states,
        n_actions=world.n_actions,
        reward_range=(0.0, 1.0),
        learning_rate=1.0,
        gamma_w=_FIGURE_5_GAMMA_W,
    )
    for state, action in executed:
        next_state, terminal = (int(x[state, action, 0]) for x in (world.mdp.next_state, world.mdp.terminal))
        agent.observe(state, action, 0.0, next_state, bool(terminal))
    agent.replay(_FIGURE_5_SWEEPS)
    counts = [(1.0 - _FIGURE_5_GAMMA_W) * float(agent.tables["visitation"][pair]) for pair in executed]
    return min(counts), max(counts)


def _starts() -> Iterator[Claim]:
    random = [name for name in (*TABLE_2, "deep-sea", "chain") if (make_world(name).mdp.start > 0).sum() > 1]
    yield erratum(
        "4.1",
        "in all environments the initial state is fixed",
        f"not in {', '.join(random)}: the flag of the deep sea, which is part of the state, is drawn for each episode",
    )


def _deep_sea() -> Iterator[Claim]:
    depths = (5, 10, 20)
    reached = {}
    for depth in depths:
        world = make_world("deep-sea", depth=depth)
        share = world.mdp.start.copy()
        for _ in range(depth - 1):
            following = np.zeros_like(share)
            np.add.at(following, world.mdp.next_state[:, :, 0], 0.5 * share[:, None])
            share = following
        reached[depth] = float(share[-2:].sum())
    world = make_world("deep-sea", depth=10)
    optimal = optimal_values(world.mdp, world.defaults.discount)
    diagonal = [11 * i * 2 + 1 for i in range(10)]
    best = [
        set(np.flatnonzero(np.isclose(optimal.q[s], optimal.q[s].max(), atol=1e-12)).tolist()) for s in (*diagonal, 0)
    ]
    text = ", ".join(f"{1 / share:,.0f} for N = {depth}" for depth, share in reached.items())
    yield exact_claim(
        "4.1.1",
        "a random policy reaches the chest with probability (1/2)^N, so after 2^N episodes on average",
        f"exact: {text}, 2^(N − 1) episodes: the ship starts in the first of the N rows, and both actions in the last "
        "cell open the chest; with N right moves in a row it would be 2^N",
        holds=all(np.isclose(share, 0.5**depth) for depth, share in reached.items()),
    )
    yield exact_claim(
        "4.1.1",
        "the optimal policy selects always “right” if there is the treasure, otherwise “left” at the initial state",
        f"treasure: “right” in {sum(each == {1} for each in best[:-1])} of 10 diagonal cells; bomb: "
        f"{'“left”' if best[-1] == {0} else 'another action'}; in the last cell both actions open the chest, and "
        "“left” has no penalty",
        holds=all(each == {1} for each in best[:-1]) and best[-1] == {0},
        partly=best[-1] == {0},
    )


def _steps() -> Iterator[Claim]:
    ours = {name: optimal_steps(make_world(name)) for name in TABLE_2}
    right = [ours[name] == TABLE_2[name][0] for name in TABLE_2]
    yield exact_claim(
        "Table 2",
        "the row “Optimal”: " + ", ".join(f"{name} {steps}" for name, (steps, *_) in TABLE_2.items()),
        ", ".join(f"{name} {steps}" for name, steps in ours.items()),
        holds=all(right),
        partly=any(right),
    )
    yield erratum("4.1.4", "wall: 135 steps are needed to reach the reward of 10,000", f"{ours['wall']} steps")
    world = make_world("deep-gridworld")
    optimal = optimal_values(world.mdp, world.defaults.discount)
    state = int(world.mdp.start.argmax())
    is_right = True
    for _ in range(10):
        is_right &= int(optimal.q[state].argmax()) == 1
        state = int(world.mdp.next_state[state, 1, 0])
    text = "deep gridworld: the optimal policy always goes “right”"
    yield exact_claim("4.1.3", text, "it does" if is_right else "it does not", holds=is_right)


def _prison_path() -> Iterator[Claim]:
    """Follow every optimal policy of the prison gridworld from the start."""
    world = make_world("prison")
    optimal, layout = optimal_values(world.mdp, world.defaults.discount), world.layout
    assert layout is not None
    moves, visited, last = world.mdp.next_state[:, :, 0], set[int](), set[str]()
    states = {int(world.mdp.start.argmax())}
    while states:
        visited |= states
        following: set[int] = set()
        for state in states:
            best = np.flatnonzero(np.isclose(optimal.q[state], optimal.q[state].max(), atol=1e-12))
            if not world.mdp.terminal[state, best[0], 0]:
                following |= {int(moves[state, action]) for action in best}
                last |= {world.action_names[a] for a in best if world.mdp.terminal[moves[state, a], 0, 0]}
        states = following
    cells = {(int(layout.row[s]) + 1, int(layout.column[s]) + 1) for s in visited}
    below, around = (5, 4) in cells and (4, 4) not in cells, (2, 2) not in cells
    yield exact_claim(
        "4.1.4",
        "prison: the optimal policy navigates around the first distractor, then right below the prison, and finally up "
        "to the goal",
        f"around the distractor in row 2, column 2: {'yes' if around else 'no'}; through the cell below the prison: "
        f"{'yes' if below else 'no'}; the last move is “{' or '.join(sorted(last))}”",
        holds=around and below and last == {"up"},
        partly=around and below,
    )


def _horizons() -> Iterator[Claim]:
    ours = {name: (make_world(name).defaults.horizon, make_world(name).defaults.long_horizon) for name in TABLE_2}
    right = [ours[name] == TABLE_2[name][1:] for name in TABLE_2]
    text = ", ".join(f"{name} {short} and {long}" for name, (short, long) in ours.items())
    yield exact_claim("Table 2", "the rows “Short H.” and “Long H.”", text, holds=all(right), partly=any(right))
    noisy = {name: make_world(name).defaults.horizon for name in STOCHASTIC_HORIZONS}
    text = ", ".join(f"{name} {horizon}" for name, horizon in noisy.items())
    yield exact_claim("Table 2", "the row “Stochastic”: 55, 15, 25", text, holds=noisy == STOCHASTIC_HORIZONS)


def _penalties() -> Iterator[Claim]:
    worlds = {name: make_world(name) for name in ("toy", "prison", "wall")}
    with_penalty = [name for name, world in worlds.items() if world.mdp.reward[world.mdp.start > 0].max() == -0.01]
    yield exact_claim(
        "4.1.4",
        "in the gridworlds the agent gets a penalty of −0.01 at each step",
        f"in {' and '.join(with_penalty)}; not in toy, as in the released code, whose numbers the tables have",
        holds=len(with_penalty) == len(worlds),
        partly=len(with_penalty) == len(worlds) - 1,
    )


def _wall() -> Iterator[Claim]:
    layout = make_world("wall").layout
    assert layout is not None
    kinds, values = layout.kind[0], layout.value[0]
    rewards = np.argwhere(np.isin(kinds, (CellKind.TREASURE, CellKind.PENALTY)))
    small = [cell for cell in rewards if abs(values[tuple(cell)]) < 100]
    corner = {(0, 0): "upper left", (0, 49): "upper right", (49, 0): "lower left", (49, 49): "lower right"}
    large = {
        int(values[row, column]): corner[int(row), int(column)] for row, column in rewards if values[row, column] > 100
    }
    yield exact_claim("4.1.4", "wall: the first area has six small rewards", f"{len(small)}", holds=len(small) == 6)
    yield erratum(
        "4.1.4",
        "wall: the treasures of 500 and 10,000 are in the upper right and the lower right corner",
        f"500: {large[500]}; 10,000: {large[10000]}: the map of the released code is that of the text, turned by 90°",
    )


def _noise() -> Iterator[Claim]:
    total = _NOISE + 2 * (1 - _NOISE / 2)
    yield erratum(
        "4.2.5",
        "a transition succeeds with probability p, with 1 − p/2 the agent does not move, with 1 − p/2 it moves "
        "to a random adjacent state; p = 0.9",
        f"these sum to {total:g}; the released code has 0.9, 0.05 and 0.05",
    )


CHECKS = (
    _problem_chain, _uniform_count_chain, _starts, _deep_sea, _steps, _prison_path, _horizons, _penalties, _wall,
    _noise,
)  # fmt: skip
WORLDS = (
    "toy-example", "deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall", "chain", *STOCHASTIC_HORIZONS,
)  # fmt: skip
_LEGENDS = {
    ("deep-sea", "reward of one action only"): "−0.01/N for “right”",
    ("taxi", "treasure, ends the episode"): "goal, ends the episode",
}
"""What a kind of cell is in a world."""
_PICTURES = {
    "problem-chain": "Naive exploration performs poorly: up and down return to the start",
    "toy-example": "The toy problem",
    "deep-sea": "The deep sea, here with depth 10",
    "taxi": "The taxi driver",
    "deep-gridworld": "The deep gridworld",
    "toy": "The toy gridworld",
    "prison": "The prison gridworld",
    "wall": "The wall gridworld",
    "chain": "The ergodic chain",
}


def runs(selection: StudySelection) -> list[Run]:
    """Return an empty list: this experiment has no runs."""
    selection.select_worlds(WORLDS)
    return []


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return a table of the worlds, a picture of each, and the claims."""
    title = "The environments"
    heads = ["world", "reachable states", "actions", "steps of the optimal policy", "short horizon", "long horizon"]
    heads.append("steps")
    rows = [_row(make_world(name)) for name in WORLDS]
    figures: dict[str, Callable[[], Figure]] = {
        name: functools.partial(_draw, name, caption) for name, caption in _PICTURES.items()
    }
    figures["uniform-count-chain"] = draw_uniform_count_chain
    return Report(
        renderables=[as_rich_table(title, heads, rows, note, text_columns=1)],
        files={"table.md": as_markdown_table(title, heads, rows, "", note), "table.csv": as_csv(heads, rows)},
        figures=figures,
        claims=check_all(CHECKS),
    )


def _row(world: World) -> list[str]:
    defaults, steps = world.defaults, optimal_steps(world)
    return [
        world.name,
        f"{int(reachable_states(world.mdp).sum()):,}",
        str(world.n_actions),
        "–" if steps is None else str(steps),
        f"{defaults.horizon:,}",
        "–" if defaults.long_horizon is None else f"{defaults.long_horizon:,}",
        f"{defaults.budget:,}",
    ]


@styled
def _draw(name: str, title: str) -> Figure:
    options = {"depth": 10} if name == "deep-sea" else {}
    figure = (problem_chain() if name == "problem-chain" else make_world(name, **options)).draw(title=title)
    for text in (text for legend in figure.legends for text in legend.get_texts()):
        text.set_text(_LEGENDS.get((name, text.get_text()), text.get_text()))
    if name == "toy-example":
        add_coordinates(figure.axes[0])
    return figure


@styled
def draw_uniform_count_chain() -> Figure:
    """Draw the states of Figure 5 with the transitions of its two episodes."""
    world, executed = uniform_count_chain()
    title = "The chain with uniform counts\nepisodes A, D, E (blue) and A, C, D, D, C, B, B, B (red)"
    figure = draw_graph(world, title=title, names=STATES, colors=executed, only_colored=True)
    axes = figure.axes[0]
    # The text names this action and does not say where it leads.
    arrow = {"arrowstyle": "-|>", "linestyle": "--", "color": GREY, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (-0.62, -0.45), (-0.22, -0.2), arrowprops=arrow)
    axes.text(-0.68, -0.62, "“left” of A:\nnot executed", color=GREY, fontsize=8, va="top")
    return figure


STUDY = Study(
    id="environments",
    reference="Figures 1, 2, 5, 7, 9, 11, 13–15, 24, Table 2",
    description="pictures of the environments, and the statements about them",
    runs=runs,
    report=report,
    quick_changes="nothing: it takes seconds",
)
