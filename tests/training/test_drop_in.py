"""`wl.Explorer` beside a Q of the user: observations instead of states, batches, bounds on time and memory, files."""

import itertools

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

import wanderlust as wl
from wanderlust.core.errors import BadFile, InvalidObservation, InvalidSetting
from wanderlust.training.drop_in import Episode

N_STATES, N_ACTIONS = 30, 3
IMAGES = Box(0, 255, (5, 6, 3), np.uint8)


def image(state):
    return np.random.default_rng(state).integers(0, 255, IMAGES.shape, np.uint8)


def transitions(steps, *, n_states=N_STATES, seed=0):
    """A random walk in a deterministic MDP: (state, next state given an action, reward, terminated)."""
    rng = np.random.default_rng(seed)
    following = rng.integers(n_states, size=(n_states, N_ACTIONS))
    q = rng.normal(size=(n_states, N_ACTIONS))
    state = 0
    for _ in range(steps):
        action = yield state, q[state]
        goal = state == n_states - 1
        yield following[state, action], float(goal), goal
        state = 0 if goal else int(following[state, action])


def drive(explorer, steps, observation_of=image, *, batch=False, walk=None):
    """Return the actions of an explorer in the walk; with `batch` as one of several environments."""
    walk = walk or transitions(10**9)
    actions = []
    given = (lambda *values: [np.array([value]) for value in values]) if batch else (lambda *values: values)
    for _ in range(steps):
        state, q = next(walk)
        observation = observation_of(state)
        actions.append(int(np.squeeze(explorer.act(*given(observation, q)))))
        following, reward, goal = walk.send(actions[-1])
        explorer.observe(*given(observation, actions[-1], observation_of(following), goal, False, reward))
    return actions


def of_images(name="vv-ucb", **changes):
    return wl.Explorer(name, observation_space=IMAGES, n_actions=N_ACTIONS, key="hash", seed=1, **changes)


def steps_to_the_goal(explorer, noise, depth=10, steps=600):
    """In a deep sea where a Q-network has outputs of this size that mean nothing."""
    rng = np.random.default_rng(0)
    right, q = rng.integers(2, size=(depth, depth)), noise * rng.normal(size=(depth, depth, 2))
    row = column = 0
    for step in range(1, steps + 1):
        state = row * depth + column
        action = explorer.act(state, q[row, column])
        is_last, goes_right = row == depth - 1, action == right[row, column]
        if is_last and column == depth - 1 and goes_right:
            return step
        column = 0 if is_last else min(column + 1, depth - 1) if goes_right else max(column - 1, 0)
        row = 0 if is_last else row + 1
        explorer.observe(state, action, row * depth + column, is_last)
    return np.inf


@pytest.mark.parametrize(("noise", "finds_it"), [(0.0, True), (0.3, True), (1e5, False)])
@pytest.mark.parametrize("name", ["vv-ucb", "vv-count", "vv-plan"])
def test_outputs_of_an_untrained_network_disturb_only_if_they_are_larger_than_kappa(name, noise, finds_it):
    explorer = wl.Explorer(name, n_actions=2, reward_range=(0, 1), seed=0)  # κ = 100.
    assert np.isfinite(steps_to_the_goal(explorer, noise)) == finds_it


@pytest.mark.parametrize("name", ["vv-ucb", "vv-count", "vv-plan"])
def test_q_decides_after_many_visits(name):
    """A difference of the whole range of Q-values exceeds κU once both actions were tried several times."""
    explorer = wl.Explorer(name, n_actions=2, reward_range=(0, 1), seed=0)
    actions = []
    for _ in range(2_000):
        actions.append(explorer.act(0, [0.0, 100.0]))
        explorer.observe(0, actions[-1], 0, terminated=True)
    assert np.mean(np.array(actions[:20]) == 0) > 0
    assert np.mean(np.array(actions[-500:]) == 0) < 0.05


@pytest.mark.parametrize("name", ["vv-ucb", "vv-count", "ucb1", "epsilon-greedy"])
def test_observations_are_states(name):
    of_states = wl.Explorer(name, n_actions=N_ACTIONS, seed=1)
    expected = drive(of_states, 400, int)
    assert drive(of_images(name), 400) == expected
    assert drive(of_images(name), 400, batch=True) == expected
    discrete = wl.Explorer(name, observation_space=Discrete(N_STATES), n_actions=N_ACTIONS, seed=1)
    assert drive(discrete, 400, int) == expected


