"""A checker that anyone can run on an explorer of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.agents.session import train
from wanderlust.agents.settings import Replay
from wanderlust.core.errors import InvalidExplorer, WanderlustError
from wanderlust.explorers.registry import explorer_class, explorer_name
from wanderlust.worlds import World, make_world

# A prime number of steps: a hidden counter that runs on from one run into the next would otherwise come round.
_STEPS = 307
_MEMORIES = (Replay("full"), Replay("none"), Replay("window", capacity=50, batch=8))


def check_explorer(explorer: str | type, *, steps: int = _STEPS, **options: Any) -> None:
    """Raise `InvalidExplorer` unless an explorer keeps to the protocol.

    It is run with every kind of memory, in a deterministic and a stochastic world, fused and step by step. It must
    choose valid actions, keep all values finite, do the same with the same seed and in both drivers, and go on from a
    saved file as if it had never stopped.
    """
    cls = explorer_class(explorer)
    name = explorer_name(cls)
    for world in (make_world("prison"), make_world("noisy-toy")):
        for replay in _MEMORIES:
            where = f"explorer {name!r} in {world.name!r} with {replay.memory} memory"
            try:
                _check_run(cls, world, where, {"replay": replay, "steps": steps, **options})
            except WanderlustError:
                raise
            except Exception as error:
                reason = " ".join(str(error).split())[:500]
                raise InvalidExplorer(f"{where} failed with {type(error).__name__}: {reason}") from error


def _check_run(cls: type, world: World, where: str, changes: dict[str, Any]) -> None:
    """Check one run. Step by step comes first: only there is an action looked at before the world takes it."""
    agent, actions = run_agent(world, cls, seed=3, where=where, **changes)
    fused = train(world, cls, seed=3, keep_trajectory=True, **changes)
    for table, values in fused.tables.items():
        if not np.isfinite(values).all():
            raise InvalidExplorer(f"{where}: table {table!r} has values that are not finite.")
    again = train(world, cls, seed=3, keep_trajectory=True, **changes)
    _same(fused.actions, again.actions, f"{where} does not do the same twice with one seed")
    _same(fused.actions, actions, f"{where} does not do the same step by step as in a fused run")
    for table, values in agent.tables.items():
        _same(fused.tables[table], values, f"{where}: table {table!r} differs between fused and step by step")
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "agent")
        loaded = Agent.load(Path(folder) / "agent", explorer=cls)
    for state in range(world.n_states):
        scores = [reason.score for reason in agent.explain(state).actions]
        if not np.isfinite(scores).all():
            raise InvalidExplorer(f"{where}: scores {scores} of state {state} are not all finite.")
        _same(agent.act(state), loaded.act(state), f"{where} does not go on from a file as it would have")


def _same(one: Any, other: Any, complaint: str) -> None:
    if not np.array_equal(one, other):
        raise InvalidExplorer(f"{complaint}. Keep what it must remember in `notes`, and draw only from `random`.")


def run_agent(
    world: World, explorer: str | type, *, seed: int, where: str = "the explorer", **changes: Any
) -> tuple[Agent, Any]:
    """Drive an agent through a world step by step, as `train` would; return it and its actions."""
    agent = Agent.for_world(world, explorer, seed=seed, **changes)
    steps = agent.settings.run_length
    simulator = agent.simulate(world)
    state, t, actions = simulator.reset(), 0, np.zeros(steps, np.int16)
    for i in range(steps):
        action = agent.act(state)
        if not 0 <= action < world.n_actions:
            raise InvalidExplorer(f"{where} chose action {action}; valid are 0 to {world.n_actions - 1}.")
        next_state, reward, terminated = simulator.step(state, action)
        t += 1
        truncated = not terminated and t == agent.settings.horizon
        agent.observe(state, action, reward, next_state, terminated, truncated)
        actions[i] = action
        over = terminated or truncated
        state, t = (simulator.reset(), 0) if over else (next_state, t)
    return agent, actions
