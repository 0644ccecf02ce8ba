"""Randomness: named, independent streams from one seed.

A stream is one 64-bit counter. Each draw adds a constant and scrambles the sum (SplitMix64: Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014). Counters start at unrelated points that NumPy's
`SeedSequence` derives from the seed and the stream's name. So a stream costs about a nanosecond a draw inside compiled
code, is saved as one integer, and gives the same numbers in a fused run, step by step, and in plain Python.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import formula

Streams = NDArray[np.uint64]

# The order is part of what a seed means.
WORLD, EXPLORER, REPLAY, EVALUATION = 0, 1, 2, 3
NAMES = ("world", "explorer", "replay", "evaluation")

STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31, _SHIFT_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = math.ldexp(1.0, -53)
HALF, LOW_HALF, _TWO_TO_32 = np.uint64(32), np.uint64(2**32 - 1), np.uint64(2**32)


def new_streams(seed: int) -> Streams:
    """Return the counters of all named streams for a seed."""
    return np.array([named_seed(seed, name).generate_state(1, np.uint64)[0] for name in NAMES])


def named_seed(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seed sequence of one named stream."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])


@formula
def scrambled(counter: np.uint64) -> np.uint64:
    """Return the 64 random bits that belong to a stream's counter."""
    bits = (counter ^ (counter >> _SHIFT_30)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _MIX_2
    return bits ^ (bits >> _SHIFT_31)


@formula
def uniform(streams: Streams, which: int) -> float:
    """Draw a number in [0, 1) from one stream."""
    counter = streams[which] + STRIDE
    streams[which] = counter
    return float(scrambled(counter) >> _SHIFT_11) * _TO_UNIT


@formula
def below(streams: Streams, which: int, n: int) -> int:
    """Draw a whole number from 0 to n - 1 from one stream."""
    return int(uniform(streams, which) * n)


@formula
def scaled(half: np.uint64, n: np.uint64) -> np.uint64:
    """Turn 32 random bits into a whole number below n: the upper half of their product (Lemire 2019)."""
    return (half * n) >> HALF


@formula
def is_fair(half: np.uint64, n: np.uint64) -> bool:
    """Tell whether `scaled` may use these bits: numbers that would come up once too often are to be drawn again."""
    return bool(is_surely_fair(half, n) or (half * n) & LOW_HALF >= _TWO_TO_32 % n)


@formula
def is_surely_fair(half: np.uint64, n: np.uint64) -> bool:
    """Tell the same without a division, and sometimes wrongly say no."""
    return bool((half * n) & LOW_HALF >= n)
