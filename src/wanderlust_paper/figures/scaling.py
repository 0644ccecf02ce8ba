"""Sample complexity against problem size (Figures 22 and 25), with a fitted exponent, or against ε (Figure 26).

Filled markers are means over seeds that all learnt, with 95 % intervals. If some seeds did not learn within the step
limit, the marker is open and the line is dashed. Then the mean is over the others, and at the limit if there are none,
as in Figure 22; with `every_seed` it is over all seeds, and a second row of panels shows how many learnt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust.core.mdp import BoolArray, FloatArray
from wanderlust.experiments.report.figures import (
    GREY,
    PAGE_WIDTH,
    Style,
    add_legend,
    explorer_styles,
    mark_empty,
    new_figure,
    styled,
)
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.statistics import Interval, paper_curve
from wanderlust_paper.registry import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MIN_SIZES = 3
"""The minimal number of sizes for a fit: two points always lie on a line."""
_LEVEL = 0.95
_ERROR_BAR: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.5, "alpha": 0.7, "zorder": 3}


class PowerLaw(NamedTuple):
    """y = factor · x^exponent."""

    exponent: Interval
    factor: float


def power_law(x: FloatArray, log_y: Sequence[float]) -> PowerLaw:
    """Return the least-squares fit of log y over log x, with the Student t interval of its exponent."""
    from scipy.stats import t

    u, v = np.log(x), np.array(log_y, np.float64)
    centred = u - u.mean()
    sum_of_squares = float(centred @ centred)
    exponent = float(centred @ v) / sum_of_squares
    residual = v - v.mean() - exponent * centred
    dof = len(u) - 2
    half = float(t.ppf((1 + _LEVEL) / 2, dof)) * math.sqrt(float(residual @ residual) / dof / sum_of_squares)
    return PowerLaw(Interval(exponent, exponent - half, exponent + half), float(np.exp(v.mean() - exponent * u.mean())))


@dataclass(frozen=True)
class SampleComplexity:
    """The sample complexity of one explorer, for several problem sizes or thresholds ε."""

    x: FloatArray
    """[point]: the size N, or ε."""
    steps: FloatArray
    """[point, seed]; NaN where a run is missing."""
    learnt: BoolArray
    """[point, seed]: whether it learnt within the limit; if not, its steps are ignored unless `every_seed`."""
    every_seed: bool = False
    """Whether the mean is over all seeds, those included that did not learn."""

    @property
    def complete(self) -> BoolArray:
        """[point]: whether there are runs and all of them learnt."""
        stored = np.isfinite(self.steps)
        return np.asarray(stored.any(axis=1) & (self.learnt | ~stored).all(axis=1))

    def counted(self, point: int) -> FloatArray:
        """Return the steps of the seeds that the mean of a point is over."""
        steps = self.steps[point]
        return np.asarray(steps[np.isfinite(steps) & (self.learnt[point] | self.every_seed)])

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean over the counted seeds, and its ±; NaN where there are none."""
        mean, ci = np.full((2, len(self.x)), np.nan)
        for i in range(len(self.x)):
            selected = self.counted(i)
            if len(selected):
                mean[i], ci[i] = paper_curve(selected)
        return mean, ci

    def learnt_percent(self) -> FloatArray:
        """Return the percentage of the seeds of each point that learnt; NaN without runs."""
        stored = np.isfinite(self.steps)
        n = stored.sum(axis=1)
        return np.where(n > 0, 100.0 * (self.learnt & stored).sum(axis=1) / np.maximum(n, 1), np.nan)

    def fit(self) -> PowerLaw | None:
        """Return the power law of steps over size, fitted where every seed learnt; None with too few sizes."""
        complete = np.flatnonzero(self.complete)
        if len(complete) < _MIN_SIZES:
            return None
        return power_law(self.x[complete], [np.nanmean(np.log(self.steps[i])) for i in complete])


Lines = Mapping[str, SampleComplexity]
"""Explorer -> its sample complexity."""
Panels = Mapping[str, Lines]


