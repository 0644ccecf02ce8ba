"""The worlds of the exam: valid, solvable, frozen, and different in both sets."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from wanderlust.core.errors import InvalidWorld
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_values, policy_value
from wanderlust.environments.world_env import WorldEnv
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX, VERSION, exam_world, fingerprint
from wanderlust.worlds.registry import EXAM_WORLDS

FROZEN = Path(__file__).parents[1] / "data" / "exam_worlds.json"

SUITE = list(itertools.product(FAMILIES, LEVELS, (False, True)))


def optimal_and_random(mdp: TabularMDP) -> tuple[float, float]:
    """Return the optimal value of the start, and that of the random policy."""
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    return float(mdp.start @ optimal_values(mdp).v), float(mdp.start @ policy_value(mdp, uniform))


def test_the_suite_is_frozen() -> None:
    """A changed world needs another `VERSION` and another file: results of different suites cannot be compared."""
    frozen = json.loads(FROZEN.read_text())
    assert frozen["version"] == VERSION
    worlds = {
        f"{family} {level} {'held-out' if held_out else 'development'}": fingerprint(
            exam_world(family, level=level, held_out=held_out)
        )
        for family, level, held_out in SUITE
    }
    assert worlds == frozen["worlds"]
    assert len(set(worlds.values())) == len(SUITE)
    assert tuple(PREFIX + family for family in FAMILIES) == EXAM_WORLDS
    assert not set(EXAM_WORLDS) & set(wl.world_names())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_worlds_are_valid_and_a_random_or_idle_policy_is_far_from_optimal(family: str) -> None:
    """A return of 0 must not come close to a pass, also where a random policy collects penalties."""
    for level, held_out in itertools.product(LEVELS, (False, True)):
        world = wl.make_world(f"exam-{family}", level=level, held_out=held_out)
        wl.check_world(world)
        assert fingerprint(wl.make_world(world.name, **world.options)) == fingerprint(world)
        best, random = optimal_and_random(world.mdp)
        assert random < 0.5 * best
        assert held_out or (0.0 - random) / (best - random) < 0.6
    env = gym.make(f"wanderlust/Exam{family.title()}-v0", level=2)
    env.reset(seed=0)
    env.step(env.action_space.sample())


def test_the_hash_depends_on_all_that_a_run_depends_on() -> None:
    world = exam_world("slip")
    defaults = world.defaults
    changed = [
        replace(world, mdp=world.mdp._replace(reward=world.mdp.reward * 2)),
        replace(world, r_max=2.0),
        *(
            replace(world, defaults=replace(defaults, **change))
            for change in ({"learning_rate": 0.5}, {"gamma_w": 0.5}, {"discount": 0.5}, {"horizon": 7}, {"budget": 7})
        ),
    ]
    assert len({fingerprint(each) for each in (world, *changed)}) == 1 + len(changed)


def test_the_treasure_of_a_shift_world_moves_and_the_bounds_stay() -> None:
    for level, held_out in itertools.product(LEVELS, (False, True)):
        world = exam_world("shift", level=level, held_out=held_out)
        before, after = world.dynamics(world.changes_at - 1), world.dynamics(world.changes_at)
        assert optimal_and_random(before) == pytest.approx(optimal_and_random(after), rel=1e-9)
        assert not np.array_equal(before.reward, after.reward)


def test_an_environment_and_a_simulator_change_with_the_world() -> None:
    """Acting in the treasure's cell terminates before the change, and no longer after it."""
    world = replace(exam_world("shift"), changes_at=2)
    goal = int(np.flatnonzero(world.mdp.terminal.any(axis=(1, 2)))[0])
    there = world.mdp._replace(start=np.eye(world.n_states)[goal])
    world = replace(world, mdp=there, later=world.later and world.later._replace(start=there.start))
    env = WorldEnv(world)
    assert not hasattr(env, "P")
    terminated = []
    for _ in range(3):
        env.reset(seed=0)
        terminated.append(env.step(0)[2])
    assert terminated == [True, True, False]
    simulator = wl.Agent.for_world(world, "random").simulate(world)
    assert [simulator.step(goal, 0)[2] for _ in range(3)] == terminated


@pytest.mark.parametrize("explorer", ["vv-ucb", "r-max"])
def test_a_run_in_a_changing_world_equals_one_step_by_step(explorer: str) -> None:
    world = exam_world("shift", level=1)
    record = wl.train(world, explorer, budget=5_000, keep_trajectory=True)
    agent = wl.Agent.for_world(world, explorer, budget=5_000)
    simulator, state, t = agent.simulate(world), world.mdp.start.argmax(), 0
    for recorded in record.actions:
        action, t = agent.act(state), t + 1
        assert action == recorded
        next_state, reward, terminated = simulator.step(state, action)
        truncated = not terminated and t == world.defaults.horizon
        agent.observe(state, action, reward, next_state, terminated, truncated)
        state, t = (simulator.reset(), 0) if terminated or truncated else (next_state, t)
    assert np.array_equal(agent.tables["target"], record.tables["target"])


@pytest.mark.parametrize(
    ("change", "message"),
    [({"changes_at": 0}, "changes_at"), ({"later": exam_world("shift", level=2).mdp}, "must have the shape")],
)
def test_a_change_that_is_not_possible_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidWorld, match=message):
        wl.check_world(replace(exam_world("shift", level=1), **change))


@pytest.mark.parametrize(("options", "message"), [({"level": 5}, "level"), ({"held_out": 3}, "held_out")])
def test_an_invalid_option_is_named(options: dict[str, int], message: str) -> None:
    with pytest.raises(wl.WanderlustError, match=message):
        wl.make_world("exam-depth", **options)
