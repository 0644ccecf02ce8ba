"""The worlds of the exam: valid, solvable, frozen, and different in both sets."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from wanderlust.core.planning import optimal_values, policy_value
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX, VERSION, exam_world, fingerprint
from wanderlust.worlds.registry import EXAM_WORLDS

FROZEN = Path(__file__).parents[1] / "data" / "exam_worlds.json"

every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
def test_the_worlds_are_valid_and_a_random_or_idle_policy_is_far_from_optimal(family: str) -> None:
    """A return of 0 must not come close to a pass, also where a random policy collects penalties."""
    for held_out, level in itertools.product((False, True), LEVELS):
        world = exam_world(family, level=level, held_out=held_out)
        wl.check_world(world)
        uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
        best, random = world.mdp.start @ optimal_values(world.mdp).v, world.mdp.start @ policy_value(world.mdp, uniform)
        assert random < 0.5 * best
        assert held_out or (0.0 - random) / (best - random) < 0.6


def test_the_suite_is_frozen() -> None:
    """A changed world needs another `VERSION` and another file: results of different suites cannot be compared."""
    frozen = json.loads(FROZEN.read_text())
    assert frozen["version"] == VERSION
    worlds = {
        f"{family} {level} {'held-out' if held_out else 'development'}": fingerprint(
            exam_world(family, level=level, held_out=held_out)
        )
        for family in FAMILIES
        for level in LEVELS
        for held_out in (False, True)
    }
    assert worlds == frozen["worlds"]
    assert len(set(worlds.values())) == 2 * len(FAMILIES) * len(LEVELS)


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


@every_family
def test_a_world_is_made_by_its_name_and_registered_with_gymnasium(family: str) -> None:
    world = wl.make_world(f"exam-{family}", level=2, held_out=True)
    assert world.options == {"level": 2, "held_out": True}
    assert fingerprint(wl.make_world(world.name, **world.options)) == fingerprint(world)
    env = gym.make(f"wanderlust/Exam{family.title()}-v0", level=2)
    _, _ = env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()


def test_the_registered_names_are_those_of_the_suite() -> None:
    assert tuple(PREFIX + family for family in FAMILIES) == EXAM_WORLDS
    assert not set(EXAM_WORLDS) & set(wl.world_names())


@pytest.mark.parametrize(("options", "message"), [({"level": 5}, "level"), ({"held_out": 3}, "held_out")])
def test_an_invalid_option_is_named(options: dict[str, int], message: str) -> None:
    with pytest.raises(wl.WanderlustError, match=message):
        wl.make_world("exam-depth", **options)
