"""What a report is: something to look at now, and files to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rich.console import RenderableType

from wanderlust.experiments.reports.claims import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Report(NamedTuple):
    """What is made of the runs of a study."""

    shown: list[RenderableType]
    """For the terminal."""
    files: Mapping[str, str]
    """Name to contents."""
    figures: Mapping[str, Callable[[], Figure]] = MappingProxyType({})
    """Name, without the end that tells the format, to what draws it."""
    claims: Sequence[Claim] = ()
    """What the paper says of it in words."""
