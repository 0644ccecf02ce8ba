"""Deep sea (Osband et al.; Section 4.1.1): descend N rows, moving left or right, to a treasure or a bomb.

Every action moves down one row. Only "right" in each of the N rows leads to the last cell, and each "right" on that
diagonal has a reward of −0.01/N, so all rewards that are easy to find favour "left". A flag in the state shows from
the start whether the last cell holds the treasure or the bomb. Acting in the last row terminates the episode.

State index: ((row · N) + column) · 2 + flag; flag 0 is the bomb, 1 the treasure. The cells above the diagonal exist
as states but cannot be reached, so N(N+1) states are reachable.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from wanderlust.core.errors import check_choice, check_integer
from wanderlust.core.mdp import deterministic_mdp
from wanderlust.worlds.base import CellKind, Defaults, Layout, World

LEFT, RIGHT = 0, 1
MAX_DEPTH = 1000


def deep_sea(
    *,
    depth: Annotated[int, "N: number of rows and columns"] = 50,
    flag: Annotated[
        Literal["random", "treasure", "bomb"], "content of the last cell; random: drawn at the start of each episode"
    ] = "random",
) -> World:
    """Return deep sea, in which only one sequence of actions reaches the treasure."""
    n = check_integer("depth", depth, low=2, high=MAX_DEPTH)
    content = check_choice("flag", flag, ("random", "treasure", "bomb"))
    row, column, treasure = np.indices((n, n, 2), dtype=np.int32).reshape(3, -1)

    next_row = np.minimum(row + 1, n - 1)
    next_column = np.stack([np.maximum(column - 1, 0), np.minimum(column + 1, n - 1)], axis=1)
    next_state = (next_row[:, None] * n + next_column) * 2 + treasure[:, None]

    at_goal = (row == n - 1) & (column == n - 1)
    reward = np.repeat(np.where(at_goal, np.where(treasure == 1, 1.0, -1.0), 0.0)[:, None], 2, axis=1)
    reward[row == column, RIGHT] -= 0.01 / n
    terminal = np.repeat((row == n - 1)[:, None], 2, axis=1)

    start = np.zeros(2 * n * n)
    start[:2] = {"random": (0.5, 0.5), "bomb": (1.0, 0.0), "treasure": (0.0, 1.0)}[content]
    return World(
        name="deep-sea",
        mdp=deterministic_mdp(next_state, reward, terminal, start),
        defaults=Defaults(horizon=n, budget=500_000),
        action_names=("left", "right"),
        r_max=1.0,
        layout=_layout(n),
        options={"depth": n, "flag": content},
    )


def _layout(n: int) -> Layout:
    row, column, treasure = np.indices((n, n, 2), dtype=np.int32).reshape(3, -1)
    kind = np.full((2, n, n), CellKind.FLOOR, dtype=np.uint8)
    kind[:, np.triu(np.ones((n, n), dtype=bool), k=1)] = CellKind.WALL
    kind[:, 0, 0] = CellKind.START
    kind[:, -1, -1] = CellKind.PENALTY, CellKind.TREASURE
    value = np.zeros((2, n, n))
    value[:, -1, -1] = -1.0, 1.0
    return Layout(
        rows=n,
        columns=n,
        row=row,
        column=column,
        layer=treasure,
        kind=kind,
        value=value,
        layer_names=("bomb", "treasure"),
    )