def test_several_environments_share_the_counts():
    space = Dict(a=Discrete(9), b=IMAGES)
    explorer = wl.Explorer("vv-ucb", observation_space=space, n_actions=N_ACTIONS, key="hash")
    observations = {"a": np.array([1, 2, 1]), "b": np.stack([image(state) for state in (1, 2, 1)])}
    actions = explorer.act(observations, np.zeros((3, N_ACTIONS)))
    assert actions.shape == (3,)
    explorer.observe(observations, actions, observations, np.array([False] * 3), reward=np.zeros(3))
    assert explorer.n_states == 2
    assert explorer.repeat_rate == pytest.approx(1 / 3)
    np.testing.assert_array_equal(explorer.visits.sum(axis=1), [2, 1])


def test_the_scale_follows_the_observed_rewards():
    explorer, given = of_images(), of_images(reward_range=(0, 1))
    drive(explorer, 400)
    drive(given, 400)
    before, same = (each.explain(image(3), np.zeros(N_ACTIONS)) for each in (explorer, given))
    assert (explorer.reward_range, before) == ((0.0, 1.0), same)
    explorer.observe(image(0), 0, image(1), False, reward=50.0)
    assert explorer.reward_range == (0.0, 50.0)
    assert explorer.explain(image(3), np.zeros(N_ACTIONS)) != before


@pytest.mark.parametrize("changes", [{}, {"max_states": 20}, {"sweep_pairs": 12}, {"greedy_episodes": 0.5}])
def test_a_loaded_explorer_continues_exactly(changes, tmp_path):
    explorer, walk = of_images(**changes), transitions(10**9)
    drive(explorer, 300, walk=walk)
    explorer.save(tmp_path / "w.npz")
    loaded = wl.Explorer.load(tmp_path / "w.npz")
    assert drive(explorer, 100) == drive(loaded, 100)
    np.testing.assert_array_equal(explorer.values(image(4)), loaded.values(image(4)))
    wl.Agent("ucb1", n_actions=2, reward_range=(0, 1)).save(tmp_path / "agent.npz")
    with pytest.raises(BadFile, match=r"Agent\.load"):
        wl.Explorer.load(tmp_path / "agent.npz")


@pytest.mark.parametrize("episode", [{"states": [1], "actions": [99]}, {"states": [], "actions": [0]}])
def test_forged_episodes_are_refused(episode, tmp_path):
    explorer = of_images(greedy_episodes=1.0)
    explorer.observe(image(0), 0, image(1), True, reward=1.0)
    explorer._progress.episodes[0] = Episode(True, True, **episode)
    explorer.save(tmp_path / "w.npz")
    with pytest.raises(BadFile, match="an episode has an action"):
        wl.Explorer.load(tmp_path / "w.npz")


def test_a_file_gives_observations_no_other_type_than_numbers():
    encoder = of_images()._agent.encoding.encoder
    assert type(encoder).from_plain(encoder.to_plain()) == encoder
    with pytest.raises(ValueError, match="object are no numbers"):
        type(encoder).from_plain(encoder.to_plain() | {"array": ["object", [2]]})


def test_equal_observations_are_one_state():
    class Tensor:  # As those of PyTorch: compared by identity, but an array.
        def __array__(self, dtype=None, copy=None):
            return numbers

    space, numbers = Box(-1, 1, (40,), np.float32), np.linspace(-1, 0, 40).astype(np.float32)
    explorer = wl.Explorer("vv-ucb", observation_space=space, n_actions=2, key="hash")
    explorer.observe(numbers, 0, -numbers, True)
    numbers[-1] = -0.0
    for equal in (numbers, numbers.astype(float), numbers.tolist(), Tensor()):
        np.testing.assert_array_equal(explorer.values(equal), explorer._agent.tables["visitation"][0])
        explorer.observe(equal, 1, None, True)
    assert explorer.n_states == 1
    assert explorer.bonus(-numbers, 0) == 0.0
    explorer.explain(-numbers, [0.0, 0.0])
    assert len(explorer.visits) == 1, "to look at a state does not add it"
    in_dict = wl.Explorer("vv-ucb", observation_space=Dict(a=space), n_actions=2, key="hash")
    for _ in range(2):
        in_dict.observe({"a": Tensor()}, 0, None, True)
    assert in_dict.n_states == 1


