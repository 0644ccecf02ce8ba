"""Action values on a map: a coloured triangle for each action of a cell, and arrows for the best actions.

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
from wanderlust.worlds.grid import MOVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

GREY = "#6e6e6e"
LIGHT_GREY = "#b8b8b8"
"""The colour of walls, and of actions without a value."""
UNVISITED = "#f1f1f1"
"""The colour of cells without any value."""
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
"""The exponent of the colour scale of visit counts, of which most are small."""

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
        add_colour_bar(scale, grid.tolist(), counts=counts)
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
    """Draw the values [state, action] of the states of one layer; return the colour scale, that of all layers."""
    from matplotlib.collections import PolyCollection

    scale = _colour_scale(values, counts=counts)
    best = best_actions(-values if minimise else values) if arrows else np.zeros(values.shape, dtype=np.bool_)
    triangles, colours = [], []
    for state in np.flatnonzero(layout.layer == layer):
        row, column = int(layout.row[state]), int(layout.column[state])
        if layout.kind[layer, row, column] == CellKind.WALL or np.isnan(values[state]).all():
            continue
        for action, move in enumerate(moves):
            if move is None:
                continue
            down, right = move
            value = float(values[state, action])
            colour = LIGHT_GREY if np.isnan(value) else scale.to_rgba(value)
            edge = [(column + 0.5 * (right + s * down), row + 0.5 * (down + s * right)) for s in (-1, 1)]
            triangles.append([(column, row), *edge])
            colours.append(colour)
            text_colour = "white" if _is_dark(colour) else "black"
            if labels and not np.isnan(value):
                text = format_value(value, counts=counts)
                position = column + 0.42 * right, row + 0.42 * down
                _draw_label(axes, text, *position, text_colour, horizontal=right == 0)
            if best[state, action]:
                _draw_arrow(axes, row, column, down, right, text_colour)
    line = 0.7 if labels else 0.2
    axes.add_collection(PolyCollection(triangles, facecolors=colours, edgecolors="white", linewidths=line))
    _draw_cells(axes, layout, layer, line)
    axes.set(xlim=(-0.52, layout.columns - 0.48), ylim=(layout.rows - 0.48, -0.52), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return scale


def _colour_scale(values: FloatArray, *, counts: bool) -> ScalarMappable:
    """Return the colours of all values, from the smallest to the largest one."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize, PowerNorm

    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    norm = PowerNorm(_VISITS_POWER, low, high) if counts else Normalize(low, high)
    # Without the darkest colours, on which labels are hard to read.
    return ScalarMappable(norm, ListedColormap(colormaps["YlGnBu"](np.linspace(0.0, 0.85, 256))))


def add_colour_bar(scale: ScalarMappable, axes: Axes | Sequence[Axes], *, counts: bool = False) -> None:
    """Draw a colour bar below the axes, with the smallest and the largest value."""
    several = [axes] if not isinstance(axes, Sequence) else axes
    bar = several[0].figure.colorbar(
        scale, ax=several, orientation="horizontal", pad=0.02, aspect=22, shrink=1.0 / min(len(several), 4)
    )
    ends = [float(scale.norm.vmin or 0.0), float(scale.norm.vmax or 0.0)]
    bar.set_ticks(ends, labels=[format_value(each, counts=counts) for each in ends])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=5.5, length=2, pad=1.5)
    bar.outline.set_linewidth(0.4)


def _draw_cells(axes: Axes, layout: Layout, layer: int, line: float) -> None:
    """Draw the outlines of the cells, the walls, and the symbols of starts, prisons and rewards."""
    from matplotlib.collections import PolyCollection

    corners = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    cells = [(row, column) for row in range(layout.rows) for column in range(layout.columns)]
    squares = [[(column + x, row + y) for x, y in corners] for row, column in cells]
    is_wall = [layout.kind[layer, row, column] == CellKind.WALL for row, column in cells]
    faces = [LIGHT_GREY if wall else UNVISITED for wall in is_wall]
    axes.add_collection(PolyCollection(squares, facecolors=faces, zorder=0.5))
    axes.add_collection(PolyCollection(squares, facecolors="none", edgecolors=GREY, linewidths=line, zorder=3))
    for row, column in cells:
        if symbol := cell_symbol(layout, layer, row, column):
            box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.6}
            style: dict[str, Any] = {"fontsize": 5.5, "fontweight": "bold", "ha": "center", "va": "center"}
            axes.text(column, row, symbol, bbox=box, zorder=6, **style)


def cell_symbol(layout: Layout, layer: int, row: int, column: int) -> str:
    """Return the letter of a start or prison cell, the reward of a cell that has one, "" for any other."""
    kind, value = CellKind(layout.kind[layer, row, column]), float(layout.value[layer, row, column])
    if kind in (CellKind.START, CellKind.PRISON):
        return kind.name[0]
    return f"{value:g}" if kind in (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE) else ""


def _is_dark(colour: Any) -> bool:
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) < 0.5


def _draw_label(axes: Axes, text: str, x: float, y: float, colour: str, *, horizontal: bool) -> None:
    style: dict[str, Any] = {"color": colour, "fontsize": 5.5, "ha": "center", "va": "center", "zorder": 5}
    axes.text(x, y, text, rotation=0 if horizontal else 90, **style)


def format_value(value: float, *, counts: bool = False) -> str:
    """Return a number with two decimals, without them if it is large or a count, in scientific notation if tiny."""
    if counts or abs(value) >= _LARGE:
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
