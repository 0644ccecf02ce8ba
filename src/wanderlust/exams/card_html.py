"""The report card as one self-contained HTML page, for wide and narrow screens, light and dark mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from wanderlust.exams.card import (
    RULE,
    SUMMARY_HEADS,
    Card,
    family_meaning,
    interval_text,
    number_text,
    rank_sentence,
    settings_text,
    summary_cells,
    time_text,
)
from wanderlust.exams.card_plots import curve_plot, legend, small_plot
from wanderlust.exams.scores import ExplorerScores, WorldScores
from wanderlust.exams.timing import TIMED_WORLD
from wanderlust.experiments.report.text_tables import printable


def card_as_html(card: Card) -> str:
    """Return the card as a page."""
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(card.title)}</title><style>\n{_style()}</style></head>",
        "<body><main>",
        f"<header><p class=kind>Report card</p><h1>{_text(card.title.removeprefix('Exam: '))}</h1>"
        f"<p class=dim>{_text(card.extent)}</p></header>",
        *(_summary(card) if len(card.explorers) + len(card.references) > 1 else ()),
        *(part for explorer in card.explorers for part in _section(card, explorer)),
        "<footer>",
        *(f"<p>{_text(note)}</p>" for note in card.notes),
        f"<p>{_text(RULE)}</p></footer>",
        "</main></body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    return (files("wanderlust.exams") / "card.css").read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(printable(text))


def _row(cells: Iterable[str], tag: str = "td", attributes: str = "") -> str:
    return f"<tr{attributes}>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _summary(card: Card) -> Iterator[str]:
    """Yield the table of all explorers."""
    yield f"<div class=wide><table class=summary><thead>{_row(SUMMARY_HEADS, 'th')}</thead><tbody>"
    for explorer in (*card.explorers, *card.references):
        cells = (_text(explorer.label), *summary_cells(card, explorer))
        yield _row(cells, attributes=" class=own" if explorer in card.explorers else "")
    yield "</tbody></table></div>"


def _section(card: Card, explorer: ExplorerScores) -> Iterator[str]:
    """Yield everything about one explorer."""
    title = f"<h2>{_text(explorer.label)}</h2>" if len(card.explorers) > 1 else ""
    yield f"<section>{title}"
    yield from _facts(card, explorer)
    yield from _sentences(card, explorer)
    if explorer.worlds:
        shown = [explorer, *card.others(explorer)]
        labels = [each.label for each in shown]
        yield f"<h3>Families</h3>{legend(labels)}"
        yield from _bars(shown)
        yield "<h3>Levels</h3>"
        yield from _levels(explorer)
        yield f"<h3>Learning curves</h3>{legend(labels)}"
        yield from _curves(shown)
    yield "</section>"


def _facts(card: Card, explorer: ExplorerScores) -> Iterator[str]:
    """Yield the total, the rank and so on, as large numbers."""
    total, data = explorer.total(), explorer.total(data=True)
    facts = [
        ("total", number_text(total.estimate), f"95 %: {interval_text(total)}"),
        ("by the data", number_text(data.estimate), f"95 %: {interval_text(data)}"),
    ]
    place = card.standings.get(explorer.explorer)
    if place is not None:
        facts.append(("rank", str(place.rank), f"of {place.n}; from {place.best} to {place.worst} possible"))
    facts.append(("levels passed", str(explorer.n_passed), f"of {len(explorer.worlds)}"))
    facts.append(("time per step", time_text(explorer.step_microseconds), f"in {TIMED_WORLD}"))
    yield "<dl class=facts>"
    for name, value, note in facts:
        yield f"<div><dt>{name}</dt><dd><b>{value}</b><small>{note}</small></dd></div>"
    yield f"</dl><p class=dim>Settings: {_text(settings_text(explorer))}.</p>"


def _sentences(card: Card, explorer: ExplorerScores) -> Iterator[str]:
    weak = card.weak_point(explorer)
    if rank := rank_sentence(card.standings.get(explorer.explorer)):
        yield f"<p>{_text(rank)}</p>"
    if weak is not None:
        yield f"<div class=weak><p><b>{weak.sentence}</b> {_text(family_meaning(weak.place[0]))}</p>"
        yield f"<p>Replay exactly this run:</p><pre>{_text(weak.command)}</pre></div>"
    elif strength := card.strength(explorer):
        yield f"<div class=strong><p><b>{strength}</b></p></div>"
    for where, error, command in card.error_sentences(explorer):
        yield f"<div class=error><p><b>{where}</b> {_text(error)}</p><pre>{_text(command)}</pre></div>"


def _bars(shown: Sequence[ExplorerScores]) -> Iterator[str]:
    """Yield the bars of every family: the explorer's own and those of others."""
    yield "<div class=bars>"
    for family in shown[0].families:
        scores = [each.family_score(family) if family in each.families else None for each in shown]
        bars = "".join(
            f'<i class="s{i}" style="--v:{score:.4f}" title="{_text(each.label)} {score:.3f}"></i>'
            for i, (each, score) in enumerate(zip(shown, scores, strict=True))
            if score is not None
        )
        listed = ", ".join(
            f"{each.label} {score:.2f}" for each, score in zip(shown, scores, strict=True) if score is not None
        )
        yield f'<div title="{_text(family_meaning(family))}"><span>{family}</span>'
        yield f'<div role=img aria-label="{_text(listed)}">{bars}</div>'
        yield f"<span class=number>{scores[0]:.2f}</span></div>"
    yield "</div>"


def _levels(explorer: ExplorerScores) -> Iterator[str]:
    """Yield the heat map of families and levels."""
    levels = sorted({level for _, level in explorer.worlds})
    heads = ("family", *(f"<span class=long>level </span>{level}" for level in levels), "what it tests")
    yield f"<table class=levels><thead>{_row(heads, 'th')}</thead><tbody>"
    for family in explorer.families:
        known = explorer.levels_of(family)
        cells = "".join(_level_cell(known.get(level), (family, level) in explorer.failures) for level in levels)
        yield f"<tr><th>{family}</th>{cells}<td class=meaning>{_text(family_meaning(family))}</td></tr>"
    yield "</tbody></table>"


def _level_cell(scores: WorldScores | None, failed: bool) -> str:
    if scores is None:
        return "<td>–</td>"
    score = float(scores.scores.mean())
    mark = "!" if failed else "✓" if scores.passed else ""
    meaning = "error" if failed else "passed" if scores.passed else "not passed"
    return f'<td class=heat style="--v:{score:.4f}" title="{meaning}"><span>{score:.2f}<b>{mark}</b></span></td>'


def _curves(shown: Sequence[ExplorerScores]) -> Iterator[str]:
    """Yield one plot of the mean over all worlds, and a small one for each family."""
    yield f"<figure>{curve_plot([(each.label, each.curve) for each in shown])}"
    yield "<figcaption>Score of the target policy after a share of the budget, mean over all worlds.</figcaption>"
    yield "</figure><div class=small>"
    for family in shown[0].families:
        curves = [each.family_curve(family) if family in each.families else None for each in shown]
        yield f"<figure>{small_plot(family, curves)}<figcaption>{family}</figcaption></figure>"
    yield "</div>"
