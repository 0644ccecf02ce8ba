"""Gridworlds from text maps.

A map is a block of letters, one per cell, then a blank line, then a legend and settings in any order::

    S..#B
    .A...
    ..P..
    cc..C

    A = treasure 1                    ; terminal, reward 1
    B = penalty -20                   ; terminal, reward -20
    C = treasure 10000 enter down     ; can be entered only by moving down
    c = puddle -0.01 enter left right ; reward -0.01 for each action in it
    step = -0.01                      ; added to the reward of every action
    horizon = 330

Four letters are built in: `#` wall, `.` floor, `S` start (with several, one is drawn uniformly), `P` prison.
A line `letter = kind [number] [enter moves]` defines any other letter. The kinds are:

* `treasure 5`: an action in this cell gives a reward of 5 (at least 0) and terminates the episode;
* `penalty -5`: the same with a reward of at most 0;
* `reward 0.1`: each action in this cell gives this reward, of any sign; the episode continues;
* `puddle -0.1`: the same with a reward of at most 0;
* `prison` or `prison 0.1`: an action in this cell moves the agent only with this probability (default: `escape`);
* `floor`, `start`, `wall`: as the built-in letters, for cells that need an `enter` or another letter.

`enter left right` makes a cell one-way: only these moves enter it, any other leaves the agent in place. A line
with a longer word is a setting:

* `name`: the name of the world (default "map");
* `step`: reward added to every action, usually negative (0);
* `escape`: probability that an action in a prison succeeds, unless its letter has its own (0: never);
* `treasures_end`: with `no`, treasures and penalties do not terminate the episode (`yes`);
* `horizon`: steps after which an episode is truncated (three times rows plus columns);
* `long_horizon`: a second, longer horizon for comparison (none);
* `budget`: number of training steps (100 for every cell that is not a wall);
* `discount`: γ (0.99).

A semicolon in the legend starts a comment. The TOML form has a string `map`, the settings as keys, and a
table `[legend]` of strings such as `A = "treasure 1"`.

Semantics, as in the paper (Section 4.1): the actions are left, right, up, down. Moving off the grid or into a wall
leaves the agent where it is. The reward is received *for acting in a cell*, and a step terminates the episode if
the cell acted in is a treasure or a penalty. The step reward is added there as well: with `step = -0.01` a
treasure of 5 gives 4.99. The state index is row · columns + column, walls included.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP, deterministic_mdp
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, World, single_layer_layout
from wanderlust.worlds.maps import SETTINGS, GridMap, read_map

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""The (row, column) displacement of each action of `GRID_ACTIONS`."""

_TERMINAL_KINDS = (CellKind.TREASURE, CellKind.PENALTY)


def grid_world(
    map: Annotated[str, "the map: a block of letters, then after a blank line its legend and settings"],
    *,
    name: Annotated[str | None, "name of the world"] = None,
    step: Annotated[float | None, "reward added to every action, usually negative"] = None,
    escape: Annotated[float | None, "probability that an action in a prison succeeds"] = None,
    treasures_end: Annotated[bool | None, "whether treasures and penalties terminate the episode"] = None,
    horizon: Annotated[int | None, "steps after which an episode is truncated"] = None,
    long_horizon: Annotated[int | None, "a second, longer horizon for comparison"] = None,
    budget: Annotated[int | None, "number of training steps"] = None,
    discount: Annotated[float | None, "γ, the discount of rewards"] = None,
) -> World:
    """Return the world of a text map. An option that is not None replaces the map's setting."""
    options = {
        "step": step,
        "escape": escape,
        "treasures_end": treasures_end,
        "horizon": horizon,
        "long_horizon": long_horizon,
        "budget": budget,
        "discount": discount,
    }
    overrides = {key: SETTINGS[key](key, value) for key, value in options.items() if value is not None}
    if name is not None:
        overrides["name"] = SETTINGS["name"]("name", name)
    grid = read_map(map)
    settings = {**grid.settings, **overrides}
    rows, columns = grid.letters.shape
    kind, value, entry = _cell_arrays(grid, escape=settings.get("escape", 0.0))
    layout = single_layer_layout(kind, value, entry if (entry != 15).any() else None)

    has_reward = (kind != CellKind.PRISON) & (kind != CellKind.WALL)
    cell_reward = np.where(has_reward, value, 0.0)
    terminal = np.isin(kind, _TERMINAL_KINDS) & settings.get("treasures_end", True)
    starts = (kind == CellKind.START).ravel()
    reward = np.repeat((cell_reward + settings.get("step", 0.0)).ravel()[:, None], 4, axis=1)
    mdp = _with_prisons(
        deterministic_mdp(
            next_state=_next_states(kind != CellKind.WALL, entry),
            reward=reward,
            terminal=np.repeat(terminal.ravel()[:, None], 4, axis=1),
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
        options={"map": grid.text, **{key: value for key, value in overrides.items() if key != "name"}},
    )


def _cell_arrays(grid: GridMap, *, escape: float) -> tuple[NDArray[np.uint8], FloatArray, NDArray[np.uint8]]:
    """Return kind, value and entry bits of every cell."""
    code_points, which = np.unique(grid.letters.view(np.uint32), return_inverse=True)
    cells = [grid.legend[chr(code_point)] for code_point in code_points]
    kind = np.array([cell.kind for cell in cells], dtype=np.uint8)
    default = np.where(kind == CellKind.PRISON, escape, 0.0)
    value = np.array([default[i] if cell.value is None else cell.value for i, cell in enumerate(cells)])
    entry = np.array([sum(1 << GRID_ACTIONS.index(move) for move in set(cell.enter)) for cell in cells], dtype=np.uint8)
    # The shape of the inverse depends on the version of NumPy.
    which = which.reshape(grid.letters.shape)
    return kind[which], value[which], entry[which]


def _next_states(is_open: BoolArray, entry: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the next state of each move, ignoring prisons: [state, action]."""
    rows, columns = is_open.shape
    state = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    row, column = np.indices((rows, columns), dtype=np.int32, sparse=True)
    next_states = np.empty((rows * columns, len(MOVES)), dtype=np.int32)
    for action, (down, right) in enumerate(MOVES):
        # Clipping turns a move off the grid into a move to the same cell.
        target = state[np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1)]
        can_enter = is_open & ((entry >> action) & 1).astype(np.bool_)
        next_states[:, action] = np.where(can_enter.ravel()[target], target, state).ravel()
    return next_states


def _with_prisons(mdp: TabularMDP, escape: FloatArray) -> TabularMDP:
    """Return the MDP whose actions in state `s` succeed with probability `escape[s]`; otherwise the agent stays."""
    states = np.arange(mdp.n_states, dtype=np.int32)
    if np.isin(escape, (0.0, 1.0)).all():
        stays = escape == 0.0
        mdp.next_state[stays] = states[stays, None, None]
        return mdp
    # The first outcome moves the agent, the second does not.
    p_move = np.broadcast_to(escape[:, None, None], mdp.probability.shape)
    same_state = np.broadcast_to(states[:, None, None], mdp.next_state.shape)
    return mdp._replace(
        probability=np.concatenate([p_move, 1.0 - p_move], axis=2),
        next_state=np.concatenate([mdp.next_state, same_state], axis=2),
        reward=np.repeat(mdp.reward, 2, axis=2),
        terminal=np.repeat(mdp.terminal, 2, axis=2),
    )
