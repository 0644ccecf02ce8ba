"""The console on which commands print their tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def new_console(width: int = 150, *, highlight: bool = True) -> Console:
    """Return a console for standard output; `width` applies where that is not a terminal."""
    from rich.console import Console

    return Console(highlight=highlight, width=None if sys.stdout.isatty() else width)
