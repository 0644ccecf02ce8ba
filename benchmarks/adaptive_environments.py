"""Small environments with known transition tables, for the measurements of benchmarks/adaptive_preset.py.

Each function returns a Gymnasium environment whose `P` and `initial_state_distrib` have the format of toy text. A seed
determines its layout or its random transitions. `minigrid` has no table but remembers every transition, which makes it
as fast as the others.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, terminated."""
Model = dict[int, dict[int, list[Outcome]]]
Env = gym.Env[Any, Any]

LEFT, RIGHT, UP, DOWN = range(4)
MOVES = {LEFT: (0, -1), RIGHT: (0, 1), UP: (-1, 0), DOWN: (1, 0)}


class ModelEnv(gym.Env[int, int]):
    """An environment that samples from a transition table."""

    def __init__(self, model: Model, start: dict[int, float]) -> None:
        self.P = model
        self.initial_state_distrib = np.zeros(len(model))
        for state, probability in start.items():
            self.initial_state_distrib[state] = probability
        self.observation_space = spaces.Discrete(len(model))
        self.action_space = spaces.Discrete(len(model[0]))
        self._cumulative = [[np.cumsum([o[0] for o in model[s][a]]).tolist() for a in model[s]] for s in model]
        self._starts = list(start)
        self._start_bounds = np.cumsum(list(start.values())).tolist()
        self.state = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Sample a start state."""
        super().reset(seed=seed)
        self.state = self._starts[_sample(self._start_bounds, self.np_random)]
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Sample an outcome of the action."""
        outcome = _sample(self._cumulative[self.state][action], self.np_random)
        _, self.state, reward, terminated = self.P[self.state][action][outcome]
        return self.state, reward, terminated, False, {}


def _sample(cumulative: list[float], random: np.random.Generator) -> int:
    if len(cumulative) == 1:
        return 0
    number = random.random()
    return next((i for i, bound in enumerate(cumulative) if number < bound), len(cumulative) - 1)


# --- Grids ---------------------------------------------------------------------------------------------


def lake(rows: int, columns: int, *, seed: int, holes: float = 0.2, slip: float = 2 / 3, horizon: int = 200) -> Env:
    """Return a FrozenLake of any shape with random holes: an action moves sideways with probability `slip`."""
    random = np.random.default_rng(seed)
    while True:
        hole = random.random((rows, columns)) < holes
        hole[0, 0] = hole[-1, -1] = False
        if _is_connected(~hole, (0, 0), (rows - 1, columns - 1)):
            break
    rewards = {(rows - 1, columns - 1): 1.0} | {(int(r), int(c)): 0.0 for r, c in np.argwhere(hole)}
    return grid_env(np.ones((rows, columns), bool), rewards, slip=slip, horizon=horizon)


