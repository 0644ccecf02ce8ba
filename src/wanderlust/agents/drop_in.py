"""An explorer inside your own Q-learning loop: it keeps the counts and W, you keep Q.

explorer = wl.Explorer("vv-ucb", n_states=500, n_actions=6, reward_range=(0, 20), seed=0)
action = explorer.act(state, q=my_q[state])
explorer.observe(state, action, next_state, terminated)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wanderlust.agents.agent import Agent
from wanderlust.agents.explanation import Explanation
from wanderlust.agents.settings import SETTING_NAMES, Settings
from wanderlust.core.errors import InvalidExplorer, InvalidObservation
from wanderlust.learning.state import TARGET, Floats


class Explorer:
    """An explorer that is given the Q-values of each state in which it chooses."""

    def __init__(
        self,
        explorer: str | type,
        *,
        n_actions: int,
        reward_range: tuple[float, float],
        n_states: int | None = None,
        seed: int = 0,
        **changes: Any,
    ) -> None:
        settings = Settings(**{key: value for key, value in changes.items() if key in SETTING_NAMES})
        options = {key: value for key, value in changes.items() if key not in SETTING_NAMES}
        self._agent = Agent(
            explorer,
            n_actions=n_actions,
            reward_range=reward_range,
            n_states=n_states,
            seed=seed,
            settings=settings,
            learns_q=False,
            **options,
        )
        if self._agent.spec.n_heads:
            raise InvalidExplorer(
                f"{self._agent.explorer!r} explores by an ensemble of Q-tables that it learns itself, so it cannot "
                "work with yours; use wanderlust.Agent, or an explorer such as 'vv-ucb'."
            )

    def act(self, state: int, q: ArrayLike) -> int:
        """Return the action to take in a state whose Q-values are `q`."""
        self._take(state, q)
        return self._agent.act(state)

    def observe(self, state: int, action: int, next_state: int, terminated: bool, truncated: bool = False) -> None:
        """Count the action and learn W from where it led."""
        self._agent.observe(state, action, 0.0, next_state, terminated, truncated)

    def bonus(self, state: int, action: int) -> float:
        """Return what to add to the reward of an action that was just observed: 0 but for explorers by bonus."""
        self._agent.number_of(state)
        if action not in range(self._agent.n_actions):
            valid = f"from 0 to {self._agent.n_actions - 1}"
            raise InvalidObservation(f"action must be a whole number {valid}, got {action!r}.")
        visits = int(self._agent.visits[int(state), int(action)])
        return float(self._agent.rule.bonus(visits)) if visits else 0.0

    def explain(self, state: int, q: ArrayLike) -> Explanation:
        """Say what it would do in a state with these Q-values, and why."""
        self._take(state, q)
        return self._agent.explain(state)

    @property
    def visits(self) -> Any:
        """How often each action was tried in each state: [state, action]."""
        return self._agent.visits

    @property
    def visitation_values(self) -> Floats:
        """W, [state, action], of an explorer that learns one."""
        tables = self._agent.tables
        if "visitation" not in tables:
            raise InvalidExplorer(f"{self._agent.explorer!r} does not learn visitation values.")
        return tables["visitation"]

    def _take(self, state: int, q: ArrayLike) -> None:
        agent = self._agent
        try:
            values = np.asarray(q, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.shape != (agent.n_actions,) or not np.isfinite(values).all():
            raise InvalidObservation(f"q must be {agent.n_actions} finite numbers, one for each action, got {q!r}.")
        number = agent.number_of(state)
        agent.learner.values[TARGET, number * agent.n_actions : (number + 1) * agent.n_actions] = values
