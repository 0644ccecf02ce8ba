"""Signals that end a command: what SIGTERM and SIGHUP do, and exit codes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A command that was ended by a signal; the message says what was saved."""

    def __init__(self, number: int, message: str = "interrupted.") -> None:
        super().__init__(message)
        self.number = number


def signal_number(interrupt: KeyboardInterrupt) -> int:
    """Return the signal that caused an interrupt."""
    return interrupt.number if isinstance(interrupt, Interrupted) else int(signal.SIGINT)


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code that shells use for a signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + signal_number(interrupt)


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Interrupted`, unless the process ignores or handles them."""
    from wanderlust.training.interruption import SIGNALS

    is_main_thread = threading.current_thread() is threading.main_thread()
    replaced = [n for n in SIGNALS if is_main_thread and signal.getsignal(n) == signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
