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

import msgspec
import numpy as np

from wanderlust.agents import file
from wanderlust.agents.agent import Agent
from wanderlust.core.errors import BadFile
from wanderlust.environments.tabular import Tabular, saved_environment
from wanderlust.training.adaptive import (
    MIN_SAMPLES,
    Count,
    Discovery,
    Finite,
    TaskEstimate,
    TimePenalty,
    adapted_fields,
)
from wanderlust.training.loop import TrainingLoop, random_bits

_OTHER_RANDOMNESS = "since not all of its randomness comes from env.unwrapped.np_random"


class SavedLoop(msgspec.Struct, frozen=True):
    """The fields of a training loop in a checkpoint; see `TrainingLoop`."""

    episode_start: dict[str, Any] | None
    episode_over: bool
    next_state: Count
    episode: Count
    episode_return: Finite
    episode_steps: Count
    recent_returns: list[Finite]
    estimates_reward_range: bool
    adapted: tuple[str, ...] | None
    task_estimate: TaskEstimate
    discovery: Discovery
    time_penalty: TimePenalty | None
    metrics: dict[str, Any]

    @classmethod
    def of_file(cls, stored: Mapping[str, Any], agent: Agent) -> SavedLoop:
        """Return the loop that was stored with an agent, or raise `BadFile`."""
        try:
            saved = msgspec.convert(stored, cls)
        except msgspec.ValidationError as error:
            raise BadFile(f"the field {file.LOOP} is not valid: {error}") from error
        for name, is_valid in saved._checks(agent).items():
            if not is_valid:
                raise BadFile(f"the field {name} is not valid: {str(getattr(saved, name))[:80]}")
        return saved

    def _checks(self, agent: Agent) -> dict[str, bool]:
        """Return for each field whether its value can be used; the types are right already."""
        start, found, penalty = self.episode_start, self.discovery, self.time_penalty or TimePenalty()
        steps = {step for step, _ in penalty.samples}
        explorer = agent.configured_explorer
        names = adapted_fields(type(explorer), explorer.extra_tables())
        return {
            "episode_start": start is None or _is_start(start),
            "adapted": set(self.adapted or ()) <= set(names),
            "task_estimate": self.task_estimate.reward_range[0] <= self.task_estimate.reward_range[1],
            "discovery": found.low <= found.high,
            "time_penalty": len(steps) == len(penalty.samples) <= MIN_SAMPLES
            and (len(steps) == MIN_SAMPLES) == (penalty.per_step is not None),
            "metrics": isinstance(self.metrics.get("evaluation", 0.0), int | float),
        }


