"""Whatever a caller gets wrong is a `WanderlustError` that says what was wrong and what would be right."""

import json
import math
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import wanderlust as wl

NAN, INF = math.nan, math.inf
SOURCES = Path(wl.__file__).parent


def agent(explorer="ucb1", **changes):
    return wl.Agent(explorer, **{"n_actions": 4, "n_states": 5, "reward_range": (0, 1), **changes})


def drop_in(explorer="vv-ucb", **changes):
    return wl.Explorer(explorer, **{"n_actions": 4, "n_states": 5, "reward_range": (0, 1), **changes})


def complaint(call, *args, **kwargs):
    """Return what is said of a bad call."""
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
def test_unknown_names_list_the_known_and_the_closest(call, wrong, closest, known):
    said = complaint(call)
    assert repr(wrong) in said
    assert f"Did you mean {closest!r}?" in said
    for name in known:
        assert name in said


def test_an_explorer_without_options_says_so():
    assert "'speed'" in complaint(agent, "random", speed=1)


@pytest.mark.parametrize("explorer", [3, None, ["ucb1"], int, dict, "", ":", ":X", "nowhere:X", "math:X", "..x:Y"])
def test_what_is_no_explorer(explorer):
    complaint(agent, explorer)
    complaint(wl.train, "toy", explorer)


@pytest.mark.parametrize("world", [3, None, "", b"toy", ["toy"], "missing.toml", "missing.txt", "toy\n"])
def test_what_is_no_world(world):
    complaint(wl.train, world, "ucb1")
    complaint(wl.make_world, world)


@pytest.mark.parametrize("call", [wl.check_world, wl.with_slips, lambda w: agent().evaluate(w)])
def test_a_name_is_no_world(call):
    complaint(call, "toy")


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
        said = complaint(wl.Settings, **{name: value})
        assert name in said
        assert valid in said
        assert repr(value) in said
    for value in values:
        said = complaint(wl.train, "toy", "ucb1", **{name: value})
        assert f"{name} must be in {valid}, got {value!r}." == said


@pytest.mark.parametrize("name", ["horizon", "budget", "evaluate_every", "steps", "evaluation_horizon"])
@pytest.mark.parametrize("value", [0, -1, 1.5, NAN, INF, "ten", True, [1], 10**30])
def test_whole_numbers_out_of_range(name, value):
    said = complaint(wl.Settings, **{name: value})
    assert said == f"{name} must be a whole number from 1 to 1,000,000,000,000, got {value!r}."


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("batch", 1.5), ("capacity", 0), ("capacity", "all")])
def test_replay_out_of_range(name, value):
    said = complaint(wl.Replay, "window", **{name: value})
    assert f"replay {name} must be a whole number at least 1, got {value!r}." == said


@pytest.mark.parametrize("replay", [3, None, {"memory": "full"}, ["full"]])
def test_what_is_no_replay(replay):
    said = complaint(wl.Settings, replay=replay)
    assert repr(replay) in said
    assert "full, none, window" in said


@pytest.mark.parametrize("seed", [-1, 1.5, "one", None, NAN, True])
def test_seeds(seed):
    wanted = f"seed must be a whole number at least 0, got {seed!r}."
    assert complaint(wl.train, "toy", "ucb1", seed=seed) == wanted
    assert complaint(agent, seed=seed) == wanted
    assert complaint(drop_in, seed=seed) == wanted


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
    said = complaint(agent, explorer, **{name: value})
    assert name in said
    assert valid in said
    assert repr(value) in said


def test_a_bound_that_has_no_value_is_refused():
    assert "'text'" in complaint(agent, "vv-count", n_actions=2, untried_bound="equation")


@pytest.mark.parametrize("value", [0, -1, 1.5, "four", NAN, True])
def test_sizes(value):
    assert repr(value) in complaint(agent, n_actions=value)
    assert repr(value) in complaint(agent, n_states=value)


@pytest.mark.parametrize("value", [(1, 0), (0, NAN), (-INF, 0), (0, INF), (0,), (0, 1, 2), 3, None, "ab"])
def test_reward_ranges(value):
    assert "reward_range" in complaint(agent, reward_range=value)
    assert "reward_range" in complaint(drop_in, reward_range=value)


@pytest.mark.parametrize("value", [3, {"discount": 0.9}])
def test_what_is_no_settings(value):
    assert repr(value) in complaint(agent, settings=value)


@pytest.mark.parametrize("slips", [3, [], "abc", (0.5, 0.5), (0.5, 0.5, 0.5), (1, NAN, 0), (2, -1, 0)])
def test_slips(slips):
    said = complaint(wl.make_world, "toy", slips=slips)
    assert repr(slips) in said
    assert "success, random, stay" in said


