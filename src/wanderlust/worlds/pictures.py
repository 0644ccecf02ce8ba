"""Pictures of worlds as matplotlib figures: grids with their treasures, walls and prisons, or graphs of states.

A world with a grid is drawn cell by cell, from its layout and its rewards. A stochastic world that is a single row, and
a world without a layout that has few states, is drawn as a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.worlds.base import CellKind, Layout, World
from wanderlust.worlds.drawing import display_layout, passenger_numbers
from wanderlust.worlds.graph_pictures import draw_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_GRAPH_STATES = 12
"""A world without a layout that has more states is drawn as a grid of its states."""
MAX_PANELS = 4
_CELL, _PICTURE = 0.55, 6.0
"""The width of a cell and the largest width of a grid, in inches."""
_LEGEND_WIDTH = 2.1
"""The width of an entry of the legend, in inches."""
_READABLE = 0.28
"""The width of a cell, in inches, from which a number fits into it."""
_TEXT_CELLS = 4
"""The number of small cells that a text beside a cell covers."""
_COLOURS = {
    CellKind.WALL: "#2b2b2b",
    CellKind.PRISON: "#8c8c8c",
    CellKind.TREASURE: "#f2c230",
    CellKind.PENALTY: "#d9534f",
    CellKind.REWARD: "#8fd19e",
    CellKind.PUDDLE: "#b7d8f0",
    CellKind.PASSENGER: "#f5a962",
}
_WAVES, _LINES, _BARRIER, _AGENT = "#d3e8f7", "#c4c4c4", "#c0392b", "#1f5fa8"
_NUMBERED = (CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE)
_ENTRY_EDGES = (((1, 0), (1, 1)), ((0, 0), (0, 1)), ((0, 1), (1, 1)), ((0, 0), (1, 0)))
"""For each grid action, the edge through which it enters a cell: corners (right, down) of a unit square."""


def draw_world(world: World, *, title: str | None = None) -> Figure:
    """Return a picture of a world; `title` replaces its name."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        if _is_graph(world):
            return draw_graph(world, title=title or _title(world))
        layout = display_layout(world)
        layers = _drawn_layers(world, layout)
        size = max(min(_CELL, _PICTURE / max(layout.columns, layout.rows)), 0.08)
        width, height = size * layout.columns + 0.4, size * layout.rows + 0.3
        figure = Figure(figsize=(max(width * len(layers), 3.2), height + 1.1), layout="constrained")
        figure.suptitle(title or _title(world), fontsize=11, fontweight="normal")
        grid = figure.subplots(1, len(layers), squeeze=False)[0]
        used: dict[str, Any] = {}
        for axes, layer in zip(grid, layers, strict=True):
            used |= _draw_layer(axes, world, layout, layer, size)
            if len(layers) > 1:
                axes.set_title(layout.layer_names[layer], fontsize=9)
        columns = max(1, min(len(used), int(figure.get_figwidth() / _LEGEND_WIDTH)))
        style: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 8}
        figure.legend(list(used.values()), list(used), **style)
        return figure


def _title(world: World) -> str:
    options = ", ".join(f"{name}={value}" for name, value in world.options.items() if name != "map")
    return f"{world.name} ({options})" if options and len(options) < 40 else world.name


def _is_graph(world: World) -> bool:
    if world.layout is None:
        return world.n_states <= MAX_GRAPH_STATES
    return world.layout.rows == world.layout.n_layers == 1 and not world.mdp.deterministic


def _drawn_layers(world: World, layout: Layout) -> list[int]:
    """Return the layers in which an episode can start."""
    if layout.n_layers == 1:
        return [0]
    return sorted({int(layout.layer[state]) for state in np.flatnonzero(world.mdp.start > 0)})[:MAX_PANELS]


def _draw_layer(axes: Axes, world: World, layout: Layout, layer: int, size: float) -> dict[str, Any]:
    """Draw one grid; return the legend handles of what is in it."""
    from matplotlib.patches import Rectangle

    kinds, handles = layout.kind[layer], {}
    axes.set(
        xlim=(-0.05, layout.columns + 0.05), ylim=(layout.rows + 0.05, -0.05), aspect="equal", xticks=[], yticks=[]
    )
    axes.spines[:].set_visible(False)
    waves = _cells_with_unequal_rewards(world, layout, layer)
    numbers = passenger_numbers(layout)
    for (row, column), code in np.ndenumerate(kinds):
        kind = CellKind(int(code))
        colour = _COLOURS.get(kind, _WAVES if waves[row, column] else "white")
        line = 0.6 if size > _READABLE else 0.2
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor=_LINES, linewidth=line))
        if kind in _COLOURS:
            handles[_meaning(kind, terminal=bool(world.mdp.terminal.any()))] = _patch(_COLOURS[kind])
        text = _cell_text(layout, layer, row, column, kind, int(numbers[row, column]))
        if text:
            beside = kinds[row, column + 1 : column + 1 + _TEXT_CELLS]
            is_free = len(beside) == _TEXT_CELLS and not np.isin(beside, list(_COLOURS)).any()
            _write(axes, text, row, column, kind, size, to_the_right=is_free)
    if waves.any():
        handles["reward of one action only"] = _patch(_WAVES)
    handles |= _draw_barriers(axes, layout)
    return _draw_start(axes, world, layout, layer, size) | handles


