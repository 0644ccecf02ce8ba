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

from wanderlust import agent_file
from wanderlust.adapters import Tabular
from wanderlust.adapters.keys import Keys
from wanderlust.agent import Agent
from wanderlust.errors import BadFile
from wanderlust.practice.clock import Clock
from wanderlust.practice.defaults import Outlook
from wanderlust.practice.idleness import Idleness
from wanderlust.practice.lesson import Lesson

_LESSON, _KEYS, _ACTIONS = "lesson", "lesson_keys", "lesson_actions"


def save(lesson: Lesson, path: Path) -> None:
    """Write a lesson; the file can also be read as a mere agent, by `Agent.load`."""
    about = {
        "environment": identity_of(lesson.env),
        "begin": _plain(lesson.episode_begin),
        "over": lesson.over,
        "next_state": int(lesson.next_state),
        "episode": lesson.episode,
        "episode_return": lesson.episode_return,
        "episode_steps": lesson.episode_steps,
        "recent_returns": list(lesson.recent_returns),
        "estimates_rewards": lesson.estimates_rewards,
        "adapts": list(lesson.adapts),
        "expected": list(lesson.expected),
        "clock": None if lesson.clock is None else list(lesson.clock),
        "idleness": None if lesson.idleness is None else lesson.idleness.counts.tolist(),
        "measures": lesson.measures,
    }
    arrays = {_KEYS: lesson.env.keys.to_array(), _ACTIONS: np.array(lesson.episode_actions, np.int32)}
    agent_file.save(lesson.agent, path, more_arrays=arrays, more_about={_LESSON: about})


def load(env: Tabular, path: Path, explorer: type | None, *, steps: int) -> Lesson:
    """Read a lesson and bring the environment to where it was."""
    agent, about, arrays = agent_file.load_all(Agent, path, explorer)
    saved = about.get(_LESSON)
    if not isinstance(saved, Mapping):
        raise BadFile(f"{path}: an agent, but not one that `learn` saved, so there is nothing to go on with.")
    _check_identity(env, saved["environment"], path)
    env.keys = Keys.from_array(arrays[_KEYS])
    lesson = Lesson(env, agent, steps=steps, estimates_rewards=saved["estimates_rewards"], adapts=saved["adapts"])
    reward_range, chance, stage = saved["expected"]
    lesson.expected = Outlook(tuple(reward_range), chance, stage)
    _recall(lesson, saved)
    _lead_back(lesson, saved, [int(action) for action in arrays[_ACTIONS]], path)
    lesson.episode = saved["episode"]
    lesson.recent_returns.extend(saved["recent_returns"])
    lesson.measures = dict(saved["measures"])
    return lesson


def _recall(lesson: Lesson, saved: Mapping[str, Any]) -> None:
    """Bring back what was noticed of the environment; a file of an older version has nothing of that."""
    if saved.get("clock") is not None:
        seen, per_step = saved["clock"]
        lesson.clock = Clock(tuple((int(step), float(reward)) for step, reward in seen), per_step)
    if saved.get("idleness") is not None:
        lesson.idleness = Idleness(lesson.agent.n_actions)
        lesson.idleness.counts[:] = saved["idleness"]


def keys_in(arrays: Mapping[str, Any]) -> Keys | None:
    """Return the keys of the states from the arrays of an agent's file, if `learn` wrote it."""
    return Keys.from_array(arrays[_KEYS]) if _KEYS in arrays else None


def environment_in(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return which environment an agent's file is from, if `learn` wrote it; see `identity_of`."""
    saved = about.get(_LESSON)
    return saved["environment"] if isinstance(saved, Mapping) else None


def _lead_back(lesson: Lesson, saved: Mapping[str, Any], actions: list[int], path: Path) -> None:
    """Take the environment through the episode again, learning nothing; begin another if it ends up elsewhere."""
    env, begin = lesson.env, saved["begin"]
    if begin is None:
        _warn(env, path)
        return
    seed = begin.get("seed")
    if seed is None and not _set_chance(env, begin["chance"]):
        _warn(env, path)
        return
    env.numbers_new_states = False
    lesson.begin_episode(seed)
    for action in actions:
        lesson.next_state, reward, terminated, truncated, lesson.info = env.step(action)
        lesson.episode_return += float(reward)
        lesson.episode_steps += 1
        lesson.over = bool(terminated or truncated)
        if lesson.over:
            break
    env.numbers_new_states = True
    lesson.episode_actions = actions
    found = (int(lesson.next_state), lesson.over, lesson.episode_steps, lesson.episode_return)
    if found != tuple(saved[name] for name in ("next_state", "over", "episode_steps", "episode_return")):
        _warn(env, path)
        lesson.over = True


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
    return {"name": env.name, "options": options, "n_actions": env.n_actions, "told by": _told_by(env)}


def _told_by(env: Tabular) -> dict[str, str]:
    return {name: _named(value) for name, value in env.given.items() if value is not None}


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
