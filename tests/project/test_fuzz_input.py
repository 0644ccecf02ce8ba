"""Random invalid input: every call returns a valid result or raises a `WanderlustError`, never another exception.

A longer search: make fuzz
"""

import contextlib
import functools
import inspect
import io
import json
import math
import os
import re
import sys
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import FunctionType
from unittest import mock

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wanderlust as wl
from wanderlust.agents.settings import SETTING_NAMES
from wanderlust.cli import main as cli
from wanderlust.core.errors import shown
from wanderlust.worlds import check_world
from wanderlust.worlds.drawing import text_map
from wanderlust.worlds.paper_worlds import DEEP_GRIDWORLD, PRISON, TOY, TOY_EXAMPLE
from wanderlust.worlds.registry import world_options

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:world .* cannot be reached")]

MANY = settings(max_examples=2 * settings().max_examples)


class NotANumber:
    """An object that fails to be converted."""

    def __float__(self):
        raise RuntimeError("not a float")

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None


RECURSIVE: list = []
RECURSIVE.append(RECURSIVE)
ODD_VALUES = [
    None, True, False, np.True_, 0, 1, 2, 3, -1, 4, 5, 100, 10**9, 10**12, 2**31, 2**63, 2**64, 2**70, 10**400,
    10**5000, -(10**400), 0.0, -0.0, 0.5, 1.0, 1.5, 1e3, -1e-300, 1e-320, 1e300, math.nan, math.inf, -math.inf, 1j,
    np.int8(3), np.int16(2000), np.uint64(2**64 - 1), np.float32(0.1), np.float64("nan"), np.longdouble(0.5),
    np.complex64(1), np.array(3), np.array(0.5), np.array([1]), np.array([0.2, 0.8]), np.zeros((2, 3)), np.zeros(0),
    np.array(["a"]), np.array(None), np.datetime64("2020-01-01"), np.ma.masked, np.str_("full"),
    Fraction(1, 2), Fraction(4), Fraction(10**400, 3), Decimal("0.5"), Decimal("7"), Decimal("sNaN"),
    Decimal("1e99999"),
    "", " ", "0.9", "full", "none", "toy", "vv-ucb", "ucb1", "as_written", "a\0b", "\ud800", "x" * 300, "[/b]", "é",
    "\n", "S.A\n\nA = treasure 1\n", "nowhere.txt", "a\0b.toml", "FrozenLake-v1", ":", "math:pi", "info:", "hash",
    b"toy", [], [1, 2], [[1], [2, 3]], [None], (0, 1), (1, 0), (0.9, 0.05, 0.05), {}, {"a": 1}, {0: (0, 1)}, set(),
    frozenset([1]), RECURSIVE, range(3), slice(1), object(), int, dict, len, NotANumber(), Path("nowhere.txt"), Path(),
    wl.Replay("none"), wl.Settings(horizon=7), ..., NotImplemented, ValueError("x"),
]  # fmt: skip
odd = st.sampled_from(ODD_VALUES)


def fails_well(call, *arguments, of=None, **options):
    """Return the result of a call, or None if it raises a `WanderlustError` with a message of readable length.

    With `of`, a parameter and its value, the message names one of the two. Of a text or a list it may name a part.
    """
    result, message = None, ""
    try:
        result = call(*arguments, **options)
    except wl.WanderlustError as error:
        message = str(error)
        assert 5 < len(message) < 5_000, message
    if message and of and not isinstance(of[1], Collection) and not message.startswith(VALID["path"]):
        assert of[0] in message or shown(of[1]) in message, message
    return result


# --- Maps ------------------------------------------------------------------------------------------

WORDS = [
    "treasure", "penalty", "reward", "puddle", "prison", "floor", "start", "wall", "enter", "left", "right", "up",
    "down", "yes", "no", "true", "1", "-1", "0.5", "1e400", "nan", "-inf", "9" * 5000, "0x10", "1_000", "1e-400", "\0",
    "=", ";", "''", '"', "[", "]", "{", "}", "\ud800", "é", "\u2028", "\x1c", "",
]  # fmt: skip
KEYS = [
    "A", "B", "c", "S", "#", "name", "step", "escape", "treasures_end", "horizon", "long_horizon", "budget",
    "discount", "map", "legend", "", "=", ";", "\0", " ", "a.b", "stepp",
]  # fmt: skip


