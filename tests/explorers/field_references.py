"""The explorers of other papers in plain NumPy, written from the papers; nothing is imported from the library.

They know the number of states and keep dense arrays. Plans are exact, by policy iteration. What the papers leave open
is as `docs/deviations.md` has it: constants, and that models are drawn when an episode starts or a count has doubled.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class TableWorld(NamedTuple):
    """A world as arrays; the last column of `probability` is the end of the episode."""

    probability: Array
    """[state, action, next state]"""
    reward: Array
    """[state, action]"""
    horizon: int


def chain(n: int = 6) -> TableWorld:
    """Action 1 advances and action 0 returns to the first state; the end gives 1 and terminates."""
    p, r = np.zeros((n, 2, n + 1)), np.zeros((n, 2))
    for s in range(n):
        p[s, 0, 0] = p[s, 1, s + 1] = 1.0
    r[-1, 1] = 1.0
    return TableWorld(p, r, 3 * n)


def river(n: int = 6) -> TableWorld:
    """RiverSwim (Strehl and Littman 2008)."""
    p, r = np.zeros((n, 2, n + 1)), np.zeros((n, 2))
    for s in range(n):
        p[s, 0, max(s - 1, 0)] = 1.0
        p[s, 1, [max(s - 1, 0), s, min(s + 1, n - 1)]] += 0.05, 0.6, 0.35
    p[0, 1], p[-1, 1] = 0.0, 0.0
    p[0, 1, :2], p[-1, 1, n - 2 : n] = (0.65, 0.35), (0.4, 0.6)
    r[0, 0], r[-1, 1] = 0.005, 1.0
    return TableWorld(p, r, 100)


def grid(n: int = 4) -> TableWorld:
    """Four moves in a square; acting in the last cell gives 1 and terminates."""
    p, r = np.zeros((n * n, 4, n * n + 1)), np.zeros((n * n, 4))
    for s in range(n * n):
        for a, (down, right) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
            row, column = min(max(s // n + down, 0), n - 1), min(max(s % n + right, 0), n - 1)
            p[s, a, n * n if s == n * n - 1 else row * n + column] = 1.0
    r[-1] = 1.0
    return TableWorld(p, r, 20)


WORLDS = {"chain": chain(), "river": river(), "grid": grid()}


def solved(reward: Array, p: Array, gamma: float, fixed: NDArray[np.bool_], value: Array, near: Array) -> Array:
    """Return Q = r + γ P max Q, where Q of the pairs in `fixed` is `value`, by policy iteration from a table `near`."""
    n, rows = len(reward), np.arange(len(reward))
    q, policy = np.where(fixed, value, near), np.zeros(n, int)
    for _ in range(1000):
        policy = np.where(q[rows, policy] >= q.max(axis=1) - 1e-11, policy, q.argmax(axis=1))
        known = fixed[rows, policy]
        a = np.eye(n) - gamma * np.where(known[:, None], 0.0, p[rows, policy, :n])
        v = np.linalg.solve(a, np.where(known, value[rows, policy], reward[rows, policy]))
        new = np.where(fixed, value, reward + gamma * p[:, :, :n] @ v)
        if np.abs(new - q).max() < 1e-11:
            break
        q = new
    return np.asarray(q)


class Reference:
    """Counts, and an explorer that is greedy on a table; ties are broken at random."""

    def __init__(self, n_states: int, n_actions: int, gamma: float, r_max: float, rng: Any) -> None:
        self.gamma, self.r_max, self.V, self.rng = gamma, r_max, r_max / (1 - gamma), rng
        self.count = np.zeros((n_states, n_actions, n_states + 1))
        self.total_reward = np.zeros((n_states, n_actions))
        self.q = np.zeros((n_states, n_actions))
        self.t = 0

    @property
    def n(self) -> Array:
        return np.asarray(self.count.sum(axis=2))

    @property
    def r(self) -> Array:
        """The mean reward; 0 for an untried pair."""
        return np.asarray(self.total_reward / np.maximum(self.n, 1))

    @property
    def p(self) -> Array:
        """The observed shares of next states; 0 for an untried pair."""
        return np.asarray(self.count / np.maximum(self.n, 1)[:, :, None])

    def act(self, s: int) -> int:
        return int(self.rng.choice(np.flatnonzero(self.q[s] == self.q[s].max())))

    def begin_episode(self) -> None: ...

    def observe(self, s: int, a: int, r: float, s_next: int) -> None:
        """Learn from a transition; `s_next` is the number of states if the episode terminated."""
        self.count[s, a, s_next] += 1
        self.total_reward[s, a] += r
        self.t += 1
        self.learn(s, a, r, s_next)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None: ...


class MbieEb(Reference):
    """Strehl and Littman (2008), equation 6: Q = r̂ + β / √n + γ P̂V; 1 / (1 - γ) for an untried pair."""

    beta = 0.3

    def solution(self) -> Array:
        bonus = self.beta * self.r_max / np.sqrt(np.maximum(self.n, 1))
        return solved(self.r + bonus, self.p, self.gamma, self.n == 0, np.full(self.n.shape, self.V), self.q)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        self.q = self.solution()


class RMax(Reference):
    """Brafman and Tennenholtz (2002): a pair with fewer than m visits is worth V."""

    m = 1

    def solution(self) -> Array:
        return solved(self.r, self.p, self.gamma, self.n < self.m, np.full(self.n.shape, self.V), self.q)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        self.q = self.solution()


class Ucbvi(Reference):
    """He et al. (2021): Q ← min(Q, r̂ + γ (P̂V + b)) in all pairs, b = c √(Var V / n) + c' V_max / n."""

    c, correction = 1.0, 0.01

    def backed_up(self, q: Array) -> Array:
        v, n = np.append(q.max(axis=1), 0.0), np.maximum(self.n, 1)
        mean = self.p @ v
        variance = np.maximum(self.p @ v**2 - mean**2, 0.0)
        bonus = self.c * np.sqrt(variance / n) + self.correction * self.V / n
        return np.where(self.n > 0, np.minimum(q, self.r + self.gamma * (mean + bonus)), q)

    def begin_episode(self) -> None:
        if self.t == 0:
            self.q = np.full(self.q.shape, self.V)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        self.q = self.backed_up(self.q)


