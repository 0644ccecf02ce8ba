"""The report card as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wanderlust.exams.card import (
    RULE,
    SUMMARY_HEADS,
    Card,
    family_meaning,
    number_text,
    rank_sentence,
    settings_text,
    summary_cells,
)
from wanderlust.exams.card_terminal import sparkline
from wanderlust.exams.scores import ExplorerScores, WorldScores
from wanderlust.experiments.report.text_tables import markdown_cell, printable


def card_as_markdown(card: Card) -> str:
    """Return the card as a Markdown page."""
    parts = [f"# {markdown_cell(card.title)}", card.extent, _summary(card)]
    for explorer in card.explorers:
        parts.append(f"## {markdown_cell(explorer.label)}")
        parts.append(f"Settings: {markdown_cell(settings_text(explorer))}.")
        parts += _sentences(card, explorer)
        if explorer.worlds:
            parts.append(_families(card, explorer))
    parts += [*map(markdown_cell, card.notes), RULE]
    return "\n\n".join(parts) + "\n"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], n_text: int = 1) -> str:
    """Return a Markdown table whose first columns are text and the others numbers."""
    rule = "|" + "---|" * n_text + "---:|" * (len(heads) - n_text)
    return "\n".join([f"| {' | '.join(heads)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])


def _summary(card: Card) -> str:
    rows = []
    for explorer in (*card.explorers, *card.references):
        name = markdown_cell(explorer.label)
        rows.append((f"**{name}**" if explorer in card.explorers else name, *summary_cells(card, explorer)))
    return markdown_table(SUMMARY_HEADS, rows)


def _families(card: Card, explorer: ExplorerScores) -> str:
    others = card.others(explorer)
    levels = sorted({level for _, level in explorer.worlds})
    names = [markdown_cell(other.label) for other in others]
    heads = ["family", "learning", "score", *names, *(f"level {level}" for level in levels)]
    rows = []
    for family in explorer.families:
        known = explorer.levels_of(family)
        rows.append((
            family,
            sparkline(explorer.family_curve(family)),
            f"**{explorer.family_score(family):.2f}**",
            *(number_text(other.family_score(family), 2) if family in other.families else "–" for other in others),
            *(_level(known.get(level), (family, level) in explorer.failures) for level in levels),
        ))  # fmt: skip
    return markdown_table(heads, rows, n_text=2)


def _level(scores: WorldScores | None, failed: bool) -> str:
    if scores is None:
        return "–"
    mark = " error" if failed else " ✓" if scores.passed else ""
    return f"{scores.scores.mean():.2f}{mark}"


def _sentences(card: Card, explorer: ExplorerScores) -> list[str]:
    sentences = []
    if rank := rank_sentence(card.standings.get(explorer.explorer)):
        sentences.append(markdown_cell(rank))
    weak = card.weak_point(explorer)
    if weak is not None:
        sentences.append(f"**{weak.sentence}** {family_meaning(weak.place[0])} Replay exactly this run:")
        sentences.append(f"    {printable(weak.command)}")
    elif strength := card.strength(explorer):
        sentences.append(f"**{strength}**")
    for where, error, command in card.error_sentences(explorer):
        sentences.append(f"**{where}** {markdown_cell(error)}")
        sentences.append(f"    {printable(command)}")
    return sentences
