"""`learn` teaches in any environment, goes on from files as if it had never stopped, and keeps what was learnt when an
environment fails.
"""

from fractions import Fraction

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np
import pytest
from gymnasium import spaces

import wanderlust as wl
from wanderlust.checks import run_agent
from wanderlust.core.errors import BadFile, EnvironmentFailed, InvalidObservation, InvalidSetting
from wanderlust.training.adaptive import SWEEPS


class Corridor(gym.Env):
    """Eleven cells; the right end pays `prize` and ends the episode. What goes wrong can be chosen."""

    observation_space, action_space = spaces.Discrete(11), spaces.Discrete(2)

    def __init__(self, prize=1.0, cost=0.0, slip=0.0, fail_at=None, outside_at=None, reward_at=None):
        self.prize, self.cost, self.slip = prize, cost, slip
        self.fail_at, self.outside_at, self.reward_at = fail_at, outside_at, dict(reward_at or {})
        self.count = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.length = 0, 0
        return 0, {}

    def step(self, action):
        self.count += 1
        self.length += 1
        if self.count == self.fail_at:
            raise RuntimeError("the motor is hot")
        if self.np_random.random() < self.slip:
            action = 1 - action
        self.cell = min(max(self.cell + (1 if action == 1 else -1), 0), 10)
        found = self.cell == 10
        reward = self.reward_at.get(self.count, self.prize if found else self.cost)
        shown = 99 if self.count == self.outside_at else self.cell
        return shown, reward, found, not found and self.length == 40, {}


def same(one, other):
    """Tell whether two agents are the same to the last bit."""
    assert one.steps == other.steps
    assert one.reward_range == other.reward_range
    assert np.array_equal(one.learner.streams, other.learner.streams)
    assert np.array_equal(one.visits[: one.env.n_states], other.visits[: one.env.n_states])
    for name, table in one.tables.items():
        assert np.array_equal(table[: one.env.n_states], other.tables[name][: one.env.n_states]), name
    return True


# --- Learning ------------------------------------------------------------------------------------------


def test_it_learns_and_says_where():
    agent = wl.learn(Corridor(), "vv-ucb", steps=600, seed=1, quiet=True)
    assert agent.steps == 600
    assert wl.evaluate(agent, episodes=2).tolist() == [1.0, 1.0]
    env = agent.env
    assert [agent.greedy_action(env.state_of(cell)) for cell in range(10)] == [1] * 10
    assert env.key_of(0) == 0


def test_a_name_is_enough():
    agent = wl.learn("FrozenLake-v1", steps=50, quiet=True)
    assert agent.explorer == "vv-ucb"
    assert agent.settings.horizon == 100
    assert agent.settings.budget == 50


def test_with_one_seed_it_does_the_same_and_with_another_it_does_not():
    agents = [wl.learn("FrozenLake-v1", "ucb1", steps=300, seed=seed, quiet=True) for seed in (1, 1, 2)]
    assert same(agents[0], agents[1])
    assert not np.array_equal(agents[0].visits, agents[2].visits)


def test_it_is_the_agent_that_one_would_drive_by_hand():
    """In one of our own worlds, given the same settings, `learn` does what `Agent` does there."""
    world = wl.make_world("toy")

    class InWorld(gym.Env):
        observation_space, action_space = spaces.Discrete(world.n_states), spaces.Discrete(world.n_actions)

        def reset(self, *, seed=None, options=None):
            self.state, self.t = int(world.mdp.start.argmax()), 0
            return self.state, {}

        def step(self, action):
            place = (self.state, action, 0)
            self.t += 1
            self.state, ends = int(world.mdp.next_state[place]), bool(world.mdp.terminal[place])
            over = self.t == world.defaults.horizon
            return self.state, float(world.mdp.reward[place]), ends, over and not ends, {}

    ours = {"horizon": world.defaults.horizon, "budget": world.defaults.budget}
    paper = {"initial_bound": "everywhere", "kappa": None, "sweeps": 1}
    agent = wl.learn(InWorld(), "vv-ucb", steps=500, seed=4, reward_range=world.reward_range, **ours, **paper)
    by_hand, _ = run_agent(world, "vv-ucb", seed=4, steps=500)
    states = [agent.env.key_of(state) for state in range(agent.env.n_states)]
    assert np.array_equal(agent.visits[: len(states)], by_hand.visits[states])
    for name, table in agent.tables.items():
        assert np.array_equal(table[: len(states)], by_hand.tables[name][states])


