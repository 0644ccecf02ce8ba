"""The paper's worlds against published values and recorded tables, and properties of all worlds."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import run_python
from random_mdps import random_mdps
from wanderlust.core.errors import InvalidSetting, InvalidWorld, UnknownName
from wanderlust.core.planning import expected_reward, optimal_values, reachable_states
from wanderlust.worlds import (
    CellKind,
    World,
    check_mdp,
    check_world,
    make_world,
    register_world,
    slip_mdp,
    with_slips,
    world_names,
    world_options,
)
from wanderlust.worlds import registry as registry_module

GOLDEN = Path(__file__).parents[1] / "golden"


def optimal_return(world: World) -> float:
    return float(world.mdp.start @ optimal_values(world.mdp, discount=0.99).v)


def transition_matrix(mdp) -> np.ndarray:
    """Return [action, state, next state], terminal transitions included, as in the recorded models."""
    matrix = np.zeros((mdp.n_actions, mdp.n_states, mdp.n_states))
    s, a, _ = np.indices(mdp.next_state.shape)
    np.add.at(matrix, (a, s, mdp.next_state), mdp.probability)
    return matrix


def assert_same_arrays(actual: World, expected: World) -> None:
    for one, other in zip(actual.mdp, expected.mdp, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "states", "reachable", "optimum", "horizons", "budget"),
    [
        ("toy", 25, 25, 0.922745, (11, 22), 2_000),
        ("prison", 25, 23, 4.527241, (11, 22), 1_000),
        ("wall", 2500, 2425, 2904.17253, (330, 660), 100_000),
        ("deep-gridworld", 55, 55, 1.723146, (55, 110), 10_000),
        ("taxi", 336, 252, 11.320789, (33, 66), 20_000),
        ("deep-sea", 5000, 2550, 0.301670, (50, None), 500_000),
        ("noisy-toy", 25, 25, None, (15, None), 1_500),
        ("noisy-prison", 25, 23, 4.2385, (25, None), 5_000),
        ("noisy-deep-gridworld", 55, 55, 1.6038, (55, None), 10_000),
    ],
)
def test_sizes_optima_and_defaults_of_the_paper(name, states, reachable, optimum, horizons, budget):
    world = make_world(name)
    assert world.n_states == states
    assert reachable_states(world.mdp).sum() == reachable
    assert (world.defaults.horizon, world.defaults.long_horizon) == horizons
    assert world.defaults.budget == budget
    digits = 5e-5 if name.startswith("noisy") else 5e-6 if name == "wall" else 5e-7
    assert optimum is None or optimal_return(world) == pytest.approx(optimum, rel=0, abs=digits)


def test_optima_of_the_published_code_in_stochastic_worlds():
    assert round(optimal_return(make_world("noisy-prison", step_penalty=0.0)), 4) == 4.3552
    assert round(float(optimal_values(make_world("noisy-deep-gridworld").mdp).v[0]), 4) == 1.5606


@pytest.mark.parametrize(
    ("file", "name", "options"),
    [
        ("env_toy", "toy", {}),
        ("env_prison", "prison", {}),
        ("env_deepgrid", "deep-gridworld", {}),
        ("env_ds10", "deep-sea", {"depth": 10}),
    ],
)
def test_transitions_equal_those_of_the_published_code(file, name, options):
    recorded = np.load(GOLDEN / f"{file}.npz")
    world = make_world(name, **options)
    np.testing.assert_array_equal(world.mdp.next_state[:, :, 0], recorded["NS"])
    np.testing.assert_array_equal(world.mdp.reward[:, :, 0], recorded["R"])
    np.testing.assert_array_equal(world.mdp.terminal[:, :, 0], recorded["D"].astype(bool))
    assert world.mdp.deterministic
    # κ depends on r_max, which the published code computes without the step penalty.
    assert world.r_max == world.reward_range[1] == recorded["rewardUB"].item()
    cells = recorded["allstates"] - (1, 1, 0)[: recorded["allstates"].shape[1]]
    np.testing.assert_array_equal(world.layout.row, cells[:, 0])
    np.testing.assert_array_equal(world.layout.column, cells[:, 1])
    is_wall = world.layout.kind[0] == CellKind.WALL
    np.testing.assert_array_equal(is_wall, recorded["isopen"] == 0)


@pytest.mark.parametrize("name", ["toy", "prison"])
def test_slips_equal_those_of_the_published_code(name):
    recorded = np.load(GOLDEN / "models.npz")
    # The recorded model of `prison` has no step penalty.
    world = make_world(f"noisy-{name}", step_penalty=0.0)
    np.testing.assert_allclose(transition_matrix(world.mdp), recorded[f"{name}_P"], atol=1e-15)
    np.testing.assert_allclose(expected_reward(world.mdp), recorded[f"{name}_Rsa"], atol=1e-15)


def test_the_chain_equals_that_of_the_published_code():
    recorded = np.load(GOLDEN / "models.npz")
    world = make_world("chain")
    np.testing.assert_allclose(transition_matrix(world.mdp), recorded["chain27_P"], atol=1e-15)
    np.testing.assert_allclose(optimal_values(world.mdp).v, recorded["chain27_V_STAR"], rtol=1e-12)
    assert reachable_states(world.mdp).all()
    defaults = world.defaults
    assert (defaults.horizon, defaults.budget, defaults.replay) == (200_000, 200_000, "none")
    assert (defaults.learning_rate, defaults.gamma_w) == (0.1, 0.999)
    assert (defaults.epsilon_start, defaults.epsilon_end) == (0.1, 0.1)


@pytest.mark.parametrize("depth", [2, 5, 10, 59])
def test_deep_sea_of_any_depth(depth):
    world = make_world("deep-sea", depth=depth)
    assert reachable_states(world.mdp).sum() == depth * (depth + 1)
    assert (world.defaults.horizon, world.defaults.budget) == (depth, 500_000)
    treasure = 0.99 ** (depth - 1) - 0.01 / depth * (1 - 0.99 ** (depth - 1)) / (1 - 0.99)
    for flag, optimum in (("treasure", treasure), ("bomb", 0.0), ("random", treasure / 2)):
        assert optimal_return(make_world("deep-sea", depth=depth, flag=flag)) == pytest.approx(optimum)


def test_the_toy_example_and_its_prison():
    world = make_world("toy-example")
    assert world.defaults.horizon == 5
    assert world.state_name(6) == "(3, 1)"
    # (3, 2) is between two terminal treasures, so it can be entered only from the prison.
    assert np.flatnonzero(~reachable_states(world.mdp)).tolist() == [7]
    assert reachable_states(make_world("toy-example", escape=1e-8).mdp).all()
    non_terminal = make_world("toy-example", terminal=False)
    assert not non_terminal.mdp.terminal.any()
    assert reachable_states(non_terminal.mdp).all()
    np.testing.assert_array_equal(non_terminal.mdp.reward, world.mdp.reward)


def test_taxi_picks_up_passengers_and_receives_rewards():
    world = make_world("taxi")
    assert world.state_name(0) == "(1, 1) empty"
    up, at_row_2 = 2, (1 * 7 + 2) * 8
    assert world.state_name(int(world.mdp.next_state[at_row_2, up, 0])) == "(1, 3) with 1"
    goal = 6 * 8
    assert world.mdp.reward[goal : goal + 8, 0, 0].tolist() == [0, 1, 1, 3, 1, 3, 3, 15]
    assert world.mdp.terminal[goal : goal + 8].all()
    assert world.layout.kind[0, 0, 2] == CellKind.PASSENGER
    assert world.layout.kind[4, 0, 2] == CellKind.FLOOR


@pytest.mark.parametrize("name", world_names())
def test_every_world_is_valid_and_can_be_recreated_from_its_options(name):
    world = make_world(name)
    check_world(world)
    assert world.name == name
    defaults = {option.name: option.default for option in world_options(name) if option.name != "slips"}
    explicit = make_world(name, **json.loads(json.dumps(defaults)))
    noisy = with_slips(world, success=0.8, random=0.2, stay=0.0)
    check_world(noisy)
    twice = with_slips(noisy)
    for original in (explicit, noisy, twice):
        again = make_world(original.name, **json.loads(json.dumps(original.options)))
        assert again.defaults == original.defaults
        assert_same_arrays(again, original)
    assert_same_arrays(explicit, world)
    assert world.defaults == explicit.defaults


def test_every_option_is_documented():
    options = [option for name in (*world_names(), "map") for option in world_options(name)]
    assert [option.name for option in options if not option.meaning or option.type is None] == []


probabilities = st.tuples(*[st.integers(0, 10)] * 3).filter(any).map(lambda t: tuple(x / sum(t) for x in t))


@given(random_mdps(), probabilities)
def test_slips_mix_the_three_kinds_of_outcome(mdp, mix):
    success, random, stay = mix
    slipping = slip_mdp(mdp, success=success, random=random, stay=stay)
    assert np.abs(slipping.probability.sum(axis=2) - 1).max() <= 1e-12
    matrix = transition_matrix(mdp)
    expected = success * matrix + random * matrix.mean(axis=0) + stay * np.eye(mdp.n_states)
    np.testing.assert_allclose(transition_matrix(slipping), expected, atol=1e-14)
    for mean in (expected_reward, lambda of: (of.probability * of.terminal).sum(axis=2)):
        mixed = (success + stay) * mean(mdp) + random * mean(mdp).mean(axis=1, keepdims=True)
        np.testing.assert_allclose(mean(slipping), mixed, atol=1e-14)
    for s, a in np.ndindex(mdp.n_states, mdp.n_actions):
        rows = (slipping.next_state[s, a], slipping.terminal[s, a], slipping.reward[s, a], slipping.probability[s, a])
        outcomes = [row[:3] for row in zip(*rows, strict=True) if row[3] > 0]
        assert len(set(outcomes)) == len(outcomes)


def test_slips_set_the_defaults_of_the_paper_and_certain_success_changes_nothing():
    noisy = make_world("noisy-toy").defaults
    assert (noisy.learning_rate, noisy.gamma_w, noisy.replay) == (0.1, 0.9, "full")
    chain = make_world("chain")
    certain = with_slips(chain, success=1.0, random=0.0, stay=0.0)
    assert_same_arrays(certain, chain)
    assert certain.defaults.gamma_w == 0.999


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("tyo", {}, UnknownName, "Did you mean 'toy'"),
        ("toy", {"escape": 0.1}, UnknownName, "unknown option 'escape' of world 'toy'"),
        ("taxi", {"depth": 3}, UnknownName, "depth"),
        ("deep-sea", {"depth": 1}, InvalidSetting, "depth must be a whole number from 2 to 1,000, got 1"),
        ("deep-sea", {"depth": 10**9}, InvalidSetting, "depth must be"),
        ("deep-sea", {"flag": "bom"}, UnknownName, "Did you mean 'bomb'"),
        ("chain", {"length": 1}, InvalidSetting, "length must be"),
        ("chain", {"p": 1.5}, InvalidSetting, "p must be in"),
        ("prison", {"escape": -0.1}, InvalidSetting, "escape must be in"),
        ("prison", {"step_penalty": 0.01}, InvalidSetting, "step_penalty must be in"),
        ("prison", {"step_penalty": float("nan")}, InvalidSetting, "step_penalty must be"),
        ("toy-example", {"terminal": 1}, InvalidSetting, "terminal must be True or False"),
        ("noisy-toy", {"success": 0.5}, InvalidSetting, "must sum to 1"),
        ("toy", {"slips": [0.9, 0.1]}, InvalidSetting, "slips must be three probabilities"),
    ],
)
def test_invalid_names_and_options(name, options, error, message):
    with pytest.raises(error, match=message):
        make_world(name, **options)


TOY = make_world("toy")


def arrays(**changed):
    return {"mdp": TOY.mdp._replace(**changed)}


def entry(name, index, value):
    array = getattr(TOY.mdp, name).copy()
    array[index] = value
    return arrays(**{name: array})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (entry("probability", (3, 1, 0), 0.5), "got 0.5 at state 3, action 1"),
        (entry("probability", (3, 1, 0), np.nan), "probability must be in [0, 1], got nan"),
        (entry("next_state", (2, 0, 0), 25), "next_state must be from 0 to 24, got 25 at state 2, action 0"),
        (entry("reward", (2, 0, 0), np.inf), "reward must be finite"),
        (entry("start", 0, 0.0), "start must sum to 1, got 0"),
        (arrays(start=np.ones(3)), "start must have the shape (25,)"),
        (arrays(reward=np.zeros((25, 4, 2))), "reward must have the shape (25, 4, 1)"),
        (arrays(reward=np.zeros((25, 4, 1), dtype=np.float32)), "reward must be an array of float64"),
        (arrays(next_state=np.zeros((25, 4), dtype=np.int32)), "[state, action, outcome]"),
        (arrays(next_state=np.zeros((25, 4, 1), dtype=np.int32)), "no action leads away"),
        ({"action_names": ("left",)}, "action_names must have 4 names"),
        ({"mdp": None}, "mdp must be a TabularMDP"),
        ({"defaults": {}}, "defaults must be of the type Defaults"),
        ({"layout": 3}, "layout must be of the type Layout"),
        ({"options": 3}, "options must be of the type Mapping"),
        ({"r_max": np.inf}, "r_max"),
        ({"layout": make_world("wall").layout}, "each of 25 states"),
        ({"defaults": replace(TOY.defaults, horizon=0)}, "horizon must be a whole number at least 1"),
        ({"defaults": replace(TOY.defaults, discount=1.0)}, "discount must be in [0, 1)"),
        ({"defaults": replace(TOY.defaults, epsilon_end=0.5, epsilon_start=0.4)}, "epsilon_end must be in [0, 0.4]"),
        ({"layout": replace(TOY.layout, row=np.zeros(25, dtype=np.int32))}, "two states in one cell"),
    ],
)
def test_check_world_names_the_problem(change, message):
    with pytest.raises(InvalidWorld, match=re.escape(message)) as caught:
        check_world(replace(TOY, **change))
    assert str(caught.value).startswith("world 'toy': ")


@given(random_mdps())
def test_check_mdp_accepts_starts_that_can_be_left(mdp):
    leaves_start = reachable_states(mdp).sum() > (mdp.start > 0).sum()
    if leaves_start or mdp.n_states == 1:
        check_mdp(mdp)


def test_user_defined_worlds(monkeypatch):
    monkeypatch.setattr(registry_module, "_FACTORIES", dict(registry_module._FACTORIES))

    def corridor(*, cells: Annotated[int, "number of cells"] = 3) -> World:
        return make_world("S" + "." * (cells - 2) + "A\n\nA = treasure 1\n")

    register_world("corridor", corridor)
    world = make_world("corridor", cells=9)
    assert (world.name, world.n_states, world.options) == ("corridor", 9, {"cells": 9})
    assert "corridor" in world_names()
    assert world_options("corridor")[0].meaning == "number of cells"
    for name, factory, message in (
        ("corridor", corridor, "exists"),
        ("other", lambda cells: TOY, "needs a default"),
        ("other", lambda **options: TOY, "must be a named parameter"),
        ("a.txt", corridor, "name must be"),
    ):
        with pytest.raises(InvalidSetting, match=message):
            register_world(name, factory)
    register_world("broken", lambda: replace(TOY, **entry("reward", (0, 0, 0), np.nan)))
    with pytest.raises(InvalidWorld, match="'broken': reward must be finite"):
        make_world("broken")


def test_worlds_load_neither_numba_nor_scipy():
    code = "import sys, wanderlust.worlds as w, wanderlust.core.planning; w.make_world('noisy-prison')"
    code += "; assert not {'numba', 'scipy'} & set(sys.modules)"
    assert run_python(code).stderr == ""
