"""Presets: named sets of settings and options.

* `as_written` follows the paper's text. All defaults are those of the text.
* `as_published_code` has the values of the code that the authors released, where it differs from the text;
  docs/deviations.md lists each with its reason.
* `adaptive` starts like `as_written` and adapts to the task during training; see `wanderlust.training.adaptive`. It
  works in environments and on their models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from wanderlust.agents.settings import SETTING_NAMES, Replay, Settings
from wanderlust.core.errors import InvalidSetting, check_choice, check_options
from wanderlust.explorers.protocol import class_options
from wanderlust.explorers.registry import explorer_class, explorer_name
from wanderlust.worlds import World

Changes = dict[str, Any]

AS_WRITTEN, AS_PUBLISHED_CODE, ADAPTIVE = "as_written", "as_published_code", "adaptive"
LEARN_OPTIONS = ("remove_time_penalty", "defer_idle_actions")
"""The options of `learn` that are neither settings nor options of an explorer."""


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


WORLD_PRESETS: Mapping[str, Callable[[Mapping[str, Any], str, int], Changes]] = {
    AS_WRITTEN: as_written,
    AS_PUBLISHED_CODE: as_published_code,
}
"""The presets of runs in built-in worlds."""
PRESETS: Mapping[str, Callable[[Mapping[str, Any], str, int], Changes]] = {**WORLD_PRESETS, ADAPTIVE: as_written}
"""All presets; `adaptive` starts with the settings of `as_written`."""


def resolve(
    world: World, explorer: str | type, preset: str, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a run and the explorer's options: the world's, the preset's, then the caller's changes."""
    if isinstance(preset, str) and preset == ADAPTIVE:
        raise InvalidSetting(
            "preset 'adaptive' works in `wl.learn`, `wl.Run.of_model` and with --exact; a run in a world has "
            "'as_written' and 'as_published_code'."
        )
    check_choice("preset", preset, WORLD_PRESETS)
    defaults = {f.name: getattr(world.defaults, f.name) for f in fields(world.defaults) if f.name in SETTING_NAMES}
    return resolve_settings(defaults, world.n_actions, explorer, preset, changes)


def resolve_settings(
    defaults: Mapping[str, Any], n_actions: int, explorer: str | type, preset: str, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return settings and options of the explorer: the defaults, those of the preset, then the caller's changes."""
    cls = explorer_class(explorer)
    name = explorer_name(cls)
    option_names = [option.name for option in class_options(cls)]
    check_options(f"a run of explorer {name!r}", changes, [*option_names, *SETTING_NAMES])
    run = dict(defaults) | dict(changes)
    checked = Settings(**{key: value for key, value in run.items() if key in SETTING_NAMES})
    of_run = {f.name: getattr(checked, f.name) for f in fields(checked)}
    run |= PRESETS[check_choice("preset", preset, PRESETS)](of_run, name, n_actions) | dict(changes)
    # A name that is both a setting and an option, such as γ_w, works as the setting: options not given follow it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    options = {key: value for key, value in run.items() if key not in settings}
    return Settings(**settings), options
