"""Checkpoints: the agent, the state keys, and how to restore the environment.

Gymnasium environments cannot be saved, but their randomness can: a checkpoint stores the state of
`env.unwrapped.np_random` at the start of the episode and the actions since then. Replaying them restores the
environment exactly, including its wrappers, if all of its randomness comes from that generator. If the replay ends in
another state, or the environment fails, a new episode starts, with a warning. An environment that fails because of its
random numbers would fail again after every replay: `new_episode` starts a new episode instead.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents import file
from wanderlust.agents.agent import Agent
from wanderlust.core.errors import BadFile
from wanderlust.environments.tabular import Tabular
from wanderlust.training.adaptive import MIN_SAMPLES, N_STAGES, Discovery, TaskEstimate, TimePenalty, adapted_fields
from wanderlust.training.loop import TrainingLoop

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


# Bit generators of NumPy that use a number of their state as an index without checking it, and its valid values.
_POSITIONS = {"MT19937": (("state", "pos"), 624), "Philox": (("buffer_pos",), 4)}


class InvalidField(ValueError):
    """A field of a checkpoint that is missing or wrong; the message says what is right."""


class SavedLoop(NamedTuple):
    """The fields of a training loop; see `TrainingLoop`."""

    environment: Mapping[str, Any]
    episode_start: Mapping[str, Any] | None
    episode_over: bool
    next_state: int
    episode: int
    episode_return: float
    episode_steps: int
    recent_returns: list[float]
    estimates_reward_range: bool
    adapted: list[str] | None
    task_estimate: TaskEstimate
    discovery: Discovery
    time_penalty: TimePenalty | None
    metrics: dict[str, float]


def read_loop(saved: Mapping[str, Any], agent: Agent) -> SavedLoop:
    """Return the fields of a saved loop, or raise `InvalidField`."""
    whole, number = (_is_whole, "a whole number, at least 0"), (_is_finite, "a finite number")
    flag, mapping = (_is_flag, "true or false"), (_is_mapping, "an object")
    explorer = agent.configured_explorer
    names = adapted_fields(type(explorer), explorer.extra_tables())
    rules: dict[str, tuple[Callable[[Any], bool], str]] = {
        "environment": mapping,
        "episode_start": (_is_start, "null, or an object with a seed or a random_state"),
        "episode_over": flag,
        "next_state": whole,
        "episode": whole,
        "episode_return": number,
        "episode_steps": whole,
        "recent_returns": (lambda value: _is_list_of(value, _is_finite), "a list of finite numbers"),
        "estimates_reward_range": flag,
        "adapted": (
            lambda value: value is None or _is_list_of(value, names.__contains__),
            f"null, or a list of names from {names}",
        ),
        "task_estimate": (_is_task, f"[[lowest, highest reward], true or false, stage from 0 to {N_STAGES}]"),
        "discovery": (_is_discovery, f"[{', '.join(Discovery._fields)}]"),
        "time_penalty": (_is_penalty, f"null, or up to {MIN_SAMPLES} [step, reward] and the decrease per step"),
        "metrics": (_is_metrics, "an object whose `evaluation` is a number"),
    }
    for name, (is_valid, right) in rules.items():
        if name not in saved:
            raise InvalidField(f"the field {name} is missing; it must be {right}")
        if not is_valid(saved[name]):
            raise InvalidField(f"the field {name} is {_short(saved[name])}; it must be {right}")
    return SavedLoop(**{name: _CONVERSIONS.get(name, lambda value: value)(saved[name]) for name in rules})


def checked_actions(actions: NDArray[Any], n_actions: int) -> list[int]:
    """Return the actions of an episode as integers."""
    if actions.dtype != np.int32 or actions.ndim != 1:
        raise InvalidField(f"episode_actions is {actions.dtype} {actions.shape}; it must be int32 with one dimension")
    if len(actions) and not 0 <= actions.min() <= actions.max() < n_actions:
        found = f"{actions.min()} to {actions.max()}"
        raise InvalidField(f"episode_actions is from {found}; valid are 0 to {n_actions - 1}")
    listed: list[int] = actions.tolist()
    return listed


def set_random_state(generator: np.random.Generator, state: Mapping[str, Any]) -> bool:
    """Set the state of a random number generator; return False if the state is that of another kind of generator."""
    bits = generator.bit_generator
    name = type(bits).__name__
    if state.get("bit_generator") != name:
        return False
    try:
        _check_position(name, state)
        bits.state = dict(state)
    except Exception as error:  # NumPy raises KeyError, TypeError, OverflowError and others.
        raise InvalidField(f"the field random_state of episode_start is not one of {name} ({error})") from error
    return True


def _check_position(name: str, state: Mapping[str, Any]) -> None:
    path, last = _POSITIONS.get(name, ((), 0))
    place: Any = state
    for key in path:
        place = place[key]
    if path and place not in range(last + 1):
        raise InvalidField(f"{'.'.join(path)} is {place!r}; valid are 0 to {last}")


def _time_penalty(value: Any) -> TimePenalty | None:
    return None if value is None else TimePenalty(tuple((step, float(reward)) for step, reward in value[0]), value[1])


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "task_estimate": lambda value: TaskEstimate(tuple(value[0]), value[1], value[2]),
    "discovery": lambda value: Discovery(*value),
    "time_penalty": _time_penalty,
}


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_list_of(value: Any, is_valid: Callable[[Any], bool], length: int | None = None) -> bool:
    return isinstance(value, list) and length in (None, len(value)) and all(is_valid(part) for part in value)


def _is_metrics(value: Any) -> bool:
    return _is_mapping(value) and type(value.get("evaluation", 0.0)) in (int, float)


def _is_start(value: Any) -> bool:
    if value is None:
        return True
    if not _is_mapping(value):
        return False
    seed = value.get("seed")
    return type(seed) is int and seed >= 0 if seed is not None else _is_mapping(value.get("random_state"))


def _is_task(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 3 and _is_list_of(value[0], _is_finite, 2)):
        return False
    (low, high), is_stochastic, stage = value
    return low <= high and _is_flag(is_stochastic) and _is_whole(stage) and stage <= N_STAGES


def _is_discovery(value: Any) -> bool:
    if not _is_list_of(value, _is_finite, len(Discovery._fields)):
        return False
    found = Discovery(*value)
    counts = (found.pairs, found.rewards_at, found.states_at)
    return found.low <= found.high and found.size >= 0 and all(map(_is_whole, counts))


def _is_penalty(value: Any) -> bool:
    if value is None:
        return True
    if not (isinstance(value, list) and len(value) == 2 and _is_list_of(value[0], _is_sample)):
        return False
    samples, per_step = value
    if len({step for step, _ in samples}) != len(samples) or len(samples) > MIN_SAMPLES:
        return False
    is_complete = len(samples) == MIN_SAMPLES
    return _is_finite(per_step) and per_step >= 0 if is_complete else per_step is None


def _is_sample(value: Any) -> bool:
    return _is_list_of(value, _is_finite, 2) and _is_whole(value[0])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
