"""Q-learning with replay memory (Algorithm 1), without it (the classic one), and by minibatches."""

from collections.abc import Callable, Mapping
from typing import Any

from oracle.chance import Chance
from oracle.memory import END, Memory, Outcome, Transition, tally
from wanderlust.agents.settings import Settings
from wanderlust.worlds import World

Signal = Callable[[float, int, int, bool], float]
"""What a table takes for the reward of (r, s, a, terminal), now."""


def plain_reward(r: float, s: int, a: int, terminal: bool) -> float:
    """Return the reward itself, as Q takes it."""
    return r


class Table:
    """A value of every state and action, and what it is learnt from."""

    def __init__(
        self, world: World, start: float, gamma: float, reward: Signal = plain_reward, best: Any = max
    ) -> None:
        self.values = [[start] * world.n_actions for _ in range(world.n_states)]
        self.gamma = gamma
        self.reward = reward
        self.best = best

    def value(self, s: int | None) -> float:
        """Return the best value of any action in a state; nothing is to be had at the end of an episode."""
        return 0.0 if s is END else self.best(self.values[s])

    def update(self, batch: list[Transition], rewards: Mapping[Outcome, float], eta: float, nu: float = 0.0) -> None:
        """Move each pair by η times the mean TD error of its transitions, all errors taken before any write.

        The mean goes over the pair's distinct outcomes k, in the order in which they come in the batch:
        δ = Σ_k (c_k / n) (r_k + γ V(s'_k)) - Q, where r_k is the outcome's mean reward in the whole memory.
        Random prior adds ν (0 - Q).
        """
        delta = {}
        for (s, a), counts in tally(batch).items():
            n, target = sum(counts.values()), 0.0
            for s_next, c in counts.items():
                r = self.reward(rewards[s, a, s_next], s, a, s_next is END)
                target += c / n * (r + self.gamma * self.value(s_next))
            delta[s, a] = (target - self.values[s][a]) + nu * (0.0 - self.values[s][a])
        for (s, a), error in delta.items():
            self.values[s][a] += eta * error


class QLearning:
    """Two Q-tables: Q^π is evaluated and starts at 0, Q^β chooses and starts at 0 or at r_max / (1 - γ)."""

    def __init__(self, world: World, settings: Settings, options: Mapping[str, Any], seed: int) -> None:
        self.world, self.settings, self.options, self.seed = world, settings, options, seed
        self.A = range(world.n_actions)
        self.n = [[0] * world.n_actions for _ in range(world.n_states)]
        self.i = 0
        self.met: set[int] = set()
        self.chance, self.replay_chance = Chance(seed, "explorer"), Chance(seed, "replay")
        replay = settings.replay
        window = replay.capacity or 20 * settings.horizon
        self.memory = Memory(window if replay.memory == "window" else None)
        r_min, r_max = world.reward_range
        # r_max / (1 - γ); where no reward is positive, the footnote's (r_max - r_min) / (1 - γ).
        span = r_max if r_max > 0 else r_max - r_min
        self.Q_range = (span if span > 0 else 1.0) / (1.0 - settings.discount)
        self.Q_start = self.Q_range if settings.initial == "optimistic" else 0.0
        self.Q_pi = Table(world, 0.0, settings.discount)
        self.Q_beta = Table(world, self.Q_start, settings.discount)

    def swept(self) -> dict[str, Table]:
        """Return the tables that learn from all of the memory."""
        return {"target": self.Q_pi, "behaviour": self.Q_beta}

    def tables(self) -> dict[str, Any]:
        """Return what there is to be compared, by name."""
        return {name: table.values for name, table in self.swept().items()}

    def evaluated(self) -> Table:
        """Return the table whose greedy policy is evaluated."""
        return self.Q_beta if self.settings.evaluated == "behaviour" else self.Q_pi

    def begin_episode(self) -> None:
        """Prepare for an episode: most explorers need not."""

    def meet(self, s: int) -> None:
        """Take note of a state that is come to."""
        self.met.add(s)

    def choose(self, s: int) -> int:
        """Draw an action from β(·|s)."""
        raise NotImplementedError

    def observe(self, transition: Transition) -> None:
        """Count, store, learn: the inner lines of every algorithm."""
        self.n[transition.s][transition.a] += 1
        if self.settings.replay.memory == "none":
            self.learn([transition], {transition.outcome: transition.r})
        else:
            self.news = self.memory.store(transition)
            self.learn(self.batch(), self.memory.mean_reward)
        self.i += 1

    def batch(self) -> list[Transition]:
        """Return what this step replays: everything, or a minibatch of a window."""
        if self.settings.replay.memory == "full":
            return self.memory.everything()
        return self.memory.minibatch(self.settings.replay.batch, self.replay_chance)

    def learn(self, batch: list[Transition], rewards: Mapping[Outcome, float]) -> None:
        """Move every table by the same transitions."""
        for _ in range(self.n_sweeps()):
            for table in self.swept().values():
                table.update(batch, rewards, self.settings.learning_rate)

    def n_sweeps(self) -> int:
        """Return how many times: as often as is asked for, unless that is too much work or an outcome was not sure."""
        pairs = {transition.pair for transition in self.memory.transitions}
        if self.settings.sweeps == 1 or not all(map(self.memory.is_certain, pairs)):
            return 1
        return max(1, min(self.settings.sweeps, 100_000 // (len(self.met) * len(self.A))))
