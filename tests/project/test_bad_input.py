"""Invalid input raises a `WanderlustError` that says what is wrong and what is valid."""

import json
import math
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl

NAN, INF = math.nan, math.inf
SOURCES = Path(wl.__file__).parent


def agent(explorer="ucb1", **changes):
    return wl.Agent(explorer, **{"n_actions": 4, "n_states": 5, "reward_range": (0, 1), **changes})


def drop_in(explorer="vv-ucb", **changes):
    return wl.Explorer(explorer, **{"n_actions": 4, "n_states": 5, "reward_range": (0, 1), **changes})


def error_message(call, *args, **kwargs):
    """Return the error message of an invalid call."""
    with pytest.raises(wl.WanderlustError) as caught:
        call(*args, **kwargs)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


# --- Names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "wrong", "closest", "known"),
    [
        (lambda: wl.make_world("prisn"), "prisn", "prison", wl.world_names()),
        (lambda: wl.train("prisn", "ucb1"), "prisn", "prison", wl.world_names()),
        (lambda: wl.train("prison", "vv-ubc"), "vv-ubc", "vv-ucb", wl.explorer_names()),
        (lambda: agent("vv-ubc"), "vv-ubc", "vv-ucb", wl.explorer_names()),
        (lambda: drop_in("vv-ubc"), "vv-ubc", "vv-ucb", wl.explorer_names()),
        (lambda: wl.check_explorer("vv-ubc"), "vv-ubc", "vv-ucb", wl.explorer_names()),
        (lambda: wl.make_world("prison", escap=1), "escap", "escape", ["escape", "step_penalty"]),
        (lambda: wl.train("toy", "ucb1", kapa=1), "kapa", "kappa", ["kappa", "untried_value", "discount"]),
        (lambda: wl.train("toy", "ucb1", discont=0.9), "discont", "discount", ["kappa", "learning_rate"]),
        (lambda: agent(kapa=1), "kapa", "kappa", ["kappa", "untried_value"]),
        (lambda: drop_in(kapa=1), "kapa", "kappa", ["kappa", "gamma_w"]),
        (
            lambda: wl.train("toy", "ucb1", preset="as_publishd_code"),
            "as_publishd_code",
            "as_published_code",
            ["as_written", "as_published_code"],
        ),
        (lambda: wl.Replay("ful"), "ful", "full", ["full", "none", "window"]),
        (lambda: wl.Settings(replay="windw"), "windw", "window", ["full", "none", "window"]),
        (lambda: wl.Settings(initial="optimist"), "optimist", "optimistic", ["zero", "optimistic"]),
        (lambda: wl.Settings(evaluated="targt"), "targt", "target", ["target", "behaviour"]),
        (lambda: agent("thompson", draw="acton"), "acton", "action", ["step", "action"]),
        (lambda: agent("vv-count", terminal_count="larges"), "larges", "largest", ["pair", "largest"]),
        (lambda: agent("vv-count", untried_bound="txt"), "txt", "text", ["text", "equation"]),
    ],
)
def test_unknown_names_list_known_names_and_the_closest(call, wrong, closest, known):
    message = error_message(call)
    assert repr(wrong) in message
    assert f"Did you mean {closest!r}?" in message
    for name in known:
        assert name in message


def test_explorer_without_options():
    assert "'speed'" in error_message(agent, "random", speed=1)


@pytest.mark.parametrize("explorer", [3, None, ["ucb1"], int, dict, "", ":", ":X", "nowhere:X", "math:X", "..x:Y"])
def test_invalid_explorers(explorer):
    error_message(agent, explorer)
    error_message(wl.train, "toy", explorer)


@pytest.mark.parametrize("world", [3, None, "", b"toy", ["toy"], "missing.toml", "missing.txt", "toy\n"])
def test_invalid_worlds(world):
    error_message(wl.train, world, "ucb1")
    error_message(wl.make_world, world)


@pytest.mark.parametrize("call", [wl.check_world, wl.with_slips, lambda w: agent().evaluate(w)])
def test_names_instead_of_worlds(call):
    error_message(call, "toy")


