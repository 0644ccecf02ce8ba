"""Safe reading and writing of files: checks before the work starts, atomic writes, and one error for each direction.

A file that cannot be read raises `BadFile`, one that cannot be written `CannotWrite`. A file is written under a
temporary name in the same folder, flushed to disk and then renamed. A reader therefore sees a complete file or none,
even after a power failure.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import stat
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from wanderlust.core.errors import BadFile, CannotWrite, InvalidSetting, shown

__all__ = ["atomic_write", "cannot_write", "check_writable", "locked", "shown_path", "write_file"]

T = TypeVar("T")

PARTIAL = ".partial"
"""The suffix of files that are still being written."""
_FILE_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
}


def check_path(name: str, value: Any, *, folder: bool = False) -> Path:
    """Return the path of a file, given as text or as a path object, or raise `InvalidSetting`.

    With `folder`, also a path without a file name, such as "." or "/".
    """
    try:
        path = os.fspath(value)
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        path = b""
    if not isinstance(path, str) or not path or "\0" in path or not (folder or Path(path).name):
        kind = "folder" if folder else "file"
        raise InvalidSetting(f"{name} must be the path of a {kind}, got {shown(path or value)}.")
    return Path(path)


def shown_path(path: Path) -> str:
    """Return a path for an error message: shortened in the middle, and without characters that cannot be printed."""
    text = str(path)
    text = text if len(text) <= 120 else f"{text[:60]}...{text[-40:]}"
    return text if text.isprintable() else ascii(text)


def _reason(error: Exception | str) -> str:
    return getattr(error, "strerror", None) or str(error)


def _reject_special(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _FILE_KINDS.get(stat.S_IFMT(mode), "special file")
        raise OSError(errno.EINVAL, f"it is a {kind}, not a regular file", str(path))


# --- Reading -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file; others would block (named pipes) or never end (devices)."""
    _reject_special(path, path.stat().st_mode)
    # Without blocking: another process may have replaced the file since.
    with open(path, "rb", opener=open_without_waiting) as file:
        _reject_special(path, os.fstat(file.fileno()).st_mode)
        yield file


def open_without_waiting(name: str, flags: int) -> int:
    """Open a file, as the `opener` of `open`; a named pipe that no process reads is an `OSError` for a writer.

    Otherwise a writer would wait for a reader, perhaps for ever.
    """
    descriptor = os.open(name, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if flags & (os.O_WRONLY | os.O_RDWR) and hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)  # Once there is a reader, it may be slower than the writer.
    return descriptor


def check_regular_file(path: Path, *, max_bytes: int | None = None) -> None:
    """Raise `BadFile` unless there is a regular file, at most this large, at `path`."""
    try:
        status = path.stat()
        _reject_special(path, status.st_mode)
    except FileNotFoundError:
        raise BadFile(f"{shown_path(path)}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise BadFile(f"{shown_path(path)}: cannot be read ({_reason(error)}).") from None
    if max_bytes is not None and status.st_size > max_bytes:
        raise BadFile(f"{shown_path(path)}: too large, {status.st_size:,} bytes; the maximum is {max_bytes:,}.")


def read_text_file(path: Path, *, max_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, without byte order mark, or raise `BadFile`."""
    check_regular_file(path, max_bytes=max_bytes)
    try:
        with open_regular(path) as file:
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


# --- Writing -------------------------------------------------------------------------------------------


def cannot_write(path: Path, reason: Exception | str) -> CannotWrite:
    """Return the error for a file that cannot be written."""
    return CannotWrite(f"{shown_path(path)}: cannot be written ({_reason(reason)}); choose another path.")


def check_writable(path: Path) -> None:
    """Create the folder of a file; raise `CannotWrite` if the file cannot be written there."""
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


def write_file(path: Path, contents: bytes | str) -> None:
    """Write a file, text as UTF-8, and create its folder; or raise `CannotWrite`.

    A device or a pipe that a process reads cannot be replaced, so it is written to.
    """
    data = contents.encode() if isinstance(contents, str) else contents
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            with open(path, "wb", opener=open_without_waiting) as file:
                file.write(data)
            return
        with atomic_write(path) as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def write_json(path: Path, contents: Any) -> None:
    """Write JSON, or raise `CannotWrite`."""
    write_file(path, json.dumps(contents, indent=1, allow_nan=False) + "\n")


def finite(value: T) -> T | None:
    """Return None for infinity and NaN, which JSON does not have; any other value unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finite_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Do the same for all values of a mapping."""
    return {name: finite(value) for name, value in values.items()}


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends; after an error `path` is unchanged.

    A symbolic link is kept, and the file that it points to is replaced. Permissions are kept. What is not a regular
    file, such as a device, raises an `OSError`.
    """
    path = _link_target(path)
    mode = _permissions(path)
    partial = partial_path(path)
    try:
        with partial.open("xb") as file:
            if mode is not None:
                partial.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(path.parent)


def partial_path(path: Path) -> Path:
    """Return a unique temporary path in the folder of `path`."""
    return path.with_name(f".{path.stem}.{os.getpid()}.{uuid.uuid4().hex[:8]}{PARTIAL}")


def _link_target(path: Path) -> Path:
    """Return where a symbolic link leads, also if there is no file yet; other paths are returned unchanged."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link that leads back to itself", str(path))
    return target


def _permissions(path: Path) -> int | None:
    """Return the permissions of a regular file, or None if there is no file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    _reject_special(path, mode)
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Flush a rename to disk, on systems that support it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --- Locks between processes, which the system releases when the process that holds one ends ---------------


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a file, which is created if needed; wait while another process holds it.

    Without `wait` the value is False if another process holds it. Then it is True where the file system has no locks,
    or on Windows: use it only to avoid work that is harmless to do twice.
    """
    with path.open("a+b") as file:
        held = True
        # Closing the file releases the lock.
        if sys.platform == "win32":
            import msvcrt

            if wait:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield held
            finally:
                if wait:
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held = False
            except OSError:
                if wait:
                    raise
            yield held
