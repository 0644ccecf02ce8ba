"""Settings and options of explorers, as commands take them: --set name=value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wanderlust.agents.settings import SETTING_NAMES
from wanderlust.cli.options import read_options
from wanderlust.core.errors import InvalidSetting, check_options
from wanderlust.explorers.registry import explorer_options

REWARD_RANGE = "reward_range"
"""No setting, but `learn` takes it: the smallest and the largest reward."""
_EVERYONES = {*SETTING_NAMES, REWARD_RANGE} - {"steps"}


def read_settings(changes: Iterable[str], explorers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what of some name=value each explorer is to learn with: an option is for those that have it."""
    found = read_options(changes)
    if "steps" in found:
        raise InvalidSetting(f"give the number of steps as --steps {found['steps']}, not with --set.")
    own = {explorer: {option.name for option in explorer_options(explorer)} for explorer in explorers}
    check_options(f"learning with {' or '.join(explorers)}", found, _EVERYONES.union(*own.values()))
    return {
        explorer: {name: value for name, value in found.items() if name in _EVERYONES | own[explorer]}
        for explorer in explorers
    }
