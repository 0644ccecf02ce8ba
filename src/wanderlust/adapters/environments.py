"""Making Gymnasium environments by name, and making another one of the same kind."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
from gymnasium import Env

from wanderlust.errors import InvalidEnvironment, MissingPackage, unknown_name


def make_environment(given: Env[Any, Any] | str, **options: Any) -> Env[Any, Any]:
    """Return the environment itself, or the one that Gymnasium knows by a name."""
    if isinstance(given, Env):
        return given
    if not isinstance(given, str):
        what = type(given).__name__
        raise InvalidEnvironment(
            f"an environment is a gymnasium.Env or the name of one, got {what}. Several at once (VectorEnv) cannot be "
            "learnt from; give one of them."
        )
    try:
        return gymnasium.make(given, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingPackage(f"environment {given!r} needs another package: {error}") from error
    except gymnasium.error.DeprecatedEnv as error:
        raise InvalidEnvironment(f"Gymnasium does not make {given!r} any more: {error}") from error
    except (gymnasium.error.UnregisteredEnv, ModuleNotFoundError) as error:
        family = given.partition("-")[0].partition("/")[0]
        hint = f" Names beginning with {family!r} are known once their package is imported, or as 'module:{given}'."
        unknown = unknown_name("environment", given, gymnasium.registry)
        text, _, _ = str(unknown).partition(" Known:")
        raise type(unknown)(text + hint + " `gymnasium.pprint_registry()` lists all.") from error
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidEnvironment(f"environment {given!r} cannot be made with {options!r}: {error}") from error


def twin_of(env: Env[Any, Any]) -> Env[Any, Any]:
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
