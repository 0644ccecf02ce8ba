"""The `Tabular` wrapper: state encoding, action indices, bins, copies; and worlds from Gymnasium models."""

import functools
import json
from dataclasses import dataclass
from enum import Enum

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np
import pytest
from gymnasium import spaces

import wanderlust as wl
from wanderlust.core.errors import InvalidEnvironment, InvalidObservation, InvalidSetting
from wanderlust.environments.encoding import StateKeys, state_key
from wanderlust.environments.spaces import DiscreteActions


class Scripted(gym.Env):
    """Returns the given observations one after the other, and records the actions."""

    def __init__(self, space, observations=(), actions=None, infos=()):
        self.observation_space = space
        self.action_space = spaces.Discrete(2) if actions is None else actions
        self.observations, self.infos = list(observations), list(infos)
        self.taken = []

    def _next(self):
        info = self.infos.pop(0) if self.infos else {}
        return (self.observations.pop(0) if self.observations else self.observation_space.sample()), info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._next()

    def step(self, action):
        self.taken.append(action)
        observation, info = self._next()
        return observation, 0.0, False, False, info


def rollout(env, steps):
    """Return the states of an episode of this length."""
    return [env.reset(seed=0)[0], *(env.step(0)[0] for _ in range(steps))]


# --- Discrete observations -----------------------------------------------------------------------------


def test_integers_are_their_own_state_indices():
    env = wl.tabular(Scripted(spaces.Discrete(5), [3, np.int64(1), 3]))
    assert rollout(env, 2) == [3, 1, 3]
    assert [env.key_of(state) for state in range(env.n_states)] == [0, 1, 2, 3, 4]
    env = wl.tabular(Scripted(spaces.Discrete(5, start=-2), [-2, 2, -2]))
    assert rollout(env, 2) == [0, 4, 0]
    assert [env.key_of(state) for state in range(env.n_states)] == [-2, -1, 0, 1, 2]
    with pytest.raises(InvalidObservation, match="from 0 to 4, got 5"):
        env.key_of(5)
    huge = wl.tabular(Scripted(spaces.Discrete(10**9), [10**8, 7, 10**8]))
    assert rollout(huge, 2) == [0, 1, 0], "too many for an array"


@pytest.mark.parametrize(
    ("space", "observations", "keys", "size"),
    [
        (spaces.MultiDiscrete([3, 4]), [[2, 3], [0, 0], [2, 3]], [(2, 3), (0, 0)], 12),
        (
            spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(1)]),
            [(1, [1]), (1, [0])] * 2,
            [(1, (1,)), (1, (0,))],
            6,
        ),
        (
            spaces.Dict({"door": spaces.Discrete(2), "at": spaces.MultiDiscrete([9, 9])}),
            [{"door": 1, "at": [4, 5]}, {"door": 0, "at": [4, 5]}] * 2,
            [(("at", (4, 5)), ("door", 1)), (("at", (4, 5)), ("door", 0))],
            162,
        ),
        (spaces.MultiDiscrete([1000] * 8), [[0] * 8, [1] * 8] * 2, [(0,) * 8, (1,) * 8], 200_000_000),
        (spaces.Box(np.array([-2, 0]), np.array([2, 9]), dtype=np.int16), [[-2, 0], [2, 9]] * 2, [(-2, 0), (2, 9)], 50),
        (
            spaces.Dict({"board": spaces.Box(0, 2, (2, 2), np.int8)}),
            [{"board": [[0, 1], [2, 0]]}, {"board": [[0, 0], [0, 0]]}] * 2,
            [(("board", (0, 1, 2, 0)),), (("board", (0, 0, 0, 0)),)],
            81,
        ),
    ],
    ids=["MultiDiscrete", "Tuple", "Dict", "too many to count", "integers", "nested integers"],
)
def test_discrete_observations_get_indices_in_the_order_of_discovery(space, observations, keys, size):
    env = wl.tabular(Scripted(space, [as_arrays(each) for each in observations]))
    assert rollout(env, 2) == [0, 1, 0]
    assert [env.key_of(state) for state in range(env.n_states)] == keys
    assert all(isinstance(env.describe(state), str) for state in range(env.n_states))
    assert env.observation_space.n == size


def as_arrays(observation):
    """Return an observation with its lists as arrays."""
    if isinstance(observation, dict):
        return {name: as_arrays(part) for name, part in observation.items()}
    if isinstance(observation, tuple):
        return tuple(map(as_arrays, observation))
    return np.array(observation, np.int8) if isinstance(observation, list) else observation


