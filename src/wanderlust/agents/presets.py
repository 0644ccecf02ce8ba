"""The two readings of the paper: as it is written, and as the authors' released code has it.

Settings and options follow the text unless asked otherwise. `as_published_code` gives the values that the released code
used where it differs; docs/deviations.md lists each with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from wanderlust.agents.settings import SETTING_NAMES, Replay, Settings
from wanderlust.core.errors import check_choice, check_options
from wanderlust.explorers.protocol import class_options
from wanderlust.explorers.registry import explorer_class, explorer_name
from wanderlust.worlds import World

Changes = dict[str, Any]


def as_written(run: Mapping[str, Any], explorer: str, n_actions: int) -> Changes:
    """Return no changes: the defaults are the paper's text."""
    return {}


def as_published_code(run: Mapping[str, Any], explorer: str, n_actions: int) -> Changes:
    """Return the settings and options in which the released code differs from the text, for a run otherwise as
    given.
    """
    changes: Changes = {"steps": max(run["budget"] - 1, 1), "evaluation_horizon": run["horizon"]}
    if explorer == "ucb1":
        # The coefficient and the bound changed places in a call.
        changes["kappa"] = 1.0 + math.sqrt(2.0 * math.log(n_actions))
        changes["untried_value"] = 1.0 + math.sqrt(2.0 * math.log(max(n_actions - 1, 1)))
    if explorer == "vv-ucb":
        changes["initial_margin"] = 2e-8
    if explorer == "vv-count":
        changes["terminal_count"] = "largest"
    if explorer == "thompson":
        changes["draw"] = "action"
    if Replay.of(run["replay"]).memory == "none" and explorer in ("bonus", "thompson"):
        changes["evaluated"] = "behaviour"
    return changes


PRESETS: Mapping[str, Callable[[Mapping[str, Any], str, int], Changes]] = {
    "as_written": as_written,
    "as_published_code": as_published_code,
}


def resolve(
    world: World, explorer: str | type, preset: str, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a run and the explorer's options: the world's, the preset's, then the caller's changes."""
    cls = explorer_class(explorer)
    name = explorer_name(cls)
    option_names = [option.name for option in class_options(cls)]
    check_options(f"a run of explorer {name!r}", changes, [*option_names, *SETTING_NAMES])
    defaults = {f.name: getattr(world.defaults, f.name) for f in fields(world.defaults) if f.name in SETTING_NAMES}
    run = defaults | dict(changes)
    checked = Settings(**{key: value for key, value in run.items() if key in SETTING_NAMES})
    of_run = {f.name: getattr(checked, f.name) for f in fields(checked)}
    run |= PRESETS[check_choice("preset", preset, PRESETS)](of_run, name, world.n_actions) | dict(changes)
    # A name that is both a setting and an option, such as γ_w, works as the setting: options not given follow it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    options = {key: value for key, value in run.items() if key not in settings}
    return Settings(**settings), options
