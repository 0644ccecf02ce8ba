"""Which runs an exam consists of, and the file of an exam in a results folder, which `report` reads."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wanderlust.core.errors import BadFile, InvalidExplorer, InvalidSetting, check_choice, check_integer, shown
from wanderlust.core.files import finite_values, read_text_file, shown_path, write_json
from wanderlust.experiments.code_version import source_files
from wanderlust.experiments.run import Run, plain_options
from wanderlust.experiments.status import file_name
from wanderlust.explorers.registry import explorer_class, explorer_module, explorer_name
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX, VERSION

Place = tuple[str, int]
"""A family and a level."""
SEEDS = 5
QUICK_SEEDS, QUICK_LEVELS = 2, (1, 2)
FIRST_SEED = 1_000
"""The seeds of the exam have no part in choosing any default."""
FIXED = ("budget", "steps", "horizon", "discount", "evaluate_every", "evaluation_horizon")
"""Settings that belong to the worlds of the exam."""
EXAMS, EXAM_FILE = "exams", "exam.json"
_MAX_BYTES = 1_000_000
_MAX_NAME, _HASH_LENGTH = 60, 8


@dataclass(frozen=True)
class ExamSelection:
    """The part of the exam to take."""

    explorers: tuple[str, ...]
    """Registered names, or `module:Class`."""
    families: tuple[str, ...] = tuple(FAMILIES)
    levels: tuple[int, ...] = LEVELS
    seeds: int = SEEDS
    held_out: bool = True
    """Whether the worlds are the held-out ones, on which nothing was tuned, or those for development."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """[explorer]: options and settings that differ from the defaults."""

    def __post_init__(self) -> None:
        if not self.explorers:
            raise InvalidSetting("an exam needs at least one explorer; `wanderlust explorers` lists them.")
        if not self.families or not self.levels:
            raise InvalidSetting("an exam needs at least one family and one level; leave them out for all.")
        for family in self.families:
            check_choice("family", family, FAMILIES)
        for level in self.levels:
            check_integer("level", level, low=LEVELS[0], high=LEVELS[-1])
        check_integer("seeds", self.seeds, low=1)
        for name, options in self.options.items():
            if name not in self.explorers:
                known = ", ".join(self.explorers)
                raise InvalidSetting(f"options are given for {name!r}, which is not examined: {known}.")
            check_not_fixed(options)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {
            "explorers": list(self.explorers),
            "families": [family for family in FAMILIES if family in self.families],
            "levels": sorted(set(self.levels)),
            "seeds": self.seeds,
            "held_out": self.held_out,
            "options": {name: dict(plain_options("options", each)) for name, each in self.options.items()},
        }

    @functools.cached_property
    def name(self) -> str:
        """The explorers, and a hash of the description if it is not the whole exam with the default options."""
        names = " ".join(self.explorers)[:_MAX_NAME]
        whole = ExamSelection(self.explorers)
        if self.description == whole.description and len(names) < _MAX_NAME:
            return names
        text = json.dumps(self.description, sort_keys=True)
        return f"{names} {hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}"

    @property
    def places(self) -> tuple[Place, ...]:
        """The family and the level of every world."""
        return tuple((family, level) for family in self.description["families"] for level in self.description["levels"])

    @property
    def seed_range(self) -> range:
        """The seeds of every explorer in every world."""
        return range(FIRST_SEED, FIRST_SEED + self.seeds)

    def run(self, explorer: str, place: Place, seed: int) -> Run:
        """Return one run of the exam."""
        return Run(
            world=PREFIX + place[0],
            world_options={"level": place[1], "held_out": self.held_out},
            explorer=explorer,
            explorer_options=dict(self.options.get(explorer, {})),
            seed=seed,
            measure="exam",
        )

    @property
    def runs(self) -> list[Run]:
        """Every run, one explorer after the other."""
        return [self.run(e, place, seed) for e in self.explorers for place in self.places for seed in self.seed_range]


def select(
    explorers: str | type | Iterable[str | type],
    *,
    families: str | Iterable[str] | None = None,
    levels: int | Iterable[int] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    held_out: bool = True,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    stored: bool = True,
) -> ExamSelection:
    """Return the selection of an exam, or raise an error if it is not valid; see `exam` for the parameters."""
    from wanderlust.agents.session import Session
    from wanderlust.worlds import make_world

    given = [explorers] if isinstance(explorers, str | type) else explorers
    families = [families] if isinstance(families, str) else families
    levels = [levels] if isinstance(levels, int) else levels
    selection = ExamSelection(
        explorers=tuple(dict.fromkeys(_name(each, stored) for each in given)),
        families=tuple(FAMILIES if families is None else families),
        levels=tuple((QUICK_LEVELS if quick else LEVELS) if levels is None else levels),
        seeds=(QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds,
        held_out=held_out,
        options={name: dict(values) for name, values in (options or {}).items() if values},
    )
    for name in selection.options:  # A session raises an error for an option that is unknown or not valid.
        first = selection.run(name, selection.places[0], 0)
        Session(make_world(first.world, **first.world_options), name, **first.overrides)
    return selection


def _name(explorer: str | type, stored: bool) -> str:
    """Return the name of an explorer with which a run finds it, or raise `InvalidExplorer`."""
    cls = explorer_class(explorer)
    if isinstance(explorer, str):
        return explorer
    name = explorer_name(cls)
    try:
        is_found = explorer_class(name) is cls
    except ValueError:
        is_found = False
    if not is_found:
        raise InvalidExplorer(f"{name!r} cannot be imported by this name: define the class at the top of a module.")
    module = explorer_module(name) or ""
    if stored and not module.startswith("wanderlust.") and not source_files(module):
        raise InvalidExplorer(
            f"{name!r} is not defined in a file, so stored runs of another version of it could not be told apart: "
            "write it to a file, or pass out=None, which stores nothing."
        )
    return name


def check_not_fixed(names: Iterable[str]) -> None:
    """Raise `InvalidSetting` if a setting belongs to the worlds of the exam."""
    for name in names:
        if name in FIXED:
            raise InvalidSetting(f"{name} cannot be set in an exam: every world has its own.")


class StoredExam(NamedTuple):
    """An exam in a results folder."""

    folder: Path
    """Where its file and its report card are."""
    selection: ExamSelection
    times: Mapping[str, float]
    """[explorer]: the microseconds of a step."""


def exam_folder(folder: Path, selection: ExamSelection) -> Path:
    """Return the folder of an exam's file and report card in a results folder."""
    return folder / EXAMS / file_name(selection.name)


def save_exam(selection: ExamSelection, folder: Path, times: Mapping[str, float]) -> None:
    """Write the file of an exam to a results folder."""
    contents = {"suite": VERSION, **selection.description, "step_microseconds": finite_values(times)}
    write_json(exam_folder(folder, selection) / EXAM_FILE, contents)


def exams_in(folder: Path) -> Iterator[StoredExam]:
    """Yield the exams in a results folder."""
    for path in sorted(folder.glob(f"{EXAMS}/*/{EXAM_FILE}")):
        yield read_exam(path)


def read_exam(path: Path) -> StoredExam:
    """Return the exam of a file, or raise `BadFile`."""
    text = read_text_file(path, max_bytes=_MAX_BYTES)
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
        times = msgspec.convert(values.pop("step_microseconds", {}), dict[str, float | None])
        selection = msgspec.convert(values, ExamSelection)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadFile(f"{shown_path(path)}: not an exam that `wanderlust exam` stored ({error}).") from error
    if (suite := values.get("suite")) != VERSION:
        raise BadFile(f"{shown_path(path)}: not an exam of this suite: version {shown(suite)}, not {VERSION}.")
    return StoredExam(path.parent, selection, {name: value for name, value in times.items() if value is not None})
