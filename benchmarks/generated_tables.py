"""Tables of measurements in a page of the documentation, which the script that measures them replaces.

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def replace_text(page: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a name."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(before)) != 1:
        raise SystemExit(f"{page}: needs exactly one {begin} … {end}.")
    page.write_text(pattern.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", before), encoding="utf-8")


def replace_table(page: Path, name: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Replace a table; all columns but the first and the last are numbers if they look like numbers."""
    is_number = [all(re.match(r"^[\d.,]", row[i]) for row in rows) and i > 0 for i in range(len(heads))]
    lines = [heads, ["---:" if number else "---" for number in is_number], *rows]
    replace_text(page, name, "\n".join(f"| {' | '.join(cells)} |" for cells in lines))