def test_rows_that_only_reset_an_environment_are_not_valid():
    """Gymnasium's default: the step after the end of an episode resets the environment, whatever the action is."""
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("FrozenLake-v1", is_slippery=False)] * 2)
    w = wl.Explorer("vv-ucb", observation_space=envs.single_observation_space, n_actions=4, reward_range=(0, 1))
    observations, over, n_valid = envs.reset(seed=0)[0], np.zeros(2, bool), 0
    for _ in range(300):
        actions = w.act(observations, np.zeros((2, 4)))
        following, rewards, terminated, truncated, _ = envs.step(actions)
        w.observe(observations, actions, following, terminated, truncated, rewards, valid=~over)
        n_valid += np.count_nonzero(~over)
        observations, over = following, terminated | truncated
    assert w.visits.sum() == n_valid < 600
    assert not w.visits[[5, 7, 11, 12, 15]].any(), "nothing is done in a hole or at the goal"


def test_states_in_which_nothing_was_observed_are_limited_too():
    explorer = of_images(max_states=20)
    for state in range(100):
        explorer.act(image(state), np.zeros(N_ACTIONS))
        assert len(explorer.visits) <= 20


@pytest.mark.parametrize("max_states", [3, 65, 130])
def test_any_number_of_states_can_be_the_maximum(max_states):
    explorer = of_images(max_states=max_states)
    for state in range(300):
        explorer.act(image(state), np.zeros(N_ACTIONS))
        if state % 2:
            explorer.observe(image(state), 0, image(state + 1), False)
        assert len(explorer.visits) <= max_states


def test_states_that_were_not_visited_lately_are_forgotten(tmp_path):
    explorer = of_images(max_states=20, reward_range=(0, 1))
    for state in range(100):  # Each state once; 0 before every other, so that it is never forgotten.
        explorer.observe(image(0), 0, image(0), False)
        explorer.observe(image(state), 1, image(state + 1), False)
        assert explorer.n_states <= 20
    assert explorer.visits.sum() < 200
    assert explorer.visits.max() >= 100 - 1
    # What is left is an agent that visited only these states.
    explorer.save(tmp_path / "w.npz")
    assert wl.Explorer.load(tmp_path / "w.npz").n_states == explorer.n_states
    initial = of_images(reward_range=(0, 1)).values(image(50))
    np.testing.assert_array_equal(explorer.values(image(50)), initial)
    assert not np.array_equal(explorer.values(image(0)), initial)


