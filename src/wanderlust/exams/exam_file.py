"""Exams in a results folder: which runs an exam consists of, as JSON, for `report`."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from wanderlust.core.errors import (
    BadFile,
    InvalidSetting,
    WanderlustError,
    check_choice,
    check_flag,
    check_number,
    shown,
)
from wanderlust.core.files import read_text_file, shown_path, write_json
from wanderlust.exams.scores import ExplorerScores
from wanderlust.exams.suite_runs import ExamSelection, exam_scores
from wanderlust.experiments import status
from wanderlust.experiments.plain_options import plain_options
from wanderlust.experiments.run import Run
from wanderlust.experiments.status import file_name
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.worlds.exam_suite import VERSION

EXAMS, EXAM_FILE = "exams", "exam.json"
_MAX_BYTES = 1_000_000


class StoredExam(NamedTuple):
    """An exam in a results folder."""

    folder: Path
    """Where its description and its report card are."""
    selection: ExamSelection
    times: Mapping[str, float]


def exam_folder(folder: Path, selection: ExamSelection) -> Path:
    """Return the folder of an exam's description and report card in a results folder."""
    return folder / EXAMS / file_name(selection.name)


def save_exam(selection: ExamSelection, folder: Path, times: Mapping[str, float]) -> None:
    """Write the description of an exam and the microseconds of a step to a results folder, for `report`."""
    path = exam_folder(folder, selection) / EXAM_FILE
    finite = {name: value for name, value in times.items() if math.isfinite(value)}
    contents = {"suite": VERSION, **selection.description, "step_microseconds": finite}
    write_json(path, contents)


def exams_in(folder: Path) -> Iterator[StoredExam]:
    """Yield the exams in a results folder."""
    for path in sorted(folder.glob(f"{EXAMS}/*/{EXAM_FILE}")):
        yield read_exam(path)


def read_exam(path: Path) -> StoredExam:
    """Return the exam of a file, or raise `BadFile`."""
    try:
        values = json.loads(read_text_file(path, max_bytes=_MAX_BYTES))
        if values["suite"] != VERSION:
            raise InvalidSetting(f"it is of version {shown(values['suite'])} of the suite, not {VERSION}")
        times = {name: check_number("step_microseconds", each) for name, each in values["step_microseconds"].items()}
        return StoredExam(path.parent, _selection(values), times)
    except BadFile:
        raise
    except (WanderlustError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = str(error) if isinstance(error, WanderlustError) else f"{type(error).__name__}: {error}"
        raise BadFile(f"{shown_path(path)}: not an exam that `wanderlust exam` stored ({reason}).") from error


def _selection(values: dict[str, Any]) -> ExamSelection:
    names = values["explorers"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidSetting("explorers must be a list of names")
    options = {check_choice("explorer", name, names): each for name, each in values["options"].items()}
    return ExamSelection(
        explorers=tuple(names),
        families=tuple(values["families"]),
        levels=tuple(values["levels"]),
        seeds=values["seeds"],
        held_out=check_flag("held_out", values["held_out"]),
        options={name: plain_options("options", each) for name, each in options.items()},
    )


def stored_scores(exam: StoredExam, store: Store, problems: list[str]) -> list[ExplorerScores]:
    """Return the scores of an exam from what a folder contains; no code of explorers is read.

    Of a run that is stored for several versions of an explorer's code, the last one that was executed counts.
    """
    selection = exam.selection
    wanted = set(selection.runs)
    newest: dict[Run, StoredRun] = {}
    for stored in store.load_all(problems):
        known = newest.get(stored.run)
        if stored.run in wanted and (known is None or _finished(stored) >= _finished(known)):
            newest[stored.run] = stored
    return exam_scores(selection, newest.values(), _failures(selection, store), exam.times)


def _finished(stored: StoredRun) -> str:
    return str(stored.metadata.get("finished"))


def _failures(selection: ExamSelection, store: Store) -> dict[Run, str]:
    """Return the errors of the runs that failed when the exam was last taken."""
    found: dict[Run, str] = {}
    name = file_name(selection.name)
    for failure in status.failures(store.folder, [name]).get(name, []):
        with contextlib.suppress(ValueError):  # Not a command that this version prints.
            found[Run.from_json(shlex.split(failure["repeat"])[-1])] = failure["error"]
    return found
