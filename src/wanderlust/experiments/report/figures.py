"""Figures: one color, marker and line style per explorer in all of them, learning curves, and figures as files.

The colours are adapted from the palette of Okabe and Ito, plus a brown and a grey, and are distinguishable with colour
vision deficiency. Line styles show families: solid for vv, dashed for ensembles, dash-dotted for immediate counts,
dotted for dithering.

Learning curves are states discovered and return by step, with 95 % intervals (Figures 8, 10, 12, 16–18, 20, 27, 28).
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.text_tables import FORMATS, printable
from wanderlust.experiments.statistics import paper_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS", "GREY", "LIGHT_GREY", "PAGE_WIDTH", "Curves", "Style", "add_legend", "as_files", "curves_figure",
    "draw_curve", "explorer_styles", "mark_empty", "mean_curves", "new_figure", "sequential_styles", "styled",
    "thinned",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


class Style(NamedTuple):
    """The style of a line."""

    colour: str
    marker: str
    dash: str


_STYLES = {
    "vv-ucb": Style("#0072b2", "o", "-"),
    "vv-count": Style("#e69f00", "s", "-"),
    "random-prior": Style("#009e73", "^", "--"),
    "bootstrapped": Style("#d55e00", "v", "--"),
    "thompson": Style("#d17bb0", "D", "--"),
    "ucb1": Style("#6b3d1e", "P", "-."),
    "bonus": Style("#56b4e9", "X", "-."),
    "epsilon-greedy": Style("#000000", "<", ":"),
    "random": Style("#b5b5b5", ">", ":"),
}
_SPARE_COLOURS = ("#332288", "#999933", "#882255", "#117733", "#b8a000")
_SPARE_STYLES = [Style(colour, marker, "-") for marker in "*hp" for colour in _SPARE_COLOURS]

PAGE_WIDTH = 10.0
"""Maximal width of a figure, in inches."""
SMALL_FONT = 7.0
"""Font size of tick labels and notes, in points."""
GREY = "#6e6e6e"
LIGHT_GREY = "#b8b8b8"
"""The colour of cells that cannot be reached."""


_OMITTED_METADATA = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}
"""Fields in which matplotlib would write its version and the date."""
_PATH, _DECIMALS = re.compile(rb' d="[^"]*"'), re.compile(rb"(\.\d\d)\d+")
"""A path in an SVG file, and coordinates with more than two decimals, which are not visible."""
_MARKERS_PER_LINE = 5
_CHARS_PER_INCH, _SMALL_CHARS_PER_INCH = 17.0, 19.0
"""Approximate number of characters per inch in a legend, and in a note."""
_HANDLE_CHARS = 9
"""Width of a legend handle, in characters."""

_RC: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.8,
    "lines.markeredgewidth": 0.6,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "figure.titlesize": 10.5,
    "figure.titleweight": "bold",
    "hatch.linewidth": 0.4,
    "path.simplify_threshold": 0.5,
    "savefig.dpi": 130,
    "svg.hashsalt": "wanderlust",
}


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function to draw in this style, independent of the user's matplotlib settings."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_RC)
            return function(*args, **kwargs)

    return wrapper


def explorer_styles(explorers: Iterable[str]) -> dict[str, Style]:
    """Return the style of each explorer, in the order of the paper's tables; user-defined explorers follow.

    The style of a user-defined explorer depends on its name, so it is the same in all figures, except for collisions.
    """
    names = dict.fromkeys(explorers)
    styles = {name: style for name, style in _STYLES.items() if name in names}
    for name in names:
        if name not in styles:
            first = zlib.crc32(name.encode()) % len(_SPARE_STYLES)
            rotated = [*_SPARE_STYLES[first:], *_SPARE_STYLES[:first]]
            unused = [style for style in rotated if style not in styles.values()] or rotated
            colours = {style.colour for style in styles.values()}
            styles[name] = next((style for style in unused if style.colour not in colours), unused[0])
    return styles


def sequential_styles(labels: Sequence[str], *, markers: bool = False) -> dict[str, Style]:
    """Return a style for each label of an ordered scale: a sequential palette, from light to dark."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # Without the lightest colours, which are hard to see on white.
    shades = [0.12 + 0.85 * i / max(len(labels) - 1, 1) for i in range(len(labels))]
    symbols = itertools.cycle("osD^v<>PX*hp" if markers else [""])
    return {
        label: Style(to_hex(colormaps["plasma_r"](x)), symbol, "-")
        for label, x, symbol in zip(labels, shades, symbols, strict=False)
    }


