"""The registry of worlds, and worlds from map files.

A factory is a function with keyword options that returns a `World`. Annotate each option as
`Annotated[type, "one sentence"]` and give it a default; the annotation is its documentation.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from wanderlust.core.errors import (
    InvalidMap,
    InvalidSetting,
    InvalidWorld,
    UnknownName,
    check_flag,
    check_instance,
    check_options,
    shown,
    unknown_name,
)
from wanderlust.core.files import check_path, shown_path
from wanderlust.core.planning import reachable_states
from wanderlust.worlds import paper_worlds
from wanderlust.worlds.base import CellKind, World, check_world
from wanderlust.worlds.grid import MAP_SUFFIXES, grid_world, read_map_file
from wanderlust.worlds.slips import apply_slips

_MAX_CELLS = 5
"""A warning names the first ones."""

_GYMNASIUM_ID = re.compile(r"-v\d+$")

WorldFactory = Callable[..., World]

_FACTORIES: dict[str, WorldFactory] = {
    "toy-example": paper_worlds.toy_example,
    "toy": paper_worlds.toy,
    "prison": paper_worlds.prison,
    "wall": paper_worlds.wall,
    "deep-gridworld": paper_worlds.deep_gridworld,
    "taxi": paper_worlds.taxi,
    "deep-sea": paper_worlds.deep_sea,
    "chain": paper_worlds.chain,
    "noisy-toy": paper_worlds.noisy_toy,
    "noisy-prison": paper_worlds.noisy_prison,
    "noisy-deep-gridworld": paper_worlds.noisy_deep_gridworld,
}
EXAM_WORLDS = (
    "exam-depth", "exam-lock", "exam-actions", "exam-idle", "exam-size", "exam-cutoff", "exam-distract", "exam-mislead",
    "exam-cliffs", "exam-prison", "exam-slip", "exam-noise", "exam-river", "exam-chain", "exam-tv", "exam-copies",
    "exam-corridor", "exam-bernoulli", "exam-clock", "exam-shift",
)  # fmt: skip
"""The worlds of the exam, which `world_names` does not list; their module is imported at first use."""
GRID_ID = "wanderlust/Grid-v0"
"""The Gymnasium id of text maps."""


@dataclass(frozen=True)
class WorldOption:
    """One option of a world: its type, its default, and a one-sentence description."""

    name: str
    type: Any
    default: Any
    meaning: str


_SLIPS = WorldOption(
    "slips",
    list[float] | None,
    None,
    "probabilities (success, random, stay): the action succeeds, is replaced by a random one, or the agent stays",
)


def world_names() -> tuple[str, ...]:
    """Return the registered names, the paper's worlds first."""
    _import_world_modules()
    return tuple(_FACTORIES)


def is_built_in(name: str) -> bool:
    """Return whether a name is that of a world, also as a Gymnasium id."""
    return name in world_names() or name in EXAM_WORLDS or name.startswith("wanderlust/")


def environment_id(name: str) -> str:
    """Return the Gymnasium id of a world: "wanderlust/DeepSea-v0" for "deep-sea"."""
    words = re.split(r"[^a-zA-Z0-9]+", name)
    return f"wanderlust/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


@functools.cache
def _import_world_modules() -> None:
    """Import the modules of this package that register a world: those with a line that begins `register_world(`."""
    for file in sorted(Path(__file__).parent.glob("*.py")):
        if "\nregister_world(" in file.read_text(encoding="utf-8"):
            importlib.import_module(f"{__package__}.{file.stem}")


def world_options(name: str) -> tuple[WorldOption, ...]:
    """Return the options of a registered world; "map" stands for a text map."""
    check_instance("the name of a world", name, str)
    factory = world_factory(name) if name != "map" else grid_world
    hints = get_type_hints(factory, include_extras=True)
    options = []
    for parameter in inspect.signature(factory).parameters.values():
        hint = hints.get(parameter.name, Any)
        annotated = get_args(hint) if get_origin(hint) is Annotated else (hint, "")
        default = None if parameter.default is parameter.empty else parameter.default
        options.append(WorldOption(parameter.name, annotated[0], default, str(annotated[1])))
    return (*options, _SLIPS)


def world_meaning(name: str) -> str:
    """Return a one-line description of a registered world."""
    lines = (inspect.getdoc(world_factory(name)) or "").splitlines()
    line = lines[0].removeprefix("Return ") if lines else ""
    return line[:1].upper() + line[1:]


