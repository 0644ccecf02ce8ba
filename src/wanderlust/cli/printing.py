"""Printing to the terminal: consoles, and listings of entries with their options."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console


def new_console(width: int = 150, *, highlight: bool = True, markup: bool = False) -> Console:
    """Return a console for standard output; `width` applies where that is not a terminal.

    Without `markup`, text is printed as it is: names of files and explorers may contain brackets and colons.
    """
    size = None if sys.stdout.isatty() else width
    return Console(highlight=highlight, markup=markup, emoji=markup, width=size)


def print_listing(entries: Sequence[tuple[str, str, list[tuple[str, str]]]]) -> None:
    """Print (name, description, options) of every entry; options are (name=default, description)."""
    name_width = max(len(name) for name, _, _ in entries)
    option_width = max(len(option) for _, _, options in entries for option, _ in options)
    for name, description, options in entries:
        print(f"{name:<{name_width}}  {description}")
        for option, option_description in options:
            print(f"    {option:<{option_width}}  {option_description}".rstrip())
