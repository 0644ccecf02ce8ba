"""What the worlds of the exam are built from: seeded random numbers, grids from cells, MDPs from tables.

Every random choice comes from `random.Random`, whose sequences are the same in all supported versions of Python.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import TabularMDP, deterministic_mdp
from wanderlust.worlds.base import Defaults, World
from wanderlust.worlds.grid import MOVES, grid_world

Cell = tuple[int, int]


def seeded(family: str, level: int, held_out: bool) -> Random:
    """Return the random numbers of one world."""
    text = f"{family} {level} {'held out' if held_out else 'development'}"
    return Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def parameter(levels: tuple[tuple[float, ...], tuple[float, ...]], level: int, held_out: bool) -> float:
    """Return the parameter of a level; `levels` has those of the development worlds, then the held-out ones."""
    return levels[1 if held_out else 0][level - 1]


def shuffled_actions(mdp: TabularMDP, random: Random) -> TabularMDP:
    """Return the MDP with the actions of every state in a random order, so that no action is right everywhere."""
    order = np.array([random.sample(range(mdp.n_actions), mdp.n_actions) for _ in range(mdp.n_states)])
    rows = np.arange(mdp.n_states)[:, None]
    return mdp._replace(
        probability=mdp.probability[rows, order],
        next_state=mdp.next_state[rows, order],
        reward=mdp.reward[rows, order],
        terminal=mdp.terminal[rows, order],
    )


def table_world(mdp: TabularMDP, *, horizon: int, budget: int, r_max: float = 1.0) -> World:
    """Return a world without a map; its actions have numbers."""
    world = World(
        name="exam",
        mdp=mdp,
        defaults=Defaults(horizon=horizon, budget=budget),
        action_names=tuple(f"action {action}" for action in range(mdp.n_actions)),
        r_max=r_max,
    )
    return world if mdp.deterministic else with_stochastic_settings(world)


def line_world(
    next_state: Iterable[Iterable[int]], goal: int, *, horizon: int, budget: int, random: Random | None = None
) -> World:
    """Return a deterministic world of states in a row, in which acting in the state `goal` gives 1 and terminates."""
    table: NDArray[np.int64] = np.array([list(row) for row in next_state])
    reward, terminal, start = np.zeros(table.shape), np.zeros(table.shape, np.bool_), np.zeros(len(table))
    reward[goal], terminal[goal], start[0] = 1.0, True, 1.0
    mdp = deterministic_mdp(table, reward, terminal, start)
    return table_world(mdp if random is None else shuffled_actions(mdp, random), horizon=horizon, budget=budget)


def cells_world(
    size: Cell, marks: Mapping[Cell, str], legend: Mapping[str, str], *, horizon: int, budget: int
) -> World:
    """Return the gridworld of floor cells with the letters `marks` in some of them."""
    rows, columns = size
    lines = ["".join(marks.get((row, column), ".") for column in range(columns)) for row in range(rows)]
    text = "\n".join([*lines, "", *(f"{letter} = {meaning}" for letter, meaning in legend.items())])
    world = grid_world(text, name="exam", horizon=horizon, budget=budget)
    return world if world.mdp.deterministic else with_stochastic_settings(world)


def with_stochastic_settings(world: World) -> World:
    """Return the world with the paper's settings for stochastic worlds (Section 4.2.5)."""
    return replace(world, defaults=replace(world.defaults, learning_rate=0.1, gamma_w=0.9))


def distances(size: Cell, blocked: Iterable[Cell], origin: Cell) -> dict[Cell, int]:
    """Return the number of moves from `origin` to every cell that can be reached without the blocked ones."""
    rows, columns = size
    found, queue, walls = {origin: 0}, deque([origin]), set(blocked)
    while queue:
        row, column = queue.popleft()
        for down, right in MOVES:
            cell = row + down, column + right
            inside = 0 <= cell[0] < rows and 0 <= cell[1] < columns
            if inside and cell not in walls and cell not in found:
                found[cell] = found[row, column] + 1
                queue.append(cell)
    return found


def scattered(size: Cell, n: int, keep: Iterable[Cell], random: Random) -> list[Cell]:
    """Return `n` random cells, without those to keep, that leave a path between all of the kept ones."""
    rows, columns = size
    kept = list(keep)
    free = [(row, column) for row in range(rows) for column in range(columns) if (row, column) not in kept]
    while True:
        cells = random.sample(free, n)
        reached = distances(size, cells, kept[0])
        if all(cell in reached for cell in kept):
            return cells