def described(loop: TrainingLoop) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Return the step of a training, and what continues it: JSON values and arrays."""
    about = {name: getattr(loop, name) for name in SavedLoop.__struct_fields__} | {
        "next_state": int(loop.next_state),
        "recent_returns": list(loop.recent_returns),
    }
    arrays = {file.ACTIONS: np.array(loop.episode_actions, np.int32)}
    return loop.step, {file.LOOP: msgspec.to_builtins(about)}, arrays


def load(
    env: Tabular, source: Path | Agent, explorer: type | None, *, steps: int, new_episode: bool = False
) -> tuple[TrainingLoop, int | None]:
    """Return the training of a checkpoint or of an agent, which is not changed, and restore the environment.

    Return also the seed of the next episode: None if the environment was restored, so that its own random numbers
    continue. With `new_episode` it is not restored.
    """
    about: Mapping[str, Any]
    arrays: Mapping[str, Any]
    if isinstance(source, Agent):
        at, about, arrays = source.resumable or (None, {}, {})
        agent, name = source.copy(), "the agent"
        about = about if at == agent.steps else {}
    else:
        agent, about, arrays = file.load_all(Agent, source, explorer)
        name = str(source)
    try:
        _check_environment(env, agent)
        if file.LOOP not in about:  # Another loop trained it: a new episode, with its range of rewards.
            return TrainingLoop(env, agent, steps=steps, estimates_reward_range=False, adapted=None), _new_seed(agent)
        saved = SavedLoop.of_file(about[file.LOOP], agent)
        estimates = saved.estimates_reward_range
        loop = TrainingLoop(env, agent, steps=steps, estimates_reward_range=estimates, adapted=saved.adapted)
        for field in ("task_estimate", "discovery", "time_penalty", "metrics"):
            setattr(loop, field, getattr(saved, field))
        loop.recent_returns.extend(saved.recent_returns)
        seed = _new_seed(agent) if new_episode else None
        if not new_episode and (reason := _replay_episode(loop, saved, arrays)) is not None:
            seed = _new_seed(agent)
            warnings.warn(
                f"{name}: the state of {env.name} could not be restored, {reason}; a new episode begins.",
                stacklevel=3,
            )
    except BadFile as error:
        raise BadFile(f"{name}: {error}; training cannot be resumed.") from error
    loop.episode = saved.episode
    return loop, seed


def _new_seed(agent: Agent) -> int:
    """Return a seed for an environment that could not be restored: the same whenever training is resumed here."""
    return int(np.random.SeedSequence([agent.seed, agent.steps]).generate_state(1)[0])


def _check_environment(env: Tabular, agent: Agent) -> None:
    """Check that the environment is the agent's, and let it use the agent's state indices."""
    differences: list[str | None] = []
    if agent.encoding is not None:
        here, saved = saved_environment(env), agent.environment or {}
        differences = [
            f"{name} was {saved.get(name)!r}, and is {here[name]!r} here"
            for name in ("name", "options", "reset_seed")
            if saved.get(name) != here[name]
        ]
        differences.append(agent.encoding.difference(env.encoding))
    elif agent.n_states is None:
        raise BadFile("its number of states is not known; create the agent with n_states, as the environment has them")
    sizes = (agent.n_actions, agent.n_states), (env.n_actions, env.fixed_n_states)
    if sizes[0] != sizes[1]:
        differences.append(f"n_actions and n_states were {sizes[0]}, and are {sizes[1]} here")
    for difference in filter(None, differences):
        advice = "Create the same one, or train from the start, without resume"
        raise BadFile(f"saved in another environment: {difference}. {advice}")
    if agent.encoding is not None:
        # The encoder of the environment has the key function, which a file cannot have.
        env.encoding.keys = agent.encoding.keys
        agent.encoding = env.encoding


def _replay_episode(loop: TrainingLoop, saved: SavedLoop, arrays: Mapping[str, Any]) -> str | None:
    """Replay the episode in the environment without learning.

    If the environment cannot be restored, the next step starts a new episode; return the reason.
    """
    env, start, actions = loop.env, saved.episode_start, arrays.get(file.ACTIONS)
    if actions is None or not np.isin(actions, range(env.n_actions)).all():
        raise BadFile(f"{file.ACTIONS} must be actions from 0 to {env.n_actions - 1}")
    if start is None:
        return _OTHER_RANDOMNESS
    seed = start.get("seed")
    if seed is None:
        bits = random_bits(env)
        if bits is None:
            return _OTHER_RANDOMNESS
        try:
            bits.state = start["random_state"]
        except Exception as error:  # NumPy raises KeyError, TypeError, OverflowError and others.
            raise BadFile(f"the field random_state of episode_start is not valid ({error})") from error
    env.adds_new_states = False
    try:
        loop.begin_episode(seed)
        for action in actions.tolist():
            loop.next_state, reward, terminated, truncated, loop.info = env.step(action)
            loop.episode_return += float(reward)
            loop.episode_steps += 1
            loop.episode_over = bool(terminated or truncated)
            if loop.episode_over:
                break
        loop.episode_actions = actions.tolist()
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


def _is_start(start: Mapping[str, Any]) -> bool:
    seed = start.get("seed")
    return isinstance(start.get("random_state"), dict) if seed is None else type(seed) is int and seed >= 0
