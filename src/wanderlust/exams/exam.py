"""Take the exam: execute its runs through a store, and return the scores and the report card.

    import wanderlust as wl

    result = wl.exam(["vv-ucb", "epsilon-greedy"], families=["depth", "slip"], levels=[1, 2], seeds=3)
    result.scores["vv-ucb"].total()
    result.save("card.html")

The command `wanderlust exam` does the same.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanderlust.core.errors import InvalidExplorer, InvalidSetting
from wanderlust.core.files import check_path, check_writable, write_file
from wanderlust.exams.exam_file import save_exam
from wanderlust.exams.scores import ExplorerScores
from wanderlust.exams.suite_runs import QUICK_LEVELS, QUICK_SEEDS, SEEDS, ExamSelection, exam_scores
from wanderlust.exams.timing import step_microseconds
from wanderlust.experiments.code_version import source_files
from wanderlust.experiments.execute.driver import Failure, RunSummary, run_all
from wanderlust.experiments.results import import_package
from wanderlust.experiments.store import Store
from wanderlust.explorers.registry import explorer_class, explorer_module, explorer_name
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS

if TYPE_CHECKING:
    from wanderlust.exams.card import Card
    from wanderlust.experiments.execute.progress import Progress

FORMATS = (".html", ".md", ".json", ".txt")
FIXED = ("budget", "steps", "horizon", "discount", "evaluate_every", "evaluation_horizon")
"""Settings that belong to the worlds of the exam."""
_FRAME = '<iframe srcdoc="{}" style="width:100%;height:48rem;border:0" title="Report card"></iframe>'


class Exam:
    """The scores of an exam, and its report card."""

    def __init__(self, selection: ExamSelection, explorers: Iterable[ExplorerScores], summary: RunSummary) -> None:
        self.selection = selection
        self.scores = {each.explorer: each for each in explorers}
        """[explorer]: its scores; `total()` is the mean over the families with its interval."""
        self.summary = summary

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed, with the reason and the command that repeats them."""
        return self.summary.failures

    @functools.cached_property
    def card(self) -> Card:
        """The report card: the scores beside those of the kept leaderboard."""
        from wanderlust.exams.card import make_card

        return make_card(self.selection, tuple(self.scores.values()))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per explorer, world and seed."""
        return [
            {
                "explorer": name,
                "family": family,
                "level": level,
                "seed": seed,
                "score": float(world.scores[i]),
                "data_score": float(world.data_scores[i]),
                "last": float(world.last[i]),
            }
            for name, explorer in self.scores.items()
            for (family, level), world in explorer.worlds.items()
            for i, seed in enumerate(world.seeds)
        ]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row per explorer, world and seed."""
        return import_package("pandas").DataFrame(self.rows())

    def save(self, path: str | Path) -> None:
        """Write the report card as .html, .md, .json or .txt."""
        from wanderlust.exams.card_files import card_text

        file = check_path("the report card", path)
        if file.suffix.lower() not in FORMATS:
            raise InvalidSetting(f"a report card is written as {', '.join(FORMATS)}, got {str(path)!r}.")
        check_writable(file)
        write_file(file, card_text(self.card, file.suffix.lower()))

    def __str__(self) -> str:
        from wanderlust.exams.card_files import card_text

        return card_text(self.card, ".txt").rstrip("\n")

    def __repr__(self) -> str:
        totals = ", ".join(f"{name} {each.total().estimate:.3f}" for name, each in self.scores.items())
        return f"<Exam of {totals}>"

    def _repr_html_(self) -> str:
        from wanderlust.exams.card_files import card_text

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
    on: str = "local",
    jobs: int | None = None,
    time_limit: float | None = None,
    ship_package: bool = False,
    quiet: bool = False,
    progress: Progress | None = None,
) -> Exam:
    """Execute the runs of an exam that are not stored in the folder `out`; return the scores and the report card.

    Explorers are registered names, 'module:Class', or classes. By default they take the whole exam: all families, all
    levels, 5 seeds; with `quick`, levels 1 and 2 and 2 seeds. `held_out=False` selects the worlds for development.
    `options` are those of each explorer by its name, {"vv-ucb": {"kappa": 0.1}}. With `out=None` nothing is stored.
    The other parameters are those of `Sweep.run`. After an interrupt, the same call continues.
    """
    selection = select(
        explorers, families=families, levels=levels, seeds=seeds, quick=quick, held_out=held_out, options=options,
        stored=out is not None,
    )  # fmt: skip
    settings: dict[str, Any] = {"on": on, "jobs": jobs, "time_limit": time_limit, "ship_package": ship_package}
    if out is not None:
        return take(selection, Path(out), quiet=quiet, progress=progress, **settings)
    with tempfile.TemporaryDirectory() as folder:
        return take(selection, Path(folder), quiet=quiet, progress=progress, **settings)


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
    """Return the selection of an exam, or raise an error if it is not valid."""
    given = [explorers] if isinstance(explorers, str | type) else explorers
    families = [families] if isinstance(families, str) else families
    levels = [levels] if isinstance(levels, int) else levels
    names = tuple(dict.fromkeys(_name(each, stored) for each in given))
    options = {name: dict(values) for name, values in (options or {}).items() if values}
    for name in options:
        if name not in names:
            raise InvalidSetting(f"options are given for {name!r}, which is not examined: {', '.join(names)}.")
    selection = ExamSelection(
        explorers=names,
        families=tuple(FAMILIES if families is None else families),
        levels=tuple((QUICK_LEVELS if quick else LEVELS) if levels is None else levels),
        seeds=(QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds,
        held_out=held_out,
        options=options,
    )
    _check_options(selection)
    return selection


def take(
    selection: ExamSelection, folder: Path, *, quiet: bool, progress: Progress | None = None, **settings: Any
) -> Exam:
    """Execute the runs of a selection that are not stored in a folder; return the scores and the report card."""
    from wanderlust.experiments.execute.progress import Progress as NewProgress

    store, runs = Store(folder), selection.runs
    store.prepare()
    save_exam(selection, store.folder, {})
    summary = run_all(runs, store, name=selection.name, progress=progress or NewProgress(quiet=quiet), **settings)
    failures = {failure.run: failure.error for failure in summary.failures}
    # Another failure, or a run that was ended because it took too long, would repeat itself here.
    failed = {run.explorer for run in failures}
    times = {name: step_microseconds(name, selection.options.get(name, {})) for name in {*selection.explorers} - failed}
    save_exam(selection, store.folder, times)
    return Exam(selection, exam_scores(selection, store.load_many(runs, summary.problems), failures, times), summary)


def _name(explorer: str | type, stored: bool) -> str:
    """Return the name of an explorer with which a run finds it, or raise `InvalidExplorer`."""
    if isinstance(explorer, str):
        explorer_class(explorer)
        return explorer
    cls = explorer_class(explorer)
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


def _check_options(selection: ExamSelection) -> None:
    """Raise an error if an option is unknown or not valid in the first world, or belongs to the worlds."""
    from wanderlust.agents.session import Session
    from wanderlust.worlds import make_world

    for explorer, options in selection.options.items():
        check_not_fixed(options)
        first = selection.run(explorer, selection.places[0], 0)
        Session(make_world(first.world, **first.world_options), explorer, **first.overrides)


def check_not_fixed(names: Iterable[str]) -> None:
    """Raise `InvalidSetting` if a setting belongs to the worlds of the exam."""
    for name in names:
        if name in FIXED:
            raise InvalidSetting(f"{name} cannot be set in an exam: every world has its own.")
