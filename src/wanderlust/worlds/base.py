"""What a world is: dynamics, the paper's training settings, and a drawing.

The dynamics are a `TabularMDP` and nothing else. `Defaults` holds the numbers the paper trains with in that
world, and `Layout` says where every state lies on paper. Neither ever influences a transition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray, IntArray, TabularMDP

GRID_ACTIONS = ("left", "right", "up", "down")
"""The moves of every gridworld, in the order of their action numbers."""


class CellKind(IntEnum):
    """What a cell of a drawing is. In a map's legend the same words are written in lower case."""

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
    """The paper's training settings of a world (Appendix A.1, A.3)."""

    horizon: int
    """Steps after which an episode is cut off: the paper's short horizon."""
    budget: int
    """Steps of the whole training."""
    long_horizon: int | None = None
    """The paper's long horizon, where there is one."""
    discount: float = 0.99
    """γ, the discount of rewards."""
    learning_rate: float = 0.5
    """η, the step size of every table."""
    gamma_w: float = 0.99
    """γ_w, the discount of visitation rewards."""
    replay: Literal["full", "none"] = "full"
    """Whether each step updates every stored pair or only the current one."""
    epsilon_start: float = 1.0
    """ε of the first step, for ε-greedy behaviour."""
    epsilon_end: float = 0.1
    """ε when the budget is spent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Where each state is drawn, and what is drawn in each cell.

    A layer is one sheet of cells: grids have one, deep sea has one per flag and taxi one per set of
    passengers aboard. State `s` is the cell (`row[s]`, `column[s]`), counted from 0, of sheet `layer[s]`.
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
    """[layer, row, column]: the cell's reward without step penalty; of a prison, the chance of escape."""
    layer_names: tuple[str, ...] = ("",)
    """What a layer means, such as "bomb"; empty where there is only one."""
    entry: NDArray[np.uint8] | None = None
    """[row, column]: bit `a` is set if action `a` can enter the cell; None if all can."""

    @property
    def n_layers(self) -> int:
        """The number of sheets."""
        return len(self.layer_names)


def single_layer_layout(kind: NDArray[np.uint8], value: FloatArray, entry: NDArray[np.uint8] | None = None) -> Layout:
    """Return the layout of a grid whose state number is row · columns + column."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """An environment that is fully known: its dynamics, its settings in the paper, and how to draw it."""

    name: str
    mdp: TabularMDP
    defaults: Defaults
    action_names: tuple[str, ...]
    r_max: float
    """r_max of the paper: the largest treasure *as written on the map*. A step penalty is not subtracted from
    it, so it can exceed what is ever paid (`prison`: 5, although collecting it pays 4.99)."""
    layout: Layout | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options it was made with: `make_world(name, **options)` makes it again."""

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
        """Bounds of the reward of a step: the least that is paid, and `r_max` or the most that is paid.

        The exact extremes are `mdp.reward_range`.
        """
        low, high = self.mdp.reward_range
        return low, max(high, self.r_max)

    def state_name(self, state: int) -> str:
        """Return a readable name, such as "(3, 1)": row and column from 1, then the layer's name if any."""
        if self.layout is None:
            return f"state {state}"
        cell = f"({self.layout.row[state] + 1}, {self.layout.column[state] + 1})"
        layer = self.layout.layer_names[self.layout.layer[state]]
        return f"{cell} {layer}" if layer else cell
