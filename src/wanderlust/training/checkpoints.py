"""Checkpoints: the agent, the state keys, and how to restore the environment.

Gymnasium environments cannot be saved, but their randomness can: a checkpoint stores the state of
`env.unwrapped.np_random` at the start of the episode and the actions since then. Replaying them restores the
environment exactly, including its wrappers, if all of its randomness comes from that generator. If the replay ends in
another state, a new episode starts, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wanderlust.agents import file
from wanderlust.agents.agent import Agent
from wanderlust.core.errors import BadFile
from wanderlust.envs.state_keys import StateKeys
from wanderlust.envs.tabular import Tabular
from wanderlust.training.adaptive import TaskEstimate
from wanderlust.training.idle_actions import IdleActions
from wanderlust.training.loop import TrainingLoop
from wanderlust.training.time_penalty import TimePenalty

_LOOP, _KEYS, _ACTIONS = "loop", "state_keys", "episode_actions"


def save(loop: TrainingLoop, path: Path) -> None:
    """Write a checkpoint; `Agent.load` reads the agent alone from it."""
    about = {
        "environment": environment_identity(loop.env),
        "episode_start": _to_json(loop.episode_start),
        "episode_over": loop.episode_over,
        "next_state": int(loop.next_state),
        "episode": loop.episode,
        "episode_return": loop.episode_return,
        "episode_steps": loop.episode_steps,
        "recent_returns": list(loop.recent_returns),
        "estimates_reward_range": loop.estimates_reward_range,
        "adapted_options": list(loop.adapted_options),
        "task_estimate": list(loop.task_estimate),
        "time_penalty": None if loop.time_penalty is None else list(loop.time_penalty),
        "idle_actions": None if loop.idle_actions is None else loop.idle_actions.counts.tolist(),
        "metrics": loop.metrics,
    }
    arrays = {_KEYS: loop.env.keys.to_array(), _ACTIONS: np.array(loop.episode_actions, np.int32)}
    file.save(loop.agent, path, more_arrays=arrays, more_about={_LOOP: about})


def load(env: Tabular, path: Path, explorer: type | None, *, steps: int) -> TrainingLoop:
    """Read a checkpoint and restore the environment."""
    agent, about, arrays = file.load_all(Agent, path, explorer)
    saved = about.get(_LOOP)
    if not isinstance(saved, Mapping):
        raise BadFile(f"{path}: not a checkpoint saved by `learn`; this file holds an agent only.")
    _check_identity(env, saved["environment"], path)
    env.keys = StateKeys.from_array(arrays[_KEYS])
    estimates, options = saved["estimates_reward_range"], saved["adapted_options"]
    loop = TrainingLoop(env, agent, steps=steps, estimates_reward_range=estimates, adapted_options=options)
    _restore_estimates(loop, saved)
    _replay_episode(loop, saved, [int(action) for action in arrays[_ACTIONS]], path)
    loop.episode = saved["episode"]
    loop.recent_returns.extend(saved["recent_returns"])
    loop.metrics = dict(saved["metrics"])
    return loop


def _restore_estimates(loop: TrainingLoop, saved: Mapping[str, Any]) -> None:
    reward_range, is_stochastic, stage = saved["task_estimate"]
    loop.task_estimate = TaskEstimate(tuple(reward_range), is_stochastic, stage)
    if saved["time_penalty"] is not None:
        samples, per_step = saved["time_penalty"]
        loop.time_penalty = TimePenalty(tuple((int(step), float(reward)) for step, reward in samples), per_step)
    if saved["idle_actions"] is not None:
        loop.idle_actions = IdleActions(loop.agent.n_actions)
        loop.idle_actions.counts[:] = saved["idle_actions"]


def keys_in(arrays: Mapping[str, Any]) -> StateKeys | None:
    """Return the state keys in the arrays of a file, or None if it is not a checkpoint."""
    return StateKeys.from_array(arrays[_KEYS]) if _KEYS in arrays else None


def environment_in(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the identity of a checkpoint's environment (see `environment_identity`), or None for other files."""
    saved = about.get(_LOOP)
    return saved["environment"] if isinstance(saved, Mapping) else None


def _replay_episode(loop: TrainingLoop, saved: Mapping[str, Any], actions: list[int], path: Path) -> None:
    """Replay the episode in the environment without learning; if the result differs, start a new episode."""
    env, start = loop.env, saved["episode_start"]
    if start is None:
        _warn(env, path)
        return
    seed = start.get("seed")
    if seed is None and not _set_random_state(env, start["random_state"]):
        _warn(env, path)
        return
    env.adds_new_states = False
    loop.begin_episode(seed)
    for action in actions:
        loop.next_state, reward, terminated, truncated, loop.info = env.step(action)
        loop.episode_return += float(reward)
        loop.episode_steps += 1
        loop.episode_over = bool(terminated or truncated)
        if loop.episode_over:
            break
    env.adds_new_states = True
    loop.episode_actions = actions
    replayed = (int(loop.next_state), loop.episode_over, loop.episode_steps, loop.episode_return)
    if replayed != tuple(saved[name] for name in ("next_state", "episode_over", "episode_steps", "episode_return")):
        _warn(env, path)
        loop.episode_over = True


def _warn(env: Tabular, path: Path) -> None:
    warnings.warn(
        f"{path}: the state of {env.name} could not be restored, since not all of its randomness comes from "
        "env.unwrapped.np_random. Training continues with a new episode; the agent is fully restored.",
        stacklevel=4,
    )


def _set_random_state(env: Tabular, state: Any) -> bool:
    generator = getattr(env.unwrapped, "np_random", None)
    if not isinstance(generator, np.random.Generator):
        return False
    try:
        generator.bit_generator.state = state
    except (TypeError, ValueError, KeyError):
        return False
    return True


def environment_identity(env: Tabular) -> dict[str, Any]:
    """Return the properties of an environment that must be the same when training is resumed."""
    spec = env.env.spec
    options = {} if spec is None else {name: _as_text(value) for name, value in sorted(spec.kwargs.items())}
    options.pop("render_mode", None)
    return {"name": env.name, "options": options, "n_actions": env.n_actions, "state encoding": _encoder_options(env)}


def _encoder_options(env: Tabular) -> dict[str, str]:
    return {name: _as_text(value) for name, value in env.encoder_options.items() if value is not None}


def _as_text(value: Any) -> str:
    return f"function {getattr(value, '__qualname__', type(value).__name__)}" if callable(value) else repr(value)


def _check_identity(env: Tabular, saved: Mapping[str, Any], path: Path) -> None:
    for name, value in environment_identity(env).items():
        if saved.get(name) != value:
            raise BadFile(
                f"{path}: saved in another environment: {name} is {saved.get(name)!r} in the file, {value!r} here. "
                "Create the same environment, or train from the start without resume."
            )


def _to_json(value: Any) -> Any:
    """Return the state of a random number generator with its arrays as lists."""
    if isinstance(value, Mapping):
        return {name: _to_json(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
