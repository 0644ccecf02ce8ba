"""Errors of compilation in the words of the explorer's author: what is wrong, and in which line."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from wanderlust.explorers.view import View

VIEW_NAMES = ("q", "w", "n", "total", "head", "n_actions", "n_heads", "step", "notes")
"""What an explorer may use of a view."""
_NOISE = re.compile("Failed in|During:|- Resolution|There are|- Of which|Overload|With arg|Rejected|raised from")
_SOURCE_LINE = re.compile(r'^File "(.*)", (line \d+):\n(?:.*\n)*?(.*)\n *\^$', re.MULTILINE)
_ATTRIBUTE = re.compile(r"Unknown attribute '(\w+)' of type (\w+)")


def is_compilation_error(error: BaseException) -> bool:
    """Return whether an error was raised by numba."""
    return type(error).__module__.startswith("numba.")


def compilation_reason(error: BaseException, cls: type) -> str:
    """Return the reason and the source line from numba's message, which repeats them for every caller."""
    message = str(error)
    source = _SOURCE_LINE.search(message)
    lines = [line.strip() for line in message[: source.start() if source else None].splitlines()]
    reason = " ".join(line for line in lines if line not in ("", "None") and not _NOISE.match(line))
    if attribute := _ATTRIBUTE.search(reason):
        reason = unknown_attribute(attribute[2], attribute[1], cls) or reason
    # A line of the package only calls the method.
    if source is None or Path(source[1]).parts[-3:-1] == ("wanderlust", "explorers"):
        return reason
    return f"{reason} ({source[1]}, {source[2]}: `{source[3].strip()}`)"


def python_reason(error: Exception, cls: type) -> str:
    """Return the reason of an error that a method of an explorer raised in plain Python."""
    if isinstance(error, AttributeError) and error.name is not None and isinstance(error.obj, tuple):
        return unknown_attribute(type(error.obj).__name__, error.name, cls) or str(error)
    return str(error) or type(error).__name__


def unknown_attribute(owner: str, name: str, cls: type) -> str | None:
    """Return a sentence on an attribute that a view or the explorer does not have; None if it is of another object."""
    fields: Any = getattr(cls, "_fields", ())
    if owner == View.__name__:
        subject, known = "the view", VIEW_NAMES
    elif owner == cls.__name__:
        subject, known = cls.__name__, tuple(fields)
    else:
        return None
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{subject} has no attribute {name!r}.{hint} It has {', '.join(known)}."
