"""The same learning in NumPy, twice: as a researcher would first write it, and tuned. What the benchmark compares with.

Both keep full memory as arrays of the distinct pairs visited, as the deterministic worlds of the paper allow, and sweep
over all of them after every step. Both are checked to give the tables that wanderlust gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.core.mdp import FloatArray, TabularMDP

Transition = tuple[int, int, float, int, bool]
"""State, action, reward, next state, and whether the episode is over."""


class Transcription:
    """Algorithm 3 or 4 of the paper, vectorised over the memory, nothing kept that could be computed again."""

    def __init__(self, mdp: TabularMDP, rule: Any, *, discount: float, learning_rate: float) -> None:
        n_states, n_actions = mdp.n_states, mdp.n_actions
        visitation = rule.extra_tables().visitation
        self.discount, self.rate, self.discount_w = discount, learning_rate, visitation.discount
        self.minimise = visitation.minimise
        self.q_behaviour = np.zeros((n_states, n_actions))
        self.q_target = np.zeros((n_states, n_actions))
        self.w = np.full((n_states, n_actions), visitation.initial)
        self.n = np.zeros((n_states, n_actions), np.int64)
        self.seen = np.zeros((n_states, n_actions), bool)
        self.s = self.a = self.s2 = np.zeros(0, np.int64)
        self.r, self.over = np.zeros(0), np.zeros(0, bool)

    def learn(self, s: int, a: int, r: float, s2: int, over: bool) -> None:
        """Store a transition, then sweep over all distinct pairs in memory, all errors before any write."""
        self.n[s, a] += 1
        if not self.seen[s, a]:
            self.seen[s, a] = True
            self.s, self.a, self.s2 = np.append(self.s, s), np.append(self.a, a), np.append(self.s2, s2)
            self.r, self.over = np.append(self.r, r), np.append(self.over, over)
        for q in (self.q_behaviour, self.q_target):
            target = self.r + self.discount * q[self.s2].max(axis=1) * ~self.over
            q[self.s, self.a] += self.rate * (target - q[self.s, self.a])
        reward = self.visitation_reward()
        reward = np.where(self.over, reward / (1.0 - self.discount_w), reward)
        best = self.w[self.s2].min(axis=1) if self.minimise else self.w[self.s2].max(axis=1)
        target = reward + self.discount_w * best * ~self.over
        self.w[self.s, self.a] += self.rate * (target - self.w[self.s, self.a])

    def fill(self, memory: list[Transition]) -> None:
        """Put distinct pairs into the memory at once, without a sweep for each of them."""
        self.s, self.a, self.r, self.s2, self.over = (np.array(column) for column in zip(*memory, strict=True))
        self.seen[self.s, self.a], self.n[self.s, self.a] = True, 1

    def visitation_reward(self) -> FloatArray:
        """Return the visitation reward of every pair in memory."""
        count = self.n[self.s, self.a]
        if self.minimise:
            return count.astype(np.float64)
        return np.asarray(np.sqrt(2.0 * np.log(self.n[self.s].sum(axis=1)) / count))

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables by the names that wanderlust gives them."""
        return {"target": self.q_target, "behaviour": self.q_behaviour, "visitation": self.w}


class Tuned:
    """The same with V(s') and the visitation rewards kept, one Q-table, flat arrays, and no temporaries."""

    def __init__(self, mdp: TabularMDP, rule: Any, *, discount: float, learning_rate: float) -> None:
        n_states, self.n_actions = mdp.n_states, mdp.n_actions
        visitation = rule.extra_tables().visitation
        self.rate, self.minimise = learning_rate, visitation.minimise
        self.discounts = (discount, visitation.discount)
        # One more state, whose value stays 0, stands for the end of an episode.
        self.end = n_states
        n_pairs = (n_states + 1) * self.n_actions
        self.values = np.zeros((2, n_pairs))
        self.values[1, : n_states * self.n_actions] = visitation.initial
        # An untried pair leads to the end and its reward is its value: the sweep leaves it alone.
        self.reward = self.values.copy()
        self.next_state = np.full(n_pairs, self.end)
        self.best = np.zeros((2, n_states + 1))
        self.best[1, :n_states] = visitation.initial
        self.n = np.zeros(n_pairs, np.int64)
        self.over = np.zeros(n_pairs, bool)
        self.error = np.zeros(n_pairs)

    def learn(self, s: int, a: int, r: float, s2: int, over: bool) -> None:
        """Store a transition, then sweep over all pairs."""
        first, pair = s * self.n_actions, s * self.n_actions + a
        self.n[pair] += 1
        self.reward[0, pair] = r
        self.over[pair] = over
        self.next_state[pair] = self.end if over else s2
        tried = first + np.flatnonzero(self.n[first : first + self.n_actions])
        count = self.n[tried]
        reward = count if self.minimise else np.sqrt(2.0 * np.log(count.sum()) / count)
        self.reward[1, tried] = np.where(self.over[tried], reward / (1.0 - self.discounts[1]), reward)
        for table, discount in enumerate(self.discounts):
            values, error = self.values[table], self.error
            np.take(self.best[table], self.next_state, out=error)
            error *= discount
            error += self.reward[table]
            error -= values
            error *= self.rate
            values += error
            by_state = values.reshape(-1, self.n_actions)
            if table == 1 and self.minimise:
                by_state.min(axis=1, out=self.best[table])
            else:
                by_state.max(axis=1, out=self.best[table])

    def fill(self, memory: list[Transition]) -> None:
        """Put distinct pairs into the memory at once, without a sweep for each of them."""
        for s, a, r, s2, over in memory:
            pair = s * self.n_actions + a
            self.n[pair], self.over[pair], self.reward[0, pair] = 1, over, r
            self.next_state[pair] = self.end if over else s2

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables by the names that wanderlust gives them."""
        q, w = (values.reshape(-1, self.n_actions)[:-1] for values in self.values)
        return {"target": q, "behaviour": q, "visitation": w}
