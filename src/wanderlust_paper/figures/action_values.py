"""Action values on a grid (Figures 3, 4 and 6): four coloured triangles per cell, and arrows for the best actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.style import add_legend, new_figure, styled
from wanderlust.worlds.action_values import CELL_WIDTH, add_color_bar, draw_action_values
from wanderlust.worlds.base import GRID_ACTIONS, CellKind, Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    width, height = CELL_WIDTH * layout.columns + 0.15, CELL_WIDTH * layout.rows + 0.35
    figure = new_figure(title, max(width * columns + 0.3, 4.0), (height + 0.35) * len(rows) + 0.9)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, (name, panels) in zip(grid, rows.items(), strict=True):
        for each, panel in zip(axes, panels, strict=False):
            add_color_bar(draw_action_values(each, panel.values, layout, arrows=panel.arrows), each)
            each.set_title(panel.title)
        for each in axes[len(panels) :]:
            each.set_axis_off()
        axes[0].set_ylabel(name, fontweight="bold")
    add_legend(figure, _legend_handles(layout), note)
    return figure


def _legend_handles(layout: Layout) -> dict[str, Any]:
    """Return the legend of the symbols that occur in a layout."""
    from matplotlib.lines import Line2D

    kinds = {CellKind(kind) for kind in np.unique(layout.kind)}
    symbols = {f"${kind.name[0]}$": kind.name.lower() for kind in (CellKind.START, CellKind.PRISON) if kind in kinds}
    if kinds & {CellKind.TREASURE, CellKind.PENALTY, CellKind.REWARD, CellKind.PUDDLE}:
        symbols["$1$"] = "reward of an action in this cell"
    style: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 5}
    return {name: Line2D([], [], marker=symbol, **style) for symbol, name in symbols.items()}
