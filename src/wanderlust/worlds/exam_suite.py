"""The suite of the exam: 16 families of worlds, four levels each, once for development and once held out.

A family tests one thing, and its level makes that thing harder. The held-out worlds have other maps, sizes and random
numbers. Defaults of explorers may be chosen on the development worlds only; results are reported on the held-out ones.

Budgets are such that an explorer that tries everything once in a good order needs about a sixth of them, so that the
score, which evaluates the policy from a sixteenth of the budget on, tells good explorers apart.

The suite is frozen: `VERSION` changes whenever a world changes, and `fingerprint` identifies every world.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from wanderlust.core.errors import check_choice, check_flag, check_integer
from wanderlust.worlds import exam_families as families
from wanderlust.worlds.base import World

VERSION = 1
LEVELS = (1, 2, 3, 4)
PREFIX = "exam-"

FAMILIES: dict[str, Callable[[int, bool], World]] = {
    "depth": families.depth,
    "lock": families.lock,
    "actions": families.actions,
    "idle": families.idle,
    "size": families.size,
    "cutoff": families.cutoff,
    "distract": families.distract,
    "mislead": families.mislead,
    "cliffs": families.cliffs,
    "prison": families.prison,
    "slip": families.slip,
    "noise": families.noise,
    "river": families.river,
    "chain": families.chain,
    "tv": families.tv,
    "copies": families.copies,
}
"""[name]: the function that returns the world of a level; its docstring says what the family tests."""

_SETTINGS = (
    "horizon", "budget", "discount", "learning_rate", "gamma_w", "replay", "epsilon_start", "epsilon_end",
)  # fmt: skip
"""The settings of a world that all runs in it use."""

Level = Annotated[int, "difficulty, from 1 to 4"]
HeldOut = Annotated[bool, "whether it is one of the worlds on which no explorer was tuned"]


def exam_names() -> tuple[str, ...]:
    """Return the names of the families as `make_world` takes them."""
    return tuple(PREFIX + family for family in FAMILIES)


def exam_factory(name: str) -> Callable[..., World]:
    """Return the factory of a family, by the name of its worlds."""
    family = name.removeprefix(PREFIX)

    def make(*, level: Level = 1, held_out: HeldOut = False) -> World:
        return exam_world(family, level=level, held_out=held_out)

    make.__doc__ = FAMILIES[family].__doc__
    return make


def exam_world(family: str, *, level: int = 1, held_out: bool = False) -> World:
    """Return a world of the exam."""
    make = FAMILIES[check_choice("family", family, FAMILIES)]
    level = check_integer("level", level, low=1, high=LEVELS[-1])
    held_out = check_flag("held_out", held_out)
    options = {"level": level, "held_out": held_out}
    return replace(make(level, held_out), name=f"{PREFIX}{family}", options=options)


def fingerprint(world: World) -> str:
    """Return a hash of everything of a world that a run depends on: dynamics, range of rewards, and settings."""
    values = [*(getattr(world.defaults, name) for name in _SETTINGS), *map(float, world.reward_range)]
    parts = hashlib.sha256(" ".join(map(str, values)).encode())
    for array in world.mdp:
        parts.update(np.ascontiguousarray(array).tobytes())
    return parts.hexdigest()[:16]
