"""Output files of commands: check that they are writable before the work starts, then write them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wanderlust.core.output_files import cannot_write, check_writable


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
        raise cannot_write(path, error) from error
