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
from rich.table import Column, Table
from rich.text import Text

from wanderlust.core.files import write_file
from wanderlust.experiments.statistics import Percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS", "Report", "as_csv", "as_markdown_table", "as_rich_table", "fit_to_width", "format_percent",
    "markdown_cell", "new_console", "printable", "show_report",
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
    table = new_table(heads, [], left=heads[:text_columns], title=title)
    table.caption = caption
    for i, row in enumerate(rows):
        if text_columns > 1 and i and row[0] != rows[i - 1][0]:
            table.add_section()
        table.add_row(*row)
    return table


def printable(text: str) -> str:
    """Return a text in one line: line breaks and control characters, as a name may contain, are escaped."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a Markdown table, in which `|` and HTML are literal."""
    return html.escape(printable(text), quote=False).replace("|", "\\|")


def fit_to_width(renderable: RenderableType, width: int) -> RenderableType:
    """Return a table that shows all its cells in a console of this width; anything else unchanged.

    A table that is too wide gets line breaks between words. If that is not enough, each row becomes a list.
    """
    if not isinstance(renderable, Table) or _table_width(renderable) <= width:
        return renderable
    for column in renderable.columns:
        column.no_wrap = False
        column.min_width = _column_width(column)  # Otherwise, words of the widest column would be broken.
    return renderable if _table_width(renderable) <= width else _as_lists(renderable)


def _table_width(table: Table) -> int:
    """Return the width that shows all words of a table, and whole lines in columns with `no_wrap`."""
    return sum(_column_width(column) + 3 for column in table.columns) + 1


def _column_width(column: Column) -> int:
    texts = [str(cell) for cell in (column.header, *column.cells)]
    parts = [part for text in texts for part in (text.splitlines() if column.no_wrap else text.split())]
    return max(map(cell_len, parts), default=0)


def _as_lists(table: Table) -> Text:
    """Return "heading: cell" lines, with the first cell of each row as their title."""
    lines = [_as_text(table.title, style="bold")] if table.title else []
    headings = [_as_text(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *others = map(_as_text, cells)
        lines.append(first)
        named = zip(headings[1:], others, strict=True)
        lines += [Text.assemble("  ", heading, ": " if heading else "", cell) for heading, cell in named if cell]
    if table.caption:
        lines.append(_as_text(table.caption, style="italic"))
    return Text("\n").join(lines)


def _as_text(renderable: RenderableType, style: str = "") -> Text:
    return renderable if isinstance(renderable, Text) else Text(str(renderable), style)


def format_percent(value: Percent | None, seeds: int | None = None) -> str:
    """Return "mean ± interval" with two decimals, as in the paper; without ± for a single seed."""
    if value is None:
        return "–"
    return f"{value.mean:.2f}" if seeds == 1 else f"{value.mean:.2f} ± {value.ci:.2f}"


# --- The terminal ----------------------------------------------------------------------------------------


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
        console.print(fit_to_width(renderable, console.width), highlight=False, crop=False)
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
