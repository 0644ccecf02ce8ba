"""The explorers of other papers against tables that other people's code computed from the same transitions.

`data/field.npz` has arrays only. R-MAX: simple_rl 2e1915c. Successor representation: count_based_exploration_sr
e4d657e. Optimistic Q-learning: rlberry-research 4b1c8ba. PSRL in RiverSwim: statisticalrl-learners 2.2507.
"""

from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from conftest import PLANNERS
from wanderlust.checks import _InPython
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_values
from wanderlust.experiments.paper.registry import EXPLORERS as PAPER_EXPLORERS
from wanderlust.explorers.choice import standard_gamma, standard_normal
from wanderlust.explorers.formulas import annealed_rate
from wanderlust.learning.random_streams import new_streams
from wanderlust.worlds import Defaults, World

FIELD = np.load(Path(__file__).parent / "data" / "field.npz")
NEW = [name for name in wl.explorer_names() if name not in PAPER_EXPLORERS and name != "fading"]


def transitions(world: str) -> list[tuple[int, int, float, int]]:
    return [(int(s), int(a), float(r), int(s_next)) for s, a, r, s_next in FIELD[f"{world}.log"]]


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("world", ["chain5", "grid3x4"])
def test_r_max(world: str, m: int) -> None:
    """Of each pair, R-MAX uses the first m transitions; the reference stops planning at 1e-4."""
    tables, counts = FIELD[f"{world}.rmax_m{m}.Q"], FIELD[f"{world}.rmax_m{m}.N"]
    _, n_states, n_actions = tables.shape
    settings = wl.Settings(discount=0.95)
    agent = wl.Agent(
        "r-max", n_actions=n_actions, n_states=n_states, reward_range=(0, 1), settings=settings, known_after=m
    )
    for t, (s, a, r, s_next) in enumerate(transitions(world), 1):
        if agent.visits[s, a] < m:
            agent.observe(s, a, r, s_next, terminated=False)
        for k in np.flatnonzero(FIELD[f"{world}.steps"] == t):
            np.testing.assert_array_equal(agent.visits, counts[k])
            np.testing.assert_allclose(agent.tables["behaviour"], tables[k], atol=1e-3)


@pytest.mark.parametrize("world", ["chain5", "grid3x4"])
def test_e_values_are_successor_counts(world: str) -> None:
    """E = 1 - (1 - γ) ‖ψ‖₁ (Machado et al. 2020), with ψ learnt by others at γ = 0.9 and a learning rate of 0.1."""
    successor = FIELD[f"{world}.sr.table"]
    settings = wl.Settings(learning_rate=0.1)
    agent = wl.Agent(
        "dora", n_actions=1, n_states=successor.shape[1], reward_range=(0, 1), settings=settings, gamma_e=0.9
    )
    checked = 0
    for t, (s, _, _, s_next) in enumerate(transitions(world)):
        agent.observe(s, 0, 0.0, s_next, terminated=False)
        # E of a transition is updated when the next one is known.
        for k in np.flatnonzero(FIELD[f"{world}.steps"] == t):
            expected = 1 - (1 - 0.9) * successor[k].sum(axis=1)
            np.testing.assert_allclose(agent.tables["own"][0][:, 0], expected, atol=1e-12)
            checked += 1
    assert checked == 4


@pytest.mark.parametrize(("name", "scale"), [("optql", 1.0), ("optql_b0.1", 0.1)])
def test_learning_rate_of_optimistic_q_learning(name: str, scale: float) -> None:
    """The reference has a bonus of its own and one table for each step of an episode; the learning rate is the same."""
    horizon, tables, ks = int(FIELD["episodic.H"]), FIELD[f"episodic.{name}.Q"], FIELD["episodic.ks"].tolist()
    largest = horizon - np.arange(horizon + 1.0)
    q = np.broadcast_to(largest[:-1, None, None], tables.shape[1:]).copy()
    v = np.broadcast_to(largest[:, None], (horizon + 1, tables.shape[2])).copy()
    n = np.zeros(q.shape, int)
    for episode, steps in enumerate(FIELD["episodic.log"], 1):
        for h, (s, a, r, s_next) in enumerate(steps):
            i = h, int(s), int(a)
            n[i] += 1
            bonus = min(scale / np.sqrt(n[i]) + largest[h] / n[i], largest[h])
            q[i] += annealed_rate(n[i], horizon) * (r + bonus + v[h + 1, int(s_next)] - q[i])
            v[h, int(s)] = min(largest[h], q[h, int(s)].max())
        if episode in ks:
            np.testing.assert_allclose(q, tables[ks.index(episode)], rtol=1e-12)


