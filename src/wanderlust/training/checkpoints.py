"""Checkpoints: the agent, the state keys, and how to restore the environment.

Gymnasium environments cannot be saved, but their randomness can: a checkpoint stores the state of
`env.unwrapped.np_random` at the start of the episode and the actions since then. Replaying them restores the
environment exactly, including its wrappers, if all of its randomness comes from that generator. If the replay ends in
another state, or the environment fails, a new episode starts, with a warning. An environment that fails because of its
random numbers would fail again after every replay: `new_episode` starts a new episode instead.
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
from wanderlust.environments.tabular import Tabular
from wanderlust.training.idle_actions import IdleActions
from wanderlust.training.loop import TrainingLoop
from wanderlust.training.saved_loop import (
    InvalidField,
    SavedLoop,
    checked_actions,
    read_loop,
    set_random_state,
)

_LOOP, _ACTIONS = "loop", "episode_actions"
_OTHER_RANDOMNESS = "since not all of its randomness comes from env.unwrapped.np_random"


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
        "adapted": None if loop.adapted is None else list(loop.adapted),
        "task_estimate": list(loop.task_estimate),
        "discovery": list(loop.discovery),
        "time_penalty": None if loop.time_penalty is None else list(loop.time_penalty),
        "idle_actions": None if loop.idle_actions is None else loop.idle_actions.counts.tolist(),
        "metrics": loop.metrics,
    }
    arrays = {_ACTIONS: np.array(loop.episode_actions, np.int32)}
    file.save(loop.agent, path, more_arrays=arrays, more_about={_LOOP: about})


def load(
    env: Tabular, path: Path, explorer: type | None, *, steps: int, new_episode: bool = False
) -> tuple[TrainingLoop, int | None]:
    """Read a checkpoint and restore the environment.

    Return also the seed of the next episode: None if the environment was restored, so that its own random numbers
    continue. With `new_episode` it is not restored.
    """
    agent, about, arrays = file.load_all(Agent, path, explorer)
    if not isinstance(about.get(_LOOP), Mapping):
        raise BadFile(
            f"{path}: not a checkpoint; this file holds an agent only. `learn(..., save=path)` writes checkpoints."
        )
    try:
        saved = read_loop(about[_LOOP], agent)
        _check_identity(env, saved.environment, path)
        _share_encoding(env, agent, path)
        actions = _checked_arrays(arrays, agent, env)
        loop = _restored(env, agent, saved, steps)
        seed = _new_seed(agent) if new_episode else None
        if not new_episode and (reason := _replay_episode(loop, saved, actions)) is not None:
            seed = _new_seed(agent)
            _warn(env, path, reason)
    except InvalidField as error:
        raise BadFile(f"{path}: {error}; training cannot be resumed from this file.") from error
    loop.episode = saved.episode
    return loop, seed


def _new_seed(agent: Agent) -> int:
    """Return a seed for an environment that could not be restored: the same whenever training is resumed here."""
    return int(np.random.SeedSequence([agent.seed, agent.steps]).generate_state(1)[0])


def _checked_arrays(arrays: Mapping[str, Any], agent: Agent, env: Tabular) -> list[int]:
    """Return the actions of the episode, which must fit the agent."""
    if _ACTIONS not in arrays:
        raise InvalidField(f"{_ACTIONS} missing")
    if (agent.n_actions, agent.n_states) != (env.n_actions, env.fixed_n_states):
        raise InvalidField(
            f"n_actions is {agent.n_actions} and n_states {agent.n_states}; they must be {env.n_actions} and "
            f"{env.fixed_n_states}"
        )
    return checked_actions(arrays[_ACTIONS], env.n_actions)


def _share_encoding(env: Tabular, agent: Agent, path: Path) -> None:
    """Let the environment use the state indices of the agent."""
    if agent.encoding is None:
        raise InvalidField("the state encoding is missing")
    difference = agent.encoding.difference(env.encoding)
    if difference is not None:
        raise BadFile(
            f"{path}: saved in another environment: in the file, {difference}. Create the same environment, or train "
            "from the start without resume."
        )
    # The encoder of the environment has the key function, which a file cannot have.
    env.encoding.keys = agent.encoding.keys
    agent.encoding = env.encoding


def _restored(env: Tabular, agent: Agent, saved: SavedLoop, steps: int) -> TrainingLoop:
    estimates = saved.estimates_reward_range
    loop = TrainingLoop(env, agent, steps=steps, estimates_reward_range=estimates, adapted=saved.adapted)
    loop.task_estimate, loop.discovery = saved.task_estimate, saved.discovery
    loop.time_penalty = saved.time_penalty
    if saved.idle_actions is not None:
        loop.idle_actions = IdleActions(agent.n_actions)
        loop.idle_actions.counts[:] = saved.idle_actions
    loop.recent_returns.extend(saved.recent_returns)
    loop.metrics = dict(saved.metrics)
    return loop


def _replay_episode(loop: TrainingLoop, saved: SavedLoop, actions: list[int]) -> str | None:
    """Replay the episode in the environment without learning.

    If the environment cannot be restored, the next step starts a new episode; return the reason.
    """
    env, start = loop.env, saved.episode_start
    if start is None:
        return _OTHER_RANDOMNESS
    seed = start.get("seed")
    if seed is None:
        generator = getattr(env.unwrapped, "np_random", None)
        if not isinstance(generator, np.random.Generator) or not set_random_state(generator, start["random_state"]):
            return _OTHER_RANDOMNESS
    env.adds_new_states = False
    try:
        loop.begin_episode(seed)
        _take_actions(loop, actions)
    except Exception as error:  # Environments can raise anything; the agent does not depend on this episode.
        loop.episode_over, loop.episode_actions = True, []
        return f"since it failed when its episode was replayed ({type(error).__name__}: {error})"
    finally:
        env.adds_new_states = True
    replayed = (int(loop.next_state), loop.episode_over, loop.episode_steps, loop.episode_return)
    if replayed != (saved.next_state, saved.episode_over, saved.episode_steps, saved.episode_return):
        loop.episode_over = True
        return _OTHER_RANDOMNESS
    return None


def _take_actions(loop: TrainingLoop, actions: list[int]) -> None:
    for action in actions:
        loop.next_state, reward, terminated, truncated, loop.info = loop.env.step(action)
        loop.episode_return += float(reward)
        loop.episode_steps += 1
        loop.episode_over = bool(terminated or truncated)
        if loop.episode_over:
            break
    loop.episode_actions = actions


def _warn(env: Tabular, path: Path, reason: str) -> None:
    warnings.warn(
        f"{path}: the state of {env.name} could not be restored, {reason}. Training continues with a new episode; "
        "the agent is fully restored.",
        stacklevel=4,
    )


def environment_identity(env: Tabular) -> dict[str, Any]:
    """Return the properties of an environment that must be the same when training is resumed."""
    spec = env.env.spec
    options = {} if spec is None else {name: _as_text(value) for name, value in sorted(spec.kwargs.items())}
    options.pop("render_mode", None)
    return {"name": env.name, "options": options, "n_actions": env.n_actions, "reset_seed": env.reset_seed}


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
