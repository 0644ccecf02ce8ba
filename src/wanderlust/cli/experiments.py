"""What the commands `reproduce`, `report`, `export` and `run` do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from wanderlust.experiments import estimate
from wanderlust.experiments.export import export
from wanderlust.experiments.paper.registry import Study, StudySelection, find_study, study_names
from wanderlust.experiments.paper.reproduce import reproduce as reproduce_study
from wanderlust.experiments.paper.reproduce import show_report, studies_in, write_scorecard
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import RunSummary
from wanderlust.experiments.store import Store

_WIDTH_WITHOUT_TERMINAL = 150


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_WITHOUT_TERMINAL)


def list_studies(jobs: int | None) -> None:
    """Print every experiment: its name, where it stands in the paper, how many runs, and how long they may take."""
    jobs = jobs or os.cpu_count() or 1
    table = Table(caption=f"Times are rough, for {jobs} runs at a time, without compiling (a minute or two, once).")
    for column in ("experiment", "in the paper", "what"):
        table.add_column(column, overflow="fold")
    for column in ("runs", "time", "--quick"):
        table.add_column(column, justify="right", no_wrap=True)
    for name in study_names():
        study = find_study(name)
        full, quick = study.runs(StudySelection()), study.runs(StudySelection(quick=True))
        times = [estimate.format_duration(estimate.total_seconds(runs, jobs)) for runs in (full, quick)]
        row = [study.id, study.reference, study.description, f"{len(full)}", times[0], f"{len(quick)}, {times[1]}"]
        table.add_row(*row)
    _console().print(table)


def reproduce(experiment: str, choice: StudySelection, out: Path, *, jobs: int | None, quiet: bool) -> int:
    """Carry out one experiment, or all; return 1 if a run failed, else 0."""
    names = study_names() if experiment == "all" else (experiment,)
    console, failed = _console(), False
    for study in [find_study(name) for name in names]:
        outcome = _carry_out(study, choice, out, jobs, quiet, console)
        failed = failed or bool(outcome.failures)
    write_scorecard(out, choice.suffix, console, quiet=quiet)
    return int(failed)


def _carry_out(
    study: Study, choice: StudySelection, out: Path, jobs: int | None, quiet: bool, console: Console
) -> RunSummary:
    if not quiet:
        title = f"[bold]{study.id}[/bold]: {study.reference}. {study.description}"
        console.print(title, highlight=False, soft_wrap=True)
        if choice.quick:
            console.print(f"QUICK: {study.quick_changes}", highlight=False, soft_wrap=True)
    outcome = reproduce_study(study, choice, out, jobs=jobs, quiet=quiet, console=console)
    if not quiet:
        print(
            f"{outcome.executed} runs made in {estimate.format_duration(outcome.seconds)}, "
            f"{outcome.stored} were stored already, "
            f"{len(outcome.failures)} failed"
        )
    for failure in outcome.failures:
        print(f"failed: {failure}\n{failure.trace}", file=sys.stderr)
    return outcome


def report(folder: Path) -> None:
    """Make the reports of all experiments of a folder again."""
    console = _console()
    suffixes: list[str] = []
    for asked in studies_in(folder):
        title = f"[bold]{asked.folder.name}[/bold]: {asked.study.reference}. {asked.study.description}"
        console.print(title, soft_wrap=True)
        show_report(asked, Store(folder), console)
        suffixes.append(asked.suffix)
    for suffix in dict.fromkeys(suffixes):
        write_scorecard(folder, suffix, console)


def export_runs(folder: Path, form: str, to: Path | None) -> None:
    """Write all runs of a folder to one file."""
    problems: list[str] = []
    path = to or folder / f"runs.{form}"
    count = export(Store(folder).load_all(problems), path, form)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{count} runs written to {path}")


def run_one(description: str, out: Path | None) -> None:
    """Make one run and print its final numbers."""
    run = Run.from_json(description)
    begun = time.perf_counter()
    result = run.train()
    seconds = time.perf_counter() - begun
    last = f"{result.returns[-1]:.6g} after {result.steps[-1]} steps" if len(result.steps) else "never evaluated"
    print(f"run        {run.json}")
    print(f"key        {run.key}")
    of_best = f": {result.success:.2f} % of the best, {float(result.optimal_return):.6g}"
    of_all = f" of {result.reachable} states: {result.discovery:.2f} %"
    print(f"return     {last}{'' if run.kind == 'environment' else of_best}")
    print(f"discovery  {result.n_discovered}{' states' if run.kind == 'environment' else of_all}")
    print(f"time       {seconds:.2f} s")
    if out is not None:
        store = Store(out)
        store.prepare()
        print(f"stored as  {store.save(run, result, seconds)}")
