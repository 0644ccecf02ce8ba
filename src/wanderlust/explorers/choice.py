"""Random numbers and greedy choices for explorers. Only exactly equal scores are ties; they are broken at random."""

from __future__ import annotations

import math

from wanderlust._numba.jit import as_int64, compiled, public_formula
from wanderlust.learning.state import EXPLORER, Streams, below, uniform
from wanderlust.learning.td import Floats


@public_formula
def bernoulli(streams: Streams, probability: float) -> bool:
    """Return True with the given probability."""
    return uniform(streams, EXPLORER) < probability


@public_formula
def random_action(streams: Streams, n: int) -> int:
    """Return one of 0 ... n - 1 with equal probability."""
    return below(streams, EXPLORER, n)


@public_formula
def greedy_action(scores: Floats, streams: Streams) -> int:
    """Return the index of the largest score; ties are broken at random."""
    return greedy_index(scores, as_int64(0), len(scores), streams, as_int64(EXPLORER))


@compiled
def standard_normal(streams: Streams) -> float:
    """Draw from the normal distribution with mean 0 and variance 1 (polar method, Marsaglia and Bray 1964)."""
    while True:
        u, v = 2.0 * uniform(streams, EXPLORER) - 1.0, 2.0 * uniform(streams, EXPLORER) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            return u * math.sqrt(-2.0 * math.log(square) / square)


@compiled
def standard_gamma(shape: float, streams: Streams) -> float:
    """Draw from the gamma distribution with scale 1 and a shape of at least 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = standard_normal(streams)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if math.log(1.0 - uniform(streams, EXPLORER)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


@compiled
def draw_weighted(weights: Floats, streams: Streams) -> int:
    """Return an index with a probability proportional to its weight; at least one weight is positive."""
    total = 0.0
    for weight in weights:
        total += weight
    left = uniform(streams, EXPLORER) * total
    last = 0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            if left < weights[i]:
                return i
            left -= weights[i]
    return last


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
