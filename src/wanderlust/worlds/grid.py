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

A semicolon in the legend starts a comment.

Semantics, as in the paper (Section 4.1): the actions are left, right, up, down. Moving off the grid or into a wall
leaves the agent where it is. The reward is received *for acting in a cell*, and a step terminates the episode if
the cell acted in is a treasure or a penalty. The step reward is added there as well: with `step = -0.01` a
treasure of 5 gives 4.99. The state index is row · columns + column, walls included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import (
    BadFile,
    InvalidMap,
    WanderlustError,
    check_integer,
    check_number,
    check_pairs,
    plain_value,
    shown,
    unknown_name,
)
from wanderlust.core.files import read_text_file, shown_path
from wanderlust.core.mdp import BoolArray, FloatArray, TabularMDP, deterministic_mdp
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Defaults, World, single_layer_layout

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""The (row, column) displacement of each action of `GRID_ACTIONS`."""
MAP_SUFFIXES = (".txt",)
MAX_BYTES = 10_000_000
"""The largest map file."""


class Cell(NamedTuple):
    """The meaning of a letter. `value` is the reward; for a prison, the probability of escape (None: `escape`)."""

    kind: CellKind
    value: float | None = None
    enter: tuple[str, ...] = GRID_ACTIONS


class GridMap(NamedTuple):
    """A parsed and valid map; `letters` is [row, column], one letter each."""

    letters: NDArray[np.str_]
    legend: Mapping[str, Cell]
    settings: Mapping[str, Any]


BUILT_IN = {
    "#": Cell(CellKind.WALL),
    ".": Cell(CellKind.FLOOR, 0.0),
    "S": Cell(CellKind.START, 0.0),
    "P": Cell(CellKind.PRISON),
}
MAX_NAME = 200
MAX_STEPS = 10**12
_REWARD_BOUNDS = {
    CellKind.TREASURE: (0.0, math.inf),
    CellKind.PENALTY: (-math.inf, 0.0),
    CellKind.REWARD: (-math.inf, math.inf),
    CellKind.PUDDLE: (-math.inf, 0.0),
}


def _name(key: str, value: Any) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or not name.isprintable() or ";" in name or len(name) > MAX_NAME:
        expected = f"non-empty text in one line, without ';', of at most {MAX_NAME} characters"
        raise InvalidMap(f"{key} must be {expected}, got {shown(value)}.")
    return name


def _yes_or_no(key: str, value: Any) -> bool:
    flag = plain_value(value)
    if not isinstance(flag, bool) and not (isinstance(flag, str) and flag in ("yes", "no")):
        raise InvalidMap(f"{key} must be yes or no, got {shown(value)}.")
    return flag is True or flag == "yes"


SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    "name": _name,
    "step": check_number,
    "escape": lambda key, value: check_number(key, value, low=0, high=1),
    "treasures_end": _yes_or_no,
    "horizon": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
    "long_horizon": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
    "budget": lambda key, value: check_integer(key, value, low=1, high=MAX_STEPS),
    "discount": lambda key, value: check_number(key, value, low=0, high=1, open_high=True),
}
"""The settings of a map, each with its validation function."""


def read_map(text: str) -> GridMap:
    """Parse a text map."""
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), start=1)]
    while lines and not lines[0][1]:
        lines.pop(0)
    end = next((i for i, (_, line) in enumerate(lines) if not line), len(lines))
    legend, settings = dict(BUILT_IN), dict[str, Any]()
    defined: dict[str, str] = {}
    for number, full_line in lines[end:]:
        line = full_line.split(";", 1)[0].strip()
        if not line:
            continue
        where = f"line {number}, column {len(full_line) - len(full_line.lstrip()) + 1}"
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            raise InvalidMap(f"{where}: expected 'letter = kind' or 'setting = value', got {shown(line)}.")
        if key in defined:
            raise InvalidMap(f"{where}: {shown(key)} is already defined in {defined[key]}.")
        defined[key] = where
        try:
            if len(key) == 1:
                legend[key] = _read_cell(key, value)
            elif key in SETTINGS:
                settings[key] = SETTINGS[key](key, value if key == "name" else parse_number(value))
            else:
                raise unknown_name("setting of a map", key, SETTINGS)
        except WanderlustError as error:
            raise InvalidMap(f"{where}: {error}") from None
    letters = _read_block(lines[:end], legend)
    for key, where in defined.items():
        if len(key) == 1 and not (letters == key).any():
            raise InvalidMap(f"{where}: the letter {key!r} does not occur in the map.")
    return GridMap(letters=letters, legend=legend, settings=settings)


def read_map_file(path: Path) -> str:
    """Return the text of a map file, or raise `InvalidMap` with the path."""
    try:
        return read_text_file(path, max_bytes=MAX_BYTES)
    except BadFile as error:
        reason = str(error).removeprefix(f"{shown_path(path)}: ")
        raise InvalidMap(f"cannot read the map {shown_path(path)!r}: {reason}") from None


def parse_number(word: str) -> Any:
    """Return the finite number that a word is, or the word."""
    for convert in (int, float):
        try:
            number = convert(word)
        except ValueError:
            continue
        return number if math.isfinite(number) else word
    return word


def _read_cell(letter: str, meaning: str) -> Cell:
    if letter in BUILT_IN:
        raise InvalidMap(f"{letter!r} is built in ({BUILT_IN[letter].kind.name.lower()}); choose another letter.")
    if not letter.isprintable():
        raise InvalidMap(f"{letter!r} cannot be a letter of a map; choose another one.")
    words = meaning.split() or [""]
    kinds = {kind.name.lower(): kind for kind in CellKind if kind is not CellKind.PASSENGER}
    if words[0] not in kinds:
        raise unknown_name("kind of cell", words[0], kinds)
    kind = kinds[words[0]]
    at = words.index("enter") if "enter" in words else len(words)
    numbers, moves = words[1:at], words[at + 1 :]
    if at < len(words) and not moves:
        raise InvalidMap(f"'enter' must name at least one move: {', '.join(GRID_ACTIONS)}.")
    for move in moves:
        if move not in GRID_ACTIONS:
            raise unknown_name("move after 'enter'", move, GRID_ACTIONS)
    min_numbers, max_numbers = int(kind in _REWARD_BOUNDS), int(kind in _REWARD_BOUNDS or kind is CellKind.PRISON)
    if not min_numbers <= len(numbers) <= max_numbers:
        expected = "one number" if min_numbers else "at most one number" if max_numbers else "no number"
        got = shown(" ".join(numbers)) if numbers else "none"
        raise InvalidMap(f"{words[0]} takes {expected}, got {got}.")
    value: float | None = None if kind is CellKind.PRISON else 0.0
    if numbers:
        low, high = _REWARD_BOUNDS.get(kind, (0.0, 1.0))
        value = check_number(f"the value of a {words[0]}", parse_number(numbers[0]), low=low, high=high)
    return Cell(kind, value, tuple(moves) or GRID_ACTIONS)


def _read_block(lines: list[tuple[int, str]], legend: Mapping[str, Cell]) -> NDArray[np.str_]:
    """Return the letters of the numbered lines of a block, [row, column]."""
    if not lines:
        raise InvalidMap("line 1, column 1: the map is empty; write at least one line, such as 'S..'.")
    indent = min(len(line) - len(line.lstrip()) for _, line in lines)
    rows = [line[indent:] for _, line in lines]
    width = len(rows[0])

    def place(row: int, column: int) -> str:
        return f"line {lines[row][0]}, column {indent + 1 + column}"

    for row, text in enumerate(rows):
        if " = " in text:
            raise InvalidMap(f"{place(row, 0)}: legend and settings must follow after a blank line.")
        if len(text) != width:
            column = min(len(text), width)
            raise InvalidMap(f"{place(row, column)}: this line has {len(text)} cells, the first has {width}.")
    check_pairs("the map", len(rows) * width, len(GRID_ACTIONS))
    letters = np.array(rows).view("U1").reshape(len(rows), width)
    unknown = ~np.isin(letters.view(np.uint32), [ord(letter) for letter in legend])
    if unknown.any():
        row, column = (int(i) for i in np.argwhere(unknown)[0])
        letter = rows[row][column]  # NumPy drops null characters.
        other_case = letter.swapcase()
        hint = "floor is '.'." if letter == " " else f"did you mean {other_case!r}?" if other_case in legend else None
        if not letter.isprintable():
            hint = "it cannot be printed; is this a text file?"
        hint = hint or f"define it after a blank line, as in '{letter} = treasure 1'."
        known = " ".join(sorted(legend))
        raise InvalidMap(f"{place(row, column)}: unknown letter {letter!r}; {hint} Known: {known}")
    if not any(legend[letter].kind is CellKind.START for letter in np.unique(letters)):
        raise InvalidMap(f"{place(0, 0)}: the map has no start; write an 'S'.")
    return letters


# --- The world of a map ------------------------------------------------------------------------------------


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
    given = {key: value for key, value in locals().items() if key in SETTINGS}
    overrides = {key: SETTINGS[key](key, value) for key, value in given.items() if value is not None}
    grid = read_map(map)
    settings = {**grid.settings, **overrides}
    rows, columns = grid.letters.shape
    kind, value, entry = _cell_arrays(grid, escape=settings.get("escape", 0.0))
    layout = single_layer_layout(kind, value, entry if (entry != 15).any() else None)

    has_reward = (kind != CellKind.PRISON) & (kind != CellKind.WALL)
    cell_reward = np.where(has_reward, value, 0.0)
    terminal = np.isin(kind, (CellKind.TREASURE, CellKind.PENALTY)) & settings.get("treasures_end", True)
    starts = (kind == CellKind.START).ravel()
    reward = np.repeat((cell_reward + settings.get("step", 0.0)).ravel()[:, None], 4, axis=1)
    mdp = _with_prisons(
        deterministic_mdp(
            next_state=next_cells(kind != CellKind.WALL, entry),
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
        options={"map": map, **{key: value for key, value in overrides.items() if key != "name"}},
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


def next_cells(is_open: BoolArray, entry: NDArray[np.uint8] | int = 15) -> NDArray[np.int32]:
    """Return the next cell of each move, ignoring prisons: [cell, action]; `entry` has the moves that enter a cell."""
    rows, columns = is_open.shape
    state = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    row, column = np.indices((rows, columns), dtype=np.int32, sparse=True)
    next_states = np.empty((rows * columns, len(MOVES)), dtype=np.int32)
    for action, (down, right) in enumerate(MOVES):
        # Clipping turns a move off the grid into a move to the same cell.
        target = state[np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1)]
        can_enter = is_open & ((entry >> action) & 1 == 1)
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
