"""Values of actions on a grid: each cell is four triangles, coloured and labelled, with arrows for the best actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.experiments.reports.figures.style import CLOSED, GREY, add_legend, new_figure, styled
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.grid import MOVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL = 0.72
"""Width of a cell, in inches: the least in which the labels can be read."""
_TIE = 1e-9
"""Values that differ by less than this part of the largest are alike."""
_LARGE, _TINY = 100.0, 0.005
"""From the one on labels have no decimals, below the other two decimals would be zero."""
_SQUARE = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
_ARROW = {"arrowstyle": "-|>", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}


@dataclass(frozen=True)
class ValuePanel:
    """What is drawn in a panel."""

    title: str
    values: FloatArray
    """[state, action], actions as in `GRID_ACTIONS`; NaN: nothing to show."""
    arrows: bool = True
    """Whether arrows show the best actions."""


@styled
def toy_figure(title: str, rows: Mapping[str, Sequence[ValuePanel]], layout: Layout, *, note: str = "") -> Figure:
    """Draw panels side by side, in named rows; `layout` tells what the cells are."""
    for panel in (panel for panels in rows.values() for panel in panels):
        if panel.values.shape != (len(layout.row), len(GRID_ACTIONS)):
            raise InvalidSetting(
                f"the values of {panel.title!r} must be [{len(layout.row)} states, {len(GRID_ACTIONS)} actions], "
                f"got the shape {panel.values.shape}."
            )
    across = max(len(panels) for panels in rows.values())
    width, height = _CELL * layout.columns + 0.15, _CELL * layout.rows + 0.35
    figure = new_figure(title, max(width * across + 0.3, 4.0), height * len(rows) + 0.9)
    grid = figure.subplots(len(rows), across, squeeze=False)
    for axes, (name, panels) in zip(grid, rows.items(), strict=True):
        for each, panel in zip(axes, panels, strict=False):
            _draw_panel(each, panel, layout)
        for each in axes[len(panels) :]:
            each.set_axis_off()
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _meanings(layout), note)
    return figure


def best_actions(values: FloatArray) -> BoolArray:
    """Return [state, action]: which are the best of a state. Where all are alike, none is."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    known = np.where(np.isnan(values), -np.inf, values)
    best = known >= known.max(axis=1, keepdims=True) - _TIE * largest
    return np.asarray(best & ~best.all(axis=1, keepdims=True))


def _draw_panel(axes: Axes, panel: ValuePanel, layout: Layout) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    low, high = np.nanmin(panel.values), np.nanmax(panel.values)
    norm, colours = Normalize(low, high if high > low else low + 1.0), colormaps["YlGnBu"]
    best = best_actions(panel.values) if panel.arrows else np.zeros(panel.values.shape, dtype=np.bool_)
    for state, (row, column) in enumerate(zip(layout.row, layout.column, strict=True)):
        is_wall = layout.kind[0, row, column] == CellKind.WALL
        _draw_shape(axes, _SQUARE, row, column, facecolor=CLOSED if is_wall else "none", edgecolor=GREY, zorder=3)
        if is_wall:
            continue
        for action, (down, right) in enumerate(MOVES):
            value = float(panel.values[state, action])
            colour = CLOSED if np.isnan(value) else colours(0.85 * norm(value))
            corners = [(0.0, 0.0), *((0.5 * (right + s * down), 0.5 * (down + s * right)) for s in (-1, 1))]
            _draw_shape(axes, corners, row, column, facecolor=colour, edgecolor="white")
            ink = "white" if _is_dark(colour) else "black"
            _write_value(axes, value, column + 0.42 * right, row + 0.42 * down, ink, upright=right == 0)
            if best[state, action]:
                _draw_arrow(axes, row, column, down, right, ink)
        _mark(axes, layout, int(row), int(column))
    axes.set_title(panel.title)
    axes.set(xlim=(-0.52, layout.columns - 0.48), ylim=(layout.rows - 0.48, -0.52), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _draw_shape(axes: Axes, corners: Sequence[tuple[float, float]], row: int, column: int, **look: Any) -> None:
    """Draw a shape whose corners are told from the middle of a cell."""
    x, y = zip(*corners, strict=True)
    axes.fill(np.add(x, column), np.add(y, row), linewidth=0.7, **look)


def _is_dark(colour: Any) -> bool:
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) < 0.5


def _write_value(axes: Axes, value: float, x: float, y: float, ink: str, *, upright: bool) -> None:
    if np.isnan(value):
        return
    axes.text(
        x,
        y,
        _in_short(value),
        color=ink,
        fontsize=5.5,
        ha="center",
        va="center",
        rotation=0 if upright else 90,
        zorder=5,
    )


def _in_short(value: float) -> str:
    """Return a number with two decimals, none if it is large, and its order of magnitude if it is tiny."""
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:.0e}" if 0 < abs(value) < _TINY else f"{round(value, 2) + 0.0:g}"


def _draw_arrow(axes: Axes, row: int, column: int, down: int, right: int, ink: str) -> None:
    axes.annotate(
        "",
        (column + 0.34 * right, row + 0.34 * down),
        (column + 0.1 * right, row + 0.1 * down),
        arrowprops={"color": ink, **_ARROW},
        zorder=4,
    )


def _mark(axes: Axes, layout: Layout, row: int, column: int) -> None:
    """Put a round sign into the middle of a cell that is not plain floor."""
    sign = _sign(layout, row, column)
    if sign:
        look = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.6}
        axes.text(column, row, sign, fontsize=5.5, fontweight="bold", ha="center", va="center", bbox=look, zorder=6)


def _sign(layout: Layout, row: int, column: int) -> str:
    kind, value = CellKind(layout.kind[0, row, column]), float(layout.value[0, row, column])
    if kind in (CellKind.START, CellKind.PRISON):
        return kind.name[0]
    return f"{value:g}" if kind in (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE) else ""


def _meanings(layout: Layout) -> dict[str, Any]:
    """Return what the signs mean, those that occur."""
    from matplotlib.lines import Line2D

    kinds = {CellKind(kind) for kind in np.unique(layout.kind)}
    signs = {f"${kind.name[0]}$": kind.name.lower() for kind in (CellKind.START, CellKind.PRISON) if kind in kinds}
    if kinds & {CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE}:
        signs["$1$"] = "a number: the reward for acting there"
    look: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 5}
    return {name: Line2D([], [], marker=sign, **look) for sign, name in signs.items()}
