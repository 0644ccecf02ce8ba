"""Returns of environment runs: exact where a model is known, otherwise of as many episodes as their mean needs."""

import itertools

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from wanderlust.core.planning import episode_returns, uniform_over_ties
from wanderlust.environments.model import known_model
from wanderlust.experiments.environment_run import evaluation_seed
from wanderlust.experiments.run import Run
from wanderlust.training.evaluation import MAX_ADAPTIVE_EPISODES, RepeatedEvaluation, is_precise, mean_interval


@pytest.mark.parametrize("p", [0.02, 0.3, 0.97])
def test_the_interval_at_the_stop_covers_the_true_mean(p):
    """In 95 % of the repetitions; of 300, the share of 95 % ± 4 % is within three standard errors; it may be larger."""
    random, covered, lengths = np.random.default_rng(5), 0, []
    for _ in range(300):
        returns = list(map(float, random.random(10) < p))
        while len(returns) < MAX_ADAPTIVE_EPISODES and not is_precise(returns, 0.0, 1.0):
            returns.append(float(random.random() < p))
        center, half_width = mean_interval(returns, 0.0, 1.0)
        covered += abs(center - p) <= half_width
        lengths.append(len(returns))
    assert covered / 300 >= 0.91
    assert 10 < np.mean(lengths) <= MAX_ADAPTIVE_EPISODES


def test_evaluations_of_different_runs_are_independent():
    runs = [
        Run(kind="environment", world=world, explorer=explorer, seed=seed, settings={"steps": 100})
        for world, explorer, seed in itertools.product(("FrozenLake-v1", "Taxi-v4"), ("vv-ucb", "ucb1"), range(3))
    ]
    seeds = [evaluation_seed(run) for run in runs]
    assert len(set(seeds)) == len(runs)
    assert seeds == [evaluation_seed(Run.from_json(run.json)) for run in runs]


TAXI = "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3"


class Twice(gym.RewardWrapper):
    def reward(self, reward):
        return 2 * reward


@pytest.mark.parametrize(
    ("env", "is_known"),
    [
        (lambda: wl.tabular("FrozenLake-v1"), True),
        (lambda: wl.tabular("toy"), True),
        (lambda: wl.tabular(gym.wrappers.RecordEpisodeStatistics(gym.make(TAXI))), True),
        (lambda: wl.tabular(Twice(gym.make("FrozenLake-v1"))), False),
        (lambda: wl.tabular(gym.wrappers.TransformReward(gym.make("FrozenLake-v1"), abs)), False),
        (lambda: wl.tabular("FrozenLake-v1", reset_seed=0), False),
        (lambda: wl.tabular("FrozenLake-v1", key=lambda state: state // 2), False),
        (lambda: wl.tabular(gym.make(TAXI, fickle_passenger=True)), False),
        (lambda: wl.tabular("Blackjack-v1"), False),
    ],
)
def test_a_model_is_known_only_if_it_has_the_steps_of_the_environment(env, is_known):
    assert (known_model(env()) is not None) == is_known


def test_returns_are_exact_if_the_model_is_known():
    agent = wl.learn("FrozenLake-v1", "vv-ucb", steps=2_000, seed=0, quiet=True)
    env = wl.tabular("FrozenLake-v1")
    (exact,) = RepeatedEvaluation(env, 10, seed=3, adaptive=True).returns(agent)
    policy = uniform_over_ties(np.stack([agent.action_values(state) for state in range(16)]))
    assert exact == episode_returns(wl.world_from_gym(env).mdp, [policy], 100)[0]
    sampled = wl.evaluate(agent, env, episodes=400)
    assert abs(sampled.mean() - exact) < 4 * sampled.std() / 20


def test_noisy_returns_get_more_episodes():
    agent = wl.learn("Blackjack-v1", "ucb1", steps=500, seed=0, quiet=True)
    noisy = RepeatedEvaluation(agent.env.copy(), 10, seed=3, adaptive=True).returns(agent)
    assert 10 < len(noisy) <= MAX_ADAPTIVE_EPISODES
    assert is_precise(noisy, -1.0, 1.0) or len(noisy) == MAX_ADAPTIVE_EPISODES
    assert len(RepeatedEvaluation(agent.env.copy(), 10, seed=3).returns(agent)) == 10
