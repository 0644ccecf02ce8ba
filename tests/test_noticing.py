"""What `learn` notices of an environment: rewards that fall with the clock, and actions that mostly do nothing."""

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import wanderlust as wl
from wanderlust.learning.adjustments import idle_start
from wanderlust.learning.state import N_MULTI
from wanderlust.training.adaptive import TaskEstimate, options_for
from wanderlust.training.idle_actions import DETOUR
from wanderlust.training.time_penalty import ENOUGH, TimePenalty


class Hurry(gym.Env):
    """Six cells in a row, the last pays less the later it is reached; of four actions two do nothing."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(4)

    def __init__(self, loss=0.01, slip=0.0):
        self.loss, self.slip = loss, slip

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = self.length = 0
        return 0, {}

    def step(self, action):
        self.length += 1
        move = {0: -1, 1: 1}.get(int(action), 0) if self.np_random.random() >= self.slip else 0
        self.cell = min(max(self.cell + move, 0), 5)
        found = self.cell == 5
        reward = 1.0 - self.loss * self.length if found else 0.0
        return self.cell, reward, found, not found and self.length == 90, {}


class Last(wl.Callback):
    """Keeps the loop."""

    def on_step(self, loop):
        self.loop = loop


def lesson_of(env, explorer="vv-ucb", steps=300, **changes):
    last = Last()
    agent = wl.learn(env, explorer, steps=steps, seed=3, callbacks=[last], quiet=True, **changes)
    return agent, last.loop


# --- The clock -----------------------------------------------------------------------------------------

steps_apart = st.lists(st.integers(1, 500), min_size=ENOUGH, max_size=12, unique=True)


@given(steps_apart, st.floats(1e-4, 0.5), st.floats(0.1, 100))
def test_rewards_on_a_falling_line_are_worth_what_they_were_at_once(steps, loss, reward):
    clock = TimePenalty()
    for n, step in enumerate(steps):
        assert clock.falls == (n >= ENOUGH)
        clock = clock.after(step, reward - loss * step)
    assert clock.per_step == pytest.approx(loss)
    worths = {clock.at_once(step, reward - loss * step) for step in steps}
    assert len(worths) == 1, "to the last bit"
    assert worths.pop() == pytest.approx(reward)
    assert clock.at_once(10, 2 * reward) == pytest.approx(2 * reward + 10 * loss)


@pytest.mark.parametrize(
    "rewards",
    [(1.0, 1.0, 1.0, 1.0), (4.0, 3.0, 2.0, 1.1), (1.0, 2.0, 3.0, 4.0), (4.0, 3.0, 2.0, 2.0)],
    ids=["constant", "nearly", "rising", "not the last"],
)
def test_other_rewards_are_worth_what_is_paid(rewards):
    clock = TimePenalty()
    for step, reward in enumerate(rewards, start=1):
        clock = clock.after(step, reward)
    assert clock.per_step == 0.0
    assert clock.at_once(50, 0.7) == 0.7
    assert clock.after(60, 0.1) == clock, "once ruled out, it stays so"


def test_ends_at_the_same_step_tell_nothing():
    clock = TimePenalty()
    for _ in range(10):
        clock = clock.after(7, 0.5)
    assert clock == TimePenalty(((7, 0.5),))


def test_the_user_is_told_of_the_clock(capsys):
    wl.learn(Hurry(), steps=300, seed=3)
    assert "at the end of an episode fall by 0.01 with every step" in capsys.readouterr().err
    wl.learn(Hurry(loss=0.0), steps=300, seed=3)
    assert "with every step" not in capsys.readouterr().err


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count", "bonus", "epsilon-greedy", "random"])
def test_ends_paid_earlier_count_as_those_after_the_clock_was_noticed(explorer):
    agent, loop = lesson_of(Hurry(), explorer, steps=1_000)
    assert loop.clock.per_step == pytest.approx(0.01)
    assert loop.recent_returns[-1] < 1.0, "what is reported is what was paid"
    assert agent.tables["target"][4, 1] == pytest.approx(1.0)
    assert agent.reward_range == pytest.approx((0.0, 1.0))
    never = lesson_of(Hurry(), explorer, steps=1_000, adapt=False)[0]
    assert never.tables["target"][4, 1] < 0.99


def test_all_are_repaid_the_moment_the_clock_is_noticed():
    class Ends(wl.Callback):
        def on_step(self, loop):
            if loop.clock.falls:
                rows = loop.agent.learner.row_floats[2, : loop.agent.learner.numbers[1]]
                self.paid = rows[rows > 0]
                return False
            return None

    ends = Ends()
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    wl.learn(env, steps=3_000, seed=0, callbacks=[ends], quiet=True)
    assert len(ends.paid) > 1
    np.testing.assert_allclose(ends.paid, 1.0)


# --- Idle actions --------------------------------------------------------------------------------------


def test_w_starts_lower_for_what_mostly_does_nothing():
    assert idle_start(100.0, 0.9, DETOUR, 0, 0) == 100.0
    assert idle_start(100.0, 0.9, DETOUR, 9, 0) == 100.0
    assert idle_start(100.0, 0.9, DETOUR, 9, 3) == pytest.approx(100 * 0.9 ** (DETOUR * 0.3))
    assert idle_start(100.0, 0.9, DETOUR, 9, 9) == pytest.approx(100 * 0.9 ** (DETOUR * 0.9))


def test_untried_actions_start_where_the_idleness_of_their_kind_says():
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    agent, loop = lesson_of(env, steps=60)
    visits, w = agent.visits, agent.tables["visitation"]
    moves = np.array([0, 1, 2])
    tried, idle = loop.idleness.counts
    assert (tried == (visits > 0).sum(axis=0)).all()
    assert idle[[0, 1]].sum() == 0, "turning always does something"
    untried = np.flatnonzero(visits[loop.next_state] == 0)
    assert len(untried)
    for action in untried:
        expected = idle_start(agent.rule.initial, 0.99, DETOUR, tried[action], idle[action])
        assert w[loop.next_state, action] == pytest.approx(expected)
    assert visits[:, moves].sum() > visits[:, 3:].sum(), "what does something is tried first"


def test_everything_is_tried_in_the_end():
    agent, loop = lesson_of(Hurry(), steps=200)
    assert (agent.visits[:5] > 0).all()
    assert loop.idleness.counts.tolist() == [[5, 5, 5, 5], [1, 0, 5, 5]]


def test_idle_actions_do_not_wait_once_chance_was_met():
    class UntilChance(wl.Callback):
        def on_step(self, loop):
            self.loop = loop
            return not loop.expected.is_stochastic

    met = UntilChance()
    agent = wl.learn(Hurry(slip=0.5), steps=400, seed=3, callbacks=[met], quiet=True)
    known, untried = agent.env.n_states, agent.visits == 0
    assert met.loop.expected.is_stochastic
    assert met.loop.idleness.counts[1].any()
    assert untried[:known].any()
    assert (agent.tables["visitation"][:known][untried[:known]] == agent.rule.initial).all()


@pytest.mark.parametrize(
    ("env", "changes"),
    [
        (gym.make("wanderlust/Prison-v0"), {}),
        (wl.tabular(gym.make("MountainCar-v0"), bins=(4, 4)), {}),
        (Hurry(), {"initial_bound": "everywhere"}),
        (Hurry(), {"adapt": False}),
        (Hurry(), {"explorer": "vv-count"}),
    ],
    ids=["a world of ours", "bins", "the start of W given", "not to adapt", "another explorer"],
)
def test_where_nothing_waits(env, changes):
    assert lesson_of(env, steps=20, **changes)[1].idleness is None


@pytest.mark.parametrize("stop", [30, 150])
def test_what_was_noticed_is_kept_in_files(stop, tmp_path):
    whole, loop = lesson_of(Hurry(), steps=400)
    wl.learn(Hurry(), steps=stop, seed=3, quiet=True, save=tmp_path / "agent.npz", budget=400)
    last = Last()
    again = wl.learn(Hurry(), steps=400, quiet=True, resume=tmp_path / "agent.npz", callbacks=[last])
    assert last.loop.clock == loop.clock
    assert np.array_equal(last.loop.idleness.counts, loop.idleness.counts)
    for name, table in whole.tables.items():
        assert np.array_equal(table, again.tables[name]), name


# --- Chance --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_bins", "weights", "discounts"), [(False, (0.02, 0.0004), (0.8, 0.0)), (True, (0.2, 0.0006), (0.8, 0.8))]
)
def test_exploration_weighs_less_and_less_once_there_is_something_to_choose_from(in_bins, weights, discounts):
    agent = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1))
    names = ("kappa", "gamma_w", "initial_bound")
    nothing_yet = options_for(agent, TaskEstimate((0.0, 0.0), True, 0), names, in_bins=in_bins)
    paper = agent.settings.problem(4, (0.0, 0.0)).value_range
    assert nothing_yet == {"kappa": paper, "initial_bound": "here"}
    paper = agent.settings.problem(4, (0.0, 1.0)).value_range
    stages = [options_for(agent, TaskEstimate((0.0, 1.0), True, stage), names, in_bins=in_bins) for stage in range(101)]
    next_weighs = [options["kappa"] * (1 - options["gamma_w"]) / paper for options in stages]
    looks_ahead = [options["gamma_w"] for options in stages]
    assert next_weighs == sorted(next_weighs, reverse=True)
    assert looks_ahead == sorted(looks_ahead, reverse=True)
    assert (next_weighs[0], next_weighs[-1]) == pytest.approx(weights)
    assert (looks_ahead[0], looks_ahead[-1]) == pytest.approx(discounts)
    assert options_for(agent, TaskEstimate((0.0, 1.0), False, 0), names, in_bins=in_bins) == {}


def test_the_next_step_weighs_the_same_however_far_the_caller_lets_w_look():
    agent = wl.Agent("vv-ucb", n_actions=4, reward_range=(0, 1), gamma_w=0.95)
    given = options_for(agent, TaskEstimate((0.0, 1.0), True, 0), ("kappa", "initial_bound"), in_bins=False)
    assert sorted(given) == ["initial_bound", "kappa"]
    paper = agent.settings.problem(4, (0.0, 1.0)).value_range
    assert given["kappa"] * (1 - 0.95) / paper == pytest.approx(0.02)


def test_worlds_of_the_paper_keep_its_settings_even_where_chance_has_its_say():
    agent, loop = lesson_of("wanderlust/NoisyToy-v0", steps=1_500)
    assert agent.learner.numbers[N_MULTI] > 0
    assert loop.adapts == ()
    paper = wl.make_world("noisy-toy").defaults
    assert agent.rule.gamma_w == paper.gamma_w == 0.9
    assert agent.settings.learning_rate == paper.learning_rate == 0.1
