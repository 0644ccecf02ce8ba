"""Tests of `learn`: training in any environment, resuming from checkpoints, and errors of environments."""

import math
import warnings
from fractions import Fraction

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import wanderlust as wl
from corridor import Corridor
from wanderlust.agents.loop import action_dtype
from wanderlust.core.errors import (
    BadFile,
    EnvironmentFailed,
    InsufficientMemory,
    InvalidEnvironment,
    InvalidObservation,
    InvalidReward,
    InvalidSetting,
)
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.repeats import RepeatRate, repeat_rates
from wanderlust.training import memory


def identical(one, other):
    """Return True if two agents are bit-identical; fail otherwise."""
    assert one.steps == other.steps
    assert one.reward_range == other.reward_range
    assert np.array_equal(one.learner.streams, other.learner.streams)
    assert np.array_equal(one.visits[: one.env.n_states], other.visits[: one.env.n_states])
    for name, table in one.tables.items():
        assert np.array_equal(table[: one.env.n_states], other.tables[name][: one.env.n_states]), name
    return True


# --- Environments side by side -------------------------------------------------------------------------


def side_by_side(n, mode=AutoresetMode.NEXT_STEP):
    return SyncVectorEnv([lambda: Corridor(slip=0.2)] * n, autoreset_mode=mode)


@pytest.mark.parametrize("explorer", ["vv-ucb", "bootstrapped"])
def test_one_environment_of_a_vector_is_that_environment(explorer):
    one = wl.learn(Corridor(slip=0.2), explorer, steps=400, seed=3, quiet=True)
    other = wl.learn(side_by_side(1), explorer, steps=400, seed=3, quiet=True)
    other.env = one.env
    assert identical(one, other)
    assert one.history.returns.tolist() == pytest.approx(other.history.returns.tolist(), nan_ok=True)


def test_several_environments_have_their_own_episodes():
    """All transitions are possible ones, and the explorer's head of an episode stays with its environment."""
    lengths, heads = [], []

    class Recorder(wl.Callback):
        def on_step(self, loop):
            assert abs(loop.state - loop.next_state) <= 1
            assert (loop.next_state == 10) == loop.terminated
            heads.append(int(loop.agent.learner.notes[0]))

        def on_episode_end(self, loop):
            lengths.append(loop.episode_steps)

    agent = wl.learn(side_by_side(3), "bootstrapped", steps=900, seed=0, callbacks=[Recorder()], quiet=True)
    assert agent.steps == agent.visits.sum() == 900
    assert all(10 <= length <= 40 for length in lengths)
    assert all(len(set(heads[lane:27:3])) == 1 for lane in range(3))
    assert sum(lengths) <= 900 < sum(lengths) + 3 * 40


def test_what_environments_side_by_side_cannot_do(tmp_path):
    with pytest.raises(InvalidSetting, match=r"agent\.save"):
        wl.learn(side_by_side(2), steps=50, save=tmp_path / "a.npz", quiet=True)
    with pytest.raises(InvalidSetting, match="reset_seed"):
        wl.tabular(side_by_side(2), reset_seed=0)
    with pytest.raises(InvalidEnvironment, match=r"autoreset_mode=SAME_STEP.*NEXT_STEP"):
        wl.tabular(side_by_side(2, AutoresetMode.SAME_STEP))
    agent = wl.learn(gym.make_vec("FrozenLake-v1", num_envs=2), steps=200, quiet=True)
    agent.save(tmp_path / "a.npz")
    further = wl.learn(gym.make_vec("FrozenLake-v1", num_envs=3), resume=tmp_path / "a.npz", steps=400, quiet=True)
    assert (further.steps, len(wl.evaluate(further, episodes=2))) == (400, 2)


# --- Training ------------------------------------------------------------------------------------------


def learned(env=None, *arguments, **options):
    """Train in the corridor, unless another environment is given, without notices."""
    return wl.learn(Corridor() if env is None else env, *arguments, **{"steps": 100, "quiet": True, **options})


def test_learns_the_optimal_policy(tmp_path):
    agent = learned(steps=600, seed=1, save=tmp_path / "a.npz")
    assert agent.explorer == "vv-ucb"
    assert agent.steps == agent.settings.budget == 600
    assert wl.evaluate(agent, episodes=2).tolist() == [1.0, 1.0]
    assert [agent.greedy_action(cell) for cell in range(10)] == [1] * 10
    assert learned("FrozenLake-v1", steps=50).settings.horizon == 100, "an environment by its name"