def literal_label(text: str) -> str:
    """Return a label that shows a text as it is, such as a user-defined name.

    Matplotlib would set text between two dollar signs as a formula, and omit labels that start with an underscore.
    """
    literal = printable(text).replace("$", r"\$")
    return f" {literal}" if literal.startswith("_") else literal


def new_figure(title: str, width: float, height: float) -> Figure:
    """Return an empty figure with a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title)
    return figure


def add_legend(figure: Figure, handles: Mapping[str, Any], note: str) -> None:
    """Add one legend below all panels, with the note as its title."""
    width = figure.get_figwidth()
    wrapped = textwrap.fill(note, int(_SMALL_CHARS_PER_INCH * width), break_long_words=False)
    if not handles:
        figure.supxlabel(wrapped, fontsize=SMALL_FONT, color=GREY)
        return
    longest = max(len(label.replace("$", "").replace("\\", "")) for label in handles)
    max_columns = max(1, int(_CHARS_PER_INCH * width / (longest + _HANDLE_CHARS)))
    legend = figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        # The smallest number of columns with this number of rows.
        ncols=math.ceil(len(handles) / math.ceil(len(handles) / max_columns)),
        handlelength=3.0,
        columnspacing=1.6,
        title=wrapped or None,
        title_fontsize=SMALL_FONT,
    )
    legend.get_title().set_color(GREY)


def draw_curve(
    axes: Axes,
    steps: NDArray[Any],
    mean: FloatArray,
    interval: tuple[FloatArray, FloatArray] | None,
    style: Style,
    rank: int,
    n_lines: int,
) -> object:
    """Draw curve `rank` of `n_lines` with its interval (low, high); return the legend handle.

    The first curve is drawn on top; the markers of different curves are at different steps.
    """
    zorder = 4 - rank / n_lines
    if interval is not None:
        axes.fill_between(steps, *interval, color=style.colour, alpha=0.15, linewidth=0, zorder=zorder - 1)
    every = max(1, len(steps) // _MARKERS_PER_LINE)
    line_style: dict[str, Any] = {"color": style.colour, "linestyle": style.dash, "marker": style.marker or None}
    (handle,) = axes.plot(steps, mean, markevery=(rank * every // n_lines, every), zorder=zorder, **line_style)
    return handle


def mark_empty(axes: Axes) -> None:
    """Write "no runs" into an empty panel."""
    axes.text(0.5, 0.5, "no runs", transform=axes.transAxes, ha="center", va="center", color=GREY)


@styled
def as_files(draw: Callable[[], Figure], formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Draw a figure once; return it in each format.

    The same figure gives the same bytes, without dates or random identifiers.
    """
    figure = draw()
    # Compute the layout once, not for each format: it takes longer than drawing.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = {}
    for form in formats:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata=dict.fromkeys(_OMITTED_METADATA[form]))
        files[form] = buffer.getvalue()
    if "svg" in files:
        files["svg"] = _PATH.sub(lambda path: _DECIMALS.sub(rb"\1", path[0]), files["svg"])
    return files


# --- Learning curves -------------------------------------------------------------------------------------

_MAX_POINTS = 100
"""More points would not be visible in a panel, and would make large files."""

_LINEAR_THRESHOLD = 0.1
"""Percent below which a logarithmic axis is linear, to show zero and negative returns."""
_MARGIN = 4.0
"""Percent above the optimum and below the lowest mean."""
_MEASURES = {"discovery": "states discovered (%)", "success": "return (% of optimum)"}


Panel = Mapping[str, tuple[FloatArray, FloatArray, FloatArray | None]]
"""Line -> steps, mean over the seeds, and its ± if it has one."""


@dataclass(frozen=True)
class Curves:
    """The mean curves of a group of seeds in percent, each with its ±."""

    steps: FloatArray
    discovery: tuple[FloatArray, FloatArray]
    success: tuple[FloatArray, FloatArray]

    def points(self) -> FloatArray:
        """Return [point, 5]: step, mean and ± of discovery, mean and ± of success."""
        return np.stack([self.steps, *self.discovery, *self.success], axis=1)