@pytest.mark.parametrize(
    ("space", "observation", "options", "words"),
    [
        (spaces.Discrete(5), 7, {}, r"observation 7 is outside .* Discrete\(5\)"),
        (spaces.MultiDiscrete([2, 2]), np.array([0, 2]), {}, "is outside the observation space"),
        (spaces.Box(0, 9, (2,), np.int16), np.array([2, 10], np.int16), {}, "is outside the observation space"),
        (spaces.Box(0, 1), np.array([np.nan]), {"key": "hash"}, "NaN"),
        (spaces.Box(0, 1), np.array([np.nan]), {"bins": 3}, "NaN"),
        (spaces.Discrete(2), 0, {"key": lambda o: {1, 2}}, r"set.*not hashable.*key="),
        (spaces.Discrete(2), 0, {"key": lambda o: object()}, r"object.*by identity.*visited twice.*key="),
        (spaces.Box(0, 1), None, {"key": "info:room"}, r"'room'.*'cell'"),
    ],
)
def test_an_observation_that_cannot_be_a_state_is_an_error(space, observation, options, words):
    env = wl.tabular(Scripted(space, [observation], infos=[{"cell": 3}]), **options)
    with pytest.raises(InvalidEnvironment if "info:room" in options.values() else InvalidObservation, match=words):
        env.reset()


@pytest.mark.parametrize(
    ("env", "options", "words"),
    [
        (spaces.Box(0, 1, (2,)), {}, ["Box", "bins=8", "key='hash'"]),
        (spaces.Dict({"camera": spaces.Box(0, 255, (3, 4), np.uint8)}), {}, ["observation['camera']", "key='hash'"]),
        (spaces.Box(-(2**31), 2**31 - 1, (2,), np.int32), {}, ["Box", "bins=8", "key='hash'"]),
        (spaces.Sequence(spaces.Discrete(2)), {}, ["Sequence", "key=function"]),
        (spaces.Discrete(2), {"bins": 3}, ["Box"]),
        ("CartPole-v1", {"bins": 6}, ["dimension 1", "unbounded", "bounds={1: (low, high)}"]),
    ],
)
def test_an_observation_that_is_not_discrete_names_the_missing_option(env, options, words):
    with pytest.raises(InvalidEnvironment) as caught:
        wl.tabular(env if isinstance(env, str) else Scripted(env), **options)
    assert all(word in str(caught.value) for word in words), caught.value


# --- State keys ----------------------------------------------------------------------------------------


def test_a_key_can_be_a_function_of_observation_and_info():
    space, seen = spaces.Box(-9, 9, (2,)), [np.array([1.5, 2.0]), np.array([1.9, -1.0]), np.array([-3.0, 0.0])]
    assert rollout(wl.tabular(Scripted(space, list(seen)), key=lambda o: int(o[0])), 2) == [0, 0, 1]
    infos = [{"room": 1}, {"room": 2}, {"room": 1}]
    by_both = wl.tabular(Scripted(space, list(seen), infos=list(infos)), key=lambda o, info: (int(o[0]), info["room"]))
    assert rollout(by_both, 2) == [0, 1, 2]
    by_info = wl.tabular(Scripted(space, list(seen), infos=list(infos)), key="info:room")
    assert rollout(by_info, 2) == [0, 1, 0]
    assert by_info.key_of(1) == 2


def test_hash_is_the_complete_state_of_a_minigrid():
    """Positions with equal observations are different states, and so is carrying the key."""
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    by_view = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key=lambda o: o["image"].tobytes(), reset_seed=0)
    for each in (env, by_view):
        wl.learn(each, "vv-ucb", steps=600, quiet=True)
    assert env.n_states > by_view.n_states
    carrying = {env.key_of(state)[2] for state in range(env.n_states)}
    assert None in carrying
    assert len(carrying) > 1


class Room(Enum):
    HALL, CELLAR = 1, 2


@dataclass
class Place:
    room: Room
    doors: frozenset[str]


def test_keys_are_restored_from_an_array():
    places = [Place(Room.HALL, frozenset("ab")), Place(Room.CELLAR, frozenset("a")), Place(Room.HALL, frozenset("ba"))]
    assert rollout(wl.tabular(Scripted(spaces.Discrete(3), [0, 1, 2]), key=lambda o: places[o]), 2) == [0, 1, 0]
    keys = StateKeys()
    for key in (3, "x", (1, ("a", b"\x00\xff")), None, 2.5, True, -7, *places[:2]):
        keys.add(state_key(key))
    again = StateKeys.from_array(keys.to_array())
    assert [again.key_of(i) for i in range(len(again))] == [keys.key_of(i) for i in range(len(keys))]
    keys.add(frozenset([1]))
    with pytest.raises(InvalidObservation, match="frozenset"):
        keys.to_array()