@pytest.mark.parametrize(
    ("env", "changes", "expected"),
    [
        ("CliffWalking-v1", {}, SWEEPS),
        ("CliffWalking-v1", {"sweeps": 3}, 3),
        ("CliffWalking-v1", {"replay": "none"}, 1),
        ("wanderlust/Toy-v0", {}, 1),
        (wl.tabular("MountainCar-v0", bins=8), {}, 1),
    ],
)
def test_the_paper_s_worlds_are_swept_once_a_step_and_others_as_often_as_suits(env, changes, expected):
    assert wl.learn(env, "epsilon-greedy", steps=5, quiet=True, **changes).settings.sweeps == expected


def test_being_cut_off_is_not_an_end():
    """A state in which episodes are cut off is worth what follows, not nothing."""
    env = gym.wrappers.TimeLimit(Corridor(), 12)
    agent = wl.learn(env, "vv-ucb", steps=2000, quiet=True)
    values = [agent.action_values(agent.env.state_of(cell)).max() for cell in range(10)]
    assert values == pytest.approx([0.99 ** (9 - cell) for cell in range(10)], rel=1e-3)


# --- The rewards' range --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prize", "cost", "expected"), [(5.0, 0.0, (0, 5)), (1.0, -1.0, (-1, 1)), (-1.0, -1.0, (-1, -1)), (0, 0, (0, 0))]
)
def test_the_range_of_rewards_follows_what_is_seen(prize, cost, expected, capsys):
    agent = wl.learn(Corridor(prize, cost), "vv-ucb", steps=400)
    assert agent.reward_range == expected
    said = capsys.readouterr().err.splitlines()[-1]
    assert ("no reward but 0" if expected == (0, 0) else f"from {expected[0]:g} to {expected[1]:g}") in said


def test_a_range_that_is_given_stays(capsys):
    agent = wl.learn(Corridor(), "ucb1", steps=400, reward_range=(0, 7))
    assert agent.reward_range == (0, 7)
    assert agent.rule.kappa == pytest.approx(700)
    assert "wanderlust: re" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("explorer", "options"),
    [
        ("vv-ucb", {}),
        ("vv-ucb", {"kappa": 3.0}),
        ("vv-count", {"kappa": 3.0}),
        ("ucb1", {}),
        ("vv-ucb", {"kappa": 3.0, "settings": wl.Settings(initial="optimistic")}),
        ("bootstrapped", {"settings": wl.Settings(initial="optimistic"), "batch": 8}),
    ],
)
def test_another_range_before_the_first_step_is_as_if_it_had_been_given(explorer, options):
    given = wl.Agent(explorer, n_actions=3, reward_range=(0, 9), seed=5, **options)
    told = wl.Agent(explorer, n_actions=3, reward_range=(0, 0), seed=5, **options)
    told.adapt((0, 9))
    for agent in (given, told):
        for step in range(300):
            state = step % 90
            agent.observe(state, agent.act(state), float(step % 5 == 0), (state + 1) % 90, terminated=step % 31 == 0)
    assert np.array_equal(given.visits, told.visits)
    for name, table in given.tables.items():
        assert np.allclose(table, told.tables[name], rtol=1e-12, atol=1e-9), name