class UcbQ(Reference):
    """Dong et al. (2020), algorithm 1: optimistic Q-learning; Q̂ is the smallest estimate so far."""

    c, accuracy = 0.001, 0.05

    def begin_episode(self) -> None:
        if self.t == 0:
            self.q, self.estimate = np.full(self.q.shape, self.V), np.full(self.q.shape, self.V)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        x, eps, n = 1 - self.gamma, self.accuracy, self.n[s, a]
        rounds, m = math.ceil(math.log(3 / (eps * x)) / x), max(2 * math.log2(1 / (x * eps)), 10)
        eps_1 = eps / (24 * rounds * m * math.log(1 / x))
        h = math.log(1 / (x * eps_1)) / math.log(1 / self.gamma)
        alpha, bonus = (h + 1) / (h + n), self.c * self.V * math.sqrt(math.log((n + 1) * (n + 2)) / n)
        v = np.append(self.q.max(axis=1), 0.0)[s_next]
        self.estimate[s, a] = (1 - alpha) * self.estimate[s, a] + alpha * (r + bonus + self.gamma * v)
        self.q[s, a] = min(self.q[s, a], self.estimate[s, a])


class Dora(Reference):
    """Choshen et al. (2018): E ← (1 - η) E + η γ_E E(s', a'); greedy on Q - τ ln(-ln E), untried actions first."""

    rate, gamma_e = 0.5, 0.9

    def begin_episode(self) -> None:
        if self.t == 0:
            self.e, self.values = np.ones(self.q.shape), self.q
        self.last: tuple[int, int] | None = None

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        if self.last is not None:
            self.e[self.last] += self.rate * (self.gamma_e * self.e[s, a] - self.e[self.last])
        self.last = s, a
        if s_next == len(self.e):
            self.e[s, a] *= 1 - self.rate
        self.values = solved(self.r, self.p, self.gamma, self.n == 0, np.zeros(self.n.shape), self.values)
        with np.errstate(divide="ignore"):
            self.q = self.values - self.r_max * np.log(-np.log(np.minimum(self.e, 1.0)))


