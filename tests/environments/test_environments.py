"""The worlds as Gymnasium environments: registration, dynamics, seeding, horizons, errors."""

import copy
import pickle
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit
from hypothesis import given
from hypothesis import strategies as st

import wanderlust as wl
from conftest import run_python
from wanderlust.environments.world_env import WorldEnv
from wanderlust.worlds import register_world, world_names
from wanderlust.worlds import registry as worlds_registry
from wanderlust.worlds.exam_suite import FAMILIES
from wanderlust.worlds.registry import GRID_ID, environment_id

pytestmark = pytest.mark.filterwarnings("ignore:world .* cannot be reached")  # C in the map below.

CAVE = """
    S..#.
    .A.#.
    ..P.B
    ccp.C

    A = treasure 1
    B = penalty -20
    C = treasure 10000 enter down
    c = puddle -0.01 enter left right
    p = prison 0.3
    step = -0.01
    horizon = 7
"""
OPTIONS = {GRID_ID: {"map": CAVE}, "wanderlust/Chain-v0": {"length": 5}, "wanderlust/DeepSea-v0": {"depth": 6}}
IDS = [GRID_ID, *map(environment_id, world_names())]


def make(environment, **options):
    return gym.make(environment, **OPTIONS.get(environment, {}), **options)


# --- Registration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "imports",
    [
        "import gymnasium, wanderlust",
        "import wanderlust, gymnasium; wanderlust.World",
        "import gymnasium",
    ],
)
def test_worlds_are_registered_on_import(imports, tmp_path):
    environment = "wanderlust/Prison-v0" if "wanderlust" in imports else "wanderlust:wanderlust/Prison-v0"
    code = f"""{imports}
import sys
env = gymnasium.make({environment!r})
assert env.spec.max_episode_steps == 11
assert "numba" not in sys.modules
assert sum(name.startswith("wanderlust/") for name in gymnasium.registry) == {len(IDS) + len(FAMILIES)}
"""
    done = run_python(code, folder=tmp_path, PYTHONWARNINGS="error")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_user_defined_world_gets_an_id(monkeypatch):
    monkeypatch.setattr(worlds_registry, "_FACTORIES", dict(worlds_registry._FACTORIES))
    register_world("short corridor", lambda: wl.make_world("S.A\n\nA = treasure 1\n"), replace_existing=True)
    wl.tabular("short corridor")  # An environment by its name.
    try:
        env = gym.make("wanderlust/ShortCorridor-v0")
        assert env.reset(seed=0)[0] == 0
        assert [env.step(1)[1:3] for _ in range(3)] == [(0.0, False), (0.0, False), (1.0, True)]
    finally:
        del gym.registry["wanderlust/ShortCorridor-v0"]


# --- Gymnasium's own checks ------------------------------------------------------------------------


@pytest.mark.parametrize("environment", IDS)
def test_gymnasium_check_env_passes(environment, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make(environment)
    check_env(env.unwrapped)
    assert env.observation_space == gym.spaces.Discrete(env.unwrapped.world.n_states)
    assert env.action_space == gym.spaces.Discrete(env.unwrapped.world.n_actions)
    outcomes, mdp = [o for by_action in env.unwrapped.P.values() for o in by_action.values()], env.unwrapped.world.mdp
    assert [len(each) for each in outcomes] == (mdp.probability > 0).sum(axis=2).ravel().tolist()
    assert sum(p * reward for each in outcomes for p, _, reward, _ in each) == pytest.approx(
        (mdp.probability * mdp.reward).sum()
    )


@pytest.mark.parametrize(
    ("environment", "clone"),
    [("wanderlust/NoisyPrison-v0", copy.deepcopy), (GRID_ID, lambda env: pickle.loads(pickle.dumps(env)))],
)
def test_a_copy_continues_like_the_original(environment, clone):
    env = make(environment, render_mode="rgb_array")
    env.reset(seed=1)
    env.action_space.seed(1)
    env.step(0)
    env.render()
    assert env.unwrapped.P
    other = clone(env)
    for _ in range(30):
        action = int(env.action_space.sample())
        expected, actual = env.step(action), other.step(action)
        assert expected == actual
        assert np.array_equal(env.render(), other.render())
        if expected[2] or expected[3]:
            assert env.reset() == other.reset()


# --- Horizons --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "options", "horizon"),
    [
        ("wanderlust/Prison-v0", {}, 11),
        ("wanderlust/Prison-v0", {"max_episode_steps": -1}, None),
        ("wanderlust/DeepSea-v0", {"depth": 9, "slips": [0, 0, 1]}, 9),
        ("wanderlust/DeepSea-v0", {"depth": 9, "max_episode_steps": 50}, 50),
        (GRID_ID, {"map": CAVE, "horizon": 5}, 5),
    ],
)
def test_the_time_limit_is_the_horizon_of_the_world(environment, options, horizon):
    env = gym.make(environment, **options)
    assert env.spec.max_episode_steps == horizon
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.spec.max_episode_steps == horizon
    assert again.unwrapped.world.options == env.unwrapped.world.options
    for each in (env, again):
        layers = [each]
        while isinstance(layers[-1], gym.Wrapper):
            layers.append(layers[-1].env)
        assert sum(isinstance(layer, TimeLimit) for layer in layers) == (horizon is not None)


