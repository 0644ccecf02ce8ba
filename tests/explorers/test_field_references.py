"""The explorers of other papers against plain implementations of the papers: tables exactly, behaviour within noise."""

from typing import Any

import numpy as np
import pytest

import field_references as plain
import wanderlust as wl
from test_field import replanned
from wanderlust.checks import InPython
from wanderlust.core.mdp import TabularMDP
from wanderlust.explorers.planners import GOAL
from wanderlust.explorers.posterior import DRAWN, SHARE
from wanderlust.explorers.protocol import Problem, configured, explorer_class
from wanderlust.learning.planned import Model
from wanderlust.worlds import Defaults, World

pytestmark = pytest.mark.slow

GAMMA, STEPS, SEEDS = 0.9, 250, 12
every_world = pytest.mark.parametrize("name", plain.WORLDS)


def as_world(name: str) -> World:
    """Return a world of the references as one of the library."""
    p, r, horizon = plain.WORLDS[name]
    n, n_actions, _ = p.shape
    shape = (n, n_actions, n + 1)
    mdp = TabularMDP(
        probability=p.copy(),
        next_state=np.ascontiguousarray(np.broadcast_to([*range(n), 0], shape), np.int32),
        reward=np.repeat(r[:, :, None], n + 1, axis=2),
        terminal=np.ascontiguousarray(np.broadcast_to(np.arange(n + 1) == n, shape)),
        start=np.eye(n)[0],
    )
    names = tuple(map(str, range(n_actions)))
    return World(name=name, mdp=mdp, defaults=Defaults(horizon=horizon, budget=STEPS), action_names=names, r_max=1.0)


def both(explorer: str, name: str, *, reference: str = "", **changes: Any) -> tuple[wl.Agent, plain.Reference]:
    """Return an agent and its reference that have observed the same transitions."""
    world = plain.WORLDS[name]
    n, n_actions = world.reward.shape
    agent = wl.Agent(
        explorer, n_actions=n_actions, n_states=n, reward_range=(0, 1), settings=wl.Settings(discount=GAMMA, **changes)
    )
    other = plain.new_reference(reference or explorer, world, GAMMA, 0)
    other.begin_episode()
    for s, a, r, s_next in plain.random_log(world, 150, 1):
        agent.observe(s, a, r, s_next % n, terminated=s_next == n)
        other.observe(s, a, r, s_next)
        if s_next == n:
            other.begin_episode()
    return agent, other


def parts(agent: wl.Agent, explorer: str) -> tuple[Any, Any]:
    """Return an explorer and its model, to call in plain Python."""
    in_python = InPython()
    fields = configured(explorer, Problem(agent.n_actions, (0, 1), GAMMA), {})
    return in_python(explorer_class(explorer))._make(fields), in_python(Model)(agent.learner, agent.spec)


@every_world
@pytest.mark.parametrize("explorer", ["mbie-plan", "r-max"])
def test_plans_are_exact_solutions(explorer: str, name: str) -> None:
    agent, other = both(explorer, name)
    visited = other.n.sum(axis=1) > 0
    np.testing.assert_allclose(replanned(agent, explorer)[visited], other.solution()[visited], atol=1e-7)


@pytest.mark.parametrize("name", ["chain", "grid"])
def test_mbie_eb_learns_the_exact_solution(name: str) -> None:
    """In deterministic worlds, in which the setting `sweeps` lets it converge."""
    agent, other = both("mbie-eb", name, reference="mbie-plan", sweeps=400)
    visited = other.n.sum(axis=1) > 0
    np.testing.assert_allclose(agent.tables["behaviour"][visited], other.solution()[visited], atol=1e-5)


@every_world
def test_bounds_of_ucbvi(name: str) -> None:
    """The bonus: every pair backed up once with the values that the agent has."""
    agent, other = both("ucbvi", name)
    explorer, model = parts(agent, "ucbvi")
    q = np.array(agent.tables["own"][0])
    expected = other.backed_up(q)
    for s, a in np.argwhere(other.n > 0):
        pair = agent.state_index[s] * agent.n_actions + a
        assert explorer.backup(model, pair) == pytest.approx(expected[s, a], abs=1e-9)


