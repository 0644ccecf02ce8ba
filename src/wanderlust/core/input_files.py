"""Checks of paths and of files before they are read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from wanderlust.core.errors import BadFile, InvalidSetting, shown


def check_path(name: str, value: Any) -> Path:
    """Return a path given as text or as a path object, or raise `InvalidSetting`."""
    try:
        path = os.fspath(value)
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        path = b""
    if not isinstance(path, str) or "\0" in path or not Path(path).name:
        raise InvalidSetting(f"{name} must be the path of a file, got {shown(path or value)}.")
    return Path(path)


def check_regular_file(path: Path, *, max_bytes: int | None = None) -> None:
    """Raise `BadFile` unless there is a regular file, at most this large, at `path`; reading a pipe would wait."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise BadFile(f"{shown_path(path)}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise BadFile(f"{shown_path(path)}: cannot be read ({_reason(error)}).") from None
    if stat.S_ISDIR(status.st_mode):
        raise BadFile(f"{shown_path(path)}: cannot be read (it is a folder, not a file).")
    if not stat.S_ISREG(status.st_mode):
        raise BadFile(f"{shown_path(path)}: cannot be read (it is a pipe or a device, not a file).")
    if max_bytes is not None and status.st_size > max_bytes:
        raise BadFile(f"{shown_path(path)}: too large, {status.st_size:,} bytes; the maximum is {max_bytes:,}.")


def read_text_file(path: Path, *, max_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, without byte order mark, or raise `BadFile`."""
    check_regular_file(path, max_bytes=max_bytes)
    try:
        with path.open("rb") as file:
            contents = file.read(max_bytes)
    except OSError as error:
        raise BadFile(f"{shown_path(path)}: cannot be read ({_reason(error)}).") from None
    try:
        text = contents.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = contents[: error.start].count(b"\n") + 1
        raise BadFile(
            f"{shown_path(path)}: not text in UTF-8; line {line} has the byte 0x{contents[error.start]:02x}."
        ) from None
    return text.replace("\r\n", "\n")


def shown_path(path: Path) -> str:
    """Return a path for an error message: shortened in the middle, and without characters that cannot be printed."""
    text = str(path)
    text = text if len(text) <= 120 else f"{text[:60]}...{text[-40:]}"
    return text if text.isprintable() else ascii(text)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
