"""Fast equals slow, to the last bit: `wanderlust.train` against the literal algorithms in `oracle`.

Equal means every state, action, count, table and return of the whole run. A difference in the last bit of any
value breaks a tie in another way sooner or later, so whole trajectories are compared, not only final tables.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wanderlust as wl
from conftest import ENSEMBLES, EXPLORERS, MEMORIES, PLANNERS, can_run, every_explorer, every_memory
from oracle import SlowRecord, train_slowly
from oracle.field import EXPLORERS as SLOW_EXPLORERS
from oracle.random_stream import RandomStream
from pairwise import every_pair
from random_mdps import corridor, random_mdps, world_of
from test_drivers import Walk, assert_same_tables
from wanderlust.agents.settings import Replay
from wanderlust.core.mdp import TabularMDP
from wanderlust.explorers.protocol import explorer_class
from wanderlust.learning import state as streams
from wanderlust.worlds import World, make_world, with_slips

pytestmark = pytest.mark.slow

WORLDS: dict[str, dict[str, Any]] = {
    "toy": {},
    "prison": {},
    "noisy-toy": {},
    "deep-sea": {"depth": 5},
    "chain": {"length": 7},
    "toy-example": {},
    "taxi": {},
    "deep-gridworld": {},
}


def quick_options(explorer: str, heads: int = 3, batch: int = 40) -> dict[str, Any]:
    """Return few heads, small batches and plans that need few sweeps, all of which slow implementations are slow in."""
    if explorer in PLANNERS:
        return {"discount": 0.5 if explorer == "psrl" else 0.8}
    return {"heads": heads, "batch": batch} if explorer in ENSEMBLES else {}


def assert_fast_equals_slow(world: World, explorer: str, **changes: Any) -> SlowRecord:
    """Run both and compare all that they recorded."""
    fast = wl.train(world, explorer, keep_trajectory=True, **changes)
    slow = train_slowly(world, explorer, **changes)
    for name in ("states", "actions", "first_visit", "discovered"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    if world.mdp.deterministic:
        np.testing.assert_array_equal(fast.returns, slow.returns, err_msg="returns")
    assert_same_tables(fast, slow)
    return slow


def test_every_built_in_explorer_has_a_slow_implementation() -> None:
    ours = {name for name in wl.explorer_names() if explorer_class(name).__module__.startswith("wanderlust.")}
    assert ours == set(SLOW_EXPLORERS)


@pytest.mark.parametrize(("which", "name"), list(enumerate(streams.NAMES)))
def test_random_numbers(which: int, name: str) -> None:
    fast, slow = streams.new_streams(12345), RandomStream(12345, name)
    with np.errstate(over="ignore"):  # 64-bit numbers wrap around, of which plain NumPy would warn
        for n in range(1, 200):
            assert streams.uniform(fast, which) == slow.uniform()
            assert streams.below(fast, which, n) == slow.below(n)


@every_pair(
    name=WORLDS,
    preset=["as_written", "as_published_code"],
    initial=["zero", "optimistic"],
    memory=MEMORIES,
    explorer=EXPLORERS,
)
def test_worlds_presets_and_initial_values(name: str, preset: str, initial: str, memory: str, explorer: str) -> None:
    world = make_world(name, **WORLDS[name])
    steps, start = 70 if explorer in PLANNERS else 150, {"preset": preset, "initial": initial}
    changes = {**start, "replay": MEMORIES[memory], "horizon": world.defaults.long_horizon or world.defaults.horizon}
    assert_fast_equals_slow(
        world, explorer, seed=5, steps=steps, evaluate_every=25, **changes, **quick_options(explorer)
    )


@every_explorer
@pytest.mark.parametrize("name", ["noisy-toy", "deep-sea"])
def test_several_sweeps_a_step(name: str, explorer: str) -> None:
    """In the noisy world, too, until an action has a second outcome."""
    world = make_world(name, **WORLDS[name])
    assert_fast_equals_slow(world, explorer, seed=3, sweeps=5, steps=60, **quick_options(explorer))


@every_explorer
@every_memory
def test_many_outcomes(memory: str, explorer: str) -> None:
    """Every action leads to every state or to an end, each with another reward: long sums, whose order matters."""
    n_states, n_actions = 4, 2
    rng = np.random.default_rng(0)
    shape = (n_states, n_actions, n_states + 1)
    weight = rng.integers(1, 4, shape)
    mdp = TabularMDP(
        probability=weight / weight.sum(axis=2, keepdims=True),
        next_state=np.ascontiguousarray(np.broadcast_to([0, 1, 2, 3, 0], shape), np.int32),
        reward=rng.random(shape),
        terminal=np.ascontiguousarray(np.broadcast_to(np.arange(n_states + 1) == n_states, shape)),
        start=np.full(n_states, 1 / n_states),
    )
    world = world_of(mdp, horizon=20, budget=300)
    replay = Replay(memory, capacity=50, batch=25)
    assert_fast_equals_slow(world, explorer, seed=1, steps=200, replay=replay, **quick_options(explorer))


def ring(*, rewards: tuple[float, ...], probabilities: tuple[float, ...]) -> World:
    """Return two states that lead to each other, whatever is done; only the reward is random."""
    shape = (2, 2, len(rewards))
    mdp = TabularMDP(
        probability=np.ascontiguousarray(np.broadcast_to(probabilities, shape), np.float64),
        next_state=np.ascontiguousarray(np.broadcast_to([[[1]], [[0]]], shape), np.int32),
        reward=np.ascontiguousarray(np.broadcast_to(rewards, shape), np.float64),
        terminal=np.zeros(shape, bool),
        start=np.array([1.0, 0.0]),
    )
    return world_of(mdp, horizon=4, budget=100)


RANDOM_REWARD = ring(rewards=(0.0, 1.0), probabilities=(0.5, 0.5))
SMALL_WINDOW = {"replay": Replay("window", capacity=40, batch=8), "evaluate_every": 100, "heads": 2}
DECAY = {"budget": 3000, "replay": "none", "steps": 3000}


@pytest.mark.parametrize(
    ("world", "explorer", "changes"),
    [
        # 100,000 sweeps would update more than 100,000 pairs.
        ("toy", "vv-ucb", {"sweeps": 100_000, "steps": 6}),
        # Before anything is learnt, the greedy policy breaks ties at random; the first reward is thirty steps away.
        (corridor(40, 30, budget=30), "random", {"evaluate_every": 1}),
        # Few states are active there, and a forgotten transition changes the mean of a pair elsewhere.
        (with_slips(make_world("wall")), "bootstrapped", {**SMALL_WINDOW, "learning_rate": 1.0, "steps": 400}),
        # Ten tables and batches of 1,024, which is all of the memory in a short run.
        *((name, explorer, {"steps": 120}) for name in ("toy", "noisy-toy") for explorer in ENSEMBLES),
        # Several blocks of steps with their own bounds of ε, and bounds far apart.
        ("toy", "epsilon-greedy", {**DECAY, "epsilon_start": 0.9, "epsilon_end": 0.05}),
        ("toy", "epsilon-greedy", {**DECAY, "epsilon_start": 0.1, "epsilon_end": 0.9}),
        ("toy", "epsilon-greedy", {**DECAY, "epsilon_start": 0.5, "epsilon_end": 0.0}),
        # The mean of rewards that change.
        (RANDOM_REWARD, "random", {"steps": 60}),
        (RANDOM_REWARD, "random", {"steps": 60, "replay": Replay("window", capacity=6, batch=2)}),
    ],
)
def test_special_cases(world: str | World, explorer: str, changes: dict[str, Any]) -> None:
    slow = assert_fast_equals_slow(make_world(world) if isinstance(world, str) else world, explorer, seed=1, **changes)
    if "evaluate_every" in changes and explorer == "random":
        assert len(set(slow.returns)) == 2, "ties are broken again at every evaluation"


def test_a_certain_outcome_need_not_be_the_first() -> None:
    world = ring(rewards=(0.0, 1.0), probabilities=(0.0, 1.0))
    assert not world.mdp.deterministic, "rollouts look at the first outcome only"
    assert_fast_equals_slow(world, "random", seed=1, steps=20, evaluate_every=5)
    record = wl.train(world, "random", seed=1, steps=20, evaluate_every=5)
    np.testing.assert_allclose(record.returns, 1 / (1 - 0.99))


@every_explorer
def test_tables_that_grow(explorer: str) -> None:
    """Tables that grew, and long work lists, on a world of 156 reachable states."""
    slow = assert_fast_equals_slow(
        make_world("deep-sea", depth=12), explorer, seed=2, steps=200 if explorer in PLANNERS else 300,
        **quick_options(explorer, heads=2),
    )  # fmt: skip
    assert (slow.visits.sum(axis=1) > 0).sum() > 64


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("bonus", {"scale": 2.0}),
    ("bonus", {"evaluated": "behaviour"}),
    ("ucb1", {"kappa": 0.0}),
    ("ucb1", {"kappa": 0.3, "untried_value": 2.5}),
    ("vv-ucb", {"log_plus_one": True}),
    ("vv-ucb", {"kappa": 0.1, "gamma_w": 0.5, "initial_margin": 1.0}),
    ("vv-ucb", {"gamma_w": 0.0}),
    ("vv-count", {"terminal_count": "largest"}),
    ("vv-count", {"untried_bound": "equation", "gamma_w": 0.6}),
    ("epsilon-greedy", {"epsilon_start": 0.5, "epsilon_end": 0.5}),
    ("bootstrapped", {"dither": True}),
    ("bootstrapped", {"noise": 0.0, "evaluated": "behaviour"}),
    ("random-prior", {"prior_weight": 0.5, "noise": 3.0, "dither": True}),
    ("thompson", {"draw": "action", "evaluated": "behaviour"}),
    ("mbie-eb", {"beta": 0.5, "evaluated": "behaviour"}),
    ("boltzmann", {"temperature": 0.01}),
    ("r-max", {"known_after": 3, "evaluated": "behaviour"}),
    ("ucbvi", {"scale": 0.3, "correction": 0.2}),
    ("ucb-q", {"scale": 0.1, "rate_horizon": 30.0, "evaluated": "behaviour"}),
    ("mbie-plan", {"beta": 0.5, "evaluated": "behaviour"}),
    ("rlsvi", {"deviation": 0.5, "when_doubled": False}),
    ("rlsvi", {"prior_mean": 1.0, "clip": True}),
    ("psrl", {"deviation": 1.0, "when_doubled": False}),
    ("psrl", {"untried": "visited"}),
    ("goal-directed", {"threshold": 1.0, "ties": "random"}),
    ("vv-plan", {"kappa": 3.0, "terminal_novelty": "once"}),
    ("vv-plan", {"novelty": "episode"}),
    ("vv-plan", {"novelty": "count", "greedy_episodes": 0.5}),
    ("vv-plan", {"novelty": "episode", "terminal_novelty": "forever", "kappa": 0.5}),
    ("dora", {"gamma_e": 0.0, "temperature": 3.0}),
]


@every_pair(name=["prison", "noisy-toy"], memory=MEMORIES, case=OPTIONS)
def test_options(name: str, memory: str, case: tuple[str, dict[str, Any]]) -> None:
    explorer, options = case
    if not can_run(explorer, memory):
        return
    changes = quick_options(explorer) | options
    assert_fast_equals_slow(make_world(name), explorer, seed=3, steps=120, replay=MEMORIES[memory], **changes)


@st.composite
def small_runs(draw: st.DrawFn, explorer: str, memory: str) -> dict[str, Any]:
    """Draw the settings of a short run: windows that overflow, minibatches of one, discounts of zero."""
    replay = Replay(memory)
    if memory == "window":
        replay = Replay(memory, capacity=draw(st.integers(1, 40)), batch=draw(st.integers(1, 12)))
    return {
        "seed": draw(st.integers(0, 1000)),
        "steps": draw(st.integers(1, 120)),
        "preset": draw(st.sampled_from(["as_written", "as_published_code"])),
        "initial": draw(st.sampled_from(["zero", "optimistic"])),
        **quick_options(explorer, draw(st.integers(1, 4)), draw(st.integers(1, 40))),
        "discount": draw(st.sampled_from([0.9, 0.5, 0.0] if explorer in PLANNERS else [0.99, 0.9, 0.0])),
        "gamma_w": draw(st.sampled_from([0.99, 0.9, 0.5])),
        "learning_rate": draw(st.sampled_from([0.5, 0.1, 1.0])),
        "evaluate_every": draw(st.integers(1, 20)),
        "replay": replay,
    }


@every_explorer
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_random_worlds(explorer: str, data: st.DataObject) -> None:
    world = data.draw(st.builds(world_of, random_mdps(), horizon=st.integers(1, 25), budget=st.just(100)), "world")
    memory = data.draw(st.sampled_from([memory for memory in MEMORIES if can_run(explorer, memory)]), "memory")
    assert_fast_equals_slow(world, explorer, **data.draw(small_runs(explorer, memory), "run"))


@every_pair(name=["prison", "noisy-toy"], memory=MEMORIES, share=[0.3, 1.0], explorer=EXPLORERS)
def test_action_masks(name: str, memory: str, share: float, explorer: str) -> None:
    """An invalid action is never chosen, and no target or plan uses its value; a mask of all changes nothing."""
    world, changes = make_world(name), {"seed": 5, "steps": 150, "replay": MEMORIES[memory], **quick_options(explorer)}
    masks = np.random.default_rng(1).random((world.n_states, world.n_actions)) < share
    masks[~masks.any(axis=1), 0] = True
    walk = Walk(wl.Agent.for_world(world, explorer, **changes), world)
    walk.go(150, masks=masks)
    agent = walk.agent
    assert not agent.visits[~masks].any()
    slow = train_slowly(world, explorer, masks=masks, **changes)
    np.testing.assert_array_equal(walk.actions, slow.actions)
    assert_same_tables(agent, slow)
    if share == 1.0:
        plain = wl.train(world, explorer, keep_trajectory=True, **changes)
        np.testing.assert_array_equal(walk.actions, plain.actions)
    for state in range(world.n_states):
        known = agent.explain(state)
        assert all(masks[state, each.action] for each in known.actions if each.greedy or each.chosen) or not any(
            each.visits for each in known.actions
        )
