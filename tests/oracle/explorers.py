"""The behaviour policies β(a|s) of the appendix, and what each algorithm learns beside Q."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from oracle.chance import seed_of
from oracle.learning import QLearning, Table
from oracle.memory import Outcome, Transition


class RandomWalk(QLearning):
    """β ~ unif{A}."""

    def choose(self, s: int) -> int:
        return self.chance.below(len(self.A))


class EpsilonGreedy(QLearning):
    """β = argmax Q^β with probability 1 - ε, otherwise unif{A}; ε_i = ε_0 ξ^i ends at ε_end."""

    def choose(self, s: int) -> int:
        settings = self.settings
        start, end = settings.epsilon_start, settings.epsilon_end
        xi = math.pow(end / start, 1.0 / settings.budget) if start > 0 and end > 0 else 1.0
        if self.chance.uniform() < start * xi**self.i:
            return self.chance.below(len(self.A))
        return self.chance.argmax(self.Q_beta.values[s])


class Bonus(EpsilonGreedy):
    """Algorithm 2: Q^β learns from r⁺ = r + α n(s,a)^(-1/2), α = 0.1."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.Q_beta.reward = self.augmented_reward

    def augmented_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        return r + self.options.get("scale", 0.1) / math.sqrt(self.n[s][a])


class Optimist(QLearning):
    """β = argmax Q^β + κ U, where U is an upper confidence bound of some kind."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kappa = self.options.get("kappa", self.Q_range)
        self.span = self.Q_range / self.kappa if self.kappa > 0 else 0.0

    def U(self, s: int) -> list[float]:  # noqa: N802
        raise NotImplementedError

    def choose(self, s: int) -> int:
        U = self.U(s)
        return self.chance.argmax([self.Q_beta.values[s][a] + self.kappa * U[a] for a in self.A])


class Ucb1(Optimist):
    """U = √(2 log(1 + Σn) / n), and (Q_max - Q_min)/κ + √(2 log|A|) for an untried action."""

    def U(self, s: int) -> list[float]:  # noqa: N802
        n = self.n[s]
        untried = self.options.get("untried_value", self.span + math.sqrt(2 * math.log(len(self.A))))
        return [math.sqrt(2 * math.log(1 + sum(n)) / n[a]) if n[a] > 0 else untried for a in self.A]


class VvUcb(Optimist):
    """Algorithm 3: W is the long-term UCB, U = (1 - γ_w) W."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        gamma_w = self.settings.gamma_w
        # The bound is strict, so W starts at the next number above it, or by a margin above it.
        others = max(len(self.A) - 1, 1)
        bound = self.span / (1 - gamma_w) ** 2 + math.sqrt(2 * math.log(others)) / (1 - gamma_w)
        margin = self.options.get("initial_margin", 0.0)
        start = bound + margin if margin > 0 else math.nextafter(bound, math.inf)
        self.W = Table(self.world, start, gamma_w, reward=self.visitation_reward)

    def swept(self) -> dict[str, Table]:
        return {**super().swept(), "visitation": self.W}

    def visitation_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        """√(2 log Σn / n), for ever if the state is terminal."""
        plus = 1 if self.options.get("log_plus_one", False) else 0
        ucb = math.sqrt(2 * math.log(plus + sum(self.n[s])) / self.n[s][a])
        return ucb / (1 - self.W.gamma) if terminal else ucb

    def U(self, s: int) -> list[float]:  # noqa: N802
        return [(1 - self.W.gamma) * self.W.values[s][a] for a in self.A]


class VvCount(Optimist):
    """Algorithm 4: W is the long-term count, minimised, and U the bound of UCB1 on n̂ = (1 - γ_w) W."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        gamma_w = self.settings.gamma_w
        self.W = Table(self.world, 0.0, gamma_w, reward=self.visitation_reward, best=min)

    def swept(self) -> dict[str, Table]:
        return {**super().swept(), "visitation": self.W}

    def visitation_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        """n, for ever if the state is terminal: the pair's own, or in the released code the largest."""
        if not terminal:
            return float(self.n[s][a])
        largest = self.options.get("terminal_count", "pair") == "largest"
        n = max(map(max, self.n)) if largest else self.n[s][a]
        return n / (1 - self.W.gamma)

    def U(self, s: int) -> list[float]:  # noqa: N802
        gamma_w = self.W.gamma
        n_hat = [(1 - gamma_w) * self.W.values[s][a] for a in self.A]
        total = 0.0
        for n in n_hat:  # not sum(), which is compensated in newer Pythons
            total += n
        plus = 1 if self.options.get("untried_bound", "text") == "text" else 0
        worst_case = plus + (1 - gamma_w) + max(len(self.A), 2) - 2
        untried = self.span + math.sqrt(2 * math.log(worst_case) / (1 - gamma_w))
        return [math.sqrt(2 * math.log(1 + total) / n) if n > 0 else untried for n in n_hat]


