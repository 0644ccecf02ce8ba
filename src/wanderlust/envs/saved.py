"""The environment of a saved agent: its name and options as plain data, and a new one from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import Env

from wanderlust.core.errors import InvalidEnvironment
from wanderlust.envs.make import import_environment_package, make_environment
from wanderlust.envs.tabular import Tabular


def saved_environment(env: Tabular) -> dict[str, Any]:
    """Return the name of an environment, and its options if they are plain values (None if they are not)."""
    spec = env.env.spec
    options = {} if spec is None else {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    try:
        plain = json.loads(json.dumps(options))
    except (TypeError, ValueError):
        plain = None
    return {"name": env.name, "options": plain if plain == options else None, "reset_seed": env.reset_seed}


def remake_environment(saved: Mapping[str, Any] | None, **changes: Any) -> Env[Any, Any]:
    """Return a new environment like the one an agent was trained in.

    Only environments that Gymnasium knows are made: a file must not name code that is imported.
    """
    name, options = (saved or {}).get("name"), (saved or {}).get("options")
    if isinstance(name, str) and isinstance(options, Mapping):
        import_environment_package(name)
        if name in gymnasium.registry:
            return make_environment(name, **options, **changes)
    raise InvalidEnvironment(
        f"the environment of this agent ({name!r}) cannot be made from its file; give the environment."
    )
