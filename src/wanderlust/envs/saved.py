"""The environment of a saved agent: its name and options as plain data, and a new one from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import Env

from wanderlust.core.errors import InvalidEnvironment, check_integer, shown
from wanderlust.envs.make import import_environment_package, make_environment
from wanderlust.envs.tabular import Tabular

_RECORDERS = ("RecordEpisodeStatistics", "RecordVideo", "RenderCollection", "HumanRendering")
"""The wrappers of Gymnasium that change neither observations, actions and rewards nor the length of episodes."""


def saved_environment(env: Tabular) -> dict[str, Any]:
    """Return the name of an environment, and its options if they are plain values (None if they are not).

    A time limit and wrappers are included if they are not those of the registered environment.
    """
    spec = env.env.spec
    options = {} if spec is None else {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    try:
        plain = json.loads(json.dumps(options))
    except (TypeError, ValueError):
        plain = None
    saved = {"name": env.name, "options": plain if plain == options else None, "reset_seed": env.reset_seed}
    registered = gymnasium.registry.get(env.name)
    if spec is not None and registered is not None:
        if spec.max_episode_steps != registered.max_episode_steps:
            saved["max_episode_steps"] = spec.max_episode_steps
        added = [each.name for each in spec.additional_wrappers if each not in registered.additional_wrappers]
        if wrappers := [name for name in added if name not in _RECORDERS]:
            saved["wrappers"] = wrappers
    return saved


def remake_environment(saved: Mapping[str, Any] | None, **changes: Any) -> Env[Any, Any]:
    """Return a new environment like the one an agent was trained in.

    Only environments that Gymnasium knows are made, without wrappers: a file must not name code that is imported.
    """
    saved = saved or {}
    name, options, limit = saved.get("name"), saved.get("options"), saved.get("max_episode_steps")
    if wrappers := saved.get("wrappers"):
        names = ", ".join(map(str, wrappers)) if isinstance(wrappers, list) else shown(wrappers)
        raise InvalidEnvironment(
            f"the environment of this agent, {name}, had wrappers that cannot be made from its file ({names}); give "
            "the environment with its wrappers."
        )
    if isinstance(name, str) and isinstance(options, Mapping):
        import_environment_package(name)
        if name in gymnasium.registry:
            if limit is not None:
                changes["max_episode_steps"] = check_integer("max_episode_steps of the file", limit, low=1)
            return make_environment(name, **options, **changes)
    raise InvalidEnvironment(
        f"the environment of this agent, {name}, cannot be made from its file, since it is not registered in "
        "Gymnasium or has options that are not plain values; give the environment."
    )
