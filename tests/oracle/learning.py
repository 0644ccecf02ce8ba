"""Q-learning with replay memory (Algorithm 1), without it (Algorithm 6), and with minibatches."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oracle.memory import TERMINAL, Memory, Outcome, Transition, outcome_counts
from oracle.random_stream import RandomStream
from wanderlust.agents.settings import Settings
from wanderlust.worlds import World

Signal = Callable[[float, int, int, bool], float]
"""The reward that a table learns from, given (r, s, a, terminal) and the current visits."""


def plain_reward(r: float, s: int, a: int, terminal: bool) -> float:
    """Return the environment's reward, from which Q learns."""
    return r


class Table:
    """The values of all pairs, and the reward and discount from which they are learnt."""

    def __init__(
        self, world: World, start: float, gamma: float, reward: Signal = plain_reward, best: Any = max
    ) -> None:
        self.values = [[start] * world.n_actions for _ in range(world.n_states)]
        self.gamma = gamma
        self.reward = reward
        self.best = best
        self.worst = math.inf if best is min else -math.inf

    def value(self, s: int | None) -> float:
        """Return the value of the best action in a state; 0 if it is terminal."""
        return 0.0 if s is TERMINAL else self.best(self.values[s])

    def update(self, batch: list[Transition], rewards: Mapping[Outcome, float], eta: float, nu: float = 0.0) -> None:
        """Add η times the mean TD error of its transitions to each pair; all errors are computed before any update.

        The sum goes over the pair's distinct outcomes k, in the order in which they first occur in the batch:
        δ = Σ_k (c_k / n) (r_k + γ V(s'_k)) - Q, where r_k is the outcome's mean reward in the whole memory.
        `random-prior` adds ν (0 - Q).
        """
        delta = {}
        for (s, a), counts in outcome_counts(batch).items():
            n, target = sum(counts.values()), 0.0
            for s_next, c in counts.items():
                r = self.reward(rewards[s, a, s_next], s, a, s_next is TERMINAL)
                target += c / n * (r + self.gamma * self.value(s_next))
            delta[s, a] = (target - self.values[s][a]) + nu * (0.0 - self.values[s][a])
        for (s, a), error in delta.items():
            self.values[s][a] += eta * error


class QLearning:
    """Two Q-tables: Q^π, initially 0, is evaluated; Q^β, initially 0 or r_max / (1 - γ), chooses actions."""

    def __init__(self, world: World, settings: Settings, options: Mapping[str, Any], seed: int) -> None:
        self.world, self.settings, self.options, self.seed = world, settings, options, seed
        self.A = range(world.n_actions)
        self.invalid: dict[int, set[int]] = {}
        self.n = [[0] * world.n_actions for _ in range(world.n_states)]
        self.i = 0
        self.visited: list[int] = []
        self.random, self.replay_random = RandomStream(seed, "explorer"), RandomStream(seed, "replay")
        replay = settings.replay
        window = replay.capacity or 20 * settings.horizon
        self.memory = Memory(window if replay.memory == "window" else None)
        r_min, r_max = world.reward_range
        # r_max / (1 - γ); if no reward is positive, (r_max - r_min) / (1 - γ), as in the paper's footnote.
        span = r_max if r_max > 0 else r_max - r_min
        self.Q_range = (span if span > 0 else 1.0) / (1.0 - settings.discount)
        self.r_max = self.Q_range * (1.0 - settings.discount)
        self.Q_start = self.Q_range if settings.initial == "optimistic" else 0.0
        self.Q_pi = Table(world, 0.0, settings.discount)
        self.Q_beta = Table(world, self.Q_start, settings.discount)

    def actions(self, s: int) -> list[int]:
        """Return the valid actions of a state; all of them until a mask is known."""
        return [a for a in self.A if a not in self.invalid.get(s, ())]

    def restrict(self, s: int, mask: Sequence[bool]) -> None:
        """Apply the mask of a state: invalid actions are never chosen, and no maximum is one of theirs."""
        self.invalid[s] = {a for a in self.A if not mask[a]}
        for table in self.masked_tables():
            for a in self.invalid[s]:
                table.values[s][a] = table.worst

    def masked_tables(self) -> list[Table]:
        """Return the tables of which best values are used."""
        return list(self.swept_tables().values())

    def swept_tables(self) -> dict[str, Table]:
        """Return the tables that learn from sweeps over the whole memory."""
        return {"target": self.Q_pi, "behaviour": self.Q_beta}

    def tables(self) -> dict[str, Any]:
        """Return the tables to compare, by name."""
        return {name: table.values for name, table in self.swept_tables().items()}

    def evaluated_table(self) -> Table:
        """Return the table whose greedy policy is evaluated."""
        return self.Q_beta if self.settings.evaluated == "behaviour" else self.Q_pi

    def begin_episode(self) -> None:
        """Begin an episode; most explorers do nothing."""

    def visit(self, s: int) -> None:
        """Record that a state is visited."""
        if s not in self.visited:
            self.visited.append(s)

    def choose(self, s: int) -> int:
        """Draw an action from β(·|s): by default argmax Q^β."""
        return self.random.argmax(self.Q_beta.values[s])

    def observe(self, transition: Transition) -> None:
        """Count, store and learn: the inner loop of every algorithm."""
        self.n[transition.s][transition.a] += 1
        if self.settings.replay.memory == "none":
            self.learn([transition], {transition.outcome: transition.r})
        else:
            self.memory_changed = self.memory.store(transition)
            self.learn(self.batch(), self.memory.mean_reward)
        self.learn_tables(transition)
        self.i += 1

    def learn_tables(self, transition: Transition) -> None:
        """Update the explorer's own tables; most explorers have none."""

    def replay(self, times: int) -> None:
        """Learn from the memory again, without a new transition and with one sweep each time."""
        self.memory_changed = False
        for _ in range(times):
            self.learn(self.batch(), self.memory.mean_reward, sweeps=1)

    def batch(self) -> list[Transition]:
        """Return the transitions to replay: all, or a minibatch of a window."""
        if self.settings.replay.memory == "full":
            return self.memory.all_transitions()
        return self.memory.minibatch(self.settings.replay.batch, self.replay_random)

    def learn(self, batch: list[Transition], rewards: Mapping[Outcome, float], sweeps: int | None = None) -> None:
        """Update every swept table from the same transitions."""
        for _ in range(self.n_sweeps() if sweeps is None else sweeps):
            for table in self.swept_tables().values():
                table.update(batch, rewards, self.settings.learning_rate)

    def n_sweeps(self) -> int:
        """Return the number of sweeps per step: 1 if a pair has several outcomes; limited by the number of updates."""
        pairs = {transition.pair for transition in self.memory.transitions}
        if self.settings.sweeps == 1 or not all(map(self.memory.is_deterministic, pairs)):
            return 1
        return max(1, min(self.settings.sweeps, 100_000 // (len(self.visited) * len(self.A))))
