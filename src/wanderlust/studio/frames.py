"""Frames: everything that a page shows of a lane at one step, as compact binary data.

A frame is little-endian: a header of 40 bytes, then float32 or uint32 tables [state, action], then the states of the
trail as int32, then one byte per state with the greedy actions as bits, and one with the actions that the behaviour
policy prefers. `static/frames.js` is the reader.

The history of a run has its frames compressed and thinned, so that a run of any length needs bounded memory.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray
from wanderlust.studio import limits

MAGIC = b"WLF1"
HEADER = struct.Struct("<4sxBHI4xiIfII4x")
HAS_BEHAVIOUR, HAS_W = 1, 2


def encode(
    *, step: int, agent: int, discovered: int, randomness: float, visits: NDArray[np.int64], q: FloatArray,
    behaviour: FloatArray | None, w: FloatArray | None, score: FloatArray, trail: NDArray[np.int32],
) -> bytes:  # fmt: skip
    """Return a lane at one step as bytes. Tables are [state, action].

    `agent` is the agent's state. `randomness` is the probability with which the next action ignores the scores: ε, or 1
    for the explorer `random`. `q` is the Q-table of the target policy and `behaviour` that of the behaviour, if it is
    another one. `score` is the behaviour value: Q of the behaviour plus the exploration term κU. `trail` has the latest
    states, oldest first, without the current one.
    """
    flags = (HAS_BEHAVIOUR if behaviour is not None else 0) | (HAS_W if w is not None else 0)
    n_states, n_actions = visits.shape
    with np.errstate(over="ignore"):  # A value that float32 does not have is shown as infinite.
        floats = [table.astype("<f4") for table in (q, behaviour, w, score) if table is not None]
    parts = (visits.astype("<u4"), *floats, trail.astype("<i4"), best_actions(q), best_actions(score))
    header = HEADER.pack(MAGIC, flags, len(trail), step, agent, discovered, randomness, n_states, n_actions)
    return header + b"".join(part.tobytes() for part in parts)


def best_actions(table: FloatArray) -> NDArray[np.uint8]:
    """Return the actions with the largest value as bits, exactly as the explorer compares them: [state]."""
    return np.packbits(table == table.max(axis=1, keepdims=True), axis=1, bitorder="little")[:, 0]


def step_of(frame: bytes) -> int:
    """Return the step of an encoded frame."""
    return int(HEADER.unpack_from(frame)[3])


class History:
    """The frames of all lanes by step. When it is full, every second step is dropped, and the distance doubles.

    `length` is the number of steps of the run: frames closer than what it has room for at the end are not kept, because
    compressing one takes longer than the steps between two frames of the screen.
    """

    def __init__(
        self, *, length: int = 0, snapshots: int = limits.HISTORY_SNAPSHOTS, size: int = limits.HISTORY_BYTES
    ) -> None:
        self._snapshots, self._max_size = snapshots, size
        self.steps: list[int] = []
        self._frames: list[list[bytes]] = []
        self._distance = max(length // snapshots, 1)
        self.size = 0
        """Bytes of all compressed frames."""

    def add(self, step: int, frames: list[bytes]) -> None:
        """Keep frames that are far enough from the last ones."""
        if self.steps and step < self.steps[-1] + self._distance:
            return
        self.steps.append(step)
        self._frames.append([zlib.compress(frame, 1) for frame in frames])
        self.size += sum(map(len, self._frames[-1]))
        while len(self.steps) > 2 and (len(self.steps) > self._snapshots or self.size > self._max_size):
            self.steps, self._frames = self.steps[::2], self._frames[::2]
            self._distance *= 2
            self.size = sum(len(packed) for frames in self._frames for packed in frames)

    def at(self, step: int) -> list[bytes] | None:
        """Return the frames of this step, or the last ones before it."""
        index = bisect_right(self.steps, step) - 1
        return [zlib.decompress(packed) for packed in self._frames[index]] if index >= 0 else None
