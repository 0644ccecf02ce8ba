"""A figure as the bytes of files. The same figure gives the same bytes: no dates, no random names in them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from wanderlust.experiments.reports.figures.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_LEFT_OUT = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}
"""What matplotlib would write into a file about itself and the day."""
_PATH, _DECIMALS = re.compile(rb' d="[^"]*"'), re.compile(rb"(\.\d\d)\d+")
"""A path in an SVG file, and the decimals of a point that nobody sees."""


@styled
def as_files(draw: Callable[[], Figure]) -> dict[str, bytes]:
    """Draw a figure once; return it in each format."""
    figure = draw()
    # Where everything goes is found out once, not for each format: that takes longer than the drawing itself.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = {}
    for form in FORMATS:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata=dict.fromkeys(_LEFT_OUT[form]))
        files[form] = buffer.getvalue()
    files["svg"] = _PATH.sub(lambda path: _DECIMALS.sub(rb"\1", path[0]), files["svg"])
    return files
