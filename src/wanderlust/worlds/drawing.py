"""What every drawing of a grid shows, the drawing as text, and figures of worlds.

`describe_layer` gives the letter, color and label of each cell of a layer. Text has its letters; the figures and the
images of `wanderlust.worlds.raster` have its colors and labels.

A world with a grid is drawn cell by cell, from its layout and its rewards. A stochastic world that is a single row, and
a world without a layout that has few states, is drawn as a graph: states as circles in a row, and an arrow for the
likeliest result of every action.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import counted
from wanderlust.core.planning import expected_reward
from wanderlust.worlds.base import CellKind, Layout, World, single_layer_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_cells", "draw_graph", "draw_world", "figure_html", "logarithmic", "shaded", "text_html"]

MAX_ROW_LENGTH = 50
"""A world that is a single row of more cells is wrapped into several rows."""
AGENT = "@"
MAX_TEXT_ROWS, MAX_TEXT_COLUMNS = 30, 80
"""The largest map in the text of a world."""

COLORS = {
    CellKind.FLOOR: "#faf8f3",
    CellKind.WALL: "#3d4657",
    CellKind.START: "#d9ecd6",
    CellKind.PRISON: "#d5d0dc",
    CellKind.TREASURE: "#f6cf57",
    CellKind.PENALTY: "#e0716a",
    CellKind.REWARD: "#b5dfa8",
    CellKind.PUDDLE: "#cfe3ef",
    CellKind.PASSENGER: "#c9b8fb",
}
_LETTERS = {CellKind.FLOOR: ".", CellKind.WALL: "#", CellKind.START: "S", CellKind.PRISON: "P"}
_FREE_LETTERS = "ABCDEFGHIJKLMNOQRTUVWXYZ"
_FALLBACK = {CellKind.TREASURE: "$", CellKind.PENALTY: "!", CellKind.REWARD: "+", CellKind.PUDDLE: "~"}


def world_text(world: World) -> str:
    """Return a summary of a world in a few lines, with its map if that fits a terminal."""
    low, high = world.mdp.reward_range
    kind = "deterministic" if world.mdp.deterministic else "stochastic"
    lines = [
        f"World {world.name}: {counted(world.n_states, 'state')}, "
        f"{counted(world.n_actions, 'action')} ({', '.join(world.action_names)}), {kind}",
        f"rewards from {low:g} to {high:g}, horizon {world.defaults.horizon:,}, budget {world.defaults.budget:,}",
    ]
    layout = world.layout
    if layout is not None and layout.rows <= MAX_TEXT_ROWS and layout.columns <= MAX_TEXT_COLUMNS:
        drawn = describe_layer(layout, 0)
        lines += ["", *("".join(row) for row in drawn.letter)]
        lines += ["", ", ".join(drawn.legend)] if drawn.meanings else []
    return "\n".join(lines)


def display_layout(world: World) -> Layout:
    """Return the world's layout, wrapped if it is one long row; without a layout, the states in index order."""
    layout = world.layout
    if layout is None:
        kind = np.where(world.mdp.start > 0, CellKind.START, CellKind.FLOOR)
        layout = _wrapped_layout(kind, np.zeros(world.n_states), MAX_ROW_LENGTH)
    elif layout.rows == layout.n_layers == 1 and layout.columns > MAX_ROW_LENGTH:
        cells = layout.kind[0, 0, layout.column], layout.value[0, 0, layout.column]
        layout = _wrapped_layout(*cells, math.ceil(math.sqrt(layout.columns)))
    return layout


def _wrapped_layout(kind: NDArray[np.uint8], value: NDArray[np.float64], max_columns: int) -> Layout:
    """Return a layout with the states in index order, row by row; unused cells of the last row are walls."""
    columns = min(len(kind), max_columns)
    shape = math.ceil(len(kind) / columns), columns
    unused = math.prod(shape) - len(kind)
    kinds = np.append(kind, [CellKind.WALL] * unused).astype(np.uint8).reshape(shape)
    return single_layer_layout(kinds, np.append(value, np.zeros(unused)).reshape(shape), n_states=len(kind))


