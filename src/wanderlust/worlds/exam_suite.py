"""The suite of the exam: 20 families of worlds, four levels each, once for development and once held out.

A family changes one property with its level, which makes it harder; everything else stays the same. The held-out worlds
have other maps, sizes and random numbers. Defaults of explorers may be chosen on the development worlds only; results
are reported on the held-out ones.

In a gridworld the start is in the upper left corner unless a family says otherwise, and acting on the treasure gives a
reward of 1 and terminates. Every random choice comes from `random.Random`, whose sequences are the same in all
supported versions of Python. Budgets are such that an explorer that tries everything once in a good order needs about a
sixth of them, so that the score, which evaluates the policy from a sixteenth of the budget on, tells good explorers
apart.

The suite is frozen: `VERSION` changes whenever a world changes, and `fingerprint` identifies every world.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import check_choice, check_flag, check_integer
from wanderlust.core.mdp import TabularMDP, deterministic_mdp, merge_outcomes
from wanderlust.worlds.base import Defaults, World
from wanderlust.worlds.grid import MOVES, grid_world
from wanderlust.worlds.paper_worlds import chain as ergodic_chain
from wanderlust.worlds.paper_worlds import deep_sea
from wanderlust.worlds.slips import slip_mdp

Cell = tuple[int, int]
Family = Callable[[int, bool], World]

VERSION = 3
LEVELS = (1, 2, 3, 4)
PREFIX = "exam-"
FAMILIES: dict[str, Family] = {}
"""[name]: the function that returns the world of a level; its docstring says what the family tests."""
_SETTINGS = (
    "horizon", "budget", "discount", "learning_rate", "gamma_w", "replay", "epsilon_start", "epsilon_end",
)  # fmt: skip
"""The settings of a world that all runs in it use."""
HeldOut = Annotated[bool, "whether it is one of the worlds on which no explorer was tuned"]


def exam_factory(name: str) -> Callable[..., World]:
    """Return the factory of a family, by the name of its worlds."""
    family = name.removeprefix(PREFIX)

    def make(*, level: Annotated[int, "difficulty, from 1 to 4"] = 1, held_out: HeldOut = False) -> World:
        return exam_world(family, level=level, held_out=held_out)

    make.__doc__ = FAMILIES[family].__doc__
    return make


def exam_world(family: str, *, level: int = 1, held_out: bool = False) -> World:
    """Return a world of the exam."""
    make = FAMILIES[check_choice("family", family, FAMILIES)]
    level = check_integer("level", level, low=1, high=LEVELS[-1])
    held_out = check_flag("held_out", held_out)
    options = {"level": level, "held_out": held_out}
    return replace(make(level, held_out), name=f"{PREFIX}{family}", options=options)


def fingerprint(world: World) -> str:
    """Return a hash of everything of a world that a run depends on: dynamics, range of rewards, and settings."""
    values = [*(getattr(world.defaults, name) for name in _SETTINGS), *map(float, world.reward_range)]
    parts = hashlib.sha256(" ".join(map(str, values)).encode())
    if world.later is not None:
        parts.update(str(world.changes_at).encode())
    for array in (*world.mdp, *(world.later or ())):
        parts.update(np.ascontiguousarray(array).tobytes())
    return parts.hexdigest()[:16]


# --- Parts of worlds -----------------------------------------------------------------------------------


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
    return TabularMDP._make([*(array[rows, order] for array in mdp[:4]), mdp.start])


def table_world(mdp: TabularMDP, *, horizon: int, budget: int) -> World:
    """Return a world without a map, whose largest reward is 1; its actions have numbers."""
    world = World(
        name="exam",
        mdp=mdp,
        defaults=Defaults(horizon=horizon, budget=budget),
        action_names=tuple(f"action {action}" for action in range(mdp.n_actions)),
        r_max=1.0,
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
    size: Cell,
    marks: Mapping[Cell, str] | None = None,
    legend: Mapping[str, str] | None = None,
    *,
    goal: Cell | None = None,
    horizon: int,
    budget: int,
) -> World:
    """Return a gridworld with a treasure of 1, by default in the lower right corner; `marks` has letters of cells."""
    rows, columns = size
    letters = {**(marks or {}), (0, 0): "S", goal or (rows - 1, columns - 1): "T"}
    lines = ["".join(letters.get((row, column), ".") for column in range(columns)) for row in range(rows)]
    meanings = {"T": "treasure 1", **(legend or {})}
    text = "\n".join([*lines, "", *(f"{letter} = {meaning}" for letter, meaning in meanings.items())])
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


def scattered(size: Cell, n: int, random: Random, among: Iterable[Cell] | None = None) -> list[Cell]:
    """Return `n` random cells that leave a path between the upper left and the lower right corner."""
    corners = (0, 0), (size[0] - 1, size[1] - 1)
    free = [cell for cell in among or np.ndindex(size) if cell not in corners]
    while True:
        cells = random.sample(free, n)
        if corners[1] in distances(size, cells, corners[0]):
            return cells


# --- The families, in the order of reports --------------------------------------------------------------


def family(make: Family) -> Family:
    """Add a family to the suite."""
    FAMILIES[make.__name__] = make
    return make


@family
def depth(level: int, held_out: bool) -> World:
    """Deep sea with 8 to 40 rows; which action moves right is random in every cell."""
    n = int(parameter(((10, 20, 30, 40), (8, 18, 27, 36)), level, held_out))
    world = deep_sea(depth=n, flag="treasure")
    # Half of the states have the other flag and are never reached.
    mdp = TabularMDP._make(array[1::2] for array in world.mdp)
    mdp = mdp._replace(next_state=mdp.next_state // 2)
    return table_world(shuffled_actions(mdp, seeded("depth", level, held_out)), horizon=n, budget=16 * n * n)


@family
def lock(level: int, held_out: bool) -> World:
    """A combination lock of 6 to 48 digits: one of four actions advances, the others return to the first digit."""
    n = int(parameter(((6, 12, 24, 48), (8, 14, 28, 40)), level, held_out))
    rows = [(min(i + 1, n), 0, 0, 0) for i in range(n + 1)]
    return line_world(rows, n, horizon=2 * n + 2, budget=10 * n * n + 240, random=seeded("lock", level, held_out))


@family
def actions(level: int, held_out: bool) -> World:
    """A row of ten states in which one of 8 to 100 actions advances and the others go back one state."""
    n_actions = int(parameter(((8, 20, 50, 100), (10, 24, 48, 90)), level, held_out))
    rows = [(min(i + 1, 10), *[max(i - 1, 0)] * (n_actions - 1)) for i in range(11)]
    budget = 2_000 + 60 * n_actions
    return line_world(rows, 10, horizon=40, budget=budget, random=seeded("actions", level, held_out))


@family
def idle(level: int, held_out: bool) -> World:
    """4 to 36 actions, of which four move; the others do nothing."""
    n_actions = int(parameter(((4, 8, 16, 32), (5, 10, 20, 36)), level, held_out))
    random, shape = seeded("idle", 0 if held_out else level, held_out), (8, 7) if held_out else (7, 7)
    marks = dict.fromkeys(scattered(shape, 9, random), "#")
    world = cells_world(shape, marks, horizon=60, budget=1_200 + 90 * n_actions)
    # In the treasure's cell every action collects it, so the idle ones do, too.
    like = [*range(world.n_actions), *[0] * (n_actions - world.n_actions)]
    extended = TabularMDP._make([*(array[:, like] for array in world.mdp[:4]), world.mdp.start])
    extended.next_state[:, world.n_actions :] = np.arange(world.n_states)[:, None, None]
    names = tuple(f"action {action}" for action in range(n_actions))
    return replace(world, mdp=shuffled_actions(extended, random), action_names=names)


@family
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
    marks = dict.fromkeys(walls, "#")
    return cells_world((side, side), marks, goal=goal, horizon=2 * far[goal], budget=480 * k * k)


@family
def cutoff(level: int, held_out: bool) -> World:
    """Episodes of 400 down to 26 steps, where the shortest way to the treasure takes 25."""
    horizon = int(parameter(((400, 120, 50, 26), (300, 90, 40, 27)), level, held_out))
    return cells_world((12, 14) if held_out else (13, 13), horizon=horizon, budget=4_800)


@family
def distract(level: int, held_out: bool) -> World:
    """Four lesser treasures, the better the farther away; the best one is behind one to four walls with a gap."""
    random, shape = seeded("distract", 0, held_out), (15, 10 + 4 * level)
    gaps = [random.randrange(15) for _ in LEVELS][:level]
    walls = {(row, 10 + 4 * i) for i, gap in enumerate(gaps) for row in range(15) if row != gap}
    far = distances(shape, walls, (0, 0))
    goal = max((cell for cell in far if cell[1] > 6 + 4 * level), key=lambda cell: (far[cell], cell))
    near = [cell for cell in sorted(far) if cell[1] < 10 and far[cell] >= 3]
    marks, legend = dict.fromkeys(walls, "#"), dict[str, str]()
    best = 0.99 ** far[goal]
    for letter, cell in zip("abcd", random.sample(near, 4), strict=True):
        # Worth 20 to 50 % of the best treasure from the start, so that none of them passes the level.
        value = (0.2 + 0.3 * far[cell] / 24) * best / 0.99 ** far[cell]
        marks[cell], legend[letter] = letter, f"treasure {value:.4f}"
    return cells_world(shape, marks, legend, goal=goal, horizon=3 * far[goal], budget=8_000)


@family
def mislead(level: int, held_out: bool) -> World:
    """A field of 5 to 20 columns in which every action costs 0.005, before the treasure; beside the start, exits.

    An exit terminates the episode without a reward. Without exits a random policy would collect so many costs that
    standing still would be a good score.
    """
    cost, columns = 0.005, 3 + int(parameter(((5, 9, 14, 20), (6, 10, 15, 19)), level, held_out))
    rows = 9 if held_out else 10
    marks = {(row, column): "c" for row in range(rows) for column in range(3, columns)}
    marks |= {(2, 0): "e", (2, 1): "e", (2, 2): "e"}
    legend = {"c": f"puddle -{cost}", "e": "treasure 0"}
    return cells_world((rows, columns), marks, legend, horizon=80, budget=4_800)


@family
def cliffs(level: int, held_out: bool) -> World:
    """5 to 35 cells that terminate the episode with a reward of −0.2."""
    n = int(parameter(((5, 15, 25, 35), (6, 13, 21, 35)), level, held_out))
    # The same map in all levels, which differ in how many of the cells it has.
    random, shape = seeded("cliffs", 0, held_out), (12, 9) if held_out else (9, 12)
    marks = dict.fromkeys(scattered(shape, 35, random)[:n], "x")
    return cells_world(shape, marks, {"x": "penalty -0.2"}, horizon=80, budget=8_000)


@family
def prison(level: int, held_out: bool) -> World:
    """Twelve cells that an action leaves with probability 0.3 down to 0.01, most of them near the treasure."""
    escape = parameter(((0.3, 0.1, 0.03, 0.01), (0.25, 0.08, 0.04, 0.015)), level, held_out)
    random, shape = seeded("prison", level, held_out), (8, 8)
    around = [(row, column) for row in range(3, 8) for column in range(3, 8)]
    cells = scattered(shape, 12, random, around)
    return cells_world(shape, dict.fromkeys(cells, "p"), {"p": f"prison {escape}"}, horizon=60, budget=4_800)


@family
def slip(level: int, held_out: bool) -> World:
    """Actions that are replaced by a random one with a probability of 0.25 to 0.7."""
    probability = parameter(((0.25, 0.4, 0.55, 0.7), (0.3, 0.45, 0.58, 0.68)), level, held_out)
    random, shape = seeded("slip", 0, held_out), (12, 10) if held_out else (10, 12)
    marks = dict.fromkeys(scattered(shape, 20, random), "#")
    world = cells_world(shape, marks, horizon=100, budget=6_000)
    mdp = slip_mdp(world.mdp, success=1.0 - probability, random=probability, stay=0.0)
    return with_stochastic_settings(replace(world, mdp=mdp))


@family
def noise(level: int, held_out: bool) -> World:
    """A near treasure of 0.2 and a far one of 1, both with random rewards of a standard deviation of 0.1 to 2."""
    deviation = parameter(((0.1, 0.5, 1.0, 2.0), (0.2, 0.6, 1.2, 2.0)), level, held_out)
    shape = (9, 11) if held_out else (10, 10)
    world = cells_world(shape, {(1, 2): "t"}, {"t": "treasure 0.2"}, horizon=40, budget=16_000)
    spread = np.where(world.mdp.terminal, deviation, 0.0)
    mdp = TabularMDP(
        probability=np.repeat(world.mdp.probability / 2, 2, axis=2),
        next_state=np.repeat(world.mdp.next_state, 2, axis=2),
        reward=np.concatenate([world.mdp.reward - spread, world.mdp.reward + spread], axis=2),
        terminal=np.repeat(world.mdp.terminal, 2, axis=2),
        start=world.mdp.start,
    )
    return with_stochastic_settings(replace(world, mdp=merge_outcomes(mdp)))


@family
def river(level: int, held_out: bool) -> World:
    """RiverSwim (Strehl and Littman 2008) with 4 to 13 states: swimming up the river often fails."""
    n = int(parameter(((4, 6, 9, 12), (5, 7, 10, 13)), level, held_out))
    probability, next_state = np.zeros((n, 2, 3)), np.zeros((n, 2, 3), np.int32)
    reward = np.zeros((n, 2, 3))
    for state in range(n):
        next_state[state, 0] = max(state - 1, 0)
        next_state[state, 1] = max(state - 1, 0), state, min(state + 1, n - 1)
        probability[state, 0, 0] = 1.0
        probability[state, 1] = 0.05, 0.6, 0.35
    probability[0, 1], probability[-1, 1] = (0.0, 0.65, 0.35), (0.4, 0.0, 0.6)
    reward[0, 0], reward[-1, 1] = 0.005, (0.0, 0.0, 1.0)
    start = np.eye(n)[0]
    mdp = merge_outcomes(TabularMDP(probability, next_state, reward, np.zeros(reward.shape, np.bool_), start))
    return table_world(mdp, horizon=20 * n, budget=1_200)


@family
def chain(level: int, held_out: bool) -> World:
    """The paper's ergodic chain (Section 4.2.4) with 20 to 120 states."""
    n = int(parameter(((20, 40, 80, 120), (25, 50, 70, 100)), level, held_out))
    return table_world(ergodic_chain(length=n).mdp, horizon=5 * n, budget=240 * n)


