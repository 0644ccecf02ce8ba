"""The training loop as a checkpoint describes it, in JSON; every field is checked before it is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.learning.spec import NO_SIGNAL, Ints
from wanderlust.training.adaptive import N_STAGES, Discovery, TaskEstimate, adapted_fields
from wanderlust.training.time_penalty import MIN_SAMPLES, TimePenalty

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
    idle_actions: Ints | None
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
        "idle_actions": (lambda value: _is_idle(value, agent), "null, or visits and idle visits of each action"),
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
    "idle_actions": lambda value: None if value is None else np.array(value, np.int64),
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


def _is_idle(value: Any, agent: Agent) -> bool:
    if value is None:
        return True
    n_actions, n_states = agent.n_actions, int(agent.learner.counters.n_states)
    if not _is_list_of(value, lambda row: _is_list_of(row, _is_whole, n_actions), 2):
        return False
    tries_and_idle = zip(*value, strict=True)
    has_w = agent.spec.visitation_signal != NO_SIGNAL
    return has_w and all(idle <= tries <= n_states for tries, idle in tries_and_idle)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
