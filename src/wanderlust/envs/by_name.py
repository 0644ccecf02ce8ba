"""Tabular environments from names and plain option values, as on the command line and in stored runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import Env

from wanderlust.core.errors import InvalidSetting, UnknownName, check_options
from wanderlust.envs.make import make_environment
from wanderlust.envs.tabular import Tabular

ENCODER_OPTIONS = ("key", "bins", "bounds", "action_bins", "reset_seed")
"""The options of `wl.tabular`."""
_INFO = "info:"
_HASH = "hash"


def tabular_by_name(name: str, options: Mapping[str, Any], encoder_options: Mapping[str, Any]) -> Tabular:
    """Return a new environment by its name, wrapped in `Tabular`."""
    return tabular_from_options(make_environment(name, **options), encoder_options)


def tabular_from_options(env: Env[Any, Any], encoder_options: Mapping[str, Any]) -> Tabular:
    """Return an environment wrapped in `Tabular`.

    `encoder_options` are the options of `wl.tabular` as plain values: a key is 'hash', 'info:field' or
    'module:function', and bounds have their dimension as a string key, {'1': [-3, 3]}.
    """
    check_options("wl.tabular", encoder_options, ENCODER_OPTIONS)
    options = dict(encoder_options)
    if isinstance(options.get("key"), str):
        options["key"] = _load_key(options["key"])
    if isinstance(options.get("bounds"), Mapping):
        options["bounds"] = dict(_bound(dimension, pair) for dimension, pair in options["bounds"].items())
    return Tabular(env, **options)


def _bound(dimension: Any, pair: Any) -> tuple[int, tuple[Any, ...]]:
    """Return the bounds of a dimension; `Tabular` checks the numbers."""
    if not (str(dimension).isdecimal() and isinstance(pair, Sequence) and len(pair) == 2):
        raise InvalidSetting(
            f"bounds must be a table of dimensions with a low and a high value, such as {{'1': [-3, 3]}}, got "
            f"{dimension!r}: {pair!r}."
        )
    return int(dimension), tuple(pair)


def module_of(name: str) -> str | None:
    """Return the module of a name 'module:attribute', or None for other names, including 'info:field'."""
    module, colon, _ = name.partition(":")
    return module if colon and f"{module}:" != _INFO else None


def _load_key(key: str) -> Any:
    """Return 'hash' and 'info:field' unchanged, and the function that 'module:function' names."""
    return key if module_of(key) is None or key == _HASH else load_function(key)


def load_function(name: str) -> Any:
    """Return the key function that 'module:function' names."""
    module, _, function_name = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function_name)
    except Exception as error:
        raise UnknownName(
            f"key {name!r} must be 'hash', 'info:field' or 'module:function'; there is no such function: {error}"
        ) from error
