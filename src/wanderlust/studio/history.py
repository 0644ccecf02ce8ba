"""The history of a lane: compressed frames, thinned so that a run of any length needs bounded memory."""

from __future__ import annotations

import zlib
from bisect import bisect_right

from wanderlust.studio import limits


class History:
    """Frames by step. When it is full, every second frame is dropped and the distance between frames doubles."""

    def __init__(self, *, snapshots: int = limits.HISTORY_SNAPSHOTS, size: int = limits.HISTORY_BYTES) -> None:
        self._snapshots, self._max_size = snapshots, size
        self.steps: list[int] = []
        self._frames: list[bytes] = []
        self._distance = 1
        self.size = 0
        """Bytes of all compressed frames."""

    def wants(self, step: int) -> bool:
        """Return whether a frame of this step would be kept."""
        return not self.steps or step >= self.steps[-1] + self._distance

    def add(self, step: int, frame: bytes) -> None:
        """Keep a frame that is far enough from the last one."""
        if not self.wants(step):
            return
        packed = zlib.compress(frame, 1)
        self.steps.append(step)
        self._frames.append(packed)
        self.size += len(packed)
        while len(self.steps) > 2 and (len(self.steps) > self._snapshots or self.size > self._max_size):
            self._thin()

    def _thin(self) -> None:
        self.steps, self._frames = self.steps[::2], self._frames[::2]
        self._distance *= 2
        self.size = sum(map(len, self._frames))

    def at(self, step: int) -> bytes | None:
        """Return the frame of this step, or the last one before it."""
        index = bisect_right(self.steps, step) - 1
        return zlib.decompress(self._frames[index]) if index >= 0 else None
