"""Tests of the presets of `learn`: what `adaptive` changes and what it leaves, time penalties."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corridor
import wanderlust as wl
from wanderlust.agents.settings import PRESETS
from wanderlust.experiments.run import Run
from wanderlust.learning.state import TERMINAL
from wanderlust.training.adaptive import (
    LAST_WEIGHT,
    MIN_SAMPLES,
    MIN_VISITS,
    N_STAGES,
    Discovery,
    TimePenalty,
    local_initial_w,
    reduced_reach,
    time_of_most,
)

pytestmark = pytest.mark.slow


class Corridor(corridor.Corridor):
    """Six cells, four actions, and a penalty of each step at the goal."""

    def __init__(self, penalty=0.01, slip=0.0):
        super().__init__(6, n_actions=4, penalty=penalty, slip=slip, limit=90)


class KeepLoop(wl.Callback):
    """Stores the training loop."""

    def on_step(self, loop):
        self.loop = loop


def trained(env, explorer="vv-ucb", steps=300, **changes):
    keep = KeepLoop()
    agent = wl.learn(env, explorer, steps=steps, seed=3, callbacks=[keep], **{"quiet": True, **changes})
    return agent, keep.loop


# --- Time penalty --------------------------------------------------------------------------------------

different_steps = st.lists(st.integers(1, 500), min_size=MIN_SAMPLES, max_size=12, unique=True)


@given(different_steps, st.floats(1e-4, 0.5), st.floats(0.1, 100))
def test_penalty_of_rewards_on_a_decreasing_line_is_removed(steps, penalty, reward):
    estimate = TimePenalty()
    for n, step in enumerate(steps):
        assert estimate.detected == (n >= MIN_SAMPLES)
        estimate = estimate.updated(step, reward - penalty * step)
    assert estimate.per_step == pytest.approx(penalty)
    corrected = {estimate.without_penalty(step, reward - penalty * step) for step in steps}
    assert len(corrected) == 1, "bit-identical"
    assert corrected.pop() == pytest.approx(reward)
    assert estimate.without_penalty(10, 2 * reward) == pytest.approx(2 * reward + 10 * penalty)


@pytest.mark.parametrize(
    "rewards",
    [(1.0, 1.0, 1.0, 1.0), (4.0, 3.0, 2.0, 1.1), (1.0, 2.0, 3.0, 4.0), (4.0, 3.0, 2.0, 2.0)],
    ids=["constant", "nearly linear", "increasing", "last reward off the line"],
)
def test_other_rewards_are_not_changed(rewards):
    estimate = TimePenalty()
    for step, reward in enumerate(rewards, start=1):
        estimate = estimate.updated(step, reward)
        assert estimate.updated(step, reward) == estimate, "rewards at the same step are one sample"
    assert estimate.per_step == 0.0
    assert estimate.without_penalty(50, 0.7) == 0.7
    assert estimate.updated(60, 0.1) == estimate, "the decision is final"


@pytest.mark.parametrize("explorer", ["vv-ucb", "bonus", "random"])
def test_a_penalty_is_removed_from_all_terminal_rewards_and_reported(explorer, capsys):
    agent, loop = trained(Corridor(), explorer, steps=1_000, quiet=False)
    assert "terminal rewards decrease by 0.01 per step" in capsys.readouterr().err
    assert loop.time_penalty.per_step == pytest.approx(0.01)
    assert loop.recent_returns[-1] < 1.0, "reported returns include the penalty"
    assert agent.tables["target"][4, 1] == pytest.approx(1.0)
    assert agent.reward_range == pytest.approx((0.0, 1.0))
    for changes in ({"remove_time_penalty": False}, {"preset": "as_written"}):
        assert trained(Corridor(), explorer, steps=1_000, **changes)[0].tables["target"][4, 1] < 0.99
    as_written, loop = trained(Corridor(), explorer, steps=1_000, preset="as_written", remove_time_penalty=True)
    assert as_written.tables["target"][4, 1] == pytest.approx(1.0)


# --- The preset ----------------------------------------------------------------------------------------

WITH_A_WEIGHT = {"vv-ucb": "kappa", "vv-count": "kappa", "ucb1": "kappa", "bonus": "scale"}


def same_tables(one, other):
    return all(np.array_equal(table, other.tables[name]) for name, table in one.tables.items())


def test_default_preset_depends_on_the_environment():
    assert trained(Corridor(), steps=5)[0].preset == "adaptive"
    builtin, loop = trained("wanderlust/NoisyToy-v0", steps=1_500)
    assert builtin.preset == "as_written"
    assert builtin.is_stochastic
    assert loop.adapted is loop.time_penalty is None
    paper = wl.make_world("noisy-toy").defaults
    assert builtin.configured_explorer.gamma_w == paper.gamma_w == 0.9
    assert builtin.settings.learning_rate == paper.learning_rate == 0.1
    assert trained("wanderlust/NoisyToy-v0", steps=1_500, preset="adaptive")[0].fields


@pytest.mark.parametrize("explorer", list(WITH_A_WEIGHT))
def test_first_half_is_as_written_then_exploration_decreases(explorer):
    env, options = Corridor(penalty=0.0, slip=0.3), {"terminal_count": "pair"} if explorer == "vv-count" else {}
    halves = [
        trained(env, explorer, steps=500, preset=preset, budget=1_000, **options)[0]
        for preset in ("as_written", "adaptive")
    ]
    assert same_tables(*halves)
    whole, loop = trained(env, explorer, steps=1_000, **options)
    field, before = WITH_A_WEIGHT[explorer], halves[0].configured_explorer
    last = LAST_WEIGHT ** (loop.task_estimate.stage / N_STAGES)
    assert loop.task_estimate.stage == N_STAGES - 1, "the last step is part of the last stage"
    assert getattr(whole.configured_explorer, field) == pytest.approx(getattr(before, field) * last)
    if "gamma_w" in before._fields:
        assert whole.configured_explorer.gamma_w == pytest.approx(reduced_reach(0.99, 1 - 1 / N_STAGES))


def test_terminal_count_of_a_stochastic_environment():
    slippery = trained(Corridor(penalty=0.0, slip=0.3), "vv-count", steps=500, budget=1_000)[0]
    assert slippery.options["terminal_count"] == "largest"
    signals, counters = slippery.learner.outcomes.signals, slippery.learner.counters
    terminal = slippery.learner.outcomes.next_state[: counters.n_outcomes] == TERMINAL
    expected = counters.max_visits / (1 - slippery.configured_explorer.gamma_w)
    np.testing.assert_allclose(signals[slippery.spec.visitation_signal, : counters.n_outcomes][terminal], expected)
    assert "terminal_count" not in trained(Corridor(penalty=0.0), "vv-count", steps=500)[0].options


DETERMINISTIC = [(name, 0.0) for name in ("vv-ucb", "vv-count", "ucb1", "bonus", "epsilon-greedy", "thompson")]
NOT_ADAPTED = [(name, 0.3) for name in ("epsilon-greedy", "bootstrapped", "random-prior", "thompson", "random")]


@pytest.mark.parametrize(("explorer", "slip"), DETERMINISTIC + NOT_ADAPTED)
def test_as_written_if_deterministic_or_without_an_adapted_quantity(explorer, slip):
    env = Corridor(penalty=0.0, slip=slip)
    agents = [trained(env, explorer, steps=800, preset=preset)[0] for preset in ("as_written", "adaptive")]
    assert agents[1].is_stochastic == (slip > 0)
    assert same_tables(*agents)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_bonus_follows_the_scale_of_rewards(scale):
    class Scaled(Corridor):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, scale * reward, *rest

    agent = trained(Scaled(penalty=0.0), "bonus", steps=1_000)[0]
    assert agent.configured_explorer.scale == pytest.approx(0.1 * scale)
    assert trained(Scaled(penalty=0.0), "bonus", steps=1_000, scale=0.3)[0].configured_explorer.scale == 0.3
    plain = trained(Scaled(penalty=0.0), "bonus", steps=1_000, plain_sweeps=True)[0]
    assert np.array_equal(agent.tables["behaviour"], plain.tables["behaviour"]), "stored bonuses are computed again"


def test_exploration_does_not_decrease_while_rewards_or_states_are_new_or_visits_few():
    assert Discovery(pairs=20, rewards_at=10).first_step(budget=1_000) == 20 * MIN_VISITS
    assert Discovery(pairs=20, rewards_at=900).first_step(budget=2_000) == 1_800
    assert Discovery(pairs=20, states_at=900).first_step(budget=2_000) == 1_800
    assert Discovery(pairs=5, rewards_at=10, states_at=20).first_step(budget=1_000) == 500
    agent, loop = trained(Corridor(penalty=0.0, slip=0.3), steps=700)
    assert loop.discovery.pairs == (agent.visits > 0).sum() == 20
    assert loop.task_estimate.stage == 0
    # Rare states do not matter: here one of 20, but not one of 19.
    for n, expected in ((19, 19), (18, 10_001)):
        assert time_of_most(np.array([-1, *range(n), 10_000])) == expected
    assert time_of_most(np.full(3, -1)) == 0


def test_a_range_of_rewards_that_grows_by_less_than_a_tenth_is_not_new():
    agent = wl.Agent("ucb1", n_actions=3, reward_range=(0, 1), settings=wl.Settings(budget=200))
    discovery = Discovery().with_rewards(0.0, 0.0, first=True)
    found = []
    for low, high in ((1.0, 1.0), (1.05, 1.05), (-0.1, 0.2)):
        agent.observe(0, len(found), 0.0, 0, terminated=False)
        seen = discovery.with_rewards(low, high, first=False)
        discovery = seen.updated(agent, lambda: np.zeros(1, np.int64))
        found.append((discovery.low, discovery.high, discovery.pairs, discovery.rewards_at))
    assert found == [(0.0, 1.0, 1, 1), (0.0, 1.05, 2, 1), (-0.1, 1.05, 3, 3)]


@pytest.mark.parametrize("reward_range", [None, (0.0, 1.0)])
def test_exploration_does_not_decrease_before_a_reward_is_found(reward_range):
    """Also if the range of rewards is given, and although no new pairs are found any more."""

    class Late(Corridor):
        def __init__(self, first):
            super().__init__(penalty=0.0, slip=0.3)
            self.first, self.steps = first, 0

        def step(self, action):
            observation, reward, *rest = super().step(action)
            self.steps += 1
            return observation, reward * (self.steps >= self.first), *rest

    stages = []
    for first in (0, 1_200, 10_000):
        loop = trained(Late(first), steps=2_000, reward_range=reward_range)[1]
        assert loop.discovery.high == (first < 2_000)
        stages.append(loop.task_estimate.stage)
    assert stages == [N_STAGES - 1, 0, 0]


def test_initial_w_with_bins_is_that_of_the_own_state():
    env = wl.tabular(gym.make("MountainCar-v0"), bins=(4, 4))
    initial = [
        trained(env, steps=200, **changes)[0].configured_explorer.initial
        for changes in ({}, {"preset": "as_written"}, {"initial_margin": 1.0})
    ]
    assert initial[0] == pytest.approx(local_initial_w(3, 0.99))
    assert min(initial[1:]) > 10_000


@pytest.mark.parametrize("preset", PRESETS)
def test_the_preset_is_saved(preset, tmp_path):
    agent = wl.learn(Corridor(slip=0.3), steps=300, preset=preset, save=tmp_path / "a.npz", quiet=True)
    loaded = wl.Agent.load(tmp_path / "a.npz")
    assert (loaded.preset, loaded.configured_explorer) == (preset, agent.configured_explorer)


# --- The budget ----------------------------------------------------------------------------------------


def test_a_larger_budget_increases_exploration_again(tmp_path, capsys):
    env, path = Corridor(penalty=0.0, slip=0.3), tmp_path / "a.npz"
    short = wl.learn(env, steps=2_000, seed=3, quiet=True, save=path)
    same = wl.learn(env, steps=2_100, resume=path)
    assert "the budget of this training is 2,000 steps" in capsys.readouterr().err
    assert same.configured_explorer.kappa <= short.configured_explorer.kappa
    longer = wl.learn(env, steps=2_100, budget=5_000, resume=path)
    assert "the budget" not in capsys.readouterr().err
    assert longer.configured_explorer.kappa == pytest.approx(100.0)
    with pytest.raises(wl.WanderlustError, match="budget"):
        wl.learn(env, steps=2_100, budget=1_500, resume=path)


# --- Runs ----------------------------------------------------------------------------------------------


def test_preset_of_runs():
    lake = {"kind": "environment", "world": "FrozenLake-v1", "explorer": "ucb1", "settings": {"steps": 3_000}}
    runs = [Run(**lake, preset=preset) for preset in PRESETS]
    assert Run(**lake) == runs[PRESETS.index("adaptive")]
    assert len({run.key for run in runs}) == len({run.train().visits.tobytes() for run in runs}) == 3


def test_runs_in_a_model_have_exact_returns_and_the_presets():
    lake = {"world": "FrozenLake-v1", "explorer": "ucb1", "measure": "discounted-returns"}
    lake["settings"] = {"steps": 6_000, "evaluate_every": 300}
    written, adaptive = (Run.of_model(**lake, preset=preset).train() for preset in ("as_written", "adaptive"))
    assert written.optimal_return == pytest.approx(0.542, abs=1e-3)
    assert np.array_equal(written.returns[:10], adaptive.returns[:10]), "the first half is the same"
    assert not np.array_equal(written.visits, adaptive.visits)
    assert (written.returns <= written.optimal_return + 1e-9).all()
    cliff = {**lake, "world": "CliffWalking-v1", "explorer": "vv-ucb", "settings": {"steps": 900}}
    result = Run.of_model(**cliff).train()
    assert result.returns[-1] == pytest.approx(float(result.optimal_return))
