"""Choosing among scored actions: ties are broken uniformly at random, exactly equal scores only."""

from __future__ import annotations

from wanderlust.compiled import formula
from wanderlust.learning.mind import Floats
from wanderlust.streams import EXPLORER, Streams, below, uniform


@formula
def chance(streams: Streams, probability: float) -> bool:
    """Return True with the given probability."""
    return uniform(streams, EXPLORER) < probability


@formula
def random_choice(streams: Streams, n: int) -> int:
    """Return one of 0 ... n - 1, each as likely."""
    return below(streams, EXPLORER, n)


@formula
def best_choice(scores: Floats, streams: Streams) -> int:
    """Return the index of the largest score, one of them at random where several are exactly as large."""
    return best_choice_from(scores, streams, EXPLORER)


@formula
def best_choice_from(scores: Floats, streams: Streams, which: int) -> int:
    """Do the same with random numbers from a stream of the caller's choice."""
    best, ties, first = scores[0], 1, 0
    for action in range(1, len(scores)):
        if scores[action] > best:
            best, ties, first = scores[action], 1, action
        elif scores[action] == best:
            ties += 1
    if ties == 1:
        return first
    skip = below(streams, which, ties)
    for action in range(first, len(scores)):
        if scores[action] == best:
            if skip == 0:
                return action
            skip -= 1
    return first
