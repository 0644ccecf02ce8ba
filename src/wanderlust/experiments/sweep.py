"""A sweep: many runs described by lists and ranges for the fields of a run.

The same description is a TOML file, the arguments of `wanderlust sweep`, and `wl.Sweep`:

    sweep = wl.Sweep(worlds=["prison", "taxi"], explorers={"vv-ucb": {"kappa": [0.1, 1, 10]}}, seeds=range(20))
    results = sweep.run("results/")
    results.to_pandas()

Every list is an axis, and a sweep is the product of its axes. A zipped group is one axis of several fields that change
together; an exclusion removes the combinations that match it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError, check_integer, check_options, shown
from wanderlust.core.files import check_path, read_text_file, shown_path, write_file
from wanderlust.core.user_code import check_allowed
from wanderlust.experiments.run import Run, plain_options
from wanderlust.experiments.status import file_name
from wanderlust.experiments.sweep_points import (
    Axes,
    InvalidSweep,
    Key,
    Point,
    PointReader,
    at_key,
    check_tables,
    check_values,
    matches,
    named_rows,
    product_rows,
    values_of,
    zipped_rows,
)

if TYPE_CHECKING:
    from wanderlust.experiments.execute import Execution
    from wanderlust.experiments.execute.progress import Progress
    from wanderlust.experiments.results import Results

DEFAULT_SEEDS = 10
MAX_BYTES = 1_000_000
SWEEPS, SWEEP_FILE = "sweeps", "sweep.json"
_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")
MAX_RUNS = 10_000_000
_TABLES = ("settings", "encoders")
_TABLE_LISTS = ("zip", "exclude")
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
            value = getattr(self, each.name)
            if each.name in _TABLES and not isinstance(value, Mapping):
                raise InvalidSweep((each.name,), f"must be a table of names and values, got {shown(value)}.")
            if each.name in _TABLE_LISTS:
                value = check_tables((each.name,), value)
            object.__setattr__(self, each.name, _plain((each.name,), value))
        if not isinstance(self.name, str):
            raise InvalidSweep(("name",), f"must be a text, got {shown(self.name)}.")
        if not self.name:
            digest = hashlib.sha256(self.json.encode()).hexdigest()[:8]
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
        try:
            check_options("a sweep", values, (each.name for each in fields(cls)))
        except WanderlustError as error:
            bad = next(name for name in values if name not in {each.name for each in fields(cls)})
            raise at_key((bad,), error) from None
        return cls(**values)

    @classmethod
    def from_file(cls, path: str | Path, *, allow_code: Collection[str] = ()) -> Sweep:
        """Return the sweep of a TOML file; an error names the key and the line.

        A file that names code, 'module:attribute', is refused unless `allow_code` has the module or its package.
        """
        return read_sweep_file(check_path("the sweep", path), allow_code)

    @functools.cached_property
    def runs(self) -> list[Run]:
        """The runs, each once, in the order of the description."""
        runs = list(dict.fromkeys(point.run() for point in self.points()))
        if not runs:
            raise InvalidSweep(("exclude",), "every combination is excluded; no run is left.")
        return runs

    def check_environments(self) -> None:
        """Create and close every environment once, or raise `InvalidSweep`."""
        from wanderlust.environments.tabular import tabular_by_name

        distinct = {(run.world, json.dumps([dict(run.world_options), dict(run.encoder_options)])): run
                    for run in self.runs if run.kind == "environment"}  # fmt: skip
        for run in distinct.values():
            try:
                tabular_by_name(run.world, run.world_options, run.encoder_options).close()
            except WanderlustError as error:
                key = self._key_of_option(run)
                problem = str(error) if key[0] == "environments" else f"unknown setting or option, and {error}"
                raise InvalidSweep(key, problem) from None

    def _key_of_option(self, run: Run) -> tuple[str, ...]:
        """Return the key of the options with which an environment cannot be created."""
        axes = self._axes()
        known = PointReader(axes).known
        # A misspelt setting is taken for an option of the environment.
        for key, rows in axes.items():
            for name in run.world_options:
                if key != ("worlds",) and name not in known and any(name in row for row in rows):
                    return key if name in key else (*key, name)
        return "environments", run.world

    def points(self) -> list[Point]:
        """Return all combinations that are not excluded, or raise `InvalidSweep`."""
        axes = self._axes()
        total = math.prod(map(len, axes.values()))
        if total > MAX_RUNS:
            raise InvalidSweep((), f"{total:,} combinations are too many; the maximum is {MAX_RUNS:,}.")
        reader = PointReader(axes)
        check_values(axes, reader)
        points = [reader.point(rows) for rows in itertools.product(*axes.values())]
        for i, pattern in enumerate(self.exclude):
            for name in pattern:
                reader.check_name(("exclude", str(i), name), name)
            kept = [point for point in points if not matches(point.values, pattern, ("exclude", str(i)))]
            if len(kept) == len(points):
                raise InvalidSweep(("exclude", str(i)), f"excludes nothing: no combination has {_text(pattern)}.")
            points = kept
        for point in points:
            reader.check_preset(point)
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
            if getattr(self, key) not in ((), []):
                axes[(key,)] = [{name: value} for value in values_of((key,), getattr(self, key))]
        if self.encoders:
            axes[("encoders",)] = product_rows(("encoders",), self.encoders)
        for i, group in enumerate(self.zip):
            axes["zip", str(i)] = zipped_rows(("zip", str(i)), group)
        if not self._zips("seed"):
            axes[("seeds",)] = [{"seed": seed} for seed in self._seeds()]
        _check_distinct(axes)
        _check_given(axes)
        return {key: rows for key, rows in axes.items() if rows}

    def _zips(self, name: str) -> bool:
        return any(name in group for group in self.zip)

    def _seeds(self) -> list[int]:
        if isinstance(self.seeds, int | float):
            try:
                return list(range(check_integer("the number of seeds", self.seeds, low=1, high=MAX_RUNS)))
            except InvalidSetting as error:
                raise at_key(("seeds",), error) from None
        return values_of(("seeds",), self.seeds)

    def run(
        self,
        folder: str | Path = "results",
        execution: Execution | None = None,
        *,
        quiet: bool = False,
        progress: Progress | None = None,
        **options: Any,
    ) -> Results:
        """Execute the runs that are not stored in a folder; return the results of all, and the failures.

        `options` are fields of `Execution`: `on`, `jobs`, `time_limit`, `ship_package`. After an interrupt, the same
        call continues.
        """
        from wanderlust.experiments.execute.driver import run_all
        from wanderlust.experiments.execute.progress import Progress as NewProgress
        from wanderlust.experiments.results import Results
        from wanderlust.experiments.store import Store

        runs, store = self.runs, Store(folder)
        self.check_environments()
        store.prepare()
        save_sweep(self, store.folder)
        progress = progress or NewProgress(quiet=quiet)
        summary = run_all(runs, store, execution, name=self.name, progress=progress, **options)
        return Results(store, runs, summary)


def _plain(key: tuple[str, ...], value: Any) -> Any:
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


def _text(pattern: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} = {json.dumps(value)}" for name, value in pattern.items())


def _check_distinct(axes: Axes) -> None:
    """Raise `InvalidSweep` if two axes set the same field."""
    owners: dict[str, tuple[str, ...]] = {}
    for key, rows in axes.items():
        for name in {name for row in rows for name in row if name != "options"}:
            # Worlds and environments are one axis; the explorers of a table have options of their own.
            if name in owners:
                raise InvalidSweep(key, f"{name!r} is given twice: in {'.'.join(owners[name])} and in {'.'.join(key)}.")
            owners[name] = key


def _check_given(axes: Axes) -> None:
    """Raise `InvalidSweep` unless every run has a world or environment, and an explorer."""
    names = {name for rows in axes.values() for row in rows for name in row}
    if not names & {"world", "environment"}:
        raise InvalidSweep(("worlds",), "give at least one world or environment; `wanderlust worlds` lists the worlds.")
    if "explorer" not in names:
        raise InvalidSweep(("explorers",), "give at least one explorer; `wanderlust explorers` lists them.")
    if "environment" in names and "steps" not in names:
        raise InvalidSweep(("environments",), "runs in environments need the setting 'steps', their number of steps.")


def read_json(path: Path) -> Sweep:
    """Return the sweep that a folder contains, or raise `BadFile`."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise InvalidSweep((), f"must be a JSON object, got {shown(values)}.")
        return Sweep.from_description(values)
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{path}: cannot be read ({error}).") from error


# --- Files -----------------------------------------------------------------------------------------------


def read_sweep_file(path: Path, allow_code: Collection[str] = ()) -> Sweep:
    """Return the sweep of a TOML file; an error names the file, the line and the key."""
    text = read_text_file(path, max_bytes=MAX_BYTES)
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{shown_path(path)}: not valid TOML ({error}).") from None
    naming_code = {name: value for name, value in values.items() if name not in ("name", "worlds")}
    check_allowed(shown_path(path), naming_code, allow_code)
    if "name" not in values:
        values["name"] = path.stem
    try:
        sweep = Sweep.from_description(values)
        sweep.check_environments()
    except InvalidSweep as error:
        line = line_of(text, error.key)
        place = f"{shown_path(path)}, line {line}" if line else shown_path(path)
        raise InvalidSweep((), f"{place}: {error}") from None
    return sweep


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


def sweep_folder(folder: Path, name: str) -> Path:
    """Return the folder of a sweep's description and report in a results folder."""
    return folder / SWEEPS / file_name(name)


def save_sweep(sweep: Sweep, folder: Path) -> None:
    """Write the description of a sweep to a results folder, for `report`."""
    path = sweep_folder(folder, sweep.name) / SWEEP_FILE
    write_file(path, sweep.json)
