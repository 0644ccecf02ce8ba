"""Files that commands write: whether they can be is found out before the work, not after it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile


def check_writable(path: Path) -> None:
    """Make the folder of a file, and raise `BadFile` unless the file can be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error.strerror or str(error)) from error
    if path.is_dir():
        raise _cannot_write(path, "it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _cannot_write(path, "permission denied")


def check_folder_writable(folder: Path) -> None:
    """Make a folder, and raise `BadFile` unless files can be written in it."""
    check_writable(folder / "file")


def write_json(path: Path, contents: Any) -> None:
    """Write plain values as JSON."""
    write_text(path, json.dumps(contents, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, or say why it cannot be written."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Write a file, or say why it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
    except OSError as error:
        raise _cannot_write(path, error.strerror or str(error)) from error


def _cannot_write(path: Path, why: str) -> BadFile:
    return BadFile(f"{path}: cannot be written ({why}); choose another place.")
