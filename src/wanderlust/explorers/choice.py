"""Random numbers and greedy choices for explorers. Only exactly equal scores are ties; they are broken at random."""

from __future__ import annotations

from wanderlust._numba.jit import as_int64, compiled, formula
from wanderlust.learning.random_streams import EXPLORER, Streams, below, uniform
from wanderlust.learning.spec import Floats


@formula
def bernoulli(streams: Streams, probability: float) -> bool:
    """Return True with the given probability."""
    return uniform(streams, EXPLORER) < probability


@formula
def random_action(streams: Streams, n: int) -> int:
    """Return one of 0 ... n - 1 with equal probability."""
    return below(streams, EXPLORER, n)


@formula
def greedy_action(scores: Floats, streams: Streams) -> int:
    """Return the index of the largest score; ties are broken at random."""
    return greedy_index(scores, as_int64(0), len(scores), streams, as_int64(EXPLORER))


@compiled
def greedy_index(scores: Floats, begin: int, n: int, streams: Streams, which: int) -> int:
    """Do the same for `n` scores from index `begin` on, with random numbers from the stream `which`.

    It is neither inlined nor given a slice of the array: numba would take longer to compile either.
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
