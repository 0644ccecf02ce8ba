"""Report cards and the leaderboard as files (templates for HTML and Markdown, JSON) and as tables in the terminal."""

from __future__ import annotations

import functools
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wanderlust.core.files import write_file
from wanderlust.exams.card import Card, others, score_values
from wanderlust.exams.leaderboard import COMMAND, Leaderboard
from wanderlust.exams.scores import TIMED_WORLD
from wanderlust.experiments.exact_returns import FIRST_EVALUATION, evaluation_fractions
from wanderlust.experiments.report.text_tables import fit_to_width, markdown_cell, printable

if TYPE_CHECKING:
    import jinja2

Values = Mapping[str, Any]
FORMATS = (".html", ".md", ".json", ".txt")
WRITTEN = (".html", ".md", ".json")
"""The files of a card in the folder of its exam."""
TEXT_WIDTH = 100
DIFFERENCES = (
    "Ranks: an explorer with the rank 2–5 is worse than one other and better than all but four others, with a "
    "difference whose 95 % interval does not contain 0. The others cannot be told apart from it by these data. "
    "Intervals: bootstrap over worlds and seeds; two explorers are compared in the same worlds. Each interval is for "
    "one pair of explorers; nothing is corrected for the number of pairs."
)
_BAR = 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LINE = "▁▂▃▄▅▆▇█"
_COLORS = ("#800000", "#8a4b00", "#6e6e00", "#3f7000", "#00703a")
"""Backgrounds of scores from 0 to 1, on which white text is readable."""
_DIM = "dim"
_MAX_HEAD = 14
_UNLIMITED = 10_000


# --- Cells -------------------------------------------------------------------------------------------------------


