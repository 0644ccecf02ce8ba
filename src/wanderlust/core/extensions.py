"""Commands and reports of other packages, found by entry points.

A distribution adds to wanderlust with two groups in its `pyproject.toml`:

    [project.entry-points."wanderlust.commands"]   command name -> function, as in `wanderlust.cli`
    [project.entry-points."wanderlust.reports"]    kind of report -> module, as `ReportKind`
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS, REPORTS = "wanderlust.commands", "wanderlust.reports"

_OURS = (
    EntryPoint("reproduce", "wanderlust_paper.command:reproduce", COMMANDS),
    EntryPoint("studies", "wanderlust_paper.reproduce", REPORTS),
)
"""The second package of this distribution, for a source tree that is not installed and so has no metadata."""


def extensions(group: str) -> list[EntryPoint]:
    """Return the entry points of a group; `load` imports what each names."""
    found = {each.name: each for each in _OURS if each.group == group} | {
        each.name: each for each in entry_points(group=group)
    }
    return [each for each in found.values() if find_spec(each.module.partition(".")[0]) is not None]


class ReportKind(Protocol):
    """A module that writes the reports of requests, each a file in a folder of its own inside a results folder."""

    REQUEST_FILE: str
    """The name of the file with a request."""

    def write_reports(
        self, folder: Path, console: Console, *, quiet: bool, out: Path | None, formats: tuple[str, ...]
    ) -> None:
        """Write the reports of all requests of a results folder, by default into it, without executing any run."""


def report_kinds() -> list[ReportKind]:
    """Return the kinds of reports of the packages that are installed."""
    return [each.load() for each in extensions(REPORTS)]
