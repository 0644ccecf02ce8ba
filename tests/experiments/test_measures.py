"""Runs with until="positive-return" and measure="values", and the studies that use them."""

import json

import numpy as np
import pytest

import wanderlust as wl
from wanderlust.core.errors import InvalidSetting, UnknownName
from wanderlust.core.planning import optimal_values, policy_values, uniform_over_ties
from wanderlust.experiments.run import Run

pytestmark = pytest.mark.slow

CHAIN = Run(
    world="chain",
    world_options={"length": 7},
    explorer="vv-count",
    seed=3,
    preset="as_published_code",
    settings={"budget": 1500, "evaluate_every": 250},
    measure="values",
)


def test_a_run_ends_with_the_first_positive_return():
    ended = Run(world="deep-sea", world_options={"depth": 8}, explorer="vv-ucb", until="positive-return").train()
    full = Run(world="deep-sea", world_options={"depth": 8}, explorer="vv-ucb", settings={"steps": 5000}).train()
    first = int(np.flatnonzero(full.returns > 0)[0])
    assert ended.steps[-1] == full.steps[first] == ended.visits.sum()
    assert ended.returns.tolist() == full.returns[: first + 1].tolist()


def test_the_sample_complexity_counts_every_step():
    """Repeat the run step by step, and compute V^π of the greedy policy before each step."""
    result = CHAIN.train()
    world = wl.make_world("chain", length=7)
    session = wl.Session(world, "vv-count", seed=3, preset="as_published_code", keep_trajectory=True, budget=1500)
    optimal = optimal_values(world.mdp, 0.99)
    policies = []
    for step in range(session.settings.run_length):
        session.advance(step)
        policies.append(uniform_over_ties(session.agent.tables["target"]))
    session.advance()
    missing = optimal.v - policy_values(world.mdp, policies, 0.99)
    gaps = [gap[state] for gap, state in zip(missing, session.record().states, strict=True)]
    errors = (missing**2).mean(axis=1)
    for epsilon, count, good in zip(result.gaps, result.bad_steps, result.ends_good, strict=True):
        if epsilon >= 1e-9:  # Below, the two solvers differ by rounding errors.
            assert count == sum(gap > epsilon for gap in gaps)
            assert good == (gaps[-1] <= epsilon)
    np.testing.assert_allclose(result.value_errors, errors[result.moments - 1], atol=1e-9)
    assert result.bad_steps[0] < len(gaps), "the final policy should be optimal"
    plain = Run.from_json(json.dumps({**CHAIN.description, "measure": "returns"})).train()
    assert result.steps.tolist() == plain.steps.tolist() == [250, 500, 750, 1000, 1250]
    np.testing.assert_allclose(result.returns, plain.returns, rtol=1e-12)
    assert result.visits_by_moment[-1].tolist() == result.visits.sum(axis=1).tolist()
    assert (np.diff(result.visits_by_moment, axis=0) >= 0).all()
    assert result.visits_by_moment.sum(axis=1).tolist() == result.moments.tolist()


def test_measures_that_do_not_fit_the_world_are_rejected():
    with pytest.raises(InvalidSetting, match="stochastic worlds; 'toy' is deterministic"):
        Run(world="toy", explorer="random", measure="values").train()
    with pytest.raises(InvalidSetting, match="deterministic worlds; 'noisy-toy' is stochastic"):
        Run(world="noisy-toy", explorer="random", until="positive-return").train()
    with pytest.raises(UnknownName, match="until"):
        Run(world="toy", explorer="random", until="tomorrow")


def test_a_record_contains_every_policy_once():
    record = wl.train("noisy-toy", "vv-ucb", seed=1, steps=600)
    assert len({row.tobytes() for row in record.policies}) == len(record.policies) == len(record.policy_values)
    assert len(record.policy_at) == len(record.returns)
    start = np.flatnonzero(wl.make_world("noisy-toy").mdp.start)[0]
    np.testing.assert_array_equal(record.policy_values[record.policy_at, start], record.returns)
    assert len(wl.train("toy", "vv-ucb", seed=1, steps=200).policies) == 0
