"""The headline of the scorecard: how many cells of the paper's tables agree, with which settings.

The counts begin with the plain rule and the paper's own seeds. Each setting that was inferred from the paper's numbers
is counted apart. 109 of the 198 cells are 100 ± 0 in both columns, and the rows of `random` with optimistic
initialization repeat those with zero initialization: the other cells are *informative*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wanderlust_paper.reports.recap_cells import Row

PERFECT = (100.0, 0.0)
_DEEP_SEA = "deep sea: 100,000 steps instead of the 500,000 of the released code"
_COMPARED = ("agrees", "differs")


class Count(NamedTuple):
    """A number of cells that agree, of all and of the informative ones."""

    agree: int
    cells: int
    informative_agree: int
    informative: int

    @property
    def texts(self) -> list[str]:
        """The count of all cells, and of the informative ones."""
        return [f"{self.agree} of {self.cells}", f"{self.informative_agree} of {self.informative}"]


class Inferred(NamedTuple):
    """A setting inferred from the paper's numbers, and the cells that it concerns."""

    setting: str
    without: Count | None
    """With the setting of the released code; None if there are no such runs."""
    with_it: Count


class Headline(NamedTuple):
    """All counts."""

    plain: Count
    more_seeds: Count
    inferred: list[Inferred]
    nothing_inferred: Count | None
    everything_inferred: Count


def is_informative(row: Row) -> bool:
    """Return whether a cell can tell explorers apart: not 100 ± 0 in both columns, and not a repeated row."""
    repeated = row.cell.algorithm == "random" and row.cell.initialization == "optimistic"
    return row.theirs is not None and not repeated and not all(tuple(each) == PERFECT for each in row.theirs)


def _count(rows: Iterable[Row], agrees: Callable[[Row], bool]) -> Count:
    rows = list(rows)
    informative = [row for row in rows if is_informative(row)]
    return Count(sum(map(agrees, rows)), len(rows), sum(map(agrees, informative)), len(informative))


def headline(rows: Sequence[Row]) -> Headline | None:
    """Return the counts of the cells that were compared with the paper; None if there are none."""
    compared = [row for row in rows if row.verdict in _COMPARED]
    if not compared:
        return None
    inferred: list[Inferred] = []
    released = [row for row in compared if row.released_verdict in _COMPARED]
    if released:
        without = _count(released, lambda row: row.released_verdict == "agrees")
        inferred.append(Inferred(_DEEP_SEA, without, _count(released, lambda row: row.agrees_by_default)))
    for setting in dict.fromkeys(row.setting for row in compared if row.setting):
        cells = [row for row in compared if row.setting == setting]
        worlds = " and ".join(dict.fromkeys(f"{row.cell.environment}/{row.cell.algorithm}" for row in cells))
        counts = (_count(cells, lambda row: row.agrees_by_default), _count(cells, lambda row: True))
        inferred.append(Inferred(f"{worlds}: {setting}", *counts))

    def without_any(row: Row) -> bool:
        return row.released_verdict == "agrees" if row.released_verdict in _COMPARED else row.agrees_by_default

    return Headline(
        plain=_count((row for row in compared if row.plain), lambda row: row.plain == "agrees"),
        more_seeds=_count(compared, lambda row: row.agrees_by_default),
        inferred=inferred,
        nothing_inferred=_count(compared, without_any) if released else None,
        everything_inferred=_count(compared, lambda row: row.verdict == "agrees"),
    )


def as_table(counts: Headline) -> list[list[str]]:
    """Return the rows of the table: what is counted, all cells, informative cells."""
    deep_sea = any(each.setting == _DEEP_SEA for each in counts.inferred)
    where = ", deep sea with 100,000 steps" if deep_sea else ""
    rows = [
        [f"plain: seeds 1 to 20, the released code{where}", *counts.plain.texts],
        ["more seeds: up to 200 where runs are brief, otherwise the same", *counts.more_seeds.texts],
    ]
    for setting, without, with_it in counts.inferred:
        before = without.texts if without else ["–", "–"]
        pairs = [f"{a} → {b}" for a, b in zip(before, with_it.texts, strict=True)]
        rows.append([f"inferred, {setting}: without → with", *pairs])
    if counts.nothing_inferred:
        rows.append(["more seeds, without any inferred setting", *counts.nothing_inferred.texts])
    rows.append(["more seeds, with all inferred settings", *counts.everything_inferred.texts])
    return rows


TABLE_HEADS = ("cells that agree with the paper", "all", "informative")
LEGEND = (
    "*Informative* cells are those that can tell explorers apart: not 100 ± 0 in both columns of the paper, and not "
    "the rows of `random` with optimistic initialization, which repeat those with zero initialization."
)


def sentence(counts: Headline) -> str:
    """Return the headline in one sentence."""
    plain, more = counts.plain, counts.more_seeds
    text = (
        f"{plain.agree} of {plain.cells} cells agree with the paper with the plain rule and no more than its 20 seeds"
    )
    text += f" ({plain.informative_agree} of the {plain.informative} informative ones)"
    if more.agree != plain.agree:
        text += f", {more.agree} with more seeds where runs are brief ({more.informative_agree})"
    others = counts.everything_inferred.agree - more.agree
    if others:
        text += f"; {others} more with settings inferred from its numbers"
    return text