# --- Bins ----------------------------------------------------------------------------------------------


def test_box_observations_in_bins():
    space = spaces.Box(np.array([0.0, -1.0]), np.array([1.0, 1.0]), dtype=np.float64)
    seen = [(0.0, -1.0), (0.249, -0.01), (0.25, 0.0), (1.0, 1.0), (0.0, -0.5)]
    env = wl.tabular(Scripted(space, [np.array(o) for o in seen]), bins=(4, 2))
    rollout(env, 4)
    assert [env.key_of(s) for s in range(env.n_states)] == [(0, 0), (1, 1), (3, 1)]
    assert env.describe(1) == "[0.25, 0.5] × [0, 1]"
    assert env.observation_space.n == 8


@pytest.mark.parametrize(
    "options",
    [
        {"key": "sha"},
        {"key": "hash", "bins": 3},
        {"bounds": [(0, 1)]},
        {"bins": (3,)},
        {"bins": "many"},
        {"bins": 3, "bounds": [(0, 1)]},
        {"bins": 3, "bounds": [3, None]},
        {"bins": 3, "bounds": {5: (0, 1)}},
        {"bins": 3, "bounds": [(1, 0), 3]},
    ],
)
def test_invalid_options(options):
    """`project/test_fuzz_input.py` has other odd values."""
    with pytest.raises(InvalidSetting):
        wl.tabular(Scripted(spaces.Box(0, 1, (2,))), **options)


# --- Actions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "options", "expected"),
    [
        (spaces.Discrete(3, start=5), {}, [5, 6, 7]),
        (spaces.MultiDiscrete([2, 3]), {}, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]),
        (spaces.MultiBinary(2), {}, [[0, 0], [0, 1], [1, 0], [1, 1]]),
        (spaces.Box(-2, 2, (1,)), {"action_bins": 3}, [[-2], [0], [2]]),
        (spaces.Box(0, 1, (2,)), {"action_bins": (2, 1)}, [[0, 0.5], [1, 0.5]]),
    ],
)
def test_action_indices(space, options, expected):
    inner = Scripted(spaces.Discrete(2), actions=space)
    env = wl.tabular(inner, **options)
    for index in range(env.action_space.n):
        env.step(index)
    assert [np.asarray(action).tolist() for action in inner.taken] == expected
    assert all(space.contains(action) for action in inner.taken)
    with pytest.raises(InvalidObservation, match=f"from 0 to {len(expected) - 1}"):
        env.step(len(expected))
    copy = DiscreteActions.from_plain(json.loads(json.dumps(env.encoding.actions.to_plain())))
    assert [np.asarray(copy.decode(index)).tolist() for index in range(copy.n)] == expected


@pytest.mark.parametrize(
    ("space", "options", "words"),
    [
        (spaces.Box(-1, 1, (2,)), {}, "continuous.*action_bins"),
        (spaces.Box(-np.inf, 1, (2,)), {"action_bins": 3}, "dimension 0 of the actions is unbounded"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {}, "ActionWrapper"),
        (spaces.MultiDiscrete([100, 100, 100]), {}, "1,000,000 actions"),
        (spaces.Discrete(2), {"action_bins": 3}, "action_bins requires a Box action space"),
    ],
)
def test_unsupported_action_spaces(space, options, words):
    with pytest.raises(wl.WanderlustError, match=words):
        wl.tabular(Scripted(spaces.Discrete(2), actions=space), **options)


# --- Names, layouts, copies ----------------------------------------------------------------------------


def test_a_reset_seed_fixes_the_layout():
    fixed = wl.tabular(gym.make("MiniGrid-FourRooms-v0"), key="hash", reset_seed=3)
    assert {fixed.reset(seed=seed)[0] for seed in range(4)} == {0}
    free = wl.tabular(gym.make("MiniGrid-FourRooms-v0"), key="hash")
    assert len({free.reset(seed=seed)[0] for seed in range(4)}) == 4


class DoubleReward(gym.RewardWrapper):
    """A wrapper that does not record its constructor arguments."""

    def reward(self, reward):
        return 2 * reward


