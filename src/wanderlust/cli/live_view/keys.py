"""Keys pressed in the terminal, without waiting for the end of a line."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator

ReadKeys = Callable[[float], list[str]]
"""Waits up to a number of seconds; returns the keys pressed."""

LEFT, RIGHT = "left", "right"
_SEQUENCES = {"\x1b[C": RIGHT, "\x1b[D": LEFT, "\x1bOC": RIGHT, "\x1bOD": LEFT}


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
