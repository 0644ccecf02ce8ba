"""Demonstrations: episodes of somebody else, from which an agent learns before its own first step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wanderlust.core.errors import InvalidObservation, InvalidSetting, WanderlustError, check_flag, shown
from wanderlust.environments.encoding import ENVIRONMENT, INFO
from wanderlust.environments.tabular import Tabular
from wanderlust.environments.vector import entry_of
from wanderlust.training.loop import TrainingLoop, Transition, checked_reward

FIELDS = ("observations", "actions", "rewards", "terminations", "truncations")
"""The fields of an episode in Minari's form; there is one more observation than actions."""


def learn_from_demonstrations(loop: TrainingLoop, demonstrations: Any) -> None:
    """Let the agent learn from all transitions of some episodes, as if it had taken them itself."""
    try:
        episodes = iter(demonstrations)
    except TypeError:
        episodes = None
    if episodes is None or isinstance(demonstrations, str | bytes | Mapping):
        raise InvalidSetting(f"demonstrations must be a list of episodes, got {shown(demonstrations)}.")
    for number, episode in enumerate(episodes, start=1):
        transitions: list[Transition] = []
        try:
            if loop.env.encoding.encoder.kind in (ENVIRONMENT, INFO):
                raise InvalidSetting(
                    f"it has observations only, but states are encoded by {loop.env.encoding.encoder}; use a key that "
                    "is a function of the observation."
                )
            transitions.extend(_transitions(loop.env, episode))
        except WanderlustError as error:
            raise type(error)(f"demonstration {number}, step {len(transitions) + 1}: {error}") from error
        loop.observe_episode(transitions)


def _transitions(env: Tabular, episode: Any) -> Iterator[Transition]:
    """Return the transitions of an episode; one that does not say how it ended is truncated."""
    steps = list(_steps(episode))
    for i, step in enumerate(steps):
        if not isinstance(step, Sequence) or len(step) not in (5, 6):
            raise InvalidObservation(
                "a step must be (observation, action, reward, next observation, terminated) with or without truncated, "
                f"got {shown(step)}."
            )
        observation, action, reward, following, terminated = step[:5]
        ends = check_flag("terminated", terminated)
        truncated = not ends and (i == len(steps) - 1 or (len(step) == 6 and check_flag("truncated", step[5])))
        state = env.state_of(observation)
        yield Transition(
            state=state,
            action=env.encoding.actions.encode(action),
            reward=checked_reward(reward),
            next_state=state if ends else env.state_of(following),
            terminated=ends,
            truncated=truncated,
        )


def _steps(episode: Any) -> Iterator[Any]:
    """Return the steps of an episode: a list of steps, or an object or a dictionary with Minari's fields."""
    fields = {name: getattr(episode, name, None) for name in FIELDS}
    named: Mapping[str, Any] = episode if isinstance(episode, Mapping) else fields
    missing = [name for name in FIELDS if named.get(name) is None]
    if len(missing) == len(FIELDS) and isinstance(episode, Sequence) and not isinstance(episode, str | bytes):
        yield from episode
        return
    if missing:
        raise InvalidObservation(
            f"an episode must be a list of steps, or have {', '.join(FIELDS)}; {', '.join(missing)} missing in "
            f"{shown(episode)}."
        )
    observations, actions, rewards, terminations, truncations = (named[name] for name in FIELDS)
    try:
        lengths = [len(each) for each in (rewards, terminations, truncations)]
        for i in range(lengths[0]):
            observed = entry_of(observations, i), entry_of(actions, i), rewards[i], entry_of(observations, i + 1)
            yield *observed, bool(terminations[i]), bool(truncations[i])
    except (IndexError, KeyError, TypeError) as error:
        raise InvalidObservation(
            f"the fields of an episode must be arrays of one length, and observations one longer ({error})."
        ) from error
