"""Tables as CSV, as Markdown and for the terminal; and reports: what they print, and the files that they write."""

from __future__ import annotations

import csv
import html
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wanderlust.core.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS", "Report", "as_csv", "as_markdown_table", "as_rich_table", "keep_words", "markdown_cell",
    "new_console", "printable", "show_report",
]  # fmt: skip

FORMATS = ("png", "svg", "pdf")
"""The formats of figures."""


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def as_markdown_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], legend: str, note: str) -> str:
    """Return a Markdown table with a title, and a legend and a note if they are not empty."""
    parts = [f"# {title}\n", *([f"{legend}\n"] if legend else []), *([f"**{note}**\n"] if note else [])]
    parts += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(parts) + "\n"


def as_rich_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, text_columns: int
) -> Table:
    """Return a table for the terminal; the first `text_columns` columns are text, and the first one makes sections."""
    table = new_table(heads, rows, left=heads[:text_columns], title=title)
    table.caption = caption
    for i in range(1, len(rows)):
        table.rows[i - 1].end_section = text_columns > 1 and rows[i][0] != rows[i - 1][0]
    return table


def printable(text: str) -> str:
    """Return a text in one line: line breaks and control characters, as a name may contain, are escaped."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a Markdown table, in which `|` and HTML are literal."""
    return html.escape(printable(text), quote=False).replace("|", "\\|")


def keep_words(table: Table) -> Table:
    """Break the lines of a table between words only, where it is too wide for the console; return it."""
    for column in table.columns:
        words = [word for cell in (column.header, *column.cells) for word in str(cell).split()]
        column.min_width = max(map(cell_len, words), default=0)
    return table


# --- The terminal ----------------------------------------------------------------------------------------


def new_console(width: int = 150, *, highlight: bool = True) -> Console:
    """Return a console for standard output; `width` applies where that is not a terminal.

    Text is printed as it is: names of files and explorers may contain brackets and colons.
    """
    return Console(highlight=highlight, markup=False, emoji=False, width=None if sys.stdout.isatty() else width)


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
        table.add_column(printable(heading), justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*map(printable, row))
    return keep_words(table)


def as_line(text: str, style: str = "") -> Text:
    """Return a text that is printed in a line of its own, however long, so that a command can be copied."""
    return Text(printable(text), style, no_wrap=True, overflow="ignore")


def print_lines(console: Console, sentences: Iterable[str], indent: str = "") -> None:
    """Print sentences, each in a line of its own; empty ones are left out."""
    for sentence in filter(None, sentences):
        console.print(as_line(f"{indent}{sentence}"), crop=False)


def print_problems(problems: Iterable[str]) -> None:
    """Print sentences on files that cannot be used to the standard error."""
    for problem in problems:
        print(printable(problem), file=sys.stderr)


# --- Reports ---------------------------------------------------------------------------------------------


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
        console.print(renderable, highlight=False, crop=False)
    for name, text in report.files.items():
        write_file(folder / name, text)
    for name, draw in report.figures.items():
        from wanderlust.experiments.report.figures import as_files

        for form, contents in as_files(draw, formats).items():
            write_file(folder / f"{name}.{form}", contents)
    if report.files and not quiet:
        suffix = formats[0] if len(formats) == 1 else f"{{{','.join(formats)}}}"
        names = ", ".join([*report.files, *(f"{name}.{suffix}" for name in report.figures)])
        print_lines(console, [f"written to {folder}: {names}"])
