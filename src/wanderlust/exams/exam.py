"""Take the exam: execute its runs through a store, and return the scores and the report card.

    import wanderlust as wl

    result = wl.exam(["vv-ucb", "epsilon-greedy"], families=["depth", "slip"], levels=[1, 2], seeds=3)
    result.scores["vv-ucb"].total()
    result.save("card.html")

The command `wanderlust exam` does the same.
"""

from __future__ import annotations

import functools
import math
import tempfile
import time
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.files import check_path, write_file
from wanderlust.exams.card import Card, make_card
from wanderlust.exams.formats import FORMATS, card_text
from wanderlust.exams.scores import TIMED_FAMILY, TIMED_LEVEL, ExplorerScores, exam_scores
from wanderlust.exams.selection import ExamSelection, save_exam, select
from wanderlust.experiments.execute.driver import Failure, RunSummary, run_all
from wanderlust.experiments.results import import_package
from wanderlust.experiments.store import Store
from wanderlust.worlds.exam_suite import exam_world

if TYPE_CHECKING:
    from wanderlust.experiments.execute.progress import Progress

_REPETITIONS, _MAX_SECONDS = 3, 1.0
_CHUNKS = 16
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
    stored = store.load_many(runs, summary.problems)
    return Exam(selection, exam_scores(selection, stored, failures, times, summary.problems), summary)


def step_microseconds(explorer: str, options: Mapping[str, Any]) -> float:
    """Return the time of a step in microseconds in one world, without compilation and evaluations.

    It is a mean over a run, the best of a few runs, and NaN if the explorer fails. A run ends after a second, after
    which a slow explorer is not measured again.
    """
    try:
        _timed_run(explorer, options, steps=2)  # Compiles everything that a step needs.
        best, start = math.inf, time.perf_counter()
        for _ in range(_REPETITIONS):
            best = min(best, _timed_run(explorer, options))
            if time.perf_counter() - start > _MAX_SECONDS:
                break
    except Exception:  # An explorer of a user can raise anything; the card shows the errors of its runs.
        return math.nan
    return best


def _timed_run(explorer: str, options: Mapping[str, Any], steps: int | None = None) -> float:
    """Return the mean time of a step of one run, without the first one."""
    from wanderlust.agents.session import Session

    world = exam_world(TIMED_FAMILY, level=TIMED_LEVEL)
    budget = steps or world.defaults.budget
    session = Session(world, explorer, **{**options, "evaluate_every": budget})
    session.advance(1)
    start = time.perf_counter()
    for i in range(1, _CHUNKS + 1):
        session.advance(max(i * budget // _CHUNKS, 2))
        if time.perf_counter() - start > _MAX_SECONDS:
            break
    return 1e6 * (time.perf_counter() - start) / (session.step - 1)