# --- Settings and options --------------------------------------------------------------------------

NO_NUMBERS = [NAN, INF, -INF, "much", None, True, [1]]


@pytest.mark.parametrize(
    ("name", "valid", "values"),
    [
        ("discount", "[0, 1)", [1, -0.1, 2]),
        ("gamma_w", "[0, 1)", [1, -0.1, 2]),
        ("learning_rate", "(0, 1]", [0, -0.5, 1.5]),
        ("epsilon_start", "[0, 1]", [-0.1, 1.1]),
        ("epsilon_end", "[0, 1]", [-0.1, 1.1]),
    ],
)
def test_numbers_out_of_range(name, valid, values):
    for value in values + NO_NUMBERS:
        message = error_message(wl.Settings, **{name: value})
        assert name in message
        assert valid in message
        assert repr(value) in message
    for value in values:
        message = error_message(wl.train, "toy", "ucb1", **{name: value})
        assert f"{name} must be in {valid}, got {value!r}." == message


@pytest.mark.parametrize("name", ["horizon", "budget", "evaluate_every", "steps", "evaluation_horizon"])
@pytest.mark.parametrize("value", [0, -1, 1.5, NAN, INF, "ten", True, [1], 10**30])
def test_whole_numbers_out_of_range(name, value):
    message = error_message(wl.Settings, **{name: value})
    assert message == f"{name} must be a whole number from 1 to 1,000,000,000,000, got {value!r}."


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("batch", 1.5), ("capacity", 0), ("capacity", "all")])
def test_replay_out_of_range(name, value):
    message = error_message(wl.Replay, "window", **{name: value})
    assert f"replay {name} must be a whole number from 1 to 2,147,483,647, got {value!r}." == message


@pytest.mark.parametrize("replay", [3, None, ["full"]])
def test_invalid_replays(replay):
    message = error_message(wl.Settings, replay=replay)
    assert repr(replay) in message
    assert "full, none, window" in message


@pytest.mark.parametrize("seed", [-1, 1.5, "one", None, NAN, True])
def test_seeds(seed):
    expected = f"seed must be a whole number at least 0, got {seed!r}."
    assert error_message(wl.train, "toy", "ucb1", seed=seed) == expected
    assert error_message(agent, seed=seed) == expected
    assert error_message(drop_in, seed=seed) == expected


@pytest.mark.parametrize(
    ("explorer", "name", "value", "valid"),
    [
        ("ucb1", "kappa", -1, "[0, inf]"),
        ("ucb1", "kappa", NAN, "[0, inf]"),
        ("ucb1", "untried_value", -1, "[0, inf]"),
        ("vv-ucb", "kappa", INF, "[0, inf]"),
        ("vv-ucb", "gamma_w", 1.0, "[0, 1)"),
        ("vv-ucb", "initial_margin", -1, "[0, inf]"),
        ("vv-ucb", "log_plus_one", "yes", "True or False"),
        ("vv-count", "gamma_w", 1.0, "[0, 1)"),
        ("bonus", "scale", -1, "[0, inf]"),
        ("epsilon-greedy", "epsilon_start", 2, "[0, 1]"),
        ("bootstrapped", "heads", 0, "at least 1"),
        ("bootstrapped", "batch", 0, "at least 1"),
        ("bootstrapped", "noise", -1, "[0, inf]"),
        ("bootstrapped", "dither", "maybe", "True or False"),
        ("random-prior", "prior_weight", -1, "[0, inf]"),
        ("thompson", "heads", 1.5, "at least 1"),
    ],
)
def test_options_out_of_range(explorer, name, value, valid):
    message = error_message(agent, explorer, **{name: value})
    assert name in message
    assert valid in message
    assert repr(value) in message


def test_a_bound_without_a_value_is_rejected():
    assert "'text'" in error_message(agent, "vv-count", n_actions=2, untried_bound="equation")


