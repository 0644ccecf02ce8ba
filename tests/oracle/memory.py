"""Replay memory as a list of transitions."""

from typing import NamedTuple

from oracle.random_stream import RandomStream

TERMINAL = None
"""The next state of a terminal transition; its value is 0."""

Pair = tuple[int, int]
Outcome = tuple[int, int, int | None]


class Transition(NamedTuple):
    """One step, and whether it terminated the episode."""

    s: int
    a: int
    r: float
    s_next: int
    terminal: bool

    @property
    def pair(self) -> Pair:
        """The state and the action."""
        return self.s, self.a

    @property
    def outcome(self) -> Outcome:
        """The state, the action and the next state; all terminal states are the same."""
        return self.s, self.a, TERMINAL if self.terminal else self.s_next


class Memory:
    """All transitions, or the last `capacity` of them in a ring buffer."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.transitions: list[Transition] = []
        self.order: list[int] = []
        self.stored = 0
        self.first_observed: dict[Outcome, int] = {}
        self.count: dict[Outcome, int] = {}
        self.mean_reward: dict[Outcome, float] = {}

    def store(self, transition: Transition) -> bool:
        """Store a transition, in a full ring buffer in place of the oldest; return whether it may change any update."""
        outcome, r = transition.outcome, transition.r
        before = self.mean_reward.get(outcome)
        self.first_observed.setdefault(outcome, self.stored)
        # A running mean with the number of stored rewards, so that in a window recent rewards weigh more.
        self.count[outcome] = self.count.get(outcome, 0) + 1
        mean = self.mean_reward.get(outcome, 0.0)
        self.mean_reward[outcome] = r if self.count[outcome] == 1 else mean + (r - mean) / self.count[outcome]
        if self.capacity is None or len(self.transitions) < self.capacity:
            self.order.append(len(self.transitions))
            self.transitions.append(transition)
        else:
            self.count[self.transitions[self.stored % self.capacity].outcome] -= 1
            self.transitions[self.stored % self.capacity] = transition
        self.stored += 1
        return self.mean_reward[outcome] != before or not self.is_deterministic(transition.pair)

    def is_deterministic(self, pair: Pair) -> bool:
        """Return whether only one outcome of a pair was ever observed."""
        return sum(outcome[:2] == pair for outcome in self.first_observed) == 1

    def all_transitions(self) -> list[Transition]:
        """Return all stored transitions, sorted by when their outcome was first observed."""
        return sorted(self.transitions, key=lambda transition: self.first_observed[transition.outcome])

    def minibatch(self, size: int, random: RandomStream) -> list[Transition]:
        """Draw transitions without replacement, all of them while there are no more than `size`.

        The first entries of `order` are swapped with random later ones (Fisher-Yates shuffle). `order` is not reset:
        the next minibatch continues from it.
        """
        n = len(self.order)
        if n > size:
            for i in range(0, size, 2):
                for place, offset in zip((i, i + 1), random.two_below(n - i, n - i - 1), strict=True):
                    if place < size:
                        j = place + offset
                        self.order[place], self.order[j] = self.order[j], self.order[place]
        return [self.transitions[place] for place in self.order[:size]]


def outcome_counts(transitions: list[Transition]) -> dict[Pair, dict[int | None, int]]:
    """Return how often each next state follows each pair, in the order of the transitions."""
    counts: dict[Pair, dict[int | None, int]] = {}
    for transition in transitions:
        next_states = counts.setdefault(transition.pair, {})
        s_next = transition.outcome[2]
        next_states[s_next] = next_states.get(s_next, 0) + 1
    return counts