# --- The reward range -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal_reward", "step_reward", "expected"),
    [(5.0, 0.0, (0, 5)), (1.0, -1.0, (-1, 1)), (-1.0, -1.0, (-1, -1)), (0, 0, (0, 0))],
)
def test_reward_range_is_estimated(goal_reward, step_reward, expected, capsys):
    agent = wl.learn(Corridor(goal_reward=goal_reward, step_reward=step_reward), "vv-ucb", steps=400)
    assert agent.reward_range == expected
    notice = capsys.readouterr().err.splitlines()[-1]
    low, high = expected
    assert (f"all rewards were {low:g}" if low == high else f"from {low:g} to {high:g}") in notice
    given = wl.learn(Corridor(goal_reward=goal_reward, step_reward=step_reward), "ucb1", steps=50, reward_range=(-1, 7))
    assert given.reward_range == (-1, 7)
    assert "observed" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("explorer", "options"),
    [
        ("vv-ucb", {}),
        ("vv-count", {"kappa": 3.0}),
        ("vv-ucb", {"kappa": 3.0, "initial": "optimistic"}),
        ("bootstrapped", {"initial": "optimistic", "batch": 8}),
    ],
)
def test_adapting_the_reward_range_before_the_first_step_equals_giving_it(explorer, options):
    given = wl.Agent(explorer, n_actions=3, reward_range=(0, 9), seed=5, **options)
    adapted = wl.Agent(explorer, n_actions=3, reward_range=(0, 0), seed=5, **options)
    adapted.adapt((0, 9))
    for agent in (given, adapted):
        for step in range(300):
            state = step % 90
            agent.observe(state, agent.act(state), float(step % 5 == 0), (state + 1) % 90, terminated=step % 31 == 0)
    assert np.array_equal(given.visits, adapted.visits)
    for name, table in given.tables.items():
        assert np.allclose(table, adapted.tables[name], rtol=1e-12, atol=1e-9), name


def test_adapting_the_reward_range_during_training_resets_untried_actions_only():
    agent = wl.Agent("vv-ucb", n_actions=3, reward_range=(0, 1), seed=5, kappa=50.0)
    for step in range(200):
        agent.observe(step % 9, agent.act(step % 9), 0.5, (step + 1) % 9, terminated=False)
    agent.index_of(9)
    before = agent.tables["visitation"].copy()
    agent.adapt((0, 2))
    after, visited = agent.tables["visitation"], agent.visits > 0
    assert np.array_equal(after[visited], before[visited])
    assert (after[~visited] == agent.configured_explorer.initial).all()
    assert agent.configured_explorer.initial > before[9].max()


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count"])
def test_adapting_gamma_w_updates_states_that_are_not_visited_again(explorer):
    def trained(gamma_w, **changes):
        settings = wl.Settings(**changes)
        agent = wl.Agent(explorer, n_actions=2, reward_range=(0, 1), settings=settings, gamma_w=gamma_w)
        for step in range(90):
            state, terminated = step % 9, step % 9 == 8
            agent.observe(state, step % 2, 0.0, 0 if terminated else state + 1, terminated=terminated)
        agent.adapt(gamma_w=0.5)
        for _ in range(300):
            agent.observe(4, 0, 0.0, 5, terminated=False)
        return agent.tables["visitation"]

    adapted, from_the_start = trained(0.9), trained(0.5)
    assert np.allclose(adapted, from_the_start, rtol=1e-9, atol=0)
    assert np.array_equal(adapted, trained(0.9, plain_sweeps=True))


# --- Resuming ------------------------------------------------------------------------------------------

ENVIRONMENTS = {
    "FrozenLake": lambda: gym.make("FrozenLake-v1"),
    "Corridor": lambda: Corridor(slip=0.3),
    "DoorKey": lambda: wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash"),
    "DoorKey, reset_seed": lambda: wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=2),
    "MountainCar": lambda: wl.tabular(gym.make("MountainCar-v0"), bins=12),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_resuming_is_identical_to_not_stopping(name, tmp_path):
    """Stopped in the first episode, in the middle of a later one, and at the end of one."""
    make, explorer = ENVIRONMENTS[name], "epsilon-greedy" if name == "Corridor" else "vv-ucb"
    checkpoint = wl.Checkpoint(tmp_path / "{step}.npz", every=37)
    whole = wl.learn(make(), explorer, steps=450, seed=3, callbacks=[checkpoint], quiet=True)
    for step in (37, 407):
        resumed = wl.learn(make(), resume=tmp_path / f"{step}.npz", steps=450, quiet=True)
        assert identical(whole, resumed)
        assert [whole.env.key_of(s) for s in range(whole.env.n_states)] == [
            resumed.env.key_of(s) for s in range(resumed.env.n_states)
        ]


