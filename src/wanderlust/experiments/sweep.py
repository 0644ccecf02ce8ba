"""A sweep: many runs described by lists and ranges for the fields of a run.

The same description is a TOML file, the arguments of `wanderlust sweep`, and `wl.Sweep`:

    sweep = wl.Sweep(worlds=["prison", "taxi"], explorers={"vv-ucb": {"kappa": [0.1, 1, 10]}}, seeds=range(20))
    results = sweep.run("results/")
    results.to_pandas()

Every list is an axis, and a sweep is the product of its axes. A value that is itself a list is written inside another
list: `[[0, 1]]` is one value, the list [0, 1]. A zipped group is one axis of several fields that change together; an
exclusion removes the combinations that match it. Every error names the key, in a file also the line.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wanderlust.core.errors import (
    BadFile,
    InvalidSetting,
    WanderlustError,
    check_flag,
    check_instance,
    check_integer,
    check_options,
    counted,
    shown,
)
from wanderlust.core.files import check_path, read_text_file, shown_path, write_file
from wanderlust.core.user_code import announce_imports, check_allowed, modules_named
from wanderlust.experiments.run import Run, plain_options
from wanderlust.experiments.status import file_name
from wanderlust.experiments.sweep_points import (
    Axes,
    InvalidSweep,
    Key,
    Names,
    Point,
    at_key,
    check_axes,
    check_preset,
    named_rows,
    product_rows,
    values_of,
    zipped_rows,
)

if TYPE_CHECKING:
    from wanderlust.experiments.execute import Execution
    from wanderlust.experiments.execute.progress import Progress
    from wanderlust.experiments.table import Results

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
        """Return the sweep of a TOML file; an error names the key and the line.

        A file that names code, 'module:attribute', is refused unless `allow_code` has the module or its package. With
        `imports=False`, such code is not imported and not checked.
        """
        path = check_path("the sweep", path)
        text = read_text_file(path, max_bytes=MAX_BYTES)
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{shown_path(path)}: not valid TOML ({error}).") from None
        naming_code = {name: value for name, value in values.items() if name not in ("name", "worlds")}
        modules = check_allowed(shown_path(path), naming_code, allow_code)
        announce_imports(modules if imports else [], "as allowed by --allow-code")
        try:
            sweep = cls.from_description({"name": path.stem, **values})
            sweep.check_environments(imports=imports)
        except InvalidSweep as error:
            line = line_of(text, error.key)
            place = f"{shown_path(path)}, line {line}" if line else shown_path(path)
            raise InvalidSweep((), f"{place}: {error}") from None
        return sweep

    @functools.cached_property
    def runs(self) -> list[Run]:
        """The runs, each once, in the order of the description."""
        return self.plan()

    def plan(self, *, imports: bool = True) -> list[Run]:
        """Return the runs; without imports, a user-defined explorer is assumed to have every option that is given."""
        runs = list(dict.fromkeys(Run(**point.fields) for point in self.points(imports=imports)))
        if not runs:
            raise InvalidSweep(("exclude",), "every combination is excluded; no run is left.")
        return runs

    def check_environments(self, *, imports: bool = True) -> None:
        """Create and close every environment once, without imports only registered ones, or raise `InvalidSweep`."""
        from wanderlust.environments.tabular import tabular_from_options

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
                key = self._key_of_option(run, imports=imports)
                problem = str(error) if key[0] == "environments" else f"unknown setting or option, and {error}"
                raise InvalidSweep(key, problem) from None

    def _key_of_option(self, run: Run, *, imports: bool) -> tuple[str, ...]:
        """Return the key of the options with which an environment cannot be created."""
        axes = self._axes()
        known = Names(axes, imports=imports).known
        # A misspelt setting is taken for an option of the environment.
        for key, rows in axes.items():
            for name in run.world_options:
                if key != ("worlds",) and name not in known and any(name in row for row in rows):
                    return key if name in key else (*key, name)
        return "environments", run.world

    def points(self, *, imports: bool = True) -> list[Point]:
        """Return all combinations that are not excluded, or raise `InvalidSweep`."""
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
            kept = [point for point in points if not point.has(excluded)]
            if len(kept) == len(points):
                described = " and ".join(f"{name} = {json.dumps(value)}" for name, value in pattern.items())
                raise InvalidSweep(key, f"excludes nothing: no combination has {described}.")
            points = kept
        for point in points:
            check_preset(point)
        return points

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
        from wanderlust.experiments.execute.driver import run_all
        from wanderlust.experiments.execute.progress import Progress as NewProgress
        from wanderlust.experiments.status import StatusFile
        from wanderlust.experiments.store import Store
        from wanderlust.experiments.table import Results

        runs, store = part_of(self.runs, shard), Store(folder)
        self.check_environments()
        self.check_name(store.folder)
        store.prepare()
        write_file(self._file(store.folder), self.json)  # For `report`.
        if shard:
            StatusFile(store, self.name, [run.key for run in self.runs], "")
        name = f"{self.name} {shard.replace('/', ' of ')}" if shard else self.name
        quiet = check_flag("quiet", quiet)
        progress = NewProgress(quiet=quiet) if progress is None else progress
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
            changes = "; ".join(_changes(earlier.description, self.description))
            raise InvalidSetting(
                f"{shown_path(folder)}: has another sweep named {self.name!r}, with {counted(len(lost), 'run')} that "
                f"this one does not have: {changes}. Give this one another name or another folder; or delete "
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


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], table: str = "") -> Iterator[str]:
    """Yield what differs between two descriptions."""
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{table}{name}.")
        elif before != after:
            yield f"{table}{name} was {shown(before)}, is {shown(after)}"


def _plain(key: Key, value: Any) -> Any:
    """Return a value as JSON reads it back, so that a sweep equals its copy read from a file."""
    if isinstance(value, range | set | frozenset):
        value = sorted(value) if not isinstance(value, range) else list(value)
    try:
        return plain_options(key[0], {"value": value})["value"]
    except InvalidSetting:
        if isinstance(value, Mapping):
            for name, each in value.items():
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


_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")


def line_of(text: str, key: Key) -> int | None:
    """Return the number of the line of a TOML text in which a key is set, or of the nearest table around it."""
    best, best_length = None, 0
    table: list[str] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                name = ".".join(table)
                counts[name] = counts.get(name, -1) + 1
                table = [*table, str(counts[name])]
            place = table
        elif assignment := _ASSIGNMENT.match(line):
            place = [*table, *_parts(assignment[1])]
        else:
            place = []
        if header and place[-1].isdecimal() and place[:-1] == list(key):
            return number  # The key itself is the name of a list of tables.
        # The key, or a table that contains it; also a list in which the error is one of the entries.
        if place and list(key[: len(place)]) == place and len(place) > best_length:
            best, best_length = number, len(place)
    # A name that is written inside a list or an inline table is found by its text.
    if key and best is not None and best_length < len(key) and not key[-1].isdecimal():
        following = text.split("\n")[best - 1 :]
        pattern = re.compile(rf"""(?<![\w-]){re.escape(key[-1])}(?![\w-])""")
        return next((best + i for i, line in enumerate(following) if pattern.search(line)), best)
    return best


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]
