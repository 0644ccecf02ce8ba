"""The check of the paths that users give, before any training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from wanderlust.core.errors import InvalidSetting


def checked_path(name: str, value: Any) -> Path:
    """Return `value` as a path, or raise `InvalidSetting`."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidSetting(f"{name} must be the path of a file, got {value!r}.")
    return Path(value)
