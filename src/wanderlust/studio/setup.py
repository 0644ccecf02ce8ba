"""A setup: one world, one seed and one to three explorers. It is what a page sends, a link carries and a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wanderlust.agents.settings import AS_WRITTEN, WORLD_PRESETS
from wanderlust.core.errors import (
    InvalidMap,
    InvalidSetting,
    check_choice,
    check_integer,
    check_number,
    check_options,
    shown,
    unknown_name,
)
from wanderlust.experiments.run import Run
from wanderlust.explorers.registry import explorer_names, explorer_options
from wanderlust.studio import limits
from wanderlust.worlds import World, make_world, world_names, world_options
from wanderlust.worlds.exam_suite import exam_names

PAINTED = "painted"
"""The name of a world that is given by a map without a name."""
LANE_SETTINGS = (
    "initial", "replay", "learning_rate", "gamma_w", "epsilon_start", "epsilon_end", "sweeps", "evaluated",
    "evaluation_horizon",
)  # fmt: skip
SHARED_SETTINGS = ("discount", "horizon", "budget", "steps")
_STEP_SETTINGS = ("horizon", "budget", "steps", "evaluation_horizon")
_REPLAY = ("full", "none", "window")
_MAX_SWEEPS = 10
_MAX_OPTION_TEXT = 40
_MAX_NAME = 60


@dataclass(frozen=True)
class Setup:
    """A checked setup; `runs` are what its lanes execute."""

    world: str
    world_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all lanes: discount, horizon, budget and steps."""
    lanes: tuple[Mapping[str, Any], ...] = ()
    """Of each lane the `explorer`, its `preset`, its `options` and its `settings`."""

    @property
    def description(self) -> dict[str, Any]:
        """The setup as plain values: JSON of a link, and the TOML file. What has its default is left out."""
        plain: dict[str, Any] = {"world": self.world}
        for name in ("world_options", "settings"):
            if getattr(self, name):
                plain[name] = dict(getattr(self, name))
        plain["seed"] = self.seed
        plain["lanes"] = [
            {name: value for name, value in lane.items() if value and (name, value) != ("preset", AS_WRITTEN)}
            for lane in self.lanes
        ]
        return plain

    def make_world(self) -> World:
        """Return the world of the setup."""
        return make_world(self.world, **self.world_options)

    def runs(self, world: World) -> tuple[Run, ...]:
        """Return the run of each lane.

        All lanes have the same length, although runs of one preset are a step shorter. In a large stochastic world
        the greedy policy is evaluated less often.
        """
        shared = dict(self.settings)
        if len({lane["preset"] for lane in self.lanes}) > 1:
            shared.setdefault("steps", shared.get("budget", world.defaults.budget))
        budget = int(shared.get("budget", world.defaults.budget))
        if not world.mdp.deterministic:
            most = max(limits.MAX_POLICY_ENTRIES // world.n_states, 1)
            length = int(shared.get("steps", budget))
            if length // 50 > most:
                shared["evaluate_every"] = -(-length // most)
        return tuple(
            Run(
                world=self.world,
                world_options=self.world_options,
                explorer=lane["explorer"],
                explorer_options=lane["options"],
                settings=shared | lane["settings"],
                preset=lane["preset"],
                seed=self.seed,
            )
            for lane in self.lanes
        )


def read_setup(given: Any, extra_explorers: tuple[str, ...] = ()) -> Setup:
    """Return the setup of plain values, or raise an error that names the wrong part.

    Worlds and explorers are registered names; nothing is imported. `extra_explorers` are other names that the user gave
    on the command line.
    """
    table = _table("a setup", given)
    check_options("a setup", table, ("world", "world_options", "seed", "settings", "lanes"))
    lanes = table.get("lanes")
    if not isinstance(lanes, list | tuple) or not 1 <= len(lanes) <= limits.MAX_LANES:
        raise InvalidSetting(f"a setup needs 1 to {limits.MAX_LANES} lanes, got {shown(lanes)}.")
    name, options = _read_world(table)
    return Setup(
        world=name,
        world_options=options,
        seed=check_integer("seed", table.get("seed", 1), low=0, high=limits.MAX_SEED),
        settings=_read_settings("the settings", table.get("settings", {}), SHARED_SETTINGS),
        lanes=tuple(_read_lane(i, lane, extra_explorers) for i, lane in enumerate(lanes, start=1)),
    )


def _table(what: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidSetting(f"{what} must be a table of names and values, got {shown(given)}.")
    return dict(given)


def _read_world(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name = table.get("world")
    if not isinstance(name, str) or len(name) > _MAX_NAME:
        raise InvalidSetting(f"world must be a name of at most {_MAX_NAME} characters, got {shown(name)}.")
    given = _table("world_options", table.get("world_options", {}))
    is_map, is_built_in = "map" in given, name in world_names() or name in exam_names()
    if not is_map and not is_built_in:
        raise unknown_name("world", name, world_names())
    if is_map and (is_built_in or name.endswith((".txt", ".toml")) or "\n" in name or not name.strip()):
        raise InvalidSetting(f"a painted world needs a name of its own in one line, got {shown(name)}.")
    known = [option.name for option in world_options("map" if is_map else name)]
    check_options(f"world {name!r}", given, known)
    return name, {option: _read_world_option(option, value) for option, value in given.items()}


def _read_world_option(option: str, value: Any) -> Any:
    if option == "map":
        return _read_map_text(value)
    if option == "slips":
        if not isinstance(value, list | tuple) or len(value) != 3:
            raise InvalidSetting(f"slips must be three probabilities (success, random, stay), got {shown(value)}.")
        return [check_number("slips", each, low=0, high=1) for each in value]
    if option == "depth":
        return check_integer(option, value, low=2, high=limits.MAX_DEPTH)
    if option == "length":
        return check_integer(option, value, low=2, high=limits.MAX_STATES)
    if option in ("horizon", "long_horizon", "budget"):
        return check_integer(option, value, low=1, high=limits.MAX_STEPS)
    return _read_value(option, value)


def _read_map_text(text: Any) -> str:
    if not isinstance(text, str) or len(text) > limits.MAX_MAP_TEXT:
        size = f"{len(text):,} characters" if isinstance(text, str) else shown(text)
        raise InvalidMap(f"a map must be text of at most {limits.MAX_MAP_TEXT:,} characters, got {size}.")
    block = [line.strip() for line in text.strip("\n").split("\n\n")[0].splitlines()]
    columns = max((len(line) for line in block), default=0)
    if len(block) > limits.MAX_SIDE or columns > limits.MAX_SIDE:
        side = limits.MAX_SIDE
        raise InvalidMap(f"a map can have {side} rows and {side} columns, got {len(block)} and {columns}.")
    return text


def _read_value(name: str, value: Any) -> Any:
    """Return a plain number, flag or short text; what is valid for the name is checked where it is used."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > _MAX_OPTION_TEXT:
            raise InvalidSetting(f"{name} must have at most {_MAX_OPTION_TEXT} characters, got {shown(value)}.")
        return value
    return value if isinstance(value, int) and abs(value) < 2**53 else check_number(name, value)


def _read_settings(what: str, given: Any, known: tuple[str, ...]) -> dict[str, Any]:
    table = _table(what, given)
    check_options(what, table, known)
    settings: dict[str, Any] = {}
    for name, value in table.items():
        if name in _STEP_SETTINGS:
            settings[name] = check_integer(name, value, low=1, high=limits.MAX_STEPS)
        elif name == "sweeps":
            settings[name] = check_integer(name, value, low=1, high=_MAX_SWEEPS)
        elif name == "replay":
            settings[name] = _read_replay(value)
        else:
            settings[name] = _read_value(name, value)
    return settings


def _read_replay(value: Any) -> Any:
    """Return the name of a memory, or the table of a window with its capacity and the size of its minibatches."""
    if not isinstance(value, Mapping):
        return check_choice("replay", value, _REPLAY)
    check_options("replay", value, ("memory", "capacity", "batch"))
    table: dict[str, Any] = {"memory": check_choice("replay", value.get("memory", "full"), _REPLAY)}
    bounds = {"capacity": limits.MAX_CAPACITY, "batch": limits.MAX_BATCH}
    for name, high in bounds.items():
        if value.get(name) is not None:
            table[name] = check_integer(f"replay {name}", value[name], low=1, high=high)
    return table


def _read_lane(number: int, given: Any, extra_explorers: tuple[str, ...]) -> dict[str, Any]:
    lane = _table(f"lane {number}", given)
    check_options(f"lane {number}", lane, ("explorer", "preset", "options", "settings"))
    explorer = lane.get("explorer")
    known = (*explorer_names(), *extra_explorers)
    if not isinstance(explorer, str) or explorer not in known:
        raise unknown_name("explorer", explorer, known)
    options = _table(f"the options of lane {number}", lane.get("options", {}))
    check_options(f"explorer {explorer!r}", options, [option.name for option in explorer_options(explorer)])
    checked = {name: _read_value(name, value) for name, value in options.items() if value is not None}
    if "heads" in checked:
        checked["heads"] = check_integer("heads", checked["heads"], low=1, high=limits.MAX_HEADS)
    if "batch" in checked:
        checked["batch"] = check_integer("batch", checked["batch"], low=1, high=limits.MAX_BATCH)
    return {
        "explorer": explorer,
        "preset": check_choice("preset", lane.get("preset", AS_WRITTEN), WORLD_PRESETS),
        "options": checked,
        "settings": _read_settings(f"the settings of lane {number}", lane.get("settings", {}), LANE_SETTINGS),
    }
