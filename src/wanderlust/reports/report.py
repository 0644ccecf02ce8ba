"""What a report is: something to look at now, and files to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.console import RenderableType


class Report(NamedTuple):
    """What is made of the runs of a study."""

    shown: list[RenderableType]
    """For the terminal."""
    files: Mapping[str, str]
    """Name to contents."""