@family
def tv(level: int, held_out: bool) -> World:
    """A television with 4 to 128 random channels beside the way to the treasure (Burda et al. 2019)."""
    channels = int(parameter(((4, 16, 64, 128), (6, 32, 72, 120)), level, held_out))
    rows, columns = (11, 10) if held_out else (10, 11)
    world = cells_world((rows, columns), horizon=40, budget=8_000)
    n, screen = world.n_states, columns + 1
    shape = (n + channels, world.n_actions + 1, channels)
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminal = np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    probability[:n, :-1, 0], next_state[:n, :-1, 0] = 1.0, world.mdp.next_state[:, :, 0]
    probability[:n, -1, 0], next_state[:n, -1, 0] = 1.0, np.arange(n)
    reward[:n, :, 0] = world.mdp.reward[:, :1, 0]
    terminal[:n, :, 0] = world.mdp.terminal[:, :1, 0]
    # The fifth action, in front of the screen and in every channel, switches to a random channel.
    watching = [screen, *range(n, n + channels)]
    probability[watching, -1], next_state[watching, -1] = 1.0 / channels, np.arange(n, n + channels)
    probability[n:, :-1, 0], next_state[n:, :-1, 0] = 1.0, screen
    start = np.concatenate([world.mdp.start, np.zeros(channels)])
    mdp = merge_outcomes(TabularMDP(probability, next_state, reward, terminal, start))
    return table_world(mdp, horizon=40, budget=8_000)


