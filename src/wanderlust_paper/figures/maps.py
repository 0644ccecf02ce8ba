"""Maps of grids: visit counts on a logarithmic scale (Figures 19 and 21), and action values (Figures 3, 4 and 6).

Action values are four coloured triangles per cell, and arrows for the best actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run, World, make_world
from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.core.planning import reachable_states
from wanderlust.experiments.report.figures import GREY, LIGHT_GREY, add_legend, mark_empty, new_figure, styled
from wanderlust.experiments.run import Result
from wanderlust.worlds import CellKind, Layout
from wanderlust.worlds.action_values import CELL_WIDTH, add_color_bar, draw_action_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH = 1.6
"""In inches."""
_MARKS: dict[str, dict[str, Any]] = {
    "start": {"marker": "o", "markerfacecolor": "white"},
    "treasure": {"marker": "*", "markerfacecolor": "#ffd92f"},
    "penalty": {"marker": "v", "markerfacecolor": "#ff5a4f"},
    "prison": {"marker": "X", "markerfacecolor": "#c0c0c0"},
}
_SMALL_GRID = 12
"""Rows up to which marks are drawn large."""


def evenness(counts: NDArray[np.int64], reachable: int) -> float:
    """Return the entropy of the state visits in percent of the maximum, that of uniform visits."""
    share = counts[counts > 0] / counts.sum()
    return 100.0 * float(-(share * np.log(share)).sum()) / float(np.log(reachable)) if reachable > 1 else 100.0


@dataclass(frozen=True)
class CountMap:
    """The visits of each cell of a grid."""

    title: str
    counts: NDArray[np.int64]
    """[row, column]"""
    unreachable: BoolArray
    """[row, column]: cells that cannot be reached."""
    marks: tuple[tuple[str, int, int], ...] = ()
    """(kind, row, column) of the cells to mark: 'start', 'treasure', 'penalty' or 'prison'."""


@styled
def maps_figure(title: str, rows: Mapping[str, Sequence[CountMap]], *, note: str = "") -> Figure:
    """Draw maps side by side, one row for each world, with one colour scale per row."""
    columns = max(len(maps) for maps in rows.values())
    heights = [_PANEL_WIDTH * min(1.0, _aspect(maps)) + 0.5 for maps in rows.values()]
    figure = new_figure(title, 1.0 + _PANEL_WIDTH * columns, 0.8 + sum(heights))
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights)
    for axes, (name, maps) in zip(grid, rows.items(), strict=True):
        _draw_row(figure, axes, maps)
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _legend_handles([each for maps in rows.values() for each in maps]), note)
    return figure


def _aspect(maps: Sequence[CountMap]) -> float:
    return max((each.counts.shape[0] / each.counts.shape[1] for each in maps), default=1.0)


def _draw_row(figure: Figure, axes: Sequence[Axes], maps: Sequence[CountMap]) -> None:
    from matplotlib.colors import LogNorm

    max_count = max((int(each.counts.max()) for each in maps), default=1)
    image = None
    for i, each in enumerate(axes):
        each.set(xticks=[], yticks=[])
        each.grid(visible=False)
        each.spines[:].set_visible(True)
        if i < len(maps):
            each.set_title(maps[i].title)
            image = _draw_map(each, maps[i], LogNorm(1, max(max_count, 2)))
        else:
            mark_empty(each)
    if image is not None:
        figure.colorbar(image, ax=list(axes), label="visits", shrink=0.85, pad=0.01, aspect=14)


def _draw_map(axes: Axes, count_map: CountMap, norm: Any) -> Any:
    from matplotlib.colors import ListedColormap

    rows, columns = count_map.counts.shape
    axes.set_facecolor("white")
    unreachable = count_map.unreachable & (count_map.counts == 0)
    visited = np.ma.masked_where(count_map.counts == 0, count_map.counts)
    image = axes.imshow(visited, cmap="viridis", norm=norm, interpolation="nearest", aspect="equal")
    grey = np.ma.masked_where(~unreachable, np.ones(unreachable.shape))
    axes.imshow(grey, cmap=ListedColormap([LIGHT_GREY]), interpolation="nearest", aspect="equal")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    for kind, row, column in count_map.marks:
        size = 5.5 if max(rows, columns) <= _SMALL_GRID else 3.6
        axes.plot(column, row, markersize=size + 1.5 * (kind == "treasure"), **_mark_style(kind), clip_on=False)
    return image


def _mark_style(kind: str) -> dict[str, Any]:
    return {"linestyle": "none", "markeredgecolor": "black", "markeredgewidth": 0.5, "zorder": 5, **_MARKS[kind]}


def _legend_handles(maps: Sequence[CountMap]) -> dict[str, Any]:
    """Return the legend of the colours outside the scale that occur in these maps."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marked = {kind for each in maps for kind, _, _ in each.marks}
    handles: dict[str, Any] = {kind: Line2D([], [], **_mark_style(kind)) for kind in _MARKS if kind in marked}
    if any(((each.counts == 0) & ~each.unreachable).any() for each in maps):
        handles["not visited"] = Patch(facecolor="white", edgecolor=GREY, linewidth=0.6)
    if any(((each.counts == 0) & each.unreachable).any() for each in maps):
        handles["unreachable"] = Patch(facecolor=LIGHT_GREY, edgecolor=GREY, linewidth=0.6)
    return handles


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
    columns = max(len(panels) for panels in rows.values())
    width, height = CELL_WIDTH * layout.columns + 0.15, CELL_WIDTH * layout.rows + 0.35
    figure = new_figure(title, max(width * columns + 0.3, 4.0), (height + 0.35) * len(rows) + 0.9)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, (name, panels) in zip(grid, rows.items(), strict=True):
        for each, panel in zip(axes, panels, strict=False):
            add_color_bar(draw_action_values(each, panel.values, layout, arrows=panel.arrows), each)
            each.set_title(panel.title)
            add_coordinates(each)
        for each in axes[len(panels) :]:
            each.set_axis_off()
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _symbols(layout), note)
    return figure


