"""Sample complexity: steps against the size of a world, with the exponent of their growth, or against ε.

Filled marks are means over seeds that all learnt, with bars of 95 %. Where some did not learn within the limit the mark
is open, the mean is of those that did, and the line is dashed; where none did, an open mark lies on the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.experiments.reports.figures.style import (
    GREY,
    SMALL,
    WIDTH,
    Style,
    add_legend,
    new_figure,
    say_empty,
    styled,
    styles_of,
)
from wanderlust.experiments.reports.statistics import PowerLaw, paper_curve, power_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST_SIZES = 3
"""A line goes through any two points: fewer sizes tell nothing of an exponent."""
_BAR: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.5, "alpha": 0.7, "zorder": 3}


@dataclass(frozen=True)
class Complexity:
    """The steps that an explorer took, for sizes or for accuracies."""

    x: FloatArray
    """[point]: the size N, or ε."""
    steps: FloatArray
    """[point, seed]; NaN where a run is missing."""
    learnt: BoolArray
    """[point, seed]: whether it learnt within the limit; if not, its steps count for nothing."""

    def __post_init__(self) -> None:
        if self.steps.shape != self.learnt.shape or self.steps.shape[:1] != self.x.shape:
            raise InvalidSetting(
                f"steps and learnt must be [point, seed] with as many points as x, got shapes "
                f"{self.steps.shape}, {self.learnt.shape} and {self.x.shape}."
            )

    @property
    def complete(self) -> BoolArray:
        """[point]: whether there are runs and all of them learnt."""
        made = np.isfinite(self.steps)
        return np.asarray(made.any(axis=1) & (self.learnt | ~made).all(axis=1))

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean over the seeds that learnt, and its ±; NaN where none did."""
        mean, ci = np.full((2, len(self.x)), np.nan)
        for i, (steps, learnt) in enumerate(zip(self.steps, self.learnt, strict=True)):
            found = steps[learnt & np.isfinite(steps)]
            if len(found):
                mean[i], ci[i] = paper_curve(found)
        return mean, ci

    def fit(self) -> PowerLaw | None:
        """Return how steps grow with the size, from the sizes at which every seed learnt; None if these are too few."""
        whole = np.flatnonzero(self.complete)
        if len(whole) < _FEWEST_SIZES:
            return None
        return power_law(self.x[whole], [np.nanmean(np.log(self.steps[i])) for i in whole])


@styled
def scaling_figure(
    title: str,
    panels: Mapping[str, Mapping[str, Complexity]],
    *,
    x_name: str,
    y_name: str,
    limit: float | None = None,
    note: str = "",
) -> Figure:
    """Draw steps against size on logarithmic axes; `panels` is panel, then explorer, then its runs.

    Each panel lists its explorers with the exponent of the growth and its 95 % interval.
    """
    from matplotlib.ticker import NullLocator, ScalarFormatter

    figure, row, styles = _panels(title, panels, y_name, height=4.6)
    for axes, lines in zip(row, panels.values(), strict=True):
        axes.set_xscale("log")
        handles = _draw_lines(axes, lines, styles, limit)
        axes.set_xlabel(x_name)
        sizes = sorted({float(x) for each in lines.values() for x in each.x})
        axes.set_xticks(_few(sizes))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
        if handles:
            named = [f"{explorer}  {_exponent(lines[explorer].fit())}" for explorer in handles]
            axes.legend(list(handles.values()), named, loc="upper left", handlelength=2.4, fontsize=SMALL)
    _leave_room(row[0], max(len(lines) for lines in panels.values()))
    add_legend(figure, _meanings(), note)
    return figure


@styled
def epsilon_figure(
    title: str,
    panels: Mapping[str, Mapping[str, Complexity]],
    *,
    y_name: str,
    limit: float | None = None,
    note: str = "",
) -> Figure:
    """Draw steps against the accuracy ε on logarithmic axes, finest on the left; ε = 0 stands at the left end."""
    figure, row, styles = _panels(title, panels, y_name, height=4.0)
    handles: dict[str, Any] = {}
    for axes, lines in zip(row, panels.values(), strict=True):
        accuracies = sorted({float(x) for each in lines.values() for x in each.x})
        positive = [x for x in accuracies if x > 0]
        zero = min(positive, default=1.0) / _zero_gap(positive)
        placed = {name: replace(each, x=np.where(each.x > 0, each.x, zero)) for name, each in lines.items()}
        axes.set_xscale("log")
        handles |= _draw_lines(axes, placed, styles, limit)
        axes.set_xlabel("ε")
        _label_zero(axes, accuracies, zero)
    add_legend(figure, {name: handles[name] for name in styles if name in handles} | _meanings(), note)
    return figure


