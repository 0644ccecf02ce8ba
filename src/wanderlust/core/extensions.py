"""Commands and reports of other packages, found by entry points.

A distribution adds to wanderlust with two groups in its `pyproject.toml`:

    [project.entry-points."wanderlust.commands"]   command name -> function, as in `wanderlust.cli`
    [project.entry-points."wanderlust.reports"]    kind of report -> module, as `wanderlust.experiments.report_kinds`
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

COMMANDS, REPORTS = "wanderlust.commands", "wanderlust.reports"

_OURS = (
    EntryPoint("reproduce", "wanderlust_paper.command:reproduce", COMMANDS),
    EntryPoint("studies", "wanderlust_paper.reproduce", REPORTS),
)
"""The second package of this distribution, for a source tree that is not installed and so has no metadata."""


def extensions(group: str) -> list[EntryPoint]:
    """Return the entry points of a group; `load` imports what each names."""
    found = {each.name: each for each in _OURS if each.group == group} | {
        each.name: each for each in entry_points(group=group)
    }
    return [each for each in found.values() if find_spec(each.module.partition(".")[0]) is not None]
