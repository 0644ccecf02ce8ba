"""Replay memory: a list of transitions, and nothing clever."""

from typing import NamedTuple

from oracle.chance import Chance

END = None
"""What follows a terminal transition; its value is zero."""

Pair = tuple[int, int]
Outcome = tuple[int, int, int | None]


class Transition(NamedTuple):
    """What happened at one step, and whether the episode ended with it."""

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
        """The state, the action, and the state in which they ended: all ends are one."""
        return self.s, self.a, END if self.terminal else self.s_next


class Memory:
    """All transitions, or the last `capacity` of them in a ring."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.transitions: list[Transition] = []
        self.urn: list[int] = []
        self.stored = 0
        self.first_seen: dict[Outcome, int] = {}
        self.count: dict[Outcome, int] = {}
        self.mean_reward: dict[Outcome, float] = {}

    def store(self, transition: Transition) -> bool:
        """Keep a transition; a full ring gives up its oldest. Return whether it is news."""
        key, r = transition.outcome, transition.r
        before = self.mean_reward.get(key)
        self.first_seen.setdefault(key, self.stored)
        # A running mean over as many rewards as are in the memory: a window's follows the latest.
        self.count[key] = self.count.get(key, 0) + 1
        mean = self.mean_reward.get(key, 0.0)
        self.mean_reward[key] = r if self.count[key] == 1 else mean + (r - mean) / self.count[key]
        if self.capacity is None or len(self.transitions) < self.capacity:
            self.urn.append(len(self.transitions))
            self.transitions.append(transition)
        else:
            self.count[self.transitions[self.stored % self.capacity].outcome] -= 1
            self.transitions[self.stored % self.capacity] = transition
        self.stored += 1
        return self.mean_reward[key] != before or not self.is_certain(transition.pair)

    def is_certain(self, pair: Pair) -> bool:
        """Tell whether a pair was only ever seen to lead to one state."""
        return sum(outcome[:2] == pair for outcome in self.first_seen) == 1

    def everything(self) -> list[Transition]:
        """Return all that is remembered, the outcomes that were first seen first in front."""
        return sorted(self.transitions, key=lambda transition: self.first_seen[transition.outcome])

    def minibatch(self, size: int, chance: Chance) -> list[Transition]:
        """Draw transitions without replacement, all of them while there are no more than `size`.

        The first places of the urn are filled by swaps with places behind them (Fisher and Yates), and the
        urn is left as it is then, for the next draw.
        """
        n = len(self.urn)
        if n > size:
            for i in range(0, size, 2):
                for place, further in zip((i, i + 1), chance.two_below(n - i, n - i - 1), strict=True):
                    if place < size:
                        j = place + further
                        self.urn[place], self.urn[j] = self.urn[j], self.urn[place]
        return [self.transitions[place] for place in self.urn[:size]]


def tally(transitions: list[Transition]) -> dict[Pair, dict[int | None, int]]:
    """Count, for every pair among the transitions, how often each outcome came of it, in the order met."""
    counts: dict[Pair, dict[int | None, int]] = {}
    for transition in transitions:
        of_pair = counts.setdefault(transition.pair, {})
        end = transition.outcome[2]
        of_pair[end] = of_pair.get(end, 0) + 1
    return counts
