"""Checks of the paths that users give, before any training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile, InvalidSetting


def checked_path(name: str, value: Any) -> Path:
    """Return `value` as a path, or raise `InvalidSetting`."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidSetting(f"{name} must be the path of a file, got {value!r}.")
    return Path(value)


def check_writable(path: Path) -> None:
    """Create the folder of a file; raise `BadFile` if the file cannot be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_folder = path.is_dir()
    except OSError as error:
        raise cannot_write(path, error) from error
    if is_folder:
        raise BadFile(f"{path}: cannot be written (it is a folder); choose another path.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadFile(f"{path}: cannot be written (permission denied); choose another path.")


def cannot_write(path: Path, error: OSError) -> BadFile:
    """Return the error for a file that cannot be written."""
    return BadFile(f"{path}: cannot be written ({error.strerror or error}); choose another path.")
