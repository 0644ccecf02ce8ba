"""The command `worlds`."""

from __future__ import annotations


def worlds() -> None:
    """List the built-in worlds with their options, default values and descriptions.

    Example: wanderlust worlds
    """
    from wanderlust.cli.printing import print_listing
    from wanderlust.envs.registration import environment_id
    from wanderlust.worlds import world_names, world_options
    from wanderlust.worlds.registry import world_meaning

    entries = []
    for name in world_names():
        options = [(f"{option.name}={option.default}", option.meaning) for option in world_options(name)]
        entries.append((name, f"{world_meaning(name)} Gymnasium: {environment_id(name)}", options))
    print_listing(entries)
