"""The worlds of the paper.

The gridworlds (Sections 3.1 and 4.1) are text maps. Their defaults are those of the published experiments: in
particular the step penalty of −0.01, which the text gives to all gridworlds, was not used in `toy` and
`deep-gridworld`, and the prison could not be left. Their noisy versions (Section 4.2.5) have actions that slip. Deep
sea, taxi and the chain are given by their transitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np

from wanderlust.core.errors import check_choice, check_flag, check_integer, check_number
from wanderlust.core.mdp import TabularMDP, deterministic_mdp, merge_outcomes
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, Layout, World, single_layer_layout
from wanderlust.worlds.grid import grid_world, next_cells
from wanderlust.worlds.slips import with_slips

MAX_DEPTH = 1000
MAX_LENGTH = 100_000

StepPenalty = Annotated[float, "reward added to every action: zero or negative"]
Escape = Annotated[float, "probability that an action in the prison succeeds (0: the agent never leaves it)"]
Success = Annotated[float, "probability that an action has its normal outcome"]
Random = Annotated[float, "probability that an action is replaced by one drawn uniformly from all actions"]
Stay = Annotated[float, "probability that the agent does not move"]

TOY_EXAMPLE = """\
S..
.P.
A.B

A = treasure 1
B = treasure 2
horizon = 5
budget = 500
"""

TOY = """\
S....
.....
.....
.....
....A

A = treasure 1
horizon = 11
long_horizon = 22
budget = 2000
"""

PRISON = """\
S....
.A...
.....
##.PB
....C

A = treasure 1
B = treasure 2
C = treasure 5
horizon = 11
long_horizon = 22
budget = 1000
"""

DEEP_GRIDWORLD = """\
...........
.A.........
ScccccccccB
.A.........
...........

A = treasure 1
B = treasure 2 enter left right
c = puddle -0.01 enter left right
horizon = 55
long_horizon = 110
budget = 10000
"""


def _wall_map() -> str:
    """Return the 50×50 map with an L-shaped wall; there are passages at its upper and its right end."""
    cells = [["."] * 50 for _ in range(50)]
    for column in range(1, 41):
        cells[40 - 1][column - 1] = "#"
    for row in range(5, 41):
        cells[row - 1][40 - 1] = "#"
    marks = {"S": (25, 25), "A": (50, 1), "B": (50, 50), "C": (10, 22), "D": (22, 24), "E": (31, 8)}
    marks |= {"F": (30, 30), "G": (38, 20), "H": (20, 38)}
    for letter, (row, column) in marks.items():
        cells[row - 1][column - 1] = letter
    legend = """\
