"""The behaviour policies β(a|s) of the appendix, and the tables that each algorithm learns in addition to Q."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from oracle.learning import QLearning, Table
from oracle.memory import Outcome, Transition
from oracle.random_stream import seed_of


class RandomPolicy(QLearning):
    """β ~ unif{A}."""

    def choose(self, s: int) -> int:
        A = self.actions(s)
        return A[self.random.below(len(A))]


class EpsilonGreedy(QLearning):
    """β = argmax Q^β with probability 1 - ε, otherwise unif{A}; ε_i = ε_0 ξ^i decays to ε_end."""

    def choose(self, s: int) -> int:
        settings = self.settings
        start, end = settings.epsilon_start, settings.epsilon_end
        xi = math.pow(end / start, 1.0 / settings.budget) if start > 0 and end > 0 else 1.0
        if self.random.uniform() < start * xi**self.i:
            A = self.actions(s)
            return A[self.random.below(len(A))]
        return super().choose(s)


class Bonus(EpsilonGreedy):
    """Algorithm 2: Q^β learns from r⁺ = r + α n(s,a)^(-1/2), α = 0.1."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.Q_beta.reward = self.augmented_reward

    def augmented_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        return r + self.options.get("scale", 0.1) / math.sqrt(self.n[s][a])


class UpperBound(QLearning):
    """β = argmax Q^β + κ U, where U is an upper confidence bound."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kappa = self.options.get("kappa", self.Q_range)
        self.span = self.Q_range / self.kappa if self.kappa > 0 else 0.0

    def choose(self, s: int) -> int:
        U = self.U(s)
        return self.random.argmax([self.Q_beta.values[s][a] + self.kappa * U[a] for a in self.A])


class Ucb1(UpperBound):
    """U = √(2 log(1 + Σn) / n), and (Q_max - Q_min)/κ + √(2 log|A|) for an untried action."""

    def U(self, s: int) -> list[float]:  # noqa: N802
        n = self.n[s]
        untried = self.options.get("untried_value", self.span + math.sqrt(2 * math.log(len(self.A))))
        return [math.sqrt(2 * math.log(1 + sum(n)) / n[a]) if n[a] > 0 else untried for a in self.A]


class VvUcb(UpperBound):
    """Algorithm 3: W is the long-term UCB, U = (1 - γ_w) W."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        gamma_w = self.settings.gamma_w
        # The inequality is strict, so W starts at the next float above the bound, or a margin above it.
        others = max(len(self.A) - 1, 1)
        bound = self.span / (1 - gamma_w) ** 2 + math.sqrt(2 * math.log(others)) / (1 - gamma_w)
        margin = self.options.get("initial_margin", 0.0)
        start = bound + margin if margin > 0 else math.nextafter(bound, math.inf)
        self.W = Table(self.world, start, gamma_w, reward=self.visitation_reward)

    def swept_tables(self) -> dict[str, Table]:
        return {**super().swept_tables(), "visitation": self.W}

    def visitation_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        """√(2 log Σn / n), received forever after a terminal transition."""
        plus = 1 if self.options.get("log_plus_one", False) else 0
        ucb = math.sqrt(2 * math.log(plus + sum(self.n[s])) / self.n[s][a])
        return ucb / (1 - self.W.gamma) if terminal else ucb

    def U(self, s: int) -> list[float]:  # noqa: N802
        return [(1 - self.W.gamma) * self.W.values[s][a] for a in self.A]


