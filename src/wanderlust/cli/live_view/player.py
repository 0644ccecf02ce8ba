"""Playing a run: its speed, pauses, single steps, and frames that were already shown."""

from __future__ import annotations

import time
from collections import deque

from wanderlust.cli.live_view.keys import LEFT, RIGHT
from wanderlust.cli.live_view.run import Snapshot, WatchedRun

KEYS = ("space pause", "→ step", "← back", "+ - speed", "q quit")
"""What the keys do, in words."""
_MAX_SECONDS_PER_FRAME = 0.5
_MAX_HISTORY, _HISTORY_BYTES = 5_000, 64_000_000
"""The maximum number of frames that are kept, and their total size."""
_BYTES_PER_STATE = 16
_MIN_SPEED, _MAX_SPEED = 0.01, 1e6
"""The speeds that keys reach, in steps per second."""


class Player:
    """Plays a run at a number of steps per second, and keeps its latest frames."""

    def __init__(self, run: WatchedRun, speed: float) -> None:
        self.run = run
        self.speed = speed
        self.paused = False
        self.stopped = False
        """Whether the user has stopped the run."""
        length = min(_HISTORY_BYTES // (_BYTES_PER_STATE * run.world.n_states), _MAX_HISTORY)
        self._history = deque([run.snapshot()], maxlen=max(length, 2))
        self._shown = -1
        """The index of the frame shown, counted from the end."""
        self._due = 0.0
        """The number of steps that should have been run by now, and were not."""

    @property
    def snapshot(self) -> Snapshot:
        """The frame to show."""
        return self._history[self._shown]

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to play."""
        return self.stopped or (self.run.finished and self._shown == -1 and not self.paused)

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        if key == "q":
            self.stopped = True
        elif key == " ":
            self.paused = not self.paused
        elif key in (RIGHT, "n"):
            self.paused = True
            self._forward(1)
        elif key in (LEFT, "b"):
            self.paused = True
            self._shown = max(self._shown - 1, -len(self._history))
        elif key in ("+", "-"):
            self.speed = min(max(self.speed * (2.0 if key == "+" else 0.5), _MIN_SPEED), _MAX_SPEED)

    def play(self, seconds: float) -> None:
        """Go on for a time that has passed: the frames already run one by one, then the run."""
        if self.paused:
            return
        self._due = min(self._due + self.speed * seconds, float(self.run.length))
        n_steps = int(self._due)
        self._due -= n_steps
        if self._shown < -1 or n_steps:
            self._forward(n_steps)

    def _forward(self, n_steps: int) -> None:
        if self._shown < -1:
            self._shown += 1
            return
        deadline = time.monotonic() + _MAX_SECONDS_PER_FRAME
        while n_steps > 0 and not self.run.finished and time.monotonic() < deadline:
            self.run.advance()
            n_steps -= 1
        self._history.append(self.run.snapshot())