def test_worlds_that_cannot_be_rolled_out():
    assert "'noisy-toy'" in complaint(agent().evaluate, wl.make_world("noisy-toy"))
    assert "4 actions" in complaint(agent().evaluate, wl.make_world("deep-sea", depth=3))


# --- Observations ----------------------------------------------------------------------------------

NO_WHOLE_NUMBERS = [1.5, "1", None, NAN, INF, [1], np.array([1, 2]), 2**70]


@pytest.mark.parametrize("value", [5, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_states_out_of_range(value):
    one = agent()
    for call in (one.act, one.explain, one.action_values, one.greedy_action):
        assert complaint(call, value) == f"state must be a whole number from 0 to 4, got {value!r}."
    assert "state must" in complaint(one.observe, value, 0, 0.0, 0, False)
    assert "next_state must" in complaint(one.observe, 0, 0, 0.0, value, False)
    assert one.steps == 0


@pytest.mark.parametrize("value", [-1, 1.5, "1", None], ids=repr)
def test_states_without_a_limit(value):
    said = complaint(agent(n_states=None).act, value)
    assert said == f"state must be a whole number at least 0, got {value!r}."


@pytest.mark.parametrize("value", [4, -1, *NO_WHOLE_NUMBERS], ids=repr)
def test_actions_out_of_range(value):
    one, other = agent(), drop_in()
    wanted = f"action must be a whole number from 0 to 3, got {value!r}."
    assert complaint(one.observe, 0, value, 0.0, 1, False) == wanted
    assert complaint(other.observe, 0, value, 1, False) == wanted
    assert one.steps == 0


@pytest.mark.parametrize("value", [NAN, INF, -INF, "much", None, [1.0]], ids=repr)
def test_rewards_that_are_no_numbers(value):
    one = agent()
    said = complaint(one.observe, 0, 0, value, 1, False)
    assert "reward must be" in said
    assert repr(value) in said
    assert one.steps == 0
    assert np.isfinite(one.tables["target"]).all()


@pytest.mark.parametrize(
    "q",
    [[1, 2], [[1, 2, 3, 4]], [1, 2, 3, NAN], [1, 2, 3, INF], "abcd", None, 5, {1: 2}, np.zeros((5, 4))],
    ids=repr,
)
def test_q_values_of_a_drop_in_explorer(q):
    explorer = drop_in()
    for call in (explorer.act, explorer.explain):
        said = complaint(call, 0, q)
        assert "q must be 4 finite numbers" in said
        assert repr(q) in said


def test_other_questions_to_a_drop_in_explorer():
    explorer = drop_in()
    assert "from 0 to 4" in complaint(explorer.act, 5, [0, 0, 0, 0])
    assert "from 0 to 4" in complaint(explorer.bonus, 5, 0)
    assert "from 0 to 3" in complaint(explorer.bonus, 0, 4)
    assert "from 0 to 3" in complaint(explorer.bonus, 0, "up")
    assert "'ucb1'" in complaint(lambda: drop_in("ucb1").visitation_values)
    assert "wanderlust.Agent" in complaint(drop_in, "bootstrapped")


# --- Files -----------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """A file with a small agent in it."""
    one = agent()
    one.observe(0, 1, 0.5, 2, False)
    one.observe(2, 3, 1.0, 0, True)
    path = tmp_path / "agent.npz"
    one.save(path)
    assert wl.Agent.load(path).visits[0, 1] == 1
    return path


def rewritten(path, change):
    """Zip the file anew with its members changed; return its path."""
    with zipfile.ZipFile(path) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(content))
    return path


def redescribed(path, **changes):
    """Save the file anew with another description."""
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about"))) | changes
    np.savez(path, about=np.array(json.dumps(about)), **arrays)
    return path


def load_complaint(path, **given):
    said = complaint(wl.Agent.load, path, **given)
    assert str(path) in said
    return said


def test_missing_file(tmp_path):
    assert "no such file" in load_complaint(tmp_path / "missing.npz")
    load_complaint(tmp_path)


def test_truncated_file(saved):
    whole = saved.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        load_complaint(saved)


def test_tampered_file(saved):
    def flip(members):
        members["visits.npy"][-8] ^= 1

    assert "checksum" in load_complaint(rewritten(saved, flip))


def test_file_with_a_missing_array(saved):
    load_complaint(rewritten(saved, lambda members: members.pop("visits.npy")))


def test_any_flipped_byte_is_noticed_or_harmless(saved):
    """Some bytes of an archive, such as dates, mean nothing: what does load is what was saved."""
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
    said = load_complaint(redescribed(saved, format=99, wanderlust="9.0"))
    assert "99" in said
    assert "9.0" in said
    assert wl.__version__ in said


def test_file_with_another_description(saved):
    whole = saved.read_bytes()
    for changes in (
        {"seed": 7},
        {"options": {"kappa": 1.0}},
        {"explorer": "vv-ucb"},
        {"settings": {}},
        {"checksum": 0},
    ):
        assert "checksum" in load_complaint(redescribed(saved, **changes))
        saved.write_bytes(whole)


def test_somebody_elses_files(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    np.savez(tmp_path / "claims.npz", about=np.array("[]"))
    np.savez(tmp_path / "worse.npz", about=np.array("not JSON"))
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "text.npz").write_text("Dear diary")
    with zipfile.ZipFile(tmp_path / "plain.npz", "w") as archive:
        archive.writestr("letter.txt", "Dear diary")
    for path in sorted(tmp_path.iterdir()):
        load_complaint(path)


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "evil.npz", about=np.array([{"format": 1}], dtype=object))
    load_complaint(tmp_path / "evil.npz")


