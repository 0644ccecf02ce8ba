"""Creating environments by name (built-in worlds, Gymnasium ids, functions of a module), and what is known of them."""

from __future__ import annotations

import copy
import difflib
import importlib
import inspect
from enum import Enum
from typing import Any

import gymnasium
import numpy as np
from gymnasium import Env, Wrapper
from gymnasium.wrappers import TimeLimit

from wanderlust.core.errors import InvalidEnvironment, MissingPackage, UnknownName, WanderlustError
from wanderlust.core.user_code import defined_in, import_named
from wanderlust.environments import register_environments
from wanderlust.worlds import CellKind, Layout, world_names
from wanderlust.worlds.base import checked_names, single_layer_layout
from wanderlust.worlds.registry import EXAM_WORLDS, environment_id

PACKAGES = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py", "highway": "highway_env"}
"""The packages that register environments when imported, by the prefix of the environments' names."""
_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("down", "up", "right", "left", "pick up", "drop off"),
    "BlackjackEnv": ("stick", "hit"),
    "CartPoleEnv": ("push left", "push right"),
    "MountainCarEnv": ("accelerate left", "coast", "accelerate right"),
    "AcrobotEnv": ("torque -1", "torque 0", "torque +1"),
}
"""The actions of Gymnasium's own environments, by the name of their class."""
_FROZEN_LAKE = {b"S": CellKind.START, b"F": CellKind.FLOOR, b"H": CellKind.PENALTY, b"G": CellKind.TREASURE}


def make_environment(env: Env[Any, Any] | str, /, **options: Any) -> Env[Any, Any]:
    """Return `env` itself if it is an environment, otherwise a new environment by its name.

    A name is a built-in world ('prison'), a Gymnasium id ('FrozenLake-v1'), 'module:id', which imports the module
    first, or 'module:function', a function that takes the options and returns the environment, or a class of one.
    """
    if isinstance(env, Env):
        return env
    if not isinstance(env, str):
        raise InvalidEnvironment(
            f"an environment must be a gymnasium.Env or the name of one, got {type(env).__name__}; `wl.train` and "
            "`Agent.evaluate` take a World, `wl.learn` and `wl.tabular` also a VectorEnv."
        )
    if env in world_names() or env in EXAM_WORLDS:
        register_environments([env])
        # Names that differ in their signs only have the same id.
        return _gym_make(environment_id(env), {"world": env, **options})
    module_name, colon, rest = env.partition(":")
    if not colon:
        import_environment_package(env)
        return _gym_make(env, options)
    module, function = import_named("environment", env)
    if defined_in(module, function, Env):
        return _call_function(function, env, options)
    if rest in gymnasium.registry:
        return _gym_make(rest, options)
    functions = [name for name, value in vars(module).items() if inspect.isfunction(value)]
    raise _unknown_environment(env, [f"{module_name}:{name}" for name in (*functions, *gymnasium.registry)])


def time_limit(env: Env[Any, Any]) -> int | None:
    """Return the number of steps after which episodes of an environment are truncated, or None if it is unknown."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return int(env.spec.max_episode_steps)
    while isinstance(env, Wrapper):
        if isinstance(env, TimeLimit):
            return int(env._max_episode_steps)
        env = env.env
    return None


def action_names(env: Env[Any, Any], n_actions: int) -> tuple[str, ...] | None:
    """Return the names of an environment's actions, or None if they are unknown.

    They are its attribute `action_names` (a list), the members of its enumeration `actions` as in MiniGrid, or those
    of one of Gymnasium's own environments.
    """
    inner = env.unwrapped
    members = getattr(inner, "actions", None)
    if isinstance(members, type) and issubclass(members, Enum):
        members = [member.name for member in sorted(members, key=lambda member: int(member.value))]
    world = getattr(inner, "world", None)
    for names in (getattr(inner, "action_names", None), getattr(world, "action_names", None), members):
        if (checked := checked_names(names, n_actions)) is not None:
            return checked
    is_of_gymnasium = type(inner).__module__.partition(".")[0] == "gymnasium"
    return checked_names(_NAMES.get(type(inner).__name__) if is_of_gymnasium else None, n_actions)


def grid_layout(env: Env[Any, Any], n_states: int) -> Layout | None:
    """Return the map of an environment whose states are the cells of a grid, or None.

    Known are the worlds of this package, FrozenLake and CliffWalking.
    """
    inner: Any = env.unwrapped
    world_layout = getattr(getattr(inner, "world", None), "layout", None)
    if isinstance(world_layout, Layout):
        return world_layout if len(world_layout.row) == n_states else None
    is_of_gymnasium = type(inner).__module__.partition(".")[0] == "gymnasium"
    name = type(inner).__name__ if is_of_gymnasium else ""
    if name == "FrozenLakeEnv":
        kinds = np.array([[_FROZEN_LAKE[bytes(cell)] for cell in row] for row in inner.desc], np.uint8)
        value = np.where(kinds == CellKind.TREASURE, 1.0, 0.0)
    elif name == "CliffWalkingEnv":
        kinds = np.full(inner.shape, CellKind.FLOOR, np.uint8)
        kinds[np.asarray(inner._cliff, np.bool_)] = CellKind.PUDDLE
        kinds.ravel()[[int(inner.start_state_index), kinds.size - 1]] = CellKind.START, CellKind.TREASURE
        value = np.where(kinds == CellKind.PUDDLE, -100.0, -1.0 * (kinds == CellKind.TREASURE))
    else:
        return None
    return single_layer_layout(kinds, value) if kinds.size == n_states else None


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
        raise _unknown_environment(name, [*gymnasium.registry, *world_names(), *EXAM_WORLDS]) from error
    except Exception as error:  # An environment can raise any exception for unknown options.
        raise _creation_error(name, options, error) from error


def _unknown_environment(name: str, known: list[str]) -> UnknownName:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else "Those of other packages are 'module:id' or 'module:function'."
    return UnknownName(f"unknown environment {name!r}. {hint}")


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
                install = "'wanderlust[minigrid]'" if package == "minigrid" else package.replace("_", "-")
                raise MissingPackage(
                    f"environment {name!r} needs the package {package}, which is not installed: pip install {install}"
                ) from error