def _patch(colour: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, edgecolor=_LINES, linewidth=0.6)


def _meaning(kind: CellKind, *, terminal: bool) -> str:
    """Return the text of a kind of cell in the legend."""
    if kind in (CellKind.TREASURE, CellKind.PENALTY):
        return f"{kind.name.lower()}, ends the episode" if terminal else kind.name.lower()
    texts = {CellKind.WALL: "cannot be visited", CellKind.PUDDLE: "puddle, penalty"}
    return texts.get(kind, kind.name.lower())


def _cell_text(layout: Layout, layer: int, row: int, column: int, kind: CellKind, passenger: int) -> str:
    if kind is CellKind.PASSENGER:
        return f"#{passenger}"
    if kind is CellKind.PRISON:
        return "prison"
    if kind not in _NUMBERED:
        return ""
    values = np.unique(layout.value[layout.kind[:, row, column] == kind, row, column])
    if len(values) > 2:  # The reward depends on the layer, such as the passengers on board.
        return f"{values[0]:g}–{values[-1]:g}"
    return f"{layout.value[layer, row, column]:,g}"


def _write(
    axes: Axes, text: str, row: int, column: int, kind: CellKind, size: float, *, to_the_right: bool
) -> None:
    """Write into a cell if the text fits, otherwise beside it."""
    if size >= _READABLE:
        font = min(9.0, 66.0 * size / max(len(text), 3))
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=font)
    elif kind is not CellKind.PUDDLE:
        x, align = (column + 1.3, "left") if to_the_right else (column - 0.3, "right")
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
        axes.text(x, row + 0.5, text, ha=align, va="center", fontsize=7.5, fontweight="bold", bbox=box)


def _cells_with_unequal_rewards(world: World, layout: Layout, layer: int) -> Any:
    """Return [row, column]: floor and start cells in which the reward depends on the action."""
    mdp, marked = world.mdp, np.zeros((layout.rows, layout.columns), dtype=np.bool_)
    expected = (mdp.probability * mdp.reward).sum(axis=2)
    plain = np.isin(layout.kind[layout.layer, layout.row, layout.column], (CellKind.FLOOR, CellKind.START))
    states = np.flatnonzero((layout.layer == layer) & plain & (np.ptp(expected, axis=1) > 0))
    marked[layout.row[states], layout.column[states]] = True
    return marked


def _draw_barriers(axes: Axes, layout: Layout) -> dict[str, Any]:
    """Draw the edges through which a cell cannot be entered, although the next cell is open."""
    from matplotlib.lines import Line2D

    if layout.entry is None:
        return {}
    style: dict[str, Any] = {"color": _BARRIER, "linewidth": 2.2, "solid_capstyle": "butt"}
    drawn = False
    for (row, column), bits in np.ndenumerate(layout.entry):
        for action, corners in enumerate(_ENTRY_EDGES):
            if not int(bits) >> action & 1 and layout.kind[0, row, column] != CellKind.WALL:
                (x0, y0), (x1, y1) = corners
                axes.plot([column + x0, column + x1], [row + y0, row + y1], **style)
                drawn = True
    return {"can be left, not entered": Line2D([], [], **style)} if drawn else {}


def _draw_start(axes: Axes, world: World, layout: Layout, layer: int, size: float) -> dict[str, Any]:
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": _AGENT, "markeredgecolor": "white"}
    states = [s for s in np.flatnonzero(world.mdp.start > 0) if layout.layer[s] == layer]
    diameter = max(0.55 * 72 * size, 5.0)
    handles = {}
    for state in states:
        (handle,) = axes.plot(layout.column[state] + 0.5, layout.row[state] + 0.5, markersize=diameter, **style)
        handles["start"] = handle
    if handles:
        from matplotlib.lines import Line2D

        handles["start"] = Line2D([], [], markersize=7, **style)
    return handles