def test_a_sweep_in_blocks():
    """With blocks of two states, each step updates the pairs of two states; the TD rule is that of all sweeps."""
    task = {"n_actions": 2, "n_states": 9, "reward_range": (0, 1), "gamma_w": 0.5}
    explorer, everything, plain = (
        wl.Explorer("vv-count", sweep_pairs=sweep_pairs, **task) for sweep_pairs in (4, 400, None)
    )
    w, visits, following = np.zeros((10, 2)), np.zeros((10, 2), int), {}
    rng, index, state = np.random.default_rng(0), {0: 1}, 0
    for step in range(200):
        action = int(rng.integers(2))
        next_state = (state * 2 + action + 1) % 9
        for each in (explorer, everything, plain):
            each.observe(state, action, next_state, False)
        index.setdefault(next_state, len(index) + 1)
        following[index[state], action] = index[next_state]
        visits[index[state], action] += 1
        n = len(index) + 1
        n_blocks = 1 if n * 2 <= 4 else -(-n // 2)
        first = step % n_blocks * 2 if n_blocks > 1 else 0
        block = range(first, min(first + 2, n)) if n_blocks > 1 else range(n)
        values = w.min(axis=1)
        for s, a in [pair for pair in following if pair[0] in block]:
            w[s, a] += 0.5 * (visits[s, a] + 0.5 * values[following[s, a]] - w[s, a])
        state = next_state
    order = [index[s] for s in range(9)]
    np.testing.assert_allclose(explorer.visitation_values, w[order], rtol=1e-12)
    np.testing.assert_array_equal(everything.visitation_values, plain.visitation_values)


def test_greedy_episodes_begin_with_the_first_reward():
    explorer = wl.Explorer("vv-ucb", n_actions=2, greedy_episodes=1.0, seed=3)
    q = np.array([0.0, 1e-9])

    def share_of_second_action():
        chosen = []
        for _ in range(100):
            chosen.append(explorer.act(0, q))
            explorer.observe(0, chosen[-1], 1, True, reward=0.0)
        return np.mean(chosen)

    explorer.observe(0, 0, 1, True)  # Without a reward.
    assert 0.3 < share_of_second_action() < 0.9
    explorer.observe(0, 1, 1, True, reward=1.0)
    assert share_of_second_action() > 0.9


def episode(explorer, start=0, reward=0.0, actions=None):
    """Return the actions in a chain of six states in which every action advances; Q prefers the second one."""
    chosen = []
    for step in range(6):
        chosen.append(explorer.act(start + step, np.array([0.0, 1.0])) if actions is None else actions[step])
        explorer.observe(start + step, chosen[-1], start + step + 1, step == 5, reward=reward * (step == 5))
    return chosen


def test_greedy_episodes_repeat_the_best_one_while_its_states_come_again(tmp_path):
    explorer, best = wl.Explorer("vv-ucb", n_actions=2, greedy_episodes=1.0, seed=0), [0, 1, 0, 0, 1, 0]
    episode(explorer, reward=1.0, actions=best)
    episode(explorer, reward=0.5, actions=[0] * 6)
    explorer.save(tmp_path / "w.npz")
    explorer = wl.Explorer.load(tmp_path / "w.npz")
    chosen = [episode(explorer) for _ in range(60)]
    assert 0.3 < np.mean([actions == best for actions in chosen]) < 0.7  # The others are ε-greedy for Q.
    assert np.mean([actions for actions in chosen if actions != best]) > 0.9
    others = np.mean([episode(explorer, start=10 * i) for i in range(1, 30)])
    assert 0.9 < others < 1.0  # In other states all of them are.
    mask = np.array([False, True])
    assert explorer.act(0, np.array([1.0, 0.0]), mask=mask) == 1
    assert repr(explorer) == "<Explorer vv-ucb, seed 0: 546 steps, 180 states visited>"
    explorer._progress.best.actions[0] = 9
    explorer.save(tmp_path / "w.npz")
    with pytest.raises(BadFile, match="an episode has an action"):
        wl.Explorer.load(tmp_path / "w.npz")
    explorer._progress.best.actions[0] = 0
    episode(explorer, start=3, reward=2.0, actions=[0] * 6)
    assert [0] * 6 in [episode(explorer, start=3) for _ in range(10)]


def test_masks():
    explorer = wl.Explorer("vv-ucb", n_actions=3, reward_range=(0, 1))
    masks = np.array([[True, False, True], [True, False, True]])
    for _ in range(30):
        actions = explorer.act([0, 0], np.array([[0.0, -np.inf, 9.0]] * 2), mask=masks)
        actions[1] = explorer.act(0, [0.0, -np.inf, 9.0], mask=masks[1].tolist())
        explorer.observe([0, 0], actions, [0, 0], [False, False])
    assert explorer.visits[0, 1] == 0 < explorer.visits[0, 0]


def test_small_costs_alone_do_not_make_exploration_small():
    """Before a positive reward r_max is at least 1: a network's outputs are noise that is larger than such costs."""
    explorer = wl.Explorer("vv-ucb", n_actions=2)
    for rewards, expected in [((-0.001, 0.0), (-0.001, 1.0)), ((-5.0,), (-5.0, 0.0)), ((0.1,), (-5.0, 0.1))]:
        for reward in rewards:
            explorer.observe(0, 0, 1, False, reward=reward)
        assert explorer.reward_range == expected


def test_a_warning_if_states_never_repeat():
    explorer, coarse = (
        wl.Explorer("vv-ucb", observation_space=Box(0, 1, (2,)), n_actions=2, key=key)
        for key in ("hash", wl.keys.rounded(0.25))
    )

    def walk():
        for here, there in itertools.pairwise(np.random.default_rng(0).random((2001, 2))):
            coarse.observe(here, 0, there, False)
            explorer.observe(here, 0, there, False)

    with pytest.warns(RuntimeWarning, match=r"wl\.keys\.rounded") as caught:
        walk()
    assert len(caught) == 1, "of one of them, once"
    assert (explorer.repeat_rate, coarse.n_states) == (0.0, 25)
    assert coarse.repeat_rate > 0.9
    coarse = wl.Explorer("vv-ucb", observation_space=Box(0, 1, (2,)), n_actions=2, key=wl.keys.rounded(9.0))
    with pytest.warns(RuntimeWarning, match="finer key"):
        walk()


def test_no_warning_if_states_repeat_after_a_first_tour(recwarn):
    explorer = wl.Explorer("vv-ucb", observation_space=Box(0, 1, (2,)), n_actions=2, key="hash")
    tour = np.random.default_rng(0).random((1_000, 2))
    for here, there in itertools.pairwise(np.concatenate([tour, tour, tour])):
        explorer.observe(here, 0, there, False)
    assert explorer.n_states == 1_000
    assert not recwarn.list


@pytest.mark.parametrize(
    ("key", "same", "other"),
    [
        (wl.keys.rounded(0.5), ([0.1, 1.0], [-0.2, 1.2]), [0.1, 1.3]),
        (wl.keys.simhash(16), (np.arange(8.0), 2.0 * np.arange(8.0)), -np.arange(8.0)),
        (wl.keys.downscale(2, 2, 4), (np.full((9, 7, 3), 100), np.full((9, 7, 3), 110)), np.full((9, 7, 3), 200)),
        (wl.keys.downscale(2, 2), (np.full((5, 9, 9), 100), np.full((5, 9, 9), 101)), np.full((5, 9, 9), np.tri(9))),
        (wl.keys.downscale(2, 3), (np.eye(12) * 200, np.eye(12) * 201), np.eye(12)[::-1] * 200),
    ],
)
def test_keys(key, same, other, tmp_path):
    one, equal = (key(np.asarray(each)) for each in same)
    assert one == equal != key(np.asarray(other))
    explorer = wl.Explorer("ucb1", observation_space=Box(-999, 999, np.shape(other)), n_actions=2, key=key)
    explorer.observe(np.asarray(same[0]), 0, np.asarray(other), False)
    explorer.save(tmp_path / "w.npz")
    loaded = wl.Explorer.load(tmp_path / "w.npz")
    loaded.observe(np.asarray(same[1]), 0, np.asarray(other), False)
    assert loaded.n_states == 1
    for invalid in (np.array(["a"]), np.array([np.nan])):
        with pytest.raises(InvalidObservation, match="numbers"):
            key(invalid)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: wl.Explorer("vv-ucb", n_actions=2, key="hash"), "observation_space"),
        (lambda: of_images(replay="window"), "sweep_pairs"),
        (lambda: wl.Explorer("vv-ucb", observation_space=IMAGES, n_actions=2, key="info:x"), "info"),
        (lambda: wl.Explorer("vv-ucb", observation_space=IMAGES, n_actions=2, key=lambda o, info: 0), "needs info"),
        (lambda: of_images().act([image(0)], np.zeros((2, N_ACTIONS))), "2 environments"),
        (lambda: of_images().observe(image(0)[0], 0, image(1), False), "shape"),
        (lambda: of_images().observe(image(0) + 0.5, 0, image(1), False), "uint8"),
        (lambda: wl.Explorer("vv-ucb", observation_space=IMAGES, n_actions=2, key="hash", n_states=9), "max_states"),
        (
            lambda: wl.Explorer(
                "vv-ucb", observation_space=Box(0, 1, (9, 9)), n_actions=2, key=wl.keys.downscale(2, 2)
            ),
            "high=",
        ),
        (lambda: wl.keys.downscale(0, 3), "height"),
        (lambda: wl.keys.downscale(30, 3)(np.zeros((5, 5))), "30 x 3"),
    ],
)
def test_invalid_input(call, match):
    with pytest.raises((InvalidSetting, InvalidObservation), match=match):
        call()
