"""Lessons: a setup with captioned stops, from TOML files. `docs/studio.md` explains how a teacher writes one.

A stop may have a claim: a condition on what the lanes have measured at its step, such as `success_2 > 99`. A page never
shows it; `check_claims` executes the lesson and returns the claims that are false.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import expected_reward
from wanderlust.core.schema import Strict, checked, parse_toml
from wanderlust.experiments.table import condition
from wanderlust.studio import limits
from wanderlust.studio.catalogue import catalogue, gallery, optimum
from wanderlust.studio.setup import Setup, checked_setup
from wanderlust.studio.workbench import Lane, Workbench

Layer = Literal["state-visits", "action-visits", "q", "w", "term", "behaviour"]
_Speed = Annotated[float, Meta(ge=0, le=1_000_000)]
_Text = Annotated[str, Meta(min_length=1, max_length=700)]


class Stop(Strict, frozen=True, kw_only=True):
    """A step with a caption; a question is answered before the lanes go on to the next stop, which tells the answer."""

    step: Annotated[int, Meta(ge=0, le=limits.MAX_STEPS)]
    text: _Text
    question: Annotated[str, Meta(max_length=300)] = ""
    answers: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=80)], ...], Meta(max_length=4)] = ()
    answer: Annotated[int, Meta(ge=1, le=4)] = 1
    """The number of the right answer."""
    layer: Layer | None = None
    lane: Annotated[int, Meta(ge=1, le=limits.MAX_LANES)] | None = None
    """The lane that the caption is about: a phone shows it. By default the first that learns W."""
    speed: _Speed | None = None
    claim: str = ""


class Lesson(Strict, frozen=True, kw_only=True):
    """A setup, the layer and the speed with which it is shown, and its stops."""

    title: Annotated[str, Meta(min_length=1, max_length=80)]
    setup: Setup
    stops: Annotated[tuple[Stop, ...], Meta(min_length=2, max_length=12)]
    layer: Layer = "w"
    speed: _Speed = 20


def read_lesson(table: dict[str, Any], extra_explorers: tuple[str, ...] = ()) -> Lesson:
    """Return the lesson of plain values: the fields of `Lesson`, and in the place of `setup` those of a setup.

    A world may be one of the gallery.
    """
    own = {name: value for name, value in table.items() if name in Lesson.__struct_fields__}
    setup = {name: value for name, value in table.items() if name not in own}
    maps = {world["name"]: world["map"] for world in gallery()}
    if setup.get("world") in maps and "world_options" not in setup:
        setup["world_options"] = {"map": maps[setup["world"]]}
    lesson = checked("a lesson", own | {"setup": setup}, Lesson)
    steps = [stop.step for stop in lesson.stops]
    if steps != sorted(steps):
        raise InvalidSetting(f"a lesson, stops: the steps must not decrease, got {', '.join(map(str, steps))}.")
    for stop in lesson.stops:
        if bool(stop.question) != (len(stop.answers) > 1) or (stop.answers and stop.answer > len(stop.answers)):
            raise InvalidSetting(
                f"a lesson, stop at step {stop.step}: a question needs at least two answers, and answer is the number "
                "of the right one, from 1."
            )
    return msgspec.structs.replace(lesson, setup=checked_setup(lesson.setup, extra_explorers))


@functools.cache
def lessons() -> dict[str, Lesson]:
    """Return the lessons of the package by their names, in the order of their files."""
    folder = files("wanderlust.studio") / "lessons"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name)
    return {each.name[2:-5].strip("-"): read_lesson(parse_toml(each.read_text(encoding="utf-8"))) for each in found}


def describe_lesson(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain values for a page."""
    plain: dict[str, Any] = msgspec.to_builtins(lesson)
    for stop in plain["stops"]:
        stop.pop("claim", None)
    return plain | {"setup": lesson.setup.description, "layer": lesson.layer, "speed": lesson.speed}


def page_catalogue(
    known: Mapping[str, Lesson], opened: str | None, extra_explorers: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what a page needs at its start: the catalogue with lessons, and the name of the one that it opens."""
    described = [{"name": name, **describe_lesson(lesson)} for name, lesson in known.items()]
    return catalogue(extra_explorers) | {"lessons": described, "lesson": opened}


def check_claims(lesson: Lesson) -> list[str]:
    """Execute a lesson; return one sentence for each stop whose claim is false, or that is after the end."""
    bench, problems = Workbench(lesson.setup), []
    for stop in lesson.stops:
        for lane in bench.lanes:
            lane.advance(stop.step)
        lanes = enumerate(map(measure, bench.lanes), 1)
        measured = {f"{name}_{i}": value for i, lane in lanes for name, value in lane.items()}
        if bench.step < stop.step:
            problems.append(f"stop at step {stop.step:,}: the run ends at step {bench.step:,}.")
        elif stop.claim and not condition(stop.claim, measured)(measured):
            problems.append(f"stop at step {stop.step:,}: not {stop.claim}; measured {measured}.")
    return problems


def measure(lane: Lane) -> dict[str, float | None]:
    """Return what claims are about, at the present step of a lane.

    States discovered, untried actions of these states, largest reward received, how often a positive and the largest
    possible reward was received, the step of the first one, the return of the greedy policy in percent of the optimum,
    and the median W of untried actions of these states and of those that gave a positive reward. None if there is none
    yet.
    """
    agent, points = lane.session.agent, lane.curves.points()
    visits, w = agent.visits, agent.tables.get("visitation")
    seen = np.asarray(visits.any(axis=1))
    returned, expected = points[-1][1] if points else None, expected_reward(lane.world.mdp)
    return {
        "discovered": lane.discovered,
        "untried": int((visits[seen] == 0).sum()),
        "reward": max((event.reward for event in lane.events), default=0.0),
        "rewards": int(visits[expected > 0].sum()),
        "goals": int(visits[expected == expected.max()].sum()),
        "found": lane.events[0].step if lane.events else None,
        "success": None if returned is None else 100 * returned / optimum(lane.world)[0],
        "w_untried": _median(w, (visits == 0) & seen[:, None]),
        "w_rewarded": _median(w, (visits > 0) & (expected > 0)),
    }


def _median(values: FloatArray | None, where: NDArray[np.bool_]) -> float | None:
    return None if values is None or not where.any() else float(np.median(values[where]))
