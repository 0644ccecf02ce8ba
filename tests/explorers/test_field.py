"""The explorers of other papers against tables that other people's code computed from the same transitions.

`data/field.npz` has arrays only. R-MAX: simple_rl 2e1915c. Successor representation: count_based_exploration_sr
e4d657e. Successor functions of goals: mon_mdp_neurips24 f5656ed. Empirical models: rlberry-scool 0.7.3. Optimistic
Q-learning, PSRL and RLSVI: rlberry-research 4b1c8ba. PSRL in RiverSwim: statisticalrl-learners 2.2507.

Of UCBVI only the empirical model is compared: the bonus of rlberry-scool is another one, in tables for each step.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wanderlust as wl
from conftest import PAPER_EXPLORERS, PLANNERS
from wanderlust.checks import InPython
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_values
from wanderlust.explorers.choice import standard_gamma, standard_normal
from wanderlust.explorers.formulas import annealed_rate
from wanderlust.explorers.planners import GOAL
from wanderlust.explorers.posterior import DRAWN, SHARE
from wanderlust.explorers.protocol import Problem, configured, explorer_class
from wanderlust.learning.planned import Model, mark_all, plan
from wanderlust.learning.state import TERMINAL, new_streams
from wanderlust.learning.td import REWARD
from wanderlust.worlds import Defaults, World

FIELD = np.load(Path(__file__).parents[1] / "data" / "field.npz")
NEW = [name for name in wl.explorer_names() if name not in PAPER_EXPLORERS and name != "fading"]


def transitions(world: str) -> list[tuple[int, int, float, int]]:
    return [(int(s), int(a), float(r), int(s_next)) for s, a, r, s_next in FIELD[f"{world}.log"]]


def new_agent(explorer: str, n_states: int, n_actions: int, learning_rate: float = 0.5, **options: Any) -> wl.Agent:
    """Return an agent with the discount factor of the recordings."""
    settings = wl.Settings(discount=0.95, learning_rate=learning_rate)
    return wl.Agent(explorer, n_actions=n_actions, n_states=n_states, reward_range=(0, 1), settings=settings, **options)


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("world", ["chain5", "grid3x4"])
def test_r_max(world: str, m: int) -> None:
    """Of each pair, R-MAX uses the first m transitions; the reference stops planning at 1e-4."""
    tables, counts = FIELD[f"{world}.rmax_m{m}.Q"], FIELD[f"{world}.rmax_m{m}.N"]
    _, n_states, n_actions = tables.shape
    agent = new_agent("r-max", n_states, n_actions, known_after=m)
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
    agent = new_agent("dora", successor.shape[1], 1, learning_rate=0.1, gamma_e=0.9)
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


def test_the_empirical_model() -> None:
    """What all planners plan with, after the same transitions: n, r̂ and P̂."""
    counts, rewards, shares = (FIELD[f"episodic.ucbvi_shared.{name}"] for name in ("N_sa", "R_hat", "P_hat"))
    _, n_states, n_actions = counts.shape
    agent, ks = new_agent("ucbvi", n_states, n_actions), FIELD["episodic.ks"]
    for episode, steps in enumerate(FIELD["episodic.log"], 1):
        for s, a, r, s_next in steps:
            agent.observe(int(s), int(a), float(r), int(s_next), terminated=False)
        for k in np.flatnonzero(ks == episode):
            n, outcomes = int(agent.learner.counters.n_outcomes), agent.learner.outcomes
            # The states of this chain are discovered in their order, and indexed from 1.
            state, action = outcomes.pair[:n] // n_actions - 1, outcomes.pair[:n] % n_actions
            share, reward = np.zeros(shares.shape[1:]), np.zeros(rewards.shape[1:])
            share[state, action, outcomes.next_state[:n] - 1] = outcomes.weight[:n]
            np.add.at(reward, (state, action), outcomes.weight[:n] * outcomes.signals[REWARD, :n])
            np.testing.assert_array_equal(agent.visits, counts[k])
            np.testing.assert_allclose(reward, rewards[k], atol=1e-12)
            np.testing.assert_allclose(share[counts[k] > 0], shares[k][counts[k] > 0], atol=1e-12)


def parts(agent: wl.Agent, explorer: str) -> tuple[Any, Any]:
    """Return an explorer and its model, to call in plain Python."""
    in_python = InPython()
    fields = configured(explorer, Problem(agent.n_actions, (0, 1), agent.settings.discount), {})
    return in_python(explorer_class(explorer))._make(fields), in_python(Model)(agent.learner, agent.spec)


def replanned(agent: wl.Agent, explorer: str, *, everywhere: bool = False) -> NDArray[np.float64]:
    """Plan in the agent's model as it is now; return the table: [state, action]."""
    one, model = parts(agent, explorer)
    InPython()(mark_all)(model)
    InPython()(plan)(one, model, 1e-12, everywhere)
    return np.array(agent.tables["own"][0])


