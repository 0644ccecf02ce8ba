"""The cells of the recap tables (Tables 3 to 8), and our comparison with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from wanderlust.experiments.statistics import Interval, Percent

PAPER_SEEDS = 20
VERDICTS = ("agrees", "differs", "not compared", "no runs")


class Cell(NamedTuple):
    """One row of the paper's recap tables, identified by scenario and algorithm."""

    environment: str
    initialization: str
    horizon: str
    algorithm: str


class Numbers(NamedTuple):
    """The two numbers of a cell."""

    discovery: Percent
    success: Percent


class AlternativeSetting(NamedTuple):
    """A setting with which the runs of a cell are executed a second time."""

    description: str
    budget: int | None = None
    preset: str = "as_published_code"
    states: int | None = None
    """The number of states of which discovery is a percentage, if it is not that of the reachable ones."""

    @property
    def needs_runs(self) -> bool:
        """Whether the setting changes the runs themselves, not only how they are reported."""
        return self.states is None

    @property
    def follows_text(self) -> bool:
        """Whether it follows the paper's text instead of the released code."""
        return self.preset == "as_written"


class Row(NamedTuple):
    """A cell with our numbers, the paper's numbers and the verdict."""

    cell: Cell
    seeds: int
    planned: int
    ours: Numbers | None
    theirs: Numbers | None
    error: tuple[float, float]
    """Standard errors of the two differences."""
    learnt: Interval | None
    """The share of seeds that learnt an optimal policy."""
    success_iqm: Interval | None
    verdict: str
    """One of `VERDICTS`."""
    setting: str = ""
    """The alternative setting of `ours`, if the row agrees only with that."""
    follows_text: bool = False
    """Whether that setting follows the paper's text instead of the released code."""
    default: Numbers | None = None
    """Our numbers with the setting of the other rows, if `setting` is not empty."""
    plain: str = ""
    """The verdict with seeds 1 to 20 and the default setting; empty if it was not compared."""
    released: Numbers | None = None
    """Our numbers with the setting of the released code, if the default setting was inferred."""
    released_seeds: int = 0
    released_verdict: str = ""

    @property
    def agrees_by_default(self) -> bool:
        """Whether it agrees with the default setting."""
        return self.verdict == "agrees" and not self.setting


def rounded(row: Row) -> Row:
    """Return a row whose numbers have the digits of `as_json`, so that everything computed from both is equal."""
    return row._replace(
        ours=_rounded_numbers(row.ours),
        theirs=_rounded_numbers(row.theirs),
        error=(_rounded(row.error[0]), _rounded(row.error[1])),
        default=_rounded_numbers(row.default),
        released=_rounded_numbers(row.released),
    )


def _rounded_numbers(numbers: Numbers | None) -> Numbers | None:
    return numbers and Numbers(*(Percent(_rounded(each.mean), _rounded(each.ci)) for each in numbers))


def as_json(rows: Iterable[Row], note: str) -> str:
    """Return the rows as JSON."""
    return json.dumps({"note": note, "cells": [as_entry(row) for row in rows]}, indent=1, allow_nan=False) + "\n"


def as_entry(row: Row) -> dict[str, Any]:
    """Return a row as plain values."""
    difference: dict[str, float] | None = None
    error: dict[str, float] | None = None
    if row.ours and row.theirs and row.verdict in ("agrees", "differs"):
        difference = {
            "discovery": _rounded(row.ours.discovery.mean - row.theirs.discovery.mean),
            "success": _rounded(row.ours.success.mean - row.theirs.success.mean),
        }
        error = {"discovery": _rounded(row.error[0]), "success": _rounded(row.error[1])}
    return {
        **row.cell._asdict(),
        "seeds": row.seeds,
        "planned": row.planned,
        "ours": _numbers(row.ours),
        "theirs": _numbers(row.theirs),
        "difference": difference,
        "standard_error": error,
        "learnt": row.learnt._asdict() if row.learnt else None,
        "success_iqm": row.success_iqm._asdict() if row.success_iqm else None,
        "verdict": row.verdict,
        "verdict_with_20_seeds": row.plain,
        **(_alternative_entry(row) if row.setting else {}),
        **(_released_entry(row) if row.released else {}),
    }


def _released_entry(row: Row) -> dict[str, Any]:
    return {
        "released": _numbers(row.released),
        "released_seeds": row.released_seeds,
        "released_verdict": row.released_verdict,
    }


def _alternative_entry(row: Row) -> dict[str, Any]:
    return {"setting": row.setting, "of_text": row.follows_text, "with_the_usual_setting": _numbers(row.default)}


def _numbers(numbers: Numbers | None) -> dict[str, dict[str, float]] | None:
    if numbers is None:
        return None
    return {
        name: {"mean": _rounded(value.mean), "ci95": _rounded(value.ci)} for name, value in numbers._asdict().items()
    }


def _rounded(number: float) -> float:
    return round(number, 4)
