"""The curves of a lane: states discovered, return of the greedy policy, and entropy of the visits, against steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.session import Session
from wanderlust.core.files import finite
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import policy_values
from wanderlust.studio import limits

_MAX_SOLVED_STATES = 2500
"""Larger stochastic worlds show no curve of returns: solving their policies takes too long."""


class Curves:
    """Points at multiples of `every` steps, computed from the trajectory of the run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        length = session.settings.run_length
        self.every = max(-(-length // limits.SERIES_POINTS), 1)
        self._visits = np.zeros(session.world.n_states, np.int64)
        self._sum = 0.0
        """Σ n log n over states, from which the entropy follows."""
        self._entropy: list[float] = []
        self._discovered: list[int] = []
        self._counted = 0
        self._solved: dict[bytes, float] = {}

    def points(self, first: int = 0) -> list[list[float | None]]:
        """Return [states discovered, return, entropy] of every point from the given index on."""
        self._update()
        return [
            [self._discovered[i], _plain(self._return_at((i + 1) * self.every)), round(self._entropy[i], 5)]
            for i in range(first, len(self._entropy))
        ]

    def _update(self) -> None:
        """Count the steps since the last call, in whole points."""
        session = self._session
        n_points = (session.step - self._counted) // self.every
        if n_points == 0:
            return
        counted = self._counted + n_points * self.every
        states = session.run_state.states[self._counted : counted]
        before = self._visits_before(states)
        at = np.arange(self._counted + self.every, counted + 1, self.every)
        sums = self._sum + np.cumsum(_n_log_n(before + 1) - _n_log_n(before))[self.every - 1 :: self.every]
        known = self._discovered[-1] if self._discovered else 0
        self._discovered += (known + np.cumsum(before == 0)[self.every - 1 :: self.every]).tolist()
        self._entropy += np.maximum(np.log(at) - sums / at, 0.0).tolist()
        self._sum, self._counted = float(sums[-1]), counted

    def _visits_before(self, states: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return for every step how often its state was visited before, and add the steps to the visits."""
        order = np.argsort(states, kind="stable")
        ordered = states[order]
        is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        positions = np.arange(len(states))
        first = np.maximum.accumulate(np.where(is_first, positions, 0))
        before = np.empty(len(states), np.int64)
        before[order] = self._visits[ordered] + positions - first
        self._visits += np.bincount(states, minlength=len(self._visits))
        return before

    def _return_at(self, step: int) -> float:
        session = self._session
        evaluation = step // session.settings.evaluate_every - 1
        if evaluation < 0:
            return math.nan
        run = session.run_state
        if not len(run.greedy):
            return float(run.returns[evaluation])
        if session.world.n_states > _MAX_SOLVED_STATES:
            return math.nan
        return self._solved_return(run.greedy[evaluation])

    def _solved_return(self, bits: NDArray[np.uint64]) -> float:
        key = bits.tobytes()
        if key not in self._solved:
            if len(self._solved) >= limits.SERIES_POINTS:
                self._solved.clear()
            mdp = self._session.world.mdp
            chosen = (bits[:, None] >> np.arange(mdp.n_actions, dtype=np.uint64)) & np.uint64(1)
            policy = chosen / chosen.sum(axis=1, keepdims=True)
            values = policy_values(mdp, [policy], self._session.settings.discount)
            self._solved[key] = float(values[0] @ mdp.start)
        return self._solved[key]


def _n_log_n(counts: NDArray[np.int64]) -> FloatArray:
    result: Any = counts * np.log(np.maximum(counts, 1))
    return np.asarray(result)


def _plain(value: float) -> float | None:
    return finite(float(f"{value:.7g}"))
