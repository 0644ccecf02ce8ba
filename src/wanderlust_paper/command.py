"""The command `wanderlust reproduce`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.options import LOCAL, ExecutionArgument


def reproduce(
    experiment: Annotated[
        Positional[str], arg(metavar="EXPERIMENT", help="Name of an experiment, 'all', or 'list' to list the names.")
    ],
    *,
    quick: Annotated[bool, arg(help="Fewer seeds and smaller sizes: minutes. The output is marked as quick.")] = False,
    worlds: Annotated[tuple[str, ...] | None, arg(metavar="NAME ...", help="Worlds; all if not given.")] = None,
    explorers: Annotated[tuple[str, ...] | None, arg(metavar="NAME ...", help="Explorers; all if not given.")] = None,
    seeds: Annotated[int | None, arg(metavar="N", help="Number of seeds: 1 to N; the paper's if not given.")] = None,
    preset: Annotated[
        str, arg(help="'as_published_code' (the code behind the paper's results) or 'as_written' (the paper's text).")
    ] = "as_published_code",
    out: Annotated[Path, arg(metavar="FOLDER", help="Folder for runs and reports.")] = Path("results"),
    execution: ExecutionArgument = LOCAL,
) -> None:
    """Repeat an experiment of the paper and print the results next to the paper's.

    If interrupted, the same command continues: runs that are stored in the folder are not repeated.

    Example: wanderlust reproduce recap --quick

    Example: wanderlust reproduce recap --worlds prison taxi --seeds 5 --jobs 2 --out results/
    """
    from rich.text import Text

    from wanderlust.experiments.report.text_tables import new_console
    from wanderlust_paper.registry import StudySelection, find_study, study_names
    from wanderlust_paper.reproduce import reproduce as reproduce_study
    from wanderlust_paper.reproduce import write_scorecard

    if experiment == "list":
        _list_studies(execution.jobs or os.cpu_count() or 1)
        return
    quiet = execution.quiet
    selection = StudySelection(worlds, explorers, seeds, preset, quick)
    names = study_names() if experiment == "all" else (experiment,)
    console, failures, reports = new_console(), 0, {}
    for study in [find_study(name) for name in names]:
        if not quiet:
            title = Text.assemble((study.id, "bold"), f": {study.reference}. {study.description}")
            console.print(title, highlight=False, soft_wrap=True)
            if quick:
                console.print(f"QUICK: {study.quick_changes}", highlight=False, soft_wrap=True)
        summary, report = reproduce_study(study, selection, out, execution=execution, quiet=quiet, console=console)
        summary.print(quiet=quiet)
        reports[f"{study.id}{selection.suffix}"] = report
        failures += len(summary.failures)
    write_scorecard(out, selection.suffix, reports, console, quiet=quiet)
    sys.exit(int(failures > 0))


def _list_studies(jobs: int) -> None:
    """Print every experiment: name, place in the paper, number of runs, estimated time."""
    from rich.table import Table

    from wanderlust.experiments.execute.progress import format_duration, total_seconds
    from wanderlust.experiments.report.text_tables import keep_words, new_console
    from wanderlust_paper.registry import StudySelection, find_study, study_names

    table = Table(caption=f"Rough times for {jobs} parallel runs, without compilation (one or two minutes, once).")
    for column in ("experiment", "in the paper", "description"):
        table.add_column(column, overflow="fold")
    for column in ("runs", "time", "--quick"):
        table.add_column(column, justify="right", no_wrap=True)
    for name in study_names():
        study = find_study(name)
        full, quick = study.runs(StudySelection()), study.runs(StudySelection(quick=True))
        times = [format_duration(total_seconds(runs, jobs)) for runs in (full, quick)]
        row = (study.id, study.reference, study.description, f"{len(full)}", times[0], f"{len(quick)}, {times[1]}")
        table.add_row(*row)
    console = new_console()
    console.print(keep_words(table), crop=False)
