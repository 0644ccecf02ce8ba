"""Several drivers of the same functions: fused, step by step, saved and loaded in between, in plain Python.

With the same seed in the same world all of them must do the same: every action, every count, every table to
the last bit.
"""

import copy
import hashlib
import itertools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wanderlust as wl
from conftest import ENSEMBLES, EXPLORERS, MEMORIES, PLANNERS, can_run, every_explorer, every_memory
from oracle import SlowRecord, train_slowly
from pairwise import every_pair
from random_mdps import corridor
from wanderlust.core.errors import InvalidSetting
from wanderlust.core.planning import optimal_values
from wanderlust.worlds import World, make_world


def changes_for(explorer: str, memory: str) -> dict[str, Any]:
    """Return a memory, minibatches smaller than what is remembered, and plans that converge in fewer sweeps."""
    ensemble = {"batch": 40} if explorer in ENSEMBLES else {"discount": 0.9} if explorer in PLANNERS else {}
    return {"replay": MEMORIES[memory], "evaluate_every": 25, **ensemble}


class Walk:
    """An agent that acts in a world step by step; it can be stopped, saved, loaded and continued."""

    def __init__(self, agent: wl.Agent, world: World, position: tuple[int, int] | None = None) -> None:
        self.agent, self.world = agent, world
        self.simulator = agent.simulate(world)
        self.state, self.t = (self.simulator.reset(), 0) if position is None else position
        self.actions: list[int] = []
        self.returns: list[float] = []

    def go(self, steps: int, replays: int = 0, masks: Any = None) -> None:
        """Take the steps, with the evaluations that `train` makes; replay the memory after every tenth."""
        settings = self.agent.settings
        for _ in range(steps):
            action = self.agent.act(self.state, None if masks is None else masks[self.state])
            next_state, reward, terminated = self.simulator.step(self.state, action)
            self.t += 1
            truncated = not terminated and self.t == settings.horizon
            self.agent.observe(self.state, action, reward, next_state, terminated, truncated)
            self.actions.append(action)
            if replays and self.agent.steps % 10 == 0:
                self.agent.replay(replays)
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


def assert_same_tables(given: wl.Agent | wl.Record, wanted: wl.Agent | wl.Record | SlowRecord) -> None:
    np.testing.assert_array_equal(given.visits, wanted.visits, err_msg="visits")
    assert given.tables.keys() == wanted.tables.keys()
    for name, values in wanted.tables.items():
        np.testing.assert_array_equal(given.tables[name], values, err_msg=name)


@every_pair(
    name=["prison", "noisy-toy", "deep-sea"],
    preset=["as_written", "as_published_code"],
    initial=["zero", "optimistic"],
    memory=MEMORIES,
    explorer=EXPLORERS,
)
def test_step_by_step_equals_fused_and_the_agent_of_a_record_goes_on_exactly(
    name: str, preset: str, initial: str, memory: str, explorer: str, tmp_path: Path
) -> None:
    """Also in the middle of an episode, after saving, and when the arrays must grow."""
    world = make_world(name, **({"depth": 12} if name == "deep-sea" else {}))
    changes = changes_for(explorer, memory) | {"preset": preset, "initial": initial}
    record = wl.train(world, explorer, seed=4, steps=225, keep_trajectory=True, **changes)
    by_step = Walk(wl.Agent.for_world(world, explorer, seed=4, **changes), world)
    by_step.go(225)
    np.testing.assert_array_equal(by_step.actions, record.actions)
    assert_same_tables(by_step.agent, record)
    assert (by_step.agent.steps, by_step.agent.discovered) == (225, record.discovered[-1])
    if world.mdp.deterministic:
        np.testing.assert_array_equal(by_step.returns, record.returns)
    agent = record.agent
    assert agent is record.agent
    assert agent.settings == record.settings
    assert_same_tables(agent, record)
    assert agent.history is not None
    for field in ("returns", "first_visit", "discovered"):
        np.testing.assert_array_equal(getattr(agent.history, field), getattr(record, field))
    walk = Walk(agent, world, record.position)
    assert walk.state == by_step.state
    walk.go(60)
    walk.save_and_load(tmp_path / "agent.npz")
    walk.go(190)
    by_step.go(250)
    assert walk.actions == by_step.actions[225:]
    assert_same_tables(walk.agent, by_step.agent)
    np.testing.assert_array_equal(walk.agent.learner.streams, by_step.agent.learner.streams)
    assert record.visits.sum() == 225
    assert walk.agent.history is not None
    np.testing.assert_array_equal(walk.agent.history.discovered, record.discovered)