# --- Dynamics --------------------------------------------------------------------------------------


@given(st.sampled_from(IDS), st.integers(0, 2**32 - 1))
def test_every_step_is_a_transition_of_the_world(environment, seed):
    env = make(environment)
    mdp, layout, P = env.unwrapped.world.mdp, env.unwrapped.world.layout, env.unwrapped.P
    state, info = env.reset(seed=seed)
    assert info["prob"] == mdp.start[state] > 0
    env.action_space.seed(seed)
    for _ in range(40):
        action = int(env.action_space.sample())
        next_state, reward, terminated, _, info = env.step(action)
        outcome = (info["prob"], next_state, reward, terminated)
        assert outcome in P[state][action]
        here = (mdp.next_state[state, action] == next_state) & (mdp.reward[state, action] == reward)
        here &= (mdp.terminal[state, action] == terminated) & (mdp.probability[state, action] > 0)
        assert info["prob"] in mdp.probability[state, action][here]
        assert (info["row"], info["column"]) == (layout.row[next_state], layout.column[next_state])
        assert ("layer" in info) == (layout.n_layers > 1)
        assert env.observation_space.contains(next_state)
        if terminated:
            next_state, _ = env.reset()
        state = next_state


def test_outcomes_have_their_probabilities():
    env = WorldEnv("noisy-toy", success=0.6, random=0.3, stay=0.1)
    env.reset(seed=2)
    n, seen = 5_000, Counter()
    for _ in range(n):
        env._state = 12
        seen[env.step(1)[0]] += 1
    for probability, next_state, _, _ in env.P[12][1]:
        assert seen.pop(next_state) / n == pytest.approx(probability, abs=4 * np.sqrt(probability / n))
    assert not seen


# --- Errors ----------------------------------------------------------------------------------------


def test_invalid_actions_and_a_step_after_termination():
    env = WorldEnv("SA\n\nA = treasure 1\n")
    env.reset()
    for action in (4, -1, 1.5, "left", None):
        with pytest.raises(wl.WanderlustError, match=r"there is no action .*; valid are 0 left, 1 right, 2 up, 3 down"):
            env.step(action)
    env.step(1)
    assert env.step(1)[2]
    with pytest.raises(wl.WanderlustError, match=r"call reset\(\) first"):
        env.step(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gym.make("wanderlust/DeepSea-v0", dept=3), "Did you mean 'depth'"),
        (lambda: gym.make("wanderlust/DeepSea-v0", depth=0), "depth must be"),
        (lambda: gym.make(GRID_ID), "needs map="),
        (lambda: gym.make(GRID_ID, map="prison"), "needs map="),
        (lambda: gym.make(GRID_ID, map="nowhere.txt"), "cannot read the map"),
        (lambda: WorldEnv("toy").reset(options={"start": 3}), "reset takes no options, got 'start'"),
        (lambda: WorldEnv(wl.make_world("toy"), depth=3), "given by its name, got depth"),
        (lambda: WorldEnv("toy", render_mode="rgb_aray"), "Did you mean 'rgb_array'"),
    ],
)
def test_calls_that_are_not_allowed(call, message):
    with pytest.raises(wl.WanderlustError, match=message):
        call()