@st.composite
def text_maps(draw):
    """Return a text that resembles a map: a block of letters, then definitions."""
    letters = st.text(st.sampled_from("S.#PABc" + "S." * 5 + " \t\0é;="), min_size=0, max_size=6)
    block = draw(st.lists(letters, min_size=0, max_size=5))
    if draw(st.booleans()) and block:
        block = [line.ljust(6, ".")[:6] for line in ("S", *block)]
    lines = [f"{draw(st.sampled_from(KEYS))} = {' '.join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))}"]
    lines += [f"{letter} = treasure 1" for letter in "ABc" if any(letter in row for row in block)]
    return "\n".join([*block, "", *draw(st.permutations(lines))]) + draw(st.sampled_from(["", "\n", "\r\n"]))


@st.composite
def mutated(draw, texts):
    """Return the bytes of a valid text with a few of them replaced, removed or inserted."""
    data = bytearray(draw(st.sampled_from(texts)).encode())
    for _ in range(draw(st.integers(0, 4))):
        position = draw(st.integers(0, max(len(data) - 1, 0)))
        kind, byte = draw(st.sampled_from("ridt")), draw(st.integers(0, 255))
        if kind == "i":
            data.insert(position, byte)
        elif kind == "t":
            data[position:] = b""
        elif data:
            data[position : position + 1] = bytes([byte]) if kind == "r" else b""
    return bytes(data)


TEXT_MAPS = [TOY, TOY_EXAMPLE, PRISON, DEEP_GRIDWORLD]
SWEEPS = [
    "worlds = ['toy']\nexplorers = ['vv-ucb']\nseeds = 3\n"
    "[settings]\nkappa = [0.1, 1]\n[[zip]]\nsteps = [9]\nbudget = [5]\n"
]