@pytest.mark.parametrize("explorer", ["vv-ucb", "bootstrapped"])
def test_agents_and_their_files_continue_training(explorer, tmp_path):
    first = learned(Corridor(slip=0.2), explorer, steps=115, budget=300)
    first.save(tmp_path / "a.npz")
    wl.Agent.load(tmp_path / "a.npz").save(tmp_path / "again.npz")
    whole = learned(Corridor(slip=0.2), explorer, steps=300)
    for source in (first, tmp_path / "again.npz"):
        assert identical(learned(Corridor(slip=0.2), resume=source, steps=300), whole)
    assert first.steps == len(first.history.steps) == 115, "it is not changed"


def test_an_agent_of_another_loop_is_trained_further():
    agent = wl.Agent("ucb1", n_actions=2, n_states=11, reward_range=(0, 1))
    for state in range(20):
        agent.observe(state % 10, agent.act(state % 10), 0.0, state % 10 + 1, terminated=False)
    further = wl.learn(Corridor(), resume=agent, steps=300, quiet=True)
    assert (agent.steps, further.steps, further.reward_range) == (20, 300, (0, 1))
    assert further.encoding is not None


class Masked(Corridor):
    """Only even cells can be left to the left; an invalid action is an error."""

    def __init__(self, convention="info", mask=None):
        super().__init__(step_reward=-0.1)
        self.convention, self.mask = convention, mask
        if convention == "method":
            self.action_masks = self.valid

    def valid(self):
        return np.array([self.cell % 2 == 0, True], np.int8) if self.mask is None else self.mask

    def info(self):
        return {"action_mask": self.valid()} if self.convention == "info" else {}

    def reset(self, **options):
        return super().reset(**options)[0], self.info()

    def step(self, action):
        assert self.valid()[action], "invalid"
        return *super().step(action)[:4], self.info()


@pytest.mark.parametrize(
    ("convention", "explorer"), [("info", "vv-ucb"), ("method", "vv-count"), ("info", "psrl"), ("method", "thompson")]
)
def test_only_valid_actions_are_taken(convention, explorer, tmp_path):
    env = gym.wrappers.TimeLimit(Masked(convention), 30)
    agent = wl.learn(env, explorer, steps=700, action_masks=True, quiet=True)
    assert (agent.tables["target"][1:10:2, 0] == -np.inf).all()
    assert np.isfinite(agent.tables["target"][:10, 1]).all()
    assert wl.evaluate(agent, episodes=3).tolist() == [pytest.approx(0.1)] * 3
    first = wl.learn(env, explorer, steps=300, budget=700, action_masks=True, quiet=True)
    first.save(tmp_path / "a.npz")
    assert identical(wl.learn(env, resume=tmp_path / "a.npz", steps=700, quiet=True), agent)
    assert [agent.predict(7, mask=[1, 0]), agent.predict(4, mask=[0, 1], explore=True)] == [0, 1]


def test_masks_are_checked():
    for env, words in (
        (Corridor(), "Corridor has neither"),
        (Masked(mask=[0, 0]), "at least one is true"),
        (Masked(mask=[1, 1, 1]), "2 booleans"),
        (Masked(mask=[0.5, 1]), "zeros and ones"),
    ):
        with pytest.raises(wl.WanderlustError, match=words):
            learned(env, action_masks=True)


def test_resuming_needs_the_same_environment(tmp_path):
    path = tmp_path / "a.npz"
    wl.learn(wl.tabular("CliffWalking-v1"), steps=20, save=path, quiet=True)
    for env, words in [
        (gym.make("FrozenLake-v1"), "another environment: name was 'CliffWalking-v1', and is 'FrozenLake-v1' here"),
        (gym.make("CliffWalking-v1", is_slippery=True), "options"),
        (wl.tabular("CliffWalking-v1", reset_seed=1), "reset_seed was None, and is 1 here"),
        (wl.tabular("CliffWalking-v1", key="hash"), "states are encoded by the observation, not by the content of"),
    ]:
        with pytest.raises(BadFile, match=words):
            wl.learn(env, resume=path, steps=40)
    wl.Agent("ucb1", n_actions=4, reward_range=(0, 1)).save(tmp_path / "agent.npz")
    for name, words in (("agent", "its number of states is not known"), ("nothing", "no such file")):
        with pytest.raises(BadFile, match=words):
            wl.learn("CliffWalking-v1", resume=tmp_path / f"{name}.npz", steps=40)


