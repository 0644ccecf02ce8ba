"""The recap tables (Tables 3 to 8) for the terminal, as Markdown, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.table import Table
from rich.text import Text

from wanderlust.experiments.report.text_tables import as_csv, format_percent, markdown_cell, printable
from wanderlust_paper.reports.recap_cells import Cell, Row

TITLES = {
    "deep-sea": "Deep sea",
    "taxi": "Taxi",
    "deep-gridworld": "Deep gridworld",
    "toy": "Gridworld (toy)",
    "prison": "Gridworld (prison)",
    "wall": "Gridworld (wall)",
    "noisy-deep-gridworld": "Stochastic deep gridworld",
    "noisy-toy": "Stochastic gridworld (toy)",
    "noisy-prison": "Stochastic gridworld (prison)",
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
DAGGER = "†"
"""Marks rows that were run with an alternative setting."""
_VERDICT_STYLES = {"agrees": "green", "differs": "red", "not compared": "dim", "no runs": "dim"}
_HEADS = ("algorithm", "discovery (%)", "paper", "success (%)", "paper", "learnt", "seeds", "")


def scenario(cell: Cell) -> str:
    """Return the initialization and the horizon of a cell in the paper's words."""
    initialization = "zero init." if cell.initialization == "zero" else "opt. init."
    return initialization if cell.horizon == "fixed" else f"{initialization}, {cell.horizon} horizon"


def world_title(environment: str) -> str:
    """Return the paper's title of a world."""
    return TITLES.get(environment, environment)


def group_by_environment(rows: Iterable[Row]) -> Iterator[tuple[str, list[tuple[str, list[Row]]]]]:
    """Yield each world with its scenarios and their rows."""
    for environment, group in groupby(rows, key=lambda row: row.cell.environment):
        yield environment, [(name, list(part)) for name, part in groupby(group, key=lambda row: scenario(row.cell))]


def row_texts(row: Row) -> list[str]:
    """Return the columns `algorithm`, ours and the paper's discovery and success, `learnt`, `seeds` and the verdict."""
    ours, theirs = row.ours, row.theirs
    seeds = str(row.seeds) if row.seeds == row.planned else f"{row.seeds} of {row.planned}"
    return [
        row.cell.algorithm,
        format_percent(ours.discovery if ours else None, row.seeds),
        format_percent(theirs.discovery if theirs else None),
        format_percent(ours.success if ours else None, row.seeds),
        format_percent(theirs.success if theirs else None),
        f"{100 * row.learnt.estimate:.0f} [{100 * row.learnt.low:.0f}, {100 * row.learnt.high:.0f}]"
        if row.learnt
        else "–",
        seeds,
        row.verdict + (DAGGER if row.setting else ""),
    ]