class DrawnLayer(NamedTuple):
    """The contents of the cells of one layer, all [row, column]."""

    letter: NDArray[np.str_]
    """One letter, as in a text map."""
    color: NDArray[np.str_]
    """The color of the kind of cell, as "#rrggbb"."""
    label: NDArray[np.str_]
    """The letter of a start or prison, the number of a passenger, the reward of a cell that has one; else empty."""
    meanings: dict[str, str]
    """The meanings of the letters that are not built in."""

    @property
    def legend(self) -> list[str]:
        """The meanings as lines of a text map."""
        return [f"{letter} = {meaning}" for letter, meaning in self.meanings.items()]


def describe_layer(layout: Layout, layer: int) -> DrawnLayer:
    """Return what a drawing shows in each cell of a layer."""
    kinds, values = layout.kind[layer], layout.value[layer]
    letter, label = np.full(kinds.shape, "", dtype="U1"), np.full(kinds.shape, "", dtype="U16")
    meanings: dict[str, str] = {}
    upper, lower = iter(_FREE_LETTERS), iter(ascii_lowercase)
    for kind in (CellKind(int(code)) for code in np.unique(kinds)):
        of_kind = kinds == kind
        if kind is CellKind.PASSENGER:
            # Counted row by row, over all layers.
            has_passenger = (layout.kind == kind).any(axis=0)
            numbers = np.cumsum(has_passenger).reshape(has_passenger.shape)
            letter[of_kind] = label[of_kind] = [str(number) for number in numbers[of_kind]]
        elif kind in _LETTERS:
            letter[of_kind] = _LETTERS[kind]
            label[of_kind] = "" if kind in (CellKind.FLOOR, CellKind.WALL) else _LETTERS[kind]
        else:
            for value in np.unique(values[of_kind]):
                cells = of_kind & (values == value)
                letter[cells] = name = next(lower if kind is CellKind.PUDDLE else upper, _FALLBACK[kind])
                label[cells] = f"{value:,g}"
                meanings[name] = f"{kind.name.lower()} {value:g}" if name != _FALLBACK[kind] else kind.name.lower()
    escapes = (kinds == CellKind.PRISON) & (values > 0)
    label[escapes] = [f"P {value:g}" for value in values[escapes]]
    return DrawnLayer(letter, np.array([COLORS[kind] for kind in CellKind])[kinds], label, meanings)


def text_map(layout: Layout, state: int) -> str:
    """Return the text map of a state's layer with the agent in that state, and a legend."""
    drawn = describe_layer(layout, int(layout.layer[state]))
    drawn.letter[layout.row[state], layout.column[state]] = AGENT
    lines = ["".join(row) for row in drawn.letter]
    return "\n".join([*lines, "", *drawn.legend, ""] if drawn.meanings else [*lines, ""])


def by_cell(layout: Layout, values: NDArray[np.float64], *, largest: bool) -> NDArray[np.float64]:
    """Return [row, column]: the sum, or with `largest` the maximum, of the values of all states in a cell.

    States with the value NaN are ignored. Walls and cells without any value are NaN.
    """
    is_open = layout.kind[layout.layer, layout.row, layout.column] != CellKind.WALL
    used = is_open & ~np.isnan(values)
    cells = np.full((layout.rows, layout.columns), -np.inf if largest else 0.0)
    (np.maximum if largest else np.add).at(cells, (layout.row[used], layout.column[used]), values[used])
    has_value = np.zeros(cells.shape, dtype=np.bool_)
    has_value[layout.row[used], layout.column[used]] = True
    return np.where(has_value, cells, np.nan)


SHADES = " ·░▒▓█"


def shaded(intensity: NDArray[np.float64], *, width: int = 2) -> list[str]:
    """Return the rows of a text map whose characters get darker as the intensity of a cell goes from 0 to 1."""
    shade = np.ceil(np.nan_to_num(intensity) * (len(SHADES) - 1)).astype(int).clip(0, len(SHADES) - 1)
    return ["".join(SHADES[i] * width for i in row) for row in shade]