@styled
def scaling_figure(
    title: str, panels: Panels, *, x_name: str, y_name: str, limit: float | None = None, note: str = ""
) -> Figure:
    """Draw steps against size on logarithmic axes.

    The legend has the fitted exponents of each explorer, one for each panel.
    """
    figure, columns, styles = _panels(title, panels, y_name)
    handles: dict[str, Any] = {}
    for column, lines in zip(columns, panels.values(), strict=True):
        handles |= _draw_column(column, lines, styles, limit, x_name)
        _set_size_ticks(column[-1], sorted({float(x) for each in lines.values() for x in each.x}))
    labels = {f"{name}  {_exponents(panels, name)}": handles[name] for name in styles if name in handles}
    add_legend(figure, labels | _marker_handles(limit, _every_seed(panels)), note)
    return figure


@styled
def epsilon_figure(title: str, panels: Panels, *, y_name: str, limit: float | None = None, note: str = "") -> Figure:
    """Draw steps against ε on logarithmic axes; ε = 0 is drawn at the left end."""
    figure, columns, styles = _panels(title, panels, y_name)
    handles: dict[str, Any] = {}
    for column, lines in zip(columns, panels.values(), strict=True):
        epsilons = sorted({float(x) for each in lines.values() for x in each.x})
        positive = [x for x in epsilons if x > 0]
        zero_x = min(positive, default=1.0) / _zero_gap(positive)
        shifted = {name: replace(each, x=np.where(each.x > 0, each.x, zero_x)) for name, each in lines.items()}
        handles |= _draw_column(column, shifted, styles, limit, "ε")
        _set_epsilon_ticks(column[-1], epsilons, zero_x)
    labels = {name: handles[name] for name in styles if name in handles}
    add_legend(figure, labels | _marker_handles(limit, _every_seed(panels)), note)
    return figure


def _every_seed(panels: Panels) -> bool:
    return any(each.every_seed for lines in panels.values() for each in lines.values())


def _panels(title: str, panels: Panels, y_name: str) -> tuple[Figure, list[list[Axes]], dict[str, Style]]:
    """Return the figure, the axes of each column, and the styles; with `every_seed` a column has two panels."""
    two = _every_seed(panels)
    figure = new_figure(title, min(PAGE_WIDTH, 2.6 + 3.4 * len(panels)), 4.0 + 1.5 * two)
    ratios = (3.0, 1.3) if two else (1.0,)
    grid = figure.subplots(len(ratios), len(panels), sharex="col", sharey="row", squeeze=False, height_ratios=ratios)
    for axes, name in zip(grid[0], panels, strict=True):
        axes.set_title(name)
        axes.set_yscale("log")
    grid[0, 0].set_ylabel(y_name)
    if two:
        grid[1, 0].set_ylabel("ε-optimal\nseeds (%)")
        grid[1, 0].set_ylim(-6, 106)
    styles = explorer_styles(name for lines in panels.values() for name in lines)
    return figure, [list(column) for column in grid.T], styles


def _draw_column(
    column: list[Axes], lines: Lines, styles: Mapping[str, Style], limit: float | None, x_name: str
) -> dict[str, Any]:
    """Draw one column of panels; return the legend handles."""
    for axes in column:
        axes.set_xscale("log")
    column[-1].set_xlabel(x_name)
    for rank, (explorer, style) in enumerate(styles.items()):
        if len(column) > 1 and explorer in lines:
            percent, zorder = lines[explorer].learnt_percent(), 4 - rank / len(styles)
            column[1].plot(
                lines[explorer].x, percent, color=style.colour, marker=style.marker, markersize=2.6, linewidth=0.9,
                zorder=zorder,
            )  # fmt: skip
    return _draw_lines(column[0], lines, styles, limit)