@pytest.mark.parametrize("world", ["chain5", "grid3x4"])
def test_successor_functions_of_goals(world: str) -> None:
    """The reference learns them with a learning rate of 0.5, so they fluctuate around those that are planned."""
    learnt = FIELD[f"{world}.s_function"]
    n_states, n_actions, _ = learnt.shape
    agent = new_agent("goal-directed", n_states, n_actions)
    for s, a, r, s_next in transitions(world):
        agent.observe(s, a, r, s_next, terminated=False)
    planned = np.zeros(learnt.shape)
    for goal in range(n_states * n_actions):
        state, action = divmod(goal, n_actions)
        agent.learner.notes[GOAL] = agent.state_index[state] * n_actions + action
        agent.learner.values[agent.spec.own] = agent.learner.state_values[agent.spec.own] = 0.0
        planned[:, :, goal] = replanned(agent, "goal-directed")
    assert np.all(planned.reshape(n_states * n_actions, -1).diagonal() == 1.0)
    np.testing.assert_allclose(planned, learnt, atol=0.1)
    assert np.abs(planned - learnt).mean() < 0.02


def observed(explorer: str, world: str) -> tuple[wl.Agent, NDArray[np.float64], NDArray[np.float64]]:
    """Return an agent, the counts of the transitions that it has observed, and the sums of their rewards."""
    shape = FIELD[f"{world}.s_function"].shape[:2]
    agent, count, total = new_agent(explorer, *shape), np.zeros((*shape, shape[0])), np.zeros(shape)
    for s, a, r, s_next in transitions(world)[:150]:
        agent.observe(s, a, r, s_next, terminated=False)
        count[s, a, s_next] += 1
        total[s, a] += r
    return agent, count, total


def test_bounds_of_ucbvi() -> None:
    """min(Q, r̂ + γ (P̂V + b)), where b = √(Var V / n) + 0.01 V_max / n."""
    agent, count, total = observed("ucbvi", "chain5")
    one, model = parts(agent, "ucbvi")
    q, n = agent.tables["own"][0], count.sum(axis=2)
    v, p = q.max(axis=1), count / n[:, :, None]
    variance = p @ v**2 - (p @ v) ** 2
    bounds = total / n + 0.95 * (p @ v + np.sqrt(np.maximum(variance, 0.0) / n) + 0.01 * 20 / n)
    assert (variance > 1e-6).any()
    for s, a in np.ndindex(q.shape):
        pair = agent.state_index[s] * agent.n_actions + a
        assert one.backup(model, pair) == pytest.approx(min(q[s, a], bounds[s, a]), abs=1e-9)


@pytest.mark.parametrize("world", ["chain5", "grid3x4"])
@pytest.mark.parametrize("explorer", ["mbie-plan", "r-max", "mbie-eb"])
def test_tables_are_exact_solutions_of_the_observed_model(explorer: str, world: str) -> None:
    """The plans, and what `mbie-eb` learns when the memory is replayed until it converges."""
    agent, count, total = observed(explorer, world)
    n_states, n = len(count), count.sum(axis=2)
    tried, visits = n > 0, np.maximum(n, 1)
    # An untried pair is worth V = 1 / (1 - γ) = 20.
    reward = np.where(tried, total / visits + (0.0 if explorer == "r-max" else 0.3 / np.sqrt(visits)), 20.0)
    mdp = TabularMDP(
        probability=np.where(tried[:, :, None], count / visits[:, :, None], np.eye(n_states)[0]),
        next_state=np.broadcast_to(np.arange(n_states), count.shape),
        reward=np.repeat(reward[:, :, None], n_states, axis=2),
        terminal=np.repeat(~tried[:, :, None], n_states, axis=2),
        start=np.eye(n_states)[0],
    )
    known = agent.state_index[:n_states] > 0
    assert (tried.any(), tried.all()) == (True, False) or world == "chain5"
    agent.replay(1500)
    found = agent.tables["behaviour"] if explorer == "mbie-eb" else replanned(agent, explorer)
    np.testing.assert_allclose(found[known], optimal_values(mdp, 0.95).q[known], atol=1e-7)


@pytest.mark.parametrize("explorer", ["rlsvi", "psrl"])
def test_draws(explorer: str) -> None:
    """Mean and standard deviation of what is drawn for a pair with three visits and for an untried one (papers)."""
    agent, sigma = new_agent(explorer, 3, 2), 0.1
    for r, s_next in ((1.0, 1), (0.0, 2), (1.0, 1)):
        agent.observe(0, 0, r, s_next, terminated=False)
    one, model = parts(agent, explorer)
    pairs = agent.state_index[0] * 2 + np.arange(2)
    draws, shares = np.zeros((1500, 2)), np.zeros(1500)
    with np.errstate(over="ignore"):
        for i in range(len(draws)):
            for pair in pairs:
                (one.draw if explorer == "rlsvi" else one.draw_reward)(model, pair, agent.learner.streams)
            draws[i] = model.table(DRAWN)[pairs]
            if explorer == "psrl":
                one.draw_transitions(model, pairs[0], agent.learner.streams)
                assert model.table(SHARE)[pairs[0]] == 0.0, "the prior of a tried pair is worth nothing"
                shares[i] = model.outcome_number(model.first_outcome(pairs[0]))
    if explorer == "rlsvi":  # N(0, σ² / n) and N(0, V²)
        means, deviations = np.zeros(2), np.array([sigma / np.sqrt(3), 20.0])
    else:  # The posterior of the mean reward 2 / 3 with the prior N(1, 1), p ~ Dirichlet(2, 1), and the prior.
        precision = 3 / sigma**2 + 1
        means, deviations = np.array([(2 / sigma**2 + 1) / precision, 1.0]), np.array([precision**-0.5, 1.0])
        assert shares.mean() == pytest.approx(2 / 3, abs=0.03)
        assert shares.std() == pytest.approx(np.sqrt(1 / 18), rel=0.1)
    assert (np.abs(draws.mean(axis=0) - means) < 4 * deviations / np.sqrt(len(draws))).all()
    np.testing.assert_allclose(draws.std(axis=0), deviations, rtol=0.1)


