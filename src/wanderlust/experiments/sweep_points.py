"""The combinations of a sweep: what lists and ranges stand for, and the run of each combination.

A list is a list of values to sweep over. A value that is itself a list is written inside another list: `[[0, 1]]` is
one value, the list [0, 1]. Every error names the key.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust.core.errors import InvalidSetting, WanderlustError, check_integer, check_number, shown, unknown_name
from wanderlust.experiments.run import Run

MAX_VALUES = 1_000_000
_RANGE_KEYS = ("from", "to", "step", "count", "scale")
_RANGE_EXAMPLE = "{from = 0.1, to = 10, count = 5, scale = 'log'} or {from = 1, to = 9, step = 2}"

Key = tuple[str, ...]
"""Where a value is in the description: ("settings", "kappa")."""


class InvalidSweep(InvalidSetting):
    """A description of a sweep that is not valid; `key` tells where."""

    def __init__(self, key: Key, problem: str) -> None:
        super().__init__(f"{'.'.join(key)}: {problem}" if key else problem)
        self.key = key
        self.problem = problem


def at_key(key: Key, error: WanderlustError) -> InvalidSweep:
    """Return an error with the key that caused it."""
    return InvalidSweep(key, str(error))


def values_of(key: Key, given: Any) -> list[Any]:
    """Return the values that a list, a range or a single value stands for."""
    if _is_range(given):
        return _range_values(key, given)
    if isinstance(given, range | np.ndarray | set | frozenset):
        given = sorted(given) if isinstance(given, set | frozenset) else list(given)
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise InvalidSweep(key, "the list is empty; give at least one value, or leave the key out.")
    if len(given) > MAX_VALUES:
        raise InvalidSweep(key, f"{len(given):,} values are too many; the maximum is {MAX_VALUES:,}.")
    # A list may contain ranges.
    return [value for each in given for value in (_range_values(key, each) if _is_range(each) else [each])]


def _is_range(given: Any) -> bool:
    return isinstance(given, Mapping) and "from" in given


def _range_values(key: Key, given: Mapping[str, Any]) -> list[Any]:
    for name in given:
        if name not in _RANGE_KEYS:
            raise at_key((*key, name), unknown_name("key of a range", name, _RANGE_KEYS))
    if "to" not in given or ("step" in given) + ("count" in given) > 1:
        raise InvalidSweep(key, f"a range is written as {_RANGE_EXAMPLE}, got {shown(dict(given))}.")
    try:
        low, high = check_number("from", given["from"]), check_number("to", given["to"])
        if "count" in given:
            count = check_integer("count", given["count"], low=1, high=MAX_VALUES)
            return _spaced(key, low, high, count, given.get("scale", "linear"))
        step = check_number("step", given.get("step", 1), low=0, open_low=True)
    except InvalidSweep:
        raise
    except InvalidSetting as error:
        raise at_key(key, error) from None
    n_steps = math.floor((high - low) / step + 1e-9)
    if n_steps < 0 or n_steps >= MAX_VALUES or "scale" in given:
        raise InvalidSweep(key, f"a range is written as {_RANGE_EXAMPLE}, got {shown(dict(given))}.")
    return [_plain(low + i * step) for i in range(n_steps + 1)]


def _spaced(key: Key, low: float, high: float, count: int, scale: Any) -> list[Any]:
    if scale not in ("linear", "log"):
        raise InvalidSweep((*key, "scale"), f"the scale of a range is 'linear' or 'log', got {shown(scale)}.")
    if scale == "log" and (low <= 0 or high <= 0):
        raise InvalidSweep(key, f"a logarithmic range needs positive ends, got {low:g} and {high:g}.")
    spaced = np.geomspace(low, high, count) if scale == "log" else np.linspace(low, high, count)
    return [_plain(value) for value in spaced.tolist()]


def _plain(value: float) -> float | int:
    """Return a number without the last digits, in which rounding errors would make names of settings unreadable."""
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def product_rows(key: Key, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values of a table of options."""
    names = list(options)
    values = [values_of((*key, name), options[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*values)]


def zipped_rows(key: Key, group: Any) -> list[dict[str, Any]]:
    """Return the rows of a zipped group: the first values together, then the second values, and so on."""
    if not isinstance(group, Mapping) or not group:
        raise InvalidSweep(key, f"a zipped group is a table of lists of equal length, got {shown(group)}.")
    columns = {name: values_of((*key, name), values) for name, values in group.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidSweep(key, f"the lists of a zipped group must have equal length: {described}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_rows(key: Key, given: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return (name, options) for a name, a list of names, or a table of names with tables of options."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        rows = []
        for name, options in given.items():
            if not isinstance(options, Mapping):
                raise InvalidSweep((*key, name), f"the options must be a table, such as {{}}, got {shown(options)}.")
            rows += [(name, row) for row in product_rows((*key, name), options)]
        return rows
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidSweep(
            key, f"must be a name, a list of names, or a table of names and options, got {shown(given)}."
        )
    return [(name, {}) for name in given]


def matches(point: Mapping[str, Any], pattern: Mapping[str, Any], key: Key) -> bool:
    """Return whether a combination has one of the values of each key of a pattern."""
    return all(name in point and point[name] in values_of((*key, name), given) for name, given in pattern.items())


def check_tables(key: Key, given: Any) -> list[Mapping[str, Any]]:
    """Return a list of tables; a single table is a list of one."""
    tables = [given] if isinstance(given, Mapping) else given
    if not isinstance(tables, Iterable) or isinstance(tables, str):
        raise InvalidSweep(key, f"must be a table or a list of tables, got {shown(given)}.")
    tables = list(tables)
    for i, table in enumerate(tables):
        if not isinstance(table, Mapping):
            raise InvalidSweep((*key, str(i)), f"must be a table, got {shown(table)}.")
    return tables


# --- Combinations ----------------------------------------------------------------------------------------

FIELDS = ("world", "environment", "explorer", "seed", "preset", "memory", "until", "measure", "episodes", "env_version")
"""The names of fields in zipped groups and exclusions; all other names are settings and options."""
_WORLD, _ENVIRONMENT = "world", "environment"
_FIELDS_OF_KIND = {_WORLD: ("preset", "until", "measure"), _ENVIRONMENT: ("preset", "episodes", "env_version")}
"""The fields that only runs of a kind have, except for the preset."""
_REWARD_RANGE, _REPLAY = "reward_range", "replay"
_SOME_WORLD, _SOME_EXPLORER = "toy", "random"
"""Of the run that checks the value of one field."""
_MAP_SUFFIXES = (".txt", ".toml")
_ENVIRONMENT_NAME = re.compile(r"-v\d+$|[:/]")
"""What the names of environments contain, and those of worlds do not."""

Row = Mapping[str, Any]
Axes = dict[Key, list[dict[str, Any]]]
"""Key in the description -> rows, tables of the fields and options that they set."""


class Point(NamedTuple):
    """One combination: the fields of its run, and all values by name, as exclusions and tables use them."""

    fields: dict[str, Any]
    values: dict[str, Any]

    def run(self) -> Run:
        """Return the run."""
        return Run(**self.fields)


class PointReader:
    """Turns rows, one of each axis, into points."""

    def __init__(self, axes: Axes) -> None:
        rows = [row for axis in axes.values() for row in axis]
        self.kinds = [kind for kind in _FIELDS_OF_KIND if any(kind in row for row in rows)]
        """The kinds of the runs."""
        self._explorers: dict[str, frozenset[str]] = {}
        for key, row in [(axis, row) for axis, rows in axes.items() for row in rows if "explorer" in row]:
            try:
                self._explorers[row["explorer"]] = _option_names(row["explorer"])
            except WanderlustError as error:
                raise at_key(_key_of(key, row, "explorer"), error) from None
        self._settings = _setting_names()
        self._worlds = {row["world"] for row in rows if "world" in row}

    def check_name(self, key: Key, name: str) -> None:
        """Raise `InvalidSweep` unless a name is a field, a setting, or an option that some run has."""
        if name == _REPLAY:
            raise InvalidSweep(key, "the replay memory is the key 'memory'.")
        # Which options an environment has is known when it is created.
        if name not in self.known and _ENVIRONMENT not in self.kinds:
            where = ", ".join(sorted({*self._explorers, *self._worlds}))
            raise at_key(key, unknown_name("setting or option", name, self.known, of=where))
        if key[0] == "explorers" and self._is_option(name) and name not in (own := self._explorers[key[1]]):
            options = ", ".join(sorted(own)) or "none"
            raise InvalidSweep(key, f"{key[1]} has no option {name!r}; its options: {options}.")
        kinds = [kind for kind, names in _FIELDS_OF_KIND.items() if name in names]
        if kinds and not {*kinds} & {*self.kinds}:
            raise InvalidSweep(key, f"only runs in {kinds[0]}s have the field {name!r}; this sweep has no {kinds[0]}.")

    @functools.cached_property
    def known(self) -> frozenset[str]:
        """The names of all fields, settings, and options of the explorers and worlds."""
        options = {option for world in self._worlds for option in _world_option_names(world)}
        return frozenset({*FIELDS, *self._settings, *options}.union(*self._explorers.values()))

    def check_preset(self, point: Point) -> None:
        """Raise `InvalidSweep` if the preset of a combination is one that its kind of run does not have."""
        from wanderlust.agents.settings import AS_WRITTEN, WORLD_PRESETS

        preset = point.fields.get("preset", AS_WRITTEN)
        if point.fields["kind"] == _WORLD and preset not in WORLD_PRESETS:
            pattern = f"{{world = {json.dumps(point.values[_WORLD])}, preset = {json.dumps(preset)}}}"
            raise InvalidSweep(("presets",), f"{preset!r} is for environments only; add exclude = [{pattern}].")

    def _is_option(self, name: str) -> bool:
        return any(name in options for options in self._explorers.values())

    def check_value(self, name: str, value: Any) -> None:
        """Raise an error unless a value is valid for a field, a setting, or every explorer that has the option."""
        from wanderlust.agents.settings import Replay, Settings

        if name == "seed":
            check_integer("a seed", value, low=0)
        elif name == "memory":
            Replay(**value) if isinstance(value, Mapping) else Replay.of(value)
        elif kinds := [kind for kind, fields in _FIELDS_OF_KIND.items() if name in fields and kind in self.kinds]:
            # In environments, which are last, there are more presets than in worlds.
            Run(world=_SOME_WORLD, explorer=_SOME_EXPLORER, kind=kinds[-1], **{name: value})
        elif name in _setting_names() and name != _REWARD_RANGE:
            Settings(**{name: value})
        for explorer, options in self._explorers.items():
            if name in options:
                _check_explorer(explorer, {name: value})

    def point(self, rows: Sequence[Row]) -> Point:
        """Return the combination of one row of each axis."""
        values: dict[str, Any] = {}
        options: dict[str, Any] = {}
        for row in rows:
            for name, value in row.items():
                if name == "options":
                    options |= value
                else:
                    values[name] = value
        fields = self._fields(values, options)
        return Point(fields, {**options, **values})

    def _fields(self, values: Row, options: dict[str, Any]) -> dict[str, Any]:
        is_world = _WORLD in values
        kind = _WORLD if is_world else _ENVIRONMENT
        explorer = values["explorer"]
        own = self._explorers[explorer]
        fields: dict[str, Any] = {"explorer": explorer, "seed": values["seed"], "kind": kind}
        tables: dict[str, dict[str, Any]] = {"settings": {}, "explorer_options": {}, "encoder_options": {}}
        options = dict(options)
        for name, value in values.items():
            if name in FIELDS:
                continue
            if name in own:
                tables["explorer_options"][name] = value
            elif self._is_option(name):
                continue  # An option of other explorers only, even if it is a setting that nothing else uses.
            elif name in self._settings:
                tables["settings"][name] = value
            elif not is_world and name in _encoder_names():
                tables["encoder_options"][name] = value
            elif not is_world or name in _world_option_names(values["world"]):
                options[name] = value
        if "memory" in values:
            tables["settings"][_REPLAY] = values["memory"]
        fields |= {name: values[name] for name in _FIELDS_OF_KIND[kind] if name in values}
        name, options = _resolve_map(values[kind], options, is_world=is_world)
        return {**fields, "world": name, "world_options": options, **tables}


def check_values(axes: Axes, reader: PointReader) -> None:
    """Raise `InvalidSweep` for a name that is unknown or a value that is not valid, before anything is executed."""
    for axis, rows in axes.items():
        for row in rows:
            if "world" in row:
                _check_world(_key_of(axis, row, "world"), row["world"], row.get("options", {}))
    for axis, rows in axes.items():
        for row in rows:
            for name, value in row.items():
                key = _key_of(axis, row, name)
                if name != "options":
                    reader.check_name(key, name)
                try:
                    if name == "explorer":
                        _check_explorer(value, row)
                    else:
                        reader.check_value(name, value)
                except (WanderlustError, TypeError) as error:
                    raise InvalidSweep(key, str(error)) from None


def _key_of(axis: Key, row: Row, name: str) -> Key:
    """Return the key of a value of an axis."""
    if axis == ("explorers",):
        return (*axis, row["explorer"]) if name == "explorer" else (*axis, row["explorer"], name)
    if axis == ("worlds",) and name in ("world", "environment"):
        return (f"{name}s", row[name])
    return (*axis, name) if axis[0] in ("zip", "encoders") else axis


def _check_world(key: Key, name: str, options: Mapping[str, Any]) -> None:
    from wanderlust.worlds import make_world

    try:
        world, resolved = _resolve_map(name, dict(options), is_world=True)
        make_world(world, **resolved)
    except WanderlustError as error:
        hint = " Environments have a key of their own, 'environments'." if _ENVIRONMENT_NAME.search(str(name)) else ""
        raise InvalidSweep(key, f"{error}{hint}") from None


def _check_explorer(explorer: str, row: Row) -> None:
    """Configure an explorer with those of the options of a row that it has; an option that is not valid is an error."""
    from wanderlust.agents.settings import Settings
    from wanderlust.explorers.registry import configured

    own = _option_names(explorer)
    options = {name: value for name, value in row.items() if name in own}
    configured(explorer, Settings().problem(4, (0.0, 1.0)), options)


@functools.lru_cache(maxsize=64)
def _option_names(explorer: str) -> frozenset[str]:
    from wanderlust.explorers.registry import explorer_options

    return frozenset(option.name for option in explorer_options(explorer))


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


def _resolve_map(name: Any, options: dict[str, Any], *, is_world: bool) -> tuple[str, dict[str, Any]]:
    """Return a map file as a world with the option `map`: a run depends on the text, not on the file."""
    if not isinstance(name, str):
        raise InvalidSweep(("worlds",), f"the name of a world or environment must be a text, got {shown(name)}.")
    if not name.endswith(_MAP_SUFFIXES):
        return name, options
    text = _map_text(name, Path(name).stat().st_mtime_ns if Path(name).exists() else 0)
    if is_world:
        return Path(name).stem, {"map": text, **options}
    from wanderlust.environments.registration import GRID_ID

    return GRID_ID, {"map": text, **options}


@functools.lru_cache(maxsize=64)
def _map_text(name: str, _modified: int) -> str:
    from wanderlust.worlds.maps import read_map_file

    text = read_map_file(Path(name))
    # A text without a newline would be taken for a path.
    return text.rstrip("\n") + "\n"