def _draw_lines(axes: Axes, lines: Lines, styles: Mapping[str, Style], limit: float | None) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    for explorer, style in styles.items():
        if explorer in lines and np.isfinite(lines[explorer].steps).any():
            _draw_line(axes, lines[explorer], style, limit)
            handles[explorer] = Line2D([], [], color=style.colour, marker=style.marker, linestyle="-")
    if handles and limit is not None:
        axes.axhline(limit, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if not handles:
        mark_empty(axes)
    return handles


def _draw_line(axes: Axes, runs: SampleComplexity, style: Style, limit: float | None) -> None:
    mean, ci = runs.means()
    complete = runs.complete
    none_learnt = np.isnan(mean) & np.isfinite(runs.steps).any(axis=1)
    height = np.where(none_learnt, np.nan if limit is None else limit, mean)
    solid = complete[:-1] & complete[1:]
    for selected, dash in ((solid, "-"), (~solid, "--")):
        x, y = (_segments(each)[selected].ravel() for each in (runs.x, height))
        if np.isfinite(y).any():
            axes.plot(x, y, color=style.colour, linestyle=dash, linewidth=0.9, zorder=3)
    finite = np.isfinite(mean)
    if finite.any():
        # The lower end of an error bar must be positive on a logarithmic axis.
        bars = np.stack([np.minimum(ci, 0.9 * mean), ci])[:, finite]
        axes.errorbar(runs.x[finite], mean[finite], bars, fmt="none", ecolor=style.colour, **_ERROR_BAR)
    for selected, face in ((complete, style.colour), (~complete & np.isfinite(height), "white")):
        axes.plot(
            runs.x[selected],
            height[selected],
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            markerfacecolor=face,
            markeredgewidth=0.9,
            zorder=4,
        )


def _segments(values: FloatArray) -> FloatArray:
    """Return [segment, 3]: a point, the next point, and NaN, which separates segments in a plot."""
    return np.stack([values[:-1], values[1:], np.full(len(values) - 1, np.nan)], axis=1)


def _marker_handles(limit: float | None, every_seed: bool) -> dict[str, Any]:
    """Return the legend of filled and open markers, and of the step limit."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": GREY, "marker": "o"}
    not_all = "not all" if every_seed else "not all: mean of those that did"
    all_learnt = "all seeds ε-optimal" if every_seed else "all seeds learnt"
    handles = {
        all_learnt: Line2D([], [], linestyle="-", **style),
        not_all: Line2D([], [], linestyle="--", markerfacecolor="white", **style),
    }
    if limit is not None:
        handles["step limit"] = Line2D([], [], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    return handles


def _exponents(panels: Panels, explorer: str) -> str:
    """Return the fitted exponents of an explorer, one for each panel, as text."""
    fits = [lines[explorer].fit() if explorer in lines else None for lines in panels.values()]
    if not any(fits):
        return "(no fit)"
    texts = [f"{fit.exponent.estimate:.2f}" if fit else "–" for fit in fits]
    if len(fits) == 1 and fits[0]:
        texts = [f"{texts[0]} [{fits[0].exponent.low:.2f}, {fits[0].exponent.high:.2f}]"]
    return f"exponent {', '.join(texts)}"


def _set_size_ticks(axes: Axes, sizes: list[float]) -> None:
    from matplotlib.ticker import NullLocator, ScalarFormatter

    axes.set_xticks(_tick_positions(sizes))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())


def _tick_positions(sizes: list[float]) -> list[float]:
    """Return about six of the sizes, evenly spaced on a logarithmic scale, including the first and the last."""
    if len(sizes) <= 6:
        return sizes
    targets = np.log(np.geomspace(sizes[0], sizes[-1], 6))
    nearest = np.abs(np.log(sizes)[:, None] - targets).argmin(axis=0)
    return [sizes[i] for i in np.unique(nearest)]


def _zero_gap(positive: list[float]) -> float:
    """Return the factor between the smallest ε and the position of zero: a tenth of the axis, at least one decade."""
    return max(10.0, (positive[-1] / positive[0]) ** 0.1) if positive else 10.0


def _set_epsilon_ticks(axes: Axes, epsilons: list[float], zero_x: float) -> None:
    """Label powers of ten, and the position of zero."""
    positive = [x for x in epsilons if x > 0]
    ticks = {x: f"$10^{{{round(np.log10(x))}}}$" for x in _tick_positions(positive)} if positive else {}
    if 0.0 in epsilons:
        ticks = {zero_x: "0", **ticks}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()


_LEGEND = "exponent: power law fitted to the sizes at which every seed learnt, with its 95 % interval; "
_MEANS = {
    False: "runs that did not learn within the step limit are excluded from the mean, as in the paper.",
    True: "the mean is over all seeds; learnt: runs that ended with an ε-optimal policy.",
}


def build_complexity(
    by_size: Mapping[float, Mapping[int, tuple[float, bool]]], *, every_seed: bool = False
) -> SampleComplexity:
    """Return the sample complexity of one explorer from size -> seed -> (steps, learnt); missing runs become NaN."""
    seeds = sorted({seed for by_seed in by_size.values() for seed in by_seed})
    sizes = sorted(by_size)
    steps = np.full((len(sizes), len(seeds)), np.nan)
    learnt = np.zeros(steps.shape, np.bool_)
    for i, size in enumerate(sizes):
        for j, seed in enumerate(seeds):
            steps[i, j], learnt[i, j] = by_size[size].get(seed, (np.nan, False))
    return SampleComplexity(x=np.array(sizes, float), steps=steps, learnt=learnt, every_seed=every_seed)


def complexity_report(title: str, panels: Panels, *, size: str, limit: float, note: str) -> Report:
    """Return the exponents as a table, and one row for every explorer and size as CSV."""
    heads = ["explorer", "learnt", "exponent", f"steps at the largest {size}"]
    several = len(panels) > 1
    every_seed = any(runs.every_seed for _, _, runs in _flatten(panels))
    legend = _LEGEND + _MEANS[every_seed]
    rows = [[*([panel] if several else []), *_summary(explorer, runs)] for panel, explorer, runs in _flatten(panels)]
    heads = [*([""] if several else []), *heads]
    table = as_rich_table(title, heads, rows, f"{legend} {note}".strip(), text_columns=len(heads) - 3)
    points = [
        [panel, explorer, f"{x:g}", *_point(runs, i)]
        for panel, explorer, runs in _flatten(panels)
        for i, x in enumerate(runs.x)
    ]
    columns = ["panel", "explorer", size, "seeds", "learnt", "mean_steps", "median_steps", "limit", "note"]
    return Report(
        renderables=[table],
        files={
            "table.md": as_markdown_table(title, heads, rows, legend, note),
            "steps.csv": as_csv(columns, [[*point, f"{limit:g}", note] for point in points]),
        },
    )


def _flatten(panels: Panels) -> Iterator[tuple[str, str, SampleComplexity]]:
    for panel, by_explorer in panels.items():
        for explorer, runs in by_explorer.items():
            yield panel, explorer, runs


def _summary(explorer: str, runs: SampleComplexity) -> list[str]:
    stored = ~np.isnan(runs.steps)
    fit = runs.fit()
    exponent = f"{fit.exponent.estimate:.2f} [{fit.exponent.low:.2f}, {fit.exponent.high:.2f}]" if fit else "–"
    last = runs.counted(len(runs.x) - 1)
    return [
        explorer,
        f"{int((runs.learnt & stored).sum())} of {int(stored.sum())}",
        exponent,
        f"{last.mean():,.0f}" if len(last) else "–",
    ]


def _point(runs: SampleComplexity, i: int) -> list[str]:
    stored, steps = ~np.isnan(runs.steps[i]), runs.counted(i)
    numbers = [f"{steps.mean():.1f}", f"{np.median(steps):.1f}"] if len(steps) else ["", ""]
    return [str(int(stored.sum())), str(int((stored & runs.learnt[i]).sum())), *numbers]
