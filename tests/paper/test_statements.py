"""The equations of Section 3 of the paper: fixed points, bounds and limits of the W-functions.

The study `toy-example` checks the statements of the text about its 3×3 world, its counts, policies and pseudocounts;
`test_studies.py` compares its claims and values. Here are other worlds, sizes and discounts.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wanderlust as wl
from wanderlust.explorers.formulas import (
    long_term_ucb,
    long_term_ucb_bound,
    pseudocount,
    ucb,
    untried_pseudocount_ucb,
    untried_ucb,
)
from wanderlust_paper.registry import VV_EXPLORERS
from wanderlust_paper.reports.recap_tables import PAPER_SEEDS
from wanderlust_paper.studies.deep_sea_ensembles import PRIOR_WEIGHTS, predicted_share
from wanderlust_paper.studies.toy_agents import EPISODES, converge, observe_episode

pytestmark = pytest.mark.slow

GAMMA = GAMMA_W = 0.99
KAPPA = 2 / (1 - GAMMA)


def new_agent(explorer, n_states=9, reward_range=(0, 2), gamma_w=GAMMA_W, **options):
    """Return an agent for `n_states` states and one additional state (see `converge`)."""
    options["settings"] = wl.Settings(discount=GAMMA, learning_rate=1.0, gamma_w=gamma_w)
    return wl.Agent(explorer, n_states=n_states + 1, n_actions=4, reward_range=reward_range, **options)


# --- Section 3.1: immediate counts are myopic ------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    """Explorer -> an agent that has observed the four episodes."""
    world = wl.make_world("toy-example")
    agents = {name: new_agent(name) for name in ("ucb1", "bonus", "vv-ucb", "vv-count")}
    for agent in agents.values():
        for actions in EPISODES:
            observe_episode(agent, world, actions)
        converge(agent)
    return agents


def fixed_point(world, n, reward, terminal, discount, initial, reduce):
    """Solve x(s,a) = reward + discount · reduce x(s',·) over visited pairs; others keep their initial value."""
    next_state = world.mdp.next_state[:, :, 0]
    discounts = np.where(terminal, 0.0, discount)
    x = np.full(n.shape, initial)
    for _ in range(4000):
        x = np.where(n > 0, reward + discounts * reduce(x, axis=1)[next_state], x)
    return x


def test_tables_are_the_fixed_points_of_their_definitions(toy):
    """The converged tables, computed from the visits with the equations alone."""
    world = wl.make_world("toy-example")
    n = toy["ucb1"].visits[:9]
    terminal = world.mdp.terminal[:, :, 0]
    reward = world.mdp.reward[:, :, 0]
    visits = np.maximum(n, 1)
    terminal_scale = np.where(terminal, 1 / (1 - GAMMA_W), 1.0)
    immediate = np.sqrt(2 * np.log(np.maximum(n.sum(axis=1, keepdims=True), 1)) / visits)
    bound = 1 / (1 - GAMMA_W) ** 2 + math.sqrt(2 * math.log(3)) / (1 - GAMMA_W)
    for explorer, table, r, initial, reduce in (
        ("ucb1", "target", reward, 0.0, np.max),
        ("bonus", "behaviour", reward + 0.1 / np.sqrt(visits), 0.0, np.max),
        ("vv-ucb", "visitation", terminal_scale * immediate, bound, np.max),
        ("vv-count", "visitation", terminal_scale * n, 0.0, np.min),
    ):
        expected = fixed_point(world, n, r, terminal, 0.99, initial, reduce)
        np.testing.assert_allclose(toy[explorer].tables[table][:9], expected, rtol=1e-9, atol=1e-9)


# --- γ_w = 0 is UCB1 -------------------------------------------------------------------------------

Q_VALUES = st.lists(st.floats(0, KAPPA), min_size=4, max_size=4)
COUNTS = st.lists(st.integers(0, 6), min_size=4, max_size=4)


def drop_in(name, *, n_actions=4, gamma_w=GAMMA_W, r_max=2.0, **options):
    """Return a drop-in explorer, which receives Q-values; W is updated with a learning rate of 1."""
    sizes = {"n_states": 2, "n_actions": n_actions, "reward_range": (0, r_max)}
    return wl.Explorer(name, **sizes, learning_rate=1.0, gamma_w=gamma_w, **options)


def drop_in_scores(explorer, q):
    return np.array([reason.score for reason in explorer.explain(0, q).actions])


def with_visits(explorer, counts):
    """Observe each action of state 0 as often as in `counts`, always with the next state 1; return the explorer."""
    for action, count in enumerate(counts):
        for _ in range(count):
            explorer.observe(0, action, 1, terminated=False)
    return explorer


@given(q=Q_VALUES, counts=COUNTS)
def test_with_gamma_w_0_w_is_ucb1(q, counts):
    """With the same +1 in the logarithm, visited actions have the same values with vv-ucb, too."""
    theirs = drop_in_scores(with_visits(drop_in("ucb1"), counts), q)
    ours = drop_in_scores(with_visits(drop_in("vv-count", gamma_w=0), counts), q)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    ours = drop_in_scores(with_visits(drop_in("vv-ucb", gamma_w=0, log_plus_one=True), counts), q)
    visited = np.array(counts) > 0
    np.testing.assert_allclose(ours[visited], theirs[visited], rtol=1e-12)
    # The two bounds of unvisited actions differ only in the logarithm: |A| - 1 or |A|.
    gap = KAPPA * (math.sqrt(2 * math.log(4)) - math.sqrt(2 * math.log(3)))
    np.testing.assert_allclose(theirs[~visited] - ours[~visited], gap, rtol=1e-9)


# --- Every action once before any action twice -----------------------------------------------------

DISCOUNTS = st.floats(0, 0.999)
SIZES = st.integers(2, 12)
# The bounds are strict, so the value of a visited action may be close to Q_max, but not equal.
Q_SHARES = st.floats(0, 1 - 1e-6)


@given(
    name=st.sampled_from(["ucb1", "vv-ucb", "vv-count"]),
    size=SIZES, gamma_w=DISCOUNTS, r_max=st.floats(1e-3, 1e4), data=st.data(),
)  # fmt: skip
def test_the_first_actions_are_all_different(name, size, gamma_w, r_max, data):
    """Whatever Q is, an unvisited action is preferred to visited ones."""
    q = np.array(data.draw(st.lists(Q_SHARES, min_size=size, max_size=size))) * r_max / (1 - GAMMA)
    explorer = drop_in(name, n_actions=size, gamma_w=gamma_w, r_max=r_max)
    taken = []
    for _ in range(size):
        taken.append(explorer.act(0, q))
        explorer.observe(0, taken[-1], 1, terminated=False)
    assert sorted(taken) == list(range(size))


SPANS = st.floats(1e-3, 1e3)


@given(size=SIZES, span=SPANS, gamma_w=DISCOUNTS)
def test_bound_of_w_as_a_long_term_ucb(size, span, gamma_w):
    """Q_min + κ(1-γ_w)W > Q_max + κ(1-γ_w)(√(2 log(|A|-1)) + γ_w W) holds if and only if W is above its bound."""
    bound = long_term_ucb_bound(size, span, gamma_w)

    def unvisited_preferred(w):
        target = math.sqrt(2 * math.log(size - 1)) + gamma_w * w
        return long_term_ucb(w, gamma_w) > span + long_term_ucb(target, gamma_w)

    assert unvisited_preferred(bound * (1 + 1e-9))
    assert not unvisited_preferred(bound * (1 - 1e-9))


@given(size=SIZES, span=SPANS, gamma_w=DISCOUNTS, data=st.data())
def test_bound_of_w_as_a_long_term_count(size, span, gamma_w, data):
    """The bound is above (Q_max - Q_min)/κ + U of every visited action with pseudocounts in [1-γ_w, 1]."""
    counts = data.draw(st.lists(st.floats(1 - gamma_w, 1), min_size=size - 1, max_size=size - 1))
    bound = untried_pseudocount_ucb(size, span, gamma_w, plus=1.0)
    least = min(counts)
    assert bound >= (span + ucb(least, sum(counts), 1.0)) * (1 - 1e-12)
    worst = ucb(1 - gamma_w, (1 - gamma_w) + size - 2, 1.0)
    assert bound == pytest.approx(span + worst, rel=1e-12)


@given(size=SIZES, span=SPANS)
def test_bound_of_ucb1(size, span):
    """|A| - 1 actions with one visit, +1 in the logarithm: the bound is their U plus the range of Q-values."""
    assert untried_ucb(size, span, counts_itself=True) == pytest.approx(span + ucb(1, size - 1, 1.0), rel=1e-12)


# --- Identical visitation --------------------------------------------------------------------------


@st.composite
def small_worlds(draw):
    """Draw a deterministic world with a few states, in which some actions terminate the episode."""
    n_states, n_actions = draw(st.integers(1, 5)), 4
    pairs = n_states * n_actions
    next_state = draw(st.lists(st.integers(0, n_states - 1), min_size=pairs, max_size=pairs))
    terminal = draw(st.lists(st.booleans(), min_size=pairs, max_size=pairs))
    return np.array(next_state).reshape(n_states, n_actions), np.array(terminal).reshape(n_states, n_actions)


@given(world=small_worlds(), times=st.integers(1, 5), gamma_w=st.floats(0, 0.9), name=st.sampled_from(VV_EXPLORERS))
def test_w_under_identical_visitation(world, times, gamma_w, name):
    next_state, terminal = world
    agent = new_agent(name, n_states=len(next_state), gamma_w=gamma_w)
    for state, action in np.ndindex(next_state.shape):
        for _ in range(times):
            agent.observe(state, action, 0.0, next_state[state, action], terminal[state, action])
    converge(agent, sweeps=250)
    immediate = math.sqrt(2 * math.log(4 * times) / times) if name == "vv-ucb" else times
    w = agent.tables["visitation"][:-1]
    np.testing.assert_allclose(w, immediate / (1 - gamma_w), rtol=1e-6)
    # So the exploration term equals that of the immediate count, for every γ_w.
    u = long_term_ucb if name == "vv-ucb" else pseudocount
    assert u(float(w[0, 0]), gamma_w) == pytest.approx(immediate, rel=1e-6)


@given(world=small_worlds(), gamma_w=st.floats(0, 0.9), data=st.data())
def test_uniform_counts_give_bounded_pseudocounts(world, gamma_w, data):
    """If all pairs except one have one visit, their pseudocounts are between 1 - γ_w and 1 (Section 3.3).

    The text illustrates this with a chain (Figure 5) with pseudocounts 3.8 and 4.52 at γ_w = 0.9. With all counts 1 the
    text's own bounds (this test) exclude values above 1, so these numbers cannot follow from (1 - γ_w) W and are not
    tested.
    """
    next_state, terminal = world
    pair = data.draw(st.integers(0, next_state.size - 1))
    agent = new_agent("vv-count", n_states=len(next_state), gamma_w=gamma_w)
    for i, (state, action) in enumerate(np.ndindex(next_state.shape)):
        if i != pair:
            agent.observe(state, action, 0.0, next_state[state, action], terminal[state, action])
    converge(agent, sweeps=250)
    counts = (1 - gamma_w) * agent.tables["visitation"][:-1].ravel()
    assert counts[pair] == 0
    others = np.delete(counts, pair)
    assert (others >= (1 - gamma_w) * (1 - 1e-9)).all()
    assert (others <= 1 + 1e-9).all()


def test_the_probabilities_in_the_text_about_the_bootstraps_are_the_computed_ones():
    text = " ".join((Path(__file__).parents[2] / "docs" / "deviations.md").read_text(encoding="utf-8").split())
    shares = [predicted_share(50, PRIOR_WEIGHTS[name]) for name in ("bootstrapped", "random-prior")]
    failed = re.findall(r"in ([\d.]+) % of (?:the seeds of `bootstrapped`|those of `random-prior`)", text)
    all_learn = re.findall(r"20 of 20 seeds succeed in (\d+) % and (\d+) % of all samples", text)
    assert failed == [f"{100 * share:.1f}" for share in shares]
    assert all_learn == [tuple(f"{100 * (1 - share) ** PAPER_SEEDS:.0f}" for share in shares)]
