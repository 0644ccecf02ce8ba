"""Named, independent random streams from one seed.

A stream is one 64-bit counter. Each draw adds a constant and scrambles the sum (SplitMix64: Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014). NumPy's `SeedSequence` derives the initial counters from the
seed and the stream's name. A draw takes about a nanosecond in compiled code, a stream is saved as one integer, and it
gives the same numbers in a fused run, step by step, and in plain Python.
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
_TWO_TO_32 = np.uint64(2**32)
HALF_WORD, LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)


def new_streams(seed: int) -> Streams:
    """Return the counters of all named streams for a seed."""
    return np.array([named_seed(seed, name).generate_state(1, np.uint64)[0] for name in NAMES])


def named_seed(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seed sequence of one named stream."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])


@formula
def scrambled(counter: np.uint64) -> np.uint64:
    """Return the 64 random bits of a stream's counter."""
    bits = (counter ^ (counter >> _SHIFT_30)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _MIX_2
    return bits ^ (bits >> _SHIFT_31)


@formula
def uniform(streams: Streams, which: int) -> float:
    """Draw a number from [0, 1) from one stream."""
    counter = streams[which] + STRIDE
    streams[which] = counter
    return float(scrambled(counter) >> _SHIFT_11) * _TO_UNIT


@formula
def below(streams: Streams, which: int, n: int) -> int:
    """Draw an integer from 0 to n - 1 from one stream."""
    return int(uniform(streams, which) * n)


@formula
def scaled(bits: np.uint64, n: np.uint64) -> np.uint64:
    """Turn 32 random bits into an integer below n: the upper half of their product (Lemire 2019)."""
    return (bits * n) >> HALF_WORD


@formula
def is_unbiased(bits: np.uint64, n: np.uint64) -> bool:
    """Return whether `scaled` may use these bits; otherwise some integers would be drawn too often."""
    return bool(is_surely_unbiased(bits, n) or (bits * n) & LOW_HALF >= _TWO_TO_32 % n)


@formula
def is_surely_unbiased(bits: np.uint64, n: np.uint64) -> bool:
    """Return the same without a division, with some false negatives."""
    return bool((bits * n) & LOW_HALF >= n)
