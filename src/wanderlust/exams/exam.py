"""Take the exam: select its runs, execute them through a store, and return the scores and the report card.

    import wanderlust as wl

    result = wl.exam(["vv-ucb", "epsilon-greedy"], families=["depth", "slip"], levels=[1, 2], seeds=3)
    result.scores["vv-ucb"].total()
    result.save("card.html")

The command `wanderlust exam` does the same. The file of an exam in a results folder is what `report` reads.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wanderlust.agents.session import Session
from wanderlust.core.errors import (
    BadFile,
    InvalidExplorer,
    InvalidSetting,
    check_choice,
    check_flag,
    check_instance,
    check_integer,
    check_list,
    shown,
)
from wanderlust.core.files import check_path, finite_values, read_text_file, shown_path, write_file, write_json
from wanderlust.exams.card import FORMATS, Card, card_text, make_card
from wanderlust.exams.scores import (
    FIRST_SEED,
    SEEDS,
    TIMED_FAMILY,
    TIMED_LEVEL,
    ExplorerScores,
    FailedRun,
    Place,
    score_row,
    world_bounds,
)
from wanderlust.experiments.execute import progress as status
from wanderlust.experiments.execute.driver import RunSummary, TaskResult, run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run, plain_options
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.experiments.table import Row, import_package
from wanderlust.explorers.protocol import Problem, explorer_class, explorer_name
from wanderlust.worlds import make_world
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX, VERSION, exam_world

QUICK_SEEDS, QUICK_LEVELS = 2, (1, 2)
MAX_SEEDS = 1_000_000
FIXED = ("budget", "steps", "horizon", "discount", "evaluate_every", "evaluation_horizon")
"""Settings that belong to the worlds of the exam."""
UNITS = ("r_max", "V")
EXAMS, EXAM_FILE = "exams", "exam.json"
_MAX_BYTES = 1_000_000
_MAX_NAME, _HASH_LENGTH = 60, 8
_UNTIMED_STEPS, _MAX_SECONDS, _CHUNKS = 2, 1.0, 16
_FRAME = '<iframe srcdoc="{}" style="width:100%;height:48rem;border:0" title="Report card"></iframe>'


# --- Which runs --------------------------------------------------------------------------------------------------


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
        options = self.options.get(explorer, {})
        return Run(
            world=PREFIX + place[0],
            world_options={"level": place[1], "held_out": self.held_out},
            explorer=explorer,
            explorer_options={name: in_units(value, place, self.held_out) for name, value in options.items()},
            seed=seed,
            measure="exam",
        )

    @property
    def runs(self) -> list[Run]:
        """Every run, one explorer after the other."""
        return [self.run(e, place, seed) for e in self.explorers for place in self.places for seed in self.seed_range]


def in_units(value: Any, place: Place, held_out: bool) -> Any:
    """Return the value of an option in a world: "0.3 r_max" and "2 V", V = r_max / (1 - γ), depend on its rewards."""
    number, _, unit = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if unit not in UNITS:
        return value
    try:
        return float(number) * _units(*place, held_out)[unit]
    except ValueError:
        raise InvalidSetting(f"{value!r} must begin with a number, as in '0.3 {unit}'.") from None


@functools.cache
def _units(family: str, level: int, held_out: bool) -> dict[str, float]:
    world = exam_world(family, level=level, held_out=held_out)
    value_range = Problem(world.n_actions, world.reward_range, world.defaults.discount).value_range
    return dict(zip(UNITS, (value_range * (1.0 - world.defaults.discount), value_range), strict=True))


def select(
    explorers: str | type | Iterable[str | type],
    *,
    families: str | Iterable[str] | None = None,
    levels: int | Iterable[int] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    held_out: bool = True,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> ExamSelection:
    """Return the selection of an exam, or raise an error if it is not valid; see `exam` for the parameters."""
    quick, held_out = check_flag("quick", quick), check_flag("held_out", held_out)
    default = QUICK_SEEDS if quick else SEEDS
    given = [explorers] if isinstance(explorers, str | type) else check_list("explorers", explorers, object)
    for values in check_instance("options", {} if options is None else options, Mapping).values():
        check_instance("the options of an explorer", values, Mapping)
    families = [families] if isinstance(families, str) else families
    levels = [levels] if isinstance(levels, int) else levels
    selection = ExamSelection(
        explorers=tuple(dict.fromkeys(map(_name, given))),
        families=tuple(FAMILIES if families is None else check_list("families", families, str)),
        levels=tuple((QUICK_LEVELS if quick else LEVELS) if levels is None else check_list("levels", levels, int)),
        seeds=check_integer("seeds", default if seeds is None else seeds, low=1, high=MAX_SEEDS),
        held_out=held_out,
        options={name: dict(values) for name, values in (options or {}).items() if values},
    )
    for name in selection.options:  # A session raises an error for an option that is unknown or not valid.
        first = selection.run(name, selection.places[0], 0)
        Session(make_world(first.world, **first.world_options), name, **first.overrides)
    return selection


def _name(explorer: str | type) -> str:
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
    return name


def check_not_fixed(names: Iterable[str]) -> None:
    """Raise `InvalidSetting` if a setting belongs to the worlds of the exam."""
    for name in names:
        if name in FIXED:
            raise InvalidSetting(f"{name} cannot be set in an exam: every world has its own.")


# --- The result --------------------------------------------------------------------------------------------------


class Exam:
    """The scores of an exam, and its report card."""

    def __init__(self, selection: ExamSelection, explorers: Iterable[ExplorerScores], summary: RunSummary) -> None:
        self.selection = selection
        self.scores = {each.explorer: each for each in explorers}
        """[explorer]: its scores; `total()` is the mean over the families with its interval."""
        self.summary = summary

    @property
    def failures(self) -> list[TaskResult]:
        """The runs that failed, with the reason and the command that repeats them."""
        return self.summary.failures

    @functools.cached_property
    def card(self) -> Card:
        """The report card: the scores beside those of the kept leaderboard."""
        return make_card(self.selection, tuple(self.scores.values()))

    def rows(self) -> list[Row]:
        """Return one row per explorer, world and seed."""
        return [
            {"explorer": name} | {column: value for column, value in row.items() if column != "curve"}
            for name, explorer in self.scores.items()
            for row in explorer.rows
        ]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row per explorer, world and seed."""
        return import_package("pandas").DataFrame(self.rows())

    def save(self, path: str | Path) -> None:
        """Write the report card as .html, .md, .json or .txt."""
        file = check_path("the report card", path)
        if file.suffix.lower() not in FORMATS:
            raise InvalidSetting(f"a report card is written as {', '.join(FORMATS)}, got {str(path)!r}.")
        write_file(file, card_text(self.card, file.suffix.lower()))

    def __str__(self) -> str:
        return card_text(self.card, ".txt").rstrip("\n")

    def __repr__(self) -> str:
        totals = ", ".join(f"{name} {each.total().estimate:.3f}" for name, each in self.scores.items())
        return f"<Exam of {totals}>"

    def _repr_html_(self) -> str:
        return _FRAME.format(escape(card_text(self.card, ".html")))


