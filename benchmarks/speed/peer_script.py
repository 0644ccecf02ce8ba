"""Q-learning with other libraries in a wanderlust world. It imports nothing of wanderlust, so any Python can run it.

python peer_script.py LIBRARY world.npz STEPS      prints seconds per environment step
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np


def table_rl(world: Any, steps: int) -> float:
    """Return the time per step of table-rl's Q-learning."""
    import table_rl as library

    n_states, n_actions = world["next_state"].shape
    learner = library.learners.QLearning(
        n_states,
        n_actions,
        library.step_size_schedulers.ConstantStepSize(0.5),
        library.explorers.ConstantEpsilonGreedy(0.1, n_actions),
        discount=0.99,
    )
    next_states, rewards, terminals = world["next_state"], world["reward"], world["terminal"]
    start, horizon = int(world["start"]), int(world["horizon"])
    begin = time.perf_counter()
    state, t = start, 0
    for _ in range(steps):
        action = int(learner.act(state, True))
        next_state, terminated = int(next_states[state, action]), bool(terminals[state, action])
        t += 1
        truncated = not terminated and t == horizon
        learner.observe(next_state, rewards[state, action], terminated, truncated, True)
        state, t = (start, 0) if terminated or truncated else (next_state, t)
    return (time.perf_counter() - begin) / steps


def mushroom_rl(world: Any, steps: int) -> float:
    """Return the time per step of MushroomRL's Q-learning."""
    from mushroom_rl.algorithms.value import QLearning
    from mushroom_rl.core import Core, Environment, MDPInfo
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils import spaces
    from mushroom_rl.utils.parameters import Parameter

    next_states, rewards, terminals = world["next_state"], world["reward"], world["terminal"]
    start = int(world["start"])

    class World(Environment):
        def __init__(self) -> None:
            n_states, n_actions = next_states.shape
            states, actions = spaces.Discrete(n_states), spaces.Discrete(n_actions)
            super().__init__(MDPInfo(states, actions, 0.99, int(world["horizon"])))

        def reset(self, state: Any = None) -> Any:
            self._state = np.array([start])
            return self._state

        def step(self, action: Any) -> Any:
            pair = self._state[0], action[0]
            self._state = np.array([next_states[pair]])
            return self._state, rewards[pair], bool(terminals[pair]), {}

    environment = World()
    agent = QLearning(environment.info, EpsGreedy(Parameter(0.1)), Parameter(0.5))
    core = Core(agent, environment)
    begin = time.perf_counter()
    core.learn(n_steps=steps, n_steps_per_fit=1, quiet=True)
    return (time.perf_counter() - begin) / steps


if __name__ == "__main__":
    library, file, n_steps = sys.argv[1:]
    with np.load(file) as arrays:
        tables = {name: arrays[name] for name in arrays.files}
    print({"table-rl": table_rl, "mushroom-rl": mushroom_rl}[library](tables, int(n_steps)))