class Bootstrapped(EpsilonGreedy):
    """Algorithm 5: B behaviour tables with noise on their initial values and minibatches of their own.

    The noise is one stream of Gaussian numbers, for all tables and actions of one state after another, in the
    order in which states are come to. Its first numbers belong to the end of an episode and go unused.
    """

    prior_weight = 0.0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.B = range(self.options.get("heads", 10))
        self.Q_b = [Table(self.world, self.Q_start, self.settings.discount) for _ in self.B]
        self.asleep: set[int] = set()
        self.noise = np.random.Generator(np.random.PCG64(seed_of(self.seed, "initial values")))
        self.noise.standard_normal((len(self.B), len(self.A)))
        self.b = 0

    def meet(self, s: int) -> None:
        if s not in self.met:
            super().meet(s)
            for Q in self.Q_b:
                for a in self.A:
                    Q.values[s][a] += self.options.get("noise", 1.0) * self.noise.standard_normal()

    def begin_episode(self) -> None:
        self.b = self.chance.below(len(self.B))

    def choose(self, s: int) -> int:
        """Be greedy on the chosen table; ε-greedy, as the pseudocode has it, where that is asked for."""
        self.Q_beta = self.Q_b[self.b]
        if self.options.get("dither", False):
            return super().choose(s)
        return self.chance.argmax(self.Q_beta.values[s])

    def swept(self) -> dict[str, Table]:
        return {"target": self.Q_pi}

    def tables(self) -> dict[str, Any]:
        return {**super().tables(), "heads": [Q.values for Q in self.Q_b]}

    def evaluated(self) -> Table:
        return self.Q_b[0] if self.settings.evaluated == "behaviour" else self.Q_pi

    def batch(self) -> list[Transition]:
        """Return what Q^π learns from: all that is remembered."""
        return self.memory.everything()

    def learn(self, batch: list[Transition], rewards: Mapping[Outcome, float]) -> None:
        super().learn(batch, rewards)
        eta, nu = self.settings.learning_rate, self.options.get("prior_weight", self.prior_weight)
        replay = self.settings.replay
        if replay.memory == "none":
            lucky = self.replay_chance.below(len(self.B))
            self.Q_b[lucky].update(batch, rewards, eta, nu)
            return
        size = self.options.get("batch", 1024) if replay.memory == "full" else replay.batch
        if self.news:
            self.asleep.clear()
        for b, Q in enumerate(self.Q_b):
            if b not in self.asleep:
                Q.update(self.memory.minibatch(size, self.replay_chance), rewards, eta, nu)
                if self.i % 32 == 0 and self.nothing_moves(Q, rewards, eta, nu):
                    self.asleep.add(b)

    def nothing_moves(self, Q: Table, rewards: Mapping[Outcome, float], eta: float, nu: float) -> bool:
        """Tell whether no minibatch could change a table, so that it need not draw any until there is news."""
        everything = self.memory.everything()
        if self.settings.replay.memory != "full" or any(not self.memory.is_certain(each.pair) for each in everything):
            return False
        trial = Table(self.world, 0.0, Q.gamma)
        trial.values = [list(row) for row in Q.values]
        trial.update(everything, rewards, eta, nu)
        return trial.values == Q.values


class RandomPrior(Bootstrapped):
    """The TD error is regularised towards prior tables at zero, ν = 0.1."""

    prior_weight = 0.1


class Thompson(Bootstrapped):
    """The table is drawn anew at every step; by the released code, for every action of every step."""

    def begin_episode(self) -> None:
        """Draw nothing."""

    def choose(self, s: int) -> int:
        b = self.chance.below(len(self.B))
        scores = []
        for a in self.A:
            if a > 0 and self.options.get("draw", "step") == "action":
                b = self.chance.below(len(self.B))
            scores.append(self.Q_b[b].values[s][a])
        return self.chance.argmax(scores)


EXPLORERS: Mapping[str, type[QLearning]] = {
    "random": RandomWalk,
    "epsilon-greedy": EpsilonGreedy,
    "ucb1": Ucb1,
    "bonus": Bonus,
    "vv-ucb": VvUcb,
    "vv-count": VvCount,
    "bootstrapped": Bootstrapped,
    "random-prior": RandomPrior,
    "thompson": Thompson,
}
