"""A checker that anyone can run on an explorer of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.agent import Agent
from wanderlust.errors import InvalidExplorer
from wanderlust.exploration.registry import explorer_class, explorer_name
from wanderlust.learning.settings import Replay
from wanderlust.training import train
from wanderlust.worlds import World, make_world

_MEMORIES = (Replay("full"), Replay("none"), Replay("window", capacity=50, batch=8))


def check_explorer(explorer: str | type, *, steps: int = 300, **options: Any) -> None:
    """Raise `InvalidExplorer` unless an explorer keeps to the protocol.

    It is run with every kind of memory, in a deterministic and a stochastic world, fused and step by step. It must choose valid
    actions, keep all values finite, do the same with the same seed and in both drivers, and go on from a saved file
    as if it had never stopped.
    """
    cls = explorer_class(explorer)
    name = explorer_name(cls)
    for world in (make_world("prison"), make_world("noisy-toy")):
        for replay in _MEMORIES:
            where = f"explorer {name!r} in {world.name!r} with {replay.memory} memory"
            changes = {"replay": replay, "steps": steps, **options}
            fused = train(world, cls, seed=3, keep_trajectory=True, **changes)
            if not ((fused.actions >= 0) & (fused.actions < world.n_actions)).all():
                bad = int(fused.actions[(fused.actions < 0) | (fused.actions >= world.n_actions)][0])
                raise InvalidExplorer(f"{where} chose action {bad}; valid are 0 to {world.n_actions - 1}.")
            for table, values in fused.tables.items():
                if not np.isfinite(values).all():
                    raise InvalidExplorer(f"{where}: table {table!r} has values that are not finite.")
            again = train(world, cls, seed=3, keep_trajectory=True, **changes)
            _same(fused.actions, again.actions, f"{where} does not do the same twice with one seed")
            agent, actions = run_agent(world, cls, seed=3, **changes)
            _same(fused.actions, actions, f"{where} does not do the same step by step as in a fused run")
            for table, values in agent.tables.items():
                _same(fused.tables[table], values, f"{where}: table {table!r} differs between fused and step by step")


def _same(one: Any, other: Any, complaint: str) -> None:
    if not np.array_equal(one, other):
        raise InvalidExplorer(f"{complaint}. Keep what it must remember in `notes`, and draw only from `random`.")


def run_agent(world: World, explorer: str | type, *, seed: int, **changes: Any) -> tuple[Agent, Any]:
    """Drive an agent through a world step by step, as `train` would; return it and its actions."""
    agent = Agent.for_world(world, explorer, seed=seed, **changes)
    steps = agent.settings.run_length
    simulator = agent.simulate(world)
    state, t, actions = simulator.reset(), 0, np.zeros(steps, np.int16)
    for i in range(steps):
        action = agent.act(state)
        next_state, reward, terminated = simulator.step(state, action)
        t += 1
        truncated = not terminated and t == agent.settings.horizon
        agent.observe(state, action, reward, next_state, terminated, truncated)
        actions[i] = action
        over = terminated or truncated
        state, t = (simulator.reset(), 0) if over else (next_state, t)
    return agent, actions
