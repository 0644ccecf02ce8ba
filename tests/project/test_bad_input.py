"""Invalid input raises a `WanderlustError` that names what is wrong and what is valid.

`test_fuzz_input.py` has every argument of every public function, which messages name; here is what they say is valid,
and what is wrong only together with something else.
"""

import json
import math
import re
from dataclasses import replace
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
        (lambda: wl.train("prison", "vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: drop_in("vv-ubc"), "vv-ubc", "vv-ucb", EXPLORERS),
        (lambda: wl.make_world("prison", escap=1), "escap", "escape", ["escape", "step_penalty"]),
        (lambda: wl.train("toy", "ucb1", kapa=1), "kapa", "kappa", ["kappa", "untried_value", "discount"]),
        (lambda: wl.train("toy", "ucb1", discont=0.9), "discont", "discount", ["kappa", "learning_rate"]),
        (lambda: drop_in(kapa=1), "kapa", "kappa", ["kappa", "gamma_w"]),
        (lambda: wl.train("toy", "ucb1", preset="as_writen"), "as_writen", "as_written", ["as_published_code"]),
        (lambda: wl.Replay("ful"), "ful", "full", ["full", "none", "window"]),
        (lambda: wl.Settings(replay="windw"), "windw", "window", ["full", "none", "window"]),
        (lambda: wl.Settings(initial="optimist"), "optimist", "optimistic", ["zero", "optimistic"]),
        (lambda: agent("thompson", draw="acton"), "acton", "action", ["step", "action"]),
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


# --- Values out of range ---------------------------------------------------------------------------

NO_NUMBERS = [NAN, -INF, "much", None, True, [1]]
NO_COUNTS = [0, -1, 1.5, NAN, "ten", True, [1]]
NO_INDICES = [-1, 1.5, "1", None, NAN, [1], np.array([1, 2]), 2**70]
WHOLE = "from 1 to 1,000,000,000,000"
SEEDED = (lambda **given: wl.train("toy", "ucb1", **given), agent, drop_in)


def options_of(explorer):
    return (lambda **given: agent(explorer, **given),)


def window(**given):
    return wl.Replay("window", **given)


def observe(state=0, action=0, reward=0.0, next_state=1):
    """Observe a step; nothing may change if it is invalid."""
    one = agent()
    try:
        one.observe(state, action, reward, next_state, False)
    finally:
        assert one.steps == 0
        assert not one.tables["target"].any()


@pytest.mark.parametrize(
    ("calls", "name", "valid", "values"),
    [
        ((wl.Settings, *SEEDED[:1]), "discount", "[0, 1)", [1, -0.1, *NO_NUMBERS]),
        ((wl.Settings,), "learning_rate", "(0, 1]", [0, 1.5]),
        ((wl.Settings,), "epsilon_start", "[0, 1]", [-0.1, 1.1]),
        ((wl.Settings, *SEEDED[:1]), "steps", WHOLE, [*NO_COUNTS, 10**30]),
        ((wl.Settings,), "replay", "full, none, window", [3, None, ["full"]]),
        (options_of("ucb1"), "kappa", "[0, inf]", [-1, INF]),
        (options_of("vv-ucb"), "gamma_w", "[0, 1)", [1.0]),
        (options_of("vv-ucb"), "log_plus_one", "True or False", ["yes"]),
        (options_of("bootstrapped"), "heads", "at least 1", [0, 1.5]),
        (SEEDED, "seed", "at least 0", [-1, 1.5, "one", None, NAN, True]),
        ((agent,), "n_actions", "", NO_COUNTS),
        ((agent, drop_in), "reward_range", "",
         [(1, 0), (0, NAN), (-INF, 0), (0,), (0, 1, 2), 3, "ab", (0, 1e300)]),
        ((lambda **given: wl.make_world("toy", **given),), "slips", "success, random, stay",
         [3, [], "abc", (0.5, 0.5), (0.5, 0.5, 0.5), (1, NAN, 0), (2, -1, 0)]),
        ((window,), "batch", "from 1 to 2,147,483,647", [0, 1.5]),
        ((window,), "capacity", "from 1 to 2,147,483,647", [0, "all"]),
        ((observe, *(lambda state, method=method: getattr(agent(), method)(state)
                     for method in ("act", "explain", "action_values", "greedy_action"))),
         "state", "from 0 to 4", [5, *NO_INDICES]),
        ((observe,), "next_state", "from 0 to 4", [5, *NO_INDICES]),
        ((observe, lambda action: drop_in().observe(0, action, 1, False)), "action", "from 0 to 3", [4, *NO_INDICES]),
        ((observe,), "reward", "must be", [NAN, INF, -INF, "much", None, [1.0]]),
        ((lambda q: drop_in().act(0, q), lambda q: drop_in().explain(0, q)), "q", "must be 4 finite numbers",
         [[1, 2], [[[1, 2, 3, 4]]], [1, 2, 3, NAN], [1, 2, 3, INF], "abcd", None, 5, {1: 2}, np.zeros((5, 3))]),
    ],
)  # fmt: skip
def test_values_out_of_range(calls, name, valid, values):
    for call in calls:
        for value in values:
            given = "" if name == "reward_range" else repr(value)  # Its message has the wrong one of the two numbers.
            assert_invalid(call, **{name: value}, names=[name, valid, given])


# --- Conversion to plain numbers -------------------------------------------------------------------


def test_numbers_of_other_types_are_plain_numbers(tmp_path):
    """`test_fuzz_input.py` checks the types of all of them."""
    made = wl.Settings(steps=1e3, horizon=np.int16(2000), discount=np.float32(0.5), gamma_w=Fraction(1, 4))
    assert (made.steps, made.horizon, made.discount, made.gamma_w) == (1000, 2000, 0.5, 0.25)
    one = agent(kappa=np.float32(0.5), untried_value=Fraction(1, 2))
    one.save(tmp_path / "agent.npz")  # Options are stored as JSON.
    assert wl.Agent.load(tmp_path / "agent.npz").options == one.options == {"kappa": 0.5, "untried_value": 0.5}
    assert wl.make_world("chain", length=9.0).options == {"length": 9}


def test_a_window_of_a_small_integer_type_does_not_overflow():
    made = wl.Settings(horizon=np.int16(2000), replay=wl.Replay("window", batch=np.int8(8)))
    assert type(made.replay.batch) is int
    assert agent(settings=made).spec.capacity == 40_000
    assert_invalid(agent, settings=wl.Settings(horizon=10**11, replay="window"), names="window")


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
        (lambda: drop_in("bootstrapped"), "wanderlust.Agent"),
        (lambda: drop_in("ucb1").visitation_values, "'ucb1'"),
        # Worlds that cannot be evaluated exactly, or have other actions.
        (lambda: agent().evaluate(wl.make_world("noisy-toy")), "'noisy-toy'"),
        (lambda: agent().evaluate(wl.make_world("deep-sea", depth=3)), "4 actions"),
        # Observations.
        (lambda: agent().observe(0, 0, 1e300, 1, False), "reward must be"),
        *((lambda value=value: agent(n_states=None).act(value), "at least 0") for value in (-1, 1.5, "1", None)),
        (lambda: drop_in().act(5, [0, 0, 0, 0]), "from 0 to 4"),
        (lambda: drop_in().act(0, [1, 2, 3, 10**400]), "q must be 4 finite numbers"),
        (lambda: drop_in().bonus(0, 4), "from 0 to 3"),
        # Environments.
        (lambda: wl.Tabular("FrozenLake-v1"), "wl.tabular"),
        (lambda: wl.register_explorer("x")(3), "NamedTuple"),
        # Sizes that do not fit into memory.
        (lambda: agent(n_actions=10**9), "from 1 to 1,000,000"),
        (lambda: agent(n_states=10**12), "200,000,000"),
        (lambda: agent(n_states=10**8, n_actions=100), "100,000,000 states × 100 actions"),
        (lambda: agent(n_states=None, n_actions=100).act(20_000_000), "below 20,000,000"),
        (lambda: agent("bootstrapped", heads=1000, n_actions=30_000), "tables × actions"),
        (lambda: wl.Session("toy", "random", steps=10**12, evaluate_every=1, keep_trajectory=True), "memory"),
        # Values that cannot be printed.
        (lambda: agent(Unprintable()), "Unprintable"),
        (lambda: wl.Settings(initial=Unprintable()), "Unprintable"),
    ],
)
def test_invalid_calls_name_what_is_wrong(call, names):
    assert_invalid(call, names=names)