@pytest.mark.parametrize("wrap", [lambda env: env, DoubleReward, lambda env: DoubleReward(env.unwrapped)])
def test_a_copy_shares_the_indices_and_adds_no_states(wrap):
    env = wl.tabular(wrap(gym.make("FrozenLake-v1", is_slippery=False)), key="hash")
    env.reset(seed=0)
    other = env.copy()
    assert other.env is not env.env
    assert type(other.env) is type(env.env)
    assert other.reset(seed=0)[0] == 0
    assert other.step(1)[0] == 1
    assert env.n_states == 1
    with pytest.raises(InvalidObservation, match="from 0 to 0, got 1"):
        env.key_of(1)
    assert env.step(1)[0] == 1
    assert env.key_of(1) == 4


# --- Exact models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "states", "horizon"),
    [("FrozenLake-v1", {"map_name": "8x8"}, 64, 100), ("CliffWalking-v1", {}, 48, 1000), ("Taxi-v4", {}, 500, 200)],
)
def test_a_world_has_the_transitions_of_its_environment(name, options, states, horizon):
    env = gym.make(name, **options)
    world = wl.world_from_gym(env)
    mdp = world.mdp
    assert (world.n_states, world.defaults.horizon) == (states, horizon)
    random = np.random.default_rng(0)
    state, _ = env.reset(seed=1)
    assert mdp.start[state] > 0
    for _ in range(3000):
        action = int(random.integers(world.n_actions))
        next_state, reward, terminated, truncated, _ = env.step(action)
        same = (mdp.next_state[state, action] == next_state) & (mdp.terminal[state, action] == terminated)
        assert mdp.probability[state, action][same & (mdp.reward[state, action] == reward)].sum() > 0
        state = env.reset()[0] if terminated or truncated else next_state


class WithModel(gym.Env):
    """An environment with the given model."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(1)

    def __init__(self, model, **attributes):
        self.P = model
        vars(self).update(attributes)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return int(self.np_random.random() < 0.25), {}


GOOD = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(0.5, 0, 1.0, True), (0.5, 1, 0, False)]}}


def test_start_distribution_given_or_estimated():
    world = wl.world_from_gym(WithModel(GOOD))
    assert world.mdp.start[1] == pytest.approx(0.25, abs=0.02)
    given = wl.world_from_gym(WithModel(GOOD, initial_state_distrib=[0.9, 0.1]))
    assert given.mdp.start.tolist() == [0.9, 0.1]
    with pytest.raises(wl.WanderlustError, match="2 probabilities that sum to 1"):
        wl.world_from_gym(WithModel(GOOD, initial_state_distrib=[0.5, 0.2]))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (None, "has no model"),
        ({1: GOOD[0]}, "every state from 0"),
        ({0: {0: [(1.0, 0.5, 0.0, True)]}}, r"P\[0\]\[0\] must list"),
        ({0: {0: []}}, "without outcomes"),
        ({0: GOOD[0], 1: {0: [(0.5, 0, 1.0, True)]}}, "sum of probability"),
        ({0: GOOD[0], 1: {0: GOOD[1][0], 1: GOOD[1][0]}}, "state 1 has 2 actions"),
    ],
)
def test_invalid_models(model, words):
    with pytest.raises(wl.WanderlustError, match=words):
        wl.world_from_gym(WithModel(model, initial_state_distrib=[1.0, 0.0][: max(len(model or ()), 1)]))


# --- Growing tables ------------------------------------------------------------------------------------


def test_reserved_tables_hold_the_same_values_as_doubled_tables(monkeypatch, tmp_path):
    """Initial values do not depend on how tables grow, and files do not contain the reserve."""

    def grown(agent, first, last):
        for state in range(first, last):
            agent.observe(state, agent.act(state), float(state % 7 == 0), state + 1, terminated=False)
        return agent

    new = functools.partial(wl.Agent, "random-prior", n_actions=2, reward_range=(0, 1), replay="none", seed=3)
    doubled = grown(new(), 0, 3000)
    monkeypatch.setattr("wanderlust.learning.state.MAX_COPIED", 100)
    monkeypatch.setattr("wanderlust.learning.state.INITIALIZED_STATES", 64)
    reserved = grown(new(), 0, 2000)
    reserved.save(tmp_path / "agent.npz")
    again = wl.Agent.load(tmp_path / "agent.npz")
    assert again.learner.state_capacity == reserved.learner.counters.n_initialized < 10_000
    for agent in (reserved, again):
        for name, table in grown(agent, 2000, 3000).tables.items():
            assert np.array_equal(table, doubled.tables[name])
    assert reserved.learner.state_capacity > 1_000_000 > reserved.learner.counters.n_initialized
