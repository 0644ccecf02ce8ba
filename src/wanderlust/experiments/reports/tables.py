"""Generic tables as CSV, as Markdown and for the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from wanderlust.experiments.reports.statistics import Percent


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
    table = Table(title=title, title_justify="left", caption=caption)
    for i, head in enumerate(heads):
        is_text = i < text_columns
        table.add_column(head, justify="left" if is_text else "right", no_wrap=is_text)
    for i, row in enumerate(rows):
        if text_columns > 1 and i and row[0] != rows[i - 1][0]:
            table.add_section()
        table.add_row(*row)
    return table


def format_percent(value: Percent | None, seeds: int | None = None) -> str:
    """Return "mean ± interval" with two decimals, as in the paper; without ± for a single seed."""
    if value is None:
        return "–"
    return f"{value.mean:.2f}" if seeds == 1 else f"{value.mean:.2f} ± {value.ci:.2f}"
