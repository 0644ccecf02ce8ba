"""The worlds of the exam that are not gridworlds: rows of states, deep sea, irrelevant observations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wanderlust.core.mdp import TabularMDP
from wanderlust.worlds.base import World
from wanderlust.worlds.chain import chain as ergodic_chain
from wanderlust.worlds.deep_sea import deep_sea
from wanderlust.worlds.exam.build import cells_world, line_world, parameter, seeded, shuffled_actions, table_world
from wanderlust.worlds.exam.grids import TREASURE
from wanderlust.worlds.outcomes import merge_outcomes


def depth(level: int, held_out: bool) -> World:
    """Deep sea with 10 to 40 rows; which action moves right is random in every cell."""
    n = int(parameter(((10, 20, 30, 40), (12, 18, 27, 36)), level, held_out))
    world = deep_sea(depth=n, flag="treasure")
    # Half of the states have the other flag and are never reached.
    mdp = TabularMDP(
        world.mdp.probability[1::2],
        world.mdp.next_state[1::2] // 2,
        world.mdp.reward[1::2],
        world.mdp.terminal[1::2],
        world.mdp.start[1::2],
    )
    return table_world(shuffled_actions(mdp, seeded("depth", level, held_out)), horizon=n, budget=16 * n * n)


def lock(level: int, held_out: bool) -> World:
    """A combination lock of 6 to 48 digits: one of four actions advances, the others return to the first digit."""
    n = int(parameter(((6, 12, 24, 48), (8, 14, 28, 40)), level, held_out))
    rows = [(min(i + 1, n), 0, 0, 0) for i in range(n + 1)]
    return line_world(rows, n, horizon=2 * n + 2, budget=10 * n * n + 240, random=seeded("lock", level, held_out))


def actions(level: int, held_out: bool) -> World:
    """A row of ten states in which one of 4 to 32 actions advances and the others go back one state."""
    n_actions = int(parameter(((4, 8, 16, 32), (6, 12, 20, 28)), level, held_out))
    rows = [(min(i + 1, 10), *[max(i - 1, 0)] * (n_actions - 1)) for i in range(11)]
    return line_world(rows, 10, horizon=40, budget=160 * n_actions, random=seeded("actions", level, held_out))


def river(level: int, held_out: bool) -> World:
    """RiverSwim (Strehl and Littman 2008) with 4 to 12 states: swimming up the river often fails."""
    n = int(parameter(((4, 6, 9, 12), (5, 7, 8, 11)), level, held_out))
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
    return table_world(mdp, horizon=20 * n, budget=160 * n)


def chain(level: int, held_out: bool) -> World:
    """The paper's ergodic chain (Section 4.2.4) with 20 to 120 states."""
    n = int(parameter(((20, 40, 80, 120), (25, 50, 70, 100)), level, held_out))
    return table_world(ergodic_chain(length=n).mdp, horizon=5 * n, budget=240 * n)


def tv(level: int, held_out: bool) -> World:
    """A television with 4 to 128 random channels beside the way to the treasure (Burda et al. 2019)."""
    channels = int(parameter(((4, 16, 64, 128), (8, 24, 48, 96)), level, held_out))
    rows, columns = (6, 6) if held_out else (5, 7)
    marks = {(0, 0): "S", (rows - 1, columns - 1): "T"}
    world = cells_world((rows, columns), marks, TREASURE, horizon=40, budget=4_800)
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
    return table_world(mdp, horizon=40, budget=4_800)


def copies(level: int, held_out: bool) -> World:
    """1 to 8 copies of every state: a transition leads to a random copy of the next state."""
    n_copies = int(parameter(((1, 2, 4, 8), (2, 3, 5, 7)), level, held_out))
    rows, columns = (5, 6) if held_out else (6, 5)
    marks = {(0, 0): "S", (rows - 1, columns - 1): "T"}
    world = cells_world((rows, columns), marks, TREASURE, horizon=40, budget=800 * (n_copies + 1))
    mdp = world.mdp
    targets = mdp.next_state * n_copies + np.arange(n_copies, dtype=np.int32)
    copied = TabularMDP(
        probability=np.full((mdp.n_states * n_copies, mdp.n_actions, n_copies), 1.0 / n_copies),
        next_state=np.repeat(targets, n_copies, axis=0),
        reward=np.repeat(np.repeat(mdp.reward, n_copies, axis=0), n_copies, axis=2),
        terminal=np.repeat(np.repeat(mdp.terminal, n_copies, axis=0), n_copies, axis=2),
        start=np.repeat(mdp.start / n_copies, n_copies),
    )
    result = table_world(merge_outcomes(copied), horizon=40, budget=800 * (n_copies + 1))
    return replace(result, action_names=world.action_names)