class VvCount(UpperBound):
    """Algorithm 4: W is the long-term count, which is minimised; U is the bound of UCB1 with n̂ = (1 - γ_w) W."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        gamma_w = self.settings.gamma_w
        self.W = Table(self.world, 0.0, gamma_w, reward=self.visitation_reward, best=min)

    def swept_tables(self) -> dict[str, Table]:
        return {**super().swept_tables(), "visitation": self.W}

    def visitation_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        """n, received forever after a terminal transition: n of the pair, or in the released code the largest n."""
        if not terminal:
            return float(self.n[s][a])
        largest = self.options.get("terminal_count", "pair") == "largest"
        n = max(map(max, self.n)) if largest else self.n[s][a]
        return n / (1 - self.W.gamma)

    def U(self, s: int) -> list[float]:  # noqa: N802
        gamma_w = self.W.gamma
        n_hat = [(1 - gamma_w) * self.W.values[s][a] for a in self.A]
        total = 0.0
        for n in (n_hat[a] for a in self.actions(s)):  # Not sum(), which compensates rounding errors since Python 3.12.
            total += n
        plus = 1 if self.options.get("untried_bound", "text") == "text" else 0
        worst_case = plus + (1 - gamma_w) + max(len(self.A), 2) - 2
        untried = self.span + math.sqrt(2 * math.log(worst_case) / (1 - gamma_w))
        return [math.sqrt(2 * math.log(1 + total) / n) if n > 0 else untried for n in n_hat]


class Bootstrapped(EpsilonGreedy):
    """Algorithm 5: B behaviour tables with random initial values and separate minibatches.

    The Gaussian noise is drawn for all tables and actions of one state after another, in the order in which states are
    first visited. The first numbers belong to the terminal state and are not used.
    """

    prior_weight = 0.0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.B = range(self.options.get("heads", 10))
        self.Q_b = [Table(self.world, self.Q_start, self.settings.discount) for _ in self.B]
        self.converged: set[int] = set()
        self.noise = np.random.Generator(np.random.PCG64(seed_of(self.seed, "initial values")))
        self.noise.standard_normal((len(self.B), len(self.A)))
        self.b = 0

    def visit(self, s: int) -> None:
        if s not in self.visited:
            super().visit(s)
            for Q in self.Q_b:
                for a in self.A:
                    Q.values[s][a] += self.options.get("noise", 1.0) * self.noise.standard_normal()

    def begin_episode(self) -> None:
        self.b = self.random.below(len(self.B))

    def choose(self, s: int) -> int:
        """Act greedily on the sampled table; with `dither`, ε-greedily as in Algorithm 5."""
        self.Q_beta = self.Q_b[self.b]
        if self.options.get("dither", False):
            return super().choose(s)
        return self.random.argmax(self.Q_beta.values[s])

    def swept_tables(self) -> dict[str, Table]:
        return {"target": self.Q_pi}

    def masked_tables(self) -> list[Table]:
        return [*super().masked_tables(), *self.Q_b]

    def tables(self) -> dict[str, Any]:
        return {**super().tables(), "heads": [Q.values for Q in self.Q_b]}

    def evaluated_table(self) -> Table:
        return self.Q_b[0] if self.settings.evaluated == "behaviour" else self.Q_pi

    def batch(self) -> list[Transition]:
        """Return the transitions that Q^π learns from: the whole memory."""
        return self.memory.all_transitions()

    def learn(self, batch: list[Transition], rewards: Mapping[Outcome, float], sweeps: int | None = None) -> None:
        super().learn(batch, rewards, sweeps)
        eta, nu = self.settings.learning_rate, self.options.get("prior_weight", self.prior_weight)
        replay = self.settings.replay
        if replay.memory == "none":
            b = self.replay_random.below(len(self.B))
            self.Q_b[b].update(batch, rewards, eta, nu)
            return
        size = self.options.get("batch", 1024) if replay.memory == "full" else replay.batch
        if self.memory_changed:
            self.converged.clear()
        for b, Q in enumerate(self.Q_b):
            if b not in self.converged:
                Q.update(self.memory.minibatch(size, self.replay_random), rewards, eta, nu)
                if self.i % 32 == 0 and self.has_converged(Q, rewards, eta, nu):
                    self.converged.add(b)

    def has_converged(self, Q: Table, rewards: Mapping[Outcome, float], eta: float, nu: float) -> bool:
        """Return whether no minibatch can change a table, so that it draws none until the memory changes."""
        transitions = self.memory.all_transitions()
        if self.settings.replay.memory != "full" or any(
            not self.memory.is_deterministic(each.pair) for each in transitions
        ):
            return False
        trial = Table(self.world, 0.0, Q.gamma)
        trial.values = [list(row) for row in Q.values]
        trial.update(transitions, rewards, eta, nu)
        return trial.values == Q.values


class RandomPrior(Bootstrapped):
    """The TD error is regularised towards a prior of zero with weight ν = 0.1."""

    prior_weight = 0.1


class Thompson(Bootstrapped):
    """A table is sampled at every step; in the released code, for every action of every step."""

    def begin_episode(self) -> None:
        """Draw nothing."""

    def choose(self, s: int) -> int:
        b = self.random.below(len(self.B))
        scores = [-math.inf for _ in self.A]
        for i, a in enumerate(self.actions(s)):
            if i > 0 and self.options.get("draw", "step") == "action":
                b = self.random.below(len(self.B))
            scores[a] = self.Q_b[b].values[s][a]
        return self.random.argmax(scores)


PAPER_EXPLORERS: Mapping[str, type[QLearning]] = {
    "random": RandomPolicy,
    "epsilon-greedy": EpsilonGreedy,
    "ucb1": Ucb1,
    "bonus": Bonus,
    "vv-ucb": VvUcb,
    "vv-count": VvCount,
    "bootstrapped": Bootstrapped,
    "random-prior": RandomPrior,
    "thompson": Thompson,
}
