"""Why a cell of the recap tables may differ from the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust.reports.cells import Cell, Numbers, Row

_KNOWN: Mapping[Cell, str] = {}
"""What a closer look at single cells has shown."""


def reason(row: Row) -> str:
    """Return a sentence on a cell that differs: what is known of it, or how far off it is."""
    known = _KNOWN.get(row.cell)
    if known is not None:
        return known
    assert row.ours
    assert row.theirs
    parts = []
    for name, mine, paper, error in zip(Numbers._fields, row.ours, row.theirs, row.error, strict=True):
        apart = abs(mine.mean - paper.mean)
        if error > 0:
            parts.append(f"{name} is {apart / error:.1f} standard errors off")
        elif apart > 0:
            parts.append(f"{name} has no spread over the seeds, here and in the paper, and is {apart:.2f} points off")
    return "; ".join(parts) + "."