def test_long_values_are_shortened_in_messages():
    assert len(assert_invalid(wl.make_world, "x" * 10**6)) < 1000


# --- Worlds and environments -----------------------------------------------------------------------


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
    assert_invalid(env.step, 0, names="more than 200,000 states")
    assert env.n_states == 200_000
    env = ManyStates()
    env.observation_space = gym.spaces.MultiBinary(10**7)
    assert wl.tabular(env).observation_space.n == 200_000_000, "too large to count"


class Model(gym.Env):
    """An environment with a transition table."""

    observation_space = action_space = gym.spaces.Discrete(2)
    P: ClassVar = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 1.0, True)]}}

    def __init__(self, first_state):
        self.first_state = first_state

    def reset(self, *, seed=None, options=None):
        return self.first_state, {}


def test_start_states_of_models():
    assert wl.world_from_gym(Model(1)).mdp.start.tolist() == [0, 1]
    for state, message in ((-1, "reset returned state -1"), (2, "reset returned state 2"), ("x", "reset failed")):
        assert_invalid(wl.world_from_gym, Model(state), names=message)


# --- Files -----------------------------------------------------------------------------------------


def test_files_that_cannot_be_loaded(tmp_path):
    """`agents/test_agent_files.py` has forged and damaged ones, `core/test_archives.py` other archives."""
    path = tmp_path / "agent.npz"
    assert_invalid(wl.Agent.load, path, names=[str(path), "no such file"])
    agent().save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about"))) | {"format": 99, "wanderlust": "9.0"}
    np.savez(path, about=np.array(json.dumps(about)), **arrays)
    assert_invalid(wl.Agent.load, path, names=[str(path), "99", "9.0", wl.__version__])
    path.write_text("some text")
    assert_invalid(wl.Agent.load, path, names=str(path))


class UserDefined(NamedTuple):
    scale: float = 1.0


class Other(NamedTuple):
    scale: float = 1.0


def test_file_with_a_user_defined_explorer(tmp_path):
    path = tmp_path / "agent.npz"
    agent(UserDefined).save(path)
    assert wl.Agent.load(path, explorer=UserDefined).configured_explorer == UserDefined()
    assert_invalid(wl.Agent.load, path, names=[str(path), "explorer=UserDefined"])
    assert_invalid(wl.Agent.load, path, explorer=Other, names=[str(path), "Other"])


# --- The package itself ----------------------------------------------------------------------------


def test_no_pickle():
    for file in SOURCES.rglob("*.py"):
        assert not re.search(r"\b(import|from) pickle\b|\bpickle\.|allow_pickle=True", file.read_text()), file
