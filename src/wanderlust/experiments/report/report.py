"""The report of a study: terminal output, files, figures and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import RenderableType

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Report(NamedTuple):
    """The report of a study."""

    renderables: list[RenderableType]
    """For the terminal."""
    files: Mapping[str, str]
    """File name -> contents."""
    figures: Mapping[str, Callable[[], Figure]] = MappingProxyType({})
    """File name without suffix -> function that draws the figure."""
    claims: Sequence[Any] = ()
    """Checked statements about the results; see `wanderlust_paper.claims`."""
