"""Minibatches without replacement: the places that are drawn at once are those drawn one after the other."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from oracle.memory import Memory
from oracle.random_stream import RandomStream
from wanderlust._numba.jit import entry
from wanderlust.learning.replay import draw_places, draw_places_vectorized, shuffle_front
from wanderlust.learning.state import REPLAY, new_streams

SEEDS = st.integers(0, 2**32 - 1)


@entry
def _shuffle(urn, n_samples, streams, places):
    shuffle_front(urn, len(urn), n_samples, streams, places)


@entry
def _draw_at_once(n, n_samples, streams, places):
    return draw_places_vectorized(n, n_samples, streams, places)


@entry
def _draw(n, n_samples, streams, places):
    draw_places(n, n_samples, streams, places)


@given(size=st.integers(1, 64), more=st.integers(1, 5_000), seed=SEEDS, draws=st.integers(1, 3))
def test_shuffles_are_those_of_a_literal_urn(size, more, seed, draws):
    stream, memory = RandomStream(seed, "replay"), Memory(None)
    memory.transitions, memory.order = list(range(size + more)), list(range(size + more))
    urn, streams, places = np.arange(size + more, dtype=np.uint32), new_streams(seed), np.zeros(size, np.int32)
    for _ in range(draws):
        _shuffle(urn, size, streams, places)
        assert urn[:size].tolist() == memory.minibatch(size, stream)
    assert urn.tolist() == memory.order
    assert streams[REPLAY] == stream.counter


@given(half=st.integers(1, 512), n=st.integers(2_000, 2**31 - 1), seed=SEEDS)
@example(half=512, n=2**31 - 1, seed=1)
@example(half=1, n=2**31 - 1, seed=1)
def test_places_drawn_at_once_are_right_or_not_drawn(half, n, seed):
    n_samples = 2 * half
    slow, fast, at_once = np.zeros(n_samples, np.int32), np.zeros(n_samples, np.int32), new_streams(seed)
    one_by_one = new_streams(seed)
    _draw(n, n_samples, one_by_one, slow)
    if _draw_at_once(n, n_samples, at_once, fast):
        assert np.array_equal(fast, slow)
        assert np.array_equal(at_once, one_by_one)
    else:
        assert np.array_equal(at_once, new_streams(seed))


def test_both_ways_of_drawing_are_met():
    places = np.zeros(1024, np.int32)
    times = [_draw_at_once(500_000, 1024, new_streams(seed), places) for seed in range(200)]
    assert 0.5 < np.mean(times) < 1.0
    assert not _draw_at_once(500_000, 1023, new_streams(1), places)
