"""Exact planning against brute force on small MDPs, and its errors."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_mdps import random_mdps
from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import (
    episode_returns,
    expected_reward,
    optimal_values,
    policy_value,
    reachable_states,
    uniform_over_ties,
)
from wanderlust.worlds import make_world

discounts = st.sampled_from([0.0, 0.5, 0.9, 0.99])


def solve_densely(mdp: TabularMDP, actions: np.ndarray, discount: float) -> np.ndarray:
    """Return V of a deterministic policy, computed one outcome at a time."""
    system, reward = np.eye(mdp.n_states), np.zeros(mdp.n_states)
    for s, a in enumerate(actions):
        for k in range(mdp.n_outcomes):
            p = mdp.probability[s, a, k]
            reward[s] += p * mdp.reward[s, a, k]
            if not mdp.terminal[s, a, k]:
                system[s, mdp.next_state[s, a, k]] -= discount * p
    return np.linalg.solve(system, reward)


def expected_by_recursion(mdp: TabularMDP, policy: np.ndarray, horizon: int) -> float:
    def value(s: int, steps: int) -> float:
        total = 0.0
        for a, k in np.ndindex(mdp.n_actions, mdp.n_outcomes) if steps else ():
            p = policy[s, a] * mdp.probability[s, a, k]
            if p > 0:
                later = 0.0 if mdp.terminal[s, a, k] else value(int(mdp.next_state[s, a, k]), steps - 1)
                total += p * (mdp.reward[s, a, k] + later)
        return total

    return sum(float(mdp.start[s]) * value(s, horizon) for s in range(mdp.n_states))


@given(random_mdps(max_states=4), discounts)
def test_optimal_values_equal_the_best_of_all_policies(mdp, discount):
    policies = itertools.product(range(mdp.n_actions), repeat=mdp.n_states)
    best = np.max([solve_densely(mdp, np.array(policy), discount) for policy in policies], axis=0)
    solution = optimal_values(mdp, discount=discount)
    np.testing.assert_allclose(solution.v, best, atol=1e-9)
    np.testing.assert_allclose(solution.v, solution.q.max(axis=1))
    np.testing.assert_allclose(policy_value(mdp, solution.policy, discount=discount), best, atol=1e-8)


@given(random_mdps(), discounts, st.randoms(use_true_random=False))
def test_policy_value_equals_the_dense_solution(mdp, discount, random):
    actions = np.array([random.randrange(mdp.n_actions) for _ in range(mdp.n_states)])
    expected = solve_densely(mdp, actions, discount)
    np.testing.assert_allclose(policy_value(mdp, actions, discount=discount), expected, atol=1e-10)
    as_probabilities = np.eye(mdp.n_actions)[actions]
    np.testing.assert_allclose(policy_value(mdp, as_probabilities, discount=discount), expected, atol=1e-10)


@given(random_mdps(max_states=4), st.integers(0, 4))
def test_the_return_is_the_sum_over_all_trajectories(mdp, horizon):
    policies = [uniform_over_ties(sign * expected_reward(mdp)) for sign in (1, -1)]
    expected = [expected_by_recursion(mdp, policy, horizon) for policy in policies]
    np.testing.assert_allclose(episode_returns(mdp, policies, horizon), expected, atol=1e-12)


@given(random_mdps())
def test_reachable_states_equal_a_search(mdp):
    found = {int(s) for s in np.flatnonzero(mdp.start)}
    queue = list(found)
    while queue:
        s = queue.pop()
        for a, k in itertools.product(range(mdp.n_actions), range(mdp.n_outcomes)):
            next_state = int(mdp.next_state[s, a, k])
            if mdp.probability[s, a, k] > 0 and not mdp.terminal[s, a, k] and next_state not in found:
                found.add(next_state)
                queue.append(next_state)
    assert set(np.flatnonzero(reachable_states(mdp)).tolist()) == found


def test_ties_share_the_probability_equally():
    q = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.5, 0.5, 0.5]])
    expected = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(uniform_over_ties(q), expected)
    almost_tied = np.array([[1.0, np.nextafter(1.0, 2.0)]])
    assert uniform_over_ties(almost_tied).tolist() == [[0.0, 1.0]]


def test_values_of_very_different_size_are_solved_to_the_tolerance():
    corridor = make_world("S" + "." * 400 + "A\n\nA = treasure 1e6\nstep = -0.01\n")
    solution = optimal_values(corridor.mdp, tolerance=1e-6)
    exact = 0.99**401 * 1e6 - 0.01 * (1 - 0.99**402) / 0.01
    assert solution.v[0] == pytest.approx(exact, abs=1e-6)


POLICY = np.zeros(25, dtype=int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda mdp: policy_value(mdp, np.zeros(24, dtype=int)), "shape"),
        (lambda mdp: policy_value(mdp, np.zeros(25)), "whole numbers"),
        (lambda mdp: policy_value(mdp, np.full(25, 4)), "from 0 to 3"),
        (lambda mdp: policy_value(mdp, np.full(25, -1)), "from 0 to 3"),
        (lambda mdp: policy_value(mdp, np.full((25, 4), 0.3)), "sum to 1"),
        (lambda mdp: policy_value(mdp, np.tile([2.0, -1.0, 0.0, 0.0], (25, 1))), "at least 0"),
        (lambda mdp: policy_value(mdp, POLICY, discount=1.0), r"discount must be in \[0, 1\)"),
        (lambda mdp: optimal_values(mdp, tolerance=0.0), "tolerance"),
        (lambda mdp: episode_returns(mdp, [POLICY], -1), "horizon"),
        (lambda mdp: uniform_over_ties([[np.nan, 1.0]]), "NaN"),
    ],
)
def test_invalid_policies_and_settings(call, message):
    with pytest.raises(InvalidSetting, match=message):
        call(make_world("toy").mdp)
