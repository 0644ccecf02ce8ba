"""Plain Q-learning by other libraries on one of our worlds. Stands alone: it runs in whatever Python has them.

python peer_script.py LIBRARY world.npz STEPS      prints seconds per environment step
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np


def table_rl(world: Any, steps: int) -> float:
    """Return the time of a step of table-rl's Q-learning."""
    import table_rl as library

    n_states, n_actions = world["next_state"].shape
    learner = library.learners.QLearning(
        n_states,
        n_actions,
        library.step_size_schedulers.ConstantStepSize(0.5),
        library.explorers.ConstantEpsilonGreedy(0.1, n_actions),
        discount=0.99,
    )
    next_state, reward, terminal = world["next_state"], world["reward"], world["terminal"]
    start, horizon = int(world["start"]), int(world["horizon"])
    begin = time.perf_counter()
    state, t = start, 0
    for _ in range(steps):
        action = int(learner.act(state, True))
        following, gain, over = int(next_state[state, action]), reward[state, action], bool(terminal[state, action])
        t += 1
        cut = not over and t == horizon
        learner.observe(following, gain, over, cut, True)
        state, t = (start, 0) if over or cut else (following, t)
    return (time.perf_counter() - begin) / steps


def mushroom_rl(world: Any, steps: int) -> float:
    """Return the time of a step of MushroomRL's Q-learning."""
    from mushroom_rl.algorithms.value import QLearning
    from mushroom_rl.core import Core, Environment, MDPInfo
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils import spaces
    from mushroom_rl.utils.parameters import Parameter

    next_state, reward, terminal = world["next_state"], world["reward"], world["terminal"]
    start = int(world["start"])

    class World(Environment):
        def __init__(self) -> None:
            n_states, n_actions = next_state.shape
            states, actions = spaces.Discrete(n_states), spaces.Discrete(n_actions)
            super().__init__(MDPInfo(states, actions, 0.99, int(world["horizon"])))

        def reset(self, state: Any = None) -> Any:
            self._state = np.array([start])
            return self._state

        def step(self, action: Any) -> Any:
            pair = self._state[0], action[0]
            self._state = np.array([next_state[pair]])
            return self._state, reward[pair], bool(terminal[pair]), {}

    environment = World()
    agent = QLearning(environment.info, EpsGreedy(Parameter(0.1)), Parameter(0.5))
    core = Core(agent, environment)
    begin = time.perf_counter()
    core.learn(n_steps=steps, n_steps_per_fit=1, quiet=True)
    return (time.perf_counter() - begin) / steps


if __name__ == "__main__":
    library, file, count = sys.argv[1:]
    with np.load(file) as arrays:
        tables = {name: arrays[name] for name in arrays.files}
    print({"table-rl": table_rl, "mushroom-rl": mushroom_rl}[library](tables, int(count)))
