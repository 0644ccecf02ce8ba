"""The counts and values of the toy example (Section 3), and the names of its cells.

The paper denotes cells as (column, row from the bottom); `cell` takes this form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from wanderlust.core.mdp import FloatArray

LEFT, RIGHT, UP, DOWN = range(4)
ACTION_NAMES = ("left", "right", "up", "down")
W_EXPLORERS = ("vv-ucb", "vv-count")


def cell(column: int, row_from_bottom: int) -> int:
    """Return the index of the state that the paper denotes as (column, row from the bottom)."""
    return 3 * (3 - row_from_bottom) + column - 1


START, PRISON, SMALL_TREASURE, LARGE_TREASURE = cell(1, 3), cell(2, 2), cell(1, 1), cell(3, 1)
VISITED = (START, cell(1, 2), SMALL_TREASURE, cell(2, 3), PRISON)


class ToyValues(NamedTuple):
    """The counts and the values of every policy, [state, action]."""

    counts: FloatArray
    """After the four episodes."""
    values: Mapping[str, FloatArray]
    uniform: Mapping[bool, Mapping[str, FloatArray]]
    """Treasures are terminal -> policy -> values, if all pairs except one were visited once."""
    equal: Mapping[bool, Mapping[str, FloatArray]]
    """The same if all pairs were visited once."""


def best(values: FloatArray) -> set[int]:
    """Return the best actions, with a tolerance for rounding."""
    return set(np.flatnonzero(values >= values.max() - 1e-7).tolist())


def names(actions: Iterable[int]) -> str:
    """Return actions as text."""
    return " or ".join(ACTION_NAMES[action] for action in sorted(actions))
