"""Output files of commands: check that they are writable before the work starts, then write them."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile
from wanderlust.core.input_files import shown_path


def check_writable(path: Path) -> None:
    """Create the folder of a file; raise `BadFile` if the file cannot be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.stat()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character.
        raise _cannot_write(path, getattr(error, "strerror", None) or str(error)) from error
    if path.is_dir():
        raise _cannot_write(path, "it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _cannot_write(path, "permission denied")


def check_folder_writable(folder: Path) -> None:
    """Create a folder; raise `BadFile` if files cannot be written in it."""
    check_writable(folder / "file")


def write_json(path: Path, contents: Any) -> None:
    """Write JSON, or raise `BadFile`."""
    write_text(path, json.dumps(contents, indent=1, allow_nan=False) + "\n")


def finite_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace infinity and NaN, which JSON does not have, by None."""
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, or raise `BadFile`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Write a file, or raise `BadFile`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
    except (OSError, ValueError) as error:
        raise _cannot_write(path, getattr(error, "strerror", None) or str(error)) from error


def _cannot_write(path: Path, reason: str) -> BadFile:
    return BadFile(f"{shown_path(path)}: cannot be written ({reason}); choose another path.")
