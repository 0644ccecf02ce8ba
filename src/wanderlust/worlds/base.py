"""The `World` class: dynamics, the paper's training settings, and a layout for rendering; and its validation.

The dynamics are defined by the `TabularMDP` alone. `Defaults` holds the paper's training settings for the world, and
`Layout` the position of each state in a drawing. Neither influences a transition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import (
    InvalidWorld,
    WanderlustError,
    check_flag,
    check_instance,
    check_integer,
    check_number,
    check_pairs,
    shown,
)
from wanderlust.core.hardness import Hardness, hardness
from wanderlust.core.mdp import FloatArray, IntArray, TabularMDP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GRID_ACTIONS", "CellKind", "Defaults", "Layout", "World", "single_layer_layout"]

GRID_ACTIONS = ("left", "right", "up", "down")
"""The actions of every gridworld, in the order of their indices."""
MAX_CELLS = 10_000
"""Larger maps are not saved with an agent."""
MAX_NAME = 40
"""The maximum length of the name of an action."""


class CellKind(IntEnum):
    """The kind of a cell. The legend of a text map uses the same names in lower case."""

    FLOOR = 0
    WALL = 1
    START = 2
    PRISON = 3
    TREASURE = 4
    PENALTY = 5
    REWARD = 6
    PUDDLE = 7
    PASSENGER = 8


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """The paper's training settings for a world (Appendix A.1, A.3)."""

    horizon: int
    """Steps after which an episode is truncated: the paper's short horizon."""
    budget: int
    """Total number of training steps."""
    long_horizon: int | None = None
    """The paper's long horizon, if it has one."""
    discount: float = 0.99
    """γ, the discount of rewards."""
    learning_rate: float = 0.5
    """η, the step size of every table."""
    gamma_w: float = 0.99
    """γ_w, the discount of visitation rewards."""
    replay: Literal["full", "none"] = "full"
    """Whether each step updates all stored state-action pairs or only the current one."""
    epsilon_start: float = 1.0
    """ε at the first step of ε-greedy exploration."""
    epsilon_end: float = 0.1
    """ε at the end of the budget."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The cell of each state, and the kind and value of each cell, for rendering.

    A layer is one grid of cells: gridworlds have one, deep sea one per flag, and taxi one per set of passengers
    on board. State `s` is the cell (`row[s]`, `column[s]`), counted from 0, of layer `layer[s]`.
    """

    rows: int
    columns: int
    row: IntArray
    """[state]"""
    column: IntArray
    """[state]"""
    layer: IntArray
    """[state]"""
    kind: NDArray[np.uint8]
    """[layer, row, column]: a `CellKind`."""
    value: FloatArray
    """[layer, row, column]: the cell's reward without step penalty; for a prison, the probability of escape."""
    layer_names: tuple[str, ...] = ("",)
    """A name for each layer, such as "bomb"; empty if there is only one layer."""
    entry: NDArray[np.uint8] | None = None
    """[row, column]: bit `a` is set if action `a` can enter the cell; None if all actions can."""

    @property
    def n_layers(self) -> int:
        """The number of layers."""
        return len(self.layer_names)


def single_layer_layout(
    kind: NDArray[np.uint8], value: FloatArray, entry: NDArray[np.uint8] | None = None, n_states: int | None = None
) -> Layout:
    """Return the layout of a grid whose state index is row · columns + column; the last cells may have no state."""
    rows, columns = kind.shape
    n_states = kind.size if n_states is None else n_states
    row, column = np.divmod(np.arange(n_states, dtype=np.int32), np.int32(columns))
    return Layout(
        rows=rows,
        columns=columns,
        row=row,
        column=column,
        layer=np.zeros(n_states, dtype=np.int32),
        kind=kind[None],
        value=value[None],
        entry=entry,
    )


def layout_to_plain(layout: Layout | None) -> dict[str, Any] | None:
    """Return a map of one layer, whose states are its cells row by row, as JSON values; None for any other map."""
    if layout is None or layout.n_layers > 1 or layout.entry is not None or layout.rows * layout.columns > MAX_CELLS:
        return None
    if not np.array_equal(layout.row * layout.columns + layout.column, np.arange(layout.rows * layout.columns)):
        return None
    return {"kind": layout.kind[0].tolist(), "value": layout.value[0].tolist()}