def number_text(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of digits; a dash if it is not known."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def interval_text(interval: Mapping[str, float]) -> str:
    """Return the bounds of an interval; a dash if they are not known."""
    return f"{interval['low']:.3f} to {interval['high']:.3f}" if math.isfinite(interval["low"]) else "–"


def time_text(microseconds: float) -> str:
    """Return the time of a step."""
    return f"{microseconds:.1f} µs" if math.isfinite(microseconds) else "–"


def score_cells(explorer: Values) -> dict[str, str]:
    """Return the cells of an explorer in a table of all explorers, by their heads."""
    rank = explorer["rank"]
    return {
        "total": number_text(explorer["total"]["estimate"]),
        "95 % interval": interval_text(explorer["total"]),
        "by the data": number_text(explorer["total_by_the_data"]["estimate"]),
        "rank": "–" if rank is None else f"{rank['rank']} of {rank['of']}",
        "passed": f"{explorer['passed']} of {explorer['worlds']}",
        "time per step": time_text(explorer["step_microseconds"]),
    }


def sparkline(curve: Sequence[float]) -> str:
    """Return a learning curve as a line of blocks."""
    return "".join(_LINE[min(int(value * len(_LINE)), len(_LINE) - 1)] for value in np.nan_to_num(curve))


def axis_position(share: float) -> float:
    """Return the position of a share of the budget on a logarithmic axis, from 0 to 1."""
    return float(1 - np.log(share) / np.log(FIRST_EVALUATION))


def points(curve: Sequence[float], left: float, top: float, width: float, height: float) -> str:
    """Return a learning curve as the points of a line in SVG."""
    return " ".join(
        f"{left + width * axis_position(float(share)):.1f},{top + height * (1 - float(value)):.1f}"
        for share, value in zip(evaluation_fractions(), np.nan_to_num(curve), strict=True)
    )


# --- Files -------------------------------------------------------------------------------------------------------


def card_text(card: Card, suffix: str) -> str:
    """Return the card in the format of a file's suffix."""
    if suffix == ".json":
        return json.dumps(_plain(card), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    if suffix == ".txt":
        console = Console(file=io.StringIO(), width=TEXT_WIDTH, color_system=None, markup=False, emoji=False)
        print_card(card, console)
        assert isinstance(console.file, io.StringIO)
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
    return _environment(suffix).get_template(f"card{suffix}").render(card, card=card)


def write_cards(card: Card, folder: Path) -> None:
    """Write card.html, card.md and card.json to a folder."""
    for suffix in WRITTEN:
        write_file(folder / f"card{suffix}", card_text(card, suffix))


def leaderboard_page(board: Leaderboard) -> str:
    """Return the page of the documentation."""
    scores = _board_values(board)
    pairs = []
    for i, explorer in enumerate(board.explorers):
        differences = [(other.label, explorer.minus(other)) for other in board.explorers[i + 1 :]]
        close = [
            f"{label} ({difference.estimate:.3f}, {interval_text(difference._asdict())})"
            for label, difference in differences
            if difference.low <= 0 <= difference.high
        ]
        if close:
            pairs.append((explorer.label, "; ".join(close)))
    return _environment(".md").get_template("leaderboard.md").render(
        board=board, scores=scores, rows=_board_rows(scores), pairs=pairs or [("–", "–")], failures=_failures(board),
        differences=DIFFERENCES, command=COMMAND, timed_world=TIMED_WORLD,
    )  # fmt: skip


@functools.cache
def _environment(suffix: str) -> jinja2.Environment:
    """Return the templates of a format, in which every inserted text is escaped unless it is `Markup`."""
    import jinja2
    from markupsafe import Markup

    def escaped(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, Markup):
            return value
        return printable(value) if suffix == ".html" else markdown_cell(value)

    def row(cells: Sequence[Any]) -> Markup:
        return Markup("| {} |").format(Markup(" | ").join(Markup(escaped(cell)) for cell in cells))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wanderlust.exams", "templates"), autoescape=suffix == ".html", finalize=escaped,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "number": number_text,
        "interval": interval_text,
        "time": time_text,
        "cells": score_cells,
        "others": lambda explorer, card: others(card, explorer),
        "position": axis_position,
        "points": points,
        "sparkline": sparkline,
        "row": row,
        "bold": lambda text: Markup(f"**{escaped(text)}**"),
        "code": lambda text: Markup(printable(text)),
    }
    environment.globals["timed_world"] = TIMED_WORLD
    return environment


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it: numbers rounded, None for those that are not known."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


# --- Terminal ----------------------------------------------------------------------------------------------------


class Command(Text):
    """A command to copy."""

    def __init__(self, command: str) -> None:
        super().__init__(f"  {printable(command)}", "cyan")


def print_card(card: Card, console: Console) -> None:
    """Print the card."""
    for part in _card_parts(card, console.width):
        # A command stays on one line, so that it can be copied.
        console.print(part, highlight=False, soft_wrap=isinstance(part, Command))


def _card_parts(card: Card, width: int) -> Iterator[RenderableType]:
    yield Text(f"Exam: {printable(card['title'])}", "bold")
    yield Text(card["extent"])
    yield fit_to_width(_summary_table(card), width)
    for explorer in card["results"]:
        settings = f"  settings: {printable(explorer['settings'])}"
        yield Text.assemble((f"\n{printable(explorer['label'])}", "bold"), (settings, _DIM))
        if explorer["families"]:
            yield _fitting_table(card, explorer, width)
        yield from _findings(explorer)
    yield Text("\n" + " ".join(map(printable, card["notes"])), _DIM)
    yield Text(card["rule"], _DIM)


def _summary_table(card: Card) -> Table:
    """Return one row per explorer: total, interval, rank, levels passed, time."""
    table = _table("", "total", "95 %", "by data", "rank", "passed", "per step")
    for i, explorer in enumerate(card["results"] + card["references"]):
        is_own = i < len(card["results"])
        style = "bold" if is_own else _DIM
        total, *cells = score_cells(explorer).values()
        short = [cell.replace(" to ", "–").replace(" of ", "/") for cell in cells]
        label = Text(printable(explorer["label"]), style)
        table.add_row(label, Text(total, style), *short, style="" if is_own else _DIM)
    return table


def _table(*heads: str, text_column: int = 0) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i == text_column else "right", no_wrap=True)
    return table


def _fitting_table(card: Card, explorer: Values, width: int) -> RenderableType:
    """Return the table of the families, without the learning curves and the bars if they do not fit."""
    for curves, bars in ((True, True), (False, True), (False, False)):
        table = _family_table(card, explorer, curves=curves, bars=bars)
        if _width_of(table) <= width:
            return table
    return fit_to_width(table, width)


def _width_of(table: Table) -> int:
    """Return the width in which a table shows all its cells on one line."""
    return Console(width=_UNLIMITED).measure(table).maximum


