"""Environments with a model, trained in the compiled loop: `--exact`, `Run.of_model`, `world_from_gym`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from conftest import CommandLine
from wanderlust.core.errors import InvalidSetting, UnknownName
from wanderlust.training.model_training import ModelTraining

LAKE = {"is_slippery": False}


def test_a_run_is_stored_under_a_key_of_the_model(tmp_path: Path) -> None:
    settings = {"steps": 200}
    lake, slippery = (
        wl.Run.of_model("FrozenLake-v1", explorer="ucb1", settings=settings, world_options=options)
        for options in (LAKE, {})
    )
    assert lake.model != slippery.model
    assert lake.key != replace(lake, model="f" * 24).key != slippery.key
    store = wl.Store(tmp_path)
    assert wl.run_all([lake, slippery], store, jobs=1).executed == 2
    assert wl.run_all([lake, slippery], store, jobs=1).stored == 2
    assert store.load(lake).run == wl.Run.from_json(lake.json) == lake
    with pytest.raises(InvalidSetting, match="is no longer the one of this run"):
        replace(lake, model="f" * 24).train()
    for fields, error, words in (
        ({"world": "FrozenLake-v1", "kind": "model"}, InvalidSetting, r"create it with Run\.of_model"),
        ({"world": "toy", "model": "abc"}, InvalidSetting, "model cannot be set with kind='world'"),
        (
            {"world": "Taxi-v4", "kind": "environment", "measure": "values"},
            UnknownName,
            "measure with kind='environment'",
        ),
    ):
        with pytest.raises(error, match=words):
            wl.Run(explorer="ucb1", **fields)


@pytest.mark.parametrize(
    ("explorer", "preset"),
    [("vv-ucb", "adaptive"), ("vv-count", "as_written"), ("bonus", "adaptive"), ("bootstrapped", "as_written")],
)
def test_a_deterministic_environment_gives_the_same_tables_as_its_steps(explorer: str, preset: str) -> None:
    env = gym.make("FrozenLake-v1", **LAKE)
    by_steps = wl.learn(env, explorer, steps=800, seed=3, preset=preset, reward_range=(0, 1), quiet=True)
    settings = {"steps": 800, "budget": 800}
    training = ModelTraining(
        wl.world_from_gym(env), explorer, preset=preset, seed=3, undiscounted_returns=True, changes=settings
    )
    training.advance(300)
    training.advance(800)
    assert training.agent.preset == preset
    for name, table in by_steps.tables.items():
        np.testing.assert_array_equal(training.agent.tables[name], table)


@pytest.mark.parametrize(("name", "explorer"), [("FrozenLake-v1", "vv-ucb"), ("prison", "thompson")])
def test_a_run_on_a_model_is_the_run_in_its_world(name: str, explorer: str) -> None:
    settings = {"steps": 1_000, "evaluate_every": 100, "budget": 1_000}
    result = wl.Run.of_model(name, explorer=explorer, seed=3, preset="as_written", settings=settings).train()
    world = wl.world_from_gym(name)
    assert world.layout is not None
    record = wl.train(world, explorer, seed=3, undiscounted_returns=True, **settings)
    assert record.returns_of == "episodes of the greedy policy"
    for field in ("steps", "returns", "discovered", "visits", "first_visit"):
        np.testing.assert_array_equal(getattr(result, field), getattr(record, field))


def test_the_version_of_the_adaptive_preset_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [wl.Run.of_model("FrozenLake-v1", explorer="ucb1", preset=preset) for preset in ("as_written", "adaptive")]
    assert wl.Run.of_model("FrozenLake-v1", explorer="ucb1") == runs[1]
    before = [run.key for run in runs]
    monkeypatch.setattr("wanderlust.experiments.run.ADAPTIVE_VERSION", 999)
    after = [run.key_with(run.code) for run in runs]
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_train_saves_an_agent_that_acts_in_the_environment(run_cli: CommandLine, tmp_path: Path) -> None:
    words = ("train", "FrozenLake-v1", "--env", "is_slippery=false", "--exact", "--steps", "1000", "--save", "a.npz")
    printed = run_cli.succeeds(*words, "--video", "train.gif")
    assert "expected return of an episode 1; optimal is 1" in printed
    assert "train.gif, 7 frames of one episode" in printed
    agent = wl.Agent.load(tmp_path / "a.npz")
    env = gym.make("FrozenLake-v1", is_slippery=False)
    observation, _ = env.reset(seed=1)
    assert agent.predict(observation) in (1, 2)
    assert wl.evaluate(agent).mean() == 1.0
    for options in ((), ("FrozenLake-v1", "--env", "is_slippery=false")):
        words = ("evaluate", "a.npz", *options, "--episodes", "3", "--video", "run.gif")
        assert "run.gif, 7 frames of one episode" in run_cli.succeeds(*words)
    assert (tmp_path / "run.gif").read_bytes() == (tmp_path / "train.gif").read_bytes()
    assert "must be a .gif file" in run_cli.fails("evaluate", "a.npz", "--video", "run.avi")


def test_compare(run_cli: CommandLine, tmp_path: Path) -> None:
    line = ("compare", "CliffWalking-v1", "--exact", "--explorers", "ucb1", "vv-ucb", "--seeds", 2, "--steps", 3000)
    for more, words in (
        ((), ["-13", "preset adaptive", "Exact: trained on the environment's model, with its range of rewards."]),
        (("--preset", "as_written"), ["preset as_written"]),
        (("--evaluate-every", 50), ["The greedy policy is evaluated every 50 steps."]),
    ):
        printed = run_cli.succeeds(*line, "--quiet", "--jobs", 1, *more)
        assert all(word in printed for word in words)
    folders = list((tmp_path / "results").iterdir())
    assert [len(wl.Store(folder).stored_keys()) for folder in folders] == [4, 4, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "MountainCar-v0", "--exact"), "MountainCar-v0 has no model"),
        (("compare", "CliffWalking-v1", "--exact", "--preset", "adapted"), "Did you mean 'adaptive'?"),
        (
            ("train", "Taxi-v4", "--exact", "--set", "remove_time_penalty=true"),
            "remove_time_penalty works in training by",
        ),
        (("compare", "MountainCar-v0", "--exact", "--bins", "8"), "leave --bins out"),
        (("train", "Taxi-v4", "--exact", "--log", "a.csv"), "--log is not possible with --exact"),
        (("train", "Taxi-v4", "--exact", "--set", "reward_range=[0,1]"), "reward_range cannot be set with --exact"),
        (("compare", "Taxi-v4", "--exact", "--env-version", "2"), "--env-version is not used with --exact"),
    ],
)
def test_errors(words: tuple[str, ...], message: str, run_cli: CommandLine, tmp_path: Path) -> None:
    assert message in run_cli.fails(*words)
    assert not (tmp_path / "results").exists()
