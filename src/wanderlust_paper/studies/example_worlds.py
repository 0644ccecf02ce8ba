"""The two worlds that the paper only draws: the chain of Figure 1, and the chain with uniform counts of Figure 5."""

from __future__ import annotations

import numpy as np

from wanderlust import World
from wanderlust.core.mdp import deterministic_mdp
from wanderlust.worlds import GRID_ACTIONS, CellKind, Defaults
from wanderlust.worlds.base import single_layer_layout

LEFT, RIGHT, UP, DOWN = range(4)
PROBLEM_CHAIN_CELLS = 8
"""Cells to the right of the agent, N in the caption of Figure 1."""
STATES = "ABCDE"
BLUE, RED = "ADE", "ACDDCBBB"
"""The states of the two episodes of Section 3.3."""
_SMALL, _LARGE = 1.0, 10.0


def problem_chain(n: int = PROBLEM_CHAIN_CELLS) -> World:
    """Return the chain of Figure 1: a small treasure next to the start, a large one N cells to the right.

    Moving up or down resets the position. A treasure is received on acting in its cell, which ends the episode.
    """
    cells, start = n + 2, 1
    states = np.arange(cells, dtype=np.int32)
    next_state = np.stack([states - 1, states + 1, np.full(cells, start), np.full(cells, start)], axis=1)
    treasures = {0: _SMALL, cells - 1: _LARGE}
    reward = np.zeros((cells, 4))
    terminal = np.zeros((cells, 4), dtype=np.bool_)
    kind = np.full((1, cells), CellKind.FLOOR, dtype=np.uint8)
    value = np.zeros((1, cells))
    for cell, treasure in treasures.items():
        reward[cell], terminal[cell] = treasure, True
        kind[0, cell], value[0, cell] = CellKind.TREASURE, treasure
    kind[0, start] = CellKind.START
    return World(
        name="problem-chain",
        mdp=deterministic_mdp(
            np.clip(next_state, 0, cells - 1).astype(np.int32), reward, terminal, (states == start).astype(np.float64)
        ),
        defaults=Defaults(horizon=4 * n, budget=10_000),
        action_names=GRID_ACTIONS,
        r_max=_LARGE,
        layout=single_layer_layout(kind, value),
    )


def attempts(n: int) -> float:
    """Return the expected number of attempts of the uniformly random policy to find the large treasure of Figure 1.

    An attempt ends when the agent moves up or down, or finds a treasure. With p(k) the probability of finding the large
    treasure from k cells to the right of the start, p(k) = (p(k − 1) + p(k + 1)) / 4, p(−1) = 0 and p(N) = 1.
    """
    matrix = np.eye(n) - 0.25 * (np.eye(n, k=1) + np.eye(n, k=-1))
    last = np.zeros(n)
    last[-1] = 0.25
    return float(1.0 / np.linalg.solve(matrix, last)[0])


def uniform_count_chain() -> tuple[World, dict[tuple[int, int], str]]:
    """Return the world of Figure 5 as far as the text gives it, and the colour of each pair that was executed.

    The text gives the states of two episodes, not which action leads where: the actions of a state are numbered in the
    order in which they are executed. Actions that no episode executes, and the last one of each episode, stay.
    """
    n = len(STATES)
    next_state = np.repeat(np.arange(n, dtype=np.int32)[:, None], 3, axis=1)
    terminal = np.zeros((n, 3), dtype=np.bool_)
    executed: dict[tuple[int, int], str] = {}
    tried = [0] * n
    for episode, colour in ((BLUE, "#1f5fa8"), (RED, "#c0392b")):
        path = [STATES.index(letter) for letter in episode]
        for state, after in zip(path, [*path[1:], path[-1]], strict=True):
            next_state[state, tried[state]] = after
            executed[state, tried[state]] = colour
            tried[state] += 1
    terminal[STATES.index("E")] = True
    world = World(
        name="uniform-count-chain",
        mdp=deterministic_mdp(next_state, np.zeros((n, 3)), terminal, np.eye(n)[0]),
        defaults=Defaults(horizon=8, budget=100),
        action_names=("first", "second", "third"),
        r_max=1.0,
    )
    return world, executed
