"""A setup: one world, one seed and one to three explorers; the messages of a page; the texts that repeat a setup.

A setup is what a page sends, a link carries and a file holds. The classes are the schema by which every setup and every
message is checked.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from wanderlust.agents.settings import AS_WRITTEN, WORLD_PRESETS
from wanderlust.core.errors import InvalidSetting, check_choice, check_options, shown, unknown_name
from wanderlust.core.schema import Strict, checked
from wanderlust.experiments.run import Run
from wanderlust.explorers.protocol import explorer_names, option_names
from wanderlust.studio import limits
from wanderlust.worlds import World, make_world, world_names, world_options
from wanderlust.worlds.registry import EXAM_WORLDS

Number = Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[float, Meta(ge=-1e300, le=1e300)]
Value = bool | Number | Annotated[str, Meta(max_length=40)] | None
"""What is valid for the name of an option or a setting is checked where it is used."""
Steps = Annotated[int, Meta(ge=1, le=limits.MAX_STEPS)]
_Probability = Annotated[float, Meta(ge=0, le=1)]
_WORLD_OPTIONS: dict[str, Any] = {
    "map": Annotated[str, Meta(max_length=limits.MAX_MAP_TEXT)],
    "slips": tuple[_Probability, _Probability, _Probability],
    "depth": Annotated[int, Meta(ge=2, le=limits.MAX_DEPTH)],
    "length": Annotated[int, Meta(ge=2, le=limits.MAX_STATES)],
    "horizon": Steps,
    "long_horizon": Steps,
    "budget": Steps,
}
_EXPLORER_OPTIONS: dict[str, Any] = {
    "heads": Annotated[int, Meta(ge=1, le=limits.MAX_HEADS)],
    "batch": Annotated[int, Meta(ge=1, le=limits.MAX_BATCH)],
}
_MAX_NAME = 60


class LaneSettings(Strict, frozen=True):
    """Settings of one lane."""

    initial: Value = None
    replay: Literal["full", "none", "window"] | None = None
    learning_rate: Value = None
    gamma_w: Value = None
    epsilon_start: Value = None
    epsilon_end: Value = None
    sweeps: Annotated[int, Meta(ge=1, le=10)] | None = None
    evaluated: Value = None
    evaluation_horizon: Steps | None = None


class SharedSettings(Strict, frozen=True):
    """Settings of all lanes."""

    discount: Value = None
    horizon: Steps | None = None
    budget: Steps | None = None
    steps: Steps | None = None


class LaneSetup(Strict, frozen=True):
    """An explorer, its preset, its options and its settings."""

    explorer: str
    preset: str = AS_WRITTEN
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    settings: LaneSettings = LaneSettings()


class Change(Strict, frozen=True):
    """A map that replaces the one of the world at a step; what the explorers have learnt stays."""

    step: Steps
    map: Annotated[str, Meta(max_length=limits.MAX_MAP_TEXT)]


class Setup(Strict, frozen=True):
    """A setup; `checked_setup` checks the names in it, and `runs` are what its lanes execute."""

    world: Annotated[str, Meta(max_length=_MAX_NAME)]
    lanes: Annotated[tuple[LaneSetup, ...], Meta(min_length=1, max_length=limits.MAX_LANES)]
    world_options: dict[str, Any] = msgspec.field(default_factory=dict)
    seed: Annotated[int, Meta(ge=0, le=limits.MAX_SEED)] = 1
    settings: SharedSettings = SharedSettings()
    changes: Annotated[tuple[Change, ...], Meta(max_length=limits.MAX_CHANGES)] = ()

    @property
    def description(self) -> dict[str, Any]:
        """The setup as plain values: JSON of a link, and the TOML file. What has its default is left out."""
        plain = msgspec.to_builtins(self)
        lanes = [{name: value for name, value in lane.items() if value != {}} for lane in plain["lanes"]]
        order = ("world", "world_options", "settings", "changes")
        return {name: plain[name] for name in order if plain.get(name)} | {"seed": self.seed, "lanes": lanes}

    def make_world(self) -> World:
        """Return the world of the setup."""
        return make_world(self.world, **self.world_options)

    def runs(self, world: World) -> tuple[Run, ...]:
        """Return the run of each lane.

        All lanes have the same length, although runs of one preset are a step shorter. In a large stochastic world
        the greedy policy is evaluated less often.
        """
        shared = msgspec.to_builtins(self.settings)
        if len({lane.preset for lane in self.lanes}) > 1:
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
                explorer=lane.explorer,
                explorer_options=lane.options,
                settings=shared | msgspec.to_builtins(lane.settings),
                preset=lane.preset,
                seed=self.seed,
            )
            for lane in self.lanes
        )


def read_setup(given: Any, extra_explorers: tuple[str, ...] = ()) -> Setup:
    """Return the setup of plain values, or raise an error that names the wrong part."""
    return checked_setup(checked("a setup", given, Setup), extra_explorers)


def checked_setup(setup: Setup, extra_explorers: tuple[str, ...] = ()) -> Setup:
    """Return a setup whose names are known and whose options are within the limits.

    Worlds and explorers are registered names; nothing is imported. `extra_explorers` are other names that the user gave
    on the command line.
    """
    name, options = setup.world, setup.world_options
    is_map, is_built_in = "map" in options, name in world_names() or name in EXAM_WORLDS
    if not is_map and not is_built_in:
        raise unknown_name("world", name, world_names())
    if is_map and (is_built_in or name.endswith(".txt") or "\n" in name or not name.strip()):
        raise InvalidSetting(f"a painted world needs a name of its own in one line, got {shown(name)}.")
    check_options(f"world {name!r}", options, [option.name for option in world_options("map" if is_map else name)])
    options = {option: checked(option, value, _WORLD_OPTIONS.get(option, Value)) for option, value in options.items()}
    steps = [change.step for change in setup.changes]
    if steps != sorted(set(steps)):
        raise InvalidSetting(f"the changes of a map need increasing steps, got {', '.join(map(str, steps))}.")
    lanes = tuple(_checked_lane(lane, (*explorer_names(), *extra_explorers)) for lane in setup.lanes)
    return msgspec.structs.replace(setup, world_options=msgspec.to_builtins(options), lanes=lanes)


def _checked_lane(lane: LaneSetup, known: Sequence[str]) -> LaneSetup:
    if lane.explorer not in known:
        raise unknown_name("explorer", lane.explorer, known)
    check_choice("preset", lane.preset, WORLD_PRESETS)
    check_options(f"explorer {lane.explorer!r}", lane.options, option_names(lane.explorer))
    options = {
        name: checked(name, value, _EXPLORER_OPTIONS.get(name, Value))
        for name, value in lane.options.items()
        if value is not None
    }
    return msgspec.structs.replace(lane, options=options)


# --- Messages of a page ------------------------------------------------------------------------------------------

_Step = Annotated[int, Meta(ge=0, le=limits.MAX_STEPS)]
_Speed = Annotated[float, Meta(ge=0, le=1_000_000)]


class Message(msgspec.Struct, kw_only=True, tag_field="type", tag=str.lower):
    """A message; its type is the name of its class, and its answer has the same number."""

    id: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class Open(Message):
    """Open a setup, run it to a step, and play on or not."""

    setup: Setup
    step: _Step = 0
    playing: bool = False
    speed: _Speed | None = None


class Play(Message):
    """Run on, with a number of steps per second, 0 for as fast as possible; to a step, or to the end."""

    speed: _Speed | None = None
    until: _Step | None = None


class Pause(Message):
    """Stop."""


class Speed(Message):
    """Run on with another speed."""

    speed: _Speed


class Step(Message):
    """Do some steps, then stop."""

    count: Steps = 1


class Event(Message):
    """Run to the next event of a kind."""

    kind: Literal["any", "reward", "state", "policy"] = "any"


class Seek(Message):
    """Show an earlier step."""

    step: _Step


class Ack(Message):
    """Some frames were shown."""

    count: Steps = 1


class Check(Message):
    """Describe a world that is being painted, or say what is wrong with its map."""

    world: str
    world_options: dict[str, Any] = msgspec.field(default_factory=dict)


class Export(Message):
    """Return a self-contained page that shows the recorded run of a setup."""

    setup: Setup


class Results(Message):
    """Return what a store has, or what is chosen of it by numbers: a group, a report or a figure of a collection."""

    group: int | None = None
    collection: int | None = None
    report: int | None = None
    figure: int | None = None


MESSAGES = msgspec.json.Decoder(Open | Play | Pause | Speed | Step | Event | Seek | Ack | Check | Export | Results)


class About(msgspec.Struct):
    """The type and the number of a message that is not valid, if it has them."""

    type: Annotated[str, Meta(max_length=20)] | None = None
    id: int | None = None


# --- Texts that repeat a setup -----------------------------------------------------------------------------------


def snippets(setup: Setup, runs: Sequence[Run]) -> dict[str, str]:
    """Return the setup as Python, as commands, and as the TOML file that `wanderlust studio FILE.toml` opens."""
    toml = "".join(f"{name} = {_toml_value(value)}\n" for name, value in setup.description.items())
    note = "# Without the changes of the map during the run, which only the studio executes.\n" if setup.changes else ""
    return {"python": note + as_python(runs), "command": note + as_command(setup, runs), "toml": toml}


def as_python(runs: Sequence[Run]) -> str:
    """Return a script that trains the explorers of all lanes; its numbers are those that the studio shows."""
    first = runs[0]
    options, arguments = dict(first.world_options), [repr(first.world)]
    lines = ["import wanderlust as wl", ""]
    if "map" in options:
        rows = options.pop("map").splitlines(keepends=True)
        lines += ["MAP = (", *(f"    {row!r}" for row in rows), ")", ""]
        arguments.append("map=MAP")
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    lines += [f"world = wl.make_world({', '.join(arguments)})", "runs = ["]
    for run in runs:
        preset = {} if run.preset == AS_WRITTEN else {"preset": run.preset}
        lines.append(f"    {run.explorer, {**preset, **run.settings, **run.explorer_options}},")
    lines += [
        "]",
        "for explorer, changes in runs:",
        f"    record = wl.train(world, explorer, seed={first.seed}, **changes)",
        '    print(f"{explorer}: return {record.returns[-1]:.4g}, {record.discovered[-1]} states discovered")',
    ]
    return "\n".join(lines) + "\n"


def as_command(setup: Setup, runs: Sequence[Run]) -> str:
    """Return the commands that execute the run of every lane and print its result."""
    lines = [run.command for run in runs]
    plain = setup.description
    if plain.keys() == {"world", "seed", "lanes"} and not any(len(lane) > 1 for lane in plain["lanes"]):
        names = " ".join(shlex.quote(run.explorer) for run in runs)
        lines.insert(0, f"wanderlust studio {setup.world} --explorers {names} --seed {setup.seed}")
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml_value(each)}' for name, each in value.items())} }}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        return "".join(["[\n", *(f"    {_toml_value(each)},\n" for each in value), "]"])
    if isinstance(value, str) and "\n" in value and "'''" not in value and value.isascii():
        return f"'''\n{value}'''"
    # JSON's texts, numbers and lists are TOML's as well; a number such as 1e-08 needs no change.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
