"""What `learn` does unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wanderlust.adapters import Tabular
from wanderlust.errors import check_options
from wanderlust.exploration.protocol import explorer_options
from wanderlust.exploration.registry import explorer_class, explorer_name
from wanderlust.learning.settings import SETTING_NAMES, Settings


def settings_for(
    env: Tabular, explorer: str | type, steps: int, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a lesson and the explorer's options: the defaults, then the caller's changes."""
    cls = explorer_class(explorer)
    option_names = [option.name for option in explorer_options(cls)]
    check_options(f"learning with explorer {explorer_name(cls)!r}", changes, [*option_names, *SETTING_NAMES])
    run: dict[str, Any] = {"budget": steps} | dict(changes)
    if env.horizon is not None:
        run.setdefault("horizon", env.horizon)
    # A name that is both a setting and an option, such as γ_w, works as the setting: options not given follow it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    return Settings(**settings), {key: value for key, value in run.items() if key not in settings}
