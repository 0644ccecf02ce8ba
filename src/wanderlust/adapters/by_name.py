"""Environments by name, as a command line or a stored run has them: ours, Gymnasium's, or what a function makes."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium import Env

from wanderlust.adapters.environments import make_environment
from wanderlust.adapters.tabular import Tabular
from wanderlust.errors import InvalidEnvironment, MissingPackage, UnknownName, WanderlustError, check_options
from wanderlust.gym.registration import WORLDS, environment_id

PACKAGES = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py", "highway": "highway_env"}
"""Which package knows the environments whose names begin so, once it is imported."""
TOLD_BY = ("key", "bins", "bounds", "action_bins", "reset_seed")
"""What can be said on how states and actions are told; see `wl.tabular`."""
_INFO = "info:"
_HASH = "hash"


def environment_by_name(name: str, options: Mapping[str, Any] | None = None) -> Env[Any, Any]:
    """Return a new environment.

    `name` is one of our worlds ('prison'), an id that Gymnasium knows ('FrozenLake-v1'), 'module:id', which imports the
    module first, or 'module:function', which is called with the options and returns the environment.
    """
    given = dict(options or {})
    if name in WORLDS:
        return _made(environment_id(name), given)
    module_name, colon, rest = name.partition(":")
    if not colon:
        _import_its_package(name)
        return _made(name, given)
    module = _imported(module_name, name)
    function = getattr(module, rest, None)
    if callable(function):
        return _from_function(function, name, given)
    if rest in gymnasium.registry:
        return _made(rest, given)
    functions = sorted(each for each, value in vars(module).items() if inspect.isfunction(value))
    close = difflib.get_close_matches(rest, [*functions, *gymnasium.registry], n=1)
    hint = f" Did you mean '{module_name}:{close[0]}'?" if close else ""
    raise UnknownName(
        f"environment {name!r}: module {module_name!r} has no function {rest!r} (it has: "
        f"{', '.join(functions) or 'none'}), and importing it makes no environment of that name known.{hint}"
    )


def tabular_by_name(name: str, options: Mapping[str, Any], told_by: Mapping[str, Any]) -> Tabular:
    """Return a new environment with its states and actions numbered."""
    return numbered(environment_by_name(name, options), told_by)


def numbered(env: Env[Any, Any], told_by: Mapping[str, Any]) -> Tabular:
    """Return an environment with its states and actions numbered.

    `told_by` is what `wl.tabular` takes, as plain values: a key is 'hash', 'info:field' or 'module:function'; bounds
    are named by their dimension, {'1': [-3, 3]}.
    """
    check_options("what tells the states of an environment", told_by, TOLD_BY)
    given = dict(told_by)
    if isinstance(given.get("key"), str):
        given["key"] = _key(given["key"])
    if isinstance(given.get("bounds"), Mapping):
        given["bounds"] = {int(dimension): tuple(pair) for dimension, pair in given["bounds"].items()}
    return Tabular(env, **given)


def module_of(name: str) -> str | None:
    """Return the module that 'module:something' names, if it names one; 'info:field' does not."""
    module, colon, _ = name.partition(":")
    return module if colon and f"{module}:" != _INFO else None


def _made(environment: str, options: dict[str, Any]) -> Env[Any, Any]:
    try:
        return make_environment(environment, **options)
    except WanderlustError:
        raise
    except Exception as error:  # An environment may choke in any way on options that it does not know.
        raise _not_made(environment, options, error) from error


def _from_function(function: Any, name: str, options: dict[str, Any]) -> Env[Any, Any]:
    try:
        made = function(**options)
    except Exception as error:  # It is the user's own code.
        raise _not_made(name, options, error) from error
    if not isinstance(made, Env):
        raise InvalidEnvironment(f"{name!r} must return a gymnasium.Env, got {type(made).__name__}.")
    return made


def _not_made(name: str, options: dict[str, Any], error: Exception) -> InvalidEnvironment:
    with_what = f"with {options!r}" if options else "without options"
    return InvalidEnvironment(f"environment {name!r} cannot be made {with_what}: {type(error).__name__}: {error}")


def _imported(module: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UnknownName(
            f"environment {name!r}: there is no module {error.name!r}, neither in the current folder nor installed."
        ) from error
    except Exception as error:  # It is the user's own code.
        raise UnknownName(
            f"environment {name!r}: module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _import_its_package(name: str) -> None:
    """Import the package that a well-known family of environments comes from."""
    if name in gymnasium.registry:
        return
    for family, package in PACKAGES.items():
        if name.startswith((f"{family}-", f"{family}/")):
            try:
                importlib.import_module(package)
            except ModuleNotFoundError as error:
                raise MissingPackage(
                    f"environment {name!r} is one of the package {package}, which is not installed: "
                    f"pip install {package.replace('_', '-')}"
                ) from error


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