def register_world(name: str, factory: WorldFactory, *, replace_existing: bool = False) -> None:
    """Register `factory` for `make_world(name)`; its parameters must be keyword options with defaults."""
    if not isinstance(name, str) or not name or name == "map" or "\n" in name or name.endswith(MAP_SUFFIXES):
        raise InvalidSetting(f"a world's name must be one line, and neither 'map' nor a file name, got {shown(name)}.")
    if not callable(factory):
        raise InvalidSetting(f"the factory of a world must be a function, got {shown(factory)}.")
    if not check_flag("replace_existing", replace_existing) and (name in _FACTORIES or name in EXAM_WORLDS):
        raise InvalidSetting(f"a world named {name!r} already exists; pass replace_existing=True to replace it.")
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError as error:
        raise InvalidSetting(f"the factory of {name!r} must have known parameters ({error}).") from None
    for parameter in parameters:
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise InvalidSetting(f"each option of {name!r} must be a named parameter, got {parameter}.")
        if parameter.default is parameter.empty:
            raise InvalidSetting(f"option {parameter.name!r} of {name!r} needs a default.")
    _FACTORIES[name] = factory


def make_world(name_or_map: str | Path, **options: Any) -> World:
    """Return a world by its name, from a text map, or from a map file.

    `name_or_map` is a registered name, a text map (a string of several lines), or a path that ends in `.txt`. If the
    option `map` contains a text map, `name_or_map` is the name of the new world. All worlds have the option `slips`:
    see `wanderlust.worlds.slips`.
    """
    if not isinstance(name_or_map, str | os.PathLike):
        raise InvalidSetting(f"a world must be a name, a text map, a map file or a World, got {shown(name_or_map)}.")
    slips = options.pop("slips", None)
    name = str(name_or_map)
    if "map" in options:
        world = _from_map(options.pop("map"), {"name": name, **options})
    elif isinstance(name_or_map, str) and "\n" in name_or_map:
        world = _from_map(name_or_map, options)
    elif name.endswith(MAP_SUFFIXES):
        world = _from_file(check_path("the map", name_or_map), options)
    else:
        factory = world_factory(name)
        check_options(f"world {name!r}", options, (option.name for option in world_options(name)))
        made = factory(**options)
        if not isinstance(made, World):
            raise InvalidWorld(f"the factory of world {name!r} must return a World, got {shown(made)}.")
        # The options as the factory has converted them, so that they are plain numbers.
        given = {option: made.options.get(option, value) for option, value in options.items()}
        world = replace(made, name=name, options=given)
        check_world(world)
    return world if slips is None else apply_slips(world, slips)


def _from_map(text: Any, options: dict[str, Any]) -> World:
    if not isinstance(text, str):
        raise InvalidMap(f"a map must be text, got {type(text).__name__}.")
    check_options("a map", options, (option.name for option in world_options("map") if option.name != "map"))
    world = grid_world(text, **options)
    if world.name in _FACTORIES or world.name in EXAM_WORLDS:
        raise InvalidSetting(f"{world.name!r} is the name of a registered world; give the map another name.")
    check_world(world)
    _warn_of_unreachable_treasures(world)
    return world


def _warn_of_unreachable_treasures(world: World) -> None:
    assert world.layout is not None
    treasures = world.layout.kind.ravel() == CellKind.TREASURE
    if not treasures.any():
        return
    unreachable = np.flatnonzero(treasures & ~reachable_states(world.mdp))
    if len(unreachable):
        cells = ", ".join(world.state_name(int(state)) for state in unreachable[:_MAX_CELLS])
        warnings.warn(
            f"world {world.name!r}: the treasure cannot be reached from the start in cell (row, column) {cells}.",
            UserWarning,
            stacklevel=4,
        )


def _from_file(path: Path, options: dict[str, Any]) -> World:
    text = read_map_file(path)
    try:
        return _from_map(text, options)
    except InvalidMap as error:
        raise InvalidMap(f"{shown_path(path)}: {error}") from None


def world_factory(name: str) -> WorldFactory:
    """Return the function that makes a registered world."""
    _import_world_modules()
    if name in _FACTORIES:
        return _FACTORIES[name]
    if name in EXAM_WORLDS:
        from wanderlust.worlds.exam_suite import exam_factory

        return exam_factory(name)
    if _GYMNASIUM_ID.search(name):
        raise UnknownName(
            f"unknown world {shown(name)}. In a Gymnasium environment train with wl.learn; wl.world_from_gym makes "
            "a world of one that has a model."
        )
    raise unknown_name("world", name, [*_FACTORIES, *EXAM_WORLDS])


def world_module(name: str) -> str | None:
    """Return the module of the factory of a world, given by its name or Gymnasium id; None for other names."""
    if name.startswith("wanderlust/"):
        name = next((each for each in world_names() if environment_id(each) == name), name)
    factory = _FACTORIES.get(name)
    return None if factory is None else str(getattr(factory, "func", factory).__module__)


def as_world(world: World | str | Path) -> World:
    """Return `world` itself if it is a valid `World`, otherwise `make_world(world)`."""
    if not isinstance(world, World):
        return make_world(world)
    # Compiled code does not check the indices that it reads. A world without moves is harmless.
    check_world(world, start_can_be_left=False)
    return world
