"""Two NumPy implementations of the same algorithms, as references: a direct transcription and a tuned version.

In a deterministic world, full memory is one transition per visited pair. Both store these in arrays and sweep over all
of them after every step. Both are checked to learn the same tables as wanderlust.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from speed.result import MICRO, Results, shortest_times, speedup, time_per_step
from wanderlust.agents.session import Session, train
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.core.planning import reachable_states
from wanderlust.worlds import World, make_world

Transition = tuple[int, int, float, int, bool]
"""State, action, reward, next state, terminal."""


class Transcription:
    """Algorithm 3 or 4 of the paper, vectorized over the memory; everything is recomputed at every step."""

    def __init__(self, mdp: TabularMDP, explorer: Any, *, discount: float, learning_rate: float) -> None:
        n_states, n_actions = mdp.n_states, mdp.n_actions
        visitation = explorer.extra_tables().visitation
        self.discount, self.rate, self.gamma_w = discount, learning_rate, visitation.discount
        self.minimise = visitation.minimise
        self.q_behaviour = np.zeros((n_states, n_actions))
        self.q_target = np.zeros((n_states, n_actions))
        self.w = np.full((n_states, n_actions), visitation.initial)
        self.n = np.zeros((n_states, n_actions), np.int64)
        self.visited = np.zeros((n_states, n_actions), bool)
        self.s = self.a = self.s2 = np.zeros(0, np.int64)
        self.r, self.terminal = np.zeros(0), np.zeros(0, bool)

    def learn(self, s: int, a: int, r: float, s2: int, terminal: bool) -> None:
        """Store a transition, then sweep over all visited pairs; all TD errors are computed before any update."""
        self.n[s, a] += 1
        if not self.visited[s, a]:
            self.visited[s, a] = True
            self.s, self.a, self.s2 = np.append(self.s, s), np.append(self.a, a), np.append(self.s2, s2)
            self.r, self.terminal = np.append(self.r, r), np.append(self.terminal, terminal)
        for q in (self.q_behaviour, self.q_target):
            target = self.r + self.discount * q[self.s2].max(axis=1) * ~self.terminal
            q[self.s, self.a] += self.rate * (target - q[self.s, self.a])
        reward = self.visitation_reward()
        reward = np.where(self.terminal, reward / (1.0 - self.gamma_w), reward)
        best = self.w[self.s2].min(axis=1) if self.minimise else self.w[self.s2].max(axis=1)
        target = reward + self.gamma_w * best * ~self.terminal
        self.w[self.s, self.a] += self.rate * (target - self.w[self.s, self.a])

    def fill(self, memory: list[Transition]) -> None:
        """Store one transition of each pair, without sweeps."""
        self.s, self.a, self.r, self.s2, self.terminal = (np.array(column) for column in zip(*memory, strict=True))
        self.visited[self.s, self.a], self.n[self.s, self.a] = True, 1

    def visitation_reward(self) -> FloatArray:
        """Return the visitation reward of every pair in memory."""
        visits = self.n[self.s, self.a]
        if self.minimise:
            return visits.astype(np.float64)
        return np.asarray(np.sqrt(2.0 * np.log(self.n[self.s].sum(axis=1)) / visits))

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables by wanderlust's names for them."""
        return {"target": self.q_target, "behaviour": self.q_behaviour, "visitation": self.w}


