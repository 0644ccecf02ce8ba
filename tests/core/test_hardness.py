"""Exact hardness measures: the numbers of the built-in worlds, closed forms, and brute force on random MDPs."""

from typing import Any

import numpy as np
import pytest

import wanderlust as wl
from random_mdps import random_mdp
from wanderlust.core.hardness import expected_steps, expected_visits, hardness
from wanderlust.core.mdp import TabularMDP, deterministic_mdp, estimated_mdp
from wanderlust.core.planning import optimal_values, policy_value, reachable_states
from wanderlust.experiments.diagnosis import estimated_hardness
from wanderlust.experiments.run import Run


@pytest.mark.parametrize(
    ("world", "options", "episodes", "farthest", "diameter"),
    [
        ("toy", {}, 195.0, 8, 8),
        ("prison", {}, 5269.0, 8, np.inf),
        ("taxi", {}, 2.9e13, 30, 38),
        ("wall", {}, 2.5e18, 123, None),
        # A random walk takes 2^N episodes. The far corner takes N - 1 steps, and an episode of N with the other flag.
        *(("deep-sea", {"depth": n}, 2.0**n, 2 * n - 1, 3 * n - 1) for n in (5, 10)),
        *(("deep-sea", {"depth": n, "flag": "treasure"}, 2.0 ** (n - 1), n - 1, 2 * n - 2) for n in (5, 10)),
    ],
)
def test_the_paper_s_worlds(
    world: str, options: dict[str, Any], episodes: float, farthest: float, diameter: float | None
) -> None:
    found = wl.make_world(world, **options).hardness()
    assert found.rarest_visit == pytest.approx(episodes, rel=0.01)
    assert (found.farthest, found.diameter) == (farthest, diameter)


def test_prisons_have_an_infinite_diameter_and_large_stochastic_worlds_none() -> None:
    assert wl.make_world("noisy-prison").hardness().diameter == np.inf
    # With an escape of probability 1/2 the prison is left after two steps in the mean.
    assert wl.make_world("prison", escape=0.5).hardness().diameter < 50
    stochastic = wl.with_slips(wl.make_world("wall")).hardness()
    assert (stochastic.steps_to_reach, stochastic.farthest, stochastic.diameter) == (None, None, None)
    assert "not computed for more than 500 states" in repr(stochastic)


def test_returns_gap_and_value_norm() -> None:
    world = wl.make_world("noisy-prison")
    found, best = world.hardness(), optimal_values(world.mdp)
    assert found.optimal_return == pytest.approx(4.2385, abs=1e-4)
    assert found.random_return == pytest.approx(
        float(world.mdp.start @ policy_value(world.mdp, np.full((world.n_states, 4), 0.25)))
    )
    assert found.random_share == found.random_return / found.optimal_return
    gaps = (best.v[:, None] - best.q)[reachable_states(world.mdp)]
    assert found.action_gap == gaps[gaps > 1e-7].min()
    deviations = [
        np.sqrt(np.cov(np.where(world.mdp.terminal[s, a], 0, best.v[world.mdp.next_state[s, a]]), ddof=0, aweights=p))
        for s in np.flatnonzero(reachable_states(world.mdp))
        for a, p in enumerate(world.mdp.probability[s])
    ]
    assert found.value_norm == pytest.approx(max(deviations))
    assert wl.make_world("prison").hardness().value_norm == 0.0


def test_horizon_and_discount_can_be_given() -> None:
    world = wl.make_world("toy")
    assert world.hardness(horizon=22).rarest_visit == pytest.approx(13.555, abs=1e-3)
    assert world.hardness(horizon=3).rarest_visit == np.inf
    assert world.hardness(discount=0.5).optimal_return == pytest.approx(0.5**8)
    with pytest.raises(wl.WanderlustError, match="horizon"):
        world.hardness(horizon=0)


def test_a_readable_repr() -> None:
    text = repr(wl.make_world("prison").hardness())
    assert "24: one visit in 5,269 episodes of 11 steps" in text
    assert text.split()[-2:] == ["diameter", "∞"]
    assert "7,394 visits in an episode of 200,000 steps" in repr(wl.make_world("chain").hardness())


