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
    assert str(world).splitlines()[0] == "World prison: 25 states, 4 actions (left, right, up, down), deterministic"
    assert "##.PB" in str(world)
    assert "A = treasure 1, B = treasure 2, C = treasure 5" in str(world)
    assert len(str(wl.make_world("wall")).splitlines()) == 2
    assert str(agent).splitlines()[0] == "Agent: vv-ucb, 300 steps in FrozenLake-v1, seed 0"
    assert str(record).splitlines()[0] == "Record: vv-ucb in prison, seed 1: 1,000 steps, 23 states visited, 4 actions"
    assert "(first at step 200)" in str(record)
    assert str(record.agent.history).splitlines()[1].startswith("return of the greedy policy 4.52724 at step 1,000")
    assert "return of training episodes" in str(agent.history)
    assert str(wl.learn("FrozenLake-v1", steps=1, quiet=True).history) == "History: 1 step, 1 state visited, 4 actions"
    for each in (world, agent, record, agent.history):
        assert len(str(each)) < 600
        assert re.fullmatch(r"<[^\n]*>", repr(each))


def test_pictures_in_notebooks(agent, record):
    for each in (agent, record, agent.history, wl.make_world("prison"), wl.make_world("chain", length=60)):
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
    axes = agent.plot("Q").axes[0]
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    state = 0
    best = agent.greedy_action(state)
    down, right = moves_of(agent.action_names)[best]
    assert any(arrow.xy == (pytest.approx(0.34 * right), pytest.approx(0.34 * down)) for arrow in arrows)
    values = np.array([[1.0, 2.0, 3.0, 4.0]])
    minimised = action_values_figure("", values, _one_cell(), GRID_ACTIONS, minimise=True)
    (arrow,) = [text for text in minimised.axes[0].texts if getattr(text, "arrow_patch", None) is not None]
    assert arrow.xy[0] < 0  # The first action is left.


def _one_cell():
    place = np.zeros(1, np.int32)
    kind, value = np.zeros((1, 1, 1), np.uint8), np.zeros((1, 1, 1))
    return Layout(rows=1, columns=1, row=place, column=place, layer=place, kind=kind, value=value)


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
    with pytest.raises(wl.WanderlustError, match="unknown value of what 'V'"):
        agent.plot("V")
    ucb1 = wl.Agent.for_world("prison", "ucb1")
    with pytest.raises(wl.WanderlustError, match="explorer 'ucb1' does not learn W; plot 'Q', 'behaviour', 'visits'"):
        ucb1.plot("W")
    own = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1))
    with pytest.raises(wl.WanderlustError, match="needs the map of the agent's environment; give its world"):
        own.plot()
    own.observe(0, 1, 0.0, 1, False)
    assert own.plot(world="prison").axes
    assert len(own.plot("Q", world="prison").axes) == 1, "no colour bar where all values are equal"
    with pytest.raises(wl.WanderlustError, match="has 2 actions, the agent 4"):
        own.plot(world="deep-sea")
    chain = wl.Agent.for_world("chain", "vv-ucb")
    with pytest.raises(wl.WanderlustError, match="the actions are forward, backward, stay"):
        chain.plot()


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
    assert layout_from_plain(layout_to_plain(layout), 24) is None
    assert layout_to_plain(wl.make_world("deep-sea").layout) is None