@pytest.mark.parametrize("value", [0, -1, 1.5, "four", NAN, True])
def test_sizes(value):
    assert repr(value) in error_message(agent, n_actions=value)
    assert repr(value) in error_message(agent, n_states=value)


@pytest.mark.parametrize("value", [(1, 0), (0, NAN), (-INF, 0), (0, INF), (0,), (0, 1, 2), 3, None, "ab"])
def test_reward_ranges(value):
    assert "reward_range" in error_message(agent, reward_range=value)
    assert "reward_range" in error_message(drop_in, reward_range=value)


@pytest.mark.parametrize("value", [3, {"discount": 0.9}])
def test_invalid_settings(value):
    assert repr(value) in error_message(agent, settings=value)


@pytest.mark.parametrize("slips", [3, [], "abc", (0.5, 0.5), (0.5, 0.5, 0.5), (1, NAN, 0), (2, -1, 0)])
def test_slips(slips):
    message = error_message(wl.make_world, "toy", slips=slips)
    assert repr(slips) in message
    assert "success, random, stay" in message


def test_worlds_that_cannot_be_evaluated():
    assert "'noisy-toy'" in error_message(agent().evaluate, wl.make_world("noisy-toy"))
    assert "4 actions" in error_message(agent().evaluate, wl.make_world("deep-sea", depth=3))


# --- Conversion to plain numbers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "stored"),
    [
        ("steps", 1e3, 1000),
        ("horizon", np.int16(2000), 2000),
        ("budget", np.array(500), 500),
        ("sweeps", Decimal(2), 2),
        ("evaluate_every", Fraction(10), 10),
        ("discount", np.float32(0.5), 0.5),
        ("gamma_w", Fraction(1, 4), 0.25),
        ("learning_rate", 1, 1.0),
        ("epsilon_end", Decimal("0.5"), 0.5),
        ("plain_sweeps", np.True_, True),
        ("initial", np.str_("optimistic"), "optimistic"),
    ],
)
def test_settings_are_plain_values(name, given, stored):
    made = wl.Settings(**{name: given})
    assert getattr(made, name) == stored
    assert type(getattr(made, name)) is type(stored)
    assert made == wl.Settings(**{name: stored})
    assert json.loads(json.dumps(getattr(made, name))) == stored


def test_a_window_of_a_small_integer_type_does_not_overflow():
    made = wl.Settings(horizon=np.int16(2000), replay=wl.Replay("window", batch=np.int8(8)))
    assert type(made.replay.batch) is int
    assert agent(settings=made).spec.capacity == 40_000
    assert "window" in error_message(agent, settings=wl.Settings(horizon=10**11, replay="window"))


NOT_CONVERTED = ["0.9", 10**400, 10**5000, -(10**400), Decimal("sNaN"), 1j, np.array([0.5]), b"1"]


@pytest.mark.parametrize("value", NOT_CONVERTED, ids=map(str, range(len(NOT_CONVERTED))))
def test_values_that_are_not_converted(value):
    for name in ("discount", "learning_rate", "horizon", "steps"):
        assert name in error_message(wl.Settings, **{name: value})
    assert "seed must be" in error_message(agent, seed=value)
    assert "kappa" in error_message(agent, kappa=value)
    assert "capacity" in error_message(wl.Replay, "window", capacity=value)


def test_options_of_explorers_and_worlds_are_plain_values(tmp_path):
    one = agent(kappa=np.float32(0.5), untried_value=Fraction(1, 2))
    assert one.options == {"kappa": 0.5, "untried_value": 0.5}
    one.save(tmp_path / "agent.npz")  # Options are stored as JSON.
    assert wl.Agent.load(tmp_path / "agent.npz").options == one.options
    one.adapt(kappa=np.int64(2))
    assert type(one.options["kappa"]) is int
    for name, option, value, stored in (
        ("toy", "step_penalty", np.float32(-0.5), -0.5),
        ("noisy-toy", "stay", np.float64(0.05), 0.05),
        ("toy-example", "terminal", np.False_, False),
        ("chain", "length", 9.0, 9),
        ("deep-sea", "flag", np.str_("bomb"), "bomb"),
    ):
        options = wl.make_world(name, **{option: value}).options
        assert options == {option: stored}
        assert type(options[option]) is type(stored)


