"""A lock between processes, which the system releases when the process that holds it ends."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["locked", "locked_unless_held"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is created if needed; wait while another process holds it."""
    with path.open("a+b") as file:
        # Closing the file releases the lock.
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextlib.contextmanager
def locked_unless_held(path: Path) -> Iterator[bool]:
    """Hold the lock of a file without waiting; the value is False if another process holds it.

    Where the file system has no locks, the value is True: use it only to avoid work that is harmless to do twice.
    """
    if sys.platform == "win32":
        yield True
        return
    import fcntl

    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free = False
        except OSError:
            free = True
        else:
            free = True
        yield free
