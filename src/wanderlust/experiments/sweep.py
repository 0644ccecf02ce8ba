"""A sweep: many runs described by lists and ranges for the fields of a run.

The same description is a TOML file, the arguments of `wanderlust sweep`, and `wl.Sweep`:

    sweep = wl.Sweep(worlds=["prison", "taxi"], explorers={"vv-ucb": {"kappa": [0.1, 1, 10]}}, seeds=range(20))
    results = sweep.run("results/")
    results.to_pandas()

Every list is an axis, and a sweep is the product of its axes. A value that is itself a list is written inside another
list: `[[0, 1]]` is one value, the list [0, 1]. A zipped group is one axis of several fields that change together; an
exclusion removes the combinations that match it. Every error names the key.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from wanderlust.agents.settings import SETTING_NAMES, Replay, Settings
from wanderlust.core.errors import (
    BadFile,
    InvalidSetting,
    WanderlustError,
    check_choice,
    check_flag,
    check_instance,
    check_integer,
    check_number,
    check_options,
    counted,
    shown,
    unknown_name,
)
from wanderlust.core.files import check_path, read_text_file, shown_path, write_file
from wanderlust.core.schema import parse_toml
from wanderlust.core.user_code import announce_imports, check_allowed, modules_named
from wanderlust.environments.tabular import ENCODER_OPTIONS, tabular_from_options
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress, StatusFile, file_name
from wanderlust.experiments.run import Run, plain_options
from wanderlust.experiments.store import Store
from wanderlust.experiments.table import Results
from wanderlust.explorers.protocol import configured, option_names
from wanderlust.worlds import make_world
from wanderlust.worlds.grid import MAP_SUFFIXES, read_map_file
from wanderlust.worlds.registry import GRID_ID, world_options

DEFAULT_SEEDS = 10
MAX_BYTES = 1_000_000
MAX_RUNS = 10_000_000
SWEEPS, SWEEP_FILE = "sweeps", "sweep.json"
_SCHEMAS: dict[str, Any] = {"settings": dict[str, Any], "encoders": dict[str, Any], "zip": list[dict[str, Any]],
                            "exclude": list[dict[str, Any]], "name": str}  # fmt: skip
"""What is known about the form of a key before its values are read."""
_SIMPLE = {"memory": "memory", "presets": "preset", "until": "until", "measure": "measure", "episodes": "episodes",
           "env_version": "env_version"}  # fmt: skip
"""Keys of a sweep whose values are those of one field of a run."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """The description of many runs; sweeps with equal fields are equal."""

    worlds: Any = ()
    """Built-in worlds or map files: a name, a list of names, or a table of names with tables of options."""
    environments: Any = ()
    """Gymnasium or user-defined environments, in the same way; they need the setting `steps`."""
    explorers: Any = ()
    """Explorers, in the same way."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings, and options of explorers; an option applies to the explorers that have it."""
    memory: Any = ()
    """Replay memories: 'full', 'none', or tables of the fields of `Replay`."""
    presets: Any = ()
    """'as_written' or 'as_published_code'; in environments also 'adaptive'."""
    seeds: Any = DEFAULT_SEEDS
    """A number n, for the seeds 0 to n-1, or a list or range of seeds."""
    encoders: Mapping[str, Any] = field(default_factory=dict)
    """Encoding of the states and actions of environments: `key`, `bins`, `bounds`, `action_bins`, `reset_seed`."""
    until: Any = ()
    measure: Any = ()
    episodes: Any = ()
    env_version: Any = ()
    zip: Sequence[Mapping[str, Any]] = ()
    """Groups of fields that change together: tables of lists of equal length."""
    exclude: Sequence[Mapping[str, Any]] = ()
    """Combinations that are left out: tables of fields with the values to exclude."""
    name: str = ""
    """The name of the sweep in reports; by default, a hash of the description."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = _plain((each.name,), getattr(self, each.name))
            if each.name in ("zip", "exclude") and isinstance(value, dict):
                value = [value]
            try:
                object.__setattr__(self, each.name, msgspec.convert(value, _SCHEMAS.get(each.name, Any)))
            except (msgspec.ValidationError, UnicodeEncodeError) as error:
                raise InvalidSweep((each.name,), f"{error}, got {shown(value)}.") from None
        try:
            digest = hashlib.sha256(self.json.encode()).hexdigest()[:8]
        except ValueError as error:
            raise InvalidSetting(f"a sweep must be described by valid Unicode ({error}).") from None
        if not self.name:
            object.__setattr__(self, "name", f"sweep-{digest}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sweep) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    @property
    def description(self) -> dict[str, Any]:
        """The fields that differ from their default, as plain values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value not in ("", (), [], {})}

    @property
    def json(self) -> str:
        """The sweep as one line of JSON; equal sweeps give the same line."""
        return json.dumps(self.description, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_description(cls, values: Mapping[str, Any]) -> Sweep:
        """Return the sweep of a table, as a TOML or JSON file contains it."""
        check_instance("the description of a sweep", values, Mapping)
        for name in values:
            with at_key((name,)):
                check_options("a sweep", {name: None}, (each.name for each in fields(cls)))
        return cls(**values)

    @classmethod
    def from_file(cls, path: str | Path, *, allow_code: Collection[str] = (), imports: bool = True) -> Sweep:
        """Return the sweep of a TOML file; an error names the key.

        A file that names code, 'module:attribute', is refused unless `allow_code` has the module or its package. With
        `imports=False`, such code is not imported and not checked.
        """
        path = check_path("the sweep", path)
        text = read_text_file(path, max_bytes=MAX_BYTES)
        try:
            values = parse_toml(text)
        except BadFile as error:
            raise BadFile(f"{shown_path(path)}: {error}") from None
        naming_code = {name: value for name, value in values.items() if name not in ("name", "worlds")}
        modules = check_allowed(shown_path(path), naming_code, allow_code)
        announce_imports(modules if imports else [], "as allowed by --allow-code")
        try:
            sweep = cls.from_description({"name": path.stem, **values})
            sweep.check_environments(imports=imports)
        except InvalidSweep as error:
            raise InvalidSweep((), f"{shown_path(path)}: {error}") from None
        return sweep

    @functools.cached_property
    def runs(self) -> list[Run]:
        """The runs, each once, in the order of the description."""
        return self.plan()

    def plan(self, *, imports: bool = True) -> list[Run]:
        """Return the runs; without imports, a user-defined explorer is assumed to have every option that is given."""
        axes = self._axes()
        total = math.prod(map(len, axes.values()))
        if total > MAX_RUNS:
            raise InvalidSweep((), f"{total:,} combinations are too many; the maximum is {MAX_RUNS:,}.")
        names = Names(axes, imports=check_flag("imports", imports))
        names.check(axes)
        points = [names.point(rows) for rows in itertools.product(*axes.values())]
        for i, pattern in enumerate(self.exclude):
            key = ("exclude", str(i))
            for name in pattern:
                names.check_name((*key, name), name)
            excluded = {name: values_of((*key, name), given) for name, given in pattern.items()}
            kept = [point for point in points
                    if any(name not in point[1] or point[1][name] not in given
                           for name, given in excluded.items())]  # fmt: skip
            if len(kept) == len(points):
                described = " and ".join(f"{name} = {json.dumps(value)}" for name, value in pattern.items())
                raise InvalidSweep(key, f"excludes nothing: no combination has {described}.")
            points = kept
        with at_key(("presets",)):  # Everything else is checked before; worlds have fewer presets than environments.
            runs = list(dict.fromkeys([Run(**fields) for fields, _ in points]))
        if not runs:
            raise InvalidSweep(("exclude",), "every combination is excluded; no run is left.")
        return runs

    def check_environments(self, *, imports: bool = True) -> None:
        """Create and close every environment once, without imports only registered ones, or raise `InvalidSweep`."""
        imports = check_flag("imports", imports)
        distinct = {(run.world, json.dumps([dict(run.world_options), dict(run.encoder_options)])): run
                    for run in (self.runs if imports else self.plan(imports=False))
                    if run.kind == "environment"}  # fmt: skip
        for run in distinct.values():
            if not imports and modules_named([run.world, run.world_options, run.encoder_options]):
                continue
            try:
                tabular_from_options(run.world, run.world_options, run.encoder_options).close()
            except WanderlustError as error:
                problem = f"{error} An unknown name in settings or encoders is taken for an option of the environment."
                raise InvalidSweep(("environments", run.world), problem) from None

    def _axes(self) -> Axes:
        """Return the axes: lists of rows, tables of the fields and options that they set."""
        problems = [
            {kind: name, "options": options}
            for key, kind in (("worlds", "world"), ("environments", "environment"))
            for name, options in named_rows((key,), getattr(self, key))
        ]
        explorers = [{"explorer": name, **options} for name, options in named_rows(("explorers",), self.explorers)]
        axes: Axes = {("worlds",): problems, ("explorers",): explorers}
        for name, values in self.settings.items():
            axes["settings", name] = [{name: value} for value in values_of(("settings", name), values)]
        for key, name in _SIMPLE.items():
            if (given := getattr(self, key)) != []:
                axes[(key,)] = [{name: value} for value in values_of((key,), given)]
        if self.encoders:
            axes[("encoders",)] = product_rows(("encoders",), self.encoders)
        for i, group in enumerate(self.zip):
            axes["zip", str(i)] = zipped_rows(("zip", str(i)), group)
        if not any("seed" in group for group in self.zip):
            with at_key(("seeds",)):
                if isinstance(seeds := self.seeds, int | float):
                    seeds = list(range(check_integer("the number of seeds", seeds, low=1, high=MAX_RUNS)))
            axes[("seeds",)] = [{"seed": seed} for seed in values_of(("seeds",), seeds)]
        check_axes(axes)
        return {key: rows for key, rows in axes.items() if rows}

    def run(
        self,
        folder: str | Path = "results",
        execution: Execution | None = None,
        *,
        quiet: bool = False,
        progress: Progress | None = None,
        shard: str = "",
        **options: Any,
    ) -> Results:
        """Execute the runs that are not stored in a folder; return the results of all, and the failures.

        With the shard "2/8", only the second of eight equal parts: several machines execute one part each.
        `options` are fields of `Execution`, such as `jobs` and `time_limit`. After an interrupt, the same call
        continues.
        """
        runs, store = part_of(self.runs, shard), Store(folder)
        self.check_environments()
        self.check_name(store.folder)
        store.prepare()
        write_file(self._file(store.folder), self.json)  # For `report`.
        if shard:
            StatusFile(store, self.name, [run.key for run in self.runs], "")
        name = f"{self.name} {shard.replace('/', ' of ')}" if shard else self.name
        quiet = check_flag("quiet", quiet)
        progress = Progress(quiet=quiet) if progress is None else progress
        summary = run_all(runs, store, execution, name=name, progress=progress, **options)
        return Results(store, runs, summary)

    def check_name(self, folder: Path) -> None:
        """Raise `InvalidSetting` if a folder has a sweep of the same name, with runs that this one does not have."""
        folder = check_path("folder", folder, folder=True)
        try:
            earlier = read_json(self._file(folder))
            lost = set() if earlier == self else {*earlier.plan(imports=False)} - {*self.plan(imports=False)}
        except BadFile:
            return  # There is none, or it cannot be read.
        except InvalidSweep:
            lost = {*self.plan(imports=False)}  # Its worlds are not here.
        if lost:
            raise InvalidSetting(
                f"{shown_path(folder)}: has another sweep named {self.name!r}, with {counted(len(lost), 'run')} that "
                "this one does not have. Give this one another name or another folder; or delete "
                f"{shown_path(self._file(folder).parent)}, then it takes the name. Stored runs are used in any case."
            )

    def _file(self, folder: Path) -> Path:
        return folder / SWEEPS / file_name(self.name) / SWEEP_FILE


def part_of(runs: Sequence[Run], shard: str) -> list[Run]:
    """Return one of n equal parts of the runs, such as "2/8"; all of them for ""."""
    if not check_instance("shard", shard, str):
        return list(runs)
    number, _, count = shard.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise InvalidSetting(f"a shard must be written as I/N, such as 1/8 to 8/8, got {shown(shard)}.")
    return list(runs[int(number) - 1 :: int(count)])


def _plain(key: Key, value: Any) -> Any:
    """Return a value as JSON reads it back, so that a sweep equals its copy read from a file."""
    if isinstance(value, range | set | frozenset):
        value = sorted(value) if not isinstance(value, range) else list(value)
    try:
        return plain_options(key[0], {"value": value})["value"]
    except InvalidSetting:
        for name, each in value.items() if isinstance(value, Mapping) else ():
            _plain((*key, str(name)), each)  # The error names the innermost key.
        kinds = "a text, a finite number, or a list or table of these"
        raise InvalidSweep(key, f"must be {kinds}, got {shown(value)}.") from None


def read_json(path: Path) -> Sweep:
    """Return the sweep that a folder contains, or raise `BadFile`."""
    text = read_text_file(path, max_bytes=MAX_BYTES)
    try:
        return Sweep.from_description(msgspec.json.decode(text, type=dict[str, Any]))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{shown_path(path)}: not a sweep that `wanderlust sweep` stored ({error}).") from error


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
_SETTINGS = frozenset({*SETTING_NAMES, _REWARD_RANGE} - {_REPLAY})
_ENVIRONMENT_NAME = re.compile(r"-v\d+$|[:/]")
"""What the names of environments contain, and those of worlds do not."""


class Names:
    """The names that a sweep can use, and what they stand for."""

    def __init__(self, axes: Axes, *, imports: bool = True) -> None:
        rows = [(key, row) for key, rows in axes.items() for row in rows]
        self._kinds = [kind for kind in _FIELDS_OF_KIND if any(kind in row for _, row in rows)]
        self._worlds = {row["world"] for _, row in rows if "world" in row}
        self._explorers: dict[str, frozenset[str]] = {}
        """Explorer -> its options."""
        self._not_imported: set[str] = set()
        for key, row in rows:
            if "explorer" in row:
                with at_key(_key_of(key, row, "explorer")):
                    if not imports and modules_named(row["explorer"]):
                        self._not_imported.add(row["explorer"])
                    elif row["explorer"] not in self._explorers:
                        self._explorers[row["explorer"]] = frozenset(option_names(row["explorer"]))
        if self._not_imported:
            given = {name for _, row in rows for name in row}
            others = {"options", *FIELDS, *_SETTINGS, *ENCODER_OPTIONS, *self._world_options}
            self._explorers |= dict.fromkeys(self._not_imported, frozenset(given - others))

    @functools.cached_property
    def known(self) -> frozenset[str]:
        """The names of all fields, settings, and options of the explorers and worlds."""
        return frozenset({*FIELDS, *_SETTINGS, *self._world_options}.union(*self._explorers.values()))

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
        if name == "seed":
            check_integer("a seed", value, low=0)
        elif name == "memory":
            Replay(**value) if isinstance(value, Mapping) else Replay.of(value)
        elif kinds := [kind for kind in self._kinds if name in _FIELDS_OF_KIND[kind]]:
            # In environments, which are last, there are more presets than in worlds.
            Run(world="toy", explorer="random", kind=kinds[-1], **{name: value})
        elif name in _SETTINGS and name != _REWARD_RANGE:
            Settings(**{name: value})
        for explorer, options in self._explorers.items():
            if name in options:
                self._check_explorer(explorer, {name: value})

    def _check_explorer(self, explorer: str, row: Row) -> None:
        """Configure an explorer with those of the options of a row that it has; an invalid one is an error."""
        if explorer not in self._not_imported:
            options = {name: value for name, value in row.items() if name in self._explorers[explorer]}
            configured(explorer, Settings().problem(4, (0.0, 1.0)), options)

    def point(self, rows: Sequence[Row]) -> tuple[Row, Row]:
        """Return the fields of the run of one row of each axis, and all values by name, as exclusions have them."""
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
            elif name in _SETTINGS:
                tables["settings"][name] = value
            elif kind == _ENVIRONMENT and name in ENCODER_OPTIONS:
                tables["encoder_options"][name] = value
            elif kind == _ENVIRONMENT or name in _world_option_names(values["world"]):
                options[name] = value
        if "memory" in values:
            tables["settings"][_REPLAY] = values["memory"]
        fields = {name: values[name] for name in ("explorer", "seed", *_FIELDS_OF_KIND[kind]) if name in values}
        world, options = _resolve_map(values[kind], options, is_world=kind == _WORLD)
        return {**fields, "kind": kind, "world": world, "world_options": options, **tables}, {**given, **values}


def _key_of(axis: Key, row: Row, name: str) -> Key:
    """Return the key of a value of an axis."""
    if axis == ("explorers",):
        return (*axis, row["explorer"]) if name == "explorer" else (*axis, row["explorer"], name)
    if axis == ("worlds",) and name in ("world", "environment"):
        return (f"{name}s", row[name])
    return (*axis, name) if axis[0] in ("zip", "encoders") else axis


def _check_world(key: Key, name: str, options: Row) -> None:
    try:
        world, resolved = _resolve_map(name, options, is_world=True)
        make_world(world, **resolved)
    except WanderlustError as error:
        hint = " Environments have a key of their own, 'environments'." if _ENVIRONMENT_NAME.search(str(name)) else ""
        raise InvalidSweep(key, f"{error}{hint}") from None


@functools.lru_cache(maxsize=64)
def _world_option_names(world: str) -> frozenset[str]:
    return frozenset(option.name for option in world_options("map" if world.endswith(MAP_SUFFIXES) else world))


def _resolve_map(name: Any, options: Row, *, is_world: bool) -> tuple[str, Row]:
    """Return a map file as a world with the option `map`: a run depends on the text, not on the file."""
    if not isinstance(name, str):
        raise InvalidSweep(("worlds",), f"the name of a world or environment must be a text, got {shown(name)}.")
    if not name.endswith(MAP_SUFFIXES):
        return name, options
    text = _map_text(name, Path(name).stat().st_mtime_ns if Path(name).exists() else 0)
    return Path(name).stem if is_world else GRID_ID, {"map": text, **options}


@functools.lru_cache(maxsize=64)
def _map_text(name: str, _modified: int) -> str:
    # A text without a newline would be taken for a path.
    return read_map_file(Path(name)).rstrip("\n") + "\n"