@every_world
def test_tables_of_optimistic_q_learning(name: str) -> None:
    agent, other = both("ucb-q", name)
    np.testing.assert_allclose(agent.tables["own"][0], other.q, rtol=1e-9)


@every_world
def test_successor_functions(name: str) -> None:
    agent, other = both("goal-directed", name)
    visited = other.n.sum(axis=1) > 0
    for s, a in np.argwhere(visited[:, None] & (other.n < 3)):
        agent.learner.notes[GOAL] = agent.state_index[s] * agent.n_actions + a
        agent.learner.values[agent.spec.own] = agent.learner.state_values[agent.spec.own] = 0.0
        planned = replanned(agent, "goal-directed")
        np.testing.assert_allclose(planned[visited], other.successor((s, a))[visited], atol=1e-9)


@pytest.mark.parametrize("explorer", ["rlsvi", "psrl"])
def test_draws(explorer: str) -> None:
    """Means and standard deviations of what is drawn for a tried and for an untried pair."""
    agent, other = both(explorer, "river")
    one, model = parts(agent, explorer)
    visits = other.n[agent.state_index[: len(other.n)] > 0]
    s = int(np.argmax(visits[:, 1]))
    tried, streams = int(agent.state_index[s]) * 2 + 1, agent.learner.streams
    agent.learner.visits[untried := int(agent.state_index[0]) * 2] = 0
    draw = one.draw if explorer == "rlsvi" else one.draw_reward
    with np.errstate(over="ignore"):
        draws = np.array([[draw(model, pair, streams), model.table(DRAWN)[pair]][1]
                          for _ in range(1500) for pair in (tried, untried)]).reshape(-1, 2)  # fmt: skip
    n, sigma = other.n[s, 1], 0.1
    if explorer == "rlsvi":
        means, deviations = [0.0, 0.0], [sigma / np.sqrt(n), other.V]
    else:
        references = np.array([other.drawn_rewards()[s, 1] for _ in range(1500)])
        means, deviations = [references.mean(), 1.0], [references.std(), 1.0]
    np.testing.assert_allclose(draws.mean(axis=0), means, atol=4 * np.array(deviations).max() / np.sqrt(1500))
    np.testing.assert_allclose(draws.std(axis=0), deviations, rtol=0.1)
    if explorer == "psrl":
        agent.learner.visits[untried] = 1
        shares = []
        with np.errstate(over="ignore"):
            for _ in range(1500):
                one.draw_transitions(model, tried, streams)
                assert model.table(SHARE)[tried] == 0.0, "the prior of a tried pair is worth nothing"
                shares.append(model.outcome_number(model.first_outcome(tried)))
        stored = agent.learner.outcomes.stored[model.first_outcome(tried)]
        mean = stored / n
        assert np.mean(shares) == pytest.approx(mean, abs=4 * np.std(shares) / np.sqrt(1500))
        assert np.std(shares) == pytest.approx(np.sqrt(mean * (1 - mean) / (n + 1)), rel=0.1)


@every_world
@pytest.mark.parametrize("explorer", plain.REFERENCES)
def test_behaviour(explorer: str, name: str) -> None:
    """Reward and tried pairs of short runs: their means over seeds differ by no more than chance explains."""
    world, table = as_world(name), plain.WORLDS[name]
    options = {"learning_rate": 0.5} if explorer == "dora" else {}
    ours = [wl.train(world, explorer, seed=seed, discount=GAMMA, **options).visits for seed in range(SEEDS)]
    theirs = [plain.trained(explorer, table, GAMMA, STEPS, seed).n for seed in range(SEEDS)]
    for measure in (lambda n: (n * table.reward).sum(), lambda n: (n > 0).sum()):
        one, other = np.array([measure(n) for n in ours]), np.array([measure(n) for n in theirs])
        error = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / SEEDS)
        # A measure without any spread, such as all pairs, may differ by one.
        assert abs(one.mean() - other.mean()) <= 4 * error + 1, (one, other)
