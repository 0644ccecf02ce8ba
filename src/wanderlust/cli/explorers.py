"""The command `explorers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wanderlust.cli import HELP_ONLY

if TYPE_CHECKING or not HELP_ONLY:
    from wanderlust.cli.printing import print_listing
    from wanderlust.explorers.registry import explorer_class, explorer_names, explorer_options


def explorers() -> None:
    """List the explorers with their options, default values and descriptions.

    Example: wanderlust explorers
    """
    entries = []
    for name in explorer_names():
        options = [(f"{option.name}={option.default}", option.text) for option in explorer_options(name)]
        entries.append((name, (explorer_class(name).__doc__ or "").splitlines()[0], options))
    print_listing(entries)