def agent_of_episodes(explorer: str, horizon: int, n_states: int, n_actions: int) -> wl.Agent:
    """Return an agent whose states are (step of the episode, state), and that has observed each transition once."""
    agent = new_agent(explorer, horizon * n_states, n_actions)
    for h, s, a, s_next in np.ndindex(horizon, n_states, n_actions, n_states):
        following = h * n_states + s_next + (n_states if h < horizon - 1 else 0)
        agent.observe(h * n_states + s, a, 0.0, following, terminated=h == horizon - 1)
    return agent


@pytest.mark.parametrize("explorer", ["psrl", "rlsvi"])
def test_plans_in_models_that_were_drawn(explorer: str) -> None:
    """Q of the recorded draws: of rewards and transitions (PSRL), or of what is added to mean rewards (RLSVI).

    The reference does not discount. A reward of r / γʰ in step h of an episode adds r to its discounted return.
    """
    names = ("sample_P", "sample_R", "sample_Q") if explorer == "psrl" else ("P_hat", "noise", "Q_corrected")
    shares, drawn, expected = (FIELD[f"episodic.{explorer}.{name}"] for name in names)
    n, horizon, n_states, n_actions = expected.shape
    if explorer == "psrl":
        drawn = np.repeat(drawn[:, None], horizon, axis=1)  # The same in every step.
    else:
        shares = np.repeat(shares[None], n, axis=0)
    agent = agent_of_episodes(explorer, horizon, n_states, n_actions)
    outcomes, scale = agent.learner.outcomes, 0.95 ** -np.arange(horizon)[:, None, None]
    state_of = np.zeros(horizon * n_states + 1, np.int64)
    state_of[agent.state_index[: horizon * n_states]] = np.arange(horizon * n_states)
    k = np.arange(int(agent.learner.counters.n_outcomes))
    h, s = np.divmod(state_of[outcomes.pair[k] // n_actions], n_states)
    a, s_next = outcomes.pair[k] % n_actions, state_of[outcomes.next_state[k]] % n_states
    pair = agent.state_index[: horizon * n_states, None] * n_actions + np.arange(n_actions)
    for i in range(n):
        probability = np.where(outcomes.next_state[k] == TERMINAL, 1.0, shares[i, s, a, s_next])
        if explorer == "psrl":
            outcomes.signals[agent.spec.own_signal, k] = probability
            agent.learner.values[agent.spec.own + SHARE] = 0.0
        else:
            outcomes.weight[k] = probability
            outcomes.signals[REWARD, k] = (scale * FIELD["episodic.rlsvi.R_hat"])[h, s, a]
        agent.learner.values[agent.spec.own + DRAWN, pair] = (scale * drawn[i]).reshape(pair.shape)
        q = replanned(agent, explorer, everywhere=explorer == "psrl").reshape(expected[i].shape) / scale
        np.testing.assert_allclose(q, expected[i], atol=1e-9)


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


def test_distributions() -> None:
    streams, in_python = new_streams(5), InPython()
    normal, gamma = in_python(standard_normal), in_python(standard_gamma)
    with np.errstate(over="ignore"):
        normals = np.array([normal(streams) for _ in range(4000)])
        gammas = np.array([[gamma(shape, streams) for _ in range(4000)] for shape in (1.0, 7.0)])
    assert normals.mean() == pytest.approx(0, abs=0.06)
    assert normals.var() == pytest.approx(1, abs=0.1)
    np.testing.assert_allclose(gammas.mean(axis=1), [1, 7], rtol=0.06)
    np.testing.assert_allclose(gammas.var(axis=1), [1, 7], rtol=0.15)


def test_planners_need_a_full_memory() -> None:
    for explorer in PLANNERS:
        for replay in ("none", "window"):
            with pytest.raises(wl.WanderlustError, match="use replay='full'"):
                wl.train("prison", explorer, replay=replay)


def test_explorers_with_a_q_table_of_their_own_cannot_use_another_and_the_others_can() -> None:
    own = ("optimistic", "mbie-eb", "r-max", "ucbvi", "mbie-plan", "ucb-q", "rlsvi", "psrl")
    for explorer in own:
        with pytest.raises(wl.WanderlustError, match="learns an optimistic Q-table itself"):
            wl.Explorer(explorer, n_actions=2, reward_range=(0, 1))
    for explorer in set(NEW) - {*own}:
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