def add_coordinates(axes: Axes) -> None:
    """Label the 3 columns and rows of the toy example as the paper does: (column, row from the bottom)."""
    axes.set_xticks(range(3), ["1", "2", "3"])
    axes.set_yticks(range(3), ["3", "2", "1"])
    axes.tick_params(length=0, labelsize=8, labelleft=True, labelbottom=True)


def _symbols(layout: Layout) -> dict[str, Any]:
    """Return the legend of the symbols that occur in a layout."""
    from matplotlib.lines import Line2D

    kinds = {CellKind(kind) for kind in np.unique(layout.kind)}
    symbols = {f"${kind.name[0]}$": kind.name.lower() for kind in (CellKind.START, CellKind.PRISON) if kind in kinds}
    if kinds & {CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE}:
        symbols["$1$"] = "reward of an action in this cell"
    style: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 5}
    return {name: Line2D([], [], marker=symbol, **style) for symbol, name in symbols.items()}


Counts = NDArray[np.int64]


def cell_counts(run: Run, visits: Counts) -> Counts:
    """Return [row, column]: the visits of each cell, summed over its states and actions."""
    layout = make_world(run.world, **run.world_options).layout
    assert layout is not None
    counts = np.zeros((layout.rows, layout.columns), np.int64)
    np.add.at(counts, (layout.row, layout.column), visits.sum(axis=1))
    return counts


def count_map(run: Run, result: Result, title: str) -> CountMap:
    """Return the count map of a run, with the evenness of the visits in its title."""
    world = make_world(run.world, **run.world_options)
    layout = world.layout
    assert layout is not None
    unreachable = np.ones((layout.rows, layout.columns), dtype=np.bool_)
    reachable = reachable_states(world.mdp)
    unreachable[layout.row[reachable], layout.column[reachable]] = False
    percent = evenness(result.visits.sum(axis=1), int(result.reachable))
    return CountMap(
        f"{title}\nevenness {percent:.0f} %", cell_counts(run, result.visits), unreachable, cell_marks(world)
    )


def cell_marks(world: World) -> tuple[tuple[str, int, int], ...]:
    """Return (kind, row, column) of the start, the treasures, the penalties and the prisons of a world."""
    layout = world.layout
    assert layout is not None
    marks = {("start", int(layout.row[s]), int(layout.column[s])): None for s in np.flatnonzero(world.mdp.start > 0)}
    for kind in (CellKind.TREASURE, CellKind.PENALTY, CellKind.PRISON):
        for row, column in np.argwhere((layout.kind == kind).any(axis=0)):
            # The last cell of the deep sea is a treasure or a bomb.
            if kind is not CellKind.PENALTY or not (layout.kind[:, row, column] == CellKind.TREASURE).any():
                marks[kind.name.lower(), int(row), int(column)] = None
    return tuple(marks)
