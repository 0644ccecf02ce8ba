"""Training on the model of an environment: in the compiled loop, without a call of the environment's `step`.

It has the presets of `learn`, and is much faster (docs/gymnasium.md has numbers). What differs from `learn`:

* The random numbers of the environment are those of `train`.
* The reward range is that of the model from the first step on, as if it had been given to `learn`.
* `adaptive` changes the explorer between two steps; `learn` changes it after the action of the next step is chosen.
* There is no `remove_time_penalty`, since the rewards of a model do not depend on the step of the episode.

So in a deterministic environment with one start both give the same tables, bit for bit, if `learn` gets the range of
rewards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wanderlust.agents.session import Session
from wanderlust.agents.settings import ADAPTIVE, AS_WRITTEN, LEARN_OPTIONS, PRESETS
from wanderlust.core.errors import InvalidSetting, check_choice
from wanderlust.training.adaptive import Discovery, TaskEstimate, adapt, adapted_fields, estimate_task, next_estimate
from wanderlust.worlds import World


class ModelTraining:
    """A new agent that trains on the model of an environment; `changes` are settings and options of the explorer."""

    def __init__(
        self,
        world: World,
        explorer: str | type,
        *,
        preset: str,
        seed: int,
        undiscounted_returns: bool,
        changes: Mapping[str, Any],
    ) -> None:
        for name in LEARN_OPTIONS:
            if name in changes:
                raise InvalidSetting(f"{name} works in training by steps only; remove it, or train without --exact.")
        check_choice("preset", preset, PRESETS)
        given = AS_WRITTEN if preset == ADAPTIVE else preset
        self.run = Session(
            world, explorer, seed=seed, preset=given, undiscounted_returns=undiscounted_returns, **changes
        )
        self.agent = agent = self.run.agent
        agent.preset = preset
        extra = agent.configured_explorer.extra_tables()
        self._adapted = adapted_fields(explorer, extra, changes) if preset == ADAPTIVE else ()
        self._discovery = Discovery()
        self._task = TaskEstimate(agent.reward_range, is_stochastic=False, stage=0)
        if self._adapted:
            adapt(agent, self._task, self._adapted, binned=False)

    def advance(self, until: int) -> None:
        """Train up to a step."""
        agent = self.agent
        while agent.steps < until:
            if not self._adapted:
                self.run.advance(until)
                continue
            self.run.advance(min(next_estimate(agent, self._discovery), until))
            position = self.run.run_state.position
            rewards = float(position.lowest_reward), float(position.highest_reward)
            discovery = self._discovery.with_rewards(*rewards, first=True)
            self._discovery = discovery.updated(agent, lambda: self.run.run_state.first_visit)
            task = estimate_task(agent, agent.reward_range, self._discovery)
            if task != self._task:
                self._task = task
                adapt(agent, task, self._adapted, binned=False)
