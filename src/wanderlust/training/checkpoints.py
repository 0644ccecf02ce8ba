"""Lessons in files: the agent, the numbers of the states, and how to bring the environment back to where it was.

No environment can be asked to save itself. But its chance can: the state of `env.unwrapped.np_random` when the episode
began, and the actions taken since. Reset and led through the same actions again, an environment whose chance all comes
from there is exactly where it was, wrappers included. Where that fails, which is seen by the state it ends up in, a new
episode begins, with a warning.
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

_LOOP, _KEYS, _ACTIONS = "loop", "lesson_keys", "lesson_actions"


def save(loop: TrainingLoop, path: Path) -> None:
    """Write a loop; the file can also be read as a mere agent, by `Agent.load`."""
    about = {
        "environment": identity_of(loop.env),
        "begin": _plain(loop.episode_begin),
        "over": loop.over,
        "next_state": int(loop.next_state),
        "episode": loop.episode,
        "episode_return": loop.episode_return,
        "episode_steps": loop.episode_steps,
        "recent_returns": list(loop.recent_returns),
        "estimates_rewards": loop.estimates_rewards,
        "adapts": list(loop.adapts),
        "expected": list(loop.expected),
        "clock": None if loop.clock is None else list(loop.clock),
        "idleness": None if loop.idleness is None else loop.idleness.counts.tolist(),
        "measures": loop.measures,
    }
    arrays = {_KEYS: loop.env.keys.to_array(), _ACTIONS: np.array(loop.episode_actions, np.int32)}
    file.save(loop.agent, path, more_arrays=arrays, more_about={_LOOP: about})


def load(env: Tabular, path: Path, explorer: type | None, *, steps: int) -> TrainingLoop:
    """Read a loop and bring the environment to where it was."""
    agent, about, arrays = file.load_all(Agent, path, explorer)
    saved = about.get(_LOOP)
    if not isinstance(saved, Mapping):
        raise BadFile(f"{path}: an agent, but not one that `learn` saved, so there is nothing to go on with.")
    _check_identity(env, saved["environment"], path)
    env.keys = StateKeys.from_array(arrays[_KEYS])
    loop = TrainingLoop(env, agent, steps=steps, estimates_rewards=saved["estimates_rewards"], adapts=saved["adapts"])
    reward_range, chance, stage = saved["expected"]
    loop.expected = TaskEstimate(tuple(reward_range), chance, stage)
    _recall(loop, saved)
    _lead_back(loop, saved, [int(action) for action in arrays[_ACTIONS]], path)
    loop.episode = saved["episode"]
    loop.recent_returns.extend(saved["recent_returns"])
    loop.measures = dict(saved["measures"])
    return loop


def _recall(loop: TrainingLoop, saved: Mapping[str, Any]) -> None:
    """Bring back what was noticed of the environment; a file of an older version has nothing of that."""
    if saved.get("clock") is not None:
        seen, per_step = saved["clock"]
        loop.clock = TimePenalty(tuple((int(step), float(reward)) for step, reward in seen), per_step)
    if saved.get("idleness") is not None:
        loop.idleness = IdleActions(loop.agent.n_actions)
        loop.idleness.counts[:] = saved["idleness"]


def keys_in(arrays: Mapping[str, Any]) -> StateKeys | None:
    """Return the keys of the states from the arrays of an agent's file, if `learn` wrote it."""
    return StateKeys.from_array(arrays[_KEYS]) if _KEYS in arrays else None


def environment_in(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return which environment an agent's file is from, if `learn` wrote it; see `identity_of`."""
    saved = about.get(_LOOP)
    return saved["environment"] if isinstance(saved, Mapping) else None


def _lead_back(loop: TrainingLoop, saved: Mapping[str, Any], actions: list[int], path: Path) -> None:
    """Take the environment through the episode again, learning nothing; begin another if it ends up elsewhere."""
    env, begin = loop.env, saved["begin"]
    if begin is None:
        _warn(env, path)
        return
    seed = begin.get("seed")
    if seed is None and not _set_chance(env, begin["chance"]):
        _warn(env, path)
        return
    env.adds_new_states = False
    loop.begin_episode(seed)
    for action in actions:
        loop.next_state, reward, terminated, truncated, loop.info = env.step(action)
        loop.episode_return += float(reward)
        loop.episode_steps += 1
        loop.over = bool(terminated or truncated)
        if loop.over:
            break
    env.adds_new_states = True
    loop.episode_actions = actions
    found = (int(loop.next_state), loop.over, loop.episode_steps, loop.episode_return)
    if found != tuple(saved[name] for name in ("next_state", "over", "episode_steps", "episode_return")):
        _warn(env, path)
        loop.over = True


def _warn(env: Tabular, path: Path) -> None:
    warnings.warn(
        f"{path}: {env.name} could not be brought back to where it was, since not all of its chance comes from "
        "env.unwrapped.np_random. Learning goes on with a new episode; all that was learnt is there.",
        stacklevel=4,
    )


def _set_chance(env: Tabular, state: Any) -> bool:
    generator = getattr(env.unwrapped, "np_random", None)
    if not isinstance(generator, np.random.Generator):
        return False
    try:
        generator.bit_generator.state = state
    except (TypeError, ValueError, KeyError):
        return False
    return True


def identity_of(env: Tabular) -> dict[str, Any]:
    """Return what a checkpoint's environment must have in common with the one it goes on in."""
    spec = env.env.spec
    options = {} if spec is None else {name: _named(value) for name, value in sorted(spec.kwargs.items())}
    options.pop("render_mode", None)
    return {"name": env.name, "options": options, "n_actions": env.n_actions, "told by": _encoder_options(env)}


def _encoder_options(env: Tabular) -> dict[str, str]:
    return {name: _named(value) for name, value in env.encoder_options.items() if value is not None}


def _named(value: Any) -> str:
    return f"function {getattr(value, '__qualname__', type(value).__name__)}" if callable(value) else repr(value)


def _check_identity(env: Tabular, saved: Mapping[str, Any], path: Path) -> None:
    mine = identity_of(env)
    for what, value in mine.items():
        if saved.get(what) != value:
            raise BadFile(
                f"{path}: saved in another environment: its {what} was {saved.get(what)!r}, here it is {value!r}. "
                "Make the environment as it was, or learn anew without resume."
            )


def _plain(value: Any) -> Any:
    """Return the state of a random generator as JSON can hold it."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
