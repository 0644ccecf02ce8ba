"""Action values on a map: a colored triangle for each action of a cell, and arrows for the best actions.

    figure = action_values_figure("W", values, world.layout, world.action_names)

The paper's Figures 3, 4 and 6 are drawn with it, and `Agent.plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout
from wanderlust.worlds.drawing import describe_layer, draw_cells, is_dark
from wanderlust.worlds.grid import MOVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

__all__ = ["CELL_WIDTH", "add_color_bar", "draw_action_values"]

GREY = "#6e6e6e"
LIGHT_GREY = "#b8b8b8"
"""The color of walls, and of actions without a value."""
UNVISITED = "#f1f1f1"
"""The color of cells without any value."""
CELL_WIDTH = 0.72
"""In inches; labels are not readable in smaller cells."""
MAX_PANELS = 12
"""The largest number of layers in one figure."""
_MIN_LABELLED, _MIN_ARROWS = 0.55, 0.3
"""The width of a cell, in inches, from which it has labels, and arrows."""
_MAX_SIZE = 10.0
_TIE_TOLERANCE = 1e-9
"""Values whose difference is smaller than this share of the largest value are equal."""
_LARGE, _TINY = 100.0, 0.005
"""Labels have no decimals from `_LARGE`, and are in scientific notation below `_TINY`."""
_ARROW = {"arrowstyle": "-|>", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
_VISITS_POWER = 0.35
"""The exponent of the color scale of visit counts, of which most are small."""

Move = tuple[int, int]


def moves_of(action_names: Sequence[str]) -> tuple[Move | None, ...]:
    """Return the (row, column) displacement of each action that is named left, right, up or down, else None."""
    moves = dict(zip(GRID_ACTIONS, MOVES, strict=True))
    return tuple(moves.get(name) for name in action_names)


def best_actions(values: FloatArray) -> BoolArray:
    """Return [state, action]: whether an action is a best one; none is where all actions are equal."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    without_nan = np.where(np.isnan(values), -np.inf, values)
    best = without_nan >= without_nan.max(axis=1, keepdims=True) - _TIE_TOLERANCE * largest
    return np.asarray(best & ~best.all(axis=1, keepdims=True))


def action_values_figure(
    title: str,
    values: FloatArray,
    layout: Layout,
    action_names: Sequence[str],
    *,
    minimise: bool = False,
    counts: bool = False,
) -> Figure:
    """Return a figure with one panel per layer of the map; `values` is [state, action], NaN for no value.

    Arrows show the actions with the largest value, with `minimise` the smallest, with `counts` none.
    """
    from matplotlib.figure import Figure

    moves = moves_of(action_names)
    if not any(moves):
        raise InvalidSetting(
            f"a map shows the actions left, right, up and down, but the actions are {', '.join(action_names)}."
        )
    if layout.n_layers > MAX_PANELS:
        raise InvalidSetting(f"the map has {layout.n_layers} layers; at most {MAX_PANELS} fit into one figure.")
    columns = min(layout.n_layers, 4)
    rows = -(-layout.n_layers // columns)
    cell = min(CELL_WIDTH, _MAX_SIZE / max(layout.columns * columns, layout.rows * rows))
    size = max(cell * layout.columns * columns + 0.3, 3.0), cell * layout.rows * rows + 0.35 * rows + 0.8
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize=10, fontweight="bold")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for layer, axes in enumerate(grid):
        if layer < layout.n_layers:
            scale = draw_action_values(
                axes,
                values,
                layout,
                layer=layer,
                moves=moves,
                arrows=not counts and cell >= _MIN_ARROWS,
                minimise=minimise,
                counts=counts,
                labels=cell >= _MIN_LABELLED,
            )
            axes.set_title(layout.layer_names[layer], fontsize=8.5)
        else:
            axes.set_axis_off()
    if len(np.unique(values[~np.isnan(values)])) > 1:
        add_color_bar(scale, grid.tolist(), counts=counts)
    return figure