def test_another_range_in_the_middle_leaves_what_was_learnt_and_gives_the_untried_its_start():
    agent = wl.Agent("vv-ucb", n_actions=3, reward_range=(0, 1), seed=5, kappa=50.0)
    for step in range(200):
        agent.observe(step % 9, agent.act(step % 9), 0.5, (step + 1) % 9, terminated=False)
    agent.number_of(9)
    before = agent.tables["visitation"].copy()
    agent.adapt((0, 2))
    after, tried = agent.tables["visitation"], agent.visits > 0
    assert np.array_equal(after[tried], before[tried])
    assert (after[~tried] == agent.rule.initial).all()
    assert agent.rule.initial > before[9].max()


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count"])
def test_another_reach_of_w_is_heeded_in_states_that_are_not_visited_again(explorer):
    def taught(discount, **settings):
        how = wl.Settings(**settings)
        agent = wl.Agent(explorer, n_actions=2, reward_range=(0, 1), settings=how, gamma_w=discount)
        for step in range(90):
            state, over = step % 9, step % 9 == 8
            agent.observe(state, step % 2, 0.0, 0 if over else state + 1, terminated=over)
        agent.adapt(gamma_w=0.5)
        for _ in range(300):
            agent.observe(4, 0, 0.0, 5, terminated=False)
        return agent.tables["visitation"]

    changed, from_the_start = taught(0.9), taught(0.5)
    assert np.allclose(changed, from_the_start, rtol=1e-9, atol=0)
    assert np.array_equal(changed, taught(0.9, plain_sweeps=True))


# --- Going on ------------------------------------------------------------------------------------------

PLACES = {
    "lake": lambda: gym.make("FrozenLake-v1"),
    "corridor": lambda: Corridor(slip=0.3),
    "grid": lambda: wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash"),
    "fixed grid": lambda: wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=2),
    "car": lambda: wl.tabular(gym.make("MountainCar-v0"), bins=12),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("explorer", ["vv-ucb", "epsilon-greedy"])
def test_going_on_is_as_never_having_stopped(place, explorer, tmp_path):
    """Wherever it stopped: in the first episode, in the middle of a later one, at an end."""
    make = PLACES[place]
    kept = wl.Checkpoint(tmp_path / "{step}.npz", every=37)
    whole = wl.learn(make(), explorer, steps=700, seed=3, callbacks=[kept], quiet=True)
    for step in (37, 370, 37 * 18):
        again = wl.learn(make(), resume=tmp_path / f"{step}.npz", steps=700, quiet=True)
        assert same(whole, again)
        assert [whole.env.key_of(s) for s in range(whole.env.n_states)] == [
            again.env.key_of(s) for s in range(again.env.n_states)
        ]


def test_a_file_of_a_lesson_is_a_file_of_an_agent(tmp_path):
    agent = wl.learn(Corridor(), steps=200, save=tmp_path / "a.npz", quiet=True)
    loaded = wl.Agent.load(tmp_path / "a.npz")
    assert np.array_equal(agent.tables["target"], loaded.tables["target"])


class Restless(Corridor):
    """Its chance comes from elsewhere."""

    _random = np.random.default_rng(0)

    def step(self, action):
        return super().step(int(self._random.integers(2)))


def test_an_environment_with_chance_of_its_own_goes_on_with_a_new_episode(tmp_path):
    wl.learn(Restless(), steps=215, save=tmp_path / "a.npz", quiet=True)
    with pytest.warns(UserWarning, match="could not be brought back"):
        agent = wl.learn(Restless(), resume=tmp_path / "a.npz", steps=300, quiet=True)
    assert agent.steps == 300


def test_a_lesson_goes_on_only_where_it_was(tmp_path):
    path = tmp_path / "a.npz"
    wl.learn(wl.tabular("CliffWalking-v1"), steps=20, save=path, quiet=True)
    for env, words in [
        (gym.make("FrozenLake-v1"), "another environment: its name was 'CliffWalking-v1', here it is 'FrozenLake-v1'"),
        (gym.make("CliffWalking-v1", is_slippery=True), "options"),
        (wl.tabular("CliffWalking-v1", reset_seed=1), "told by"),
    ]:
        with pytest.raises(BadFile, match=words):
            wl.learn(env, resume=path, steps=40)
    agent = wl.Agent("ucb1", n_actions=4, reward_range=(0, 1))
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(BadFile, match="not one that `learn` saved"):
        wl.learn("CliffWalking-v1", resume=tmp_path / "agent.npz", steps=40)
    with pytest.raises(BadFile, match="no such file"):
        wl.learn("CliffWalking-v1", resume=tmp_path / "nothing.npz", steps=40)


