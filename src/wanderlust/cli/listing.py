"""What the commands `worlds` and `explorers` print: a line for each, and below it one for each of its options."""

from __future__ import annotations

from collections.abc import Iterable

from wanderlust.envs.registration import environment_id
from wanderlust.explorers.registry import explorer_class, explorer_names, explorer_options
from wanderlust.worlds import world_names, world_options
from wanderlust.worlds.registry import world_meaning

Options = list[tuple[str, str]]
"""Each as it would be typed, and a sentence on it."""


def list_worlds() -> None:
    """Print every world with its id as a Gymnasium environment and its options."""
    _print(
        (
            name,
            f"{world_meaning(name)} Gymnasium: {environment_id(name)}",
            [(f"{option.name}={option.default}", option.meaning) for option in world_options(name)],
        )
        for name in world_names()
    )


def list_explorers() -> None:
    """Print every explorer with its options."""
    _print(
        (
            name,
            (explorer_class(name).__doc__ or "").splitlines()[0],
            [(f"{option.name}={option.default}", option.text) for option in explorer_options(name)],
        )
        for name in explorer_names()
    )


def _print(entries: Iterable[tuple[str, str, Options]]) -> None:
    found = list(entries)
    width = max(len(name) for name, _, _ in found)
    of_options = max(len(typed) for _, _, options in found for typed, _ in options)
    for name, meaning, options in found:
        print(f"{name:<{width}}  {meaning}")
        for typed, text in options:
            print(f"    {typed:<{of_options}}  {text}".rstrip())
