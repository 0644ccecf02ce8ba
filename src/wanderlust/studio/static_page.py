"""The studio as one HTML file without a server: `static/engine.js` executes the runs in the browser.

It has the lessons, the teaching worlds and the small worlds of the paper, with the explorers of the paper. What needs
Python is left out: painted worlds, presets, other explorers, results and exports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from wanderlust.agents.settings import AS_WRITTEN, Settings, resolve
from wanderlust.core.errors import InvalidSetting
from wanderlust.experiments.table import distinct
from wanderlust.studio.catalogue import describe_world, gallery
from wanderlust.studio.export import page_of
from wanderlust.studio.lesson import Lesson, page_catalogue
from wanderlust.studio.setup import read_setup
from wanderlust.studio.workbench import Lane, describe_lane
from wanderlust.worlds import World

EXPLORERS = (
    "vv-ucb", "vv-count", "epsilon-greedy", "ucb1", "bonus", "random", "bootstrapped", "random-prior", "thompson",
)  # fmt: skip
WORLDS = ("toy-example", "toy", "prison", "deep-gridworld", "taxi")
_SETTINGS = (
    "discount", "learning_rate", "gamma_w", "initial", "epsilon_start", "epsilon_end", "budget", "horizon",
    "evaluate_every", "evaluated", "sweeps", "run_length", "rollout_length",
)  # fmt: skip


def engine_world(world: World) -> dict[str, Any]:
    """Return a world as tables: initial states, and of every pair [next state, probability, reward, terminal]."""
    mdp = world.mdp
    starts = np.flatnonzero(mdp.start)
    outcomes = [
        [
            [int(mdp.next_state[s, a, k]), float(p), float(mdp.reward[s, a, k]), bool(mdp.terminal[s, a, k])]
            for k, p in enumerate(mdp.probability[s, a])
            if p > 0 or mdp.n_outcomes == 1
        ]
        for s in range(world.n_states)
        for a in range(world.n_actions)
    ]
    return {
        "states": world.n_states,
        "actions": world.n_actions,
        "starts": starts.tolist(),
        "startProbability": mdp.start[starts].tolist(),
        "outcomes": outcomes,
        "draws": mdp.n_outcomes > 1,
        "deterministic": bool(mdp.deterministic),
        "rewardRange": list(world.reward_range),
    }


def engine_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that the engine uses."""
    return {name: getattr(settings, name) for name in _SETTINGS}


def static_page(known: Mapping[str, Lesson], first: str) -> str:
    """Return the page with these lessons, which opens one of them."""
    for name, lesson in known.items():
        for lane in lesson.setup.lanes:
            unknown = set(msgspec.to_builtins(lane.settings)) - {*_SETTINGS, "steps"}
            if lane.explorer not in EXPLORERS or lane.preset != AS_WRITTEN or unknown:
                raise InvalidSetting(
                    f"lesson {name!r}: a page without a server has the explorers of the paper ({', '.join(EXPLORERS)}) "
                    "with full memory and the preset 'as_written'."
                )
    maps = [{"world": each["name"], "world_options": {"map": each["map"]}} for each in gallery()]
    paper = [{"world": name} for name in WORLDS]
    of_lessons = [
        {name: value for name, value in lesson.setup.description.items() if name in ("world", "world_options")}
        for lesson in known.values()
    ]
    offered = page_catalogue(known, first)
    explorers = {each["name"]: each for each in offered["explorers"]}
    return page_of(
        "wanderlust studio",
        {
            "catalogue": offered | {
                "worlds": [each for each in offered["worlds"] if each["name"] in WORLDS],
                "explorers": [explorers[name] for name in EXPLORERS],
                "presets": offered["presets"][:1],
                "opening": known[first].setup.description,
                "store": None,
            },
            "worlds": [_world(each) for each in distinct([*of_lessons, *maps, *paper])],
        },
    )  # fmt: skip


def _world(given: dict[str, Any]) -> dict[str, Any]:
    """Return a world with its tables, and for each explorer its settings, its options and what a page shows of it."""
    setup = read_setup({**given, "lanes": [{"explorer": "random"}]})
    world = setup.make_world()
    lanes = {}
    for run in (read_setup({**given, "lanes": [{"explorer": name}]}).runs(world)[0] for name in EXPLORERS):
        settings, options = resolve(world, run.explorer, run.preset, run.overrides)
        description = describe_lane(Lane(run, world))
        lanes[run.explorer] = {"settings": engine_settings(settings), "options": options, "description": description}
    return {
        "name": setup.world,
        "options": setup.world_options,
        "world": describe_world(world),
        "names": [world.state_name(state) for state in range(world.n_states)],
        "tables": engine_world(world),
        "lanes": lanes,
    }
