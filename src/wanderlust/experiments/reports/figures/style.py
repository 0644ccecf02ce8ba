"""How figures look: one colour, marker and dash per explorer, the same everywhere; fonts and sizes.

The colours are, but for a shade, Okabe and Ito's, a brown and a grey: people who confuse red and green can tell them
apart. Dashes tell families: solid learns W, dashed keeps an ensemble, dash-dotted counts, dotted dithers.
"""

from __future__ import annotations

import functools
import math
import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")


class Style(NamedTuple):
    """How a line is drawn."""

    colour: str
    marker: str
    dash: str


_KNOWN = {
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
_SPARE = tuple(
    Style(colour, marker, "-")
    for marker, *colours in (
        ("*", "#332288", "#999933", "#882255", "#117733", "#b8a000"),
        ("h", "#999933", "#882255", "#117733", "#b8a000", "#332288"),
        ("p", "#882255", "#117733", "#b8a000", "#332288", "#999933"),
    )
    for colour in colours
)

WIDTH = 10.0
"""Of a figure that fills the width of a page, in inches."""
SMALL = 7.0
"""The size of letters that need not be read first."""
GREY = "#6e6e6e"
CLOSED = "#b8b8b8"
"""The colour of cells that cannot be entered."""

_LETTERS, _SMALL_LETTERS = 17.0, 19.0
"""About how many letters of a legend, and of small print, an inch holds."""
_LETTERS_OF_A_HANDLE = 9
"""How many letters' room the line beside a label takes."""

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
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
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
    """Make a function draw as figures look here, whatever the reader's own matplotlib is set to."""

    @functools.wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_RC)
            return function(*args, **kwargs)

    return inside


def styles_of(explorers: Iterable[str]) -> dict[str, Style]:
    """Return the style of each explorer, in the order of the paper's tables; others follow, with spare styles.

    Which spare style an explorer has depends on its name, so that it looks the same everywhere, unless two clash.
    """
    names = dict.fromkeys(explorers)
    found = {name: style for name, style in _KNOWN.items() if name in names}
    for name in names:
        if name not in found:
            first = zlib.crc32(name.encode()) % len(_SPARE)
            turns = [*_SPARE[first:], *_SPARE[:first]]
            fresh = [style for style in turns if style not in found.values()] or turns
            colours = {style.colour for style in found.values()}
            found[name] = next((style for style in fresh if style.colour not in colours), fresh[0])
    return found


def shades_of(labels: Sequence[str]) -> dict[str, Style]:
    """Return a style for each step of a scale, from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    markers = "osD^v<>PX*hp"
    return {
        label: Style(to_hex(colormaps["viridis"](0.93 * i / max(len(labels) - 1, 1))), markers[i % len(markers)], "-")
        for i, label in enumerate(labels)
    }


def new_figure(title: str, width: float, height: float) -> Figure:
    """Return an empty figure with a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title)
    return figure


def add_legend(figure: Figure, handles: Mapping[str, Any], note: str) -> None:
    """Put one legend for all panels below them, headed by the note, if there is any."""
    width = figure.get_figwidth()
    lines = textwrap.fill(note, int(_SMALL_LETTERS * width), break_long_words=False)
    if not handles:
        figure.supxlabel(lines, fontsize=SMALL, color=GREY)
        return
    longest = max(len(label.replace("$", "").replace("\\", "")) for label in handles)
    across = max(1, int(_LETTERS * width / (longest + _LETTERS_OF_A_HANDLE)))
    legend = figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        # As many rows as it takes, and no more columns than fill them.
        ncols=math.ceil(len(handles) / math.ceil(len(handles) / across)),
        handlelength=3.0,
        columnspacing=1.6,
        title=lines or None,
        title_fontsize=SMALL,
    )
    legend.get_title().set_color(GREY)


def say_empty(axes: Axes) -> None:
    """Say in the middle of a panel that nothing can be drawn in it."""
    axes.text(0.5, 0.5, "no runs", transform=axes.transAxes, ha="center", va="center", color=GREY)