def layout_from_plain(plain: Any, n_states: int | None) -> Layout | None:
    """Return the map that `layout_to_plain` described, or None if it is not a map of this number of states."""
    if not isinstance(plain, Mapping):
        return None
    try:
        kind, value = np.array(plain["kind"], np.uint8), np.array(plain["value"], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    is_map = kind.ndim == 2 and kind.shape == value.shape and 0 < kind.size <= MAX_CELLS and kind.size == n_states
    if not is_map or kind.max() > max(CellKind) or not np.isfinite(value).all():
        return None
    return single_layer_layout(kind, value)


def checked_names(names: Any, n_actions: int) -> tuple[str, ...] | None:
    """Return action names as a tuple, or None unless they are one short text for each action."""
    if not isinstance(names, Iterable) or isinstance(names, str | bytes):
        return None
    listed = tuple(names)
    are_names = all(isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable() for name in listed)
    return listed if are_names and len(listed) == n_actions else None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class World:
    """An environment with a known model: its dynamics, the paper's settings for it, and its layout."""

    name: str
    mdp: TabularMDP
    defaults: Defaults
    action_names: tuple[str, ...]
    r_max: float
    """r_max of the paper: the largest treasure *as written in the map*, without the step penalty. It can therefore
    exceed every reward (`prison`: 5, although the reward for collecting it is 4.99)."""
    layout: Layout | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of the world: `make_world(name, **options)` returns an equal one."""
    later: TabularMDP | None = None
    """In a non-stationary world the dynamics from step `changes_at` of the training on; `mdp` has those before."""
    changes_at: int = 0

    def dynamics(self, step: int) -> TabularMDP:
        """Return the dynamics after a number of steps."""
        return self.mdp if self.later is None or step < self.changes_at else self.later

    @property
    def n_states(self) -> int:
        """The number of states, unreachable ones included."""
        return self.mdp.n_states

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return self.mdp.n_actions

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward of a step: the minimum reward, and the maximum reward or `r_max` if it is larger.

        The exact minimum and maximum are in `mdp.reward_range`.
        """
        low, high = self.mdp.reward_range
        return low, max(high, self.r_max)

    def hardness(self, *, horizon: int | None = None, discount: float | None = None) -> Hardness:
        """Return exact measures of how hard the world is; see `wanderlust.core.hardness`.

        Horizon and discount are those of the paper's settings if not given.
        """
        return hardness(
            self.mdp,
            horizon=self.defaults.horizon if horizon is None else horizon,
            discount=self.defaults.discount if discount is None else discount,
        )

    def __str__(self) -> str:
        from wanderlust.worlds.drawing import world_text

        return world_text(self)

    def __repr__(self) -> str:
        return f"<World {self.name}: {self.n_states:,} states, {self.n_actions} actions>"

    def _repr_html_(self) -> str:
        from wanderlust.worlds.drawing import world_html

        return world_html(self)

    def draw(self, *, title: str | None = None) -> Figure:
        """Return a picture of the world as a matplotlib figure; `title` replaces its name."""
        from wanderlust.worlds.drawing import draw_world

        check_instance("title", "" if title is None else title, str)
        return draw_world(self, title=title)

    plot = draw
    """The same, under the name that `Agent` and `Record` use."""

    def state_name(self, state: int) -> str:
        """Return a readable name such as "(3, 1)": row and column counted from 1, then the layer's name if any."""
        state = check_integer("state", state, low=0, high=self.n_states - 1)
        if self.layout is None:
            return f"state {state}"
        cell = f"({self.layout.row[state] + 1}, {self.layout.column[state] + 1})"
        layer = self.layout.layer_names[self.layout.layer[state]]
        return f"{cell} {layer}" if layer else cell


# --- Validation ----------------------------------------------------------------------------------------


def check_world(world: World, *, start_can_be_left: bool = True) -> None:
    """Raise `InvalidWorld` with the first problem and its location if the world is not valid.

    With `start_can_be_left=False`, a world in which the agent cannot move is valid.
    """
    if not isinstance(world, World):
        raise InvalidWorld(f"a world must be a World, got {type(world).__name__}.")
    if not isinstance(world.name, str):
        raise InvalidWorld(f"the name of a world must be text, got {shown(world.name)}.")
    try:
        check_mdp(world.mdp, start_can_be_left=start_can_be_left)
        if world.later is not None:
            check_later(world.later, world.mdp)
            check_integer("changes_at", world.changes_at, low=1)
        _check_settings(world)
        if world.layout is not None:
            _check_layout(world.layout, world.n_states)
    except WanderlustError as error:
        raise InvalidWorld(f"world {shown(world.name)}: {error}") from None


def check_later(later: TabularMDP, mdp: TabularMDP) -> None:
    """Raise `InvalidWorld` unless a run in an MDP can go on in another one."""
    check_mdp(later, start_can_be_left=False)
    if later.next_state.shape != mdp.next_state.shape:
        raise InvalidWorld(
            "later dynamics must have the shape [state, action, outcome] of those before, "
            f"{mdp.next_state.shape}, got {later.next_state.shape}."
        )


def check_mdp(mdp: TabularMDP, *, start_can_be_left: bool = True) -> None:
    """Raise `InvalidWorld` unless the arrays are a Markov decision process whose start states can be left."""
    if not isinstance(mdp, TabularMDP):
        raise InvalidWorld(f"mdp must be a TabularMDP, got {type(mdp).__name__}.")
    shape: tuple[int, ...] = getattr(mdp.next_state, "shape", ())
    if len(shape) != 3 or 0 in shape:
        raise InvalidWorld(f"next_state must be an array [state, action, outcome] of int32, got the shape {shape}.")
    check_pairs("next_state", shape[0], shape[1])
    largest = np.finfo(np.float64).max
    for name, kind, low, high, valid in (
        ("probability", np.float64, 0, 1, "in [0, 1]"),
        ("next_state", np.int32, 0, shape[0] - 1, f"from 0 to {shape[0] - 1}"),
        ("reward", np.float64, -largest, largest, "finite"),
        ("terminal", np.bool_, 0, 1, "True or False"),
        ("start", np.float64, 0, 1, "in [0, 1]"),
    ):
        array, wanted = getattr(mdp, name), shape[:1] if name == "start" else shape
        if not isinstance(array, np.ndarray) or array.dtype != kind:
            got = getattr(array, "dtype", type(array).__name__)
            raise InvalidWorld(f"{name} must be an array of {np.dtype(kind)}, got {got}.")
        if array.shape != wanted:
            raise InvalidWorld(f"{name} must have the shape {wanted}, got {array.shape}.")
        _reject(~((array >= low) & (array <= high)), array, name, valid)
    total = mdp.probability.sum(axis=2)
    _reject(np.abs(total - 1) > 1e-9, total, "the sum of probability over outcomes", "1")
    if abs(mdp.start.sum() - 1) > 1e-9:
        raise InvalidWorld(f"start must sum to 1, got {mdp.start.sum():g}.")
    # A world with one state (a bandit), or one that terminates at once, is valid although nothing can be reached.
    starts = np.flatnonzero(mdp.start)
    leaves = (mdp.next_state[starts] != starts[:, None, None]) | mdp.terminal[starts]
    is_checked = check_flag("start_can_be_left", start_can_be_left) and mdp.n_states > 1
    if is_checked and not (leaves & (mdp.probability[starts] > 0)).any():
        raise InvalidWorld(f"no action leads away from the start (state {starts[0]}).")


def _reject(invalid: NDArray[np.bool_], values: NDArray[Any], name: str, valid: str) -> None:
    if invalid.any():
        where = tuple(int(i) for i in np.argwhere(invalid)[0])
        labels = ("state", "action", "outcome")
        place = ", ".join(f"{label} {index}" for label, index in zip(labels, where, strict=False))
        raise InvalidWorld(f"{name} must be {valid}, got {values[where]} at {place}.")


def _check_settings(world: World) -> None:
    defaults, names = world.defaults, world.action_names
    is_text = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
    if not is_text or len(names) != world.n_actions:
        raise InvalidWorld(f"action_names must have {world.n_actions} names, one per action, got {shown(names)}.")
    check_instance("defaults", defaults, Defaults)
    check_instance("options", world.options, Mapping)
    check_number("r_max", world.r_max)
    for name in ("horizon", "budget", *(["long_horizon"] if defaults.long_horizon is not None else [])):
        check_integer(name, getattr(defaults, name), low=1)
    for name in ("discount", "gamma_w"):
        check_number(name, getattr(defaults, name), low=0, high=1, open_high=True)
    check_number("learning_rate", defaults.learning_rate, low=0, high=1, open_low=True)
    start = check_number("epsilon_start", defaults.epsilon_start, low=0, high=1)
    check_number("epsilon_end", defaults.epsilon_end, low=0, high=start)


def _check_layout(layout: Layout, n_states: int) -> None:
    check_instance("layout", layout, Layout)
    if not isinstance(layout.layer_names, tuple | list):
        raise InvalidWorld(f"layout.layer_names must be a tuple of names, got {shown(layout.layer_names)}.")
    for name in ("rows", "columns"):
        check_integer(f"layout.{name}", getattr(layout, name), low=1)
    shape = (layout.n_layers, layout.rows, layout.columns)
    shapes = {"row": (n_states,), "column": (n_states,), "layer": (n_states,), "kind": shape, "value": shape}
    for name, wanted in (shapes if layout.entry is None else shapes | {"entry": shape[1:]}).items():
        array = getattr(layout, name)
        if not isinstance(array, np.ndarray) or array.shape != wanted:
            each = f"one entry for each of {n_states} states" if wanted == (n_states,) else f"the shape {wanted}"
            raise InvalidWorld(f"layout.{name} must be an array with {each}, got {shown(array)}.")
    for name, bound in (("row", layout.rows), ("column", layout.columns), ("layer", layout.n_layers)):
        array = getattr(layout, name)
        _reject((array < 0) | (array >= bound), array, f"layout.{name}", f"from 0 to {bound - 1}")
    cells = np.ravel_multi_index((layout.layer, layout.row, layout.column), shape)
    if len(np.unique(cells)) != n_states:
        raise InvalidWorld("layout must assign a separate cell to each state, got two states in one cell.")