def _family_table(card: Card, explorer: Values, *, curves: bool, bars: bool) -> Table:
    """Return one row per family: a bar, the scores of others, the levels, the learning curve."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for head in ("family", "score", *([""] if bars else [])):
        table.add_column(head, no_wrap=True)
    beside = others(card, explorer)
    for label in (printable(other["label"]) for other in beside):
        short = label if len(label) <= _MAX_HEAD else f"{label[: _MAX_HEAD - 1]}…"
        table.add_column(Text(short, _DIM), justify="right", no_wrap=True)
    levels = sorted({level for family in explorer["families"].values() for level in family["levels"]})
    for level in levels:
        table.add_column(f"level {level}" if level == levels[0] else str(level), justify="center", no_wrap=True)
    if curves:
        table.add_column("learning", no_wrap=True)
    for name, family in explorer["families"].items():
        scores = [other["families"].get(name, {}).get("score", math.nan) for other in beside]
        table.add_row(
            name,
            f"{family['score']:.2f}",
            *([_bar(family["score"])] if bars else []),
            *(Text(number_text(score, 2), _DIM) for score in scores),
            *(_level_cell(family["levels"].get(level)) for level in levels),
            *([Text(sparkline(family["curve"]))] if curves else []),
        )
    return table


def _bar(score: float, width: int = _BAR) -> Text:
    """Return a horizontal bar."""
    full, rest = divmod(round(8 * width * min(max(score, 0.0), 1.0)), 8)
    return Text(("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width), "green")


def _level_cell(level: Values | None) -> Text:
    """Return the score of a level on a color, with a tick if it is passed and "!" if a run failed."""
    if level is None:
        return Text("–", _DIM)
    # Never a space, which would be cut off with its color.
    mark = "!" if level["failed"] else "✓" if level["passed"] else "·"
    return Text(f" {level['score']:.2f} {mark}", f"{_heat(level['score'])}{' bold' if level['passed'] else ''}")


def _heat(score: float) -> str:
    """Return the color of a score."""
    return f"white on {_COLORS[min(int(score * len(_COLORS)), len(_COLORS) - 1)]}"


def _findings(explorer: Values) -> Iterator[RenderableType]:
    """Yield the rank, the weak point with its command, and the errors."""
    if explorer["rank"] is not None:
        yield Text(printable(explorer["rank"]["sentence"]))
    if (weak := explorer["fails_at"]) is not None:
        yield Text.assemble((weak["sentence"], "bold"), f" {weak['meaning']} Replay exactly this run:")
        yield Command(weak["watch"])
    elif explorer["strength"] is not None:
        yield Text(explorer["strength"], "bold")
    for error in explorer["errors"]:
        yield Text.assemble((error["where"], "bold red"), f" {printable(error['error'])}")
        yield Command(error["run"])


# --- The leaderboard ---------------------------------------------------------------------------------------------


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """Print the ranking, and the scores of all families."""
    scores = _board_values(board)
    rows = _board_rows(scores)
    ranking = _table(*rows[0], "", text_column=1)
    for explorer, row in zip(scores, rows, strict=True):
        ranking.add_row(*map(printable, row.values()), _bar(explorer["total"]["estimate"], 24))
    families = Table(box=box.SIMPLE_HEAD, padding=(0, 0), collapse_padding=True)
    families.add_column("", no_wrap=True)
    for family in scores[0]["families"]:
        families.add_column(family, justify="right", no_wrap=True)
    for explorer in scores:
        cells = [family["score"] for family in explorer["families"].values()]
        label = Text(f"{printable(explorer['label'])} ")
        families.add_row(label, *(Text(f" {score:.2f} ", _heat(score)) for score in cells))
    console.print(Text("Leaderboard", "bold"))
    console.print(Text(f"{board.extent[:1].upper()}{board.extent[1:]}; wanderlust {board.version}."))
    console.print(fit_to_width(ranking, console.width))
    if (width := _width_of(families)) <= console.width:
        console.print(families)
    else:
        console.print(Text(f"The scores of the families need a terminal of {width} columns.\n"))
    for line in _failures(board):
        console.print(Text(printable(line), "red"))
    console.print(Text(f"{DIFFERENCES}\nMade with: {COMMAND}", _DIM))


def _board_values(board: Leaderboard) -> list[dict[str, Any]]:
    return [score_values(each, board.standings[each.explorer]) for each in board.explorers]


def _board_rows(scores: Sequence[Values]) -> list[dict[str, str]]:
    """Return the rows of the ranking, by their heads."""
    return [
        {"rank": each["rank"]["range"], "explorer": each["label"]}
        | {head: cell for head, cell in score_cells(each).items() if head != "rank"}
        for each in scores
    ]


def _failures(board: Leaderboard) -> list[str]:
    """Return a sentence for each world in which a run of an explorer failed."""
    return [
        f"A run of {each.label} in {family}, level {level}, failed and counts 0: {failed.error}"
        for each in board.explorers
        for (family, level), failed in each.failures.items()
    ]
