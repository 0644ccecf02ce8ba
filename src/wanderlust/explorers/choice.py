"""Choosing among scored actions: ties are broken uniformly at random, exactly equal scores only."""

from __future__ import annotations

from wanderlust._numba.jit import as_int64, compiled, formula
from wanderlust.learning.random_streams import EXPLORER, Streams, below, uniform
from wanderlust.learning.state import Floats


@formula
def bernoulli(streams: Streams, probability: float) -> bool:
    """Return True with the given probability."""
    return uniform(streams, EXPLORER) < probability


@formula
def random_action(streams: Streams, n: int) -> int:
    """Return one of 0 ... n - 1, each as likely."""
    return below(streams, EXPLORER, n)


@formula
def greedy_action_of(scores: Floats, streams: Streams) -> int:
    """Return the index of the largest score, one of them at random where several are exactly as large."""
    return greedy_index(scores, as_int64(0), len(scores), streams, as_int64(EXPLORER))


@compiled
def greedy_index(scores: Floats, begin: int, n: int, streams: Streams, which: int) -> int:
    """Do the same for `n` scores from a place on, with random numbers from a stream of the caller's choice.

    Not a part of its callers, and not given a part of the array: either takes numba longer to compile.
    """
    best, ties, first = scores[begin], 1, 0
    for action in range(1, n):
        score = scores[begin + action]
        if score > best:
            best, ties, first = score, 1, action
        elif score == best:
            ties += 1
    if ties == 1:
        return first
    skip = below(streams, which, ties)
    for action in range(first, n):
        if scores[begin + action] == best:
            if skip == 0:
                return action
            skip -= 1
    return first
