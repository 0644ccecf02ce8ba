"""The commands train, compare, diagnose and explain, run through `main` as from a shell."""

import csv
import json
import math
import re
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

import wanderlust as wl
from conftest import run_python
from wanderlust.cli import main as cli
from wanderlust.cli.options import read_options
from wanderlust.core.planning import episode_returns, optimal_episode_return
from wanderlust.environments.bins import bins_options
from wanderlust.experiments.comparison import (
    UNKNOWN,
    Comparison,
    ComparisonReport,
    Threshold,
    read_comparison,
    solved_threshold,
)
from wanderlust.experiments.diagnosis import diagnose_results, report_sections
from wanderlust.experiments.run import Result, Run
from wanderlust.explorers.protocol import explorer_class

pytestmark = pytest.mark.slow

FROZENLAKE = ("FrozenLake-v1", "--env", "is_slippery=false")
LAKE = {"kind": "environment", "world": "FrozenLake-v1"}
MODULE = '''
from fractions import Fraction
from pathlib import Path

import gymnasium as gym
import numpy as np

def make_env(slippery=False, **options):
    return gym.make("FrozenLake-v1", is_slippery=slippery, **options)

def fail(error):
    raise error if isinstance(error, Exception) else RuntimeError(error)

def with_method(name, before, **options):
    """An environment that calls a function before one of its methods."""
    def method(self, *arguments, **keywords):
        before(self)
        return getattr(gym.Wrapper, name)(self, *arguments, **keywords)

    return type("Changed", (gym.Wrapper,), {name: method, "calls": 0, "is_copy": False})(make_env(**options))

def not_rendered():
    error = gym.error.DependencyNotInstalled("run `pip install renderer`")
    return with_method("render", lambda env: fail(error), render_mode="rgb_array")

def fails_later():
    def count(env):
        env.calls += 1
        if env.calls > 10:
            fail("step failed")

    return with_method("step", count)

def fails_in_evaluation():
    env = with_method("step", lambda env: env.is_copy and fail("evaluation failed"))

    def copied(self, memo):
        other = fails_in_evaluation()
        other.is_copy = True
        return other

    type(env).__deepcopy__ = copied
    return env

def fails_in_close():
    return with_method("close", lambda env: fail("close failed"))

def blocks_file():
    return with_method("step", lambda env: Path("a.npz").mkdir(exist_ok=True))

def number():
    return 3

def odd(observation):
    return Fraction(observation, 3)

class Cells(gym.Env):
    """Twelve cells; an observation is the cell, and some noise if `noise`."""

    action_space = gym.spaces.Discrete(3)

    def __init__(self, noise=0, width=1):
        self.noise, self.width = noise, width
        self.observation_space = gym.spaces.MultiDiscrete([12, 10**9])

    def seen(self):
        return [self.cell // self.width, self.np_random.integers(10**9) if self.noise else 0]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return np.array(self.seen()), {}

    def step(self, action):
        self.cell = min(max(self.cell + (0, 1, -1)[action], 0), 11)
        return np.array(self.seen()), float(self.cell == 11), self.cell == 11, False, {}

def cells(**options):
    return gym.wrappers.TimeLimit(Cells(**options), 100)

def cell(observation):
    return int(observation[0])

def room(observation):
    return int(observation[0]) // 3
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The working directory, with a user-defined module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_envs.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "my_envs", raising=False)
    return tmp_path


def read_csv(path):
    """Return the rows of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# --- train -----------------------------------------------------------------------------------------


def test_train_prints_a_summary(run_cli, here):
    pytest.importorskip("tensorboard")
    words = ("--log", "log.csv", "--overwrite-log", "--tensorboard", "events", "--video", "run.gif")
    code, output, progress = run_cli("train", *FROZENLAKE, "--steps", 400, *words)
    assert code == 0
    assert re.search(r"trained +FrozenLake-v1 with vv-ucb, 400 steps, \d+ episodes", output)
    assert re.search(r"states +11 acted in, 16 in the observation space", output)
    first = int(re.search(r"first positive reward at step (\d+)", output)[1])
    assert "return 1, mean of 20 evaluation episodes" in output
    assert progress.count("of 400 steps") == 10
    lines = read_csv(here / "log.csv")
    assert next(int(line["step"]) for line in lines if float(line["return"]) > 0) == first
    assert list((here / "events").iterdir())
    with Image.open(here / "run.gif") as picture:
        assert picture.n_frames == 7


def test_a_time_penalty_is_reported(run_cli):
    words = ("MiniGrid-Empty-5x5-v0", "--key", "hash", "--steps", 1_500, "--quiet")
    output = run_cli.succeeds("train", *words, "--reset-seed", 0, "--episodes", 1)
    assert "decrease by 0.009 per step; this time penalty is removed for learning" in output
    for command in ("compare", "diagnose"):
        output = run_cli.succeeds(command, *words, "--seeds", 1, "--jobs", 1, "--explorers", "vv-ucb")
        assert "decrease by 0.009 per step. 1 of 1 run removed this time penalty for learning" in output
    assert "reward_range" not in output, "without the penalty, rewards can be larger than all that were received"


def test_resuming_beyond_the_budget_is_reported(run_cli):
    words = ("train", *FROZENLAKE, "--quiet", "--episodes", 1)
    run_cli.succeeds(*words, "--steps", 100, "--save", "a.npz")
    output = run_cli(*words, "--steps", 150, "--resume", "a.npz")[1]
    assert "(--set budget=150 extends it)" in output
    assert "budget" not in run_cli.succeeds(*words, "--steps", 150, "--resume", "a.npz", "--set", "budget=150")


# --- compare ---------------------------------------------------------------------------------------


def test_compare_ranks_explorers_and_resumes(run_cli, here):
    words = ("compare", "prison", "--explorers", "vv-ucb", "epsilon-greedy", "--seeds", 3, "--steps", 800)
    output = run_cli.succeeds(*words, "--jobs", 1, "--plot", "curves.svg", "--json", "s.json")
    assert re.search(r"vv-ucb .* 100 \[44, 100\] .* 23 .* 4\.91", output)
    assert re.search(r"epsilon-greedy .* 0 \[0, 56\] .* >800 .* 0\.97", output)
    assert "4.91 or more (the optimal return, computed from the model)" in output
    assert (here / "curves.svg").read_text().startswith("<?xml")
    compared = json.loads((here / "s.json").read_text())
    assert [row["explorer"] for row in compared["explorers"]] == ["vv-ucb", "epsilon-greedy"]
    assert (compared["steps"], compared["threshold"]["return"]) == (800, pytest.approx(4.91))
    assert set(compared["explorers"][0]["solved"]) == {"estimate", "low", "high"}
    assert "evaluated every 32 steps, every 3 where one episode is enough" in " ".join(compared["notes"])
    folder = here / "results" / "compare-prison"
    before = {file.name: file.stat().st_mtime_ns for file in (folder / "packs").iterdir()}
    assert before
    code, again, progress = run_cli(*words, "--jobs", 1)
    assert code == 0
    assert "0 runs to execute, 6 already stored" in progress
    assert {file.name: file.stat().st_mtime_ns for file in (folder / "packs").iterdir()} == before
    assert output.splitlines()[:8] == again.splitlines()[:8]
    lines = read_csv(folder / "comparison.csv")
    assert [line["solved_share"] for line in lines] == ["1.0", "0.0"]
    assert lines[1]["steps_to_solve"] == ""
    assert run_cli("report", "results/compare-prison")[:2] == (0, again)
    (folder / "comparison.json").write_text('{"title": 3}')
    assert "not a comparison that `wanderlust compare` stored" in run_cli.fails("report", "results/compare-prison")


def test_solved_threshold():
    lake = wl.tabular("FrozenLake-v1")
    assert solved_threshold(lake, 0.3).value == 0.3
    mdp = wl.world_from_gym(lake.env).mdp
    random = episode_returns(mdp, [np.full((16, 4), 0.25)], 100)[0]
    optimal = optimal_episode_return(mdp, 100)
    assert solved_threshold(lake, None).value == pytest.approx(0.05 * random + 0.95 * optimal)
    within_20 = solved_threshold(lake, None, 20)
    assert within_20.value < optimal_episode_return(mdp, 20) < optimal
    assert solved_threshold(wl.tabular("CliffWalking-v1"), None).value == -13
    wrapped = wl.tabular(gym.wrappers.TransformReward(gym.make("FrozenLake-v1"), lambda reward: 2 * reward))
    assert solved_threshold(wrapped, None) == (0.7, "the reward threshold of the environment")
    noisy = solved_threshold(wl.tabular("wanderlust/NoisyToy-v0"), None)
    assert 0.5 < noisy.value < 1
    assert "95 % of the way" in noisy.description
    assert solved_threshold(wl.tabular("MountainCar-v0", bins=3), None).value == -110
    unknown = solved_threshold(wl.tabular("Pendulum-v1", bins=3, action_bins=2), None)
    assert unknown.value is None
    assert "no reward threshold" in unknown.description
    assert not unknown.reached(1e9)


def report_of(returns, first_rewards, threshold=UNKNOWN):
    """Return the report of runs of one explorer with these final returns and steps of the first reward."""
    empty = np.zeros(0)
    results = [
        Result(
            np.array([50, 100]), np.array([0.0, value]), np.ones(2), np.ones((1, 1)), np.zeros(1), empty, empty,
            events=np.array([first, 30.0]), episodes=np.zeros((0, 4)),
        )
        for value, first in zip(returns, first_rewards, strict=True)
    ]  # fmt: skip
    runs = [Run(kind="environment", world="mine:env", explorer="ucb1", settings={"steps": 100})]
    return ComparisonReport(Comparison("mine:env", threshold, runs), {"ucb1": results})


def test_thresholds_of_a_comparison():
    """Without a threshold, the best run is the threshold; one that no run reached is a warning."""
    best = report_of([0.25, 0.75, 0.75], [1.0] * 3)
    assert "best return (%)" in best.headings
    assert best.rows[0].solved.estimate == pytest.approx(2 / 3)
    assert "0.75 or more (the best return that any run reached" in best.notes[0]
    equal = report_of([0.0, 0.0], [1.0] * 2)
    assert "all evaluations gave the same return" in equal.notes[0]
    assert "solved (%)" not in equal.headings
    some = report_of([0.5, 0.8], [1.0, math.inf])
    assert any("ucb1 with 1 of 2 seeds" in note for note in some.notes)
    threshold = Threshold(0.7, "the reward threshold of the environment")
    assert any(note.startswith("Warning: no run reached") for note in report_of([0.5], [1.0], threshold).notes)
    assert not any(note.startswith("Warning") for note in report_of([0.8], [1.0], threshold).notes)


def test_a_different_comparison_does_not_replace_the_first_one(run_cli, here):
    words = ("--jobs", 1, "--quiet", "--explorers", "random")
    for more in (("--steps", 50), ("--steps", 60), ("ucb1", "--steps", 50)):
        run_cli.succeeds("compare", "toy", *words, *more, "--seeds", 1)
    first, second = sorted((here / "results").iterdir())
    assert (first.name, second.name[: len("compare-toy-")]) == ("compare-toy", "compare-toy-")
    assert [line["explorer"] for line in read_csv(first / "comparison.csv")] == ["random", "ucb1"]
    assert read_comparison(second).steps == 60
    message = run_cli.fails("compare", "toy", *words, "--steps", 70, "--out", "results/compare-toy")
    assert "compare-toy has another comparison" in message


# --- diagnose --------------------------------------------------------------------------------------


def test_diagnose_detects_distractors_and_suggests_a_command(run_cli, here):
    words = ("--explorers", "epsilon-greedy", "vv-ucb", "vv-count", "--jobs", 1, "--json", "d.json")
    output = run_cli.succeeds("diagnose", "prison", "--steps", 800, *words)
    assert "epsilon-greedy converged to a return of at most 0.97, but vv-ucb found one of at least 4.91" in output
    assert "Deterministic, as far as observed" in output
    assert "vv-ucb and vv-count cannot be told apart" in output
    found = json.loads((here / "d.json").read_text())
    assert found["distracted"] == ["epsilon-greedy"]
    assert [reward["value"] for reward in found["rewards"]] == [4.99, 1.99, 0.99, -0.01]
    assert found["rewards"][0]["explorers"] == ["vv-ucb", "vv-count"]
    assert (found["horizon"], found["depth"], found["still_growing"]) == (11, 9, False)
    assert (found["hardness"]["source"], found["hardness"]["rarest_state"]) == ("model", 24)
    command = found["suggestion"].replace("'", "").split()
    assert command[:5] == ["wanderlust", "train", "prison", "--explorer", "vv-ucb"]
    run_cli.succeeds(*command[1:], "--quiet")
    assert Path("agent.npz").exists()


def test_diagnose_without_any_reward(run_cli):
    words = ("--explorers", "random", "vv-ucb", "--seeds", 1, "--steps", 60, "--jobs", 1, "--quiet")
    output = run_cli.succeeds("diagnose", "FrozenLake-v1", "--env", "map_name=8x8", *words)
    assert "Every step gave a reward of 0" in output
    assert "No reward was found" in output
    assert "had different outcomes" in output
    output = run_cli.succeeds("diagnose", "my_envs:cells", "--env", "noise=1", *words, "--steps", 1_500)
    assert "Not estimated, since states seldom repeat." in output
    assert "change the state key first" in output
    output = run_cli.succeeds("diagnose", "MountainCar-v0", "--bins", 5, *words)
    assert "No episode ended within 60 steps" in output
    assert "Estimated, because the environment has no known model" in output
    assert "random actions reach: --bins 20" in output


@pytest.mark.parametrize(
    ("options", "key", "seldom_repeat", "hidden", "sentences"),
    [
        ({"noise": 1}, None, True, None, ["key is too fine", "Unknown: 0 state-action", "--key"]),
        ({"noise": 1}, "my_envs:cell", False, None, ["Deterministic"]),
        ({}, "my_envs:room", False, "observation", ["100 % of the visits", "state key is too coarse", "--key"]),
        ({"width": 2}, None, False, "previous step", ["not the whole state"]),
    ],
    ids=["too fine", "good", "too coarse", "not observed"],
)
def test_diagnose_finds_keys_that_are_too_fine_or_too_coarse(options, key, seldom_repeat, hidden, sentences):
    cells = {"kind": "environment", "world": "my_envs:cells", "world_options": options, "encoder_options": {}}
    if key is not None:
        cells["encoder_options"] = {"key": key}
    settings = {"steps": 3_000, "evaluate_every": 3_000}
    results = {name: [Run(**cells, explorer=name, settings=settings).train()] for name in ("vv-ucb", "random")}
    found = diagnose_results(results, steps=3_000, horizon=100, encoding="discrete")
    assert (found.seldom_repeat, found.hidden) == (seldom_repeat, hidden)
    assert found.repeat_rates[-1] == pytest.approx(0.0 if seldom_repeat else 1.0, abs=0.01)
    text = " ".join(line for _, lines in report_sections(found) for line in lines)
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_a_file_of_an_agent_names_no_code(run_cli, here, monkeypatch):
    words = ("--env", "noise=1", "--key", "my_envs:cell", "--steps", 300, "--save", "a.npz", "--quiet")
    run_cli.succeeds("train", "my_envs:cells", *words)
    monkeypatch.delitem(sys.modules, "my_envs")
    for words in (("evaluate", "a.npz"), ("explain", "a.npz", "--state", "3")):
        assert "give --key module:cell" in run_cli.fails(*words)
    assert "my_envs" not in sys.modules, "nothing is imported"
    words = ("--env", "noise=1", "--key", "my_envs:cell", "--episodes", 2)
    assert "mean return" in run_cli.succeeds("evaluate", "a.npz", "my_envs:cells", *words)


@pytest.mark.parametrize("more", [(), ("--exact",)])
def test_summaries_as_json(run_cli, here, more):
    run_cli.succeeds("train", *FROZENLAKE, "--steps", 400, "--json", "s.json", "--quiet", *more)
    found = json.loads((here / "s.json").read_text())
    assert (found["environment"], found["explorer"], found["steps"]) == ("FrozenLake-v1", "vv-ucb", 400)
    assert found["greedy_return"]["mean"] == 1.0
    assert 0 < found["first_reward"] <= 400


def test_completion_of_commands_and_options(run_cli):
    script = run_cli.succeeds("--tyro-print-completion", "bash")
    assert all(word in script for word in ("train", "reproduce", "--explorer", "--checkpoint-every"))
    assert run_cli("--version") == (0, f"wanderlust {wl.__version__}\n", "")


def test_a_reward_of_one_seed_counts_as_found_and_a_single_reward_is_no_distractor():
    """The median step of the first reward is infinity if one of two seeds finds it, but the reward was found.

    In FrozenLake the returns of policies differ by randomness, but there is only one positive reward.
    """
    lake = {"kind": "environment", "world": "FrozenLake-v1", "explorer": "vv-ucb"}
    runs = [Run(**lake, settings={"steps": steps, "evaluate_every": 300}) for steps in (3_000, 5)]
    results = {"vv-ucb": [run.train() for run in runs], "random": [runs[0].train()]}
    diagnosis = diagnose_results(results, steps=3_000, horizon=100, encoding="discrete")
    assert diagnosis.explorers[0].first_reward == float("inf")
    assert (diagnosis.reward_found, diagnosis.distracted) == (True, ())
    assert "None detected" in dict(report_sections(diagnosis))["Distractors"][0]


def test_bounds_are_suggested_only_where_more_bins_do_not_help():
    # Its goal is far beyond what random actions reach: bounds would make the way there a single bin.
    assert bins_options(gym.make("MountainCar-v0")) == "--bins 20"
    assert bins_options(gym.make("Acrobot-v1")).startswith("--bins 6 --bounds 4=")
    assert re.fullmatch("--bins 14 --bounds 0=-0.*,0.* 1=.* 3=.*", bins_options(gym.make("CartPole-v1")))
    assert bins_options(gym.make("FrozenLake-v1")) is None


# --- explain, worlds, explorers --------------------------------------------------------------------


def test_a_warning_is_one_sentence(here, processes):
    (here / "cut.txt").write_text("S.#A\n..##\n\nA = treasure 1\n")
    assert processes.wait(processes.start_command(here, "train", "cut.txt", "--steps", 5, "--quiet")) == 0
    errors = (here / "err.txt").read_text()
    assert (errors.count("warning: world 'map': the treasure"), ".py" in errors) == (1, False)


def test_explain_equals_the_explanation_of_the_agent(run_cli):
    run_cli("train", *FROZENLAKE, "--steps", 200, "--save", "a.npz", "--quiet")
    agent = wl.Agent.load("a.npz")
    output = run_cli.succeeds("explain", "a.npz", "--state", 2)
    explanation = agent.explain(2)
    assert "vv-ucb in FrozenLake-v1, after 200 steps" in output
    for each in explanation.actions:
        assert re.search(rf"^ *{each.action} {each.name} +{each.q:.6g} +{each.visits} +{each.w:.6g} ", output, re.M)
    chosen = explanation.actions[explanation.chosen]
    assert f"Action {chosen.action} ({chosen.name}), because" in output
    assert chosen.name in ("left", "down", "right", "up")
    plain = json.loads(run_cli("explain", "a.npz", "--state", 2, "--json")[1])
    assert plain["chosen"] == explanation.chosen
    assert [each["q"] for each in plain["actions"]] == [each.q for each in explanation.actions]
    assert run_cli("explain", "a.npz", "--index", 2)[1] == output
    agent.save("agent_only.npz")
    run_cli.succeeds("explain", "agent_only.npz", "--state", 2)


def test_every_explorer_has_a_reference():
    output = (Path(wl.__file__).parent / "explorers" / "references.bib").read_text(encoding="utf-8")
    assert output.count("{") == output.count("}")
    cited = {name for line in re.findall(r"explorers = \{(.*)\}", output) for name in line.split(", ")}
    assert cited == {name for name in wl.explorer_names() if explorer_class(name).__module__.startswith("wanderlust.")}


def test_listings_have_a_line_per_entry(run_cli):
    output = run_cli("worlds")[1]
    for name in wl.world_names():
        assert re.search(rf"^{name} +\S.*Gymnasium: wanderlust/\w+-v0$", output, flags=re.M)
    output = run_cli("explorers")[1]
    for name in wl.explorer_names():
        assert re.search(rf"^{name} +\S", output, flags=re.M)
    assert re.search(r"^    kappa=None +κ", output, flags=re.M)


# --- Errors ----------------------------------------------------------------------------------------


def test_after_a_failure_the_agent_is_saved(run_cli):
    error = run_cli.fails("train", "my_envs:fails_later", "--quiet", "--save", "saved.npz")
    assert "after 10 steps in total" in error
    assert "RuntimeError: step failed" in error
    assert "The agent trained so far is saved in saved.npz; continue with --resume saved.npz" in error
    assert wl.Agent.load("saved.npz").steps == 10
    error = run_cli.fails("train", "my_envs:fails_later", "--quiet")
    assert "--resume my_envs-fails_later-unfinished.npz" in error
    assert wl.Agent.load("my_envs-fails_later-unfinished.npz").steps == 10
    assert "my_envs-fails_later-unfinished-2.npz" in run_cli("train", "my_envs:fails_later", "--quiet")[2]
    assert "npz: wanderlust train my_envs:fails_later --steps 20000 --resume my_envs-fails_later-unfini" in error
    error = run_cli.fails("train", "my_envs:fails_later", "--key", "my_envs:odd", "--quiet")
    assert "could not be saved: state keys of type Fraction cannot be saved" in error


def test_after_a_failure_in_the_evaluation_the_agent_is_saved(run_cli):
    error = run_cli.fails("train", "my_envs:fails_in_evaluation", "--steps", 50, "--quiet")
    assert "failed in step 1 of evaluation episode 1 (after 50 training steps) with RuntimeError: evaluation" in error
    assert "The agent trained so far is saved in my_envs-fails_in_evaluation-unfinished.npz" in error
    assert wl.Agent.load("my_envs-fails_in_evaluation-unfinished.npz").steps == 50
    code, output, error = run_cli("train", "my_envs:fails_in_close", "--steps", 50, "--quiet", "--save", "a.npz")
    assert code == 2
    assert "saved      a.npz" in output
    assert "failed in close after evaluation with RuntimeError: close failed" in error


def test_agent_is_saved_elsewhere_if_its_file_cannot_be_written(run_cli, here):
    error = run_cli.fails("train", "my_envs:blocks_file", "--steps", 50, "--quiet", "--save", "a.npz")
    assert "a.npz: the agent cannot be saved there (" in error
    assert "The agent trained so far is saved in my_envs-blocks_file-unfinished.npz" in error
    assert wl.Agent.load("my_envs-blocks_file-unfinished.npz").steps == 50
    assert run_cli("train", "my_envs:blocks_file", "--steps", 50, "--quiet", "--save", "a.npz")[0] == 2
    assert sorted(path.name for path in here.glob("*.npz")) == ["a.npz", "my_envs-blocks_file-unfinished.npz"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train my_envs:mak_env", "Did you mean 'my_envs:make_env'"),
        ("train my_envs:number", "must return a gymnasium.Env, got int"),
        ("train minigrid:MiniGrid-Emty-5x5-v0", "Did you mean 'minigrid:MiniGrid-Empty-5x5-v0'"),
        ("train missing.txt", "cannot read the map 'missing.txt'"),
        ("train FrozenLake-v1 --env map_name=9x9", "cannot be made with {'map_name': '9x9'}"),
        ("train FrozenLake-v1 --env map_name", "such as map_name=8x8, got 'map_name'"),
        ("train FrozenLake-v1 --env a=1 a=2", "given twice"),
        ("train FrozenLake-v1 --set kapa=1", "unknown setting or option 'kapa' of vv-ucb. Did you mean 'kappa'"),
        ("train FrozenLake-v1 --set steps=1", "--steps 1"),
        ("train FrozenLake-v1 --steps 0", "steps must be"),
        ("train FrozenLake-v1 --key my_envs:nothing", "no function of that name"),
        ("train Pendulum-v1 --bins 5", "--action-bins 5"),
        ("train Pendulum-v1", "--bins 8"),
        ("train CartPole-v1 --bins 4", "random steps: --bins 14 --bounds 0="),
        ("train CartPole-v1 --bins 4 --bounds 1=3", "bounds of dimension 1 must be (low, high)"),
        ("train FrozenLake-v1 --resume missing.npz", "no such file"),
        ("train FrozenLake-v1 --resume lake.npz --explorer ucb1", "leave --explorer ucb1 out"),
        ("train FrozenLake-v1 --resume lake.npz --set kappa=1", "leave --set kappa=1 out"),
        ("train FrozenLake-v1 --video run.avi", "must be a .gif file"),
        ("train FrozenLake-v1 --env render_mode=ansi --video run.gif", "render_mode='rgb_array'"),
        ("train my_envs:not_rendered --video run.gif", "needs another package: run `pip install renderer`"),
        ("train FrozenLake-v1 --save my_envs.py/a.npz", "cannot be written"),
        ("train FrozenLake-v1 --checkpoint-every 0", "checkpoint_every must be"),
        ("train FrozenLake-v1 --checkpoint-every 9", "--checkpoint-every needs --save FILE"),
        ("compare prison --plot curves.jpg", ".png, .svg, .pdf"),
        ("compare prison --explorers", "at least one explorer"),
        ("compare prison --explorers my_envs:Mine", "unknown explorer 'my_envs:Mine'"),
        ("compare prison --seeds 0", "seeds must be"),
        ("compare prison --solved-at nan", "solved_at must be"),
        ("compare prison --explorers random --seeds 1 --steps 9 --out my_envs.py/x", "cannot be written"),
        ("diagnose prison --json my_envs.py/d.json", "cannot be written"),
        ("watch prisn", "'prisn'. Did you mean 'prison'?"),
        ("watch prison --explorer vv-ubc", "'vv-ubc'. Did you mean 'vv-ucb'?"),
        ("watch prison --speed 0", "speed must be"),
        ("watch my[/c].txt", "cannot read the map 'my[/c].txt'"),
        ("explain missing.npz --state 1", "no such file"),
        ("explain lake.npz", "either as --state OBSERVATION or as --index N"),
        ("explain lake.npz --state 999", "--state 999: the observation 999 is outside the observation space"),
        ("explain lake.npz --index 99", "from 0 to 15, got 99"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_invalid_input_prints_a_message(run_cli, lake_file, words, expected):
    assert expected in run_cli.fails(*words.split())


@pytest.fixture(scope="module")
def saved_lake(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "lake.npz"
    wl.learn("FrozenLake-v1", steps=30, save=path, quiet=True)
    return path


@pytest.fixture
def lake_file(here, saved_lake):
    (here / "lake.npz").write_bytes(saved_lake.read_bytes())


def test_help_imports_no_heavy_modules():
    heavy = {"numpy", "numba", "scipy", "matplotlib", "gymnasium", "rich.progress"}
    code = f"""
import contextlib, sys
sys.argv = ["wanderlust", "train", "--help"]
from wanderlust.cli.main import COMMANDS, main
for name in COMMANDS:
    sys.argv[1] = name
    with contextlib.suppress(SystemExit):
        main()
print(sorted({heavy} & set(sys.modules)))
"""
    done = run_python(code)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.count("usage: wanderlust") == len(cli.COMMANDS)


# --- Options and runs ------------------------------------------------------------------------------


def test_reading_of_options():
    words = ["a=true", "b=False", "c=1e-3", "d=8x8", "e=[1, 2]", "f=null", "g='x'", "h=x=y", "i=", "j=(1, 2)"]
    found = read_options(words)
    assert list(found.values()) == [True, False, 0.001, "8x8", [1, 2], None, "x", "x=y", "", (1, 2)]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({**LAKE, "until": "positive-return"}, "until"),
        ({"world": "toy", "preset": "adaptive"}, "preset"),
        ({"world": "toy", "encoder_options": {"bins": 3}}, "encoder_options"),
        (LAKE, "steps"),
        ({**LAKE, "encoder_options": {"bin": 3}, "settings": {"steps": 5}}, "bins"),
    ],
)
def test_runs_reject_options_without_effect(fields, name):
    with pytest.raises(wl.WanderlustError, match=name):
        Run(explorer="random", **fields).train()


def test_result_of_a_run_in_an_environment(run_cli):
    settings = {"steps": 400, "evaluate_every": 100}
    run = Run(**LAKE, world_options={"is_slippery": False}, explorer="vv-ucb", settings=settings, episodes=2)
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
    run_cli.succeeds("run", run.json, "--out", "stored")
    run_cli.succeeds("results", "stored", "--columns", "all", "--to", "runs.json", "--curves")
    (entry,) = json.loads(Path("runs.json").read_text())
    assert (entry["kind"], entry["success"], entry["states_reachable"]) == ("environment", None, None)
    assert entry["curve_returns"] == result.returns.tolist()
    assert entry["states_discovered"] == result.n_discovered
