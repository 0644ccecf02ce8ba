"""An explorer for your own Q-learning loop: it keeps the visit counts and W, you keep Q.

explorer = wl.Explorer("vv-ucb", n_states=500, n_actions=6, reward_range=(0, 20), seed=0)
action = explorer.act(state, q=my_q[state])
explorer.observe(state, action, next_state, terminated)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wanderlust.agents.agent import Agent
from wanderlust.agents.masks import checked_mask, excluded_actions
from wanderlust.agents.presentation import Explanation
from wanderlust.agents.settings import Settings
from wanderlust.core.errors import InvalidExplorer, InvalidObservation, shown
from wanderlust.learning.td import EXCLUDED, TARGET, Floats


class Explorer:
    """An explorer that receives the Q-values of the state in which it chooses an action."""

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
        """Create the explorer; `changes` are settings (see `Settings`) and options of the explorer."""
        self._agent = Agent(
            explorer,
            n_actions=n_actions,
            reward_range=reward_range,
            n_states=n_states,
            seed=seed,
            learns_q=False,
            **changes,
        )
        tables = self._agent.configured_explorer.extra_tables()
        if tables.ensemble or tables.optimistic or (tables.own and tables.own.is_q):
            what = "an ensemble of Q-tables" if tables.ensemble else "an optimistic Q-table"
            raise InvalidExplorer(
                f"{self._agent.explorer!r} learns {what} itself, so it cannot use yours; use wanderlust.Agent, or an "
                "explorer such as 'vv-ucb'."
            )

    def act(self, state: int, q: ArrayLike, *, mask: ArrayLike | None = None) -> int:
        """Return the action to take in a state whose Q-values are `q`; a valid one of a `mask`, as in `Agent.act`."""
        self._set_q(state, q, mask)
        return self._agent.act(state, mask)

    def observe(self, state: int, action: int, next_state: int, terminated: bool, truncated: bool = False) -> None:
        """Count the visit and learn W from the transition."""
        self._agent.observe(state, action, 0.0, next_state, terminated, truncated)

    def bonus(self, state: int, action: int) -> float:
        """Return the bonus to add to the reward of the action just observed; 0 unless the explorer has one."""
        index, action = self._agent.index_of(state), self._agent.checked_action(action)
        visits = int(self._agent.learner.visits[index * self._agent.n_actions + action])
        return float(self._agent.configured_explorer.bonus(visits)) if visits else 0.0

    def explain(self, state: int, q: ArrayLike) -> Explanation:
        """Return its choice in a state with these Q-values, and the reasons."""
        self._set_q(state, q)
        return self._agent.explain(state)

    @property
    def settings(self) -> Settings:
        """Its settings."""
        return self._agent.settings

    @property
    def visits(self) -> Any:
        """n(s, a), the visit counts: [state, action]."""
        return self._agent.visits

    @property
    def visitation_values(self) -> Floats:
        """W, [state, action], of an explorer that learns it."""
        tables = self._agent.tables
        if "visitation" not in tables:
            raise InvalidExplorer(f"{self._agent.explorer!r} does not learn visitation values.")
        return tables["visitation"]

    def _set_q(self, state: int, q: ArrayLike, mask: ArrayLike | None = None) -> None:
        agent = self._agent
        try:
            given = np.asarray(q)
            values = given.astype(np.float64) if given.dtype.kind in "iuf" else np.zeros(0)
        except Exception:  # Any object can be given.
            values = np.zeros(0)
        if mask is not None and values.shape == (agent.n_actions,):
            values[~checked_mask(mask, agent.n_actions)] = 0.0  # Those are often infinite.
        if values.shape != (agent.n_actions,) or not np.isfinite(values).all():
            expected = f"{agent.n_actions} finite numbers, one for each action"
            raise InvalidObservation(f"q must be {expected}, got {shown(q)}.")
        index = agent.index_of(state)
        first, is_excluded = index * agent.n_actions, excluded_actions(index, agent.learner, agent.spec)
        agent.learner.values[TARGET, first : first + agent.n_actions] = np.where(is_excluded, -EXCLUDED, values)
