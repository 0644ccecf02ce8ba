"""A saved agent acts on the environment's own observations, in another process, on another day."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import wanderlust as wl
from wanderlust.core.errors import BadFile, InvalidEnvironment, InvalidSetting
from wanderlust.environments.encoding import Encoding, StateEncoder
from wanderlust.environments.spaces import space_from_plain, space_to_plain

pytestmark = pytest.mark.slow


class Corridor(gym.Env[Any, Any]):
    """A Dict observation, an action space that does not start at 0, and a goal at the end."""

    observation_space = spaces.Dict({"place": spaces.Discrete(9), "lamp": spaces.MultiBinary(1)})
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return self._observation(), {"place": 0}

    def step(self, action: Any) -> Any:
        assert action in (5, 6), action
        self.place = min(max(self.place + (1 if action == 6 else -1), 0), 8)
        return self._observation(), float(self.place == 8), self.place == 8, False, {"place": self.place}

    def _observation(self) -> dict[str, Any]:
        return {"place": np.int64(self.place), "lamp": np.array([self.place % 2], np.int8)}


def make_env() -> Any:
    return gym.wrappers.TimeLimit(Corridor(), 50)


def place_of(observation: Any) -> int:
    return int(observation["place"])


TASKS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "FrozenLake": (lambda: gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False), {}, 1500),
    "DoorKey": (lambda: gym.make("MiniGrid-DoorKey-5x5-v0"), {"key": "hash", "reset_seed": 0}, 1500),
    "MountainCar": (lambda: gym.make("MountainCar-v0"), {"bins": 12}, 1000),
    "Dict": (make_env, {}, 300),
    "info": (make_env, {"key": "info:place"}, 300),
    "function": (make_env, {"key": place_of}, 300),
}


def played(agent: wl.Agent, env: Any, seeds: range) -> tuple[list[float], int, list[float]]:
    """Return the returns of episodes of `predict`, the number of states unknown, and the returns of `evaluate`."""
    returns, unknown = [], 0
    for seed in seeds:
        (observation, info), total, is_over = env.reset(seed=seed), 0.0, False
        while not is_over:
            unknown += not agent.knows(observation, env=env, info=info)
            action = agent.predict(observation, env=env, info=info)
            assert env.action_space.contains(action), action
            observation, reward, terminated, truncated, info = env.step(action)
            total, is_over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns, unknown, wl.evaluate(agent, env, episodes=3).tolist()


@pytest.mark.parametrize("task", TASKS)
def test_a_loaded_agent_does_what_the_trained_one_does(task: str, tmp_path: Path) -> None:
    pytest.importorskip("minigrid")
    make, options, steps = TASKS[task]
    agent = wl.learn(wl.tabular(make(), **options), "vv-ucb", steps=steps, seed=0, quiet=True)
    agent.save(tmp_path / "agent.npz")
    loaded = wl.Agent.load(tmp_path / "agent.npz", key=place_of if task == "function" else None)
    seeds = range(1 if "reset_seed" in options else 3)  # With `reset_seed` the agent knows one layout only.
    returns, unknown, evaluated = played(agent, make(), seeds)
    assert played(loaded, make(), seeds) == (returns, unknown, evaluated)
    if task != "MountainCar":
        assert min(returns) > 0.0, "it is learned"
        assert unknown == 0


def frozen_lake() -> Any:
    return gym.make("FrozenLake-v1", map_name="4x4", is_slippery=False)


@pytest.fixture(scope="module")
def lake() -> wl.Agent:
    return wl.learn(frozen_lake(), "vv-ucb", steps=600, seed=0, quiet=True)


def test_predict_evaluate_and_explain_have_one_greedy_policy(lake: wl.Agent) -> None:
    taken: dict[int, set[int]] = {state: set() for state in range(16)}

    class Recorder(gym.Wrapper):
        def step(self, action):
            taken[int(self.unwrapped.s)].add(int(action))
            return super().step(action)

    agent, untouched = lake.copy(), lake.copy()
    wl.evaluate(agent, Recorder(gym.make("FrozenLake-v1")), episodes=100)
    for state, actions in taken.items():
        greedy = {each.action for each in agent.explain(state).actions if each.greedy}
        assert {agent.predict(state) for _ in range(60)} == greedy
        assert actions <= greedy
    assert not agent.knows(5)
    assert len({agent.predict(5) for _ in range(60)}) == 4, "all actions are equal"
    assert any(1 < len(agent.greedy_actions(state)) < 4 for state in range(16))
    assert [agent.act(0) for _ in range(20)] == [untouched.act(0) for _ in range(20)], "it does not change training"
    with pytest.raises(wl.WanderlustError, match="99"):
        lake.predict(99)


def test_any_environment_of_that_kind_is_evaluated(lake: wl.Agent, tmp_path: Path) -> None:
    lake.save(tmp_path / "agent.npz")
    loaded, other = (wl.Agent.load(tmp_path / "agent.npz") for _ in range(2))
    assert [loaded.predict(0, explore=True) for _ in range(20)] == [other.act(0) for _ in range(20)]
    wrapped = wl.tabular(frozen_lake())
    wrapped.reset(seed=3)
    for env in (None, frozen_lake(), wl.tabular(frozen_lake()), wrapped):
        assert wl.evaluate(loaded, env).tolist() == [1.0] * 10


def test_another_environment_is_an_error_that_says_what_differs(lake: wl.Agent) -> None:
    prison = wl.train("prison", "vv-ucb", seed=1, budget=100).agent
    assert len(wl.evaluate(prison, "prison", episodes=2)) == 2
    cases: list[tuple[wl.Agent, Any, str]] = [
        (lake, "CliffWalking-v1", r"observation space Discrete\(16\).*Discrete\(48\)"),
        (lake, wl.tabular(frozen_lake(), key="hash"), "encoded by the observation, not by the content of"),
        (prison, "FrozenLake-v1", "the agent has 25 states, but FrozenLake-v1 has 16"),
        (prison, "deep-sea", "the agent has 4 actions, but wanderlust/DeepSea-v0 has 2"),
        (prison, wl.make_world("prison"), "got World"),
    ]
    for agent, env, words in cases:
        with pytest.raises(InvalidEnvironment, match=words):
            wl.evaluate(agent, env)


class Mirrored(gym.ActionWrapper[Any, Any, Any]):
    """An environment with its actions in reverse order: the same spaces, another task."""

    def action(self, action: Any) -> Any:
        return 3 - action


def test_an_environment_with_wrappers_is_not_evaluated_without_them(tmp_path: Path) -> None:
    wl.learn(Mirrored(frozen_lake()), "vv-ucb", steps=600, seed=0, quiet=True).save(tmp_path / "agent.npz")
    loaded = wl.Agent.load(tmp_path / "agent.npz")
    with pytest.raises(InvalidEnvironment, match=r"FrozenLake-v1, had wrappers.*\(Mirrored\); give the environment"):
        wl.evaluate(loaded)
    assert wl.evaluate(loaded, Mirrored(frozen_lake())).tolist() == [1.0] * 10
    recorded = gym.wrappers.RecordEpisodeStatistics(frozen_lake())
    wl.learn(recorded, "vv-ucb", steps=600, seed=0, quiet=True).save(tmp_path / "agent.npz")
    assert wl.evaluate(wl.Agent.load(tmp_path / "agent.npz")).tolist() == [1.0] * 10


def test_a_time_limit_other_than_the_registered_one_is_saved(tmp_path: Path) -> None:
    car = wl.tabular(gym.make("MountainCar-v0", max_episode_steps=7), bins=4)
    agent = wl.learn(car, "vv-ucb", steps=50, seed=0, quiet=True)
    agent.save(tmp_path / "agent.npz")
    loaded = wl.Agent.load(tmp_path / "agent.npz")
    assert wl.evaluate(loaded).tolist() == wl.evaluate(agent).tolist() == [-7.0] * 10
    loaded.environment = {**(loaded.environment or {}), "max_episode_steps": "7"}
    with pytest.raises(InvalidSetting, match="max_episode_steps of the file must be a whole number"):
        wl.evaluate(loaded)


def test_what_the_state_key_needs_is_asked_for(tmp_path: Path) -> None:
    env = make_env()
    observation, info = env.reset(seed=0)
    by_info = wl.learn(wl.tabular(env, key="info:place"), "ucb1", steps=50, seed=0, quiet=True)
    with pytest.raises(InvalidSetting, match="info= is needed: the state is its field 'place'"):
        by_info.predict(observation)
    assert by_info.predict(observation, info=info) in (5, 6)
    by_function = wl.learn(wl.tabular(env, key=place_of), "ucb1", steps=50, seed=0, quiet=True)
    by_function.save(tmp_path / "agent.npz")
    loaded = wl.Agent.load(tmp_path / "agent.npz")
    with pytest.raises(InvalidSetting, match=r"function 'place_of'.*Agent.load\(path, key=place_of\)"):
        loaded.predict(observation)
    with pytest.raises(BadFile, match="encoded by the function place_of, but key=make_env was given"):
        wl.Agent.load(tmp_path / "agent.npz", key=make_env)
    assert wl.Agent.load(tmp_path / "agent.npz", key=place_of).predict(observation) in (5, 6)


def test_agents_without_an_environment_take_states_as_observations() -> None:
    agent = wl.Agent("ucb1", n_actions=2, reward_range=(0, 1))
    agent.observe(0, 1, 1.0, 1, terminated=True)
    assert agent.predict(0) == 1
    assert agent.knows(0)
    assert not agent.knows(7)
    with pytest.raises(InvalidSetting, match="needs env"):
        wl.evaluate(agent)


def discrete_spaces() -> st.SearchStrategy[gym.Space[Any]]:
    plain = st.one_of(
        st.builds(spaces.Discrete, st.integers(1, 9), start=st.integers(-3, 3)),
        st.lists(st.integers(1, 5), min_size=1, max_size=3).map(lambda sizes: spaces.MultiDiscrete(np.array(sizes))),
        st.builds(spaces.MultiBinary, st.integers(1, 4)),
        st.builds(spaces.Text, st.integers(1, 5)),
    )
    return st.recursive(
        plain,
        lambda parts: st.one_of(
            st.lists(parts, min_size=1, max_size=3).map(spaces.Tuple),
            st.dictionaries(st.sampled_from("abc"), parts, min_size=1).map(spaces.Dict),
        ),
        max_leaves=4,
    )


@given(space=discrete_spaces(), seed=st.integers(0, 100))
def test_spaces_and_keys_survive_plain_data(space: gym.Space[Any], seed: int) -> None:
    restored = space_from_plain(json.loads(json.dumps(space_to_plain(space))))
    assert restored == space
    space.seed(seed)
    encoder = StateEncoder("discrete", space)
    copy = StateEncoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
    for _ in range(5):
        observation = space.sample()
        assert encoder.key(observation) == copy.key(observation)


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": None},
        {"encoder": {"kind": "magic", "space": None, "bins": None, "name": ""}},
        {"encoder": {"kind": "bins", "space": None, "bins": {"counts": [3], "low": [1.0], "high": [0.0]}, "name": ""}},
        {"encoder": {"kind": "discrete", "space": {"kind": "Discrete", "n": -1, "start": 0}, "bins": None, "name": ""}},
        {"actions": {"levels": [], "shape": None, "dtype": "<i8"}},
        {"actions": {"levels": [[0, 4]], "shape": None, "dtype": "O"}},
        {"spaces": 3},
    ],
)
def test_forged_encodings_are_refused(change: dict[str, Any]) -> None:
    env = frozen_lake()
    plain, keys = Encoding.of(env, env.action_space).to_file()
    with pytest.raises(BadFile, match="state encoding cannot be read"):
        Encoding.from_file({**plain, **change}, keys)