@family
def copies(level: int, held_out: bool) -> World:
    """1 to 8 copies of every state: a transition leads to a random copy of the next state."""
    n_copies = int(parameter(((1, 2, 4, 8), (2, 3, 5, 7)), level, held_out))
    world = cells_world((10, 11) if held_out else (11, 10), horizon=40, budget=8_000)
    mdp = world.mdp
    targets = mdp.next_state * n_copies + np.arange(n_copies, dtype=np.int32)
    copied = TabularMDP(
        probability=np.full((mdp.n_states * n_copies, mdp.n_actions, n_copies), 1.0 / n_copies),
        next_state=np.repeat(targets, n_copies, axis=0),
        reward=np.repeat(np.repeat(mdp.reward, n_copies, axis=0), n_copies, axis=2),
        terminal=np.repeat(np.repeat(mdp.terminal, n_copies, axis=0), n_copies, axis=2),
        start=np.repeat(mdp.start / n_copies, n_copies),
    )
    result = table_world(merge_outcomes(copied), horizon=40, budget=8_000)
    return replace(result, action_names=world.action_names)


@family
def corridor(level: int, held_out: bool) -> World:
    """A corridor of 40 to 320 states: one of two actions advances, the other goes back one state."""
    n = int(parameter(((40, 80, 160, 320), (50, 100, 200, 300)), level, held_out))
    rows = [(min(i + 1, n), max(i - 1, 0)) for i in range(n + 1)]
    return line_world(rows, n, horizon=2 * n, budget=2_000 + 30 * n, random=seeded("corridor", level, held_out))


