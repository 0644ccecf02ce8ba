"""The explorers of other papers, as their pseudocode has them."""

import functools
import math
from collections.abc import Mapping
from typing import Any

from oracle.explorers import PAPER_EXPLORERS
from oracle.learning import QLearning, Table
from oracle.memory import Outcome, Pair, Transition, outcome_counts


class Optimistic(QLearning):
    """β = argmax Q^β, where Q^β starts at V = r_max / (1 - γ)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.Q_beta = Table(self.world, self.Q_range, self.settings.discount)


class MbieEb(Optimistic):
    """Q = r̂ + β / √n + γ P̂V, and V for an untried pair."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.Q_beta.reward = self.augmented_reward

    def augmented_reward(self, r: float, s: int, a: int, terminal: bool) -> float:
        beta = self.options.get("beta", 0.3 * self.r_max)
        return r + beta / math.sqrt(self.n[s][a])


class Boltzmann(QLearning):
    """β(a|s) ∝ exp(Q^β / τ)."""

    def choose(self, s: int) -> int:
        tau = self.options.get("temperature", self.r_max)
        Q = self.Q_beta.values[s]
        weights = [math.exp((q - max(Q)) / tau) for q in Q]
        total = 0.0
        for weight in weights:
            total += weight
        left = self.random.uniform() * total
        possible = [a for a in self.A if weights[a] > 0]
        for a in possible:
            if left < weights[a]:
                return a
            left -= weights[a]
        return possible[-1]


class PlannedTable(Table):
    """A table in which the values of some states are extrapolated until the state is backed up again."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.extrapolated: dict[int, float] = {}

    def value(self, s: int | None) -> float:
        return self.extrapolated[s] if s in self.extrapolated else super().value(s)


class Planner(QLearning):
    """A Q-table that is computed by value iteration on the memory, all states in turn, with values as they are."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.V = self.Q_range
        self.plan_from(self.V, self.settings.discount)
        self.Q_beta = self.Q

    def plan_from(self, start: float, gamma: float) -> None:
        """Let the first of the explorer's own tables be a planned one with these values at first."""
        self.Q = PlannedTable(self.world, start, gamma)
        self.own: list[Table] = [self.Q]

    def tables(self) -> dict[str, Any]:
        own = [Q.values for Q in self.own]
        return {"target": self.Q_pi.values, "behaviour": self.Q_beta.values, "own": own}

    def masked_tables(self) -> list[Table]:
        return [self.Q_pi, self.own[0]]

    def swept_tables(self) -> dict[str, Table]:
        return {"target": self.Q_pi}

    def observe(self, transition: Transition) -> None:
        self.__dict__.pop("counts", None)
        super().observe(transition)

    def has_doubled(self, transition: Transition) -> bool:
        """Return whether the count of a pair is a power of two."""
        return math.log2(self.n[transition.s][transition.a]).is_integer()

    @functools.cached_property
    def counts(self) -> dict[Pair, dict[int | None, int]]:
        """How often each next state followed each pair, until the next transition."""
        return outcome_counts(self.memory.all_transitions())

    def outcomes(self, s: int, a: int) -> list[tuple[float, float, int | None]]:
        """Return (P̂, r̂, s') of every next state of a pair, in the order in which they were first observed."""
        counts = self.counts.get((s, a), {})
        return [(c / self.n[s][a], self.memory.mean_reward[s, a, s_next], s_next) for s_next, c in counts.items()]

    def target(self, s: int, a: int) -> float:
        """Return Σ_s' P̂ (r̂ + γ V(s'))."""
        target = 0.0
        for p, r, s_next in self.outcomes(s, a):
            target += p * (r + self.Q.gamma * self.Q.value(s_next))
        return target

    def sweep(self, ascending: bool) -> float:
        """Back up every visited state, the latest discovered one first or last; return the largest change."""
        change = 0.0
        for s in self.visited if ascending else reversed(self.visited):
            new = {a: self.backup(s, a) for a in self.actions(s)}
            change = max(change, *(abs(new[a] - self.Q.values[s][a]) for a in new))
            for a, value in new.items():
                self.Q.values[s][a] = value
            self.Q.extrapolated.pop(s, None)
        return change

    def plan(self, tolerance: float) -> None:
        """Sweep in both directions until nothing changes; the third, sixth, twelfth ... time, extrapolate (Aitken).

        V + δ q / (1 - q), where δ is the change in the last two sweeps and q its ratio to the one before.
        """
        V, change, times = {}, dict.fromkeys(self.visited, 0.0), [3 * 2**j for j in range(12)]
        for k in range(1, 5001):
            V = {s: self.Q.value(s) for s in self.visited}
            if self.sweep(ascending=False) <= tolerance or self.sweep(ascending=True) <= tolerance:
                return
            for s in self.visited:
                delta = self.Q.value(s) - V[s]
                if k in times and (0 < delta < change[s] or change[s] < delta < 0):
                    q = delta / change[s]
                    self.Q.extrapolated[s] = self.Q.value(s) + delta * q / (1 - q)
                change[s] = delta


