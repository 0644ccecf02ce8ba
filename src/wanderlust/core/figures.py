"""Figures for notebooks."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_html(figure: Figure, text: str) -> str:
    """Return HTML with a text and the picture of a figure."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    source = base64.b64encode(picture.getvalue()).decode()
    return f'{text_html(text)}<img alt="" style="max-width:100%" src="data:image/png;base64,{source}">'


def text_html(text: str) -> str:
    """Return HTML that shows a text line by line."""
    return f'<pre style="white-space:pre-wrap">{html.escape(text)}</pre>'