def logarithmic(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return log(1 + counts), divided by its maximum if that is greater than 1."""
    largest = float(np.nanmax(counts)) if np.isfinite(counts).any() else 0.0
    return np.asarray(np.log1p(counts) / max(float(np.log1p(largest)), 1.0))


def rgb(color: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a color "#rrggbb", from 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def is_dark(colors: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which colors [..., (red, green, blue)] need light text on them."""
    return np.asarray(colors @ np.array([0.299, 0.587, 0.114]) < 120)


# --- Figures -------------------------------------------------------------------------------------------

MAX_GRAPH_STATES = 12
"""A world without a layout that has more states is drawn as a grid of its states."""
MAX_GRAPH_ROW = 9
"""A longer row is drawn with its first states, a gap, and its last states."""
MAX_PANELS = 4
_CELL, _PICTURE = 0.55, 6.0
"""The width of a cell and the largest width of a grid, in inches."""
_LEGEND_WIDTH = 2.1
"""The width of an entry of the legend, in inches."""
_READABLE = 0.28
"""The width of a cell, in inches, from which a number fits into it."""
_TEXT_CELLS = 4
"""The number of small cells that a text beside a cell covers."""
_WAVES, _LINES, _BARRIER, _AGENT = "#d3e8f7", "#c4c4c4", "#c0392b", "#1f5fa8"
_ENTRY_EDGES = (((1, 0), (1, 1)), ((0, 0), (0, 1)), ((0, 1), (1, 1)), ((0, 0), (1, 0)))
"""For each grid action, the edge through which it enters a cell: corners (right, down) of a unit square."""
_FIRST, _LAST = 4, 3
_RADIUS = 0.28
_NODE, _START, _REWARD, _LINE = "white", "#cfe2f7", "#f2c230", "#4d4d4d"


def world_html(world: World) -> str:
    """Return the first lines of the summary of a world, and its picture."""
    return figure_html(draw_world(world), world_text(world).partition("\n\n")[0])


def figure_html(figure: Figure, text: str) -> str:
    """Return HTML with a text and the picture of a figure."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    source = base64.b64encode(picture.getvalue()).decode()
    return f'{text_html(text)}<img alt="" style="max-width:100%" src="data:image/png;base64,{source}">'


def text_html(text: str) -> str:
    """Return HTML that shows a text line by line."""
    return f'<pre style="white-space:pre-wrap">{html.escape(text)}</pre>'


def draw_world(world: World, *, title: str | None = None) -> Figure:
    """Return a picture of a world; `title` replaces its name."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        is_row = world.layout is not None and world.layout.rows == world.layout.n_layers == 1
        is_small = world.layout is None and world.n_states <= MAX_GRAPH_STATES
        if is_small or (is_row and not world.mdp.deterministic):
            return draw_graph(world, title=title or _title(world))
        layout = display_layout(world)
        # The layers in which an episode can start.
        layers = sorted(set(layout.layer[world.mdp.start > 0].tolist()))[:MAX_PANELS]
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


def draw_cells(axes: Axes, colors: NDArray[np.str_], *, edge: str, line: float, zorder: float = 1.0) -> None:
    """Draw the squares of a grid with these colors [row, column]; the center of a cell is (column, row)."""
    from matplotlib.collections import PolyCollection

    rows, columns = colors.shape
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    squares = corners + np.indices((columns, rows)).transpose(2, 1, 0).reshape(-1, 1, 2)
    faces = colors.ravel().tolist()
    axes.add_collection(PolyCollection(squares, facecolors=faces, edgecolors=edge, linewidths=line, zorder=zorder))
    axes.set(xlim=(-0.55, columns - 0.45), ylim=(rows - 0.45, -0.55), aspect="equal", xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _title(world: World) -> str:
    options = ", ".join(f"{name}={value}" for name, value in world.options.items() if name != "map")
    return f"{world.name} ({options})" if options and len(options) < 40 else world.name


def _draw_layer(axes: Axes, world: World, layout: Layout, layer: int, size: float) -> dict[str, Any]:
    """Draw one grid; return the legend handles of what is in it."""
    from matplotlib.patches import Patch

    kinds, drawn = layout.kind[layer], describe_layer(layout, layer)
    waves = _cells_with_unequal_rewards(world, layout, layer)
    colors = np.where(waves, _WAVES, np.where(kinds == CellKind.START, COLORS[CellKind.FLOOR], drawn.color))
    draw_cells(axes, colors, edge=_LINES, line=0.6 if size > _READABLE else 0.2)
    plain = (CellKind.FLOOR, CellKind.START)
    for row, column in np.argwhere(~np.isin(kinds, (*plain, CellKind.WALL))):
        beside = kinds[row, column + 1 : column + 1 + _TEXT_CELLS]
        is_free = len(beside) == _TEXT_CELLS and bool(np.isin(beside, plain).all())
        # The reward of a cell may depend on the layer, as in taxi.
        values = np.unique(layout.value[:, row, column])
        text = f"{values[0]:g}–{values[-1]:g}" if len(values) > 2 else str(drawn.label[row, column])
        _write(axes, text, row, column, kinds[row, column], size, to_the_right=is_free)
    found = {_meaning(kind, world): COLORS[kind] for kind in CellKind if kind not in plain and (kinds == kind).any()}
    if waves.any():
        found["reward of one action only"] = _WAVES
    handles = {name: Patch(facecolor=color, edgecolor=_LINES, linewidth=0.6) for name, color in found.items()}
    return _draw_start(axes, world, layout, layer, size) | handles | _draw_barriers(axes, layout)


def _meaning(kind: CellKind, world: World) -> str:
    """Return the text of a kind of cell in the legend."""
    if kind in (CellKind.TREASURE, CellKind.PENALTY):
        return f"{kind.name.lower()}, ends the episode" if world.mdp.terminal.any() else kind.name.lower()
    texts = {CellKind.WALL: "cannot be visited", CellKind.PUDDLE: "puddle, penalty", CellKind.PRISON: "P: prison"}
    return texts.get(kind, kind.name.lower())


def _write(axes: Axes, text: str, row: int, column: int, kind: int, size: float, *, to_the_right: bool) -> None:
    """Write into a cell if the text fits, otherwise beside it."""
    if size >= _READABLE:
        font = min(9.0, 66.0 * size / max(len(text), 3))
        axes.text(column, row, text, ha="center", va="center", fontsize=font)
    elif kind != CellKind.PUDDLE:
        x, align = (column + 0.8, "left") if to_the_right else (column - 0.8, "right")
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
        axes.text(x, row, text, ha=align, va="center", fontsize=7.5, fontweight="bold", bbox=box)


def _cells_with_unequal_rewards(world: World, layout: Layout, layer: int) -> Any:
    """Return [row, column]: floor and start cells in which the reward depends on the action."""
    marked, expected = np.zeros((layout.rows, layout.columns), dtype=np.bool_), expected_reward(world.mdp)
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
                axes.plot([column + x0 - 0.5, column + x1 - 0.5], [row + y0 - 0.5, row + y1 - 0.5], **style)
                drawn = True
    return {"can be left, not entered": Line2D([], [], **style)} if drawn else {}


def _draw_start(axes: Axes, world: World, layout: Layout, layer: int, size: float) -> dict[str, Any]:
    """Draw the start states as dots; return their legend handle."""
    from matplotlib.lines import Line2D

    states = np.flatnonzero((world.mdp.start > 0) & (layout.layer == layer))
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": _AGENT, "markeredgecolor": "white"}
    axes.plot(layout.column[states], layout.row[states], markersize=max(0.55 * 72 * size, 5.0), **style)
    return {"start": Line2D([], [], markersize=7, **style)} if len(states) else {}


# --- Graphs --------------------------------------------------------------------------------------------


def draw_graph(
    world: World,
    *,
    title: str,
    names: Sequence[str] | None = None,
    colors: Mapping[tuple[int, int], str] | None = None,
    only_colored: bool = False,
) -> Figure:
    """Return a graph of a world; `names` are those of the states, `colors` has colors of (state, action) pairs.

    With `only_colored`, other pairs are not drawn.
    """
    from matplotlib.figure import Figure

    n = world.n_states
    shown = list(range(n)) if n <= MAX_GRAPH_ROW else [*range(_FIRST), *range(n - _LAST, n)]
    x = {state: i + (i >= _FIRST and n > MAX_GRAPH_ROW) for i, state in enumerate(shown)}
    figure = Figure(figsize=(1.15 * (max(x.values()) + 1) + 0.5, 3.0), layout="constrained")
    figure.suptitle(title, fontsize=11, fontweight="normal")
    axes = figure.subplots()
    axes.set(xlim=(-0.7, max(x.values()) + 0.7), ylim=(-1.25, 1.25), aspect="equal")
    axes.set_axis_off()
    if n > MAX_GRAPH_ROW:
        axes.text(_FIRST, 0, "…", ha="center", va="center", fontsize=18)
    reward = expected_reward(world.mdp)
    for state in shown:
        _draw_state(axes, world, x[state], state, names[state] if names else str(state + 1), reward[state])
        for (target, color), actions in _arrows(world, state, colors or {}, only_colored).items():
            if target in x:
                text = ", ".join(actions) if state == 0 and not only_colored else ""
                _draw_arrow(axes, x[state], x[target], text, color)
    if not only_colored:
        likeliest = float(world.mdp.probability.max(axis=2).min())
        stochastic = "" if likeliest >= 1.0 else f"; each arrow has a probability of at least {likeliest:g}"
        terminal = "" if world.mdp.terminal.any() else "; no state is terminal"
        figure.supxlabel(f"actions: {', '.join(world.action_names)}{stochastic}{terminal}", fontsize=8)
    return figure


def _draw_state(axes: Axes, world: World, x: float, state: int, name: str, reward: Any) -> None:
    from matplotlib.patches import Circle

    color = _START if world.mdp.start[state] > 0 else _REWARD if np.max(reward) == world.r_max else _NODE
    axes.add_patch(Circle((x, 0), _RADIUS, facecolor=color, edgecolor=_LINE, linewidth=1.0, zorder=3))
    axes.text(x, 0, name, ha="center", va="center", fontsize=10, zorder=4)
    received = [f"{world.action_names[a]}: {value:g}" for a, value in enumerate(reward) if value != 0]
    if received and len(received) < len(reward):
        axes.text(x, -1.0, "reward\n" + "\n".join(received), ha="center", va="center", fontsize=7.5)
    elif received:
        axes.text(x, -1.0, f"reward\n{reward[0]:g}", ha="center", va="center", fontsize=7.5)


def _arrows(
    world: World, state: int, colors: Mapping[tuple[int, int], str], only_colored: bool
) -> dict[tuple[int, str], list[str]]:
    """Return the names of the actions with the same likeliest next state and the same color, by these two."""
    mdp, arrows = world.mdp, dict[tuple[int, str], list[str]]()
    for action, name in enumerate(world.action_names):
        outcome = int(mdp.probability[state, action].argmax())
        if not mdp.terminal[state, action, outcome] and ((state, action) in colors or not only_colored):
            key = (int(mdp.next_state[state, action, outcome]), colors.get((state, action), _LINE))
            arrows.setdefault(key, []).append(name)
    return arrows


def _draw_arrow(axes: Axes, start: float, end: float, text: str, color: str) -> None:
    """Draw an arrow between two states, or from a state to itself, and write a text beside it."""
    sign, distance = (1 if end >= start else -1), abs(end - start)
    begin, tip, bend, place = (start - 0.16, 0.24), (start + 0.16, 0.24), -1.9, (start, 0.78)
    if distance:
        begin, tip = (start + 0.2 * sign, 0.2 * sign), (end - 0.2 * sign, 0.2 * sign)
        bend, place = -0.35 if distance == 1 else -0.45, ((start + end) / 2, sign * (0.3 + 0.25 * distance))
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 10, "color": color, "linewidth": 1.1}
    style |= {"connectionstyle": f"arc3,rad={bend}", "shrinkA": 2, "shrinkB": 2}
    axes.annotate("", tip, begin, arrowprops=style)
    axes.text(*place, text, ha="center", va="center", fontsize=7.5)