class RMax(Planner):
    """Q = r̂ + γ P̂V if n ≥ m, otherwise V; planned when n = m, 2 m, 4 m, ..."""

    def backup(self, s: int, a: int) -> float:
        return self.target(s, a) if self.n[s][a] >= self.options.get("known_after", 1) else self.V

    def learn_tables(self, transition: Transition) -> None:
        if self.n[transition.s][transition.a] / self.options.get("known_after", 1) in [2.0**k for k in range(30)]:
            self.plan(1e-8 * self.V)


class Ucbvi(Planner):
    """Q ← min(Q, r̂ + γ (P̂V + b)), b = c √(Var V / n) + c' V / n, one sweep a step."""

    def backup(self, s: int, a: int) -> float:
        n, Q = self.n[s][a], self.Q.values[s][a]
        if n == 0:
            return Q
        mean = variance = 0.0
        for p, _, s_next in self.outcomes(s, a):
            mean += p * self.Q.value(s_next)
        for p, _, s_next in self.outcomes(s, a):
            deviation = self.Q.value(s_next) - mean
            variance += p * deviation * deviation
        c, c_ = self.options.get("scale", 1.0), self.options.get("correction", 0.01)
        b = c * math.sqrt(variance / n) + c_ * self.V / n
        return min(Q, self.target(s, a) + self.Q.gamma * b)

    def learn_tables(self, transition: Transition) -> None:
        self.sweep(ascending=False)


class MbiePlan(Planner):
    """Q = r̂ + β / √n + γ P̂V, and V for an untried pair; planned when n = 1, 2, 4, ..., otherwise one sweep."""

    def backup(self, s: int, a: int) -> float:
        beta = self.options.get("beta", 0.3 * self.r_max)
        return self.target(s, a) + beta / math.sqrt(self.n[s][a]) if self.n[s][a] > 0 else self.V

    def learn_tables(self, transition: Transition) -> None:
        if self.has_doubled(transition):
            self.plan(1e-5 * self.V)
        else:
            self.sweep(ascending=False)


