"""Tests of the adaptive settings of `learn`: time penalties, idle actions and stochastic environments."""

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import wanderlust as wl
from wanderlust.learning.adjustments import idle_initial_value
from wanderlust.training.adaptive import TaskEstimate, adapted_values
from wanderlust.training.idle_actions import DELAY_STEPS
from wanderlust.training.time_penalty import MIN_SAMPLES, TimePenalty


class Corridor(gym.Env):
    """Six cells; the last gives a reward that decreases with the step; two of the four actions are idle."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(4)

    def __init__(self, penalty=0.01, slip=0.0):
        self.penalty, self.slip = penalty, slip

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = self.length = 0
        return 0, {}

    def step(self, action):
        self.length += 1
        move = {0: -1, 1: 1}.get(int(action), 0) if self.np_random.random() >= self.slip else 0
        self.cell = min(max(self.cell + move, 0), 5)
        terminated = self.cell == 5
        reward = 1.0 - self.penalty * self.length if terminated else 0.0
        return self.cell, reward, terminated, not terminated and self.length == 90, {}


class KeepLoop(wl.Callback):
    """Stores the training loop."""

    def on_step(self, loop):
        self.loop = loop


def trained(env, explorer="vv-ucb", steps=300, **changes):
    keep = KeepLoop()
    agent = wl.learn(env, explorer, steps=steps, seed=3, callbacks=[keep], quiet=True, **changes)
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
    assert estimate.per_step == 0.0
    assert estimate.without_penalty(50, 0.7) == 0.7
    assert estimate.updated(60, 0.1) == estimate, "the decision is final"


def test_rewards_at_the_same_step_are_one_sample():
    estimate = TimePenalty()
    for _ in range(10):
        estimate = estimate.updated(7, 0.5)
    assert estimate == TimePenalty(((7, 0.5),))


def test_time_penalty_is_reported(capsys):
    wl.learn(Corridor(), steps=300, seed=3)
    assert "terminal rewards decrease by 0.01 per step" in capsys.readouterr().err
    wl.learn(Corridor(penalty=0.0), steps=300, seed=3)
    assert "per step" not in capsys.readouterr().err


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count", "bonus", "epsilon-greedy", "random"])
def test_penalty_is_removed_from_earlier_terminal_rewards(explorer):
    agent, loop = trained(Corridor(), explorer, steps=1_000)
    assert loop.time_penalty.per_step == pytest.approx(0.01)
    assert loop.recent_returns[-1] < 1.0, "reported returns include the penalty"
    assert agent.tables["target"][4, 1] == pytest.approx(1.0)
    assert agent.reward_range == pytest.approx((0.0, 1.0))
    without = trained(Corridor(), explorer, steps=1_000, adapt=False)[0]
    assert without.tables["target"][4, 1] < 0.99


def test_stored_terminal_rewards_are_corrected_when_the_penalty_is_detected():
    class TerminalRewards(wl.Callback):
        def on_step(self, loop):
            if loop.time_penalty.detected:
                rows = loop.agent.learner.outcomes.signals[0, : loop.agent.learner.counters.n_outcomes]
                self.stored = rows[rows > 0]
                return False
            return None

    rewards = TerminalRewards()
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    wl.learn(env, steps=3_000, seed=0, callbacks=[rewards], quiet=True)
    assert len(rewards.stored) > 1
    np.testing.assert_allclose(rewards.stored, 1.0)


# --- Idle actions --------------------------------------------------------------------------------------


def test_initial_w_of_idle_actions_is_lower():
    assert idle_initial_value(100.0, 0.9, DELAY_STEPS, 0, 0) == 100.0
    assert idle_initial_value(100.0, 0.9, DELAY_STEPS, 9, 0) == 100.0
    assert idle_initial_value(100.0, 0.9, DELAY_STEPS, 9, 3) == pytest.approx(100 * 0.9 ** (DELAY_STEPS * 0.3))
    assert idle_initial_value(100.0, 0.9, DELAY_STEPS, 9, 9) == pytest.approx(100 * 0.9 ** (DELAY_STEPS * 0.9))


def test_initial_w_of_untried_actions_follows_the_idle_counts():
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    agent, loop = trained(env, steps=60)
    visits, w = agent.visits, agent.tables["visitation"]
    moves = np.array([0, 1, 2])
    visited, idle = loop.idle_actions.counts
    assert (visited == (visits > 0).sum(axis=0)).all()
    assert idle[[0, 1]].sum() == 0, "turning is never idle"
    untried = np.flatnonzero(visits[loop.next_state] == 0)
    assert len(untried)
    for action in untried:
        initial = agent.configured_explorer.initial
        expected = idle_initial_value(initial, 0.99, DELAY_STEPS, visited[action], idle[action])
        assert w[loop.next_state, action] == pytest.approx(expected)
    assert visits[:, moves].sum() > visits[:, 3:].sum(), "actions with an effect are tried first"


def test_every_action_is_tried_eventually():
    agent, loop = trained(Corridor(), steps=200)
    assert (agent.visits[:5] > 0).all()
    assert loop.idle_actions.counts.tolist() == [[5, 5, 5, 5], [1, 0, 5, 5]]


def test_idle_actions_are_not_deferred_in_stochastic_environments():
    class UntilStochastic(wl.Callback):
        def on_step(self, loop):
            self.loop = loop
            return not loop.task_estimate.is_stochastic

    until = UntilStochastic()
    agent = wl.learn(Corridor(slip=0.5), steps=400, seed=3, callbacks=[until], quiet=True)
    n_states, untried = agent.env.n_states, agent.visits == 0
    assert until.loop.task_estimate.is_stochastic
    assert until.loop.idle_actions.counts[1].any()
    assert untried[:n_states].any()
    assert (agent.tables["visitation"][:n_states][untried[:n_states]] == agent.configured_explorer.initial).all()


@pytest.mark.parametrize(
    ("env", "changes"),
    [
        (gym.make("wanderlust/Prison-v0"), {}),
        (wl.tabular(gym.make("MountainCar-v0"), bins=(4, 4)), {}),
        (Corridor(), {"initial_bound": "everywhere"}),
        (Corridor(), {"adapt": False}),
        (Corridor(), {"explorer": "vv-count"}),
    ],
    ids=["built-in world", "bins", "initial_bound given", "adapt=False", "another explorer"],
)
def test_idle_actions_are_not_deferred_elsewhere(env, changes):
    assert trained(env, steps=20, **changes)[1].idle_actions is None


@pytest.mark.parametrize("stop", [30, 150])
def test_estimates_are_restored_from_checkpoints(stop, tmp_path):
    whole, loop = trained(Corridor(), steps=400)
    wl.learn(Corridor(), steps=stop, seed=3, quiet=True, save=tmp_path / "agent.npz", budget=400)
    keep = KeepLoop()
    resumed = wl.learn(Corridor(), steps=400, quiet=True, resume=tmp_path / "agent.npz", callbacks=[keep])
    assert keep.loop.time_penalty == loop.time_penalty
    assert np.array_equal(keep.loop.idle_actions.counts, loop.idle_actions.counts)
    for name, table in whole.tables.items():
        assert np.array_equal(table, resumed.tables[name]), name


# --- Stochastic environments ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("binned", "weights", "gammas"), [(False, (0.02, 0.0004), (0.8, 0.0)), (True, (0.2, 0.0006), (0.8, 0.8))]
)
def test_weight_and_gamma_w_decrease_once_rewards_differ(binned, weights, gammas):
    agent = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1))
    names = ("kappa", "gamma_w", "initial_bound")
    equal_rewards = adapted_values(agent, TaskEstimate((0.0, 0.0), True, 0), names, binned=binned)
    paper = agent.settings.problem(4, (0.0, 0.0)).value_range
    assert equal_rewards == {"kappa": paper, "initial_bound": "here"}
    paper = agent.settings.problem(4, (0.0, 1.0)).value_range
    tasks = [TaskEstimate((0.0, 1.0), True, stage) for stage in range(101)]
    stages = [adapted_values(agent, task, names, binned=binned) for task in tasks]
    weight = [options["kappa"] * (1 - options["gamma_w"]) / paper for options in stages]
    gamma_w = [options["gamma_w"] for options in stages]
    assert weight == sorted(weight, reverse=True)
    assert gamma_w == sorted(gamma_w, reverse=True)
    assert (weight[0], weight[-1]) == pytest.approx(weights)
    assert (gamma_w[0], gamma_w[-1]) == pytest.approx(gammas)
    assert adapted_values(agent, TaskEstimate((0.0, 1.0), False, 0), names, binned=binned) == {}


def test_weight_does_not_depend_on_a_given_gamma_w():
    agent = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1), gamma_w=0.95)
    values = adapted_values(agent, TaskEstimate((0.0, 1.0), True, 0), ("kappa", "initial_bound"), binned=False)
    assert sorted(values) == ["initial_bound", "kappa"]
    paper = agent.settings.problem(4, (0.0, 1.0)).value_range
    assert values["kappa"] * (1 - 0.95) / paper == pytest.approx(0.02)


def test_stochastic_builtin_worlds_keep_the_paper_settings():
    agent, loop = trained("wanderlust/NoisyToy-v0", steps=1_500)
    assert agent.is_stochastic
    assert loop.adapted_options == ()
    paper = wl.make_world("noisy-toy").defaults
    assert agent.configured_explorer.gamma_w == paper.gamma_w == 0.9
    assert agent.settings.learning_rate == paper.learning_rate == 0.1
