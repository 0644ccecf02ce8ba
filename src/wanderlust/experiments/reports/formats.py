"""The recap tables for the terminal, as Markdown, as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.table import Table

from wanderlust.experiments.reports.statistics import Percent

if TYPE_CHECKING:
    from wanderlust.experiments.reports.cells import Cell, Row

TITLES = {
    "deep-sea": "Deep sea",
    "taxi": "Taxi",
    "deep-gridworld": "Deep gridworld",
    "toy": "Gridworld (toy)",
    "prison": "Gridworld (prison)",
    "wall": "Gridworld (wall)",
}
ALGORITHMS = {
    "vv-ucb": "Ours (UCB Reward)",
    "vv-count": "Ours (Count Reward)",
    "random-prior": "Rand. Prior (Osband 2019)",
    "bootstrapped": "Bootstr. (Osband 2016a)",
    "thompson": "Bootstr. (D'Eramo 2019)",
    "ucb1": "UCB1 (Auer 2002)",
    "bonus": "Expl. Bonus (Strehl 2008)",
    "epsilon-greedy": "$\\epsilon$-greedy",
    "random": "Random",
}
MARK = "†"
"""Stands by a line that was made with a setting of its own."""
_VERDICT_STYLES = {"agrees": "green", "differs": "red", "not compared": "dim", "no runs": "dim"}
_HEADS = ("algorithm", "discovery (%)", "paper", "success (%)", "paper", "learnt", "seeds", "")


def as_csv(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return lines as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(lines)
    return text.getvalue()


def scenario(cell: Cell) -> str:
    """Return the start and the horizon of a line in the paper's words."""
    start = "zero init." if cell.initialization == "zero" else "opt. init."
    return start if cell.horizon == "fixed" else f"{start}, {cell.horizon} horizon"


def as_markdown_table(title: str, heads: Sequence[str], lines: Iterable[Sequence[str]], legend: str, note: str) -> str:
    """Return a table under its title, with a legend and a note if there are any."""
    parts = [f"# {title}\n", *([f"{legend}\n"] if legend else []), *([f"**{note}**\n"] if note else [])]
    parts += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {' | '.join(line)} |" for line in lines)]
    return "\n".join(parts) + "\n"


def as_rich_table(
    title: str, heads: Sequence[str], lines: Sequence[Sequence[str]], caption: str, *, names: int
) -> Table:
    """Return a table for the terminal whose first `names` columns are words, in sections by the first of them."""
    table = Table(title=title, title_justify="left", caption=caption)
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i < names else "right", no_wrap=i < names)
    for i, line in enumerate(lines):
        if names > 1 and i and line[0] != lines[i - 1][0]:
            table.add_section()
        table.add_row(*line)
    return table


def title_of(environment: str) -> str:
    """Return the paper's title of a world."""
    return TITLES.get(environment, environment)


def by_environment(rows: Iterable[Row]) -> Iterator[tuple[str, list[tuple[str, list[Row]]]]]:
    """Yield each world with its scenarios and their lines."""
    for environment, group in groupby(rows, key=lambda row: row.cell.environment):
        yield environment, [(name, list(lines)) for name, lines in groupby(group, key=lambda row: scenario(row.cell))]


def percent(value: Percent | None, seeds: int | None = None) -> str:
    """Return a mean and its ±, with no more digits than the paper has; one seed has no ±."""
    if value is None:
        return "–"
    return f"{value.mean:.2f}" if seeds == 1 else f"{value.mean:.2f} ± {value.ci:.2f}"


def _texts(row: Row) -> list[str]:
    ours, theirs = row.ours, row.theirs
    seeds = str(row.seeds) if row.seeds == row.planned else f"{row.seeds} of {row.planned}"
    return [
        row.cell.algorithm,
        percent(ours.discovery if ours else None, row.seeds),
        percent(theirs.discovery if theirs else None),
        percent(ours.success if ours else None, row.seeds),
        percent(theirs.success if theirs else None),
        f"{100 * row.learnt.estimate:.0f} [{100 * row.learnt.low:.0f}, {100 * row.learnt.high:.0f}]"
        if row.learnt
        else "–",
        seeds,
        row.verdict + (MARK if row.setting else ""),
    ]


def settings_told(rows: Iterable[Row]) -> list[str]:
    """Return a sentence on each line that was made with a setting of its own."""
    return [
        f"{MARK} {row.cell.algorithm}, {scenario(row.cell)}: with {row.setting}. With the setting of the rest of this "
        f"table discovery is {percent(row.usual.discovery)} and success {percent(row.usual.success)} %."
        for row in rows
        if row.usual
    ]