def _panels(
    title: str, panels: Mapping[str, Mapping[str, Complexity]], y_name: str, *, height: float
) -> tuple[Figure, list[Axes], dict[str, Style]]:
    figure = new_figure(title, min(WIDTH, 2.6 + 3.4 * len(panels)), height)
    row = list(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0])
    for axes, name in zip(row, panels, strict=True):
        axes.set_title(name)
        axes.set_yscale("log")
    row[0].set_ylabel(y_name)
    return figure, row, styles_of(explorer for lines in panels.values() for explorer in lines)


def _draw_lines(
    axes: Axes, lines: Mapping[str, Complexity], styles: Mapping[str, Style], limit: float | None
) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    for explorer, style in styles.items():
        if explorer in lines and np.isfinite(lines[explorer].steps).any():
            _draw_line(axes, lines[explorer], style, limit)
            handles[explorer] = Line2D([], [], color=style.colour, marker=style.marker, linestyle="-")
    if handles and limit is not None:
        axes.axhline(limit, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if not handles:
        say_empty(axes)
    return handles


def _draw_line(axes: Axes, runs: Complexity, style: Style, limit: float | None) -> None:
    mean, ci = runs.means()
    whole = runs.complete
    none = np.isnan(mean) & np.isfinite(runs.steps).any(axis=1)
    height = np.where(none, np.nan if limit is None else limit, mean)
    joined = whole[:-1] & whole[1:]
    for chosen, dash in ((joined, "-"), (~joined, "--")):
        x, y = (_pieces(each)[chosen].ravel() for each in (runs.x, height))
        if np.isfinite(y).any():
            axes.plot(x, y, color=style.colour, linestyle=dash, linewidth=0.9, zorder=3)
    found = np.isfinite(mean)
    if found.any():
        # The lower end of a bar must not leave the logarithm's domain.
        bars = np.stack([np.minimum(ci, 0.9 * mean), ci])[:, found]
        axes.errorbar(runs.x[found], mean[found], bars, fmt="none", ecolor=style.colour, **_BAR)
    for chosen, face in ((whole, style.colour), (~whole & np.isfinite(height), "white")):
        axes.plot(
            runs.x[chosen],
            height[chosen],
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            markerfacecolor=face,
            markeredgewidth=0.9,
            zorder=4,
        )


def _pieces(values: FloatArray) -> FloatArray:
    """Return [point, 3]: each point, the next one, and a gap."""
    return np.stack([values[:-1], values[1:], np.full(len(values) - 1, np.nan)], axis=1)


def _meanings() -> dict[str, Any]:
    """Return what filled and open marks mean."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": GREY, "marker": "o"}
    return {
        "all seeds learnt": Line2D([], [], linestyle="-", **look),
        "some seeds did not, or none (on the limit)": Line2D([], [], linestyle="--", markerfacecolor="white", **look),
    }


def _exponent(found: PowerLaw | None) -> str:
    if found is None:
        return "–"
    estimate, low, high = found.exponent
    return f"$N^{{{estimate:.2f}}}$ [{low:.2f}, {high:.2f}]"


def _few(sizes: list[float]) -> list[float]:
    """Return about six of the sizes, evenly spaced in the logarithm, the first and the last among them."""
    if len(sizes) <= 6:
        return sizes
    wanted = np.log(np.geomspace(sizes[0], sizes[-1], 6))
    nearest = np.abs(np.log(sizes)[:, None] - wanted).argmin(axis=0)
    return [sizes[i] for i in np.unique(nearest)]


def _leave_room(axes: Axes, lines: int) -> None:
    """Raise the upper end, so that a list of so many lines hides nothing."""
    low, high = axes.get_ylim()
    share = min(0.055 * lines + 0.02, 0.6)
    axes.set_ylim(low, low * (high / low) ** (1 / (1 - share)))


def _zero_gap(positive: list[float]) -> float:
    """Return the factor by which zero stands left of the least: a tenth of the axis, at least one decade."""
    return max(10.0, (positive[-1] / positive[0]) ** 0.1) if positive else 10.0


def _label_zero(axes: Axes, accuracies: list[float], zero: float) -> None:
    """Name decades that are shown, and the place that stands for zero."""
    positive = [x for x in accuracies if x > 0]
    ticks = {x: f"$10^{{{round(np.log10(x))}}}$" for x in _few(positive)} if positive else {}
    if 0.0 in accuracies:
        ticks = {zero: "0", **ticks}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
