"""Repeated evaluation of one agent during training, without the steps whose result is known.

Evaluations are often more expensive than the training between them: a policy that does not reach the goal runs until
the time limit, in each of several episodes. Three of these costs are avoided.

* A greedy policy that has not changed has the same returns: every evaluation uses the same seed.
* If training has shown one start state and one outcome per action, and no action of an episode was drawn from several
  greedy ones, all episodes are the same.
* In such an episode a state that repeats is repeated until the time limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.environments.tabular import Tabular
from wanderlust.learning.spec import TARGET
from wanderlust.training.evaluation import MAX_EPISODE_STEPS, run_episode
from wanderlust.training.outcomes import ObservedOutcomes


class RepeatedEvaluation:
    """Evaluates the greedy policy in a copy of the training environment; `outcomes` has what training has shown."""

    def __init__(self, env: Tabular, episodes: int, seed: int) -> None:
        self.env = env
        self.outcomes = ObservedOutcomes()
        self._episodes, self._seed = episodes, seed
        self._latest: tuple[bytes, bool, NDArray[np.float64]] | None = None
        """The policy evaluated last, whether the environment appeared deterministic, and the returns."""
        self._tied: bytes | None = None
        """The latest policy with a tie whose first episode was not better than the best policy."""

    def improved_return(self, agent: Agent, best: float) -> float | None:
        """Return the mean return of the policy if it is larger than `best`, else None.

        It is None as well if the policy has not changed, or if several episodes would be needed to know more.
        """
        if not self.outcomes.is_deterministic or (policy := _greedy_policy(agent)) in (self._tied, self._policy):
            return None
        random = np.random.default_rng(self._seed)
        episode = run_episode(agent, self.env, 1, self._seed, random, self._remaining_return)
        mean = episode.total
        if not episode.had_tie:
            self._latest = policy, True, np.full(self._episodes, mean)
        elif mean > best:
            mean = float(self.returns(agent).mean())
        else:
            self._tied = policy
        return mean if mean > best else None

    @property
    def _policy(self) -> bytes | None:
        return None if self._latest is None else self._latest[0]

    def returns(self, agent: Agent) -> NDArray[np.float64]:
        """Return the undiscounted returns of the episodes, as `wanderlust.evaluate` does."""
        policy, is_deterministic = _greedy_policy(agent), self.outcomes.is_deterministic
        # What was taken for deterministic may have turned out not to be.
        if self._latest is not None and self._latest[0] == policy and self._latest[1] <= is_deterministic:
            return self._latest[2].copy()
        random = np.random.default_rng(self._seed)
        is_same = is_deterministic or self.env.reset_seed is not None
        shortcut = self._remaining_return if is_deterministic else None
        returns = np.zeros(self._episodes)
        for i in range(self._episodes):
            episode = run_episode(agent, self.env, i + 1, self._seed if i == 0 else None, random, shortcut)
            returns[i] = episode.total
            if is_same and not episode.had_tie:
                returns[i:] = episode.total
                break
        self._latest = policy, is_deterministic, returns
        return returns.copy()

    def _remaining_return(self, step: int, cycle: list[float]) -> float | None:
        """Return the return from a step on if these rewards repeat until the time limit; None if that is unknown."""
        if not any(cycle):
            return 0.0
        horizon, shortest = self.env.horizon, self.outcomes.shortest_truncation
        if horizon is None or (shortest is not None and shortest < horizon):
            return None  # The environment has a limit of its own.
        n_steps = min(horizon, MAX_EPISODE_STEPS) - (step - 1)
        whole, part = divmod(n_steps, len(cycle))
        return whole * sum(cycle) + sum(cycle[:part])


def _greedy_policy(agent: Agent) -> bytes:
    """Return the greedy actions of all states as bits; states whose actions are all tied count as unknown."""
    learner, n_actions = agent.learner, agent.n_actions
    first, last = n_actions, n_actions * (1 + int(learner.counters.n_states))
    values = learner.values[TARGET, first:last].reshape(-1, n_actions)
    best = values == values.max(axis=1, keepdims=True)
    best[best.all(axis=1)] = False
    return np.packbits(best).tobytes().rstrip(b"\0")