class Homemade(NamedTuple):
    """An explorer that is not the package's own."""

    scale: float = 1.0

    def score(self, view, scores):
        """Q plus what is left of the novelty."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.scale / (1 + view.n(action))


class Other(NamedTuple):
    """Another one."""

    scale: float = 1.0


def test_file_of_an_explorer_of_your_own(tmp_path):
    path = tmp_path / "agent.npz"
    agent(Homemade).save(path)
    assert wl.Agent.load(path, explorer=Homemade).rule == Homemade()
    assert "explorer=Homemade" in load_complaint(path)
    assert "Other" in load_complaint(path, explorer=Other)


def test_a_save_that_fails_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(wl.WanderlustError, match=r"cannot be saved there \(disk full\)"):
        agent().save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# --- Explorers of your own -------------------------------------------------------------------------


def test_modules_of_explorers_that_are_misspelt_or_broken(tmp_path, monkeypatch):
    module = "from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float = 1.0\n"
    (tmp_path / "my_explorers.py").write_text(module)
    (tmp_path / "my_typo.py").write_text("clas Mine:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    said = complaint(wl.train, "toy", "my_explorers:Main")
    assert "unknown explorer 'my_explorers:Main'. Did you mean 'my_explorers:Mine'? Known: my_explorers:Mine." in said
    assert "module 'my_typo' cannot be imported (SyntaxError" in complaint(wl.train, "toy", "my_typo:Mine")
    assert "module 'nowhere' cannot be imported (ModuleNotFoundError" in complaint(wl.train, "toy", "nowhere:Mine")


def python(code, *, folder, jit, cache=None):
    """Run some lines in a process of their own; return what they print."""
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


def test_nothing_is_pickled():
    for file in SOURCES.rglob("*.py"):
        assert not re.search(r"\b(import|from) pickle\b|\bpickle\.|allow_pickle=True", file.read_text()), file


def test_importing_is_cheap(tmp_path):
    code = "import sys, wanderlust; print(sorted({'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    assert python(code, folder=tmp_path, jit=True).strip() == "[]"


def test_machine_code_is_kept_and_never_stale(tmp_path):
    """The second process compiles nothing; editing a file that the explorer uses changes the results."""
    (tmp_path / "my_numbers.py").write_text("SCALE = 1.0\n")
    (tmp_path / "my_explorer.py").write_text(
        textwrap.dedent(
            """
            from typing import NamedTuple

            from my_numbers import SCALE


            class Mine(NamedTuple):
                scale: float = 1.0

                def score(self, view, scores):
                    for action in range(view.n_actions):
                        scores[action] = view.q(action) + SCALE * action / (1 + view.n(action))
            """
        )
    )
    code = """
        import wanderlust as wl
        from my_explorer import Mine
        print(wl.train("toy", Mine, steps=50, keep_trajectory=True).actions.tolist())
        """

    def machine_code():
        return {file: file.stat().st_mtime_ns for file in cache.rglob("*.nbc")}

    cache = tmp_path / "cache"
    first = python(code, folder=tmp_path, jit=True, cache=cache)
    compiled = machine_code()
    assert compiled
    assert python(code, folder=tmp_path, jit=True, cache=cache) == first
    assert machine_code() == compiled
    (tmp_path / "my_numbers.py").write_text("SCALE = -1.0\n")
    edited = python(code, folder=tmp_path, jit=True, cache=cache)
    assert edited != first
    assert edited == python(code, folder=tmp_path, jit=False)
    # Whoever shares the cache but does not have this module is not to notice that it was ever there.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = "import wanderlust as wl; print(len(wl.train('toy', 'random', steps=50).returns))"
    assert python(code, folder=elsewhere, jit=True, cache=cache).strip() == "1"
