"""The report card in the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wanderlust.core.mdp import FloatArray
from wanderlust.exams.card import (
    RULE,
    Card,
    family_meaning,
    rank_sentence,
    settings_text,
    summary_cells,
)
from wanderlust.exams.scores import ExplorerScores, WorldScores
from wanderlust.experiments.report.text_tables import fit_to_width, printable

TEXT_WIDTH = 100
_BAR = 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LINE = "▁▂▃▄▅▆▇█"
_COLORS = ("#800000", "#8a4b00", "#6e6e00", "#3f7000", "#00703a")
"""Backgrounds of scores from 0 to 1, on which white text is readable."""
_DIM = "dim"
_MAX_HEAD = 14
_UNLIMITED = 10_000


class Command(Text):
    """A command to copy."""

    def __init__(self, command: str) -> None:
        super().__init__(f"  {printable(command)}", "cyan")


def card_renderables(card: Card, width: int) -> Iterator[RenderableType]:
    """Yield the parts of the card for a console of this width."""
    yield Text(printable(card.title), "bold")
    yield Text(card.extent)
    yield fit_to_width(summary_table(card), width)
    for explorer in card.explorers:
        yield Text.assemble(("\n" + printable(explorer.label), "bold"), (f"  settings: {_settings(explorer)}", _DIM))
        if explorer.worlds:
            yield _fitting_table(card, explorer, width)
        yield from _sentences(card, explorer)
    yield Text("\n" + " ".join(map(printable, card.notes)), _DIM)
    yield Text(RULE, _DIM)


def summary_table(card: Card) -> Table:
    """Return one row per explorer: total, interval, rank, levels passed, time."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for head in ("total", "95 %", "by data", "rank", "passed", "per step"):
        table.add_column(head, justify="right", no_wrap=True)
    for explorer in (*card.explorers, *card.references):
        is_own = explorer in card.explorers
        style = "bold" if is_own else _DIM
        total, *others = summary_cells(card, explorer)
        short = [cell.replace(" to ", "–").replace(" of ", "/") for cell in others]
        table.add_row(
            Text(printable(explorer.label), style), Text(total, style), *short, style="" if is_own else _DIM
        )
    return table


def _fitting_table(card: Card, explorer: ExplorerScores, width: int) -> RenderableType:
    """Return the table of the families, without the learning curves and the bars if they do not fit."""
    for curves, bars in ((True, True), (False, True), (False, False)):
        table = family_table(card, explorer, curves=curves, bars=bars)
        if width_of(table) <= width:
            return table
    return fit_to_width(table, width)


def width_of(table: Table) -> int:
    """Return the width in which a table shows all its cells on one line."""
    return Console(width=_UNLIMITED).measure(table).maximum


def family_table(card: Card, explorer: ExplorerScores, *, curves: bool = True, bars: bool = True) -> Table:
    """Return one row per family: a bar, the scores of others, the levels, the learning curve."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("family", no_wrap=True)
    table.add_column("score", no_wrap=True)
    if bars:
        table.add_column("", no_wrap=True)
    others = card.others(explorer)
    for other in others:
        table.add_column(Text(_short(printable(other.label)), _DIM), justify="right", no_wrap=True)
    levels = sorted({level for _, level in explorer.worlds})
    for level in levels:
        table.add_column(f"level {level}" if level == levels[0] else str(level), justify="center", no_wrap=True)
    if curves:
        table.add_column("learning", no_wrap=True)
    for family in explorer.families:
        score = explorer.family_score(family)
        known = explorer.levels_of(family)
        table.add_row(
            family,
            f"{score:.2f}",
            *([bar(score)] if bars else []),
            *(Text(_family_text(other, family), _DIM) for other in others),
            *(level_cell(known.get(level), failed=(family, level) in explorer.failures) for level in levels),
            *([Text(sparkline(explorer.family_curve(family)))] if curves else []),
        )
    return table


def _short(label: str) -> str:
    return label if len(label) <= _MAX_HEAD else f"{label[: _MAX_HEAD - 1]}…"


def _family_text(explorer: ExplorerScores, family: str) -> str:
    return f"{explorer.family_score(family):.2f}" if family in explorer.families else "–"


def bar(score: float, width: int = _BAR) -> Text:
    """Return a horizontal bar."""
    eighths = round(8 * width * min(max(score, 0.0), 1.0))
    full, rest = divmod(eighths, 8)
    text = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(text.ljust(width), "green")


def level_cell(scores: WorldScores | None, *, failed: bool = False) -> Text:
    """Return the score of a level on a color, with a tick if it is passed and "!" if a run failed."""
    if scores is None:
        return Text("–", _DIM)
    score = float(scores.scores.mean())
    # Never a space, which would be cut off with its color.
    mark = "!" if failed else "✓" if scores.passed else "·"
    return Text(f" {score:.2f} {mark}", f"{heat_style(score)} bold" if scores.passed else heat_style(score))


def heat_style(score: float) -> str:
    """Return the color of a score."""
    return f"white on {_COLORS[min(int(score * len(_COLORS)), len(_COLORS) - 1)]}"


def sparkline(curve: FloatArray) -> str:
    """Return a learning curve as a line of blocks."""
    return "".join(_LINE[min(int(value * len(_LINE)), len(_LINE) - 1)] for value in np.nan_to_num(curve))


def _settings(explorer: ExplorerScores) -> str:
    return printable(settings_text(explorer))


def _sentences(card: Card, explorer: ExplorerScores) -> Iterator[RenderableType]:
    """Yield the rank, the weak point with its command, and the errors."""
    if rank := rank_sentence(card.standings.get(explorer.explorer)):
        yield Text(printable(rank))
    weak = card.weak_point(explorer)
    if weak is not None:
        yield Text.assemble((weak.sentence, "bold"), f" {family_meaning(weak.place[0])} Replay exactly this run:")
        yield Command(weak.command)
    elif strength := card.strength(explorer):
        yield Text(strength, "bold")
    for where, error, command in card.error_sentences(explorer):
        yield Text.assemble((where, "bold red"), f" {printable(error)}")
        yield Command(command)


def print_card(card: Card, console: Console) -> None:
    """Print the card."""
    for part in card_renderables(card, console.width):
        # A command stays on one line, so that it can be copied.
        console.print(part, highlight=False, soft_wrap=isinstance(part, Command))


def card_as_text(card: Card) -> str:
    """Return the card as plain text."""
    console = Console(file=io.StringIO(), width=TEXT_WIDTH, color_system=None, markup=False, emoji=False)
    print_card(card, console)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
