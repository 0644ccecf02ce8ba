"""Environments, given or by name: ours, Gymnasium's, or what a function makes; and second ones of the same kind."""

from __future__ import annotations

import copy
import difflib
import importlib
import inspect
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium import Env

from wanderlust.core.errors import InvalidEnvironment, MissingPackage, UnknownName, WanderlustError, unknown_name
from wanderlust.envs.registration import WORLDS, environment_id

PACKAGES = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py", "highway": "highway_env"}
"""Which package knows the environments whose names begin so, once it is imported."""


def make_environment(given: Env[Any, Any] | str, /, **options: Any) -> Env[Any, Any]:
    """Return the environment itself, or a new one by its name.

    A name is one of our worlds ('prison'), an id that Gymnasium knows ('FrozenLake-v1'), 'module:id', which imports the
    module first, or 'module:function', which is called with the options and returns the environment.
    """
    if isinstance(given, Env):
        return given
    if not isinstance(given, str):
        what = type(given).__name__
        raise InvalidEnvironment(
            f"an environment is a gymnasium.Env or the name of one, got {what}. Several at once (VectorEnv) cannot be "
            "learnt from; give one of them."
        )
    if given in WORLDS:
        return _made(environment_id(given), options)
    module_name, colon, rest = given.partition(":")
    if not colon:
        _import_its_package(given)
        return _made(given, options)
    module = _imported(module_name, given)
    function = getattr(module, rest, None)
    if callable(function):
        return _from_function(function, given, options)
    if rest in gymnasium.registry:
        return _made(rest, options)
    functions = sorted(each for each, value in vars(module).items() if inspect.isfunction(value))
    close = difflib.get_close_matches(rest, [*functions, *gymnasium.registry], n=1)
    hint = f" Did you mean '{module_name}:{close[0]}'?" if close else ""
    raise UnknownName(
        f"environment {given!r}: module {module_name!r} has no function {rest!r} (it has: "
        f"{', '.join(functions) or 'none'}), and importing it makes no environment of that name known.{hint}"
    )


def copy_of(env: Env[Any, Any]) -> Env[Any, Any]:
    """Return a second environment of the same kind: made anew from its spec where it has one, otherwise copied."""
    if env.spec is not None:
        try:
            return gymnasium.make(env.spec)
        except (gymnasium.error.Error, ValueError, TypeError, AttributeError):
            pass  # A wrapper that does not say how it was made; the copy has it all.
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise InvalidEnvironment(
            f"a second environment like {env} can neither be made from its spec nor copied ({error}); give one to "
            "evaluate in: EvaluateEvery(..., env=gym.make(...))."
        ) from error


def _made(name: str, options: dict[str, Any]) -> Env[Any, Any]:
    try:
        return gymnasium.make(name, **options)
    except WanderlustError:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingPackage(f"environment {name!r} needs another package: {error}") from error
    except gymnasium.error.DeprecatedEnv as error:
        raise InvalidEnvironment(f"Gymnasium does not make {name!r} any more: {error}") from error
    except gymnasium.error.UnregisteredEnv as error:
        raise _unknown(name) from error
    except Exception as error:  # An environment may choke in any way on options that it does not know.
        raise _not_made(name, options, error) from error


def _unknown(name: str) -> UnknownName:
    """Return the error for a name that Gymnasium does not know: what was meant, or where others may come from."""
    known = [*gymnasium.registry, *WORLDS]
    if difflib.get_close_matches(name, known, n=1):
        text, _, _ = str(unknown_name("environment", name, known)).partition(" Known:")
    else:
        text = (
            f"unknown environment {name!r}. Those of other packages are known once their package is imported: "
            f"'module:{name}' does that."
        )
    return UnknownName(f"{text} `wanderlust worlds` lists ours, `gymnasium.pprint_registry()` all others.")


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
