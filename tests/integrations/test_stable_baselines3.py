"""Stable-Baselines3's algorithms with an explorer; `make test-integrations` has an environment with them."""

import copy
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from wanderlust.integrations.sb3_contrib import VisitationQRDQN
from wanderlust.integrations.stable_baselines3 import VisitationDQN

SMALL = {"learning_starts": 20, "batch_size": 8, "buffer_size": 500, "policy_kwargs": {"net_arch": [8]}}


@pytest.fixture(params=[VisitationDQN, VisitationQRDQN])
def algorithm(request):
    return request.param


def test_it_visits_more_states_than_epsilon_greedy(algorithm):
    options = {"seed": 0, "learning_starts": 100, "policy_kwargs": {"net_arch": [16]}, "device": "cpu"}
    env = gym.make("wanderlust/DeepSea-v0", depth=12)
    model = algorithm("MlpPolicy", env, **options).learn(1_500)
    assert model.visitation.n_states == 12 * 13
    assert model.visitation.repeat_rate > 0.9
    seen = set()
    env = gym.wrappers.TransformObservation(env, lambda state: seen.add(int(state)) or state, env.observation_space)
    DQN("MlpPolicy", env, exploration_initial_eps=0.1, **options).learn(1_500)
    assert len(seen) < 12 * 13


def test_counts_and_episodes_of_several_environments(algorithm):
    """The explorer has observed every transition of the replay buffer, with the last observation of each episode."""
    env = make_vec_env("CliffWalking-v1", n_envs=3, seed=1, wrapper_class=lambda env: gym.wrappers.TimeLimit(env, 7))
    model = algorithm("MlpPolicy", env, seed=1, **SMALL).learn(150)
    buffer, explorer = model.replay_buffer, model.visitation
    size = buffer.pos
    states, actions = (np.asarray(array[:size]).ravel() for array in (buffer.observations, buffer.actions))
    counted = np.zeros((48, 4), int)
    np.add.at(counted, (states.astype(int), actions), 1)
    np.testing.assert_array_equal(explorer.visits, counted[: len(explorer.visits)])
    assert explorer.reward_range == (-100.0, -1.0)


def test_keys_are_those_of_original_observations():
    env = VecNormalize(make_vec_env("CartPole-v1", n_envs=1, seed=1))
    model = VisitationDQN("MlpPolicy", env, key=wl.keys.rounded(0.5), seed=1, **SMALL).learn(200)
    key = wl.keys.rounded(0.5)
    observed = {key(row) for row in np.asarray(model.replay_buffer.observations[:200, 0])}
    assert model.visitation.n_states == len(observed)


def test_the_last_observation_of_an_episode_is_that_before_normalization():
    """Normalization clips a number that was hardly ever seen, so that the observation cannot be computed back."""
    sums = set()

    def make():
        env = gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False, max_episode_steps=11)
        env = gym.wrappers.FlattenObservation(env)
        numbers = gym.spaces.Box(0, 1, (64,), np.float32)
        return gym.wrappers.TransformObservation(env, lambda observation: observation.astype(np.float32), numbers)

    def key(observation):
        sums.add(float(np.sum(observation)))
        return int(np.argmax(observation))

    VisitationDQN("MlpPolicy", VecNormalize(make_vec_env(make, n_envs=2)), key=key, seed=0, **SMALL).learn(600)
    assert sums == {1.0}, "one of the numbers is 1, the others are 0"


def test_a_second_training_begins_new_episodes_and_unseeded_ones_differ():
    env = gym.make("CliffWalking-v1")
    models = [VisitationDQN("MlpPolicy", env, explorer="random", **SMALL).learn(40) for _ in range(2)]
    assert not np.array_equal(*(model.replay_buffer.actions[:40] for model in models))
    recorded = models[0].visitation._progress.episodes
    assert len(recorded[0].actions) > 0
    models[0].learn(1)
    assert len(recorded[0].actions) <= 4  # The steps between two updates of the network.


def test_a_saved_model_has_its_explorer(algorithm, tmp_path):
    env = gym.make("FrozenLake-v1", is_slippery=False)
    model = algorithm("MlpPolicy", env, explorer="vv-count", seed=2, greedy_episodes=0.25, **SMALL).learn(120)
    model.save(tmp_path / "model")
    loaded = algorithm.load(tmp_path / "model", env=env)
    np.testing.assert_array_equal(loaded.visitation.visits, model.visitation.visits)
    np.testing.assert_array_equal(loaded.visitation.visitation_values, model.visitation.visitation_values)
    loaded.learn(30, reset_num_timesteps=False)
    assert loaded.visitation.visits.sum() == loaded.num_timesteps > 149


def test_the_same_seed_gives_the_same_run(algorithm):
    runs = [
        algorithm("MlpPolicy", gym.make("FrozenLake-v1"), seed=3, **copy.deepcopy(SMALL)).learn(300) for _ in range(2)
    ]
    np.testing.assert_array_equal(*(run.visitation.visits for run in runs))


@pytest.mark.parametrize("name", ["deep_q_sb3", "deep_q_torch"])
def test_examples_find_the_goal(name):
    script = Path(__file__).parents[2] / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert float(done.stdout.split()[-1]) > 0.3