@pytest.fixture(scope="module")
def river() -> World:
    """RiverSwim with six states, as one episode that does not end."""
    reward, probability = FIELD["river6.R"], FIELD["river6.P"]
    n_states, n_actions = reward.shape
    shape = (n_states, n_actions, n_states)
    mdp = TabularMDP(
        probability=probability.copy(),
        next_state=np.ascontiguousarray(np.broadcast_to(np.arange(n_states), shape), np.int32),
        reward=np.repeat(reward[:, :, None], n_states, axis=2),
        terminal=np.zeros(shape, bool),
        start=np.eye(n_states)[0],
    )
    defaults = Defaults(horizon=10**9, budget=6000)
    return World(name="river6", mdp=mdp, defaults=defaults, action_names=("left", "right"), r_max=1.0)


def test_psrl_in_river_swim(river: World) -> None:
    """The reward of a step in the mean, as high as that of the reference; theory's best possible is 0.223."""
    records = [wl.train(river, "psrl", seed=seed) for seed in range(4)]
    means = [float((record.visits * FIELD["river6.R"]).sum()) / 6000 for record in records]
    assert np.mean(means) == pytest.approx(FIELD["river6.psrl_means"].mean(), rel=0.15)


@pytest.mark.parametrize("explorer", ["mbie-eb", "ucbvi", "rlsvi", "psrl", "dora"])
def test_deep_exploration(explorer: str, river: World) -> None:
    """The large reward is up the river, where undirected exploration does not get to."""
    best = float(river.mdp.start @ optimal_values(river.mdp).v)
    returns = [wl.train(river, explorer, seed=seed, evaluate_every=6000).returns[-1] for seed in (1, 2, 3)]
    assert np.median(returns) == pytest.approx(best, rel=0.02)


@pytest.mark.parametrize(
    "explorer", ["optimistic", "mbie-eb", "r-max", "ucbvi", "ucb-q", "goal-directed", "rlsvi", "vv-plan"]
)
def test_the_far_treasure_of_prison(explorer: str) -> None:
    world = wl.make_world("prison")
    best = float(world.mdp.start @ optimal_values(world.mdp).v)
    assert wl.train(world, explorer, seed=1).returns[-1] == pytest.approx(best)


def test_distributions() -> None:
    streams, in_python = new_streams(5), _InPython()
    normal, gamma = in_python(standard_normal), in_python(standard_gamma)
    with np.errstate(over="ignore"):
        normals = np.array([normal(streams) for _ in range(4000)])
        gammas = np.array([[gamma(shape, streams) for _ in range(4000)] for shape in (1.0, 7.0)])
    assert normals.mean() == pytest.approx(0, abs=0.06)
    assert normals.var() == pytest.approx(1, abs=0.1)
    np.testing.assert_allclose(gammas.mean(axis=1), [1, 7], rtol=0.06)
    np.testing.assert_allclose(gammas.var(axis=1), [1, 7], rtol=0.15)


@pytest.mark.parametrize("explorer", NEW)
def test_new_explorers_pass_the_check(explorer: str) -> None:
    wl.check_explorer(explorer)


@pytest.mark.parametrize("explorer", PLANNERS)
@pytest.mark.parametrize("replay", ["none", "window"])
def test_planners_need_a_full_memory(explorer: str, replay: str) -> None:
    with pytest.raises(wl.WanderlustError, match="use replay='full'"):
        wl.train("prison", explorer, replay=replay)


@pytest.mark.parametrize("explorer", ["optimistic", "mbie-eb", "r-max", "ucbvi", "ucb-q", "rlsvi", "psrl"])
def test_explorers_with_a_q_table_of_their_own_cannot_use_another(explorer: str) -> None:
    with pytest.raises(wl.WanderlustError, match="learns an optimistic Q-table itself"):
        wl.Explorer(explorer, n_actions=2, reward_range=(0, 1))


@pytest.mark.parametrize("explorer", ["goal-directed", "dora", "boltzmann", "vv-plan"])
def test_the_others_can(explorer: str) -> None:
    one = wl.Explorer(explorer, n_actions=2, n_states=3, reward_range=(0, 1), seed=1)
    for step in range(40):
        action = one.act(step % 3, q=[0.0, 1.0])
        one.observe(step % 3, action, (step + 1) % 3, terminated=False)
    assert one.visits.sum() == 40


@pytest.mark.parametrize("explorer", ["mbie-eb", "r-max", "rlsvi"])
def test_rewards_beyond_the_range(explorer: str) -> None:
    """With another range of rewards, untried pairs are worth more, and planning goes on."""
    agent = wl.Agent(explorer, n_actions=2, n_states=2, reward_range=(0, 1), settings=wl.Settings(discount=0.9))
    agent.observe(0, 0, 1.0, 1, terminated=False)
    agent.adapt(reward_range=(0, 5))
    for step in range(60):
        agent.observe(step % 2, agent.act(step % 2), 5.0, (step + 1) % 2, terminated=False)
    assert np.isfinite(agent.tables["behaviour"]).all()
    assert agent.tables["target"].max() > 40, "the first reward of 1 lowers the mean of one pair"
