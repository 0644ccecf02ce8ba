"""Demonstrations: episodes of somebody else, from which an agent learns before its own first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wanderlust.core.errors import InvalidObservation, InvalidSetting, WanderlustError, check_flag, shown
from wanderlust.environments.encoding import ENVIRONMENT, INFO
from wanderlust.training.loop import TrainingLoop, checked_reward


def learn_from_demonstrations(loop: TrainingLoop, episodes: Sequence[Sequence[Any]]) -> None:
    """Let the agent learn from all transitions of some episodes, as if it had taken them itself.

    An episode that does not terminate is truncated.
    """
    encoder = loop.env.encoding.encoder
    for number, episode in enumerate(episodes, start=1):
        if encoder.kind in (ENVIRONMENT, INFO):
            raise InvalidSetting(
                f"demonstrations have observations only, but states are encoded by {encoder}; use a key that is a "
                "function of the observation."
            )
        loop.episode_steps = 0
        for i, step in enumerate(episode, start=1):
            try:
                _learn_from(loop, step, is_last=i == len(episode))
            except WanderlustError as error:
                raise type(error)(f"demonstration {number}, step {i}: {error}") from error
    loop.episode_steps = 0


def _learn_from(loop: TrainingLoop, step: Any, *, is_last: bool) -> None:
    if not isinstance(step, Sequence) or len(step) != 5:
        valid = "(observation, action, reward, next observation, terminated)"
        raise InvalidObservation(f"a step must be {valid}, got {shown(step)}.")
    observation, action, reward, following, ends = step
    ends = check_flag("terminated", ends)
    state = loop.env.state_of(observation)
    next_state = state if ends else loop.env.state_of(following)
    action = loop.env.encoding.actions.encode(action)
    loop.learn_from(state, action, checked_reward(reward), next_state, ends, is_last and not ends)
