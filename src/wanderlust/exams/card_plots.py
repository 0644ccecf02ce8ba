"""Learning curves of a report card as SVG, without any script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.exact_returns import FIRST_LOOK, look_fractions
from wanderlust.experiments.report.text_tables import printable

_WIDTH, _HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 12, 12, 38
_SMALL_WIDTH, _SMALL_HEIGHT = 150, 80
_TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


def legend(labels: Sequence[str]) -> str:
    """Return the names of the explorers with their colors."""
    items = "".join(f'<li><i class="s{i}"></i>{escape(printable(label))}</li>' for i, label in enumerate(labels))
    return f"<ul class=legend>{items}</ul>"


def curve_plot(curves: Sequence[tuple[str, FloatArray]]) -> str:
    """Return the plot of some curves over the share of the budget, on a logarithmic scale."""
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Learning curves">']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + height * (1 - share)
        parts.append(f'<line class=grid x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>')
    for tick in _TICKS:
        x = _LEFT + width * _position(tick)
        name = "1" if tick == 1 else f"1/{round(1 / tick)}"
        anchor = "end" if tick == 1 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{name}</text>')
    # The explorer's own curve comes last, on top of the others.
    for i, (_, curve) in reversed(list(enumerate(curves))):
        parts.append(_line(i, curve, (_LEFT, _TOP, width, height)))
    return "".join([*parts, "</svg>"])


def small_plot(family: str, curves: Sequence[FloatArray | None]) -> str:
    """Return a small plot without axes."""
    box = (2, 4, _SMALL_WIDTH - 4, _SMALL_HEIGHT - 8)
    parts = [f'<svg viewBox="0 0 {_SMALL_WIDTH} {_SMALL_HEIGHT}" role="img" aria-label="Learning curves, {family}">']
    edges = (box[1], box[1] + box[3])
    parts += [f'<line class=grid x1="0" x2="{_SMALL_WIDTH}" y1="{y}" y2="{y}"/>' for y in edges]
    for i, curve in reversed(list(enumerate(curves))):
        if curve is not None:
            parts.append(_line(i, curve, box))
    return "".join([*parts, "</svg>"])


def _position(share: float) -> float:
    """Return the position of a share of the budget on the axis, from 0 to 1."""
    return float(1 - np.log(share) / np.log(FIRST_LOOK))


def _line(number: int, curve: FloatArray, box: tuple[int, int, int, int]) -> str:
    left, top, width, height = box
    points = " ".join(
        f"{left + width * _position(float(share)):.1f},{top + height * (1 - float(value)):.1f}"
        for share, value in zip(look_fractions(), np.nan_to_num(curve), strict=True)
    )
    return f'<polyline class="s{number}" points="{points}"/>'