def test_settings_of_the_checkpoint_cannot_be_changed(tmp_path):
    learned(steps=20, save=tmp_path / "a.npz")
    for given in (
        {"explorer": "ucb1"},
        {"seed": 1},
        {"discount": 0.9},
        {"reward_range": (0, 1)},
        {"preset": "adaptive"},
    ):
        with pytest.raises(InvalidSetting, match="remove"):
            learned(resume=tmp_path / "a.npz", steps=40, **given)


def test_history_is_bounded_and_continues_after_a_resume(tmp_path):
    straight = wl.learn(Corridor(slip=0.2), "ucb1", steps=3000, quiet=True).history
    wl.learn(Corridor(slip=0.2), "ucb1", steps=1234, budget=3000, save=tmp_path / "a.npz", quiet=True)
    resumed = wl.learn(Corridor(slip=0.2), resume=tmp_path / "a.npz", steps=3000, quiet=True)
    resumed.save(tmp_path / "b.npz")
    for history in (resumed.history, wl.Agent.load(tmp_path / "b.npz").history):
        for name in ("steps", "returns", "discovered", "visits", "first_visit"):
            np.testing.assert_array_equal(getattr(history, name), getattr(straight, name), err_msg=name)
    assert 250 <= len(straight.steps) < 500
    assert straight.steps[-1] == 3000
    assert straight.returns_of == "training episodes"


# --- Errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("injected", "kind", "message"),
    [
        ({"fail_at": 30}, EnvironmentFailed, "Corridor failed in step .*RuntimeError: motor overheated"),
        ({"reward_at": {30: np.nan}}, InvalidReward, "reward nan"),
        ({"reward_at": {30: "1.5"}}, InvalidReward, "reward '1.5'"),
        ({"reward_at": {30: 10**400}}, InvalidReward, r"reward 1000.* from -1e\+100 to 1e\+100"),
        ({"reward_at": {30: np.zeros(2)}}, InvalidReward, r"reward array\(\[0., 0.\]\)"),
        ({"flag_at": {30: None}}, InvalidSetting, "terminated must be True or False, got None"),
        ({"outside_at": 30}, InvalidObservation, "observation 99"),
    ],
)
def test_training_so_far_is_saved_when_an_environment_fails(injected, kind, message, tmp_path):
    explorer = "bootstrapped" if kind is EnvironmentFailed else "vv-ucb"
    with pytest.raises(kind, match=message) as caught:
        learned(Corridor(slip=0.2, **injected), explorer, save=tmp_path / "a.npz")
    assert caught.value.agent.steps == wl.Agent.load(tmp_path / "a.npz").steps == 29
    assert isinstance(caught.value.__cause__, RuntimeError) == (kind is EnvironmentFailed)
    assert "in step" in str(caught.value)
    assert "`agent`" in caught.value.__notes__[0]
    repaired = learned(Corridor(slip=0.2), resume=tmp_path / "a.npz")
    assert repaired.steps == 100
    assert identical(repaired, learned(Corridor(slip=0.2), explorer))