def exam(
    explorers: str | type | Iterable[str | type],
    *,
    families: str | Iterable[str] | None = None,
    levels: int | Iterable[int] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    held_out: bool = True,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    out: str | Path | None = "results",
    quiet: bool = False,
    progress: Progress | None = None,
    **execution: Any,
) -> Exam:
    """Execute the runs of an exam that are not stored in the folder `out`; return the scores and the report card.

    Explorers are registered names, 'module:Class', or classes. By default they take the whole exam: all families, all
    levels, 5 seeds; with `quick`, levels 1 and 2 and 2 seeds. `held_out=False` selects the worlds for development.
    `options` are those of each explorer by its name, {"vv-ucb": {"kappa": 0.1}}; "0.1 r_max" and "0.1 V", where V is
    r_max / (1 - γ), are values in units of each world. With `out=None` nothing is stored.
    `execution` are fields of `Execution`, such as `jobs` and `time_limit`. After an interrupt, the same call continues.
    """
    folder = None if out is None else check_path("out", out, folder=True)
    selection = select(
        explorers, families=families, levels=levels, seeds=seeds, quick=quick, held_out=held_out, options=options
    )
    if folder is not None:
        return take(selection, folder, quiet=quiet, progress=progress, **execution)
    with tempfile.TemporaryDirectory() as temporary:
        return take(selection, Path(temporary), quiet=quiet, progress=progress, **execution)


def take(
    selection: ExamSelection, folder: Path, *, quiet: bool, progress: Progress | None = None, **settings: Any
) -> Exam:
    """Execute the runs of a selection that are not stored in a folder; return the scores and the report card."""
    progress = Progress(quiet=check_flag("quiet", quiet)) if progress is None else progress
    store, runs = Store(folder), selection.runs
    store.prepare()
    save_exam(selection, store.folder, {})
    summary = run_all(runs, store, name=selection.name, progress=progress, **settings)
    failures = {failure.run: failure.error for failure in summary.failures}
    # Another failure, or a run that was ended because it took too long, would repeat itself here.
    failed = {run.explorer for run in failures}
    timed = {name: selection.run(name, (TIMED_FAMILY, TIMED_LEVEL), 0) for name in selection.explorers}
    costs = {name: step_cost(name, run.explorer_options) for name, run in timed.items() if name not in failed}
    save_exam(selection, store.folder, costs)
    stored = store.load_many(runs, summary.problems)
    return Exam(selection, exam_scores(selection, stored, failures, costs, summary.problems), summary)


class StepCost(NamedTuple):
    """What a step of an explorer computes."""

    microseconds: float = math.nan
    computes: str = "–"


