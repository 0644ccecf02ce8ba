"""The output format of `worlds` and `explorers`: one line per entry, then one line per option."""

from __future__ import annotations

from collections.abc import Sequence

Options = list[tuple[str, str]]
"""Options as name=default, each with its description."""


def print_listing(entries: Sequence[tuple[str, str, Options]]) -> None:
    """Print (name, description, options) of every entry."""
    name_width = max(len(name) for name, _, _ in entries)
    option_width = max(len(option) for _, _, options in entries for option, _ in options)
    for name, description, options in entries:
        print(f"{name:<{name_width}}  {description}")
        for option, option_description in options:
            print(f"    {option:<{option_width}}  {option_description}".rstrip())
