"""Gridworlds drawn as text.

A map is a block of letters, one per cell, then a blank line, then a legend and settings in any order::

    S..#.
    .A.#.
    ..P.B
    cc..C

    A = treasure 1                    ; ends the episode and pays 1
    B = penalty -20                   ; ends the episode and costs 20
    C = treasure 10000 enter down     ; can be entered only by moving down
    c = puddle -0.01 enter left right ; each action taken in it costs 0.01
    step = -0.01                      ; added to the reward of every action
    horizon = 330

Four letters are built in: `#` wall, `.` floor, `S` start (several: one is drawn uniformly), `P` prison.
A line `letter = kind [number] [enter moves]` gives any other letter a meaning, of these kinds:

* `treasure 5` pays 5 (at least 0) for the action taken in it, which ends the episode;
* `penalty -5` does the same with at most 0;
* `reward 0.1` pays any number for each action taken in it, and the episode goes on;
* `puddle -0.1` does the same with at most 0;
* `prison` or `prison 0.1`: an action in it moves the agent with this probability only (default: `escape`);
* `floor`, `start`, `wall`: as the built-in letters, for cells that need an `enter` or another letter.

`enter left right` makes a cell one-way: only these moves go in, any other leaves the agent in place. A line
with a longer word is a setting:

* `name`: what the world is called (default "map");
* `step`: reward added to every action, usually negative (0);
* `escape`: chance that an action in a prison succeeds, unless its letter has its own (0: never);
* `treasures_end`: with `no`, treasures and penalties do not end the episode (`yes`);
* `horizon`: steps of an episode (three times rows plus columns);
* `long_horizon`: a second, longer horizon to compare with (none);
* `budget`: steps of a training (100 for every cell that is not a wall);
* `discount`: γ (0.99).

A semicolon in the legend begins a comment. The same in TOML: a string `map`, the settings as keys, and a
table `[legend]` of strings such as `A = "treasure 1"`.

Semantics, as in the paper (Section 4.1): the actions are left, right, up, down; moving off the grid or into a
wall leaves the agent where it is; the reward is paid *for acting in a cell*, and a step ends the episode if
the cell acted in is a treasure or a penalty. The step reward is paid there as well: with `step = -0.01` a
treasure of 5 pays 4.99. The state number is row · columns + column, counted from 0, walls included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP, deterministic_mdp
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, World, single_layer_layout
from wanderlust.worlds.map_text import SETTINGS, GridMap, read_map, read_toml_map

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""(row, column) displacement of each of `GRID_ACTIONS`."""

_ENDING = (CellKind.TREASURE, CellKind.PENALTY)


def grid_world(
    map: Annotated[str, "the map: a block of letters, then after a blank line its legend and settings"],
    *,
    name: Annotated[str | None, "what the world is called"] = None,
    step: Annotated[float | None, "reward added to every action, usually negative"] = None,
    escape: Annotated[float | None, "chance that an action in a prison succeeds"] = None,
    treasures_end: Annotated[bool | None, "whether treasures and penalties end the episode"] = None,
    horizon: Annotated[int | None, "steps of an episode"] = None,
    long_horizon: Annotated[int | None, "a second, longer horizon to compare with"] = None,
    budget: Annotated[int | None, "steps of a training"] = None,
    discount: Annotated[float | None, "γ, the discount of rewards"] = None,
) -> World:
    """Return the world that a text map draws. An option that is not None replaces the map's setting."""
    given = {
        "step": step,
        "escape": escape,
        "treasures_end": treasures_end,
        "horizon": horizon,
        "long_horizon": long_horizon,
        "budget": budget,
        "discount": discount,
    }
    changes = {key: SETTINGS[key](key, value) for key, value in given.items() if value is not None}
    if name is not None:
        changes["name"] = SETTINGS["name"]("name", name)
    return build_grid(read_map(map), changes)


def toml_grid_world(text: str, **changes: Any) -> World:
    """Return the world that a TOML map draws; `changes` as the options of `grid_world`."""
    return grid_world(read_toml_map(text).text, **changes)


