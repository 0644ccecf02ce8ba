"""The gridworlds of the exam. Each family changes one property with its level; everything else stays the same.

The start is in the upper left corner unless a family says otherwise, and acting on the treasure gives a reward of 1
and terminates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wanderlust.core.mdp import TabularMDP
from wanderlust.worlds.base import World
from wanderlust.worlds.exam.build import (
    Cell,
    cells_world,
    distances,
    parameter,
    scattered,
    seeded,
    shuffled_actions,
    with_stochastic_settings,
)
from wanderlust.worlds.outcomes import merge_outcomes
from wanderlust.worlds.slips import slip_mdp

TREASURE = {"T": "treasure 1"}


def idle(level: int, held_out: bool) -> World:
    """4 to 32 actions, of which four move; the others do nothing."""
    n_actions = int(parameter(((4, 8, 16, 32), (5, 10, 20, 28)), level, held_out))
    random, shape = seeded("idle", level, held_out), (8, 7) if held_out else (7, 7)
    goal = (shape[0] - 1, shape[1] - 1)
    marks = dict.fromkeys(scattered(shape, 9, [(0, 0), goal], random), "#") | {(0, 0): "S", goal: "T"}
    world = cells_world(shape, marks, TREASURE, horizon=60, budget=240 * n_actions)
    mdp, n_idle = world.mdp, n_actions - world.n_actions
    stay = np.repeat(np.arange(mdp.n_states, dtype=np.int32)[:, None, None], n_idle, axis=1)
    # In the treasure's cell every action collects it, so the idle ones do, too.
    extended = TabularMDP(
        probability=np.concatenate([mdp.probability, np.ones((mdp.n_states, n_idle, 1))], axis=1),
        next_state=np.concatenate([mdp.next_state, stay], axis=1),
        reward=np.concatenate([mdp.reward, np.repeat(mdp.reward[:, :1], n_idle, axis=1)], axis=1),
        terminal=np.concatenate([mdp.terminal, np.repeat(mdp.terminal[:, :1], n_idle, axis=1)], axis=1),
        start=mdp.start,
    )
    names = tuple(f"action {action}" for action in range(n_actions))
    return replace(world, mdp=shuffled_actions(extended, random), action_names=names)


def size(level: int, held_out: bool) -> World:
    """2×2 to 7×7 rooms with random doors; the treasure is in the farthest room."""
    k = int(parameter(((2, 3, 5, 7), (2, 4, 5, 6)), level, held_out))
    random, side = seeded("size", level, held_out), 4 * k - 1
    rooms, entered = [(0, 0)], {(0, 0)}
    doors: set[Cell] = set()
    while rooms:  # A random spanning tree of the rooms, depth first.
        row, column = rooms[-1]
        steps = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        near = [(row + down, column + right) for down, right in steps]
        near = [room for room in near if 0 <= room[0] < k and 0 <= room[1] < k and room not in entered]
        if not near:
            rooms.pop()
            continue
        room = random.choice(near)
        offset = random.randrange(3)
        if room[0] == row:
            doors.add((4 * row + offset, 4 * max(column, room[1]) - 1))
        else:
            doors.add((4 * max(row, room[0]) - 1, 4 * column + offset))
        entered.add(room)
        rooms.append(room)
    walls = {(r, c) for r in range(side) for c in range(side) if (r % 4 == 3 or c % 4 == 3) and (r, c) not in doors}
    far = distances((side, side), walls, (0, 0))
    goal = max(far, key=lambda cell: (far[cell], cell))
    marks = dict.fromkeys(walls, "#") | {(0, 0): "S", goal: "T"}
    return cells_world((side, side), marks, TREASURE, horizon=2 * far[goal], budget=480 * k * k)


def cutoff(level: int, held_out: bool) -> World:
    """Episodes of 400 down to 26 steps, where the shortest way to the treasure takes 25."""
    horizon = int(parameter(((400, 120, 50, 26), (300, 90, 40, 27)), level, held_out))
    shape = (12, 14) if held_out else (13, 13)
    marks = {(0, 0): "S", (shape[0] - 1, shape[1] - 1): "T"}
    return cells_world(shape, marks, TREASURE, horizon=horizon, budget=4_800)


def distract(level: int, held_out: bool) -> World:
    """1 to 8 lesser treasures, the better the farther away; the best one is behind a wall with one gap."""
    n = int(parameter(((1, 2, 4, 8), (1, 3, 5, 7)), level, held_out))
    random, shape, column = seeded("distract", level, held_out), (15, 15), 10
    gap = random.randrange(15)
    walls = {(row, column) for row in range(15) if row != gap}
    far = distances(shape, walls, (0, 0))
    goal = max((cell for cell in far if cell[1] > column), key=lambda cell: (far[cell], cell))
    near = [cell for cell in far if cell[1] < column and far[cell] >= 3]
    marks, legend = dict.fromkeys(walls, "#") | {(0, 0): "S", goal: "T"}, dict(TREASURE)
    best = 0.99 ** far[goal]
    for i, cell in enumerate(random.sample(near, n)):
        # Worth 40 to 80 % of the best treasure from the start, so that none of them passes the level.
        value = (0.4 + 0.4 * far[cell] / 24) * best / 0.99 ** far[cell]
        marks[cell], legend["abcdefgh"[i]] = "abcdefgh"[i], f"treasure {value:.4f}"
    return cells_world(shape, marks, legend, horizon=3 * far[goal], budget=6_400)


def mislead(level: int, held_out: bool) -> World:
    """A field in which every action costs 0.001 to 0.05, between the start and the treasure; beside the start, exits.

    An exit terminates the episode without a reward. Without exits a random policy would collect so many costs that
    standing still would be a good score.
    """
    cost = parameter(((0.001, 0.005, 0.02, 0.05), (0.002, 0.01, 0.03, 0.045)), level, held_out)
    rows, columns = (9, 13) if held_out else (10, 12)
    marks = {(row, column): "c" for row in range(rows) for column in range(3, columns)}
    marks |= {(0, 0): "S", (2, 0): "e", (2, 1): "e", (2, 2): "e", (rows - 1, columns - 1): "T"}
    legend = {**TREASURE, "c": f"puddle -{cost}", "e": "treasure 0"}
    return cells_world((rows, columns), marks, legend, horizon=60, budget=3_200)


def cliffs(level: int, held_out: bool) -> World:
    """5 to 35 cells that terminate the episode with a reward of −0.2."""
    n = int(parameter(((5, 15, 25, 35), (8, 16, 24, 32)), level, held_out))
    random, shape = seeded("cliffs", level, held_out), (12, 9) if held_out else (9, 12)
    goal = (shape[0] - 1, shape[1] - 1)
    marks = dict.fromkeys(scattered(shape, n, [(0, 0), goal], random), "x") | {(0, 0): "S", goal: "T"}
    return cells_world(shape, marks, {**TREASURE, "x": "penalty -0.2"}, horizon=80, budget=8_000)


def prison(level: int, held_out: bool) -> World:
    """Twelve cells that an action leaves with probability 0.3 down to 0.01, most of them near the treasure."""
    escape = parameter(((0.3, 0.1, 0.03, 0.01), (0.25, 0.08, 0.04, 0.015)), level, held_out)
    random, shape = seeded("prison", level, held_out), (8, 8)
    goal = (7, 7)
    around = [(row, column) for row in range(3, 8) for column in range(3, 8) if (row, column) != goal]
    while True:
        cells = random.sample(around, 12)
        if goal in distances(shape, cells, (0, 0)):
            break
    marks = dict.fromkeys(cells, "p") | {(0, 0): "S", goal: "T"}
    return cells_world(shape, marks, {**TREASURE, "p": f"prison {escape}"}, horizon=60, budget=4_800)


def slip(level: int, held_out: bool) -> World:
    """Actions that are replaced by a random one with a probability of 0.1 to 0.6."""
    probability = parameter(((0.1, 0.25, 0.4, 0.6), (0.15, 0.3, 0.45, 0.55)), level, held_out)
    random, shape = seeded("slip", level, held_out), (7, 6) if held_out else (6, 7)
    goal = (shape[0] - 1, shape[1] - 1)
    marks = dict.fromkeys(scattered(shape, 6, [(0, 0), goal], random), "#") | {(0, 0): "S", goal: "T"}
    world = cells_world(shape, marks, TREASURE, horizon=100, budget=2_400 * level)
    mdp = slip_mdp(world.mdp, success=1.0 - probability, random=probability, stay=0.0)
    return with_stochastic_settings(replace(world, mdp=mdp))


def noise(level: int, held_out: bool) -> World:
    """A near treasure of 0.5 and a far one of 1, both with random rewards of a standard deviation of 0.1 to 2."""
    deviation = parameter(((0.1, 0.5, 1.0, 2.0), (0.2, 0.6, 1.2, 1.8)), level, held_out)
    shape = (5, 7) if held_out else (6, 6)
    goal = (shape[0] - 1, shape[1] - 1)
    marks = {(0, 0): "S", goal: "T", (1, 2): "t"}
    world = cells_world(shape, marks, {**TREASURE, "t": "treasure 0.5"}, horizon=40, budget=16_000)
    spread = np.where(world.mdp.terminal, deviation, 0.0)
    mdp = TabularMDP(
        probability=np.repeat(world.mdp.probability / 2, 2, axis=2),
        next_state=np.repeat(world.mdp.next_state, 2, axis=2),
        reward=np.concatenate([world.mdp.reward - spread, world.mdp.reward + spread], axis=2),
        terminal=np.repeat(world.mdp.terminal, 2, axis=2),
        start=world.mdp.start,
    )
    return with_stochastic_settings(replace(world, mdp=merge_outcomes(mdp)))
