"""Checks that a file can be written, before the work that produces its contents."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from wanderlust.core.errors import BadFile
from wanderlust.core.input_files import shown_path


def check_writable(path: Path) -> None:
    """Create the folder of a file; raise `BadFile` if the file cannot be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.stat()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character.
        raise cannot_write(path, error) from error
    if path.is_dir():
        raise cannot_write(path, "it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise cannot_write(path, "permission denied")


def cannot_write(path: Path, reason: Exception | str) -> BadFile:
    """Return the error for a file that cannot be written."""
    reason = getattr(reason, "strerror", None) or str(reason)
    return BadFile(f"{shown_path(path)}: cannot be written ({reason}); choose another path.")