class Tuned:
    """The same with stored V(s') and visitation rewards, one Q-table, flat arrays, and no temporary arrays."""

    def __init__(self, mdp: TabularMDP, explorer: Any, *, discount: float, learning_rate: float) -> None:
        n_states, self.n_actions = mdp.n_states, mdp.n_actions
        visitation = explorer.extra_tables().visitation
        self.rate, self.minimise = learning_rate, visitation.minimise
        self.discounts = (discount, visitation.discount)
        # One more state with value 0: the terminal state.
        self.terminal_state = n_states
        n_pairs = (n_states + 1) * self.n_actions
        self.values = np.zeros((2, n_pairs))
        self.values[1, : n_states * self.n_actions] = visitation.initial
        # The reward of an untried pair is its own value and it leads to the terminal state: sweeps do not change it.
        self.reward = self.values.copy()
        self.next_state = np.full(n_pairs, self.terminal_state)
        self.best = np.zeros((2, n_states + 1))
        self.best[1, :n_states] = visitation.initial
        self.n = np.zeros(n_pairs, np.int64)
        self.terminal = np.zeros(n_pairs, bool)
        self.error = np.zeros(n_pairs)

    def learn(self, s: int, a: int, r: float, s2: int, terminal: bool) -> None:
        """Store a transition, then sweep over all pairs."""
        first, pair = s * self.n_actions, s * self.n_actions + a
        self.n[pair] += 1
        self.reward[0, pair] = r
        self.terminal[pair] = terminal
        self.next_state[pair] = self.terminal_state if terminal else s2
        tried = first + np.flatnonzero(self.n[first : first + self.n_actions])
        visits = self.n[tried]
        reward = visits if self.minimise else np.sqrt(2.0 * np.log(visits.sum()) / visits)
        self.reward[1, tried] = np.where(self.terminal[tried], reward / (1.0 - self.discounts[1]), reward)
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
        """Store one transition of each pair, without sweeps."""
        for s, a, r, s2, terminal in memory:
            pair = s * self.n_actions + a
            self.n[pair], self.terminal[pair], self.reward[0, pair] = 1, terminal, r
            self.next_state[pair] = self.terminal_state if terminal else s2

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables by wanderlust's names for them."""
        q, w = (values.reshape(-1, self.n_actions)[:-1] for values in self.values)
        return {"target": q, "behaviour": q, "visitation": w}


def full_memory(world: World) -> list[Transition]:
    """Return one transition for every pair that can be visited."""
    mdp = world.mdp
    states = np.flatnonzero(reachable_states(mdp))
    return [
        (int(s), a, float(mdp.reward[s, a, 0]), int(mdp.next_state[s, a, 0]), bool(mdp.terminal[s, a, 0]))
        for s in states
        for a in range(mdp.n_actions)
    ]


def check_reference(reference: Transcription | Tuned, world: World, explorer: str, steps: int) -> None:
    """Raise `AssertionError` unless a reference learns the same tables as wanderlust from the same transitions."""
    record = train(world, explorer, seed=1, steps=steps, keep_trajectory=True)
    for s, a in zip(record.states, record.actions, strict=True):
        index = (int(s), int(a), 0)
        mdp = world.mdp
        reference.learn(s, a, mdp.reward[index], int(mdp.next_state[index]), bool(mdp.terminal[index]))
    visited = record.visits > 0
    for name, values in reference.tables().items():
        if not np.allclose(values[visited], record.tables[name][visited], rtol=1e-12, atol=0):
            raise AssertionError(f"{type(reference).__name__} and wanderlust differ in {name} on {world.name}.")


def against_numpy(quick: bool) -> Results:
    """Compare whole runs on `wall` with two NumPy versions, extrapolated from their time per step at full memory."""
    wall, steps = make_world("wall"), 100_000
    transitions = full_memory(wall)
    for explorer, versions in (("vv-ucb", ((Transcription, 250), (Tuned, 12))), ("vv-count", ((Tuned, 10),))):
        configured = Session(wall, explorer).agent.configured_explorer
        # The whole run, although its first steps are faster, because the memory is not full yet.
        ours = time_per_step(wall, explorer, steps=steps, repeats=1 if quick else 3)
        for version, target in versions:
            check_reference(version(wall.mdp, configured, discount=0.99, learning_rate=0.5), wall, explorer, 400)
            reference = version(wall.mdp, configured, discount=0.99, learning_rate=0.5)
            reference.fill(transitions)
            n_timed = 5 if quick else 20

            def some_steps(learner: Any = reference, n: int = n_timed) -> None:
                for transition in transitions[:n]:
                    learner.learn(*transition)

            reference_time = shortest_times(3 if quick else 10, some_steps)[0] / n_timed
            label = "NumPy transcription" if version is Transcription else "tuned NumPy"
            name = f"wall, {explorer}, {steps:,} steps, against {label}"
            yield speedup(name, MICRO * ours, MICRO * reference_time, target, unit="µs/step")
