"""The `World` class: dynamics, the paper's training settings, and a layout for rendering.

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

from wanderlust.core.hardness import Hardness, hardness
from wanderlust.core.mdp import FloatArray, IntArray, TabularMDP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def single_layer_layout(kind: NDArray[np.uint8], value: FloatArray, entry: NDArray[np.uint8] | None = None) -> Layout:
    """Return the layout of a grid whose state index is row · columns + column."""
    rows, columns = kind.shape
    row, column = np.divmod(np.arange(rows * columns, dtype=np.int32), np.int32(columns))
    return Layout(
        rows=rows,
        columns=columns,
        row=row,
        column=column,
        layer=np.zeros(rows * columns, dtype=np.int32),
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
    return listed if len(listed) == n_actions and all(map(_is_name, listed)) else None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()


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
        from wanderlust.worlds.pictures import world_html

        return world_html(self)

    def draw(self, *, title: str | None = None) -> Figure:
        """Return a picture of the world as a matplotlib figure; `title` replaces its name."""
        from wanderlust.worlds.pictures import draw_world

        return draw_world(self, title=title)

    plot = draw
    """The same, under the name that `Agent` and `Record` use."""

    def state_name(self, state: int) -> str:
        """Return a readable name such as "(3, 1)": row and column counted from 1, then the layer's name if any."""
        if self.layout is None:
            return f"state {state}"
        cell = f"({self.layout.row[state] + 1}, {self.layout.column[state] + 1})"
        layer = self.layout.layer_names[self.layout.layer[state]]
        return f"{cell} {layer}" if layer else cell
