"""Conversion of a Gymnasium environment with a known model into a `World`."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import Env, Wrapper

from wanderlust.core.errors import EnvironmentFailed, InvalidEnvironment, InvalidWorld, WanderlustError, shown
from wanderlust.core.mdp import FloatArray, TabularMDP, merge_outcomes
from wanderlust.environments.make import action_names, grid_layout, make_environment, time_limit
from wanderlust.environments.tabular import RECORDERS, Tabular
from wanderlust.worlds import Defaults, World, check_mdp, check_world

OBSERVED_RESETS = 10_000
_HORIZON, _BUDGET = 1_000, 100_000
_HASH_LENGTH = 24
_SAME_DYNAMICS = ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker", *RECORDERS)
"""The wrappers of Gymnasium whose steps are those of the environment's model."""


def world_from_gym(env: Env[Any, Any] | str, **options: Any) -> World:
    """Return the world of an environment with a transition table, such as Gymnasium's toy-text environments.

    `train` runs in it many times faster than `learn` in the environment. The built-in worlds are returned as
    they are.

    The table is `env.unwrapped.P[state][action]`, a list of (probability, next state, reward, terminated). The start
    distribution is `initial_state_distrib`, or estimated from many resets. The horizon is the
    environment's time limit. If `env` is a name, `options` are passed to `gymnasium.make`.
    """
    env = make_environment(env, **options)
    built_in = getattr(env.unwrapped, "world", None)
    if isinstance(built_in, World):
        return built_in
    model = getattr(env.unwrapped, "P", None)
    name = type(env.unwrapped).__name__ if env.spec is None else str(env.spec.id)
    if not isinstance(model, Mapping | Sequence) or len(model) == 0:
        raise InvalidEnvironment(
            f"{name} has no model: env.unwrapped.P must be the table of all transitions, as in FrozenLake, "
            "CliffWalking and Taxi. `wl.learn`, and the commands without --exact, work without a model."
        )
    mdp = _mdp_from_model(model, name)
    mdp = mdp._replace(start=_start_distribution(env, mdp.n_states, name))
    check_mdp(mdp)  # Before merging, which sets the probability of a single outcome to 1.
    mdp = merge_outcomes(mdp)
    horizon = time_limit(env)
    world = World(
        name=name,
        mdp=mdp,
        defaults=Defaults(horizon=_HORIZON if horizon is None else horizon, budget=_BUDGET),
        action_names=action_names(env, mdp.n_actions) or tuple(str(action) for action in range(mdp.n_actions)),
        r_max=mdp.reward_range[1],
        layout=grid_layout(env, mdp.n_states),
    )
    check_world(world)
    return world


def known_model(env: Tabular) -> World | None:
    """Return the world whose states, actions and steps are exactly those of an environment, or None if none is known.

    None as well for a start distribution that could only be estimated, for states that are not the model's (a key, or
    `reset_seed`), and for wrappers that may change what the model says.
    """
    inner, wrapped = env.unwrapped, env.env
    while isinstance(wrapped, Wrapper):
        if type(wrapped).__name__ not in _SAME_DYNAMICS or not type(wrapped).__module__.startswith("gymnasium."):
            return None
        wrapped = wrapped.env
    has_starts = hasattr(inner, "world") or hasattr(inner, "initial_state_distrib")
    # The passenger of Taxi may change the destination, which is not in its table.
    if not (env.has_plain_indices and has_starts) or getattr(inner, "fickle_passenger", False):
        return None
    try:
        world = world_from_gym(env.env)
    except WanderlustError:
        return None
    return world if (world.n_states, world.n_actions) == (env.n_states, env.n_actions) else None


def model_hash(world: World) -> str:
    """Return a hash of everything that a run in a world depends on: its dynamics and its settings."""
    digest = hashlib.sha256(repr((world.reward_range, world.defaults)).encode())
    for array in world.mdp:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:_HASH_LENGTH]


def _mdp_from_model(model: Any, name: str) -> TabularMDP:
    n_states = len(model)
    rows = [_outcomes(model, state, name) for state in range(n_states)]
    n_actions = len(rows[0])
    width = max(len(outcomes) for row in rows for outcomes in row)
    shape = (n_states, n_actions, width)
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminal = np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    for state, row in enumerate(rows):
        if len(row) != n_actions:
            raise InvalidWorld(f"{name}: state {state} has {len(row)} actions in P, but state 0 has {n_actions}.")
        for action, outcomes in enumerate(row):
            for k, outcome in enumerate(outcomes):
                i = (state, action, k)
                try:
                    probability[i], successor, reward[i], terminated = outcome
                    next_state[i], terminal[i] = operator.index(successor), bool(terminated)
                except Exception:  # Any object can be an outcome.
                    raise InvalidWorld(
                        f"{name}: P[{state}][{action}] must list (probability, next state, reward, terminated), "
                        f"got {shown(outcome)}."
                    ) from None
    return TabularMDP(probability, next_state, reward, terminal, start=np.zeros(n_states))


def _outcomes(model: Any, state: int, name: str) -> list[list[Any]]:
    """Return the outcomes of each action of a state."""
    try:
        actions = model[state]
        outcomes = [list(actions[action]) for action in range(len(actions))]
    except Exception:  # A user-defined table may raise anything.
        raise InvalidWorld(f"{name}: P must have every state from 0 and every action from 0; see P[{state}].") from None
    if not outcomes or not all(outcomes):
        raise InvalidWorld(f"{name}: P[{state}] has no actions, or an action without outcomes.")
    return outcomes


def _start_distribution(env: Env[Any, Any], n_states: int, name: str) -> FloatArray:
    distribution = getattr(env.unwrapped, "initial_state_distrib", None)
    if distribution is not None:
        try:
            start = np.asarray(distribution, np.float64).ravel()
        except Exception:  # Any object can be given.
            start = np.full(1, np.nan)
        total = float(start.sum())
        if start.shape != (n_states,) or not abs(total - 1.0) < 1e-6:
            raise InvalidWorld(
                f"{name}: initial_state_distrib must be {n_states} probabilities that sum to 1, got {len(start)} that "
                f"sum to {total:g}."
            )
        return start / total
    counts = np.zeros(n_states)
    for seed in range(OBSERVED_RESETS):
        try:
            state, _ = env.reset(seed=seed)
            index = operator.index(state)
        except Exception as error:  # A user-defined environment may raise anything.
            raise EnvironmentFailed(f"{name}: reset failed: {type(error).__name__}: {error}") from error
        if not 0 <= index < n_states:
            raise InvalidWorld(f"{name}: reset returned state {index}; P has the states 0 to {n_states - 1}.")
        counts[index] += 1
    return counts / OBSERVED_RESETS