def test_options_that_are_not_used_are_checked():
    assert "epsilon_start" in error_message(agent, "bootstrapped", dither=False, epsilon_start=b"no")


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no representation")


def test_values_that_cannot_be_printed():
    for call in (
        lambda: agent(n_actions=Unprintable()),
        lambda: agent(Unprintable()),
        lambda: agent().act(Unprintable()),
        lambda: wl.make_world(Unprintable()),
        lambda: wl.Settings(initial=Unprintable()),
        lambda: wl.tabular("FrozenLake-v1", key=Unprintable()),
    ):
        assert "Unprintable" in error_message(call)
    assert len(error_message(wl.make_world, "x" * 10**6)) < 1000


# --- Sizes -----------------------------------------------------------------------------------------


def test_sizes_that_do_not_fit_into_memory():
    assert "from 1 to 1,000,000, got 1000000000" in error_message(agent, n_actions=10**9)
    assert "200,000,000" in error_message(agent, n_states=10**12)
    assert "100,000,000 states × 100 actions" in error_message(agent, n_states=10**8, n_actions=100)
    assert "below 20,000,000" in error_message(agent(n_states=None, n_actions=100).act, 20_000_000)
    assert "heads" in error_message(agent, "bootstrapped", heads=10**12)
    assert "tables × actions" in error_message(agent, "bootstrapped", heads=1000, n_actions=30_000)
    assert "2,147,483,647" in error_message(agent, "bootstrapped", batch=10**12)
    with pytest.raises(wl.WanderlustError, match="do not fit into memory"):
        wl.Session("toy", "random", steps=10**12, evaluate_every=1, keep_trajectory=True)


def test_a_world_with_too_many_pairs():
    toy = wl.make_world("toy")
    shape = (2**30, 4, 1)  # Arrays without memory of their own.
    arrays = {name: np.broadcast_to(getattr(toy.mdp, name)[:1, :1, :1], shape) for name in toy.mdp._fields[:4]}
    world = replace(toy, mdp=toy.mdp._replace(**arrays), layout=None)
    assert "1,073,741,824 states × 4 actions" in error_message(wl.check_world, world)
    assert "2,000,000,000 pairs" in error_message(wl.train, world, "ucb1")


class ManyStates(gym.Env):
    """Every step leads to a new state."""

    observation_space, action_space = gym.spaces.Discrete(10**9), gym.spaces.Discrete(10_000)
    state = 0

    def reset(self, *, seed=None, options=None):
        return self.state, {}

    def step(self, action):
        self.state += 1
        return self.state, 0.0, False, False, {}


def test_an_environment_with_too_many_pairs():
    env = wl.tabular(ManyStates())
    env.reset()
    for _ in range(199_999):
        env.step(0)
    assert env.n_states == 200_000
    assert "more than 200,000 states" in error_message(env.step, 0)
    assert env.n_states == 200_000


def test_spaces_too_large_to_count():
    env = ManyStates()
    env.observation_space = gym.spaces.MultiBinary(10**7)
    assert wl.tabular(env).observation_space.n == 200_000_000


def test_rewards_whose_values_are_not_finite():
    assert "reward_range" in error_message(agent, reward_range=(0, 1e300))
    assert "reward must be" in error_message(agent().observe, 0, 0, 1e300, 1, False)


