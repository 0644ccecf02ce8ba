"""An agent that acts in a tabular world inside the compiled loop.

`Session` has tables of its own; here they belong to an `Agent`, which may be adapted between two calls of `advance`.
"""

from __future__ import annotations

import numpy as np

from wanderlust._numba.jit import by_pointer
from wanderlust.agents.agent import Agent
from wanderlust.agents.fused import INVALID_ACTION, invalid_choice, new_run, run_until
from wanderlust.agents.history import GREEDY_POLICY, GREEDY_POLICY_EPISODES, Curves, History
from wanderlust.agents.session import action_probabilities, distinct_policies
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.core.planning import episode_returns, policy_values


class CompiledRun:
    """A new agent and its position in a world; what was recorded so far."""

    def __init__(self, agent: Agent, mdp: TabularMDP, *, undiscounted_returns: bool) -> None:
        self.agent, self.mdp, self._undiscounted = agent, mdp, undiscounted_returns
        run = new_run(mdp, agent.settings, keep_trajectory=False, undiscounted_returns=undiscounted_returns)
        self.state = run._replace(state_index=agent._state_index)
        self._pointer = by_pointer(self.state)

    @property
    def first_events(self) -> tuple[int | None, int | None]:
        """The steps of the first positive reward and of the first termination, counted from 1; None for never."""
        position = self.state.position
        return int(position.first_reward) or None, int(position.first_termination) or None

    @property
    def rewards(self) -> tuple[float, float]:
        """The smallest and the largest reward received."""
        return float(self.state.position.lowest_reward), float(self.state.position.highest_reward)

    def advance(self, until: int) -> None:
        """Run up to a step."""
        agent = self.agent
        while status := run_until(agent._hooks.pointer, agent._learner, agent._spec, self._pointer, until):
            if status == INVALID_ACTION:
                raise invalid_choice(agent.explorer, agent.n_actions, self.state, agent.steps)
            agent._enlarge()

    def history(self) -> History:
        """Return the curves so far; the agent gets them, too."""
        run, agent, every = self.state, self.agent, self.agent.settings.evaluate_every
        n_evaluated = agent.steps // every
        history = History(
            steps=every * np.arange(1, n_evaluated + 1),
            returns=self._returns(n_evaluated),
            returns_of=GREEDY_POLICY_EPISODES if self._undiscounted else GREEDY_POLICY,
            discovered=run.discovered[:n_evaluated].copy(),
            visits=agent.visits,
            first_visit=run.first_visit.copy(),
        )
        agent.curves = Curves.of(history)
        return history

    def _returns(self, n_evaluated: int) -> FloatArray:
        """Return the expected return of the greedy policy at each evaluation."""
        mdp, settings = self.mdp, self.agent.settings
        if not len(self.state.greedy):
            return self.state.returns[:n_evaluated].copy()
        policies, policy_at = distinct_policies(self.state.greedy[:n_evaluated])
        probabilities = [action_probabilities(bits, mdp.n_actions) for bits in policies]
        if self._undiscounted:
            return np.asarray(episode_returns(mdp, probabilities, settings.horizon)[policy_at])
        return np.asarray((policy_values(mdp, probabilities, settings.discount) @ mdp.start)[policy_at])