A = treasure 10000
B = treasure 500
C = treasure 15
D = treasure 3
E = treasure 22
F = penalty -20
G = penalty -15
H = penalty -15
horizon = 330
long_horizon = 660
budget = 100000
"""
    return "\n".join("".join(line) for line in cells) + "\n\n" + legend


def _grid(name: str, text: str, *, step_penalty: float, **others: Any) -> World:
    """Return the world of a map; the other options are `escape` and `terminal`, if the world has them."""
    options: dict[str, Any] = {"step_penalty": check_number("step_penalty", step_penalty, high=0)}
    if "escape" in others:
        options["escape"] = check_number("escape", others["escape"], low=0, high=1)
    if "terminal" in others:
        options["terminal"] = check_flag("terminal", others["terminal"])
    escape, terminal = options.get("escape"), options.get("terminal")
    world = grid_world(text, name=name, step=options["step_penalty"], escape=escape, treasures_end=terminal)
    return replace(world, options=options)


def toy_example(
    *,
    terminal: Annotated[bool, "whether collecting a treasure terminates the episode"] = True,
    escape: Escape = 0.0,
    step_penalty: StepPenalty = 0.0,
) -> World:
    """Return the 3×3 example of Section 3: a distractor, a prison, and the better treasure behind it."""
    return _grid("toy-example", TOY_EXAMPLE, step_penalty=step_penalty, escape=escape, terminal=terminal)


def toy(*, step_penalty: StepPenalty = 0.0) -> World:
    """Return a 5×5 grid with one treasure in the far corner: a sparse reward without distractors."""
    return _grid("toy", TOY, step_penalty=step_penalty)


def prison(*, escape: Escape = 0.0, step_penalty: StepPenalty = -0.01) -> World:
    """Return a 5×5 grid with two distractors and a prison next to the best treasure."""
    return _grid("prison", PRISON, step_penalty=step_penalty, escape=escape)


def wall(*, step_penalty: StepPenalty = -0.01) -> World:
    """Return a 50×50 grid whose best treasure is behind a wall, 124 steps away."""
    return _grid("wall", _wall_map(), step_penalty=step_penalty)


def deep_gridworld(*, step_penalty: StepPenalty = 0.0) -> World:
    """Return a corridor of small negative rewards that leads to the better treasure; it is open only at its start."""
    return _grid("deep-gridworld", DEEP_GRIDWORLD, step_penalty=step_penalty)


def noisy_toy(
    *, step_penalty: StepPenalty = 0.0, success: Success = 0.9, random: Random = 0.05, stay: Stay = 0.05
) -> World:
    """`toy` with actions that slip."""
    return _noisy(toy(step_penalty=step_penalty), (success, random, stay), horizon=15, budget=1_500)


def noisy_prison(
    *,
    escape: Escape = 0.0,
    step_penalty: StepPenalty = -0.01,
    success: Success = 0.9,
    random: Random = 0.05,
    stay: Stay = 0.05,
) -> World:
    """`prison` with actions that slip."""
    world = prison(escape=escape, step_penalty=step_penalty)
    return _noisy(world, (success, random, stay), horizon=25, budget=5_000)


def noisy_deep_gridworld(
    *, step_penalty: StepPenalty = 0.0, success: Success = 0.9, random: Random = 0.05, stay: Stay = 0.05
) -> World:
    """`deep-gridworld` with actions that slip."""
    return _noisy(deep_gridworld(step_penalty=step_penalty), (success, random, stay), horizon=55, budget=10_000)


def _noisy(world: World, slips: tuple[float, float, float], *, horizon: int, budget: int) -> World:
    success, random, stay = slips
    slipping = with_slips(world, success=success, random=random, stay=stay)
    return replace(
        slipping,
        name=f"noisy-{world.name}",
        defaults=replace(slipping.defaults, horizon=horizon, long_horizon=None, budget=budget),
        options={**world.options, "success": float(success), "random": float(random), "stay": float(stay)},
    )


# --- Deep sea ------------------------------------------------------------------------------------------


def deep_sea(
    *,
    depth: Annotated[int, "N: number of rows and columns"] = 50,
    flag: Annotated[
        Literal["random", "treasure", "bomb"], "content of the last cell; random: drawn at the start of each episode"
    ] = "random",
) -> World:
    """Return deep sea, in which only one sequence of actions reaches the treasure.

    Osband et al.; Section 4.1.1: descend N rows, moving left or right, to a treasure or a bomb. Every action moves
    down one row. Only "right" in each of the N rows leads to the last cell, and each "right" on that diagonal has a
    reward of −0.01/N, so all rewards that are easy to find favour "left". A flag in the state shows from the start
    whether the last cell holds the treasure or the bomb. Acting in the last row terminates the episode.

    State index: ((row · N) + column) · 2 + flag; flag 0 is the bomb, 1 the treasure. The cells above the diagonal
    exist as states but cannot be reached, so N(N+1) states are reachable.
    """
    right = 1
    n = check_integer("depth", depth, low=2, high=MAX_DEPTH)
    content = check_choice("flag", flag, ("random", "treasure", "bomb"))
    row, column, treasure = np.indices((n, n, 2), dtype=np.int32).reshape(3, -1)

    next_row = np.minimum(row + 1, n - 1)
    next_column = np.stack([np.maximum(column - 1, 0), np.minimum(column + 1, n - 1)], axis=1)
    next_state = (next_row[:, None] * n + next_column) * 2 + treasure[:, None]

    at_goal = (row == n - 1) & (column == n - 1)
    reward = np.repeat(np.where(at_goal, np.where(treasure == 1, 1.0, -1.0), 0.0)[:, None], 2, axis=1)
    reward[row == column, right] -= 0.01 / n
    terminal = np.repeat((row == n - 1)[:, None], 2, axis=1)

    start = np.zeros(2 * n * n)
    start[:2] = {"random": (0.5, 0.5), "bomb": (1.0, 0.0), "treasure": (0.0, 1.0)}[content]
    kind = np.full((2, n, n), CellKind.FLOOR, dtype=np.uint8)
    kind[:, np.triu(np.ones((n, n), dtype=bool), k=1)] = CellKind.WALL
    kind[:, 0, 0] = CellKind.START
    kind[:, -1, -1] = CellKind.PENALTY, CellKind.TREASURE
    value = np.zeros((2, n, n))
    value[:, -1, -1] = -1.0, 1.0
    return World(
        name="deep-sea",
        mdp=deterministic_mdp(next_state, reward, terminal, start),
        defaults=Defaults(horizon=n, budget=500_000),
        action_names=("left", "right"),
        r_max=1.0,
        layout=Layout(
            rows=n,
            columns=n,
            row=row,
            column=column,
            layer=treasure,
            kind=kind,
            value=value,
            layer_names=("bomb", "treasure"),
        ),
        options={"depth": n, "flag": content},
    )


# --- Taxi ----------------------------------------------------------------------------------------------

TAXI = """\
S#1.#.G
.#..#..
.......
##...##
......2
3.....#
"""
GOAL_REWARDS = (0.0, 1.0, 3.0, 15.0)
"""The reward at the goal by the number of passengers on board."""


def taxi() -> World:
    """Return a grid in which bringing three passengers to the goal gives a far higher reward than bringing two.

    Section 4.1.2: entering a passenger's cell picks the passenger up. Acting in the goal cell terminates the episode
    with a reward of 0, 1, 3 or 15 for 0 to 3 passengers on board: going to the goal with fewer than three is a
    distractor.

    State index: (row · 7 + column) · 8 + 4·p1 + 2·p2 + p3, where p1, p2, p3 are 1 if the passenger is on board.
    """
    cells = np.array(TAXI.split()).view("U1").reshape(6, 7)
    rows, columns = cells.shape
    row, column, on_board = np.indices((rows, columns, 8), dtype=np.int32).reshape(3, -1)

    pick_up = np.zeros((rows, columns), dtype=np.int32)
    passengers = {"1": 4, "2": 2, "3": 1}
    for passenger, bit in passengers.items():
        pick_up[cells == passenger] = bit
    next_cell = np.repeat(next_cells(cells != "#"), 8, axis=0)
    next_state = next_cell * 8 + (on_board[:, None] | pick_up.ravel()[next_cell])

    goal_reward = np.array(GOAL_REWARDS)[[bin(layer).count("1") for layer in range(8)]]
    at_goal = (cells == "G")[row, column]
    start = np.zeros(len(row))
    start[0] = 1.0
    fixed = {"#": CellKind.WALL, "S": CellKind.START, "G": CellKind.TREASURE}
    kind = np.array([[fixed.get(letter, CellKind.FLOOR) for letter in line] for line in cells], dtype=np.uint8)
    kinds = np.repeat(kind[None], 8, axis=0)
    kinds[(pick_up & ~np.arange(8)[:, None, None]) > 0] = CellKind.PASSENGER
    on_board_names = [[number for number, bit in passengers.items() if layer & bit] for layer in range(8)]
    return World(
        name="taxi",
        mdp=deterministic_mdp(
            next_state=next_state,
            reward=np.repeat(np.where(at_goal, goal_reward[on_board], 0.0)[:, None], 4, axis=1),
            terminal=np.repeat(at_goal[:, None], 4, axis=1),
            start=start,
        ),
        defaults=Defaults(horizon=33, long_horizon=66, budget=20_000),
        action_names=GRID_ACTIONS,
        r_max=GOAL_REWARDS[-1],
        layout=Layout(
            rows=rows,
            columns=columns,
            row=row,
            column=column,
            layer=on_board,
            kind=kinds,
            value=np.where(cells == "G", goal_reward[:, None, None], 0.0),
            layer_names=tuple("with " + ", ".join(names) if names else "empty" for names in on_board_names),
        ),
    )


# --- The ergodic chain ---------------------------------------------------------------------------------


def chain(
    *,
    length: Annotated[int, "N: number of states of the chain"] = 27,
    p: Annotated[float, "probability that an action moves as intended"] = 0.99,
) -> World:
    """Return a stochastic, continuing chain: a tiny reward at the start, a large one at the far end.

    Section 4.2.4: N states in a row, and no terminal states. "forward" and "backward" move as intended with
    probability p and in the opposite direction otherwise. "stay" stays with probability p and otherwise moves to either
    neighbour. Moving beyond an end of the chain leaves the agent there. "stay" gives a reward of 1e−8 in the first
    state, where the agent starts, and 1 in the last. The reward depends on the state and action only: the agent
    receives it even if it does not stay.
    """
    stay = 2
    n = check_integer("length", length, low=2, high=MAX_LENGTH)
    p = check_number("p", p, low=0, high=1)
    states = np.arange(n, dtype=np.int32)
    forward, backward = np.minimum(states + 1, n - 1), np.maximum(states - 1, 0)

    # Outcomes in the order forward, stay, backward.
    next_state = np.repeat(np.stack([forward, states, backward], axis=1)[:, None, :], 3, axis=1)
    probability = np.array([[p, 0.0, 1 - p], [1 - p, 0.0, p], [(1 - p) / 2, p, (1 - p) / 2]])
    reward = np.zeros((n, 3, 3))
    reward[0, stay] = 1e-8
    reward[-1, stay] = 1.0
    mdp = TabularMDP(
        probability=np.repeat(probability[None], n, axis=0),
        next_state=next_state,
        reward=reward,
        terminal=np.zeros((n, 3, 3), dtype=np.bool_),
        start=(states == 0).astype(np.float64),
    )
    kind = np.full((1, n), CellKind.FLOOR, dtype=np.uint8)
    kind[0, 0], kind[0, -1] = CellKind.START, CellKind.REWARD
    value = np.zeros((1, n))
    value[0, 0], value[0, -1] = 1e-8, 1.0
    return World(
        name="chain",
        mdp=merge_outcomes(mdp),
        defaults=Defaults(
            horizon=200_000,
            budget=200_000,
            learning_rate=0.1,
            gamma_w=0.999,
            replay="none",
            epsilon_start=0.1,
            epsilon_end=0.1,
        ),
        action_names=("forward", "backward", "stay"),
        r_max=1.0,
        layout=single_layer_layout(kind, value),
        options={"length": n, "p": p},
    )
