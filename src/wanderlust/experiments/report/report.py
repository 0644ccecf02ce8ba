"""A report: what it prints, and the files and figures that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, RenderableType

from wanderlust.core.files import write_file
from wanderlust.experiments.report.figures import FORMATS, as_files
from wanderlust.experiments.report.text_tables import fit_to_width, print_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Report(NamedTuple):
    """What a report consists of."""

    renderables: Sequence[RenderableType]
    """For the terminal: tables, and lines of text."""
    files: Mapping[str, str]
    """File name -> contents."""
    figures: Mapping[str, Callable[[], Figure]] = MappingProxyType({})
    """File name without suffix -> function that draws the figure."""


def show_report(
    report: Report, folder: Path, console: Console, *, formats: Sequence[str] = FORMATS, quiet: bool = False
) -> None:
    """Print a report, unless `quiet`, and write its files to a folder."""
    for renderable in [] if quiet else report.renderables:
        console.print(fit_to_width(renderable, console.width), highlight=False, crop=False)
    for name, text in report.files.items():
        write_file(folder / name, text)
    for name, draw in report.figures.items():
        for form, contents in as_files(draw, formats).items():
            write_file(folder / f"{name}.{form}", contents)
    if report.files and not quiet:
        suffix = formats[0] if len(formats) == 1 else f"{{{','.join(formats)}}}"
        names = ", ".join([*report.files, *(f"{name}.{suffix}" for name in report.figures)])
        print_lines(console, [f"written to {folder}: {names}"])
