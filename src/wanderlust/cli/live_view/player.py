"""Playing a run in a terminal: its speed, pauses, single steps, earlier frames, and the keys that control it."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.live import Live

from wanderlust.cli.live_view.frames import FrameRenderer
from wanderlust.cli.live_view.watched_run import Snapshot, WatchedRun

KEYS = ("space pause", "→ step", "← back", "+ - speed", "q quit")
"""What the keys do, in words."""
_FRAMES_PER_SECOND = 12
MAX_PAUSE = 60
"""The maximum number of seconds between frames."""
_MAX_SECONDS_PER_FRAME = 0.5
_MAX_HISTORY, _HISTORY_BYTES = 5_000, 64_000_000
"""The maximum number of frames that are kept, and their total size."""
_BYTES_PER_STATE = 16
_MIN_SPEED, _MAX_SPEED = 0.01, 1e6
"""The speeds that keys reach, in steps per second."""
ReadKeys = Callable[[float], list[str]]
"""Waits up to a number of seconds; returns the keys pressed."""

LEFT, RIGHT = "left", "right"
_SEQUENCES = {"\x1b[C": RIGHT, "\x1b[D": LEFT, "\x1bOC": RIGHT, "\x1bOD": LEFT}


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


@contextlib.contextmanager
def key_reader() -> Iterator[ReadKeys | None]:
    """Let keys be read one by one inside the context; yield None if the input is not a terminal."""
    try:
        import termios
        import tty

        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError, AttributeError):  # Windows, or an input that is closed or no terminal.
        yield None
        return
    except Exception as error:
        if type(error).__module__ != "termios":  # termios.error is no OSError.
            raise
        yield None
        return
    try:
        tty.setcbreak(descriptor)
        yield lambda seconds: _read(descriptor, seconds)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read(descriptor: int, seconds: float) -> list[str]:
    ready, _, _ = select.select([descriptor], [], [], max(seconds, 0.0))
    if not ready:
        return []
    data = os.read(descriptor, 64)
    if not data:  # The terminal was closed.
        time.sleep(max(seconds, 0.0))
    return split_keys(data.decode(errors="ignore"))


def split_keys(text: str) -> list[str]:
    """Return the keys in a text that a terminal sent; an arrow key is a sequence of three characters."""
    keys = []
    while text:
        length = 3 if text[:3] in _SEQUENCES else 1
        keys.append(_SEQUENCES.get(text[:length], text[0]))
        text = text[length:]
    return keys


def show_live(run: WatchedRun, renderer: FrameRenderer, console: Console, speed: float) -> None:
    """Play a run in a terminal, at a number of steps per second, until it ends or the user stops it."""
    player = Player(run, speed)
    with (
        contextlib.suppress(KeyboardInterrupt),
        key_reader() as read,
        Live(console=console, auto_refresh=False) as live,
    ):
        before = time.monotonic()
        while True:
            more = [] if read is None else [*(["paused"] if player.paused else []), *KEYS]
            live.update(renderer.frame(console.size, player.snapshot, more), refresh=True)
            if player.is_over:
                break
            pause = max(1 / _FRAMES_PER_SECOND, min(1 / player.speed, MAX_PAUSE))
            if read is None:
                time.sleep(pause)
            else:
                for key in read(pause):
                    player.press(key)
            now = time.monotonic()
            player.play(now - before)
            before = now
    if not run.finished:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)