def maze(rows: int, columns: int, *, seed: int, slip: float = 0.0, step_reward: float = 0.0, horizon: int = 300) -> Env:
    """Return a maze with few loops, cut by a random depth-first search; the goal is in the opposite corner."""
    random = np.random.default_rng(seed)
    is_open = np.zeros((2 * rows - 1, 2 * columns - 1), bool)
    stack = [(0, 0)]
    is_open[0, 0] = True
    while stack:
        row, column = stack[-1]
        steps = [(row + 2 * dr, column + 2 * dc) for dr, dc in MOVES.values()]
        steps = [(r, c) for r, c in steps if 0 <= r < 2 * rows and 0 <= c < 2 * columns and not is_open[r, c]]
        if not steps:
            stack.pop()
            continue
        r, c = steps[random.integers(len(steps))]
        is_open[r, c] = is_open[(row + r) // 2, (column + c) // 2] = True
        stack.append((r, c))
    is_open |= random.random(is_open.shape) < 0.05
    goal = (2 * rows - 2, 2 * columns - 2)
    return grid_env(is_open, {goal: 1.0}, slip=slip, step_reward=step_reward, horizon=horizon)


def two_goals(rows: int, columns: int, *, slip: float = 0.1, near: float = 0.1, horizon: int = 100) -> Env:
    """Return an open grid with a small reward near the start and a reward of 1 in the opposite corner."""
    return grid_env(
        np.ones((rows, columns), bool), {(rows - 1, columns - 1): 1.0, (0, 2): near}, slip=slip, horizon=horizon
    )


def cliff(rows: int, columns: int, *, slip: float = 0.1, horizon: int = 200) -> Env:
    """Return a grid with a cost of 0.01 per step, and a row of cells that terminate with a reward of -1."""
    rewards = {(rows - 1, column): -1.0 for column in range(1, columns - 1)} | {(rows - 1, columns - 1): 1.0}
    shape = np.ones((rows, columns), bool)
    return grid_env(shape, rewards, slip=slip, step_reward=-0.01, start=(rows - 1, 0), horizon=horizon)


def grid_env(
    is_open: Any,
    terminal_rewards: dict[tuple[int, int], float],
    *,
    slip: float,
    step_reward: float = 0.0,
    start: tuple[int, int] = (0, 0),
    horizon: int,
) -> Env:
    """Return a grid. With probability `slip` the agent moves to one of the two sides instead."""
    index = {(int(r), int(c)): i for i, (r, c) in enumerate(np.argwhere(is_open))}
    sides = {LEFT: (UP, DOWN), RIGHT: (UP, DOWN), UP: (LEFT, RIGHT), DOWN: (LEFT, RIGHT)}
    model: Model = {}
    for cell, state in index.items():
        model[state] = {}
        for action in MOVES:
            moves = [(1.0 - slip, action), *((slip / 2, side) for side in sides[action])] if slip else [(1.0, action)]
            outcomes: dict[int, float] = {}
            for probability, move in moves:
                target = index.get((cell[0] + MOVES[move][0], cell[1] + MOVES[move][1]), state)
                outcomes[target] = outcomes.get(target, 0.0) + probability
            cells = {target: found for found, target in index.items() if target in outcomes}
            model[state][action] = [
                (
                    probability,
                    target,
                    terminal_rewards.get(cells[target], step_reward),
                    cells[target] in terminal_rewards,
                )
                for target, probability in outcomes.items()
            ]
    return TimeLimit(ModelEnv(model, {index[start]: 1.0}), horizon)


def _is_connected(is_open: Any, start: tuple[int, int], goal: tuple[int, int]) -> bool:
    found, stack = {start}, [start]
    while stack:
        row, column = stack.pop()
        for dr, dc in MOVES.values():
            r, c = row + dr, column + dc
            if 0 <= r < is_open.shape[0] and 0 <= c < is_open.shape[1] and is_open[r, c] and (r, c) not in found:
                found.add((r, c))
                stack.append((r, c))
    return goal in found


# --- Other MDPs ----------------------------------------------------------------------------------------


def random_mdp(
    states: int, *, seed: int, actions: int = 4, branches: int = 3, rewards: int = 3, horizon: int = 200
) -> Env:
    """Return an MDP whose actions have random outcomes; a few transitions of far states have a reward."""
    random = np.random.default_rng(seed)
    model: Model = {}
    for state in range(states):
        model[state] = {}
        for action in range(actions):
            # Most outcomes are near in the order of states, so that the last ones are far from the start.
            near = np.clip(state + random.integers(-4, 4, branches), 0, states - 1)
            probabilities = random.dirichlet(np.ones(branches))
            model[state][action] = [(float(p), int(s), 0.0, False) for p, s in zip(probabilities, near, strict=True)]
    for i in range(rewards):
        state, action = states - 1 - int(random.integers(max(states // 5, 1))), int(random.integers(actions))
        outcomes = model[state][action]
        model[state][action] = [(p, s, (i + 1) / rewards, False) for p, s, _, _ in outcomes]
    return TimeLimit(ModelEnv(model, {0: 1.0}), horizon)


def dense_mdp(states: int, *, seed: int, actions: int = 4, branches: int = 5, horizon: int = 100) -> Env:
    """Return an MDP in which every transition may lead anywhere and has a random reward from 0 to 1."""
    random = np.random.default_rng(seed)
    model: Model = {}
    for state in range(states):
        model[state] = {}
        for action in range(actions):
            targets = random.integers(0, states, branches)
            probabilities = random.dirichlet(np.ones(branches))
            reward = float(random.random())
            model[state][action] = [
                (float(p), int(s), reward, False) for p, s in zip(probabilities, targets, strict=True)
            ]
    return TimeLimit(ModelEnv(model, {0: 1.0}), horizon)


def key_door(cells: int, *, slip: float = 0.1, horizon: int = 200) -> Env:
    """Return a corridor: pick up the key at one end, open the door at the other. An action fails with `slip`."""
    model: Model = {}
    left, right, pick_up, open_door = range(4)
    for has_key in (0, 1):
        for cell in range(cells):
            state = has_key * cells + cell
            targets = {left: state - (cell > 0), right: state + (cell < cells - 1), pick_up: state, open_door: state}
            if cell == 0:
                targets[pick_up] = cells + cell
            model[state] = {}
            for action, target in targets.items():
                opens = action == open_door and cell == cells - 1 and has_key == 1
                outcomes = [(1.0 - slip, target, float(opens), opens), (slip, state, 0.0, False)]
                model[state][action] = (
                    outcomes if slip and (opens or target != state) else [(1.0, target, float(opens), opens)]
                )
    return TimeLimit(ModelEnv(model, {cells // 2: 1.0}), horizon)


def river_swim(states: int, *, horizon: int = 100) -> Env:
    """Return RiverSwim: a small reward is downstream, a large one upstream against the current."""
    model: Model = {}
    for state in range(states):
        down = max(state - 1, 0)
        up = min(state + 1, states - 1)
        model[state] = {0: [(1.0, down, 0.005 if state == 0 else 0.0, False)]}
        reward = 1.0 if state == states - 1 else 0.0
        outcomes = [(0.35, up, reward, False), (0.6, state, reward, False), (0.05, down, 0.0, False)]
        model[state][1] = outcomes
    return TimeLimit(ModelEnv(model, {0: 1.0}), horizon)


def blackjack(*, horizon: int = 100) -> Env:
    """Return Blackjack with Gymnasium's rules (infinite deck, a reward of 1 for a natural) as a transition table."""
    cards = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
    players = [(total, ace) for ace in (0, 1) for total in range(4, 22)]
    index = {
        (total, ace, dealer): i for i, (total, ace, dealer) in enumerate((t, a, d) for t, a in players for d in cards)
    }

    def add(total: int, ace: int, card: int) -> tuple[int, int]:
        total, ace = (total + 11, 1) if card == 1 and total + 11 <= 21 else (total + card, ace)
        return (total - 10, 0) if total > 21 and ace else (total, ace)

    def dealer_totals(total: int, ace: int) -> dict[int, float]:
        if total >= 17:
            return {total: 1.0}
        found: dict[int, float] = {}
        for card, probability in cards.items():
            for final, p in dealer_totals(*add(total, ace, card)).items():
                found[final] = found.get(final, 0.0) + probability * p
        return found

    model: Model = {}
    for (total, ace, dealer), state in index.items():
        hits = {}
        for card, probability in cards.items():
            new_total, new_ace = add(total, ace, card)
            key = (-1, True) if new_total > 21 else (index[new_total, new_ace, dealer], False)
            hits[key] = hits.get(key, 0.0) + probability
        hit = [(p, state if ends else target, -1.0 if ends else 0.0, ends) for (target, ends), p in hits.items()]
        results: dict[float, float] = {}
        for final, probability in dealer_totals(*add(0, 0, dealer)).items():
            reward = 1.0 if final > 21 or total > final else -1.0 if total < final else 0.0
            results[reward] = results.get(reward, 0.0) + probability
        stick = [(p, state, reward, True) for reward, p in results.items()]
        model[state] = {0: stick, 1: hit}
    start: dict[int, float] = {}
    for first, p in cards.items():
        for second, q in cards.items():
            for dealer, r in cards.items():
                total, ace = add(*add(0, 0, first), second)
                start[index[total, ace, dealer]] = start.get(index[total, ace, dealer], 0.0) + p * q * r
    return TimeLimit(ModelEnv(model, start), horizon)


# --- MiniGrid ------------------------------------------------------------------------------------------


class MiniGrid(gym.Env[int, int]):
    """A MiniGrid environment with one layout and the actions that have an effect; transitions are computed once.

    The reward for the goal decreases with the step of the episode, as in MiniGrid.
    """

    _known: ClassVar[dict[tuple[str, int], dict[str, Any]]] = {}

    def __init__(self, name: str, layout: int) -> None:
        import minigrid  # noqa: F401

        known = self._known.setdefault((name, layout), {"ids": {}, "states": [], "transitions": {}})
        if not known["states"]:
            env = gym.make(name).unwrapped
            env.reset(seed=layout)
            known["max_steps"] = env.max_steps
            _index(known, env)
        self.known, self.name, self.layout = known, name, layout
        self.observation_space = spaces.Discrete(100_000)
        self.action_space = spaces.Discrete(7)
        self.state = self.time = 0

    def __deepcopy__(self, memo: Any) -> MiniGrid:
        return MiniGrid(self.name, self.layout)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Go to the start."""
        super().reset(seed=seed)
        self.state = self.time = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take a step; the result is computed when it is needed for the first time."""
        self.time += 1
        self.state, reached, terminated = transition(self.known, self.state, int(action))
        reward = 1.0 - 0.9 * self.time / self.known["max_steps"] if reached else 0.0
        return self.state, reward, terminated, not terminated and self.time >= self.known["max_steps"], {}

    @property
    def shortest_path(self) -> int:
        """The minimum number of steps to the goal, by breadth-first search."""
        found, frontier, length = {0}, [0], 0
        while frontier:
            length += 1
            reached = []
            for state in frontier:
                for action in range(7):
                    next_state, is_goal, terminated = transition(self.known, state, action)
                    if is_goal:
                        return length
                    if not terminated and next_state not in found:
                        found.add(next_state)
                        reached.append(next_state)
            frontier = reached
        raise RuntimeError(f"the goal of {self.name} cannot be reached.")


def _index(known: dict[str, Any], env: Any) -> int:
    carried = None if env.carrying is None else (env.carrying.type, env.carrying.color)
    number: int = known["ids"].setdefault((env.hash(size=32), carried), len(known["ids"]))
    if number == len(known["states"]):
        known["states"].append(env)
    return number


def transition(known: dict[str, Any], state: int, action: int) -> tuple[int, bool, bool]:
    """Return the next state, whether the goal was reached, and whether the episode terminated."""
    key = (state, action)
    if key not in known["transitions"]:
        env = copy.deepcopy(known["states"][state])
        env.step_count = 0
        _, reward, terminated, _, _ = env.step(action)
        known["transitions"][key] = (_index(known, env), reward > 0, bool(terminated))
    return known["transitions"][key]  # type: ignore[no-any-return]


def minigrid(name: str, *, layout: int = 0) -> Env:
    """Return a MiniGrid environment with one layout."""
    return MiniGrid(name, layout)