class VvPlan(Planner):
    """β = argmax Q + κ (1 - γ_w) W, where W(s, a) = u + γ_w P̂ max W, one sweep a step.

    u is √(2 log Σn / n), or with novelty="episode" the share of transitions to s' in which s' was new in the episode,
    or with novelty="count" 1 / √n; then W is at most V / (κ (1 - γ_w)), with which it starts, and it is planned when a
    count has doubled. Once a positive reward was seen, an episode is greedy with the probability greedy_episodes.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.greedy_episodes, self.has_reward = self.options.get("greedy_episodes", 0.0), False
        self.is_greedy = False
        kind = self.options.get("novelty", "lifetime")
        self.is_episodic, self.by_count = kind == "episode", kind == "count"
        self.kappa, gamma_w = self.options.get("kappa", self.V), self.settings.gamma_w
        if self.by_count:
            self.kappa = self.options.get("kappa", 0.3 * self.V)
            gamma_w = self.options.get("gamma_w", self.settings.discount)
        span, others = self.V / self.kappa if self.kappa > 0 else 0.0, max(len(self.A) - 1, 1)
        bound = span / (1 - gamma_w) ** 2 + math.sqrt(2 * math.log(others)) / (1 - gamma_w)
        self.start = math.nextafter(span / (1 - gamma_w) if self.by_count else bound, math.inf)
        self.plan_from(self.start, gamma_w)
        self.Q_beta = self.Q_pi
        self.pays = self.options.get("terminal_novelty") or ("forever" if kind == "lifetime" else "once")
        self.episode, self.last_episode = 0, Table(self.world, 0.0, 0.0)
        self.novelty: dict[Outcome, list[bool]] = {}
        if self.is_episodic:
            self.own.append(self.last_episode)

    def begin_episode(self) -> None:
        self.episode += 1
        if self.greedy_episodes > 0 and self.has_reward:
            self.is_greedy = self.random.uniform() < self.greedy_episodes

    def choose(self, s: int) -> int:
        W, Q, kappa = self.Q.values[s], self.Q_pi.values[s], 0.0 if self.is_greedy else self.kappa
        return self.random.argmax([Q[a] + kappa * ((1 - self.Q.gamma) * W[a]) for a in self.A])

    def visitation_reward(self, s: int, a: int, s_next: int | None) -> float:
        if self.by_count:
            return 1 / math.sqrt(self.n[s][a])
        if not self.is_episodic:
            return math.sqrt(2 * math.log(sum(self.n[s])) / self.n[s][a])
        share = 0.0
        for i, is_new in enumerate(self.novelty[s, a, s_next], 1):
            share += (is_new - share) / i
        return share

    def backup(self, s: int, a: int) -> float:
        if self.n[s][a] == 0:
            return self.start
        W = 0.0
        for p, _, s_next in self.outcomes(s, a):
            u = self.visitation_reward(s, a, s_next)
            is_for_ever = s_next is None and self.pays == "forever"
            W += p * (u / (1 - self.Q.gamma) if is_for_ever else u + self.Q.gamma * self.Q.value(s_next))
        return min(W, self.start) if self.by_count else W

    def learn_tables(self, transition: Transition) -> None:
        s, a, s_next = transition.outcome
        self.has_reward |= transition.r > 0
        self.last_episode.values[s][a] = float(self.episode)
        is_new = s_next is None or max(self.last_episode.values[s_next]) < self.episode
        self.novelty.setdefault((s, a, s_next), []).append(is_new)
        if self.by_count and self.has_doubled(transition):
            self.plan(1e-5 * self.start)
        else:
            self.sweep(ascending=False)


class Sampler(Planner):
    """A model is drawn at the start of an episode, and when the count of a pair has doubled."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sigma = self.options.get("deviation", 0.1 * self.r_max)
        self.plan_from(0.0, self.settings.discount)
        self.Q_beta = self.Q
        self.drawn = Table(self.world, 0.0, self.settings.discount)
        self.own.append(self.drawn)

    def begin_episode(self) -> None:
        for s in self.visited:
            for a in self.A:
                self.draw(s, a)
        self.plan(1e-5 * self.V)

    def learn_tables(self, transition: Transition) -> None:
        if self.options.get("when_doubled", True) and self.has_doubled(transition):
            self.begin_episode()

    def normal(self) -> float:
        """Draw from N(0, 1): a point of the unit disc."""
        while True:
            u, v = 2 * self.random.uniform() - 1, 2 * self.random.uniform() - 1
            if 0 < u * u + v * v < 1:
                square = u * u + v * v
                return u * math.sqrt(-2 * math.log(square) / square)

    def gamma(self, shape: float) -> float:
        """Draw from the gamma distribution (Marsaglia and Tsang 2000)."""
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self.normal()
            t = 1 + c * x
            v = t * t * t
            if t > 0 and math.log(1 - self.random.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


class Rlsvi(Sampler):
    """Q = r̂ + w + γ P̂V, w ~ N(0, σ² / n); Q = w ~ N(μ, V²) for an untried pair; at most V if it is clipped."""

    def draw(self, s: int, a: int) -> None:
        n, mean = self.n[s][a], self.options.get("prior_mean", 0.0) * self.V
        z = self.normal()
        self.drawn.values[s][a] = self.sigma / math.sqrt(n) * z if n > 0 else mean + self.V * z

    def backup(self, s: int, a: int) -> float:
        w = self.drawn.values[s][a]
        Q = self.target(s, a) + w if self.n[s][a] > 0 else w
        return min(Q, self.V) if self.options.get("clip") else Q


class Psrl(Sampler):
    """Q = r + γ (p_0 V(s_0) + Σ_k p_k V(s'_k)), r from its normal posterior, p ~ Dirichlet(1, n_1, n_2, ...).

    With an optimistic prior, of which the mean reward is r_max, Q = r / (1 - γ) for an untried pair, and
    p ~ Dirichlet(n_1, n_2, ...) for a tried one.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.is_optimistic = self.options.get("untried", "optimistic") == "optimistic"
        self.s_0, self.p_0 = Table(self.world, 0.0, 0.0), Table(self.world, 1.0, 0.0)
        self.p: dict[Pair, dict[int | None, float]] = {}
        self.own += [self.s_0, self.p_0]

    def draw(self, s: int, a: int) -> None:
        n, r_max = self.n[s][a], self.r_max
        n_0 = (self.sigma / r_max) * (self.sigma / r_max)
        mean = 0.0
        for p, r, _ in self.outcomes(s, a):
            mean += p * r
        mean = n * mean / (n + n_0) + (n_0 * r_max / (n + n_0) if self.is_optimistic else 0.0)
        self.drawn.values[s][a] = mean + self.sigma / math.sqrt(n + n_0) * self.normal()
        # States are numbered from 1 in the order of their discovery, and pairs by state and action.
        self.s_0.values[s][a] = len(self.A) * (1 + self.random.below(len(self.visited)))
        total = prior = 0.0 if self.is_optimistic and n > 0 else self.gamma(1.0)
        draws = {s_next: self.gamma(count) for s_next, count in self.counts.get((s, a), {}).items()}
        for draw in draws.values():
            total += draw
        self.p_0.values[s][a] = prior / total
        self.p[s, a] = {s_next: draw / total for s_next, draw in draws.items()}

    def backup(self, s: int, a: int) -> float:
        if self.is_optimistic and self.n[s][a] == 0:
            return self.drawn.values[s][a] / (1 - self.Q.gamma)
        s_0 = int(self.s_0.values[s][a]) // len(self.A)
        value = self.p_0.values[s][a] * (self.Q.value(self.visited[s_0 - 1]) if s_0 > 0 else 0.0)
        for s_next, p in self.p.get((s, a), {}).items():
            value += p * self.Q.value(s_next)
        return self.drawn.values[s][a] + self.Q.gamma * value


class GoalDirected(Planner):
    """Towards g = argmin n by argmax S(·|g) while ln t / n(g) > β, otherwise argmax Q."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.plan_from(0.0, self.settings.discount)
        self.Q_beta = self.Q_pi
        self.goal: Pair | None = None
        self.n_states = 0
        self.explores = False

    def choose(self, s: int) -> int:
        return self.random.argmax((self.Q if self.explores else self.Q_pi).values[s])

    def backup(self, s: int, a: int) -> float:
        if (s, a) == self.goal:
            return 1.0
        mean = 0.0
        for p, _, s_next in self.outcomes(s, a):
            mean += p * self.Q.value(s_next)
        return self.Q.gamma * mean

    def learn_tables(self, transition: Transition) -> None:
        goal = self.least_visited(transition)
        is_new = goal != self.goal
        if is_new:
            self.goal = goal
            for s in self.visited:
                for a in self.actions(s):
                    self.Q.values[s][a] = 0.0
        n = self.n[goal[0]][goal[1]]
        if is_new or self.has_doubled(transition):
            self.plan(1e-8)
        self.explores = n == 0 or math.log(self.i + 1) > self.options.get("threshold", 0.01) * n

    def least_visited(self, transition: Transition) -> Pair:
        """Return a least visited pair: the first, or a random one, drawn when it was visited or a state is new."""
        pairs = [(s, a) for s in self.visited for a in self.actions(s)]
        if self.options.get("ties", "first") == "first":
            return min(pairs, key=lambda pair: self.n[pair[0]][pair[1]])
        if self.goal is not None and self.goal != transition.pair and self.n_states == len(self.visited):
            return self.goal
        self.n_states, found, ties = len(self.visited), pairs[0], 1
        for s, a in pairs[1:]:
            if self.n[s][a] < self.n[found[0]][found[1]]:
                found, ties = (s, a), 1
            elif self.n[s][a] == self.n[found[0]][found[1]]:
                ties += 1
                if self.random.below(ties) == 0:
                    found = s, a
        return found


class Dora(Planner):
    """E(s, a) ← (1 - η) E(s, a) + η γ_E E(s', a'), E_0 = 1; β = argmax Q - τ ln(-ln E)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.Q_beta = self.Q_pi
        self.E = Table(self.world, 1.0, self.options.get("gamma_e", 0.9))
        self.last: Pair | None = None
        self.own = [self.E]

    def begin_episode(self) -> None:
        self.last = None

    def learn_tables(self, transition: Transition) -> None:
        s, a = transition.pair
        self.last = self.updated(self.last, self.E.gamma * self.E.values[s][a]) or (s, a)
        if transition.terminal:
            self.last = self.updated((s, a), 0.0)

    def updated(self, pair: Pair | None, target: float) -> None:
        if pair is not None:
            E = self.E.values[pair[0]]
            E[pair[1]] += self.settings.learning_rate * (target - E[pair[1]])

    def choose(self, s: int) -> int:
        tau = self.options.get("temperature", self.r_max)
        scores = []
        for Q, E in zip(self.Q_pi.values[s], self.E.values[s], strict=True):
            if E >= 1:  # Infinity, but finite.
                scores.append(Q + tau * 700 + self.V)
            else:
                scores.append(Q + tau * (-math.log(-math.log(E)) if E > 0 else -700))
        return self.random.argmax(scores)


class UcbQ(Planner):
    """Q ← (1 - α) Q + α (r + b + γ V̂(s')), Q̂ ← min(Q̂, Q), V̂ = max Q̂.

    α = (H + 1) / (H + n), b = c V √(ln((n + 1)(n + 2)) / n)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.estimate = Table(self.world, self.V, self.settings.discount)
        self.own.append(self.estimate)

    def learn_tables(self, transition: Transition) -> None:
        s, a, r, s_next, terminal = transition
        n, H, Q = self.n[s][a], self.options.get("rate_horizon") or self.horizon(), self.estimate.values
        b = self.options.get("scale", 0.001) * self.V * math.sqrt(math.log((n + 1) * (n + 2)) / n)
        alpha = (H + 1) / (H + n)
        Q[s][a] += alpha * (r + b + self.Q.gamma * self.Q.value(None if terminal else s_next) - Q[s][a])
        self.Q.values[s][a] = min(self.Q.values[s][a], Q[s][a])

    def horizon(self) -> float:
        """H = ln(1 / ((1 - γ) ε₁)) / ln(1 / γ), ε = 0.05."""
        x, eps = 1.0 - self.settings.discount, 0.05
        if self.settings.discount == 0:
            return 1.0
        R, M = math.ceil(math.log(3.0 / (eps * x)) / x), max(2.0 * math.log2(1.0 / (x * eps)), 10.0)
        return math.log(24.0 * R * M * math.log(1.0 / x) / (eps * x)) / math.log(1.0 / self.settings.discount)


EXPLORERS: Mapping[str, type[QLearning]] = {
    **PAPER_EXPLORERS,
    "optimistic": Optimistic,
    "mbie-eb": MbieEb,
    "boltzmann": Boltzmann,
    "r-max": RMax,
    "ucbvi": Ucbvi,
    "mbie-plan": MbiePlan,
    "vv-plan": VvPlan,
    "ucb-q": UcbQ,
    "rlsvi": Rlsvi,
    "psrl": Psrl,
    "goal-directed": GoalDirected,
    "dora": Dora,
}