class GoalDirected(Reference):
    """Parisi et al. (2024): towards g = argmin n by S(s, a | g), the discounted probability of reaching it."""

    def successor(self, goal: tuple[int, int]) -> Array:
        fixed = self.n == 0
        value = np.zeros(self.n.shape)
        fixed[goal], value[goal] = True, 1.0
        return solved(np.zeros(self.n.shape), self.p, self.gamma, fixed, value, self.q)

    def begin_episode(self) -> None:
        if self.t == 0:
            self.order: list[int] = []

    def observe(self, s: int, a: int, r: float, s_next: int) -> None:
        for state in (s, s_next):
            if state < len(self.q) and state not in self.order:
                self.order.append(state)
        super().observe(s, a, r, s_next)

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        pairs = [(state, action) for state in self.order for action in range(self.q.shape[1])]
        self.q = self.successor(min(pairs, key=lambda pair: self.n[pair]))


class Sampler(Reference):
    """Plans in a model that is drawn when an episode starts, and when the count of a pair has doubled."""

    def begin_episode(self) -> None:
        self.q = self.drawn_q()

    def learn(self, s: int, a: int, r: float, s_next: int) -> None:
        if math.log2(self.n[s, a]).is_integer():
            self.q = self.drawn_q()

    def drawn_q(self) -> Array:
        raise NotImplementedError


class Rlsvi(Sampler):
    """Osband et al. (2016): r̂ + w + γ P̂V, w ~ N(0, σ² / n); an untried pair has the value N(0, V²)."""

    sigma = 0.1

    def drawn_q(self) -> Array:
        z, n = self.rng.standard_normal(self.q.shape), self.n
        w = self.sigma * self.r_max * z / np.sqrt(np.maximum(n, 1))
        return solved(self.r + w, self.p, self.gamma, n == 0, self.V * z, self.q)


class Psrl(Sampler):
    """Osband et al. (2013): rewards from a normal posterior with the prior N(r_max, r_max²), p ~ Dirichlet(counts).

    The reward of an untried pair is paid forever.
    """

    sigma = 0.1

    def drawn_rewards(self) -> Array:
        n, s2 = self.n, (self.sigma * self.r_max) ** 2
        precision = n / s2 + 1 / self.r_max**2
        mean = (self.total_reward / s2 + self.r_max / self.r_max**2) / precision
        return np.asarray(self.rng.normal(mean, np.sqrt(1 / precision)))

    def drawn_q(self) -> Array:
        r, p = self.drawn_rewards(), np.zeros(self.count.shape)
        for s, a in np.ndindex(*self.q.shape):
            seen = np.flatnonzero(self.count[s, a])
            if len(seen):
                p[s, a, seen] = self.rng.dirichlet(self.count[s, a, seen])
        return solved(r, p, self.gamma, self.n == 0, r / (1 - self.gamma), self.q)


REFERENCES = {
    "mbie-plan": MbieEb, "r-max": RMax, "ucbvi": Ucbvi, "ucb-q": UcbQ, "dora": Dora, "goal-directed": GoalDirected,
    "rlsvi": Rlsvi, "psrl": Psrl,
}  # fmt: skip


def new_reference(name: str, world: TableWorld, gamma: float, seed: int) -> Reference:
    """Return an explorer that knows nothing of a world but its size."""
    return REFERENCES[name](*world.reward.shape, gamma, 1.0, np.random.default_rng(seed))


def trained(name: str, world: TableWorld, gamma: float, steps: int, seed: int) -> Reference:
    """Return an explorer after some steps in a world."""
    one, rng = new_reference(name, world, gamma, seed), np.random.default_rng(seed + 10_000)
    s = length = 0
    one.begin_episode()
    for _ in range(steps):
        a = one.act(s)
        s_next = int(rng.choice(len(world.probability) + 1, p=world.probability[s, a]))
        one.observe(s, a, world.reward[s, a], s_next)
        length += 1
        s = s_next
        if s_next == len(world.probability) or length == world.horizon:
            s = length = 0
            one.begin_episode()
    return one


def random_log(world: TableWorld, steps: int, seed: int) -> list[tuple[int, int, float, int]]:
    """Return (s, a, r, s') of random actions, half of them towards the end, so that most pairs are tried."""
    rng, s, log = np.random.default_rng(seed), 0, []
    for _ in range(steps):
        a = world.reward.shape[1] - 1 if rng.random() < 0.5 else int(rng.integers(world.reward.shape[1]))
        s_next = int(rng.choice(len(world.probability) + 1, p=world.probability[s, a]))
        log.append((s, a, float(world.reward[s, a]), s_next))
        s = 0 if s_next == len(world.probability) else s_next
    return log
