"""Carry out a study in a folder, and make its report again from what the folder holds.

A folder holds `runs/`, shared by all studies, one folder per study with what was asked for (`study.json`), tables and
other files, and the scorecard of them all. A study can be asked for bit by bit: the report is of all that was ever
asked for there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from wanderlust.core.archives import atomic_write
from wanderlust.core.errors import BadFile
from wanderlust.experiments.paper.registry import Choice, Study, choices_as_json, choices_from_json, study_names
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.reports import cells, claims, scorecard, scorecard_page
from wanderlust.experiments.reports.claims import Claim
from wanderlust.experiments.reports.figures.files import FORMATS, as_files
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import Outcome, run_all
from wanderlust.experiments.store import CannotWrite, Store

ASKED, CLAIMS = "study.json", "claims.json"


class Asked(NamedTuple):
    """What was asked for in a study's folder."""

    study: Study
    choices: list[Choice]
    folder: Path

    @property
    def suffix(self) -> str:
        """What sets the folder apart from that of the full study as the paper's code has it."""
        return self.choices[-1].suffix

    @property
    def runs(self) -> list[Run]:
        """All runs of all choices, each once."""
        return list(dict.fromkeys(run for choice in self.choices for run in self.study.runs(choice)))


def reproduce(study: Study, choice: Choice, out: Path, *, jobs: int | None, quiet: bool, console: Console) -> Outcome:
    """Make the runs of a study that are missing in the folder, then its report."""
    runs = study.runs(choice)
    store = Store(out)
    store.prepare()
    folder = out / f"{study.id}{choice.suffix}"
    before = _asked_in(folder).choices if (folder / ASKED).exists() else []
    asked = Asked(study, [*(each for each in before if each != choice), choice], folder)
    _write(folder / ASKED, choices_as_json(study, asked.choices).encode())
    outcome = run_all(runs, store, jobs=jobs, progress=Progress(quiet=quiet))
    show_report(asked, store, console, quiet=quiet)
    return outcome


def show_report(asked: Asked, store: Store, console: Console, *, quiet: bool = False) -> None:
    """Make the report of a study from stored runs alone; show it and write its files."""
    problems: list[str] = []
    runs = asked.runs
    report = asked.study.report(runs, store.each(runs, problems), note_on(asked))
    if not quiet:
        for problem in problems:
            console.print(problem, markup=False, highlight=False, soft_wrap=True)
        for shown in report.shown:
            console.print(shown)
    files = {**report.files, **({CLAIMS: claims.as_json(report.claims)} if report.claims else {})}
    for name, text in files.items():
        _write(asked.folder / name, text.encode())
    for name, draw in report.figures.items():
        for form, contents in as_files(draw).items():
            _write(asked.folder / f"{name}.{form}", contents)
    if not quiet:
        figures = [f"{name}.{{{','.join(FORMATS)}}}" for name in report.figures]
        names = ", ".join([*files, *figures])
        console.print(f"written to {asked.folder}: {names}", highlight=False, markup=False, soft_wrap=True)


def write_scorecard(out: Path, suffix: str, console: Console, *, quiet: bool = False) -> None:
    """Make the scorecard of all studies of one kind in a folder, from what their reports left there."""
    cells_file = out / f"recap{suffix}" / "cells.json"
    found: list[Claim] = []
    for name in study_names():
        file = out / f"{name}{suffix}" / CLAIMS
        if file.exists():
            found += claims.from_json(_text_of(file), str(file))
    rows, note = cells.from_json(_text_of(cells_file), str(cells_file)) if cells_file.exists() else ([], "")
    if not rows and not found:
        return
    files = {
        "md": scorecard.as_markdown(rows, found, note),
        "html": scorecard_page.as_html(rows, found, note),
        "json": scorecard.as_json(rows, found, note),
    }
    for form, text in files.items():
        _write(out / f"scorecard{suffix}.{form}", text.encode())
    if not quiet:
        text = scorecard.summary(rows, note) if rows else ""
        console.print(f"{text} {claims.summary(found) if found else ''}".strip(), highlight=False, soft_wrap=True)
        console.print(f"written to {out}: scorecard{suffix}.{{{','.join(files)}}}", highlight=False, soft_wrap=True)


def note_on(asked: Asked) -> str:
    """Return what must be said on everything that is printed: whether it is the whole thing, and by which preset."""
    notes = []
    if any(choice.quick for choice in asked.choices):
        notes.append(f"QUICK, not the paper's size: {asked.study.quick}.")
    if any(choice.preset != "as_published_code" for choice in asked.choices):
        notes.append("Preset as_written: the paper's text, where its code differs.")
    return " ".join(notes)


def studies_in(out: Path) -> Iterator[Asked]:
    """Yield what was asked for in a folder, study by study."""
    found = sorted(file.parent for file in out.glob(f"*/{ASKED}"))
    if not found:
        raise BadFile(f"{out}: no experiment was run in this folder; `wanderlust reproduce list` names them all.")
    yield from map(_asked_in, found)


def _asked_in(folder: Path) -> Asked:
    file = folder / ASKED
    return Asked(*choices_from_json(_text_of(file), str(file)), folder)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{file}: cannot be read ({error}).") from error


def _write(path: Path, contents: bytes) -> None:
    """Write a small file, all of it or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(contents)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be written ({error.strerror or error}).") from error