def draw_action_values(
    axes: Axes,
    values: FloatArray,
    layout: Layout,
    *,
    layer: int = 0,
    moves: Sequence[Move | None] = MOVES,
    arrows: bool = True,
    minimise: bool = False,
    counts: bool = False,
    labels: bool = True,
) -> ScalarMappable:
    """Draw the values [state, action] of the states of one layer; return the color scale, that of all layers."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    scale = _color_scale(values, counts=counts)
    best = best_actions(-values if minimise else values) if arrows else np.zeros(values.shape, dtype=np.bool_)
    triangles, colors = [], []
    style: dict[str, Any]
    for state in np.flatnonzero(layout.layer == layer):
        row, column = int(layout.row[state]), int(layout.column[state])
        if layout.kind[layer, row, column] == CellKind.WALL or np.isnan(values[state]).all():
            continue
        for action, move in enumerate(moves):
            if move is None:
                continue
            down, right = move
            value = float(values[state, action])
            color = LIGHT_GREY if np.isnan(value) else scale.to_rgba(value)
            edge = [(column + 0.5 * (right + s * down), row + 0.5 * (down + s * right)) for s in (-1, 1)]
            triangles.append([(column, row), *edge])
            colors.append(color)
            style = {"color": "white" if is_dark(255 * np.array(to_rgb(color))) else "black"}
            if labels and not np.isnan(value):
                x, y, text = column + 0.42 * right, row + 0.42 * down, format_value(value, counts=counts)
                style |= {"fontsize": 5.5, "ha": "center", "va": "center", "rotation": 90 if right else 0}
                axes.text(x, y, text, zorder=5, **style)
            if best[state, action]:
                end, start = ((column + r * right, row + r * down) for r in (0.34, 0.1))
                axes.annotate("", end, start, arrowprops={"color": style["color"], **_ARROW}, zorder=4)
    line = 0.7 if labels else 0.2
    axes.add_collection(PolyCollection(triangles, facecolors=colors, edgecolors="white", linewidths=line))
    walls = np.where(layout.kind[layer] == CellKind.WALL, LIGHT_GREY, UNVISITED)
    draw_cells(axes, walls, edge="none", line=0.0, zorder=0.5)
    draw_cells(axes, np.full(walls.shape, "none"), edge=GREY, line=line, zorder=3)
    symbols = describe_layer(layout, layer).label
    box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.6}
    style = {"fontsize": 5.5, "fontweight": "bold", "ha": "center", "va": "center"}
    for row, column in np.argwhere(symbols != ""):
        axes.text(column, row, symbols[row, column], bbox=box, zorder=6, **style)
    return scale


def _color_scale(values: FloatArray, *, counts: bool) -> ScalarMappable:
    """Return the colors of all values, from the smallest to the largest one."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize, PowerNorm

    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    norm = PowerNorm(_VISITS_POWER, low, high) if counts else Normalize(low, high)
    # Without the darkest colors, on which labels are hard to read.
    return ScalarMappable(norm, ListedColormap(colormaps["YlGnBu"](np.linspace(0.0, 0.85, 256))))


def add_color_bar(scale: ScalarMappable, axes: Axes | Sequence[Axes], *, counts: bool = False) -> None:
    """Draw a color bar below the axes, with the smallest and the largest value."""
    several = [axes] if not isinstance(axes, Sequence) else axes
    bar = several[0].figure.colorbar(
        scale, ax=several, orientation="horizontal", pad=0.02, aspect=22, shrink=1.0 / min(len(several), 4)
    )
    ends = [float(scale.norm.vmin or 0.0), float(scale.norm.vmax or 0.0)]
    bar.set_ticks(ends, labels=[format_value(each, counts=counts) for each in ends])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=5.5, length=2, pad=1.5)
    bar.outline.set_linewidth(0.4)


def format_value(value: float, *, counts: bool = False) -> str:
    """Return a number with two decimals, without them if it is large or a count, in scientific notation if tiny."""
    if counts or abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:.0e}" if 0 < abs(value) < _TINY else f"{round(value, 2) + 0.0:g}"
