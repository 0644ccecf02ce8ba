"""Random numbers in whole Python numbers: SplitMix64, and what is made of it."""

import zlib
from collections.abc import Sequence

import numpy as np

_64_BITS = 2**64 - 1


def seed_of(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seed sequence of one named source of randomness."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])


class Chance:
    """One stream: a counter that strides through the 64-bit numbers, scrambled at every draw."""

    def __init__(self, seed: int, name: str) -> None:
        self.counter = int(seed_of(seed, name).generate_state(1, np.uint64)[0])

    def bits(self) -> int:
        """Return 64 random bits: the counter, one stride on, scrambled."""
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & _64_BITS
        z = self.counter
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        return z ^ (z >> 31)

    def two_below(self, n: int, m: int) -> tuple[int, int]:
        """Return one of 0 ... n - 1 and one of 0 ... m - 1, from the two halves of 64 bits.

        A half times n, divided by 2^32, is one of them. Some come up once more than others among the 2^32 halves, so
        the halves whose remainder is below 2^32 mod n are drawn again (Lemire).
        """
        while True:
            bits = self.bits()
            (i, rest_i), (j, rest_j) = divmod((bits >> 32) * n, 2**32), divmod(bits % 2**32 * m, 2**32)
            if rest_i >= 2**32 % n and rest_j >= 2**32 % m:
                return i, j

    def uniform(self) -> float:
        """Return a number in [0, 1): the upper 53 bits of the scrambled counter."""
        return (self.bits() >> 11) / 2**53

    def below(self, n: int) -> int:
        """Return one of 0 ... n - 1."""
        return int(self.uniform() * n)

    def pick(self, probabilities: Sequence[float]) -> int:
        """Return an index with its probability; the last possible one takes what rounding leaves."""
        left = self.uniform()
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        for k in possible:
            if left < probabilities[k]:
                return k
            left -= probabilities[k]
        return possible[-1]

    def argmax(self, scores: Sequence[float]) -> int:
        """Return the index of the largest score; a number is drawn only if several are exactly as large."""
        winners = [a for a, score in enumerate(scores) if score == max(scores)]
        return winners[0] if len(winners) == 1 else winners[self.below(len(winners))]
