"""Checks of the paths that users give, before any training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile, InvalidSetting


def checked_path(name: str, value: Any) -> Path:
    """Return `value` as a path, or raise `InvalidSetting`."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        raise InvalidSetting(f"{name} must be the path of a file, got {value!r}.")
    return Path(value)


def check_writable(path: Path) -> None:
    """Create the folder of a file; raise `BadFile` if the file cannot be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:  # A path with a null character is a ValueError.
        raise cannot_write(path, error) from error
    if is_folder:
        raise BadFile(f"{path}: cannot be written (it is a folder); choose another path.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadFile(f"{path}: cannot be written (permission denied); choose another path.")


def cannot_write(path: Path, error: Exception) -> BadFile:
    """Return the error for a file that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) else None
    return BadFile(f"{path}: cannot be written ({reason or error}); choose another path.")