@pytest.mark.parametrize("given", [{"explorer": "ucb1"}, {"seed": 1}, {"discount": 0.9}, {"reward_range": (0, 1)}])
def test_what_the_file_says_cannot_be_said_again(given, tmp_path):
    wl.learn(Corridor(), steps=20, save=tmp_path / "a.npz", quiet=True)
    with pytest.raises(InvalidSetting, match="out"):
        wl.learn(Corridor(), resume=tmp_path / "a.npz", steps=40, **given)


# --- What goes wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        ({"fail_at": 30}, EnvironmentFailed, "Corridor failed in step .*RuntimeError: the motor is hot"),
        ({"reward_at": {30: np.nan}}, InvalidObservation, "reward nan"),
        ({"reward_at": {30: np.inf}}, InvalidObservation, "reward inf"),
        ({"reward_at": {30: "much"}}, InvalidObservation, "reward 'much'"),
        ({"outside_at": 30}, InvalidObservation, "observation 99"),
    ],
)
def test_what_was_learnt_is_kept_when_an_environment_fails(trouble, kind, words, tmp_path):
    with pytest.raises(kind, match=words) as caught:
        wl.learn(Corridor(**trouble), steps=100, save=tmp_path / "a.npz", quiet=True)
    assert caught.value.agent.steps == 29
    assert "in step" in str(caught.value)
    assert "`agent`" in caught.value.__notes__[0]
    assert wl.Agent.load(tmp_path / "a.npz").steps == 29
    repaired = wl.learn(Corridor(), resume=tmp_path / "a.npz", steps=100, quiet=True)
    assert repaired.steps == 100


def test_keys_that_cannot_be_saved_are_told_before_all_is_learnt(tmp_path):
    env = wl.tabular(Corridor(), key=Fraction)
    assert wl.learn(env, steps=20, quiet=True).discovered > 1
    with pytest.raises(InvalidObservation, match="state keys of type Fraction cannot be saved") as caught:
        wl.learn(wl.tabular(Corridor(), key=Fraction), steps=10**9, save=tmp_path / "a.npz", quiet=True)
    assert caught.value.agent.steps == 1


def test_the_cause_of_a_failure_is_told():
    with pytest.raises(EnvironmentFailed) as caught:
        wl.learn(Corridor(fail_at=1), steps=10, quiet=True)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 0}, "steps"),
        ({"steps": "many"}, "steps"),
        ({"explorer": "vv-ubc"}, "Did you mean 'vv-ucb'"),
        ({"sweeps": 0}, "sweeps"),
        ({"sweeps": 10**30}, "sweeps"),
        ({"sweeps": 2, "replay": "none"}, "full memory"),
        ({"kapa": 1}, "Did you mean 'kappa'"),
        ({"seed": -1}, "seed"),
        ({"callbacks": [print]}, "callbacks must be"),
        ({"reward_range": (1, 0)}, "reward_range"),
        ({"env": "FrozenLak-v1"}, "Did you mean 'FrozenLake-v1'"),
        ({"env": "Pendulum-v1"}, "bins=20"),
        ({"env": 3}, "gymnasium.Env"),
    ],
)
def test_what_cannot_be_meant(given, words):
    with pytest.raises(wl.WanderlustError, match=words):
        wl.learn(**{"env": Corridor(), "steps": 10, **given})


def test_an_agent_that_was_taught_elsewhere_needs_an_environment():
    with pytest.raises(InvalidSetting, match="needs env"):
        wl.evaluate(wl.Agent("ucb1", n_actions=2, reward_range=(0, 1)))
