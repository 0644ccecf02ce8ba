"""Several drivers of the same functions: fused, step by step, saved and loaded in between, in plain Python.

With the same seed in the same world all of them must do the same: every action, every count, every table to
the last bit.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wanderlust as wl
from conftest import ENSEMBLES, EXPLORERS, MEMORIES, every_explorer, every_memory
from wanderlust.core.mdp import deterministic_mdp
from wanderlust.worlds import World, make_world
from wanderlust.worlds.base import Defaults


def changes_for(explorer: str, memory: str) -> dict[str, Any]:
    """Return a memory, and minibatches smaller than what is remembered."""
    ensemble = {"batch": 40} if explorer in ENSEMBLES else {}
    return {"replay": MEMORIES[memory], "evaluate_every": 25, **ensemble}


class Walk:
    """An agent that acts in a world step by step; it can be stopped, saved, loaded and continued."""

    def __init__(self, agent: wl.Agent, world: World) -> None:
        self.agent, self.world = agent, world
        self.simulator = agent.simulate(world)
        self.state, self.t = self.simulator.reset(), 0
        self.actions: list[int] = []
        self.returns: list[float] = []

    def go(self, steps: int) -> None:
        """Take the steps, with the evaluations that `train` makes."""
        settings = self.agent.settings
        for _ in range(steps):
            action = self.agent.act(self.state)
            next_state, reward, terminated = self.simulator.step(self.state, action)
            self.t += 1
            truncated = not terminated and self.t == settings.horizon
            self.agent.observe(self.state, action, reward, next_state, terminated, truncated)
            self.actions.append(action)
            if self.world.mdp.deterministic and len(self.actions) % settings.evaluate_every == 0:
                self.returns.append(self.agent.evaluate(self.world))
            if terminated or truncated:
                self.state, self.t = self.simulator.reset(), 0
            else:
                self.state = next_state

    def save_and_load(self, path: Path) -> None:
        """Save the agent and continue with the loaded one."""
        self.agent.save(path)
        self.agent = wl.Agent.load(path)
        self.simulator = self.agent.simulate(self.world)


def assert_same_tables(given: wl.Agent, wanted: wl.Agent | wl.Record) -> None:
    np.testing.assert_array_equal(given.visits, wanted.visits, err_msg="visits")
    assert given.tables.keys() == wanted.tables.keys()
    for name, values in wanted.tables.items():
        np.testing.assert_array_equal(given.tables[name], values, err_msg=name)


@every_explorer
@every_memory
@pytest.mark.parametrize("name", ["prison", "noisy-toy", "deep-sea"])
def test_step_by_step_equals_fused(name: str, memory: str, explorer: str) -> None:
    world = make_world(name, **({"depth": 6} if name == "deep-sea" else {}))
    steps, changes = 300, changes_for(explorer, memory)
    fused = wl.train(world, explorer, seed=4, steps=steps, keep_trajectory=True, **changes)
    walk = Walk(wl.Agent.for_world(world, explorer, seed=4, **changes), world)
    walk.go(steps)
    np.testing.assert_array_equal(walk.actions, fused.actions)
    assert_same_tables(walk.agent, fused)
    assert walk.agent.steps == steps
    assert walk.agent.discovered == fused.discovered[-1]
    if world.mdp.deterministic:
        np.testing.assert_array_equal(walk.returns, fused.returns)


@every_explorer
@pytest.mark.parametrize("preset", ["as_written", "as_published_code"])
@pytest.mark.parametrize("initial", ["zero", "optimistic"])
def test_step_by_step_equals_fused_with_presets(initial: str, preset: str, explorer: str) -> None:
    world, steps = make_world("toy"), 200
    changes = {**changes_for(explorer, "full"), "preset": preset, "initial": initial}
    fused = wl.train(world, explorer, seed=9, steps=steps, keep_trajectory=True, **changes)
    walk = Walk(wl.Agent.for_world(world, explorer, seed=9, **changes), world)
    walk.go(steps)
    np.testing.assert_array_equal(walk.actions, fused.actions)
    np.testing.assert_array_equal(walk.returns, fused.returns)
    assert_same_tables(walk.agent, fused)


@every_explorer
@every_memory
@pytest.mark.parametrize("name", ["deep-sea", "noisy-deep-gridworld"])
def test_stopped_and_loaded_equals_never_stopped(name: str, memory: str, explorer: str, tmp_path: Path) -> None:
    """In the deep sea the first file has few states, the last more than the arrays held at first."""
    world = make_world(name, **({"depth": 20} if name == "deep-sea" else {}))
    changes = changes_for(explorer, memory)
    never_stopped, often_stopped = (
        Walk(wl.Agent.for_world(world, explorer, seed=6, **changes), world) for _ in range(2)
    )
    known_when_saved = []
    for part in (7, 90, 1, 152, 350):
        never_stopped.go(part)
        often_stopped.go(part)
        known_when_saved.append(often_stopped.agent.discovered)
        often_stopped.save_and_load(tmp_path / "agent.npz")
        assert_same_tables(often_stopped.agent, never_stopped.agent)
    never_stopped.go(50)
    often_stopped.go(50)
    assert often_stopped.actions == never_stopped.actions
    assert often_stopped.returns == never_stopped.returns
    assert_same_tables(often_stopped.agent, never_stopped.agent)
    if name == "deep-sea":
        assert known_when_saved[0] < 10
        assert known_when_saved[-1] > 64


@every_explorer
def test_n_states_is_optional(explorer: str, tmp_path: Path) -> None:
    """An agent without `n_states` does the same, also after saving and loading."""
    world, changes = make_world("deep-sea", depth=10), changes_for(explorer, "full")
    with_n_states = Walk(wl.Agent.for_world(world, explorer, seed=8, **changes), world)
    agent_without = wl.Agent(
        explorer,
        n_actions=world.n_actions,
        reward_range=world.reward_range,
        seed=8,
        settings=with_n_states.agent.settings,
        **({"batch": 40} if explorer in ENSEMBLES else {}),
    )
    without = Walk(agent_without, world)
    with_n_states.go(200)
    without.go(60)
    without.save_and_load(tmp_path / "agent.npz")
    without.go(140)
    assert without.actions == with_n_states.actions
    n = min(len(without.agent.visits), world.n_states)
    np.testing.assert_array_equal(without.agent.visits[:n], with_n_states.agent.visits[:n])
    for name, values in with_n_states.agent.tables.items():
        np.testing.assert_array_equal(without.agent.tables[name][..., :n, :], values[..., :n, :], err_msg=name)
    assert without.returns == with_n_states.returns


def test_evaluation_after_few_visited_states() -> None:
    """Ties are broken at random in unvisited states, with and without `n_states`."""
    n_states = 100
    next_state = np.minimum(np.arange(n_states) + 1, n_states - 1)
    reward = np.zeros((n_states, 2))
    reward[64, 1] = 1.0
    last = np.arange(n_states) == n_states - 1
    mdp = deterministic_mdp(np.column_stack([next_state] * 2), reward, np.column_stack([last] * 2), np.eye(n_states)[0])
    defaults = Defaults(horizon=n_states, budget=100)
    world = World(name="corridor", mdp=mdp, defaults=defaults, action_names=("a", "b"), r_max=1.0)
    returns = []
    for known in (n_states, None):
        agent = wl.Agent("random", n_actions=2, reward_range=(0, 1), n_states=known, seed=1)
        agent.observe(0, 1, -1.0, 1, terminated=False)
        returns.append([agent.evaluate(world) for _ in range(8)])
    assert returns[0] == returns[1]
    assert len(set(returns[0])) == 2


def run_hashes() -> dict[str, str]:
    """Return a hash of all actions and tables of a short run of every explorer with every memory."""
    hashes = {}
    for explorer in EXPLORERS:
        for memory in MEMORIES:
            for name in ("prison", "noisy-toy"):
                changes = changes_for(explorer, memory) | {"seed": 7, "steps": 200, "keep_trajectory": True}
                record = wl.train(make_world(name), explorer, **changes)
                digest = hashlib.sha256(record.actions.tobytes())
                for table in sorted(record.tables):
                    digest.update(np.ascontiguousarray(record.tables[table]).tobytes())
                hashes[f"{explorer} {memory} {name}"] = digest.hexdigest()
    return hashes


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="all is plain Python")
def test_plain_python_equals_compiled() -> None:
    program = "import json, sys, test_drivers\nprint(json.dumps([test_drivers.run_hashes(), 'numba' in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    plain, has_numba = json.loads(done.stdout)
    assert not has_numba
    assert plain == run_hashes()
