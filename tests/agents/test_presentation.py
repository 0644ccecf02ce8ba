"""Worlds, agents and records as text, pictures and tables."""

import re
import sys

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from wanderlust.environments.make import action_names, grid_layout
from wanderlust.worlds import GRID_ACTIONS, Layout
from wanderlust.worlds.action_values import action_values_figure, moves_of
from wanderlust.worlds.base import checked_names, layout_from_plain, layout_to_plain


@pytest.fixture(scope="module")
def agent():
    return wl.learn("FrozenLake-v1", "vv-ucb", steps=300, seed=0, quiet=True)


@pytest.fixture(scope="module")
def record():
    return wl.train("prison", "vv-ucb", seed=1)


def test_texts_are_a_few_lines(agent, record):
    world = wl.make_world("prison")
    for each, words in (
        (world, ["World prison: 25 states, 4 actions (left, right, up, down)", "##.PB", "C = treasure 5"]),
        (agent, ["Agent: vv-ucb, 300 steps in FrozenLake-v1, seed 0"]),
        (record, ["vv-ucb in prison, seed 1: 1,000 steps, 23 states visited", "return of the greedy policy 4.52724"]),
        (agent.history, ["return of training episodes"]),
        (wl.learn("FrozenLake-v1", steps=1, quiet=True).history, ["History: 1 step, 1 state visited, 4 actions"]),
    ):
        assert all(part in str(each) for part in words), str(each)
        assert len(str(each)) < 600
        assert re.fullmatch(r"<[^\n]*>", repr(each))
    assert len(str(wl.make_world("wall")).splitlines()) == 2, "too large for a map"


def test_pictures_in_notebooks(agent, record):
    for each in (agent, record, agent.history, wl.make_world("chain", length=60)):
        assert 'src="data:image/png;base64,' in each._repr_html_()
    assert "<img" not in wl.Agent("ucb1", n_actions=2, reward_range=(0, 1))._repr_html_()


@pytest.mark.parametrize("what", ["W", "Q", "visits", "behaviour"])
def test_tables_of_an_agent_on_its_map(agent, what):
    axes, bar = agent.plot(what).axes
    triangles = axes.collections[0]
    visited = int((agent.visits.sum(axis=1) > 0).sum())
    assert len(triangles.get_paths()) == 4 * visited
    labels = {text.get_text() for text in axes.texts}
    if what == "visits":
        assert {f"{n:,}" for n in agent.visits[agent.visits.sum(axis=1) > 0].ravel()} <= labels
        ends = [label.get_text() for label in bar.get_xticklabels()]
        assert ends == [f"{n:,}" for n in (agent.visits[agent.visits.sum(axis=1) > 0].min(), agent.visits.max())]


def test_arrows_follow_the_names_of_the_actions(agent):
    down, right = moves_of(agent.action_names)[agent.greedy_action(0)]
    assert any(
        arrow.xy == (pytest.approx(0.34 * right), pytest.approx(0.34 * down)) for arrow in arrows(agent.plot("Q"))
    )
    place = np.zeros(1, np.int32)
    kind, value = np.zeros((1, 1, 1), np.uint8), np.zeros((1, 1, 1))
    cell = Layout(rows=1, columns=1, row=place, column=place, layer=place, kind=kind, value=value)
    (arrow,) = arrows(action_values_figure("", np.array([[1.0, 2.0, 3.0, 4.0]]), cell, GRID_ACTIONS, minimise=True))
    assert arrow.xy[0] < 0, "the first action is left"


def arrows(figure):
    return [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None) is not None]


def test_a_loaded_agent_has_its_map_and_its_action_names(agent, tmp_path):
    agent.save(tmp_path / "lake.npz")
    loaded = wl.Agent.load(tmp_path / "lake.npz")
    assert loaded.action_names == ("left", "down", "right", "up")
    assert np.array_equal(loaded.layout.kind, agent.layout.kind)
    assert len(loaded.plot("W").axes) == len(agent.plot("W").axes)
    assert loaded.explain(0).actions[1].name == "down"
    assert "1 down" in str(loaded.explain(0))


def test_layers_of_a_world_are_panels():
    agent = wl.learn("deep-sea", "vv-count", steps=100, seed=0, quiet=True)
    assert [axes.get_title() for axes in agent.plot("W").axes] == ["bomb", "treasure", ""], "and one colour bar"


def test_plots_that_are_not_possible(agent):
    own = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1))
    for call, words in (
        (lambda: agent.plot("V"), "unknown value of what 'V'"),
        (lambda: wl.Agent.for_world("prison", "ucb1").plot("W"), "'ucb1' does not learn W; plot 'Q', 'behaviour'"),
        (own.plot, "needs the map of the agent's environment; give its world"),
        (lambda: own.plot(world="deep-sea"), "has 2 actions, the agent 4"),
        (wl.Agent.for_world("chain", "vv-ucb").plot, "the actions are forward, backward, stay"),
    ):
        with pytest.raises(wl.WanderlustError, match=words):
            call()
    own.observe(0, 1, 0.0, 1, False)
    assert own.plot(world="prison").axes
    assert len(own.plot("Q", world="prison").axes) == 1, "no colour bar where all values are equal"


def test_curves_of_a_record(record, monkeypatch):
    returns, discovered = record.plot().axes
    assert np.array_equal(returns.lines[0].get_ydata(), record.returns)
    assert np.array_equal(discovered.lines[0].get_ydata(), record.discovered)
    frame = record.to_pandas()
    assert list(frame.columns) == ["step", "return", "discovered"]
    assert frame["return"].tolist() == record.returns.tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(wl.WanderlustError, match=r"pip install 'wanderlust\[dataframes\]'"):
        record.to_pandas()


def test_names_of_actions():
    class Named(gym.Env):
        action_space, observation_space = gym.spaces.Discrete(2), gym.spaces.Discrete(3)
        action_names = ("stay", "go")

    assert action_names(Named(), 2) == ("stay", "go")
    assert action_names(Named(), 3) is None
    minigrid = pytest.importorskip("minigrid.envs")
    assert action_names(minigrid.EmptyEnv(), 7)[:3] == ("left", "right", "forward")
    assert action_names(gym.make("Blackjack-v1"), 2) == ("stick", "hit")
    assert action_names(gym.make("wanderlust/Prison-v0"), 4) == wl.make_world("prison").action_names
    assert grid_layout(gym.make("CliffWalking-v1"), 48).rows == 4
    assert grid_layout(gym.make("Taxi-v3" if "Taxi-v3" in gym.registry else "Taxi-v4"), 500) is None


@pytest.mark.parametrize(
    "plain",
    [None, [], {}, {"kind": [[0]]}, {"kind": [[0, 99]], "value": [[0, 0]]}, {"kind": [[0, 1]], "value": [[0, None]]},
     {"kind": [[0, 1], [0]], "value": [[0, 1], [0]]}, {"kind": [[300, 1]], "value": [[0, 0]]}],
)  # fmt: skip
def test_invalid_maps_and_names_of_a_file_are_ignored(plain):
    assert layout_from_plain(plain, 2) is None
    for names in (None, "ab", ["a"], ["a", 1], ["a", ""], ["a", "b\n"], ["a", "x" * 41], 3):
        assert checked_names(names, 2) is None


def test_maps_as_plain_values():
    layout = wl.make_world("prison").layout
    again = layout_from_plain(layout_to_plain(layout), 25)
    assert np.array_equal(again.kind, layout.kind)
    assert np.array_equal(again.value, layout.value)
    assert layout_from_plain(layout_to_plain(layout), 24) is layout_to_plain(wl.make_world("deep-sea").layout) is None
