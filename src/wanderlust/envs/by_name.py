"""Environments and what tells their states as a command line or a stored run has them: names and plain values."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from gymnasium import Env

from wanderlust.core.errors import UnknownName, check_options
from wanderlust.envs.make import make_environment
from wanderlust.envs.tabular import Tabular

ENCODER_OPTIONS = ("key", "bins", "bounds", "action_bins", "reset_seed")
"""What can be said on how states and actions are told; see `wl.tabular`."""
_INFO = "info:"
_HASH = "hash"


def tabular_by_name(name: str, options: Mapping[str, Any], encoder_options: Mapping[str, Any]) -> Tabular:
    """Return a new environment with its states and actions numbered."""
    return numbered(make_environment(name, **options), encoder_options)


def numbered(env: Env[Any, Any], encoder_options: Mapping[str, Any]) -> Tabular:
    """Return an environment with its states and actions numbered.

    `encoder_options` is what `wl.tabular` takes, as plain values: a key is 'hash', 'info:field' or 'module:function'; bounds
    are named by their dimension, {'1': [-3, 3]}.
    """
    check_options("what tells the states of an environment", encoder_options, ENCODER_OPTIONS)
    given = dict(encoder_options)
    if isinstance(given.get("key"), str):
        given["key"] = _key(given["key"])
    if isinstance(given.get("bounds"), Mapping):
        given["bounds"] = {int(dimension): tuple(pair) for dimension, pair in given["bounds"].items()}
    return Tabular(env, **given)


def module_of(name: str) -> str | None:
    """Return the module that 'module:something' names, if it names one; 'info:field' does not."""
    module, colon, _ = name.partition(":")
    return module if colon and f"{module}:" != _INFO else None


def _key(key: str) -> Any:
    module = module_of(key)
    if module is None or key == _HASH:
        return key
    function_name = key.partition(":")[2]
    try:
        return getattr(importlib.import_module(module), function_name)
    except Exception as error:
        raise UnknownName(
            f"key {key!r} must be 'hash', 'info:field' or 'module:function', and there is no such function: {error}"
        ) from error
