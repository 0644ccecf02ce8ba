"""Invalid input raises a `WanderlustError` that names what is wrong and what is valid.

`test_fuzz_input.py` has every argument of every public function; here are the names and ranges that messages have.
"""

import json
import math
import re
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


def assert_invalid(call, *arguments, names=(), **options):
    """Check that a call raises a `WanderlustError` whose message has all names; return the message."""
    with pytest.raises(wl.WanderlustError) as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    message = str(caught.value)
    for name in (names,) if isinstance(names, str) else names:
        assert name in message
    return message


# --- Names -----------------------------------------------------------------------------------------

WORLDS, EXPLORERS = wl.world_names(), wl.explorer_names()


@pytest.mark.parametrize(
    ("call", "wrong", "closest", "known"),
    [
        (lambda: wl.make_world("prisn"), "prisn", "prison", WORLDS),
        (lambda: wl.train("prisn", "ucb1"), "prisn", "prison", WORLDS),
        (lambda: wl.train("prison", "vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: agent("vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: drop_in("vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: wl.check_explorer("vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: wl.make_world("prison", escap=1), "escap", "escape", ["escape", "step_penalty"]),
        (lambda: wl.train("toy", "ucb1", kapa=1), "kapa", "kappa", ["kappa", "untried_value", "discount"]),
        (lambda: wl.train("toy", "ucb1", discont=0.9), "discont", "discount", ["kappa", "learning_rate"]),
        (lambda: agent(kapa=1), "kapa", "kappa", ["kappa", "untried_value"]),
        (lambda: drop_in(kapa=1), "kapa", "kappa", ["kappa", "gamma_w"]),
        (lambda: wl.train("toy", "ucb1", preset="as_writen"), "as_writen", "as_written", ["as_published_code"]),
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
    assert_invalid(call, names=[repr(wrong), f"Did you mean {closest!r}?", *known])


def test_misspelt_or_broken_explorer_modules(tmp_path, monkeypatch):
    module = "from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float = 1.0\n"
    (tmp_path / "my_explorers.py").write_text(module)
    (tmp_path / "my_typo.py").write_text("clas Mine:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    closest = ["'my_explorers:Main'", "Did you mean 'my_explorers:Mine'?"]
    assert_invalid(wl.train, "toy", "my_explorers:Main", names=closest)
    assert_invalid(wl.train, "toy", "my_typo:Mine", names=["'my_typo'", "SyntaxError"])
    assert_invalid(wl.train, "toy", "nowhere:Mine", names=["'nowhere'", "ModuleNotFoundError"])


# --- Settings and options --------------------------------------------------------------------------

NO_NUMBERS = [NAN, INF, -INF, "much", None, True, [1]]
WHOLE = "from 1 to 1,000,000,000,000"


@pytest.mark.parametrize(
    ("name", "valid", "values"),
    [
        ("discount", "[0, 1)", [1, -0.1, 2, *NO_NUMBERS]),
        ("gamma_w", "[0, 1)", [1, -0.1, 2, *NO_NUMBERS]),
        ("learning_rate", "(0, 1]", [0, -0.5, 1.5, *NO_NUMBERS]),
        ("epsilon_start", "[0, 1]", [-0.1, 1.1, *NO_NUMBERS]),
        ("epsilon_end", "[0, 1]", [-0.1, 1.1, *NO_NUMBERS]),
        *(
            (name, WHOLE, [0, -1, 1.5, NAN, INF, "ten", True, [1], 10**30])
            for name in ("horizon", "budget", "evaluate_every", "steps", "evaluation_horizon")
        ),
        ("replay", "full, none, window", [3, None, ["full"]]),
    ],
)
def test_settings_out_of_range(name, valid, values):
    for value in values:
        assert_invalid(wl.Settings, **{name: value}, names=[name, valid, repr(value)])
    assert_invalid(wl.train, "toy", "ucb1", **{name: values[0]}, names=[name, valid, repr(values[0])])


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
    assert_invalid(agent, explorer, **{name: value}, names=[name, valid, repr(value)])


SEEDED = (lambda **given: wl.train("toy", "ucb1", **given), agent, drop_in)


@pytest.mark.parametrize(
    ("calls", "name", "valid", "values"),
    [
        (SEEDED, "seed", "at least 0", [-1, 1.5, "one", None, NAN, True]),
        ((agent,), "n_actions", "", [0, -1, 1.5, "four", NAN, True]),
        ((agent,), "n_states", "", [0, -1, 1.5, "four", NAN, True]),
        ((agent, drop_in), "reward_range", "",
         [(1, 0), (0, NAN), (-INF, 0), (0, INF), (0,), (0, 1, 2), 3, "ab", (0, 1e300)]),
        ((lambda **given: wl.make_world("toy", **given),), "slips", "success, random, stay",
         [3, [], "abc", (0.5, 0.5), (0.5, 0.5, 0.5), (1, NAN, 0), (2, -1, 0)]),
        ((lambda **given: wl.Replay("window", **given),), "batch", "from 1 to 2,147,483,647", [0, 1.5]),
        ((lambda **given: wl.Replay("window", **given),), "capacity", "from 1 to 2,147,483,647", [0, "all"]),
    ],
)  # fmt: skip
def test_arguments_out_of_range(calls, name, valid, values):
    for call in calls:
        for value in values:
            given = "" if name == "reward_range" else repr(value)  # Its message has the wrong one of the two numbers.
            assert_invalid(call, **{name: value}, names=[name, valid, given])


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
    assert_invalid(agent, settings=wl.Settings(horizon=10**11, replay="window"), names="window")


NOT_CONVERTED = ["0.9", 10**400, 10**5000, -(10**400), Decimal("sNaN"), 1j, np.array([0.5]), b"1"]


@pytest.mark.parametrize("value", NOT_CONVERTED, ids=map(str, range(len(NOT_CONVERTED))))
def test_values_that_are_not_converted(value):
    for name in ("discount", "learning_rate", "horizon", "steps"):
        assert_invalid(wl.Settings, **{name: value}, names=name)
    assert_invalid(agent, seed=value, names="seed must be")
    assert_invalid(agent, kappa=value, names="kappa")
    assert_invalid(wl.Replay, "window", capacity=value, names="capacity")


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


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no representation")


# --- Calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "names"),
    [
        # Options.
        (lambda: agent("random", speed=1), "'speed'"),
        (lambda: agent("vv-count", n_actions=2, untried_bound="equation"), "'text'"),
        (lambda: agent("bootstrapped", dither=False, epsilon_start=b"no"), "epsilon_start"),
        (lambda: agent(settings=3), "3"),
        (lambda: agent(settings={"discount": 0.9}), "{'discount': 0.9}"),
        (lambda: drop_in("bootstrapped"), "wanderlust.Agent"),
        (lambda: drop_in("ucb1").visitation_values, "'ucb1'"),
        (lambda: agent(learns_q="yes"), "learns_q"),
        (lambda: wl.train("toy", "ucb1", keep_trajectory="yes"), "keep_trajectory must be True or False"),
        (lambda: wl.train("toy", "ucb1", preset=np.array(["a"])), "preset"),
        (lambda: wl.train("toy", "ucb1", preset="as_published_code", budget="x"), "budget must be"),
        (lambda: wl.make_world("toy", slips=object()), "slips must be"),
        # Worlds that cannot be evaluated exactly, or have other actions.
        (lambda: agent().evaluate(wl.make_world("noisy-toy")), "'noisy-toy'"),
        (lambda: agent().evaluate(wl.make_world("deep-sea", depth=3)), "4 actions"),
        # Observations.
        (lambda: agent().observe(0, 0, 0.0, 1, np.array([True, False])), "terminated must be True or False"),
        (lambda: agent().observe(0, 0, 0.0, 1, False, 1), "truncated must be True or False"),
        (lambda: agent().observe(0, 0, 1e300, 1, False), "reward must be"),
        *((lambda value=value: agent(n_states=None).act(value), "at least 0") for value in (-1, 1.5, "1", None)),
        (lambda: drop_in().act(5, [0, 0, 0, 0]), "from 0 to 4"),
        (lambda: drop_in().act(0, ["1", "2", "3", "4"]), "q must be 4 finite numbers"),
        (lambda: drop_in().act(0, [1, 2, 3, 10**400]), "q must be 4 finite numbers"),
        (lambda: drop_in().bonus(5, 0), "from 0 to 4"),
        (lambda: drop_in().bonus(0, 4), "from 0 to 3"),
        (lambda: drop_in().bonus(0, "up"), "from 0 to 3"),
        (lambda: drop_in().bonus(0, np.array([0, 1])), "action must be"),
        # Environments.
        (lambda: wl.tabular("MountainCar-v0", bins=np.array([[2, 2]])), "bins"),
        (lambda: wl.tabular("MountainCar-v0", bins=2, bounds=np.array(1.0)), "bounds must be"),
        (lambda: wl.tabular("FrozenLake-v1", key=np.array(["hash"])), "key must be"),
        (lambda: wl.tabular("FrozenLake-v1").key_of(0.5), "state must be a whole number"),
        (lambda: wl.Tabular("FrozenLake-v1"), "wl.tabular"),
        (lambda: wl.register_explorer("x")(3), "NamedTuple"),
        # Paths.
        (lambda: agent().save(3), "path must be"),
        (lambda: agent().save("a\0b"), "path must be"),
        (lambda: agent().save("."), "path must be"),
        (lambda: wl.Agent.load(None), "path must be"),
        # Sizes that do not fit into memory.
        (lambda: agent(n_actions=10**9), "from 1 to 1,000,000"),
        (lambda: agent(n_states=10**12), "200,000,000"),
        (lambda: agent(n_states=10**8, n_actions=100), "100,000,000 states × 100 actions"),
        (lambda: agent(n_states=None, n_actions=100).act(20_000_000), "below 20,000,000"),
        (lambda: agent("bootstrapped", heads=10**12), "heads"),
        (lambda: agent("bootstrapped", heads=1000, n_actions=30_000), "tables × actions"),
        (lambda: agent("bootstrapped", batch=10**12), "2,147,483,647"),
        (lambda: wl.Session("toy", "random", steps=10**12, evaluate_every=1, keep_trajectory=True), "memory"),
        # Values that cannot be printed.
        (lambda: agent(n_actions=Unprintable()), "Unprintable"),
        (lambda: agent(Unprintable()), "Unprintable"),
        (lambda: agent().act(Unprintable()), "Unprintable"),
        (lambda: wl.make_world(Unprintable()), "Unprintable"),
        (lambda: wl.Settings(initial=Unprintable()), "Unprintable"),
        (lambda: wl.tabular("FrozenLake-v1", key=Unprintable()), "Unprintable"),
    ],
)
def test_invalid_calls_name_what_is_wrong(call, names):
    assert_invalid(call, names=names)


def test_long_values_are_shortened_in_messages():
    assert len(assert_invalid(wl.make_world, "x" * 10**6)) < 1000


# --- Observations ----------------------------------------------------------------------------------

NO_WHOLE_NUMBERS = [1.5, "1", None, NAN, INF, [1], np.array([1, 2]), 2**70]


@pytest.mark.parametrize("value", [5, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_states_out_of_range(value):
    one, valid = agent(), ["state", "from 0 to 4", repr(value)]
    for call in (one.act, one.explain, one.action_values, one.greedy_action):
        assert_invalid(call, value, names=valid)
    assert_invalid(one.observe, value, 0, 0.0, 0, False, names=valid)
    assert_invalid(one.observe, 0, 0, 0.0, value, False, names=["next_state", *valid])
    assert one.steps == 0


@pytest.mark.parametrize("value", [4, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_actions_out_of_range(value):
    one, valid = agent(), ["action", "from 0 to 3", repr(value)]
    assert_invalid(one.observe, 0, value, 0.0, 1, False, names=valid)
    assert_invalid(drop_in().observe, 0, value, 1, False, names=valid)
    assert one.steps == 0


@pytest.mark.parametrize("value", [NAN, INF, -INF, "much", None, [1.0]], ids=repr)
def test_invalid_rewards(value):
    one = agent()
    assert_invalid(one.observe, 0, 0, value, 1, False, names=["reward must be", repr(value)])
    assert one.steps == 0
    assert np.isfinite(one.tables["target"]).all()


@pytest.mark.parametrize(
    "q",
    [[1, 2], [[[1, 2, 3, 4]]], [1, 2, 3, NAN], [1, 2, 3, INF], "abcd", None, 5, {1: 2}, np.zeros((5, 3))],
    ids=repr,
)
def test_q_values_of_a_drop_in_explorer(q):
    for call in (drop_in().act, drop_in().explain):
        assert_invalid(call, 0, q, names=["q must be 4 finite numbers", repr(q)])


# --- Worlds and environments -----------------------------------------------------------------------


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
    assert_invalid(wl.check_world, world, names=named)
    assert_invalid(wl.train, world, "ucb1", names=named)


def test_a_world_is_checked_before_compiled_code_uses_it():
    toy = wl.make_world("toy")
    next_state = toy.mdp.next_state.copy()
    next_state[0, 1, 0] = 10**6
    broken = replace(toy, mdp=toy.mdp._replace(next_state=next_state))
    for call in (wl.train, wl.Agent.for_world):
        assert_invalid(call, broken, "ucb1", names=["next_state", "from 0 to 24", "1000000"])
    assert_invalid(agent().evaluate, broken, names="next_state")
    assert_invalid(agent().simulate, broken, names="next_state")


def test_a_world_with_too_many_pairs():
    toy = wl.make_world("toy")
    shape = (2**30, 4, 1)  # Arrays without memory of their own.
    arrays = {name: np.broadcast_to(getattr(toy.mdp, name)[:1, :1, :1], shape) for name in toy.mdp._fields[:4]}
    world = replace(toy, mdp=toy.mdp._replace(**arrays), layout=None)
    assert_invalid(wl.check_world, world, names="1,073,741,824 states × 4 actions")
    assert_invalid(wl.train, world, "ucb1", names="2,000,000,000 pairs")


def test_a_world_without_moves_can_be_run():
    toy = wl.make_world("toy")
    stays = np.broadcast_to(np.arange(25, dtype=np.int32)[:, None, None], (25, 4, 1)).copy()
    world = replace(toy, mdp=toy.mdp._replace(next_state=stays))
    assert_invalid(wl.check_world, world, names="no action leads away")
    assert wl.train(world, "ucb1", steps=100).discovered[-1] == 1


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
    assert_invalid(env.step, 0, names="more than 200,000 states")
    assert env.n_states == 200_000


def test_spaces_too_large_to_count():
    env = ManyStates()
    env.observation_space = gym.spaces.MultiBinary(10**7)
    assert wl.tabular(env).observation_space.n == 200_000_000


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
    assert_invalid(wl.world_from_gym, Model(-1), names="reset returned state -1")
    assert_invalid(wl.world_from_gym, Model(2), names="reset returned state 2")
    assert_invalid(wl.world_from_gym, Model("x"), names="reset failed")
    assert_invalid(wl.world_from_gym, Model(0, ["a", "b"]), names="initial_state_distrib")


# --- Files -----------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """A file with a small saved agent."""
    one = agent()
    one.observe(0, 1, 0.5, 2, False)
    one.observe(2, 3, 1.0, 0, True)
    path = tmp_path / "agent.npz"
    one.save(path)
    assert wl.Agent.load(path).visits[0, 1] == 1
    return path


def rewrite(path, change):
    """Write the archive again with changed members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(content))


def redescribe(path, **changes):
    """Save the file again with a changed description."""
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about"))) | changes
    np.savez(path, about=np.array(json.dumps(about)), **arrays)


def flip(members):
    members["visits.npy"][-8] ^= 1


def text_in_a_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "some text")


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: (path.unlink(), path.mkdir()), ()),
        *((lambda path, cut=cut: path.write_bytes(path.read_bytes()[:cut]), ()) for cut in (0, 1, 100, 3000, -1)),
        (lambda path: rewrite(path, flip), "checksum"),
        (lambda path: rewrite(path, lambda members: members.pop("visits.npy")), ()),
        (lambda path: redescribe(path, format=99, wanderlust="9.0"), ["99", "9.0", wl.__version__]),
        (lambda path: redescribe(path, seed=7), "checksum"),
        (lambda path: redescribe(path, options={"kappa": 1.0}), "checksum"),
        (lambda path: redescribe(path, explorer="vv-ucb"), ()),
        (lambda path: redescribe(path, settings={}), ()),
        (lambda path: redescribe(path, checksum=0), "checksum"),
        (lambda path: np.savez(path, weights=np.ones(3)), ()),
        (lambda path: np.savez(path, about=np.array("[]")), ()),
        (lambda path: np.savez(path, about=np.array("not JSON")), ()),
        # Objects are never unpickled.
        (lambda path: np.savez(path, about=np.array([{"format": 1}], dtype=object)), ()),
        (lambda path: path.write_bytes(b"\x93NUMPY" + bytes(122)), ()),
        (lambda path: path.write_text("some text"), ()),
        (text_in_a_zip, ()),
    ],
)
def test_files_that_cannot_be_loaded(saved, damage, names):
    damage(saved)
    assert_invalid(wl.Agent.load, saved, names=[str(saved), *([names] if isinstance(names, str) else names)])


def test_flipped_bytes_are_detected_or_have_no_effect(saved):
    """Some bytes of an archive, such as dates, have no effect; any file that loads equals the saved agent."""
    whole, before = bytearray(saved.read_bytes()), wl.Agent.load(saved)
    for i in range(0, len(whole), len(whole) // 100):
        damaged = whole.copy()
        damaged[i] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            after = wl.Agent.load(saved)
        except wl.WanderlustError:
            continue
        np.testing.assert_array_equal(after.tables["target"], before.tables["target"])
        np.testing.assert_array_equal(after.visits, before.visits)


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
    assert_invalid(wl.Agent.load, path, names=[str(path), "explorer=UserDefined"])
    assert_invalid(wl.Agent.load, path, explorer=Other, names=[str(path), "Other"])


def test_a_failed_save_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    assert_invalid(agent().save, saved, names="disk full")
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# --- The package itself ----------------------------------------------------------------------------


def test_no_pickle():
    for file in SOURCES.rglob("*.py"):
        assert not re.search(r"\b(import|from) pickle\b|\bpickle\.|allow_pickle=True", file.read_text()), file
