"""The fast paths give the bits of the plain sweep; `test_oracle.py` has every explorer, memory and world."""

from __future__ import annotations

import numpy as np
import pytest

import wanderlust as wl
from test_drivers import assert_same_tables
from wanderlust.agents.session import Record
from wanderlust.learning.state import CACHE_LINE

pytestmark = pytest.mark.slow


def assert_same(one: Record, other: Record) -> None:
    assert np.array_equal(one.actions, other.actions)
    assert np.array_equal(one.returns, other.returns)
    assert_same_tables(one, other)


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count", "ucb1", "bonus"])
def test_values_that_take_thousands_of_sweeps_to_converge(explorer: str) -> None:
    text = "S" + 58 * "." + "A\n\nA = treasure 1\nstep = -0.01\n"
    corridor = wl.make_world(text, name="corridor", horizon=400, budget=9000)
    run = {"seed": 5, "discount": 0.999, "learning_rate": 0.002, "keep_trajectory": True}
    if explorer.startswith("vv"):
        run["gamma_w"] = 0.999
    fast = wl.train(corridor, explorer, **run)
    assert_same(fast, wl.train(corridor, explorer, plain_sweeps=True, **run))
    # Values that are still moving at the end show that the sweeps had work to the last.
    earlier = wl.train(corridor, explorer, steps=8999, **run)
    assert not np.array_equal(earlier.tables["behaviour"], fast.tables["behaviour"])


def test_wall_through_both_kinds_of_sweep() -> None:
    session = wl.Session("wall", "vv-ucb", seed=2, steps=4000)
    dense_steps = 0
    for step in range(0, 4001, 100):
        session.advance(step)
        dense_steps += int(session.agent.learner.sweep_mode["dense_left"].any())
    assert 0 < dense_steps < 41, "the run should meet active and dense sweeps"
    assert_same_tables(session.record(), wl.train("wall", "vv-ucb", seed=2, steps=4000, plain_sweeps=True))


def test_tables_begin_with_a_line_of_the_cache_however_often_they_grow() -> None:
    agent = wl.Agent("vv-ucb", n_actions=3, reward_range=(0, 1))
    for state in range(1_000):
        agent.observe(state, 0, 0.0, state + 1, terminated=False)
        learner = agent.learner
        rows = [*learner.values, *learner.sweep_reward, *learner.state_values, learner.sweep_next]
        assert all(row.ctypes.data % CACHE_LINE == 0 for row in rows)


@pytest.mark.parametrize("explorer", ["vv-ucb", "bootstrapped"])
def test_growing_tables_change_nothing(explorer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = wl.make_world("deep-sea", depth=14)
    at_once = wl.train(world, explorer, seed=3, steps=1_500, keep_trajectory=True)
    monkeypatch.setattr("wanderlust.agents.agent.INITIALIZED_STATES", 4)
    session = wl.Session(world, explorer, seed=3, steps=1_500, keep_trajectory=True)
    before = int(session.agent.learner.counters.n_initialized)
    session.advance()
    assert session.agent.learner.counters.n_initialized > before
    assert_same(at_once, session.record())
