"""What a page can ask for besides its lanes: checking a map, an export, and the results of a store."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wanderlust.core.errors import InvalidSetting
from wanderlust.studio.catalogue import catalogue, checked_world, describe_world
from wanderlust.studio.setup import read_setup


@dataclass(frozen=True)
class Services:
    """The answers of the server; paths come from the command line, never from a page."""

    store: Path | None = None
    """The folder of results to browse."""
    extra_explorers: tuple[str, ...] = ()
    """`module:Class` names that the user gave on the command line."""
    opening: dict[str, Any] = field(default_factory=dict)
    """The setup that a new page opens."""

    def catalogue(self) -> dict[str, Any]:
        """Return what a page needs at its start."""
        return {
            **catalogue(self.extra_explorers),
            "opening": self.opening,
            "store": None if self.store is None else self.store.name or str(self.store),
        }

    def check_world(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the description of a world that is being painted, or raise the error of its map."""
        given = {"world": request.get("world"), "world_options": request.get("world_options", {})}
        setup = read_setup(given | {"lanes": [{"explorer": "random"}]})
        world, warnings = checked_world(functools.partial(setup.make_world))
        return {"world": describe_world(world), "warnings": warnings}

    def export(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return a self-contained page that shows the recorded run of a setup."""
        from wanderlust.studio.export import export_page

        setup = read_setup(request.get("setup"), self.extra_explorers)
        return {"html": export_page(setup), "name": f"{setup.world}.html"}

    def results(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the groups of runs of the store, or the curves of one group."""
        from wanderlust.studio.results import browse

        if self.store is None:
            raise InvalidSetting("no results were given; start the studio as `wanderlust studio results/`.")
        return browse(self.store, request.get("group"))
