"""The combinations of a sweep: what lists and ranges stand for, and the fields of the run of each combination."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.errors import (
    InvalidSetting,
    WanderlustError,
    check_choice,
    check_integer,
    check_number,
    shown,
    unknown_name,
)
from wanderlust.core.user_code import modules_named
from wanderlust.experiments.run import Run

MAX_VALUES = 1_000_000
Key = tuple[str, ...]
"""Where a value is in the description: ("settings", "kappa")."""
Row = dict[str, Any]
Axes = dict[Key, list[Row]]
"""Key in the description -> rows, tables of the fields and options that they set."""


class InvalidSweep(InvalidSetting):
    """A description of a sweep that is not valid; `key` tells where."""

    def __init__(self, key: Key, problem: str) -> None:
        super().__init__(f"{'.'.join(map(str, key))}: {problem}" if key else problem)
        self.key = key


@contextlib.contextmanager
def at_key(key: Key) -> Iterator[None]:
    """Add the key to errors."""
    try:
        yield
    except InvalidSweep:
        raise
    except (WanderlustError, TypeError) as error:
        raise InvalidSweep(key, str(error)) from None


# --- Values and rows -------------------------------------------------------------------------------------

_RANGE_KEYS = ("from", "to", "step", "count", "scale")
_RANGE_EXAMPLE = "{from = 0.1, to = 10, count = 5, scale = 'log'} or {from = 1, to = 9, step = 2}"


def values_of(key: Key, given: Any) -> list[Any]:
    """Return the values that a list, a range or a single value stands for."""
    if not isinstance(given, list):
        given = [given]
    if not given:
        raise InvalidSweep(key, "the list is empty; give at least one value, or leave the key out.")
    if len(given) > MAX_VALUES:
        raise InvalidSweep(key, f"{len(given):,} values are too many; the maximum is {MAX_VALUES:,}.")
    is_range = [isinstance(each, dict) and "from" in each for each in given]
    return [value for each, several in zip(given, is_range, strict=True)
            for value in (_range_values(key, each) if several else [each])]  # fmt: skip


def _range_values(key: Key, given: Row) -> list[Any]:
    for name in given:
        if name not in _RANGE_KEYS:
            raise InvalidSweep((*key, name), str(unknown_name("key of a range", name, _RANGE_KEYS)))
    if "to" not in given or ("count" in given if "step" in given else "scale" in given and "count" not in given):
        raise InvalidSweep(key, f"a range is written as {_RANGE_EXAMPLE}, got {shown(given)}.")
    with at_key(key):
        low, high = check_number("from", given["from"]), check_number("to", given["to"])
        if "count" in given:
            count = check_integer("count", given["count"], low=1, high=MAX_VALUES)
            if check_choice("scale", given.get("scale", "linear"), ("linear", "log")) == "log":
                for name, end in (("from", low), ("to", high)):
                    check_number(f"{name} of a logarithmic range", end, low=0, open_low=True)
                values = np.geomspace(low, high, count).tolist()
            else:
                values = np.linspace(low, high, count).tolist()
        else:
            step = check_number("step", given.get("step", 1), low=0, open_low=True)
            n_steps = math.floor(min((high - low) / step, MAX_VALUES) + 1e-9)
            check_integer("the number of values of a range", n_steps + 1, low=1, high=MAX_VALUES)
            values = [low + i * step for i in range(n_steps + 1)]
    # Without the last digits, in which rounding errors would make names of settings unreadable.
    rounded = [float(f"{value:.12g}") for value in values]
    return [int(value) if value.is_integer() and abs(value) < 2**53 else value for value in rounded]


def product_rows(key: Key, options: Mapping[str, Any]) -> list[Row]:
    """Return all combinations of the values of a table of options."""
    values = [values_of((*key, name), given) for name, given in options.items()]
    return [dict(zip(options, row, strict=True)) for row in itertools.product(*values)]


def zipped_rows(key: Key, group: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a zipped group: the first values together, then the second values, and so on."""
    columns = {name: values_of((*key, name), values) for name, values in group.items()}
    if len({len(values) for values in columns.values()}) != 1:
        described = ", ".join(f"{name} has {len(values)}" for name, values in columns.items()) or "it is empty"
        raise InvalidSweep(key, f"the lists of a zipped group must have equal length: {described}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_rows(key: Key, given: Any) -> list[tuple[str, Row]]:
    """Return (name, options) for a name, a list of names, or a table of names with tables of options."""
    if isinstance(given, dict):
        for name, options in given.items():
            if not isinstance(options, dict):
                raise InvalidSweep((*key, name), f"the options must be a table, such as {{}}, got {shown(options)}.")
        return [(name, row) for name, options in given.items() for row in product_rows((*key, name), options)]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidSweep(
            key, f"must be a name, a list of names, or a table of names and options, got {shown(given)}."
        )
    return [(name, {}) for name in names]


def check_axes(axes: Axes) -> None:
    """Raise `InvalidSweep` if two axes set the same field, or if a run would have no world or no explorer."""
    owners: dict[str, Key] = {}
    for key, rows in axes.items():
        # Worlds and environments are one axis; the explorers of a table have options of their own.
        for name in {name for row in rows for name in row if name != "options"}:
            if name in owners:
                raise InvalidSweep(key, f"{name!r} is given twice: in {'.'.join(owners[name])} and in {'.'.join(key)}.")
            owners[name] = key
    if not owners.keys() & {"world", "environment"}:
        raise InvalidSweep(("worlds",), "give at least one world or environment; `wanderlust worlds` lists the worlds.")
    if "explorer" not in owners:
        raise InvalidSweep(("explorers",), "give at least one explorer; `wanderlust explorers` lists them.")
    if "environment" in owners and "steps" not in owners:
        raise InvalidSweep(("environments",), "runs in environments need the setting 'steps', their number of steps.")


# --- Combinations ----------------------------------------------------------------------------------------

FIELDS = ("world", "environment", "explorer", "seed", "preset", "memory", "until", "measure", "episodes", "env_version")
"""The names of fields in zipped groups and exclusions; all other names are settings and options."""
_WORLD, _ENVIRONMENT = "world", "environment"
_FIELDS_OF_KIND = {_WORLD: ("preset", "until", "measure"), _ENVIRONMENT: ("preset", "episodes", "env_version")}
"""The fields that only runs of a kind have, except for the preset."""
_REWARD_RANGE, _REPLAY = "reward_range", "replay"
_MAP_SUFFIXES = (".txt", ".toml")
_ENVIRONMENT_NAME = re.compile(r"-v\d+$|[:/]")
"""What the names of environments contain, and those of worlds do not."""


class Point(NamedTuple):
    """One combination: the fields of its run, and all values by name, as exclusions and tables use them."""

    fields: dict[str, Any]
    values: dict[str, Any]

    def has(self, pattern: Mapping[str, list[Any]]) -> bool:
        """Return whether the combination has one of the values of each name of a pattern."""
        return all(name in self.values and self.values[name] in values for name, values in pattern.items())


class Names:
    """The names that a sweep can use, and what they stand for."""

    def __init__(self, axes: Axes, *, imports: bool = True) -> None:
        rows = [(key, row) for key, rows in axes.items() for row in rows]
        self._kinds = [kind for kind in _FIELDS_OF_KIND if any(kind in row for _, row in rows)]
        self._worlds = {row["world"] for _, row in rows if "world" in row}
        self._settings = _setting_names()
        self._explorers: dict[str, frozenset[str]] = {}
        """Explorer -> its options."""
        self._not_imported: set[str] = set()
        for key, row in rows:
            if "explorer" in row:
                with at_key(_key_of(key, row, "explorer")):
                    if not imports and modules_named(row["explorer"]):
                        self._not_imported.add(row["explorer"])
                    else:
                        self._explorers[row["explorer"]] = _option_names(row["explorer"])
        if self._not_imported:
            given = {name for _, row in rows for name in row}
            others = {"options", *FIELDS, *self._settings, *_encoder_names(), *self._world_options}
            self._explorers |= dict.fromkeys(self._not_imported, frozenset(given - others))

    @functools.cached_property
    def known(self) -> frozenset[str]:
        """The names of all fields, settings, and options of the explorers and worlds."""
        return frozenset({*FIELDS, *self._settings, *self._world_options}.union(*self._explorers.values()))

    @property
    def _world_options(self) -> set[str]:
        return {option for world in self._worlds for option in _world_option_names(world)}

    def _is_option(self, name: str) -> bool:
        return any(name in options for options in self._explorers.values())

    def check(self, axes: Axes) -> None:
        """Raise `InvalidSweep` for a name that is unknown or a value that is not valid, before anything is executed."""
        rows = [(axis, row) for axis, rows in axes.items() for row in rows]
        for axis, row in rows:
            if "world" in row:
                _check_world(_key_of(axis, row, "world"), row["world"], row.get("options", {}))
        for axis, row in rows:
            for name, value in row.items():
                key = _key_of(axis, row, name)
                if name != "options":
                    self.check_name(key, name)
                with at_key(key):
                    if name == "explorer":
                        self._check_explorer(value, row)
                    else:
                        self._check_value(name, value)

    def check_name(self, key: Key, name: str) -> None:
        """Raise `InvalidSweep` unless a name is a field, a setting, or an option that some run has."""
        if name == _REPLAY:
            raise InvalidSweep(key, "the replay memory is the key 'memory'.")
        # Which options an environment has is known when it is created.
        if name not in self.known and _ENVIRONMENT not in self._kinds:
            where = ", ".join(sorted({*self._explorers, *self._worlds}))
            raise InvalidSweep(key, str(unknown_name("setting or option", name, self.known, of=where)))
        if key[0] == "explorers" and self._is_option(name) and name not in (own := self._explorers[key[1]]):
            options = ", ".join(sorted(own)) or "none"
            raise InvalidSweep(key, f"{key[1]} has no option {name!r}; its options: {options}.")
        kinds = [kind for kind, names in _FIELDS_OF_KIND.items() if name in names]
        if kinds and not {*kinds} & {*self._kinds}:
            raise InvalidSweep(key, f"only runs in {kinds[0]}s have the field {name!r}; this sweep has no {kinds[0]}.")

    def _check_value(self, name: str, value: Any) -> None:
        """Raise an error unless a value is valid for a field, a setting, or every explorer that has the option."""
        from wanderlust.agents.settings import Replay, Settings

        if name == "seed":
            check_integer("a seed", value, low=0)
        elif name == "memory":
            Replay(**value) if isinstance(value, Mapping) else Replay.of(value)
        elif kinds := [kind for kind in self._kinds if name in _FIELDS_OF_KIND[kind]]:
            # In environments, which are last, there are more presets than in worlds.
            Run(world="toy", explorer="random", kind=kinds[-1], **{name: value})
        elif name in self._settings and name != _REWARD_RANGE:
            Settings(**{name: value})
        for explorer, options in self._explorers.items():
            if name in options:
                self._check_explorer(explorer, {name: value})

    def _check_explorer(self, explorer: str, row: Row) -> None:
        """Configure an explorer with those of the options of a row that it has; an invalid one is an error."""
        from wanderlust.agents.settings import Settings
        from wanderlust.explorers.protocol import configured

        if explorer not in self._not_imported:
            options = {name: value for name, value in row.items() if name in self._explorers[explorer]}
            configured(explorer, Settings().problem(4, (0.0, 1.0)), options)

    def point(self, rows: Sequence[Row]) -> Point:
        """Return the combination of one row of each axis."""
        values = {name: value for row in rows for name, value in row.items() if name != "options"}
        options = {name: value for row in rows for name, value in row.get("options", {}).items()}
        kind, given = _WORLD if _WORLD in values else _ENVIRONMENT, dict(options)
        own = self._explorers[values["explorer"]]
        tables: dict[str, dict[str, Any]] = {"settings": {}, "explorer_options": {}, "encoder_options": {}}
        for name, value in values.items():
            if name in FIELDS:
                continue
            if name in own:
                tables["explorer_options"][name] = value
            elif self._is_option(name):
                continue  # An option of other explorers only, even if it is a setting that nothing else uses.
            elif name in self._settings:
                tables["settings"][name] = value
            elif kind == _ENVIRONMENT and name in _encoder_names():
                tables["encoder_options"][name] = value
            elif kind == _ENVIRONMENT or name in _world_option_names(values["world"]):
                options[name] = value
        if "memory" in values:
            tables["settings"][_REPLAY] = values["memory"]
        fields = {name: values[name] for name in ("explorer", "seed", *_FIELDS_OF_KIND[kind]) if name in values}
        world, options = _resolve_map(values[kind], options, is_world=kind == _WORLD)
        return Point({**fields, "kind": kind, "world": world, "world_options": options, **tables}, {**given, **values})


def check_preset(point: Point) -> None:
    """Raise `InvalidSweep` if the preset of a combination is one that its kind of run does not have."""
    from wanderlust.agents.settings import AS_WRITTEN, WORLD_PRESETS

    preset = point.fields.get("preset", AS_WRITTEN)
    if point.fields["kind"] == _WORLD and preset not in WORLD_PRESETS:
        pattern = f"{{world = {json.dumps(point.values[_WORLD])}, preset = {json.dumps(preset)}}}"
        raise InvalidSweep(("presets",), f"{preset!r} is for environments only; add exclude = [{pattern}].")


def _key_of(axis: Key, row: Row, name: str) -> Key:
    """Return the key of a value of an axis."""
    if axis == ("explorers",):
        return (*axis, row["explorer"]) if name == "explorer" else (*axis, row["explorer"], name)
    if axis == ("worlds",) and name in ("world", "environment"):
        return (f"{name}s", row[name])
    return (*axis, name) if axis[0] in ("zip", "encoders") else axis


def _check_world(key: Key, name: str, options: Row) -> None:
    from wanderlust.worlds import make_world

    try:
        world, resolved = _resolve_map(name, options, is_world=True)
        make_world(world, **resolved)
    except WanderlustError as error:
        hint = " Environments have a key of their own, 'environments'." if _ENVIRONMENT_NAME.search(str(name)) else ""
        raise InvalidSweep(key, f"{error}{hint}") from None


@functools.lru_cache(maxsize=64)
def _option_names(explorer: str) -> frozenset[str]:
    from wanderlust.explorers.protocol import option_names

    return frozenset(option_names(explorer))


@functools.lru_cache(maxsize=64)
def _world_option_names(world: str) -> frozenset[str]:
    from wanderlust.worlds.registry import world_options

    return frozenset(option.name for option in world_options("map" if world.endswith(_MAP_SUFFIXES) else world))


@functools.cache
def _setting_names() -> frozenset[str]:
    from wanderlust.agents.settings import SETTING_NAMES

    return frozenset({*SETTING_NAMES, _REWARD_RANGE} - {_REPLAY})


@functools.cache
def _encoder_names() -> frozenset[str]:
    from wanderlust.environments.tabular import ENCODER_OPTIONS

    return frozenset(ENCODER_OPTIONS)


def _resolve_map(name: Any, options: Row, *, is_world: bool) -> tuple[str, Row]:
    """Return a map file as a world with the option `map`: a run depends on the text, not on the file."""
    if not isinstance(name, str):
        raise InvalidSweep(("worlds",), f"the name of a world or environment must be a text, got {shown(name)}.")
    if not name.endswith(_MAP_SUFFIXES):
        return name, options
    from wanderlust.worlds.registry import GRID_ID

    text = _map_text(name, Path(name).stat().st_mtime_ns if Path(name).exists() else 0)
    return Path(name).stem if is_world else GRID_ID, {"map": text, **options}


@functools.lru_cache(maxsize=64)
def _map_text(name: str, _modified: int) -> str:
    from wanderlust.worlds.grid import read_map_file

    # A text without a newline would be taken for a path.
    return read_map_file(Path(name)).rstrip("\n") + "\n"