def mean_curves(runs: Sequence[FloatArray]) -> Curves:
    """Return the mean curves of several runs, each [(steps, discovery, success), evaluation]."""
    length = min(curves.shape[1] for curves in runs)
    stacked = np.stack([curves[:, :length] for curves in runs])
    return Curves(stacked[0, 0], paper_curve(stacked[:, 1]), paper_curve(stacked[:, 2]))


@styled
def curves_figure(
    title: str,
    columns: Mapping[str, Mapping[str, Curves]],
    styles: Mapping[str, Style],
    *,
    note: str = "",
    log_scale: bool = False,
    percent: bool = True,
) -> Figure:
    """Draw discovery above return, one column per scenario; `columns` maps column -> line -> curves.

    `styles` has the style of each line, in the order of the legend. `log_scale` is for returns that differ by orders
    of magnitude. Without `percent`, the curves are numbers of states and returns, of different ranges in each column.
    """
    figure = new_figure(title, min(PAGE_WIDTH, 1.2 + 3.1 * len(columns)), 5.2)
    axes = figure.subplots(2, len(columns), sharex="col", sharey="row" if percent else "none", squeeze=False)
    handles: dict[str, object] = {}
    for column, (scenario, lines) in enumerate(columns.items()):
        axes[0, column].set_title(scenario)
        _label_steps(axes[1, column], 5, steps=(1, 2, 2.5, 5, 10))
        for row, measure in enumerate(_MEASURES):
            curves = {label: (line.steps, *getattr(line, measure)) for label, line in lines.items()}
            handles |= _draw_lines(axes[row, column], curves, styles)
    for row, name in enumerate(_MEASURES.values()):
        axes[row, 0].set_ylabel(name if percent else name.partition(" (")[0])
        if percent:
            _set_limits(axes[row], log_scale=log_scale and row == 1)
    add_legend(figure, {label: handles[label] for label in styles if label in handles}, note)
    return figure


def _draw_lines(axes: Axes, curves: Panel, styles: Mapping[str, Style]) -> dict[str, object]:
    handles: dict[str, object] = {}
    for rank, (label, style) in enumerate(styles.items()):
        if label not in curves:
            continue
        steps, mean, ci = curves[label]
        points = thinned(len(steps), _MAX_POINTS)
        if np.isfinite(mean[points]).any():
            interval = None if ci is None else ((mean - ci)[points], (mean + ci)[points])
            handles[label] = draw_curve(axes, steps[points], mean[points], interval, style, rank, len(styles))
    if not handles:
        mark_empty(axes)
    return handles


def _label_steps(axes: Axes, n_ticks: int, **options: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(n_ticks, **options))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _set_limits(row: Sequence[Axes], *, log_scale: bool) -> None:
    """Set the limits from the means; intervals may exceed them."""
    lowest = min((np.nanmin(line.get_ydata()) for axes in row for line in axes.get_lines()), default=0.0)
    if log_scale:
        row[0].set_yscale("symlog", linthresh=_LINEAR_THRESHOLD)
        row[0].set_ylim(1.3 * min(lowest, 0.0) - 0.02, 150.0)
    else:
        row[0].set_ylim(lowest - _MARGIN, 100.0 + _MARGIN)


def thinned(length: int, max_points: int) -> slice:
    """Return a slice of at most `max_points` evenly spaced points, including the last one."""
    every = max(1, -(-length // max_points))
    return slice((length - 1) % every, None, every)


# --- Several explorers in one environment ----------------------------------------------------------------


@styled
def comparison_figure(title: str, panels: Mapping[str, Panel], *, note: str = "") -> Figure:
    """Draw a panel for each measure, a line for each explorer, with 95 % intervals over the seeds."""
    styles = explorer_styles(explorer for curves in panels.values() for explorer in curves)
    figure = new_figure(literal_label(title), min(PAGE_WIDTH, 1.0 + 3.0 * len(panels)), 3.4)
    handles: dict[str, object] = {}
    for name, axes in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
        handles |= {literal_label(label): each for label, each in _draw_lines(axes, panels[name], styles).items()}
        axes.set_title(name)
        axes.set_xlim(left=0)
        _label_steps(axes, 4)
        if name.startswith("solved"):
            axes.set_ylim(-4, 104)
        elif name.startswith("states"):
            axes.set_ylim(bottom=0)
    add_legend(figure, handles, literal_label(note))
    return figure
