"""Random numbers with Python integers: SplitMix64, and the distributions derived from it."""

import zlib
from collections.abc import Sequence

import numpy as np

_64_BITS = 2**64 - 1


def seed_of(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seed sequence of one named stream."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])


class RandomStream:
    """A 64-bit counter, incremented by a constant and scrambled at every draw."""

    def __init__(self, seed: int, name: str) -> None:
        self.counter = int(seed_of(seed, name).generate_state(1, np.uint64)[0])

    def bits(self) -> int:
        """Increment the counter and return its 64 scrambled bits."""
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & _64_BITS
        z = self.counter
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        return z ^ (z >> 31)

    def two_below(self, n: int, m: int) -> tuple[int, int]:
        """Return an integer from 0 to n - 1 and one from 0 to m - 1, from the two halves of 64 bits.

        A half times n, divided by 2^32, is such an integer. Some integers have one half more than others, so a draw is
        rejected if the remainder is below 2^32 mod n (Lemire 2019).
        """
        while True:
            bits = self.bits()
            (i, remainder_i), (j, remainder_j) = divmod((bits >> 32) * n, 2**32), divmod(bits % 2**32 * m, 2**32)
            if remainder_i >= 2**32 % n and remainder_j >= 2**32 % m:
                return i, j

    def uniform(self) -> float:
        """Return a number in [0, 1): the upper 53 bits of the scrambled counter."""
        return (self.bits() >> 11) / 2**53

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        return int(self.uniform() * n)

    def sample(self, probabilities: Sequence[float]) -> int:
        """Return an index with its probability; rounding errors go to the last possible one."""
        remaining = self.uniform()
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        for k in possible:
            if remaining < probabilities[k]:
                return k
            remaining -= probabilities[k]
        return possible[-1]

    def argmax(self, scores: Sequence[float]) -> int:
        """Return the index of the largest score; only ties draw a random number."""
        best = [a for a, score in enumerate(scores) if score == max(scores)]
        return best[0] if len(best) == 1 else best[self.below(len(best))]
