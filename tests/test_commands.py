"""The command line for any environment: train, compare, diagnose, explain, through `main` as a shell calls it."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import wanderlust as wl
from wanderlust.cli import main as cli
from wanderlust.cli.compare import median
from wanderlust.cli.diagnose import paragraphs
from wanderlust.cli.diagnosis import diagnosed
from wanderlust.cli.options import as_typed, read_options
from wanderlust.cli.threshold import best_return, threshold_of
from wanderlust.experiments import runner
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

LAKE = ("FrozenLake-v1", "--env", "is_slippery=false")
MODULE = '''
import gymnasium as gym

def make_lake(slippery=False, **options):
    """A lake."""
    return gym.make("FrozenLake-v1", is_slippery=slippery, **options)

def blind():
    return gym.make("FrozenLake-v1", is_slippery=False)

def painted():
    return gym.make("FrozenLake-v1", is_slippery=False, render_mode="rgb_array")

def unpainted(how="package"):
    """A lake that cannot be drawn."""
    class Unpainted(gym.Wrapper):
        render_mode = "rgb_array"

        def render(self):
            if how == "package":
                raise gym.error.DependencyNotInstalled("no brushes, run `pip install brushes`")
            raise RuntimeError("the paint is dry")

    return Unpainted(make_lake())

def limited():
    return gym.wrappers.TimeLimit(gym.make("FrozenLake-v1", is_slippery=False).unwrapped, 7)

def fails():
    raise RuntimeError("the lake is dry")

def melts():
    """A lake that fails when it has been stepped on ten times."""
    class Melting(gym.Wrapper):
        steps = 0

        def step(self, action):
            self.steps += 1
            if self.steps > 10:
                raise RuntimeError("the ice is thin")
            return super().step(action)

    return Melting(make_lake())

def number():
    return 3

def odd(observation):
    from fractions import Fraction
    return Fraction(observation, 3)

def parity(observation):
    return observation % 2
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module of the user's own in it, where commands are typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_lakes.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "my_lakes", raising=False)
    return tmp_path


@pytest.fixture
def type_in(here, monkeypatch, capsys):
    """Return a function that runs a command and returns its exit code, what it printed, and its errors."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wanderlust", *map(str, words)])
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = error.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def table_of(path):
    """Return the lines of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# --- train -----------------------------------------------------------------------------------------


def test_train_says_what_came_of_it(type_in, here):
    code, said, progress = type_in("train", *LAKE, "--steps", 400, "--log", "log.csv", "--video", "run.gif")
    assert code == 0
    assert re.search(r"learnt +FrozenLake-v1 with vv-ucb, 400 steps, \d+ episodes", said)
    assert re.search(r"states +11 acted in, 16 met", said)
    first = int(re.search(r"the first above 0 at step (\d+)", said)[1])
    assert "return 1, mean of 20 episodes" in said
    assert progress.count("of 400 steps") == 10
    lines = table_of(here / "log.csv")
    assert next(int(line["step"]) for line in lines if float(line["return"]) > 0) == first
    with Image.open(here / "run.gif") as picture:
        assert picture.n_frames == 7


def test_resumed_training_is_as_if_it_had_never_stopped(type_in, here):
    assert type_in("train", *LAKE, "--steps", 150, "--seed", 3, "--save", "half.npz", "--quiet")[0] == 0
    code, said, _ = type_in("train", *LAKE, "--steps", 300, "--resume", "half.npz", "--save", "whole.npz", "--quiet")
    assert code == 0
    assert "300 steps" in said
    assert type_in("train", *LAKE, "--steps", 300, "--seed", 3, "--save", "straight.npz", "--quiet")[0] == 0
    whole, straight = wl.Agent.load("whole.npz"), wl.Agent.load("straight.npz")
    assert np.array_equal(whole.visits, straight.visits)
    assert np.array_equal(whole.tables["visitation"], straight.tables["visitation"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("prison", "--env", "step_penalty=0"), "wanderlust/Prison-v0"),
        (("my_lakes:make_lake", "--env", "slippery=true"), "FrozenLake-v1"),
        (("gymnasium:FrozenLake-v1",), "FrozenLake-v1"),
        (("MiniGrid-Empty-5x5-v0", "--key", "hash", "--reset-seed", 0), "MiniGrid-Empty-5x5-v0"),
        (("FrozenLake-v1", "--key", "my_lakes:parity"), r"FrozenLake-v1.*\nstates +2 acted in"),
        (("CartPole-v1", "--bins", 3, "--bounds", "1=-3,3", "3=-3,3"), "CartPole-v1"),
        (("Pendulum-v1", "--bins", 3, 3, 4, "--action-bins", 3), "Pendulum-v1"),
        (("mine.txt",), "wanderlust/Grid-v0"),
    ],
)
def test_environments_by_many_names(type_in, here, words, expected):
    (here / "mine.txt").write_text("S..A\n\nA = treasure 1")
    code, said, error = type_in("train", *words, "--steps", 60, "--quiet", "--episodes", 1)
    assert code == 0, error
    assert re.search(f"learnt +{expected}", said), said


def test_rewards_that_fall_with_the_clock_are_told(type_in):
    words = ("MiniGrid-Empty-5x5-v0", "--key", "hash", "--reset-seed", 0)
    code, said, error = type_in("train", *words, "--steps", 2_000, "--seed", 0, "--quiet", "--episodes", 1)
    assert code == 0, error
    assert "fall by 0.009 with every step; they count as if paid at once" in said


def test_settings_and_options_reach_the_agent(type_in):
    words = ("--set", "discount=0.9", "kappa=0.5", "reward_range=[0,2]", "replay=none")
    assert type_in("train", *LAKE, "--steps", 30, "--quiet", "--save", "a.npz", *words)[0] == 0
    agent = wl.Agent.load("a.npz")
    assert (agent.settings.discount, agent.options["kappa"], agent.reward_range) == (0.9, 0.5, (0.0, 2.0))
    assert agent.settings.replay.memory == "none"


def test_video_of_an_environment_that_always_draws(type_in, here):
    assert type_in("train", "my_lakes:painted", "--steps", 300, "--quiet", "--video", "run.gif")[0] == 0
    with Image.open(here / "run.gif") as picture:
        assert picture.n_frames > 1


def test_video_as_mp4_and_events_for_tensorboard(type_in, here):
    pytest.importorskip("moviepy")
    pytest.importorskip("tensorboard")
    code, _, error = type_in("train", *LAKE, "--steps", 100, "--quiet", "--video", "run.mp4", "--tensorboard", "events")
    assert code == 0, error
    assert (here / "run.mp4").stat().st_size > 1000
    assert list((here / "events").iterdir())


# --- compare ---------------------------------------------------------------------------------------


def stored(folder):
    """Return all results of a folder by key."""
    problems = []
    found = {each.run.key: each.result for each in Store(folder).load_all(problems)}
    assert not problems
    return found


def test_compare_ranks_explorers_and_goes_on_where_it_stopped(type_in, here):
    words = ("compare", "prison", "--explorers", "vv-ucb", "epsilon-greedy", "--seeds", 3, "--steps", 800)
    code, said, _ = type_in(*words, "--jobs", 1, "--plot", "curves.svg")
    assert code == 0
    assert re.search(r"vv-ucb .* 100 \[44, 100\] .* 23 .* 4\.91", said)
    assert re.search(r"epsilon-greedy .* 0 \[0, 56\] .* >800 .* 0\.97", said)
    assert "4.91 or more (the best possible, by its model)" in said
    assert (here / "curves.svg").read_text().startswith("<?xml")
    folder = here / "results" / "compare-prison"
    before = {file.name: file.stat().st_mtime_ns for file in (folder / "runs").iterdir()}
    assert len(before) == 6
    code, again, progress = type_in(*words, "--jobs", 1)
    assert code == 0
    assert "0 runs to execute, 6 already stored" in progress
    assert {file.name: file.stat().st_mtime_ns for file in (folder / "runs").iterdir()} == before
    assert said.splitlines()[:8] == again.splitlines()[:8]
    lines = table_of(folder / "comparison.csv")
    assert [line["solved_share"] for line in lines] == ["1.0", "0.0"]
    assert lines[1]["steps_to_solve"] == ""


def test_processes_and_threads_make_the_same(type_in, here, monkeypatch):
    words = ("compare", "my_lakes:make_lake", "--explorers", "vv-ucb", "--seeds", 2, "--steps", 300, "--quiet")
    assert type_in(*words, "--jobs", 1, "--out", "one")[0] == 0
    monkeypatch.setattr(runner, "MIN_SECONDS_FOR_PROCESSES", 0.0)
    assert type_in(*words, "--jobs", 2, "--out", "two")[0] == 0
    one, two = stored("one"), stored("two")
    assert one.keys() == two.keys()
    assert len(one) == 2
    for key, result in one.items():
        for name, array in result._asdict().items():
            equal_nan = array.dtype.kind == "f"
            assert np.array_equal(array, getattr(two[key], name), equal_nan=equal_nan), name


def test_a_run_that_fails_stops_no_other_and_is_told(here):
    (here / "moody.py").write_text(
        "import gymnasium as gym\n"
        "class Moody(gym.Wrapper):\n"
        "    def step(self, action):\n"
        "        if action == 3 and self.env.unwrapped.s == 0: raise RuntimeError('not today')\n"
        "        return self.env.step(action)\n"
        "def make(): return Moody(gym.make('FrozenLake-v1', is_slippery=False))\n"
    )
    command = [sys.executable, "-m", "wanderlust", "compare", "moody:make", "--explorers", "random", "--seeds", "1"]
    environment = {**os.environ, "PYTHONPATH": str(Path(wl.__file__).parents[1])}
    done = subprocess.run([*command, "--steps", "500"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("not today") == 1
    assert "repeat: wanderlust run" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_explorer_of_the_users_own(here):
    (here / "mine.py").write_text(
        "from typing import NamedTuple\n"
        "class Mine(NamedTuple):\n"
        "    scale: float = 1.0\n"
        "    def score(self, view, scores):\n"
        "        for a in range(view.n_actions): scores[a] = view.q(a) + self.scale / (1 + view.n(a))\n"
    )
    command = [sys.executable, "-m", "wanderlust", "compare", "toy", "--explorers", "mine:Mine", "--seeds", "1"]
    environment = {**os.environ, "PYTHONPATH": str(Path(wl.__file__).parents[1]), "NUMBA_DISABLE_JIT": "1"}
    words = ["--steps", "150", "--set", "scale=2.0"]
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mine:Mine" in done.stdout
    (run,) = [each.run for each in Store("results/compare-toy").load_all([])]
    assert run.settings["scale"] == 2.0


def test_when_an_environment_is_solved():
    lake = wl.tabular("FrozenLake-v1")
    assert threshold_of(lake, 0.3).at == 0.3
    assert threshold_of(lake, None).at == 0.7
    assert threshold_of(wl.tabular("CliffWalking-v1"), None).at == -13
    noisy = threshold_of(wl.tabular("wanderlust/NoisyToy-v0"), None)
    assert 0.5 < noisy.at < 1
    assert "within 5 %" in noisy.in_words
    unknown = threshold_of(wl.tabular("MountainCar-v0", bins=3), None)
    assert unknown.at == -110
    unknown = threshold_of(wl.tabular("Pendulum-v1", bins=3, action_bins=2), None)
    assert unknown.at is None
    assert "--solved-at" in unknown.in_words
    assert not unknown.reached(1e9)


def test_the_best_return_within_a_horizon():
    mdp = wl.make_world("prison").mdp
    assert best_return(mdp, 11) == pytest.approx(4.91)
    assert best_return(mdp, 2) == pytest.approx(-0.02)
    assert best_return(mdp, 0) == 0
    assert best_return(wl.make_world("toy").mdp, None) == pytest.approx(1)
    assert best_return(wl.make_world("chain").mdp, None) is None


def test_medians_know_what_never_happened():
    inf = float("inf")
    assert median([3, 1, 2]) == 2
    assert median([1, 4, inf]) == 4
    assert median([1, inf]) == inf
    assert median([inf, inf]) == inf


# --- diagnose --------------------------------------------------------------------------------------


def test_diagnose_names_distractors_and_what_would_find_more(type_in, here):
    words = ("--explorers", "epsilon-greedy", "vv-ucb", "--jobs", 1, "--json", "d.json")
    code, said, _ = type_in("diagnose", "prison", "--steps", 800, *words)
    assert code == 0
    assert "epsilon-greedy settles for a return of 0.97, although vv-ucb found a policy worth 4.91" in said
    assert "Deterministic, as far as was seen" in said
    found = json.loads((here / "d.json").read_text())
    assert found["settle_for_less"] == ["epsilon-greedy"]
    assert [reward["value"] for reward in found["rewards"]] == [4.99, 1.99, 0.99, -0.01]
    assert found["rewards"][0]["by"] == ["vv-ucb"]
    assert (found["horizon"], found["depth"], found["still_growing"]) == (11, 9, False)
    command = found["suggestion"].replace("'", "").split()
    assert command[:5] == ["wanderlust", "train", "prison", "--explorer", "vv-ucb"]
    assert type_in(*command[1:], "--quiet")[0] == 0
    assert Path("agent.npz").exists()


def test_diagnose_is_honest_when_nothing_was_found(type_in):
    words = ("--explorers", "random", "vv-ucb", "--seeds", 1, "--steps", 60, "--jobs", 1, "--quiet")
    code, said, _ = type_in("diagnose", "FrozenLake-v1", "--env", "map_name=8x8", *words)
    assert code == 0
    assert "Every step was paid 0" in said
    assert "Nothing was found" in said
    assert "came out differently" in said
    code, said, _ = type_in("diagnose", "MountainCar-v0", "--bins", 5, *words)
    assert code == 0
    assert "No episode came to an end within 60 steps" in said


def test_of_a_single_reward_nobody_is_distracted(type_in, here):
    """On the ice some policies return more than others, by luck; there is nothing smaller to settle for."""
    words = ("--explorers", "vv-count", "vv-ucb", "--steps", 3_000, "--jobs", 1, "--json", "d.json", "--quiet")
    code, said, _ = type_in("diagnose", "FrozenLake-v1", *words)
    assert code == 0
    assert json.loads((here / "d.json").read_text())["settle_for_less"] == []
    assert "None was seen" in said


def test_the_limit_of_episodes_is_known_from_a_wrapper(type_in):
    code, said, _ = type_in("diagnose", "my_lakes:limited", "--steps", 60, "--seeds", 1, "--jobs", 1, "--quiet")
    assert code == 0
    assert "the limit is 7 steps" in said


def test_what_one_seed_finds_is_found():
    """The median of two seeds, of which one found something, is never; but something was found."""
    lake = {"kind": "environment", "world": "FrozenLake-v1", "world_options": {"is_slippery": False}}
    runs = [Run(**lake, explorer="vv-ucb", settings={"steps": steps, "evaluate_every": 300}) for steps in (300, 5)]
    found = diagnosed({"vv-ucb": [run.train() for run in runs]}, steps=300, horizon=100)
    assert found.explorers[0].first_reward == float("inf")
    assert found.found
    assert dict(paragraphs(found))["Distractors"] == [
        "None was seen: no explorer settled for a smaller reward where another found more."
    ]


# --- explain, worlds, explorers --------------------------------------------------------------------


def test_explain_tells_what_the_agent_would(type_in):
    type_in("train", *LAKE, "--steps", 200, "--save", "a.npz", "--quiet")
    agent = wl.Agent.load("a.npz")
    code, said, _ = type_in("explain", "a.npz", "--state", 2)
    assert code == 0
    reasons = agent.explain(2)
    assert "vv-ucb in FrozenLake-v1, after 200 steps" in said
    for each in reasons.actions:
        assert re.search(rf"│ +{each.action} │ +{each.count} │ +{each.q:.6g} │ +{each.w:.6g} │", said)
    assert f"Action {reasons.chosen}, because" in said
    plain = json.loads(type_in("explain", "a.npz", "--state", 2, "--json")[1])
    assert plain["chosen"] == reasons.chosen
    assert [each["q"] for each in plain["actions"]] == [each.q for each in reasons.actions]
    agent.save("mere_agent.npz")
    assert type_in("explain", "mere_agent.npz", "--state", 2)[0] == 0


def test_listings_have_a_line_for_each(type_in):
    said = type_in("worlds")[1]
    for name in wl.world_names():
        assert re.search(rf"^{name} +\S.*Gymnasium: wanderlust/\w+-v0$", said, flags=re.M)
    said = type_in("explorers")[1]
    for name in wl.explorer_names():
        assert re.search(rf"^{name} +\S", said, flags=re.M)
    assert re.search(r"^    kappa=None +κ", said, flags=re.M)


# --- What can go wrong -----------------------------------------------------------------------------


def test_after_a_failure_the_user_is_told_where_what_was_learnt_is(type_in):
    code, _, complaint = type_in("train", "my_lakes:melts", "--quiet", "--save", "kept.npz")
    assert code == 2
    assert "after 10 steps in all" in complaint
    assert "RuntimeError: the ice is thin" in complaint
    assert "What was learnt until then is in kept.npz: --resume kept.npz" in complaint
    assert wl.Agent.load("kept.npz").steps == 10
    code, _, complaint = type_in("train", "my_lakes:melts", "--quiet")
    assert code == 2
    assert "--resume my_lakes-melts-unfinished.npz" in complaint
    assert wl.Agent.load("my_lakes-melts-unfinished.npz").steps == 10
    assert "my_lakes-melts-unfinished-2.npz" in type_in("train", "my_lakes:melts", "--quiet")[2]
    code, _, complaint = type_in("train", "my_lakes:melts", "--key", "my_lakes:odd", "--quiet")
    assert code == 2
    assert "is lost: states told by Fraction cannot be saved" in complaint


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train FrozenLak-v1", "Did you mean 'FrozenLake-v1'"),
        ("train Taxi-v1", "Taxi-v"),
        ("train my_lakes:mak_lake", "Did you mean 'my_lakes:make_lake'"),
        ("train my_lakes:fails", "RuntimeError: the lake is dry"),
        ("train my_lakes:number", "must return a gymnasium.Env, got int"),
        ("train nowhere:make", "there is no module 'nowhere'"),
        ("train minigrid:MiniGrid-Emty-5x5-v0", "Did you mean 'minigrid:MiniGrid-Empty-5x5-v0'"),
        ("train missing.txt", "cannot read the map 'missing.txt'"),
        ("train FrozenLake-v1 --env map_name=9x9", "cannot be made with {'map_name': '9x9'}"),
        ("train FrozenLake-v1 --env map_name", "such as map_name=8x8, got 'map_name'"),
        ("train FrozenLake-v1 --env a=1 a=2", "given twice"),
        ("train FrozenLake-v1 --explorer vv-ubc", "Did you mean 'vv-ucb'"),
        ("train FrozenLake-v1 --set kapa=1", "Did you mean 'kappa'"),
        ("train FrozenLake-v1 --set steps=1", "--steps 1"),
        ("train FrozenLake-v1 --steps 0", "steps must be"),
        ("train FrozenLake-v1 --key my_lakes:nothing", "no such function"),
        ("train Pendulum-v1 --bins 5", "--action-bins 5"),
        ("train Pendulum-v1", "--bins 20"),
        ("train CartPole-v1 --bins 4", "--bounds 1=-3,3"),
        ("train CartPole-v1 --bins 4 --bounds 1=3", "dimension=low,high"),
        ("train FrozenLake-v1 --resume missing.npz", "no such file"),
        ("train FrozenLake-v1 --resume my_lakes.py", "not an agent that wanderlust saved"),
        ("train Taxi-v4 --resume lake.npz", "saved in another environment"),
        ("train FrozenLake-v1 --resume lake.npz --explorer ucb1", "leave --explorer ucb1 out"),
        ("train FrozenLake-v1 --resume lake.npz --set kappa=1", "leave --set kappa=1 out"),
        ("train FrozenLake-v1 --video run.avi", ".gif or .mp4"),
        ("train my_lakes:blind --video run.gif", "render_mode='rgb_array'"),
        ("train my_lakes:unpainted --video run.gif", "needs another package: no brushes, run `pip install brushes`"),
        ("train my_lakes:unpainted --env how=dry --video run.gif", "not be drawn: RuntimeError: the paint is dry"),
        ("train FrozenLake-v1 --env render_mode=ansi --video run.gif", "render_mode='rgb_array'"),
        ("train FrozenLake-v1 --save my_lakes.py/a.npz", "cannot be written"),
        ("train FrozenLake-v1 --log my_lakes.py/log.csv", "cannot be written"),
        ("compare prison --plot curves.jpg", ".png, .svg, .pdf"),
        ("compare prison --explorers", "at least one explorer"),
        ("compare prison --explorers my_lakes:Mine", "unknown explorer 'my_lakes:Mine'"),
        ("compare prison --seeds 0", "seeds must be"),
        ("compare prison --solved-at nan", "solved_at must be"),
        ("compare prison --explorers random --seeds 1 --steps 9 --out my_lakes.py/x", "cannot be written"),
        ("diagnose prison --json my_lakes.py/d.json", "cannot be written"),
        ("explain missing.npz --state 1", "no such file"),
        ("explain my_lakes.py --state 1", "not an agent that wanderlust saved"),
        ("explain lake.npz --state 999", "there is no state 999; states are numbered from 0 to"),
        ("explain lake.npz --state -1", "there is no state -1"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_bad_input_gets_a_sentence(type_in, lake_file, words, expected):
    code, said, error = type_in(*words.split())
    assert code == 2
    assert error.startswith("wanderlust: ")
    assert expected in error
    assert "Traceback" not in said + error


@pytest.fixture(scope="module")
def saved_lake(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "lake.npz"
    wl.learn("FrozenLake-v1", steps=30, save=path, quiet=True)
    return path


@pytest.fixture
def lake_file(here, saved_lake):
    (here / "lake.npz").write_bytes(saved_lake.read_bytes())


def test_help_needs_nothing_heavy():
    heavy = "{'numba', 'scipy', 'matplotlib', 'gymnasium', 'rich.progress'}"
    code = f"import sys, wanderlust.cli.main; print(sorted({heavy} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(Path(wl.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- Options and runs ------------------------------------------------------------------------------


def test_options_are_read_as_they_are_meant():
    words = ["a=true", "b=False", "c=1e-3", "d=8x8", "e=[1, 2]", "f=null", "g='x'", "h=x=y", "i=", "j=(1, 2)"]
    found = read_options(words)
    assert list(found.values()) == [True, False, 0.001, "8x8", [1, 2], None, "x", "x=y", "", (1, 2)]
    again = read_options(as_typed(found))
    assert again == {**found, "j": [1, 2]}


def test_runs_in_environments_are_named_by_all_that_matters(here):
    lake = {"kind": "environment", "world": "my_lakes:make_lake", "explorer": "random", "settings": {"steps": 50}}
    run = Run(**lake)
    assert Run.from_json(run.json) == run
    keys = {run.key, Run(**lake, encoder_options={"key": "hash"}).key, Run(**lake, episodes=3).key, Run(**lake, seed=1).key}
    assert len(keys) == 4
    (here / "my_lakes.py").write_text(MODULE.replace("slippery=False", "slippery=True"))
    assert Run(**lake).key not in keys


def test_runs_refuse_what_they_would_ignore():
    lake = {"kind": "environment", "world": "FrozenLake-v1", "explorer": "random"}
    for extra in ({"preset": "as_published_code"}, {"until": "positive-return"}, {"measure": "values"}):
        with pytest.raises(wl.WanderlustError, match=next(iter(extra))):
            Run(**lake, **extra)
    with pytest.raises(wl.WanderlustError, match="encoder_options"):
        Run(world="toy", explorer="random", encoder_options={"bins": 3})
    with pytest.raises(wl.WanderlustError, match="steps"):
        Run(**lake).train()
    with pytest.raises(wl.WanderlustError, match="bins"):
        Run(**lake, encoder_options={"bin": 3}, settings={"steps": 5}).train()


def test_a_run_in_an_environment_notes_what_happens(type_in):
    run = Run(
        kind="environment",
        world="FrozenLake-v1",
        world_options={"is_slippery": False},
        explorer="vv-ucb",
        settings={"steps": 400, "evaluate_every": 100},
        episodes=2,
    )
    result = run.train()
    assert result.steps.tolist() == [100, 200, 300, 400]
    assert result.visits.sum() == 400
    assert result.discovered[-1] == result.n_discovered == (result.visits.sum(axis=1) > 0).sum()
    assert result.rewards[:, :2].sum(axis=0)[1] == 400
    assert result.episodes[:, 1].sum() <= 400
    assert result.episodes[:, 2].sum() == result.rewards[result.rewards[:, 0] == 1, 1].sum()
    assert result.pairs[1] == 0
    slippery = Run(**{**run.description, "world_options": {"is_slippery": True}}).train()
    assert slippery.pairs[1] > 0
    assert type_in("run", run.json, "--out", "kept")[0] == 0
    assert type_in("export", "kept", "--format", "json")[0] == 0
    (entry,) = json.loads(Path("kept/runs.json").read_text())
    assert entry["success_percent"] is None
    assert entry["states_reachable"] is None
    assert entry["states_discovered"] == result.n_discovered
    assert entry["kind"] == "environment"
