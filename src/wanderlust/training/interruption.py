"""Signals during training are handled between two steps, when the agent can be saved."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a process to stop; Windows has no SIGHUP."""


class DeferredSignals:
    """A context in which the process's own handlers of `SIGNALS` run only when `deliver` is called.

    Usually that is Ctrl-C, which raises `KeyboardInterrupt`. A signal without a Python handler, such as SIGTERM unless
    the program handles it, keeps its effect. A second signal is handled at once, since an environment may block. Python
    handles signals in the main thread only, so in other threads nothing changes.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._waiting: int | None = None
        """The signal that was received and not delivered yet."""
        self._has_raised = False
        """Whether a handler has raised an exception; from then on, signals are handled at once."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            try:
                for number in SIGNALS:
                    handler = signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        signal.signal(number, self._receive)
            except BaseException:  # An interrupt in between.
                self._restore()
                raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()
        self.deliver()

    def deliver(self) -> None:
        """Call the handler of a signal that was received; it raises an exception, as a rule."""
        if self._waiting is not None and not self._has_raised:
            self._call_handler(self._waiting, sys._getframe())
            self._waiting = None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._waiting is None:
            self._waiting = number
        else:
            self._call_handler(number, frame)

    def _call_handler(self, number: int, frame: FrameType | None) -> None:
        before, self._has_raised = self._has_raised, True
        self._handlers[number](number, frame)
        self._has_raised = before

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._receive:  # Otherwise, a callback has set another handler.
                signal.signal(number, handler)