def step_cost(explorer: str, options: Mapping[str, Any]) -> StepCost:
    """Return the mean time of a step in one world, without compilation and evaluations, and what it computes.

    The run ends after a second. The time is NaN if the explorer fails.
    """
    world = exam_world(TIMED_FAMILY, level=TIMED_LEVEL)
    budget = world.defaults.budget
    try:
        session = Session(world, explorer, **{**options, "evaluate_every": budget})
        session.advance(_UNTIMED_STEPS)  # Compiles everything that a step needs.
        start = time.perf_counter()
        while session.step < budget and time.perf_counter() - start < _MAX_SECONDS:
            session.advance(min(session.step + budget // _CHUNKS, budget))
        seconds = time.perf_counter() - start
        computes = str(session.agent.configured_explorer.computes())
    except Exception:  # An explorer of a user can raise anything; the card shows the errors of its runs.
        return StepCost()
    return StepCost(1e6 * seconds / (session.step - _UNTIMED_STEPS), computes)


# --- Scores of stored runs ---------------------------------------------------------------------------------------


def exam_scores(
    selection: ExamSelection,
    stored: Iterable[StoredRun],
    failures: Mapping[Run, str],
    costs: Mapping[str, StepCost],
    problems: list[str],
) -> list[ExplorerScores]:
    """Return the scores of each explorer; a failed run has the score 0, and its world the error.

    A run with numbers that are not possible is not used, and named in `problems`.
    """
    found = {each.run: each for each in stored}
    scores = []
    for explorer in selection.explorers:
        rows: list[Row] = []
        errors: dict[Place, FailedRun] = {}
        n_missing = 0
        for place in selection.places:
            bounds = world_bounds(*place, held_out=selection.held_out)
            for seed in selection.seed_range:
                run = selection.run(explorer, place, seed)
                if (known := found.get(run)) is not None:
                    if (problem := bounds.problem(known.result)) is None:
                        rows.append(score_row(place, seed, known.result, bounds))
                        continue
                    problems.append(f"{known.metadata['place']}: ignored, {problem}: {run.json}")
                if run in failures:
                    rows.append(score_row(place, seed, None, bounds))
                    errors.setdefault(place, FailedRun(seed, failures[run]))
                else:
                    n_missing += 1
        options, cost = selection.options.get(explorer, {}), costs.get(explorer, StepCost())
        scores.append(ExplorerScores(explorer, rows, errors, cost.microseconds, options, cost.computes, n_missing))
    return scores


def stored_scores(exam: StoredExam, store: Store, problems: list[str]) -> list[ExplorerScores]:
    """Return the scores of an exam from what a folder contains; no code of explorers is read.

    Of a run that is stored for several versions of an explorer's code, the last one that was executed counts.
    """
    wanted = set(exam.selection.runs)
    found = [stored for stored in store.load_all(problems) if stored.run in wanted]
    found.sort(key=lambda stored: str(stored.metadata.get("finished")))
    name, failures = status.file_name(exam.selection.name), {}
    for failure in status.failures(store.folder, name):
        with contextlib.suppress(ValueError):  # Not a command that this version prints.
            failures[Run.from_json(shlex.split(failure["repeat"])[-1])] = failure["error"]
    return exam_scores(exam.selection, found, failures, exam.costs, problems)


# --- Files of exams in a results folder --------------------------------------------------------------------------


class StoredExam(NamedTuple):
    """An exam in a results folder."""

    folder: Path
    """Where its file and its report card are."""
    selection: ExamSelection
    costs: Mapping[str, StepCost]
    """[explorer]: what a step costs."""


def exam_folder(folder: Path, selection: ExamSelection) -> Path:
    """Return the folder of an exam's file and report card in a results folder."""
    return folder / EXAMS / status.file_name(selection.name)


def save_exam(selection: ExamSelection, folder: Path, costs: Mapping[str, StepCost]) -> None:
    """Write the file of an exam to a results folder."""
    times = finite_values({name: cost.microseconds for name, cost in costs.items()})
    computes = {name: cost.computes for name, cost in costs.items()}
    contents = {"suite": VERSION, **selection.description, "step_microseconds": times, "computes": computes}
    write_json(exam_folder(folder, selection) / EXAM_FILE, contents)


def exams_in(folder: Path, problems: list[str]) -> Iterator[StoredExam]:
    """Yield the exams in a results folder; name those that cannot be read."""
    for path in sorted(folder.glob(f"{EXAMS}/*/{EXAM_FILE}")):
        try:
            yield read_exam(path)
        except BadFile as error:
            problems.append(str(error))


def read_exam(path: Path) -> StoredExam:
    """Return the exam of a file, or raise `BadFile`."""
    text = read_text_file(path, max_bytes=_MAX_BYTES)
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
        times = msgspec.convert(values.pop("step_microseconds", {}), dict[str, float | None])
        computes = msgspec.convert(values.pop("computes", {}), dict[str, str])
        selection = msgspec.convert(values, ExamSelection)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadFile(f"{shown_path(path)}: not an exam that `wanderlust exam` stored ({error}).") from error
    if (suite := values.get("suite")) != VERSION:
        raise BadFile(f"{shown_path(path)}: not an exam of this suite: version {shown(suite)}, not {VERSION}.")
    known = {name: math.nan if value is None else value for name, value in times.items()}
    costs = {name: StepCost(value, computes.get(name, "–")) for name, value in known.items()}
    return StoredExam(path.parent, selection, costs)