def test_a_session_that_goes_on_does_not_change_the_agent_of_an_earlier_record() -> None:
    session = wl.Session("prison", "vv-ucb", seed=1, steps=300)
    session.advance(100)
    record = session.record()
    session.advance()
    assert record.agent.steps == record.agent.visits.sum() == 100
    assert_same_tables(record.agent, record)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
@every_memory
def test_a_copy_of_an_agent_is_independent(memory: str, copied: Any) -> None:
    world = make_world("noisy-toy")
    walk = Walk(wl.Agent.for_world(world, "vv-ucb", seed=2, replay=MEMORIES[memory]), world)
    walk.go(100)
    other = Walk(copied(walk.agent), world, (walk.state, walk.t))
    before = {name: table.copy() for name, table in walk.agent.tables.items()}
    other.go(200)
    for name, table in before.items():
        np.testing.assert_array_equal(walk.agent.tables[name], table)
    walk.go(200)
    assert walk.actions[100:] == other.actions
    assert_same_tables(walk.agent, other.agent)


@every_pair(name=["toy", "noisy-toy"], memory=["full", "window"], explorer=EXPLORERS)
def test_replay_equals_the_slow_one(name: str, memory: str, explorer: str) -> None:
    world, few = make_world(name), {"heads": 3} if explorer in ENSEMBLES else {}
    changes = {**changes_for(explorer, memory), **few, "sweeps": 4 if memory == "full" else 1}
    slow = train_slowly(world, explorer, seed=3, steps=60, replays=3, **changes)
    walk = Walk(wl.Agent.for_world(world, explorer, seed=3, **changes), world)
    walk.go(60, replays=3)
    np.testing.assert_array_equal(walk.actions, slow.actions)
    assert_same_tables(walk.agent, slow)


def test_replay_converges_to_the_optimal_values() -> None:
    """One transition of every pair, then sweeps alone: Q* of the observed pairs."""
    world = make_world("toy")
    agent = wl.Agent.for_world(world, "ucb1", learning_rate=1.0, discount=0.9)
    mdp = world.mdp
    for state, action in np.ndindex(mdp.n_states, mdp.n_actions):
        at = (state, action, 0)
        agent.observe(state, action, float(mdp.reward[at]), int(mdp.next_state[at]), bool(mdp.terminal[at]))
    steps, visits = agent.steps, agent.visits
    agent.replay(500)
    np.testing.assert_allclose(agent.tables["target"], optimal_values(mdp, 0.9).q, atol=1e-9)
    assert agent.steps == steps
    np.testing.assert_array_equal(agent.visits, visits)


def test_replay_needs_a_memory() -> None:
    agent = wl.Agent("ucb1", n_actions=2, reward_range=(0, 1), replay="none")
    agent.observe(0, 0, 0.0, 1, terminated=False)
    with pytest.raises(InvalidSetting, match="replay needs a memory, but this agent has replay='none'"):
        agent.replay(3)
    with pytest.raises(InvalidSetting, match="times must be a whole number at least 0"):
        agent.replay(-1)
    wl.Agent("ucb1", n_actions=2, reward_range=(0, 1), replay="window").replay(5)


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
    world = corridor(n_states, 64, budget=100)
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
    for i, (explorer, memory) in enumerate(itertools.product(EXPLORERS, MEMORIES)):
        if can_run(explorer, memory):
            changes = changes_for(explorer, memory) | {"seed": 7, "steps": 40, "keep_trajectory": True}
            record = wl.train(make_world(("prison", "noisy-toy")[i % 2]), explorer, **changes)
            digest = hashlib.sha256(record.actions.tobytes())
            for table in sorted(record.tables):
                digest.update(np.ascontiguousarray(record.tables[table]).tobytes())
            hashes[f"{explorer} {memory}"] = digest.hexdigest()
    return hashes


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="all is plain Python")
def test_plain_python_equals_compiled() -> None:
    program = "import json, sys, test_drivers\nprint(json.dumps([test_drivers.run_hashes(), 'numba' in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    plain, has_numba = json.loads(done.stdout)
    assert not has_numba
    assert plain == run_hashes()
