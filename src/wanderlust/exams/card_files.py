"""The files of a report card: a page, Markdown, JSON and plain text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wanderlust.core.files import finite, write_file
from wanderlust.exams.card import Card, rank_sentence
from wanderlust.exams.card_html import card_as_html
from wanderlust.exams.card_markdown import card_as_markdown
from wanderlust.exams.card_terminal import card_as_text
from wanderlust.exams.leaderboard import Standing
from wanderlust.exams.scores import ExplorerScores
from wanderlust.experiments.exact_returns import look_fractions
from wanderlust.experiments.statistics import Interval
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import VERSION

WRITTEN = (".html", ".md", ".json")


def card_text(card: Card, suffix: str) -> str:
    """Return the card in the format of a file's suffix."""
    forms = {".html": card_as_html, ".md": card_as_markdown, ".json": card_as_json, ".txt": card_as_text}
    return forms[suffix](card)


def write_cards(card: Card, folder: Path) -> None:
    """Write card.html, card.md and card.json to a folder."""
    for suffix in WRITTEN:
        write_file(folder / f"card{suffix}", card_text(card, suffix))


def card_as_json(card: Card) -> str:
    """Return everything that the card shows as JSON."""
    contents = {
        "suite": VERSION,
        "wanderlust": __version__,
        **card.selection.description,
        "first_seed": card.selection.seed_range[0],
        "looks": [round(float(fraction), 4) for fraction in look_fractions()],
        "notes": card.notes,
        "results": [_explorer(card, each) for each in card.explorers],
        "references": [_scores(each) for each in card.references],
    }
    return json.dumps(contents, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _explorer(card: Card, explorer: ExplorerScores) -> dict[str, Any]:
    weak = card.weak_point(explorer)
    place = card.standings.get(explorer.explorer)
    return {
        **_scores(explorer),
        "rank": None if place is None else _standing(place),
        "fails_at": None
        if weak is None
        else {
            "family": weak.place[0],
            "level": weak.place[1],
            "seed": weak.seed,
            "sentence": weak.sentence,
            "watch": weak.command,
            "run": weak.run.command,
        },
        "errors": [
            {"family": family, "level": level, "error": error, "run": command}
            for (family, level), error, command in card.errors(explorer)
        ],
        "missing_runs": explorer.n_missing,
    }


def _scores(explorer: ExplorerScores) -> dict[str, Any]:
    time = explorer.step_microseconds
    return {
        "explorer": explorer.explorer,
        "options": dict(explorer.options),
        "total": _interval(explorer.total()),
        "total_by_the_data": _interval(explorer.total(data=True)),
        "passed": explorer.n_passed,
        "step_microseconds": finite(round(time, 3)),
        "families": {family: _number(explorer.family_score(family)) for family in explorer.families},
        "worlds": [
            {
                "family": family,
                "level": level,
                "passed": world.passed,
                "seeds": list(world.seeds),
                "scores": _numbers(world.scores),
                "scores_by_the_data": _numbers(world.data_scores),
                "last": _numbers(world.last),
                "curve": _numbers(world.curve),
            }
            for (family, level), world in explorer.worlds.items()
        ],
    }


def _standing(place: Standing) -> dict[str, Any]:
    return {
        "rank": place.rank,
        "of": place.n,
        "best": place.best,
        "worst": place.worst,
        "cannot_be_told_apart_from": list(place.equals),
        "sentence": rank_sentence(place),
    }


def _interval(interval: Interval) -> dict[str, float | None]:
    return {name: _number(value) for name, value in interval._asdict().items()}


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    return finite(round(float(value), 6))
