"""Printing to the terminal: consoles, listings of entries with their options, and what was executed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from wanderlust.experiments.execute.driver import RunSummary


def new_console(width: int = 150, *, highlight: bool = True, markup: bool = False) -> Console:
    """Return a console for standard output; `width` applies where that is not a terminal.

    Without `markup`, text is printed as it is: names of files and explorers may contain brackets and colons.
    """
    size = None if sys.stdout.isatty() else width
    return Console(highlight=highlight, markup=markup, emoji=markup, width=size)


def print_listing(entries: Sequence[tuple[str, str, list[tuple[str, str]]]]) -> None:
    """Print (name, description, options) of every entry; options are (name=default, description)."""
    name_width = max(len(name) for name, _, _ in entries)
    option_width = max(len(option) for _, _, options in entries for option, _ in options)
    for name, description, options in entries:
        print(f"{name:<{name_width}}  {description}")
        for option, option_description in options:
            print(f"    {option:<{option_width}}  {option_description}".rstrip())


def print_summary(summary: RunSummary, *, quiet: bool) -> None:
    """Print the failures of executed runs, and how many runs were executed, unless `quiet`."""
    from wanderlust.core.errors import counted
    from wanderlust.experiments.execute import estimate

    traces = set()
    for failure in summary.failures:
        # A mistake in an explorer often gives every run the same traceback.
        trace = "" if failure.trace in traces else failure.trace
        traces.add(trace)
        # Without --quiet, the progress display has printed the failure already.
        print(f"failed: {failure}\n{trace}" if quiet else trace, end="", file=sys.stderr)
    if not quiet:
        print(
            f"{counted(summary.executed, 'run')} executed in {estimate.format_duration(summary.seconds)}, "
            f"{summary.stored:,} already stored, {len(summary.failures):,} failed"
        )