def restarted(mdp: TabularMDP) -> np.ndarray[Any, Any]:
    """Return P[s, a, s'], where terminal outcomes lead to the start."""
    p = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
    for (s, a, k), probability in np.ndenumerate(mdp.probability):
        if mdp.terminal[s, a, k]:
            p[s, a] += probability * mdp.start
        else:
            p[s, a, mdp.next_state[s, a, k]] += probability
    return p


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_steps_by_brute_force(seed: int, deterministic: bool) -> None:
    """Value iteration that runs for long, on small random MDPs with several starts, ends and traps."""
    mdp = random_mdp(seed, n_states=6, n_actions=2, n_outcomes=1 if deterministic else 3)
    assert mdp.deterministic == deterministic
    states = reachable_states(mdp)
    steps, between = expected_steps(mdp, states, all_pairs=True)
    p = restarted(mdp)
    for g in np.flatnonzero(states):
        c = np.zeros(mdp.n_states)
        for _ in range(4_000):
            c = np.where(np.arange(mdp.n_states) == g, 0.0, 1 + (p @ c).min(axis=1))
        c[c > 2_000] = np.inf
        np.testing.assert_allclose(between[:, np.flatnonzero(states) == g][:, 0], c[states], rtol=1e-6)
        started = mdp.start > 0
        assert steps[g] == pytest.approx(mdp.start[started] @ c[started])
    assert np.isinf(steps[~states]).all()


def test_visits_of_a_long_horizon() -> None:
    """Doubling gives the same sum as one step after another."""
    world = wl.make_world("chain", length=9)
    policy = np.full((world.n_states, world.n_actions), 1 / world.n_actions)
    p = np.einsum("sa,sat->st", policy, restarted(world.mdp))
    visits, distribution = np.zeros(world.n_states), world.mdp.start.copy()
    for _ in range(777):
        visits += distribution
        distribution = distribution @ p
    np.testing.assert_allclose(expected_visits(world.mdp, policy, 777), visits, rtol=1e-9)


def test_a_single_state() -> None:
    mdp = deterministic_mdp(np.zeros((1, 2), int), np.zeros((1, 2)), np.zeros((1, 2), bool), np.ones(1))
    found = hardness(mdp, horizon=10)
    assert (found.diameter, found.farthest, found.rarest_visit) == (0.0, 0.0, 0.1)
    assert found.action_gap == np.inf
    assert np.isnan(found.random_share)


def observed(mdp: TabularMDP, shift: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return what a run that took every pair a thousand times would have observed, with other numbers of states."""
    rows = [
        (s + shift, a, -1 if mdp.terminal[s, a, k] else mdp.next_state[s, a, k] + shift, 1_000 * p, mdp.reward[s, a, k])
        for (s, a, k), p in np.ndenumerate(mdp.probability)
        if p > 0
    ]
    starts = [(s + shift, 1_000 * p) for s, p in enumerate(mdp.start) if p > 0]
    return np.array(rows, float), np.array(starts, float)


def test_an_mdp_estimated_from_enough_transitions_is_as_hard() -> None:
    world = wl.make_world("noisy-prison")
    estimated = estimated_mdp(*observed(world.mdp, 7), world.n_actions)
    assert estimated is not None
    assert repr(hardness(estimated, horizon=world.defaults.horizon)) == repr(world.hardness())


def test_an_action_that_was_never_taken_stays() -> None:
    outcomes = np.array([[3, 1, 5, 2, 0.5], [5, 0, -1, 1, 1.0], [3, 1, 3, 2, 0.0]])
    mdp = estimated_mdp(outcomes, np.array([[3.0, 2.0]]), 2)
    assert mdp is not None
    assert mdp.next_state[0, 0, 0] == 0
    assert mdp.probability[0, 0].tolist() == [1.0, 0.0]
    assert mdp.probability[0, 1].tolist() == [0.5, 0.5]
    assert mdp.reward[0, 1].tolist() == [0.5, 0.0]
    assert mdp.terminal[1, 0, 0]
    assert mdp.start.tolist() == [1.0, 0.0]
    assert estimated_mdp(np.zeros((0, 5)), np.zeros((0, 2)), 2) is None


def test_hardness_from_the_transitions_of_a_run() -> None:
    lake = {"kind": "environment", "world": "FrozenLake-v1", "world_options": {"is_slippery": False}}
    result = Run(**lake, explorer="vv-ucb", settings={"steps": 400}).train()
    assert result.outcomes[:, 3].sum() == 400
    found = estimated_hardness({"vv-ucb": [result]}, n_actions=4, horizon=100)
    exact = wl.world_from_gym("FrozenLake-v1", is_slippery=False).hardness()
    assert found.source == "data"
    assert "44 of 44 state-action pairs" in found.explanation
    assert found.hardness is not None
    assert found.hardness.optimal_return == pytest.approx(exact.optimal_return)
    assert found.hardness.rarest_visit == pytest.approx(exact.rarest_visit)
    assert found.json_values["diameter"] == exact.diameter
    old = result._replace(outcomes=np.zeros(0), starts=np.zeros(0))
    missing = estimated_hardness({"vv-ucb": [old]}, n_actions=4, horizon=100)
    assert (missing.source, missing.hardness) == ("none", None)