def rich_tables(rows: Iterable[Row], note: str) -> Iterator[Table]:
    """Yield one table per world."""
    for environment, scenarios in by_environment(rows):
        told = settings_told(row for _, lines in scenarios for row in lines)
        caption = "\n".join([*([note] if note else []), *told])
        table = Table(title=f"{title_of(environment)}: results recap", caption=caption or None, title_justify="left")
        for head in _HEADS:
            is_word = head in ("algorithm", "")
            table.add_column(head, justify="left" if is_word else "right", no_wrap=is_word)
        for name, lines in scenarios:
            table.add_section()
            table.add_row(f"[bold]{name}[/bold]")
            for row in lines:
                *texts, verdict = _texts(row)
                style = _VERDICT_STYLES[row.verdict]
                table.add_row(*texts, f"[{style}]{verdict}[/{style}]")
        yield table


def as_markdown(rows: Iterable[Row], note: str) -> str:
    """Return the tables as Markdown, with a legend."""
    parts = ["# Results recap beside the paper's\n"]
    if note:
        parts.append(f"**{note}**\n")
    parts.append(LEGEND)
    for environment, scenarios in by_environment(rows):
        for name, lines in scenarios:
            parts.append(f"## {title_of(environment)}, {name}\n")
            parts.append("| " + " | ".join(head or "verdict" for head in _HEADS) + " |")
            parts.append("|---|---:|---:|---:|---:|---:|---:|---|")
            parts += ["| " + " | ".join(_texts(row)) + " |" for row in lines]
            parts += ["", *(f"{text}\n" for text in settings_told(lines))]
    return "\n".join(parts)


LEGEND = """\
* discovery: states acted in until the end, in percent of those that can be reached
* success: return of the policy learnt, in percent of the best possible
* ±: twice the standard error over the seeds, as in the paper
* learnt: percent of the seeds that learnt an optimal policy, with Wilson's 95 % interval
"""


def rows_as_csv(rows: Iterable[Row], note: str) -> str:
    """Return every number of every line, ours and the paper's; the last column is the note."""
    names = ("discovery_mean", "discovery_ci95", "success_mean", "success_ci95")
    heads = ["environment", "initialization", "horizon", "algorithm", "seeds", *names, *(f"paper_{n}" for n in names)]
    heads += ["learnt_share", "learnt_low", "learnt_high", "success_iqm", "iqm_low", "iqm_high"]
    heads += ["verdict", "setting", "note"]
    lines = []
    for row in rows:
        ours = [number for pair in row.ours for number in pair] if row.ours else [None] * 4
        theirs = [number for pair in row.theirs for number in pair] if row.theirs else [None] * 4
        more = [*(row.learnt or [None] * 3), *(row.success_iqm or [None] * 3)]
        numbers = ["" if number is None else f"{number:.4f}" for number in (*ours, *theirs, *more)]
        lines.append([*row.cell, row.seeds, *numbers, row.verdict, row.setting, note])
    return as_csv(heads, lines)


def as_latex(rows: Iterable[Row], note: str) -> str:
    """Return the tables in the paper's form, with the paper's numbers in two more columns."""
    parts = [f"% {note}" if note else "% Made by wanderlust."]
    for environment, scenarios in by_environment(rows):
        caption = f"{title_of(environment)} results recap." + (f" {note}" if note else "")
        parts += ["\\begin{table}[h]", "\\centering", f"\\caption{{{_escaped(caption)}}}"]
        parts += [
            "\\begin{tabular}{ c | c | c c | c c }",
            " & & \\multicolumn{2}{c|}{Here} & \\multicolumn{2}{c}{Paper} \\\\",
        ]
        parts += [" & Algorithm" + " & Discovery (\\%) & Success (\\%)" * 2 + " \\\\"]
        for name, lines in scenarios:
            parts.append("\\hline")
            for i, row in enumerate(lines):
                label = name.capitalize() if i == len(lines) // 2 else ""
                algorithm = ALGORITHMS.get(row.cell.algorithm, row.cell.algorithm)
                mark = "$^\\dagger$" if row.setting else ""
                parts.append(f"{label} & {algorithm}{mark} & {_maths(row)} \\\\")
        parts += ["\\end{tabular}"]
        parts += [f"\n{_escaped(text)}" for text in settings_told(row for _, lines in scenarios for row in lines)]
        parts += ["\\end{table}", ""]
    return "\n".join(parts)


def _maths(row: Row) -> str:
    cells: list[str] = []
    for numbers in (row.ours, row.theirs):
        cells += [f"${x.mean:.2f} \\pm {x.ci:.2f}$" for x in numbers] if numbers else ["--", "--"]
    return " & ".join(cells)


def _escaped(text: str) -> str:
    signs: dict[str, str | int | None] = {
        MARK: "$^\\dagger$",
        "±": "$\\pm$",
        "κ": "$\\kappa$",
        "%": "\\%",
        "_": "\\_",
        "&": "\\&",
    }
    return text.translate(str.maketrans(signs))
