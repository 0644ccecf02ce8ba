"""Figures as file contents. The same figure gives the same bytes, without dates or random identifiers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wanderlust.experiments.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_OMITTED_METADATA = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}
"""Fields in which matplotlib would write its version and the date."""
_PATH, _DECIMALS = re.compile(rb' d="[^"]*"'), re.compile(rb"(\.\d\d)\d+")
"""A path in an SVG file, and coordinates with more than two decimals, which are not visible."""


@styled
def as_files(draw: Callable[[], Figure], formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Draw a figure once; return it in each format."""
    figure = draw()
    # Compute the layout once, not for each format: it takes longer than drawing.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = {}
    for form in formats:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata=dict.fromkeys(_OMITTED_METADATA[form]))
        files[form] = buffer.getvalue()
    if "svg" in files:
        files["svg"] = _PATH.sub(lambda path: _DECIMALS.sub(rb"\1", path[0]), files["svg"])
    return files
