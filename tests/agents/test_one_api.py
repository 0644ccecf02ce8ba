"""One spelling of every setting, and one list of public names."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wanderlust as wl
from conftest import CommandLine
from wanderlust.agents.settings import SETTING_NAMES
from wanderlust.core.errors import UnknownName

VALUES: dict[str, Any] = {
    "discount": 0.9,
    "learning_rate": 0.25,
    "replay": {"memory": "window", "capacity": 50, "batch": 4},
    "initial": "optimistic",
    "gamma_w": 0.8,
    "horizon": 20,
    "budget": 77,
    "steps": 30,
    "epsilon_start": 0.5,
    "epsilon_end": 0.05,
    "evaluate_every": 7,
    "evaluation_horizon": 9,
    "plain_sweeps": True,
    "sweeps": 2,
    "sweep_pairs": 6,
    "evaluated": "behaviour",
}
"""A value of each setting that is not its default."""
TASK: dict[str, Any] = {"n_actions": 2, "n_states": 3, "reward_range": (0, 1)}
ENTRY_POINTS: dict[str, Callable[..., wl.Settings]] = {
    "train": lambda **changes: wl.train("toy", "vv-ucb", **{"steps": 20, **changes}).settings,
    "Session": lambda **changes: wl.Session("toy", "vv-ucb", **changes).settings,
    "learn": lambda **changes: (
        wl.learn("CliffWalking-v1", "vv-ucb", **{"steps": 20, "quiet": True, **changes}).settings
    ),
    "Agent": lambda **changes: wl.Agent("vv-ucb", **TASK, **changes).settings,
    "Agent with settings": lambda **changes: wl.Agent("ucb1", **TASK, settings=wl.Settings(), **changes).settings,
    "Agent.for_world": lambda **changes: wl.Agent.for_world("toy", "vv-ucb", **changes).settings,
    "Explorer": lambda **changes: wl.Explorer("vv-ucb", **TASK, **changes).settings,
}


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
@pytest.mark.parametrize("name", SETTING_NAMES)
def test_every_setting_has_the_same_name_everywhere(name: str, entry_point: str) -> None:
    settings = ENTRY_POINTS[entry_point](**{name: VALUES[name]})
    if (name, entry_point) == ("steps", "learn"):
        assert (
            settings.budget == VALUES["steps"]
        )  # `learn` takes the steps of all calls together, so they are no setting.
    else:
        assert getattr(settings, name) == getattr(wl.Settings(**{name: VALUES[name]}), name)


@pytest.mark.parametrize("left_out", [("replay",), ("sweeps", "plain_sweeps", "sweep_pairs")])
def test_the_settings_of_a_run_are_those_of_train_and_learn(left_out: tuple[str, ...]) -> None:
    settings = {name: value for name, value in VALUES.items() if name not in left_out}
    in_world = wl.Run(world="toy", explorer="vv-ucb", seed=2, settings=settings).train()
    np.testing.assert_array_equal(in_world.visits, wl.train("toy", "vv-ucb", seed=2, **settings).visits)
    run = wl.Run(kind="environment", world="CliffWalking-v1", explorer="ucb1", settings=settings, episodes=1)
    learnt = wl.learn("CliffWalking-v1", "ucb1", quiet=True, **settings)
    np.testing.assert_array_equal(run.train().visits, learnt.visits)


def test_the_command_line_takes_every_setting(run_cli: CommandLine, tmp_path: Path) -> None:
    given = {name: value for name, value in VALUES.items() if name != "steps"} | {"replay": "full"}
    words = [f"{name}={value}" for name, value in (given | {"kappa": 0.5, "reward_range": "[0,2]"}).items()]
    run_cli.succeeds("train", "toy", "--steps", 30, "--save", "a.npz", "--set", *words)
    agent = wl.Agent.load(tmp_path / "a.npz")
    assert agent.settings == wl.Settings(**given)
    assert (agent.options["kappa"], agent.reward_range) == (0.5, (0.0, 2.0))


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_a_misspelt_setting_is_answered_with_the_right_name(entry_point: str) -> None:
    with pytest.raises(UnknownName, match=r"'discont' of .*\. Did you mean 'discount'\?"):
        ENTRY_POINTS[entry_point](discont=0.9)
    with pytest.raises(UnknownName, match=r"'capacty' of replay\. Did you mean 'capacity'\?"):
        ENTRY_POINTS[entry_point](replay={"memory": "window", "capacty": 9})


def test_settings_and_keywords_together() -> None:
    """A keyword changes one of the settings given; a name that is also an option is the explorer's option."""
    agent = wl.Agent("vv-ucb", **TASK, settings=wl.Settings(discount=0.5, gamma_w=0.7), learning_rate=1.0, gamma_w=0.6)
    assert agent.settings == wl.Settings(discount=0.5, gamma_w=0.7, learning_rate=1.0)
    assert agent.configured_explorer.gamma_w == 0.6
    assert (
        wl.Agent("vv-ucb", **TASK, gamma_w=0.6).configured_explorer
        == wl.Agent("vv-ucb", **TASK, settings=wl.Settings(gamma_w=0.6)).configured_explorer
    )


def test_records_and_agents_have_the_same_history() -> None:
    record = wl.train("toy", "vv-ucb", steps=200)
    learnt = wl.learn("toy", "vv-ucb", steps=200, quiet=True).history
    assert isinstance(record, wl.History)
    assert learnt is not None
    for field in dataclasses.fields(wl.History):
        assert type(getattr(record, field.name)) is type(getattr(learnt, field.name)), field.name
    np.testing.assert_array_equal(learnt.visits.sum(axis=1) > 0, learnt.first_visit >= 0)
    np.testing.assert_array_equal(
        learnt.discovered, [(learnt.visits.sum(1) > 0)[learnt.first_visit < n].sum() for n in learnt.steps]
    )
    assert wl.Agent("ucb1", **TASK).history is None


def test_the_example_of_an_explorer_needs_public_names_only() -> None:
    example = (Path(__file__).parents[2] / "examples" / "own_explorer.py").read_text()
    imported = [node.module for node in ast.walk(ast.parse(example)) if isinstance(node, ast.ImportFrom)]
    assert {module for module in imported if module and module.startswith("wanderlust.")} == set()