def check_map_world(world):
    """Check the world of a map: it is valid, it can be drawn, and its text gives the same world."""
    check_world(world)
    text_map(world.layout, 0)
    again = wl.make_world(world.name, **world.options)
    assert again.name == world.name
    assert again.defaults == world.defaults
    for one, other in zip(again.mdp, world.mdp, strict=True):
        np.testing.assert_array_equal(one, other)
    json.dumps(dict(world.options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def check_map(source):
    world = fails_well(wl.make_world, source)
    if world is not None:
        check_map_world(world)


@MANY
@given(text_maps())
@example("S\0\n\n\0 = treasure 1\n")
@example("S.\n\nhorizon = " + "9" * 5000 + "\n")
@example("S.\n\nname = 1e400\n")
def test_text_maps(text):
    check_map(text if "\n" in text else f"{text}\n")


@MANY
@given(mutated(TEXT_MAPS))
def test_map_files(folder, contents):
    (folder / "map.txt").write_bytes(contents)
    check_map(folder / "map.txt")


@MANY
@given(mutated(SWEEPS))
@example(b"a = " + b"[" * 1000)
@example(b"a = " + b"9" * 5000)
@example(b".".join([b"a"] * 100_000) + b" = 1")
def test_sweep_files(folder, contents):
    (folder / "sweep.toml").write_bytes(contents)
    fails_well(wl.Sweep.from_file, folder / "sweep.toml")


# --- Settings and options --------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=3),
    max_leaves=5,
)
any_value = odd | json_values


def check_plain(value):
    """Check that all numbers of settings are plain Python objects, which JSON represents exactly."""
    for name, field in vars(value).items():
        if isinstance(field, wl.Replay):
            check_plain(field)
        else:
            assert field is None or type(field) in (int, float, bool, str), (name, field)
            assert json.loads(json.dumps(field)) == field


@MANY
@given(st.sampled_from([*SETTING_NAMES, "memory", "capacity", "batch"]), any_value)
@example("horizon", np.int16(2000))
@example("discount", 10**400)
@example("discount", 10**5000)
@example("replay", np.array(["full"]))
@example("initial", NotANumber())
def test_settings(name, value):
    kind = wl.Settings if name in SETTING_NAMES else wl.Replay
    made = fails_well(kind, **{name: value}, of=(name, value))
    if made is not None:
        check_plain(made)
        assert made == kind(**vars(made))


EXPLORER_OPTIONS = [(name, option.name) for name in wl.explorer_names() for option in wl.explorer_options(name)]


@MANY
@given(st.sampled_from(EXPLORER_OPTIONS), any_value)
@example(("ucb1", "kappa"), np.float32(0.5))
@example(("bootstrapped", "heads"), 10**12)
@example(("bootstrapped", "batch"), 2**63)
def test_explorer_options(folder, which, value):
    explorer, option = which
    made = fails_well(
        lambda: wl.Agent(explorer, n_actions=2, n_states=3, reward_range=(0, 1), **{option: value}),
    )
    if made is not None and value is not None:
        # γ_w is both a setting and an option; it is used as the setting.
        stored = made.options[option] if option in made.options else getattr(made.settings, option)
        assert type(stored) in (int, float, bool, str, type(None))
        json.dumps(made.options)


WORLD_OPTIONS = [(name, option.name) for name in wl.world_names() for option in world_options(name)]


@MANY
@given(st.sampled_from(WORLD_OPTIONS), any_value)
@example(("toy", "step_penalty"), np.float32(-0.5))
@example(("deep-sea", "depth"), 10**400)
@example(("toy", "slips"), RECURSIVE)
def test_world_options(which, value):
    name, option = which
    world = fails_well(lambda: wl.make_world(name, **{option: value}))
    if world is not None:
        check_world(world)
        json.dumps(dict(world.options))


# --- The functions of the package ------------------------------------------------------------------

SIZES = {"n_actions": 4, "n_states": 5, "reward_range": (0, 1)}
TOY_WORLD = wl.make_world("toy")
SHORT = {"steps": 20, "evaluate_every": 5, "evaluation_horizon": 20}
RUN = {"world": "toy", "explorer": "random", "settings": {"steps": 20}}
SWEEP = {"worlds": ["toy"], "explorers": ["random"], "seeds": 1, "settings": {"steps": 20}}
STREAMS = np.arange(4, dtype=np.uint64)


def new_agent():
    return wl.Agent("vv-ucb", **SIZES)


def train(world=TOY_WORLD, explorer="vv-ucb", **changes):
    """Train for a few steps; options that make a run long are set to small values."""
    return wl.train(world, explorer, **{**SHORT, **changes})


@functools.cache
def trained():
    """Return a loop that has taken three steps, and is between two of them."""
    loops = []

    class Keep(wl.Callback):
        def on_start(self, loop):
            loops.append(loop)

    wl.learn("FrozenLake-v1", "random", steps=3, callbacks=[Keep()], quiet=True)
    return loops[0]


def new_loop_arguments():
    env = wl.tabular("FrozenLake-v1")
    agent = wl.Agent("random", n_actions=4, n_states=16, reward_range=(0, 1))
    return {"env": env, "agent": agent, "steps": 3, "estimates_reward_range": False, "adapted": None}


def new_environment():
    env = wl.tabular("FrozenLake-v1")
    env.reset()
    return env


NEW = {
    "Agent": new_agent, "Explorer": lambda: wl.Explorer("vv-ucb", **SIZES), "History": train, "Record": train,
    "Problem": lambda: wl.Settings().problem(4, (0, 1)), "Replay": wl.Replay, "Run": lambda: wl.Run(**RUN),
    "Session": lambda: wl.Session("toy", "random", **SHORT), "Settings": wl.Settings, "Tabular": new_environment,
    "Store": lambda: wl.Store("store"), "Sweep": lambda: wl.Sweep(**SWEEP), "TrainingLoop": trained,
    "World": lambda: TOY_WORLD,
}  # fmt: skip
"""Class -> an object of it."""
VALID = {
    "action": 0, "bits": 8, "budget": 100, "code": ("a", "b"), "counts_itself": True, "decay": 0.9, "discount": 0.9,
    "end": 0.1, "env": "FrozenLake-v1", "explorer": "random", "explorers": "random", "factory": lambda: TOY_WORLD,
    "folder": "store", "gamma_w": 0.9, "given": "full", "height": 2, "horizon": 10.0, "index": 0, "info": {},
    "kappa": 1.0, "key": "none", "keys": ["none"], "low": 0, "n": 3, "n_actions": 4, "name": "toy",
    "name_or_map": "toy", "next_observation": 1, "next_state": 1, "observation": 0, "path": "agent.npz", "plus": 1.0,
    "probability": 0.5, "problems": [], "q": [0, 0, 0, 0], "results": [], "reward": 1.0, "reward_range": (0, 1),
    "run": wl.Run(**RUN), "runs": [wl.Run(**RUN)], "scale": 1.0, "scores": np.zeros(3), "span": 1.0, "start": 1.0,
    "state": 0, "step": 3, "steps": 5, "streams": STREAMS, "terminated": False, "text": wl.Run(**RUN).json,
    "total": 5, "transitions": [], "value": 1, "values": {"worlds": ["toy"], "explorers": ["random"]}, "visits": 4,
    "w": 1.0, "which": "random", "width": 2, "world": TOY_WORLD,
}  # fmt: skip
"""Parameter that has no default -> a valid value."""
MORE = {
    "Agent": SIZES,
    "Explorer": SIZES,
    "Run": RUN,
    "Run.of_model": {"world": "FrozenLake-v1", "explorer": "random"},
    "Session": SHORT,
    "Store.save": lambda: {"result": wl.Run(**RUN).train(), "seconds": 1.0},
    "Sweep": SWEEP,
    "Sweep.run": {"folder": "store", "quiet": True, "jobs": 1},
    "Tabular": {"env": gym.make("FrozenLake-v1")},
    "TrainingLoop": new_loop_arguments,
    "check_env": {"steps": 100},
    "check_explorer": {"steps": 0},
    "evaluate": lambda: {"agent": trained().agent, "episodes": 1},
    "exam": {"families": "depth", "levels": 1, "seeds": 1, "out": None, "quiet": True},
    "learn": {"explorer": "random", "quiet": True},
    "register_world": {"replace_existing": True},
    "run_all": lambda: {"store": wl.Store("store"), "jobs": 1},
    "train": SHORT,
}
"""Function, class or method -> other arguments that make it valid and short."""
CREATED = ("Checkpoint", "CsvLog", "EvaluateEvery", "Problem", "Store", "TensorBoard", *MORE)
"""Classes whose parameters are changed, too; `Settings` and `Replay` have tests of their own."""
NOT_CHANGED = ("problems", "should_stop", "low", "high", "open_low", "open_high", "time_limit")
"""Lists to which sentences are added, functions, and constants; and a time limit, which starts processes."""
LONG = ("steps", "episodes", "seeds", "until", "times", "every", "jobs", "budget", "horizon", "n_states", "n_actions")


def public_calls():
    """Yield the name, the function and a function that returns it, bound, of all that users can call."""
    for name in wl.__all__:
        found = getattr(wl, name)
        if callable(found) and not inspect.isclass(found):
            yield name, found, lambda found=found: found
        if inspect.ismodule(found):
            for part, value in vars(found).items():
                if callable(value) and value.__module__ == found.__name__ and not part.startswith("_"):
                    yield f"{name}.{part}", value, lambda value=value: value
        if not inspect.isclass(found) or issubclass(found, Exception | tuple):
            continue
        if name in CREATED:
            yield name, found, lambda found=found: found
        if issubclass(found, wl.Callback):  # The loop calls its methods.
            continue
        for part, value in vars(found).items():
            is_method = isinstance(value, FunctionType | classmethod | staticmethod)
            if is_method and not part.startswith("_"):
                owner = NEW[name] if isinstance(value, FunctionType) else lambda found=found: found
                yield f"{name}.{part}", getattr(found, part), lambda owner=owner, part=part: getattr(owner(), part)


CALLS = {name: each for name, *each in public_calls()}


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.fuzz
@pytest.mark.parametrize("name", CALLS)
def test_every_argument_of_every_public_function(in_folder, name):
    """Each argument has each odd value in turn, the others are valid."""
    function, get = CALLS[name]
    stride = 9 if settings().max_examples <= 25 else 1
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    needed = {each.name: VALID[each.name] for each in parameters if each.default is each.empty and each.name in VALID}
    more = MORE.get(name, {})
    changed = [each for each in parameters if each.kind != each.VAR_KEYWORD and each.name not in NOT_CHANGED]
    for i, parameter in enumerate(changed):
        for value in ODD_VALUES[i % stride :: stride]:
            is_long = parameter.name in LONG and isinstance(value, int | float | np.number) and 1000 < value < 1e13
            is_registered = name.startswith("register") and parameter.name == "name" and isinstance(value, str)
            if not is_long and not is_registered:
                arguments = {**needed, **(more() if callable(more) else more), parameter.name: value}
                result = fails_well(lambda arguments=arguments: get()(**arguments), of=(parameter.name, value))
                if inspect.isgenerator(result):
                    fails_well(list, result)


@given(st.sampled_from(SETTING_NAMES), odd)
@example("horizon", np.int16(2000))
def test_training_with_odd_settings(name, value):
    is_long = name in (*LONG, "evaluate_every", "evaluation_horizon", "batch", "capacity", "sweeps")
    if is_long and isinstance(value, int | float) and value > 1000:
        return
    record = fails_well(lambda: train(**{name: value}))
    if record is not None:
        assert all(np.isfinite(table).all() for table in record.tables.values())


class Model(gym.Env):
    """An environment with a transition table, which may be invalid."""

    observation_space = action_space = gym.spaces.Discrete(2)

    def __init__(self, table, start):
        self.P = table
        if start is not None:
            self.initial_state_distrib = start

    def reset(self, *, seed=None, options=None):
        return 0, {}


OUTCOME = (1.0, 1, 0.0, False)


@given(odd, odd, st.integers(0, 4))
def test_models_of_environments(a, b, where):
    good = {0: {0: [OUTCOME], 1: [OUTCOME]}, 1: {0: [(1.0, 0, 1.0, True)], 1: [OUTCOME]}}
    outcome = [(a, 1, 0.0, False), (1.0, a, 0.0, False), (1.0, 1, a, b), a, OUTCOME][where]
    table = {**good, 0: {0: [outcome], 1: [OUTCOME]}}
    fails_well(lambda: wl.world_from_gym(Model(table, [1.0, 0.0] if where else b)))
    fails_well(lambda: wl.world_from_gym(Model({0: a, 1: b}, [1.0, 0.0])))
    fails_well(lambda: wl.world_from_gym(Model(a, b)))


PARTS = ["name", "mdp", "defaults", "action_names", "r_max", "layout", "options"]
DEFAULTS = ["horizon", "budget", "long_horizon", "discount", "learning_rate", "gamma_w", "epsilon_start", "epsilon_end"]
LAYOUT = ["rows", "columns", "row", "column", "layer", "kind", "value", "layer_names", "entry"]


@MANY
@given(st.sampled_from([*PARTS, *DEFAULTS, *LAYOUT, *TOY_WORLD.mdp._fields]), odd)
@example("layout", NotANumber())
def test_worlds_with_odd_parts(name, value):
    if name in PARTS:
        world = replace(TOY_WORLD, **{name: value})
    elif name in DEFAULTS:
        world = replace(TOY_WORLD, defaults=replace(TOY_WORLD.defaults, **{name: value}))
    elif name in LAYOUT:
        world = replace(TOY_WORLD, layout=replace(TOY_WORLD.layout, **{name: value}))
    else:
        world = replace(TOY_WORLD, mdp=TOY_WORLD.mdp._replace(**{name: value}))
    fails_well(wl.check_world, world)
    fails_well(train, world)


# --- Command lines ---------------------------------------------------------------------------------

ARGUMENTS = [
    "toy", "map.txt", "sweep.toml", "agent.npz", "folder", "pipe", "--help", "x" * 300, "x" * 300 + ".txt", "", " ",
    "-", "--", "-1", "0", "1e3", "nan", "9" * 5000, "a\0b", "\ud800", "é", "[/b]", "toy:x", ":", "hash", "a=b", "=",
    "kappa=nan", "horizon=1e400", "depth=" + "9" * 5000, "slips=[1]", "map=S.", "--state", "--seed", "--steps",
    "--explorer", "--index", "--speed", "--json", "--set", "--env", "--bins", "--bounds", "--key", "--video", "--plot",
    "--save", "--quiet", "--nonsense", "1=-3,3", "1=a,b", "²=1,2", "9" * 5000 + "=1,2", "ucb1", "math:pi",
]  # fmt: skip
PREFIXES = ["explain agent.npz --state 0", "explain agent.npz --state", "explain", "watch map.txt --steps 3 --env",
            "watch", "train toy --steps 3 --quiet --set", "train map.txt --steps 3 --quiet --bounds", "worlds",
            "explorers", "report", "results", "run"]  # fmt: skip
"""Beginnings of command lines that do little work."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with an agent, maps, and files that are neither."""
    folder = tmp_path_factory.mktemp("commands")
    new_agent().save(folder / "agent.npz")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "map.txt").write_text("S.A\n\nA = treasure 1\n")
    (folder / "sweep.toml").write_text(SWEEPS[0])
    return folder


@given(st.sampled_from(PREFIXES), st.lists(st.sampled_from(ARGUMENTS), max_size=3))
@example("explain", ["--help"])
@example("explain", ["x" * 300, "--state", "0"])
@example("explain", ["a\0b", "--state", "0"])
@example("explain", ["pipe", "--state", "0"])
@example("watch", ["toy", "--steps", "3", "--env", "slips=[1]"])
@example("train map.txt --steps 3 --quiet --bounds", ["9" * 5000 + "=1,2"])
def test_command_lines(files, prefix, words):
    out, err, code = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace"), io.StringIO(), 0
    with (
        contextlib.chdir(files),
        mock.patch.object(sys, "argv", ["wanderlust", *prefix.split(), *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as stopped:
            code = stopped.code or 0
    message = err.getvalue()
    assert "Traceback" not in message
    # The parser of arguments prints a box; any other error is one line.
    assert code == 0 or (code == 2 and ("╭" in message or re.fullmatch("wanderlust: [^\n]+\n", message))), message
