"""Action values on a grid (Figures 3, 4 and 6): four coloured triangles per cell, and arrows for the best actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.experiments.reports.figures.style import GREY, LIGHT_GREY, add_legend, new_figure, styled
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.grid import MOVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL_WIDTH = 0.72
"""In inches; labels are not readable in smaller cells."""
_TIE_TOLERANCE = 1e-9
"""Values whose difference is smaller than this share of the largest value are equal."""
_LARGE, _TINY = 100.0, 0.005
"""Labels have no decimals from `_LARGE`, and are in scientific notation below `_TINY`."""
_SQUARE = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
_ARROW = {"arrowstyle": "-|>", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}


@dataclass(frozen=True)
class ValuePanel:
    """One panel of the figure."""

    title: str
    values: FloatArray
    """[state, action], actions as in `GRID_ACTIONS`; NaN for no value."""
    arrows: bool = True
    """Whether arrows show the best actions."""


@styled
def action_values_figure(
    title: str, rows: Mapping[str, Sequence[ValuePanel]], layout: Layout, *, note: str = ""
) -> Figure:
    """Draw panels side by side, in named rows; `layout` has the kinds of the cells."""
    for panel in (panel for panels in rows.values() for panel in panels):
        if panel.values.shape != (len(layout.row), len(GRID_ACTIONS)):
            raise InvalidSetting(
                f"the values of {panel.title!r} must have the shape [{len(layout.row)} states, {len(GRID_ACTIONS)} "
                f"actions], got {panel.values.shape}."
            )
    columns = max(len(panels) for panels in rows.values())
    width, height = _CELL_WIDTH * layout.columns + 0.15, _CELL_WIDTH * layout.rows + 0.35
    figure = new_figure(title, max(width * columns + 0.3, 4.0), (height + 0.35) * len(rows) + 0.9)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, (name, panels) in zip(grid, rows.items(), strict=True):
        for each, panel in zip(axes, panels, strict=False):
            _draw_panel(each, panel, layout)
        for each in axes[len(panels) :]:
            each.set_axis_off()
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _legend_handles(layout), note)
    return figure


def best_actions(values: FloatArray) -> BoolArray:
    """Return [state, action]: whether an action is a best one; none is where all actions are equal."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    without_nan = np.where(np.isnan(values), -np.inf, values)
    best = without_nan >= without_nan.max(axis=1, keepdims=True) - _TIE_TOLERANCE * largest
    return np.asarray(best & ~best.all(axis=1, keepdims=True))


def _draw_panel(axes: Axes, panel: ValuePanel, layout: Layout) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    low, high = np.nanmin(panel.values), np.nanmax(panel.values)
    norm = Normalize(low, high if high > low else low + 1.0)
    # Without the darkest colours, on which labels are hard to read.
    colours = ListedColormap(colormaps["YlGnBu"](np.linspace(0.0, 0.85, 256)))
    best = best_actions(panel.values) if panel.arrows else np.zeros(panel.values.shape, dtype=np.bool_)
    for state, (row, column) in enumerate(zip(layout.row, layout.column, strict=True)):
        is_wall = layout.kind[0, row, column] == CellKind.WALL
        cell_colour = LIGHT_GREY if is_wall else "none"
        _draw_shape(axes, _SQUARE, row, column, facecolor=cell_colour, edgecolor=GREY, zorder=3)
        if is_wall:
            continue
        for action, (down, right) in enumerate(MOVES):
            value = float(panel.values[state, action])
            colour = LIGHT_GREY if np.isnan(value) else colours(norm(value))
            corners = [(0.0, 0.0), *((0.5 * (right + s * down), 0.5 * (down + s * right)) for s in (-1, 1))]
            _draw_shape(axes, corners, row, column, facecolor=colour, edgecolor="white")
            text_colour = "white" if _is_dark(colour) else "black"
            _draw_label(axes, value, column + 0.42 * right, row + 0.42 * down, text_colour, horizontal=right == 0)
            if best[state, action]:
                _draw_arrow(axes, row, column, down, right, text_colour)
        _draw_cell_symbol(axes, layout, int(row), int(column))
    bar = axes.figure.colorbar(ScalarMappable(norm, colours), ax=axes, orientation="horizontal", pad=0.02, aspect=22)
    bar.set_ticks([low, norm.vmax], labels=[_format_value(float(low)), _format_value(float(norm.vmax))])
    bar.ax.tick_params(labelsize=5.5, length=2, pad=1.5)
    bar.outline.set_linewidth(0.4)
    axes.set_title(panel.title)
    axes.set(xlim=(-0.52, layout.columns - 0.48), ylim=(layout.rows - 0.48, -0.52), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _draw_shape(axes: Axes, corners: Sequence[tuple[float, float]], row: int, column: int, **style: Any) -> None:
    """Draw a polygon whose corners are relative to the centre of a cell."""
    x, y = zip(*corners, strict=True)
    axes.fill(np.add(x, column), np.add(y, row), linewidth=0.7, **style)


def _is_dark(colour: Any) -> bool:
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) < 0.5


def _draw_label(axes: Axes, value: float, x: float, y: float, colour: str, *, horizontal: bool) -> None:
    if np.isnan(value):
        return
    axes.text(
        x,
        y,
        _format_value(value),
        color=colour,
        fontsize=5.5,
        ha="center",
        va="center",
        rotation=0 if horizontal else 90,
        zorder=5,
    )


def _format_value(value: float) -> str:
    """Return a number with two decimals, without decimals if it is large, in scientific notation if it is tiny."""
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:.0e}" if 0 < abs(value) < _TINY else f"{round(value, 2) + 0.0:g}"


def _draw_arrow(axes: Axes, row: int, column: int, down: int, right: int, colour: str) -> None:
    axes.annotate(
        "",
        (column + 0.34 * right, row + 0.34 * down),
        (column + 0.1 * right, row + 0.1 * down),
        arrowprops={"color": colour, **_ARROW},
        zorder=4,
    )


def _draw_cell_symbol(axes: Axes, layout: Layout, row: int, column: int) -> None:
    """Draw a round symbol in the centre of a start, prison or reward cell."""
    symbol = _cell_symbol(layout, row, column)
    if symbol:
        box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.6}
        axes.text(column, row, symbol, fontsize=5.5, fontweight="bold", ha="center", va="center", bbox=box, zorder=6)


def _cell_symbol(layout: Layout, row: int, column: int) -> str:
    kind, value = CellKind(layout.kind[0, row, column]), float(layout.value[0, row, column])
    if kind in (CellKind.START, CellKind.PRISON):
        return kind.name[0]
    return f"{value:g}" if kind in (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE) else ""


def _legend_handles(layout: Layout) -> dict[str, Any]:
    """Return the legend of the symbols that occur in a layout."""
    from matplotlib.lines import Line2D

    kinds = {CellKind(kind) for kind in np.unique(layout.kind)}
    symbols = {f"${kind.name[0]}$": kind.name.lower() for kind in (CellKind.START, CellKind.PRISON) if kind in kinds}
    if kinds & {CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE}:
        symbols["$1$"] = "reward of an action in this cell"
    style: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 5}
    return {name: Line2D([], [], marker=symbol, **style) for symbol, name in symbols.items()}