# --- Objects of wrong types ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: agent().observe(0, 0, 0.0, 1, np.array([True, False])), "terminated must be True or False"),
        (lambda: agent().observe(0, 0, 0.0, 1, False, 1), "truncated must be True or False"),
        (lambda: agent(learns_q="yes"), "learns_q"),
        (lambda: agent().save(3), "path must be the path of a file, got 3"),
        (lambda: agent().save("a\0b"), "path must be"),
        (lambda: agent().save("."), "path must be"),
        (lambda: wl.Agent.load(None), "path must be"),
        (lambda: drop_in().act(0, ["1", "2", "3", "4"]), "q must be 4 finite numbers"),
        (lambda: drop_in().act(0, [1, 2, 3, 10**400]), "q must be 4 finite numbers"),
        (lambda: drop_in().bonus(0, np.array([0, 1])), "action must be"),
        (lambda: wl.train("toy", "ucb1", keep_trajectory="yes"), "keep_trajectory must be True or False"),
        (lambda: wl.train("toy", "ucb1", preset=np.array(["a"])), "preset"),
        (lambda: wl.train("toy", "ucb1", preset="as_published_code", budget="x"), "budget must be"),
        (lambda: wl.make_world("toy", slips=object()), "slips must be"),
        (lambda: wl.tabular("MountainCar-v0", bins=np.array([[2, 2]])), "bins"),
        (lambda: wl.tabular("MountainCar-v0", bins=2, bounds=np.array(1.0)), "bounds must be"),
        (lambda: wl.tabular("FrozenLake-v1", key=np.array(["hash"])), "key must be"),
        (lambda: wl.tabular("FrozenLake-v1").key_of(0.5), "state must be a whole number"),
        (lambda: wl.Tabular("FrozenLake-v1"), "wl.tabular also takes names"),
        (lambda: wl.register_explorer("x")(3), "NamedTuple"),
    ],
)
def test_wrong_types_are_named(call, named):
    assert named in error_message(call)


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("name", 3, "name of a world"),
        ("mdp", None, "mdp must be a TabularMDP"),
        ("defaults", {}, "defaults must be Defaults"),
        ("action_names", None, "action_names"),
        ("action_names", [1, 2, 3, 4], "action_names"),
        ("r_max", "much", "r_max must be a number"),
        ("layout", 3, "layout must be a Layout"),
        ("options", 3, "options must be a dict"),
    ],
)
def test_worlds_with_wrong_parts(part, value, named):
    world = replace(wl.make_world("toy"), **{part: value})
    assert named in error_message(wl.check_world, world)
    assert named in error_message(wl.train, world, "ucb1")


def test_a_world_is_checked_before_compiled_code_uses_it():
    toy = wl.make_world("toy")
    next_state = toy.mdp.next_state.copy()
    next_state[0, 1, 0] = 10**6
    broken = replace(toy, mdp=toy.mdp._replace(next_state=next_state))
    for call in (wl.train, wl.Agent.for_world):
        assert "next_state must be from 0 to 24, got 1000000" in error_message(call, broken, "ucb1")
    assert "next_state" in error_message(agent().evaluate, broken)
    assert "next_state" in error_message(agent().simulate, broken)


def test_a_world_without_moves_can_be_run():
    toy = wl.make_world("toy")
    stays = np.broadcast_to(np.arange(25, dtype=np.int32)[:, None, None], (25, 4, 1)).copy()
    world = replace(toy, mdp=toy.mdp._replace(next_state=stays))
    assert "no action leads away" in error_message(wl.check_world, world)
    assert wl.train(world, "ucb1", steps=100).discovered[-1] == 1


class Model(gym.Env):
    """An environment with a transition table."""

    observation_space = action_space = gym.spaces.Discrete(2)
    P: ClassVar = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 1.0, True)]}}

    def __init__(self, first_state, start=None):
        self.first_state = first_state
        if start is not None:
            self.initial_state_distrib = start

    def reset(self, *, seed=None, options=None):
        return self.first_state, {}


def test_start_states_of_models():
    assert wl.world_from_gym(Model(1)).mdp.start.tolist() == [0, 1]
    assert "reset returned state -1" in error_message(wl.world_from_gym, Model(-1))
    assert "reset returned state 2" in error_message(wl.world_from_gym, Model(2))
    assert "reset failed" in error_message(wl.world_from_gym, Model("x"))
    assert "initial_state_distrib" in error_message(wl.world_from_gym, Model(0, ["a", "b"]))


# --- Observations ----------------------------------------------------------------------------------

