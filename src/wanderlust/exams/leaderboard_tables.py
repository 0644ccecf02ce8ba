"""The leaderboard as a table in the terminal and as a page of the documentation."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wanderlust.exams.card import interval_text, number_text, time_text
from wanderlust.exams.card_markdown import markdown_table
from wanderlust.exams.card_terminal import bar, heat_style, width_of
from wanderlust.exams.leaderboard import COMMAND, Leaderboard
from wanderlust.exams.scores import ExplorerScores
from wanderlust.exams.timing import TIMED_WORLD
from wanderlust.experiments.report.text_tables import fit_to_width, markdown_cell, printable

_HEADS = ("rank", "explorer", "total", "95 % interval", "by the data", "passed", "time per step")
_DIFFERENCES = (
    "Ranks: an explorer with the rank 2–5 is worse than one other and better than all but four others, with a "
    "difference whose 95 % interval does not contain 0. The others cannot be told apart from it by these data. "
    "Intervals: bootstrap over worlds and seeds; two explorers are compared in the same worlds. Each interval is for "
    "one pair of explorers; nothing is corrected for the number of pairs."
)


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """Print the ranking, and the scores of all families."""
    console.print(Text("Leaderboard", "bold"))
    console.print(Text(f"{board.extent[:1].upper()}{board.extent[1:]}; wanderlust {board.version}."))
    console.print(fit_to_width(_ranking(board), console.width))
    families = _families(board)
    if width_of(families) <= console.width:
        console.print(families)
    else:
        console.print(Text(f"The scores of the families need a terminal of {width_of(families)} columns.\n"))
    for line in _failures(board):
        console.print(Text(printable(line), "red"))
    console.print(Text(f"{_DIFFERENCES}\nMade with: {COMMAND}", "dim"))


def _failures(board: Leaderboard) -> list[str]:
    """Return a sentence for each world in which a run of an explorer failed."""
    return [
        f"A run of {each.label} in {family}, level {level}, failed and counts 0: {failed.error}"
        for each in board.explorers
        for (family, level), failed in each.failures.items()
    ]


def _cells(board: Leaderboard, explorer: ExplorerScores) -> list[str]:
    total = explorer.total()
    return [
        board.standings[explorer.explorer].range_text,
        explorer.label,
        number_text(total.estimate),
        interval_text(total),
        number_text(explorer.total(data=True).estimate),
        f"{explorer.n_passed} of {len(explorer.worlds)}",
        time_text(explorer.step_microseconds),
    ]


def _ranking(board: Leaderboard) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for i, head in enumerate(_HEADS):
        table.add_column(head, justify="left" if i == 1 else "right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for explorer in board.explorers:
        table.add_row(*map(printable, _cells(board, explorer)), bar(explorer.total().estimate, 24))
    return table


def _families(board: Leaderboard) -> Table:
    families = list(dict.fromkeys(family for family, _ in board.places))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), collapse_padding=True)
    table.add_column("", no_wrap=True)
    for family in families:
        table.add_column(family, justify="right", no_wrap=True)
    for explorer in board.explorers:
        cells = [_heat(explorer.family_score(family)) for family in families]
        table.add_row(Text(f"{printable(explorer.label)} "), *cells)
    return table


def _heat(score: float) -> Text:
    return Text(f" {score:.2f} ", heat_style(score))


def leaderboard_page(board: Leaderboard) -> str:
    """Return the page of the documentation."""
    families = list(dict.fromkeys(family for family, _ in board.places))
    rows = [[markdown_cell(cell) for cell in _cells(board, each)] for each in board.explorers]
    scores = [
        [markdown_cell(each.label), *(f"{each.family_score(family):.2f}" for family in families)]
        for each in board.explorers
    ]
    parts = [
        "# Leaderboard",
        f"All explorers of the package in the [exam](exam.md): {board.extent}; wanderlust {board.version}. "
        "`wanderlust exam --leaderboard` prints the first two tables.",
        markdown_table(_HEADS, rows, n_text=2),
        _DIFFERENCES,
        *map(markdown_cell, _failures(board)),
        "## Families",
        "Mean score of each family.",
        markdown_table(("explorer", *families), scores),
        "## Which ranks cannot be told apart",
        "Each explorer with those after it, if the 95 % interval of the difference of their totals contains 0. The "
        "intervals of all other differences do not.",
        markdown_table(("explorer", "cannot be told apart from"), _pairs(board), n_text=2),
        "## How it was made",
        f"```sh\n{COMMAND}\n```",
        "The command executes the runs that are not stored yet, writes the score of every run to "
        "`src/wanderlust/exams/leaderboard.json`, and makes this page from that file. The time per step was "
        f"measured on one machine in {TIMED_WORLD}; only ratios matter.",
        "In brackets: a setting that is not the explorer's default. It was [chosen in the development "
        "worlds](exam-tuning.md), as the default settings of the explorers that are not in the paper were. That page "
        "lists the trials of each explorer, and for which ones there were more: `vv-plan` was developed in those "
        "worlds.",
    ]
    return "\n\n".join(parts) + "\n"


def _pairs(board: Leaderboard) -> list[list[str]]:
    rows = []
    for i, explorer in enumerate(board.explorers):
        close = []
        for other in board.explorers[i + 1 :]:
            difference = explorer.minus(other)
            if difference.low <= 0 <= difference.high:
                close.append(f"{other.label} ({difference.estimate:.3f}, {interval_text(difference)})")
        if close:
            rows.append([markdown_cell(explorer.label), markdown_cell("; ".join(close))])
    return rows or [["–", "–"]]