@family
def bernoulli(level: int, held_out: bool) -> World:
    """A near treasure of 0.02, and a far one of 1 that is received with probability 0.5 down to 0.06."""
    chance = parameter(((0.5, 0.25, 0.12, 0.06), (0.4, 0.2, 0.15, 0.07)), level, held_out)
    shape = (9, 11) if held_out else (10, 10)
    world = cells_world(shape, {(1, 2): "t"}, {"t": "treasure 0.02"}, horizon=60, budget=9_600)
    lucky = np.where(world.mdp.reward == 1.0, chance, 1.0)
    mdp = TabularMDP(
        probability=np.concatenate([world.mdp.probability * lucky, world.mdp.probability * (1.0 - lucky)], axis=2),
        next_state=np.repeat(world.mdp.next_state, 2, axis=2),
        reward=np.concatenate([world.mdp.reward, np.zeros(world.mdp.reward.shape)], axis=2),
        terminal=np.repeat(world.mdp.terminal, 2, axis=2),
        start=world.mdp.start,
    )
    return with_stochastic_settings(replace(world, mdp=merge_outcomes(mdp)))


@family
def clock(level: int, held_out: bool) -> World:
    """A gridworld whose states also tell the step modulo 2 to 31, which changes nothing."""
    n = int(parameter(((3, 7, 15, 31), (2, 4, 9, 29)), level, held_out))
    world = cells_world((10, 11) if held_out else (11, 10), horizon=40, budget=8_000)
    mdp = world.mdp
    times = np.arange(n, dtype=np.int32)[:, None, None]
    timed = TabularMDP(
        probability=np.repeat(mdp.probability, n, axis=0),
        next_state=(mdp.next_state[:, None] * n + (times + 1) % n).reshape(-1, *mdp.next_state.shape[1:]),
        reward=np.repeat(mdp.reward, n, axis=0),
        terminal=np.repeat(mdp.terminal, n, axis=0),
        start=np.kron(mdp.start, np.eye(n)[0]),
    )
    return replace(table_world(timed, horizon=40, budget=8_000), action_names=world.action_names)


@family
def shift(level: int, held_out: bool) -> World:
    """A square of 11 to 18 rows in which the treasure moves to the opposite corner after a quarter of the budget."""
    n = int(parameter(((11, 13, 15, 17), (12, 14, 16, 18)), level, held_out))
    # Mirrored, so that the optimal and the random return do not change.
    world = cells_world((n, n), goal=(n - 1, 0), horizon=60, budget=9_600)
    return replace(world, later=cells_world((n, n), goal=(0, n - 1), horizon=60, budget=9_600).mdp, changes_at=2_400)
