"""Run a study in a folder, and write its report from the stored runs.

A folder contains `runs/`, shared by all studies, one folder per study with the request (`study.json`), tables and
figures, and the scorecard of all studies. A study can be run in parts: its report covers all selections requested in
the folder so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from wanderlust import Run, Store, run_all
from wanderlust.core.errors import BadFile
from wanderlust.core.files import cannot_write, locked, write_file
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute.driver import RunSummary
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.report.figures import FORMATS, as_files
from wanderlust.experiments.report.text_tables import printable
from wanderlust.experiments.store import StoredRun
from wanderlust_paper import claims, registry
from wanderlust_paper.registry import Report, Study, StudySelection, study_names
from wanderlust_paper.reports import scorecard
from wanderlust_paper.summary_file import RunSource, Summary, source_in, write_summary

REQUEST_FILE, LOCK_FILE, CLAIMS_FILE = "study.json", ".lock", "claims.json"
Reports = Mapping[str, Report]
"""Reports by the name of their folder."""


class StudyRequest(NamedTuple):
    """A study and the selections requested in its folder."""

    study: Study
    selections: list[StudySelection]
    folder: Path

    @property
    def suffix(self) -> str:
        """The suffix of the report folder; see `StudySelection.suffix`."""
        return self.selections[-1].suffix

    @property
    def runs(self) -> list[Run]:
        """The distinct runs of all selections."""
        return list(dict.fromkeys(run for selection in self.selections for run in self.study.runs(selection)))


def reproduce(
    study: Study,
    selection: StudySelection,
    out: Path,
    *,
    execution: Execution | None = None,
    quiet: bool,
    console: Console,
    formats: tuple[str, ...] = FORMATS,
) -> tuple[RunSummary, Report]:
    """Execute the runs of a study that are not stored in the folder, then write its report."""
    runs = study.runs(selection)  # Raises for names that the study does not have, before anything is written.
    store = Store(out)
    store.prepare()
    folder = out / f"{study.id}{selection.suffix}"
    request, written = add_selection(study, selection, folder)
    summary = run_all(runs, store, execution, name=folder.name, progress=Progress(quiet=quiet))
    if _time_of(folder / REQUEST_FILE) != written:  # Another process has added a selection.
        request = _read_request(folder)
    return summary, show_report(request, store, console, quiet=quiet, formats=formats)


def add_selection(study: Study, selection: StudySelection, folder: Path) -> tuple[StudyRequest, int]:
    """Add a selection to the request of a study; return the request, and the time at which it was written.

    Several processes can do so at the same time.
    """
    file = folder / REQUEST_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK_FILE):
            before = _read_request(folder).selections if file.exists() else []
            selections = [*(each for each in before if each != selection), selection]
            write_file(file, registry.to_json(study, selections).encode())
            return StudyRequest(study, selections, folder), _time_of(file)
    except OSError as error:
        raise cannot_write(file, error) from error


def _time_of(file: Path) -> int:
    """Return the time at which a file was written; 0 if it is not there."""
    return file.stat().st_mtime_ns if file.exists() else 0


def show_report(
    request: StudyRequest,
    source: RunSource,
    console: Console,
    *,
    quiet: bool = False,
    out: Path | None = None,
    formats: tuple[str, ...] = FORMATS,
) -> Report:
    """Make the report of a study from stored runs; print it and write its files, by default next to its request."""
    problems: list[str] = []
    report = _make_report(request, source, problems)
    if not quiet:
        for problem in problems:
            console.print(printable(problem), markup=False, highlight=False, soft_wrap=True)
        for renderable in report.renderables:
            console.print(renderable, crop=False)
    folder = (out or request.folder.parent) / request.folder.name
    files = {**report.files, **({CLAIMS_FILE: claims.as_json(report.claims)} if report.claims else {})}
    if folder != request.folder:
        files[REQUEST_FILE] = registry.to_json(request.study, request.selections)
    for name, text in files.items():
        write_file(folder / name, text.encode())
    for name, draw in report.figures.items():
        for form, contents in as_files(draw, formats).items():
            write_file(folder / f"{name}.{form}", contents)
    if not quiet:
        suffixes = ",".join(formats)
        figures = [f"{name}.{{{suffixes}}}" if "," in suffixes else f"{name}.{suffixes}" for name in report.figures]
        names = ", ".join([*files, *figures])
        console.print(f"written to {folder}: {names}", markup=False, highlight=False, soft_wrap=True)
    return report


def _make_report(request: StudyRequest, source: RunSource, problems: list[str]) -> Report:
    runs = request.runs
    return request.study.report(runs, source.load_many(runs, problems), report_note(request))


def write_reports(
    folder: Path,
    console: Console,
    *,
    quiet: bool = False,
    out: Path | None = None,
    formats: tuple[str, ...] = FORMATS,
) -> None:
    """Write the reports of all studies of a folder, and their scorecards, without executing any run."""
    source, reports = source_in(folder), {}
    suffixes: dict[str, None] = {}
    for request in studies_in(folder):
        if not quiet:
            title = f"{request.study.reference}. {request.study.description}"
            name = Text(printable(request.folder.name), "bold")
            console.print(Text.assemble(name, f": {title}"), soft_wrap=True)
        report = show_report(request, source, console, quiet=quiet, out=out, formats=formats)
        reports[request.folder.name] = report
        suffixes[request.suffix] = None
    for suffix in suffixes:
        write_scorecard(folder, suffix, reports, console, quiet=quiet, out=out)


def write_scorecard(
    folder: Path, suffix: str, reports: Reports, console: Console, *, quiet: bool = False, out: Path | None = None
) -> None:
    """Write the scorecard of all studies of a folder with this suffix.

    `reports` has the reports that were made before, by folder name; the others are made from the stored runs.
    """
    found, out = dict(reports), out or folder
    names = [f"{name}{suffix}" for name in study_names()]
    for name in names:
        if name not in found and (folder / name / REQUEST_FILE).exists():
            found[name] = _make_report(_read_request(folder / name), Store(folder), [])
    chosen = [found[name] for name in names if name in found]
    all_claims = claims.in_order(claim for report in chosen for claim in report.claims)
    rows = [row for report in chosen for row in report.cells]
    if not rows and not all_claims:
        return
    note = "".join(report.note for report in chosen if report.cells)
    for form, as_text in scorecard.FORMATS.items():
        write_file(out / f"scorecard{suffix}.{form}", as_text(rows, all_claims, note).encode())
    if not quiet:
        text = f"{scorecard.summary(rows, note) if rows else ''} {claims.summary(all_claims) if all_claims else ''}"
        console.print(text.strip(), markup=False, highlight=False, soft_wrap=True)
        written = f"written to {out}: scorecard{suffix}.{{{','.join(scorecard.FORMATS)}}}"
        console.print(written, markup=False, highlight=False, soft_wrap=True)


def summarize_runs(folder: Path, path: Path, earlier: Path | None = None) -> int:
    """Write the runs of all studies of a folder, except the quick ones, to a summary file; return their number.

    Runs that the folder does not have are taken from an earlier summary.
    """
    sources, problems = [source_in(folder), *([Summary(earlier)] if earlier else [])], list[str]()

    def stored() -> Iterator[StoredRun]:
        written: set[Run] = set()
        for request in studies_in(folder):
            runs = [] if any(each.quick for each in request.selections) else request.runs
            for source in sources:
                for run, result, metadata in source.load_many([run for run in runs if run not in written], problems):
                    written.add(run)
                    yield StoredRun(run, request.study.summarize(run, result), metadata)

    count = write_summary(stored(), path)
    if problems:
        raise BadFile(f"{folder}: {len(problems)} runs cannot be read, the first one: {problems[0]}")
    return count


def report_note(request: StudyRequest) -> str:
    """Return the note for all tables and figures: whether the study is reduced, and its preset."""
    notes = []
    if request.runs and any(selection.quick for selection in request.selections):
        notes.append(f"QUICK, not the paper's size: {request.study.quick_changes}.")
    if any(selection.preset != "as_published_code" for selection in request.selections):
        notes.append("Preset as_written: follows the paper's text where it differs from the released code.")
    return " ".join(notes)


def studies_in(out: Path) -> Iterator[StudyRequest]:
    """Yield the request of each study in a folder."""
    try:
        folders = sorted(file.parent for file in out.glob(f"*/{REQUEST_FILE}"))
    except OSError as error:
        raise BadFile(f"{out}: cannot be read ({error.strerror or error}).") from error
    yield from map(_read_request, folders)


def _read_request(folder: Path) -> StudyRequest:
    file = folder / REQUEST_FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{file}: cannot be read ({error}).") from error
    return StudyRequest(*registry.from_json(text, str(file)), folder)
