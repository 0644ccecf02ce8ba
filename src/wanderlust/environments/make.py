"""Creating environments by name (built-in worlds, Gymnasium ids, functions of a module), and copying them."""

from __future__ import annotations

import copy
import difflib
import importlib
import inspect
from typing import Any

import gymnasium
from gymnasium import Env, Wrapper
from gymnasium.wrappers import TimeLimit

from wanderlust.core.errors import (
    InvalidEnvironment,
    MissingPackage,
    UnknownName,
    WanderlustError,
    unknown_name,
)
from wanderlust.core.user_code import defined_in, import_named
from wanderlust.environments.registration import EXAM_WORLDS, WORLDS, environment_id, register_environments
from wanderlust.worlds import World

PACKAGES = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py", "highway": "highway_env"}
"""The packages that register environments when imported, by the prefix of the environments' names."""

register_environments()


def make_environment(env: Env[Any, Any] | str, /, **options: Any) -> Env[Any, Any]:
    """Return `env` itself if it is an environment, otherwise a new environment by its name.

    A name is a built-in world ('prison'), a Gymnasium id ('FrozenLake-v1'), 'module:id', which imports the module
    first, or 'module:function', a function that takes the options and returns the environment.
    """
    if isinstance(env, Env):
        return env
    if isinstance(env, World):
        raise InvalidEnvironment(
            f"an environment must be a gymnasium.Env or the name of one, got the World {env.name!r}; wl.train and "
            "Agent.evaluate take worlds."
        )
    if not isinstance(env, str):
        raise InvalidEnvironment(
            f"an environment must be a gymnasium.Env or the name of one, got {type(env).__name__}. Vectorized "
            "environments (VectorEnv) are not supported; use a single environment."
        )
    if env in WORLDS or env in EXAM_WORLDS:
        return _gym_make(environment_id(env), options)
    module_name, colon, rest = env.partition(":")
    if not colon:
        import_environment_package(env)
        return _gym_make(env, options)
    module, function = import_named("environment", env)
    if defined_in(module, function):
        return _call_function(function, env, options)
    if rest in gymnasium.registry:
        return _gym_make(rest, options)
    functions = sorted(name for name, value in vars(module).items() if inspect.isfunction(value))
    close = difflib.get_close_matches(rest, [*functions, *gymnasium.registry], n=1)
    hint = f" Did you mean '{module_name}:{close[0]}'?" if close else ""
    raise UnknownName(
        f"environment {env!r}: module {module_name!r} has no function {rest!r} (it has: "
        f"{', '.join(functions) or 'none'}), and importing it registers no environment of that name.{hint}"
    )


def time_limit(env: Env[Any, Any]) -> int | None:
    """Return the number of steps after which episodes of an environment are truncated, or None if it is unknown."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return int(env.spec.max_episode_steps)
    while isinstance(env, Wrapper):
        if isinstance(env, TimeLimit):
            return int(env._max_episode_steps)
        env = env.env
    return None


def copy_environment(env: Env[Any, Any]) -> Env[Any, Any]:
    """Return a copy of an environment: a new one from its spec if possible, otherwise a deep copy."""
    if env.spec is not None:
        try:
            return gymnasium.make(env.spec)
        except (gymnasium.error.Error, ValueError, TypeError, AttributeError):
            pass  # A wrapper does not record its constructor arguments; a deep copy includes it.
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise InvalidEnvironment(
            f"{env} cannot be copied, neither from its spec nor with deepcopy ({error}); pass an environment for the "
            "evaluation: EvaluateEvery(..., env=gym.make(...))."
        ) from error


def _gym_make(name: str, options: dict[str, Any]) -> Env[Any, Any]:
    try:
        return gymnasium.make(name, **options)
    except WanderlustError:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingPackage(f"environment {name!r} needs another package: {error}") from error
    except gymnasium.error.DeprecatedEnv as error:
        raise InvalidEnvironment(f"Gymnasium no longer supports {name!r}: {error}") from error
    except gymnasium.error.UnregisteredEnv as error:
        raise _unknown_environment(name) from error
    except Exception as error:  # An environment can raise any exception for unknown options.
        raise _creation_error(name, options, error) from error


def _unknown_environment(name: str) -> UnknownName:
    """Return the error for an unregistered name, with the closest name or advice to import a package."""
    known = [*gymnasium.registry, *WORLDS, *EXAM_WORLDS]
    if difflib.get_close_matches(name, known, n=1):
        text, _, _ = str(unknown_name("environment", name, known)).partition(" Known:")
    else:
        text = (
            f"unknown environment {name!r}. Environments of other packages are registered when the package is "
            f"imported: use 'module:{name}'."
        )
    return UnknownName(f"{text} `wanderlust worlds` lists the built-in worlds, `gymnasium.pprint_registry()` the rest.")


def _call_function(function: Any, name: str, options: dict[str, Any]) -> Env[Any, Any]:
    try:
        env = function(**options)
    except Exception as error:  # User code can raise any exception.
        raise _creation_error(name, options, error) from error
    if not isinstance(env, Env):
        raise InvalidEnvironment(f"{name!r} must return a gymnasium.Env, got {type(env).__name__}.")
    return env


def _creation_error(name: str, options: dict[str, Any], error: Exception) -> InvalidEnvironment:
    with_options = f"with {options!r}" if options else "without options"
    return InvalidEnvironment(f"environment {name!r} cannot be made {with_options}: {type(error).__name__}: {error}")


def import_environment_package(name: str) -> None:
    """Import the package that registers a well-known family of environments."""
    if name in gymnasium.registry:
        return
    for family, package in PACKAGES.items():
        if name.startswith((f"{family}-", f"{family}/")):
            try:
                importlib.import_module(package)
            except ModuleNotFoundError as error:
                raise MissingPackage(
                    f"environment {name!r} needs the package {package}, which is not installed: "
                    f"pip install {package.replace('_', '-')}"
                ) from error