NO_WHOLE_NUMBERS = [1.5, "1", None, NAN, INF, [1], np.array([1, 2]), 2**70]


@pytest.mark.parametrize("value", [5, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_states_out_of_range(value):
    new_agent = agent()
    for call in (new_agent.act, new_agent.explain, new_agent.action_values, new_agent.greedy_action):
        assert error_message(call, value) == f"state must be a whole number from 0 to 4, got {value!r}."
    assert "state must" in error_message(new_agent.observe, value, 0, 0.0, 0, False)
    assert "next_state must" in error_message(new_agent.observe, 0, 0, 0.0, value, False)
    assert new_agent.steps == 0


@pytest.mark.parametrize("value", [-1, 1.5, "1", None], ids=repr)
def test_states_without_a_limit(value):
    message = error_message(agent(n_states=None).act, value)
    assert message == f"state must be a whole number at least 0, got {value!r}."


@pytest.mark.parametrize("value", [4, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_actions_out_of_range(value):
    new_agent, explorer = agent(), drop_in()
    expected = f"action must be a whole number from 0 to 3, got {value!r}."
    assert error_message(new_agent.observe, 0, value, 0.0, 1, False) == expected
    assert error_message(explorer.observe, 0, value, 1, False) == expected
    assert new_agent.steps == 0


@pytest.mark.parametrize("value", [NAN, INF, -INF, "much", None, [1.0]], ids=repr)
def test_invalid_rewards(value):
    new_agent = agent()
    message = error_message(new_agent.observe, 0, 0, value, 1, False)
    assert "reward must be" in message
    assert repr(value) in message
    assert new_agent.steps == 0
    assert np.isfinite(new_agent.tables["target"]).all()


@pytest.mark.parametrize(
    "q",
    [[1, 2], [[1, 2, 3, 4]], [1, 2, 3, NAN], [1, 2, 3, INF], "abcd", None, 5, {1: 2}, np.zeros((5, 4))],
    ids=repr,
)
def test_q_values_of_a_drop_in_explorer(q):
    explorer = drop_in()
    for call in (explorer.act, explorer.explain):
        message = error_message(call, 0, q)
        assert "q must be 4 finite numbers" in message
        assert repr(q) in message


def test_other_methods_of_a_drop_in_explorer():
    explorer = drop_in()
    assert "from 0 to 4" in error_message(explorer.act, 5, [0, 0, 0, 0])
    assert "from 0 to 4" in error_message(explorer.bonus, 5, 0)
    assert "from 0 to 3" in error_message(explorer.bonus, 0, 4)
    assert "from 0 to 3" in error_message(explorer.bonus, 0, "up")
    assert "'ucb1'" in error_message(lambda: drop_in("ucb1").visitation_values)
    assert "wanderlust.Agent" in error_message(drop_in, "bootstrapped")


# --- Files -----------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """A file with a small saved agent."""
    new_agent = agent()
    new_agent.observe(0, 1, 0.5, 2, False)
    new_agent.observe(2, 3, 1.0, 0, True)
    path = tmp_path / "agent.npz"
    new_agent.save(path)
    assert wl.Agent.load(path).visits[0, 1] == 1
    return path


def rewritten(path, change):
    """Write the archive again with changed members; return its path."""
    with zipfile.ZipFile(path) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(content))
    return path


def redescribed(path, **changes):
    """Save the file again with a changed description."""
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about"))) | changes
    np.savez(path, about=np.array(json.dumps(about)), **arrays)
    return path


def load_error(path, **given):
    message = error_message(wl.Agent.load, path, **given)
    assert str(path) in message
    return message


def test_missing_file(tmp_path):
    assert "no such file" in load_error(tmp_path / "missing.npz")
    load_error(tmp_path)


def test_truncated_file(saved):
    whole = saved.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        load_error(saved)


def test_tampered_file(saved):
    def flip(members):
        members["visits.npy"][-8] ^= 1

    assert "checksum" in load_error(rewritten(saved, flip))


def test_file_with_a_missing_array(saved):
    load_error(rewritten(saved, lambda members: members.pop("visits.npy")))


def test_flipped_bytes_are_detected_or_have_no_effect(saved):
    """Some bytes of an archive, such as dates, have no effect; any file that loads equals the saved agent."""
    whole, before = bytearray(saved.read_bytes()), wl.Agent.load(saved)
    for i in range(0, len(whole), len(whole) // 300):
        damaged = whole.copy()
        damaged[i] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            after = wl.Agent.load(saved)
        except wl.WanderlustError:
            continue
        np.testing.assert_array_equal(after.tables["target"], before.tables["target"])
        np.testing.assert_array_equal(after.visits, before.visits)


def test_file_of_a_newer_version(saved):
    message = load_error(redescribed(saved, format=99, wanderlust="9.0"))
    assert "99" in message
    assert "9.0" in message
    assert wl.__version__ in message


def test_file_with_another_description(saved):
    whole = saved.read_bytes()
    for changes in (
        {"seed": 7},
        {"options": {"kappa": 1.0}},
        {"explorer": "vv-ucb"},
        {"settings": {}},
        {"checksum": 0},
    ):
        assert "checksum" in load_error(redescribed(saved, **changes))
        saved.write_bytes(whole)


def test_files_of_other_programs(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    np.savez(tmp_path / "claims.npz", about=np.array("[]"))
    np.savez(tmp_path / "worse.npz", about=np.array("not JSON"))
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "text.npz").write_text("some text")
    with zipfile.ZipFile(tmp_path / "plain.npz", "w") as archive:
        archive.writestr("letter.txt", "some text")
    for path in sorted(tmp_path.iterdir()):
        load_error(path)


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "evil.npz", about=np.array([{"format": 1}], dtype=object))
    load_error(tmp_path / "evil.npz")


class UserDefined(NamedTuple):
    """A user-defined explorer."""

    scale: float = 1.0

    def score(self, view, scores):
        """Q plus a bonus that decreases with visits."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.scale / (1 + view.n(action))


class Other(NamedTuple):
    """Another user-defined explorer."""

    scale: float = 1.0


def test_file_with_a_user_defined_explorer(tmp_path):
    path = tmp_path / "agent.npz"
    agent(UserDefined).save(path)
    assert wl.Agent.load(path, explorer=UserDefined).configured_explorer == UserDefined()
    assert "explorer=UserDefined" in load_error(path)
    assert "Other" in load_error(path, explorer=Other)


def test_a_failed_save_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(wl.WanderlustError, match=r"cannot be saved there \(disk full\)"):
        agent().save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# --- User-defined explorers ------------------------------------------------------------------------


def test_misspelt_or_broken_explorer_modules(tmp_path, monkeypatch):
    module = "from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float = 1.0\n"
    (tmp_path / "my_explorers.py").write_text(module)
    (tmp_path / "my_typo.py").write_text("clas Mine:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    message = error_message(wl.train, "toy", "my_explorers:Main")
    assert (
        "unknown explorer 'my_explorers:Main'. Did you mean 'my_explorers:Mine'? Known: my_explorers:Mine." in message
    )
    assert "module 'my_typo' cannot be imported (SyntaxError" in error_message(wl.train, "toy", "my_typo:Mine")
    assert "module 'nowhere' cannot be imported (ModuleNotFoundError" in error_message(wl.train, "toy", "nowhere:Mine")


def python(code, *, folder, jit, cache=None):
    """Run code in a new process; return its output."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(SOURCES.parent)]),
        "NUMBA_DISABLE_JIT": "0" if jit else "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if cache is not None:
        environment["WANDERLUST_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- The package itself ----------------------------------------------------------------------------


def test_no_pickle():
    for file in SOURCES.rglob("*.py"):
        assert not re.search(r"\b(import|from) pickle\b|\bpickle\.|allow_pickle=True", file.read_text()), file


def test_import_loads_no_heavy_modules(tmp_path):
    code = "import sys, wanderlust; print(sorted({'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    assert python(code, folder=tmp_path, jit=True).strip() == "[]"