def alternative_setting_notes(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each row that was run with an alternative setting."""
    return [
        f"{DAGGER} {row.cell.algorithm}, {scenario(row.cell)}: with {row.setting}. With the setting of the other rows "
        f"discovery is {format_percent(row.default.discovery)} % and success {format_percent(row.default.success)} %."
        for row in rows
        if row.default
    ]


def rich_tables(rows: Iterable[Row], note: str) -> Iterator[Table]:
    """Yield one table per world."""
    for environment, scenarios in group_by_environment(rows):
        footnotes = alternative_setting_notes(row for _, scenario_rows in scenarios for row in scenario_rows)
        caption = "\n".join([*([note] if note else []), *footnotes])
        table = Table(title=f"{world_title(environment)}: results recap", caption=caption or None, title_justify="left")
        for head in _HEADS:
            is_text = head in ("algorithm", "")
            table.add_column(head, justify="left" if is_text else "right", no_wrap=is_text)
        for name, scenario_rows in scenarios:
            table.add_section()
            table.add_row(Text(name, "bold"))
            for row in scenario_rows:
                *texts, verdict = row_texts(row)
                style = _VERDICT_STYLES[row.verdict]
                table.add_row(*texts, Text(verdict, style))
        yield table


def as_markdown(rows: Iterable[Row], note: str) -> str:
    """Return the tables as Markdown, with a legend."""
    parts = ["# Results recap compared with the paper\n"]
    if note:
        parts.append(f"**{note}**\n")
    parts.append(LEGEND)
    for environment, scenarios in group_by_environment(rows):
        for name, scenario_rows in scenarios:
            parts.append(f"## {printable(world_title(environment))}, {name}\n")
            parts.append("| " + " | ".join(head or "verdict" for head in _HEADS) + " |")
            parts.append("|---|---:|---:|---:|---:|---:|---:|---|")
            parts += ["| " + " | ".join(map(markdown_cell, row_texts(row))) + " |" for row in scenario_rows]
            parts += ["", *(f"{text}\n" for text in alternative_setting_notes(scenario_rows))]
    return "\n".join(parts)


LEGEND = """\
* discovery: states visited by the end, in percent of the reachable states
* success: return of the final policy, in percent of the optimal return
* ±: two standard errors over the seeds, as in the paper
* learnt: percent of the seeds that learnt an optimal policy, with the 95 % Wilson interval
"""


def rows_as_csv(rows: Iterable[Row], note: str) -> str:
    """Return all numbers of all rows, ours and the paper's, as CSV; the last column is the note."""
    names = ("discovery_mean", "discovery_ci95", "success_mean", "success_ci95")
    heads = ["environment", "initialization", "horizon", "algorithm", "seeds", *names, *(f"paper_{n}" for n in names)]
    heads += ["learnt_share", "learnt_low", "learnt_high", "success_iqm", "iqm_low", "iqm_high"]
    heads += ["verdict", "setting", "note"]
    lines = []
    for row in rows:
        ours = [number for pair in row.ours for number in pair] if row.ours else [None] * 4
        theirs = [number for pair in row.theirs for number in pair] if row.theirs else [None] * 4
        intervals = [*(row.learnt or [None] * 3), *(row.success_iqm or [None] * 3)]
        numbers = ["" if number is None else f"{number:.4f}" for number in (*ours, *theirs, *intervals)]
        lines.append([*row.cell, row.seeds, *numbers, row.verdict, row.setting, note])
    return as_csv(heads, lines)


def as_latex(rows: Iterable[Row], note: str) -> str:
    """Return the tables in the paper's layout, with the paper's numbers in two additional columns."""
    parts = [f"% {note}" if note else "% Generated by wanderlust."]
    for environment, scenarios in group_by_environment(rows):
        caption = f"{world_title(environment)} results recap." + (f" {note}" if note else "")
        parts += ["\\begin{table}[h]", "\\centering", f"\\caption{{{_escape_latex(caption)}}}"]
        parts += [
            "\\begin{tabular}{ c | c | c c | c c }",
            " & & \\multicolumn{2}{c|}{Here} & \\multicolumn{2}{c}{Paper} \\\\",
        ]
        parts += [" & Algorithm" + " & Discovery (\\%) & Success (\\%)" * 2 + " \\\\"]
        for name, scenario_rows in scenarios:
            parts.append("\\hline")
            for i, row in enumerate(scenario_rows):
                label = name.capitalize() if i == len(scenario_rows) // 2 else ""
                algorithm = ALGORITHMS.get(row.cell.algorithm) or _escape_latex(row.cell.algorithm)
                mark = "$^\\dagger$" if row.setting else ""
                parts.append(f"{label} & {algorithm}{mark} & {_latex_numbers(row)} \\\\")
        parts += ["\\end{tabular}"]
        footnotes = alternative_setting_notes(row for _, scenario_rows in scenarios for row in scenario_rows)
        parts += [f"\n{_escape_latex(text)}" for text in footnotes]
        parts += ["\\end{table}", ""]
    return "\n".join(parts)


def _latex_numbers(row: Row) -> str:
    cells: list[str] = []
    for numbers in (row.ours, row.theirs):
        cells += [f"${x.mean:.2f} \\pm {x.ci:.2f}$" for x in numbers] if numbers else ["--", "--"]
    return " & ".join(cells)


def _escape_latex(text: str) -> str:
    commands: dict[str, str | int | None] = {
        DAGGER: "$^\\dagger$",
        "±": "$\\pm$",
        "κ": "$\\kappa$",
        "%": "\\%",
        "_": "\\_",
        **{letter: f"\\{letter}" for letter in "&#${}"},
        "\\": "\\textbackslash{}",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
    }
    return printable(text).translate(str.maketrans(commands))
