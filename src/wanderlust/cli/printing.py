"""Printing to the terminal: consoles, tables, notes, and what was executed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from wanderlust.core.errors import counted
from wanderlust.experiments.execute.progress import format_duration
from wanderlust.experiments.report.text_tables import fit_to_width, printable

if TYPE_CHECKING:  # It would make `wanderlust status` slower.
    from wanderlust.experiments.execute.driver import RunSummary

__all__ = ["new_console", "print_summary"]


def new_console(width: int = 150, *, highlight: bool = True, markup: bool = False) -> Console:
    """Return a console for standard output; `width` applies where that is not a terminal.

    Without `markup`, text is printed as it is: names of files and explorers may contain brackets and colons.
    """
    size = None if sys.stdout.isatty() else width
    return Console(highlight=highlight, markup=markup, emoji=markup, width=size)


def new_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Sequence[str] | None = None,
    title: str | None = None,
) -> Table:
    """Return a table; the columns `left`, by default the first, are texts, and the others numbers."""
    table = Table(title=None if title is None else printable(title), title_justify="left")
    for heading in headings:
        is_text = heading in (headings[:1] if left is None else left)
        # Lines are broken only if the table is too wide; see `fit_to_width`.
        table.add_column(printable(heading), justify="left" if is_text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(printable, row))
    return table


def print_table(table: Table, console: Console) -> None:
    """Print a table; in a narrow terminal, its rows as lists."""
    console.print(fit_to_width(table, console.width))


def print_lines(console: Console, sentences: Iterable[str], indent: str = "") -> None:
    """Print sentences, each in a line of its own, however long; empty ones are left out."""
    for sentence in filter(None, sentences):
        console.print(f"{indent}{printable(sentence)}", soft_wrap=True)


def print_problems(problems: Iterable[str]) -> None:
    """Print sentences on files that cannot be used to the standard error."""
    for problem in problems:
        print(printable(problem), file=sys.stderr)


def print_summary(summary: RunSummary, *, quiet: bool) -> None:
    """Print the failures of executed runs, and how many runs were executed, unless `quiet`."""
    print_failures(summary, quiet=quiet)
    if not quiet:
        print(
            f"{counted(summary.executed, 'run')} executed in {format_duration(summary.seconds)}, "
            f"{summary.stored:,} already stored, {len(summary.failures):,} failed"
        )


def print_failures(summary: RunSummary, *, quiet: bool) -> None:
    """Print the failures of executed runs to the standard error."""
    traces = set()
    for failure in summary.failures:
        # A mistake in an explorer often gives every run the same traceback.
        trace = "" if failure.trace in traces else failure.trace
        traces.add(trace)
        # Without --quiet, the progress display has printed the failure already.
        print(f"failed: {failure}\n{trace}" if quiet else trace, end="", file=sys.stderr)
