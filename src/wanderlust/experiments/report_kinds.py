"""Kinds of reports that other packages add; see `wanderlust.core.extensions`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from rich.console import Console

from wanderlust.core.extensions import REPORTS, extensions


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
    return [cast(ReportKind, each.load()) for each in extensions(REPORTS)]