class OldCorridor(Corridor):
    """A corridor with the `step` of the old Gym."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: gym.wrappers.TimeLimit(env, 50)])
def test_a_step_of_the_old_gym_is_explained(wrap):
    with pytest.raises(EnvironmentFailed, match=r"4 values.*terminated, truncated"):
        wl.learn(wrap(OldCorridor()), steps=10, quiet=True)


# --- Memory --------------------------------------------------------------------------------------------


class Counting(gym.Env):
    """Every step leads to a new state, or to one of `n`."""

    observation_space, action_space = spaces.Box(0, np.inf, (1,), np.int64), spaces.Discrete(2)

    def __init__(self, n=10**9):
        self.n, self.count = n, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([self.count % self.n]), {}

    def step(self, action):
        self.count += 1
        return np.array([self.count % self.n]), 0.0, False, False, {}


@pytest.mark.parametrize(
    ("env", "options", "words"),
    [
        ("FrozenLake-v1", {}, ""),
        (Counting(), {"key": "hash"}, "States seldom repeat"),
        ("MountainCar-v0", {}, "not discrete"),
        (Corridor(), {"key": lambda cell: cell // 4}, "states are aliased"),
    ],
    ids=["works", "too fine", "continuous", "too coarse"],
)
def test_check_env(env, options, words):
    found = wl.check_env(env, steps=4_000, **options)
    assert ("can work" in str(found)) is found.works is (not found.problems) is (not words)
    assert all(words in problem for problem in found.problems)


@pytest.fixture
def available(monkeypatch):
    """Check memory every 100 steps; return a function that sets the bytes that are left."""
    monkeypatch.setattr(memory, "CHECK_STEPS", 100)
    return lambda n: monkeypatch.setattr(memory, "available_memory", lambda: n)


def count_states(n=10**9, *, steps=1000, **options):
    return wl.learn(wl.tabular(Counting(n), key="hash"), "random", steps=steps, quiet=True, **options)


@pytest.mark.parametrize(("n_states", "n_warnings", "left"), [(10**9, 1, 10**15), (3000, 1, None), (1500, 0, None)])
def test_states_that_seldom_repeat_are_reported_once(n_states, n_warnings, left, available):
    available(left)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count_states(n_states, steps=4000)
    assert len([each for each in caught if "0% of the latest 1,000 steps" in str(each.message)]) == n_warnings


def test_the_share_of_steps_in_states_visited_before():
    """Of parts of a run, and of windows that overlap the beginning."""
    first_visit, rate, by_window = np.array([0, 1, 2, 5, -1]), RepeatRate(window=4), []
    assert repeat_rates(first_visit, 8) == [0.0, 0.5, 0.5, 1.0]
    assert math.isnan(rate.rate)
    for step in range(1, 9):
        rate.add(step, int(((first_visit >= 0) & (first_visit < step)).sum()))
        by_window.append(rate.rate)
    assert by_window == [0.0, 0.0, 0.0, 0.25, 0.5, 0.5, 0.75, 0.75]


def test_training_stops_before_the_memory_is_full(available, tmp_path):
    available(memory.RESERVE - 1)
    with pytest.raises(InsufficientMemory, match=r"new states per step.*0\.3 GB of memory are left") as caught:
        count_states(save=tmp_path / "a.npz")
    steps = caught.value.agent.steps
    assert 100 < steps < 1000
    assert wl.Agent.load(tmp_path / "a.npz").steps == steps


def test_failure_in_the_first_reset_saves_nothing(tmp_path):
    with pytest.raises(EnvironmentFailed, match=r"Corridor failed in reset of episode 1 .*RuntimeError: cannot reset"):
        learned(Corridor(fail_at_reset=1), save=tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ({"fail_at": 3}, r"failed in step 3 of evaluation episode 1 \(after 50 training steps\) with Runt"),
        ({"fail_at_reset": 2}, r"failed in reset of evaluation episode 2 \(after 50 training steps\) with"),
        ({"reward_at": {2: None}}, r"in step 2 of evaluation episode 1 .*: the reward None is not valid"),
    ],
)
def test_failure_during_evaluation(failure, message, tmp_path):
    evaluation = wl.EvaluateEvery(50, episodes=3, env=Corridor(**failure))
    with pytest.raises(wl.WanderlustError, match=f"Corridor {message}") as caught:
        learned(callbacks=[evaluation], save=tmp_path / "a.npz")
    assert caught.value.agent.steps == wl.Agent.load(tmp_path / "a.npz").steps == 50
    assert isinstance(caught.value, EnvironmentFailed) == isinstance(caught.value.__cause__, RuntimeError)
    assert identical(learned(resume=tmp_path / "a.npz"), learned())


@pytest.mark.parametrize("reward", [np.array(2.0), np.array([2.0]), np.float32(2.0), 2, Fraction(2), np.int8(2)])
def test_rewards_may_be_any_kind_of_number(reward):
    expected = wl.learn(Corridor(goal_reward=2.0), steps=100, quiet=True)
    assert identical(wl.learn(Corridor(goal_reward=reward), steps=100, quiet=True), expected)


@pytest.mark.parametrize("explorer", wl.explorer_names())
def test_the_largest_rewards_do_not_overflow(explorer):
    with np.errstate(all="raise", under="ignore"):
        largest = {step: (-1) ** step * 1e100 for step in range(1, 301)}
        agent = wl.learn(Corridor(slip=0.3, reward_at=largest), explorer, steps=300, quiet=True)
    assert agent.reward_range == (-1e100, 1e100)
    assert all(np.isfinite(table).all() for table in agent.tables.values())


def test_keys_that_cannot_be_saved_fail_at_the_first_step(tmp_path):
    env = wl.tabular(Corridor(), key=Fraction)
    assert wl.learn(env, steps=20, quiet=True).discovered > 1
    with pytest.raises(InvalidObservation, match="state keys of type Fraction cannot be saved") as caught:
        wl.learn(wl.tabular(Corridor(), key=Fraction), steps=10**9, save=tmp_path / "a.npz", quiet=True)
    assert caught.value.agent.steps == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 0}, "steps"),
        ({"sweeps": 2, "replay": "none"}, "full memory"),
        ({"callbacks": [wl.ProgressBar]}, "each of callbacks must be of the type Callback, got <class"),
        ({"callbacks": wl.ProgressBar()}, "callbacks must be a list"),
        ({"save": 3}, "save must be the path of a file, got 3"),
        ({"save": "/dev/null/a.npz"}, "/dev/null/a.npz: cannot be written"),
        ({"preset": "adaptiv"}, "Did you mean 'adaptive'"),
        ({"bins": 8}, r"bins is an option of wl.tabular, not of learn: wl.learn\(wl.tabular\(env, bins=8\)"),
        ({"gamma": 0.9}, "unknown option 'gamma' of a run of explorer 'vv-ucb'. Did you mean 'discount'"),
        ({"remove_time_penalty": 2}, "remove_time_penalty must be"),
        ({"reward_range": (0, 1e101)}, "a reward of reward_range must be in"),
        ({"new_episode": True}, "new_episode=True needs resume"),
        ({"env": None}, "gymnasium.Env or the name of one, got NoneType"),
        ({"env": "FrozenLak-v1"}, "Did you mean 'FrozenLake-v1'"),
        ({"env": "Pendulum-v1"}, "bins=8"),
    ],
)
def test_invalid_arguments(given, words):
    with pytest.raises(wl.WanderlustError, match=words):
        wl.learn(**{"env": Corridor(), "steps": 10, **given})


# --- Many actions --------------------------------------------------------------------------------------


def test_many_actions():
    """Actions above 32,767 do not fit into int16."""
    assert (action_dtype(32_768), action_dtype(32_769)) == (np.int16, np.int32)
    n_actions, shape = 40_000, (2, 40_000, 1)
    reward, next_state = np.zeros(shape), np.zeros(shape, np.int32)
    reward[:, -1], next_state[:, -1] = 1.0, 1
    mdp = TabularMDP(np.ones(shape), next_state, reward, np.zeros(shape, bool), np.array([1.0, 0.0]))
    names = tuple(map(str, range(n_actions)))
    world = wl.World(name="many", mdp=mdp, defaults=wl.make_world("toy").defaults, action_names=names, r_max=1.0)
    record = wl.train(world, "ucb1", steps=100, keep_trajectory=True)
    assert record.actions.min() >= 0
    assert record.actions.max() > 0.95 * n_actions
    counts = np.zeros_like(record.visits)
    np.add.at(counts, (record.states, record.actions), 1)
    assert np.array_equal(counts, record.visits)


class Unlucky(Corridor):
    """Fails in the first episode, however often it is restored."""

    first = None

    def reset(self, **options):
        result = super().reset(**options)
        self.luck = self.np_random.random()
        Unlucky.first = Unlucky.first or self.luck
        return result

    def step(self, action):
        if self.t == 7 and self.luck == Unlucky.first:
            raise RuntimeError("these random numbers are not handled")
        return super().step(action)


def test_a_failure_that_every_resume_repeats_ends_with_a_new_episode(tmp_path):
    path = tmp_path / "a.npz"
    for given in ({"seed": 0, "save": path}, {"resume": path}):
        with pytest.raises(EnvironmentFailed, match="these random numbers"):
            wl.learn(Unlucky(), steps=50, quiet=True, **given)
    agents = [wl.learn(Unlucky(), resume=path, steps=50, new_episode=True, quiet=True) for _ in range(2)]
    assert [agent.steps for agent in agents] == [50, 50]
    assert identical(*agents)
