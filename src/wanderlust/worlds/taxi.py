"""Multi-passenger taxi (Section 4.1.2): bring up to three passengers to the goal.

Entering a passenger's cell picks the passenger up. Acting in the goal cell terminates the episode with a reward of 0,
1, 3 or 15 for 0 to 3 passengers on board: going to the goal with fewer than three is a distractor.

State index: (row · 7 + column) · 8 + 4·p1 + 2·p2 + p3, where p1, p2, p3 are 1 if the passenger is on board.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import deterministic_mdp
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, Layout, World
from wanderlust.worlds.grid import MOVES

MAP = """\
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
    """Return a grid in which bringing three passengers to the goal gives a far higher reward than bringing two."""
    cells = np.array(MAP.split()).view("U1").reshape(6, 7)
    is_open = cells != "#"
    rows, columns = cells.shape
    row, column, on_board = np.indices((rows, columns, 8), dtype=np.int32).reshape(3, -1)

    pick_up = np.zeros((rows, columns), dtype=np.int32)
    for bit, passenger in ((4, "1"), (2, "2"), (1, "3")):
        pick_up[cells == passenger] = bit
    next_state = np.empty((len(row), len(MOVES)), dtype=np.int32)
    for action, (down, right) in enumerate(MOVES):
        new_row = np.clip(row + down, 0, rows - 1)
        new_column = np.clip(column + right, 0, columns - 1)
        blocked = ~is_open[new_row, new_column]
        new_row, new_column = np.where(blocked, row, new_row), np.where(blocked, column, new_column)
        next_on_board = on_board | pick_up[new_row, new_column]
        next_state[:, action] = (new_row * columns + new_column) * 8 + next_on_board

    goal_reward = np.array(GOAL_REWARDS)[[bin(passengers).count("1") for passengers in range(8)]]
    at_goal = (cells == "G")[row, column]
    start = np.zeros(len(row))
    start[0] = 1.0
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
            kind=np.stack([_kinds(cells, pick_up, passengers) for passengers in range(8)]),
            value=np.where(cells == "G", goal_reward[:, None, None], 0.0),
            layer_names=tuple(_layer_name(passengers) for passengers in range(8)),
        ),
    )


def _kinds(cells: NDArray[np.str_], pick_up: NDArray[np.int32], on_board: int) -> NDArray[np.uint8]:
    kind = np.full(cells.shape, CellKind.FLOOR, dtype=np.uint8)
    kind[cells == "#"] = CellKind.WALL
    kind[cells == "S"] = CellKind.START
    kind[cells == "G"] = CellKind.TREASURE
    kind[(pick_up & ~on_board) > 0] = CellKind.PASSENGER
    return kind


def _layer_name(on_board: int) -> str:
    numbers = [str(number) for number, bit in ((1, 4), (2, 2), (3, 1)) if on_board & bit]
    return "with " + ", ".join(numbers) if numbers else "empty"