def build_grid(grid: GridMap, changes: Mapping[str, Any]) -> World:
    """Return the world of a map that has been read, with some of its settings replaced."""
    settings = {**grid.settings, **changes}
    rows, columns = grid.letters.shape
    kind, value, entry = _paint(grid, escape=settings.get("escape", 0.0))
    layout = single_layer_layout(kind, value, entry if (entry != 15).any() else None)

    pays = (kind != CellKind.PRISON) & (kind != CellKind.WALL)
    cell_reward = np.where(pays, value, 0.0)
    ends = np.isin(kind, _ENDING) if settings.get("treasures_end", True) else np.zeros(kind.shape, dtype=bool)
    starts = (kind == CellKind.START).ravel()
    reward = np.repeat((cell_reward + settings.get("step", 0.0)).ravel()[:, None], 4, axis=1)
    mdp = _with_prisons(
        deterministic_mdp(
            next_state=_destinations(kind != CellKind.WALL, entry),
            reward=reward,
            terminal=np.repeat(ends.ravel()[:, None], 4, axis=1),
            start=starts / starts.sum(),
        ),
        escape=np.where(kind == CellKind.PRISON, value, 1.0).ravel(),
    )
    return World(
        name=settings.get("name", "map"),
        mdp=mdp,
        defaults=Defaults(
            horizon=settings.get("horizon", 3 * (rows + columns)),
            long_horizon=settings.get("long_horizon"),
            budget=settings.get("budget", 100 * int((kind != CellKind.WALL).sum())),
            discount=settings.get("discount", 0.99),
        ),
        action_names=GRID_ACTIONS,
        r_max=float(cell_reward.max()),
        layout=layout,
        options={"map": grid.text, **{key: change for key, change in changes.items() if key != "name"}},
    )


def _paint(grid: GridMap, *, escape: float) -> tuple[NDArray[np.uint8], FloatArray, NDArray[np.uint8]]:
    """Return kind, value and entry bits of every cell."""
    points, which = np.unique(grid.letters.view(np.uint32), return_inverse=True)
    cells = [grid.legend[chr(point)] for point in points]
    kind = np.array([cell.kind for cell in cells], dtype=np.uint8)
    default = np.where(kind == CellKind.PRISON, escape, 0.0)
    value = np.array([default[i] if cell.value is None else cell.value for i, cell in enumerate(cells)])
    entry = np.array([sum(1 << GRID_ACTIONS.index(move) for move in set(cell.enter)) for cell in cells], dtype=np.uint8)
    # NumPy 2.0 alone returns the inverse flat; the reshape serves every version.
    which = which.reshape(grid.letters.shape)
    return kind[which], value[which], entry[which]


def _destinations(is_open: BoolArray, entry: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return where each move leads from each cell, prisons aside: [state, action]."""
    rows, columns = is_open.shape
    here = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    row, column = np.indices((rows, columns), dtype=np.int32, sparse=True)
    destinations = np.empty((rows * columns, len(MOVES)), dtype=np.int32)
    for action, (down, right) in enumerate(MOVES):
        # Clipping sends a move off the grid back to its own cell, which it may always keep.
        there = here[np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1)]
        enterable = is_open & ((entry >> action) & 1).astype(np.bool_)
        destinations[:, action] = np.where(enterable.ravel()[there], there, here).ravel()
    return destinations


def _with_prisons(mdp: TabularMDP, escape: FloatArray) -> TabularMDP:
    """Return the MDP whose actions in state `s` succeed with `escape[s]` and else leave the agent there."""
    states = np.arange(mdp.n_states, dtype=np.int32)
    if np.isin(escape, (0.0, 1.0)).all():
        held = escape == 0.0
        mdp.next_state[held] = states[held, None, None]
        return mdp
    # Moved first, held second; a certain outcome keeps its second slot empty.
    moves = np.broadcast_to(escape[:, None, None], mdp.probability.shape)
    stuck = np.broadcast_to(states[:, None, None], mdp.next_state.shape)
    return mdp._replace(
        probability=np.concatenate([moves, 1.0 - moves], axis=2),
        next_state=np.concatenate([mdp.next_state, stuck], axis=2),
        reward=np.repeat(mdp.reward, 2, axis=2),
        terminal=np.repeat(mdp.terminal, 2, axis=2),
    )
