"""A run in an environment with a model: one compiled loop, exact evaluation, no call of the environment's `step`.

It has the settings of `learn` with the reward range of the model, and is many times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wanderlust._numba.jit import by_pointer
from wanderlust.agents.agent import Agent
from wanderlust.agents.fused import NO_ROOM, new_run, run_until
from wanderlust.agents.presets import ADAPTIVE
from wanderlust.agents.session import action_probabilities, distinct_policies
from wanderlust.core.errors import InvalidExplorer
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import optimal_values, policy_values, reachable_states
from wanderlust.envs.model import world_from_gym
from wanderlust.envs.tabular import Tabular
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run, RunCancelled
from wanderlust.learning.tables import by_state
from wanderlust.training.adaptive import (
    Discovery,
    TaskEstimate,
    adapt,
    adapted_fields,
    counting_interval,
    estimate_task,
    settings_for,
)


class ModelTraining:
    """An agent that trains in the model of an environment."""

    def __init__(
        self, env: Tabular, explorer: str, *, preset: str, steps: int, seed: int, changes: Mapping[str, Any]
    ) -> None:
        self.mdp = world_from_gym(env.env).mdp
        settings, options = settings_for(env, explorer, preset, steps, {**changes, "steps": steps})
        self.agent = Agent(
            explorer,
            n_actions=self.mdp.n_actions,
            n_states=self.mdp.n_states,
            reward_range=self.mdp.reward_range,
            seed=seed,
            settings=settings,
            **options,
        )
        extra = self.agent.configured_explorer.extra_tables()
        self._adapted = adapted_fields(explorer, extra, changes) if preset == ADAPTIVE else ()
        self._discovery = Discovery()
        self._task = TaskEstimate(self.mdp.reward_range, is_stochastic=False, stage=0)
        adapt(self.agent, self._task, self._adapted, binned=False)
        self.run_state = new_run(self.mdp, settings, keep_trajectory=False, undiscounted_returns=False)
        self._run = by_pointer(self.run_state)

    def advance(self) -> bool:
        """Train to the next stage of the schedules; return whether there is another one."""
        agent, end = self.agent, self.agent.settings.run_length
        until = min(agent.steps + counting_interval(agent), end)
        while status := run_until(agent._hooks.pointer, agent._learner, agent._spec, self._run, until):
            if status != NO_ROOM:
                action = self.run_state.position.invalid_action
                raise InvalidExplorer(f"explorer {agent.explorer!r} chose action {action} at step {agent.steps}.")
            agent._enlarge()
        self._discovery = self._discovery.updated(agent)
        task = estimate_task(agent, self.mdp.reward_range, self._discovery) if self._adapted else self._task
        if task != self._task:
            self._task = task
            adapt(agent, task, self._adapted, binned=False)
        return agent.steps < end

    def returns(self) -> FloatArray:
        """Return the expected discounted return of the greedy policy at each evaluation."""
        run = self.run_state
        if not len(run.greedy):
            return run.returns
        policies, policy_at = distinct_policies(run.greedy)
        solved = [action_probabilities(bits, self.mdp.n_actions) for bits in policies]
        values = policy_values(self.mdp, solved, self.agent.settings.discount)
        return np.asarray((values @ self.mdp.start)[policy_at])


def train_in_model(
    run: Run, env: Tabular, should_stop: Callable[[], bool], *, steps: int, changes: Mapping[str, Any]
) -> Result:
    """Execute a run of `steps` steps in the model of an environment."""
    training = ModelTraining(env, run.explorer, preset=run.preset, steps=steps, seed=run.seed, changes=changes)
    while training.advance():
        if should_stop():
            raise RunCancelled
    agent, state, mdp = training.agent, training.run_state, training.mdp
    returns, every = training.returns(), agent.settings.evaluate_every
    optimum = float(mdp.start @ optimal_values(mdp, agent.settings.discount).v)
    return Result(
        steps=every * np.arange(1, len(returns) + 1),
        returns=returns,
        discovered=state.discovered,
        visits=by_state(agent.learner.visits, state.state_index, agent.spec),
        first_visit=state.first_visit,
        optimal_return=np.full((), optimum),
        reachable=np.full((), int(reachable_states(mdp).sum())),
    )
