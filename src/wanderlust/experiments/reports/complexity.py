"""Tables of steps against a size: how many it took, how many seeds never got there, and the fitted exponent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from wanderlust.experiments.reports.figures.scaling import Complexity
from wanderlust.experiments.reports.formats import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.reports.report import Report

Panels = Mapping[str, Mapping[str, Complexity]]

_LEGEND = (
    "exponent: of a power law fitted to the sizes at which every seed learnt, with its 95 % interval; runs that did "
    "not learn within the limit are counted, not averaged."
)


def as_complexity(by_size: Mapping[float, Mapping[int, tuple[float, bool]]]) -> Complexity:
    """Return one explorer's runs, given size -> seed -> (steps, learnt); NaN stands for a run that is missing."""
    seeds = sorted({seed for by_seed in by_size.values() for seed in by_seed})
    sizes = sorted(by_size)
    steps = np.full((len(sizes), len(seeds)), np.nan)
    learnt = np.zeros(steps.shape, np.bool_)
    for i, size in enumerate(sizes):
        for j, seed in enumerate(seeds):
            steps[i, j], learnt[i, j] = by_size[size].get(seed, (np.nan, False))
    return Complexity(x=np.array(sizes, float), steps=steps, learnt=learnt)


def complexity_report(title: str, panels: Panels, *, size: str, limit: float, note: str) -> Report:
    """Return the exponents as a table, and one line for every explorer and size as CSV."""
    heads = ["explorer", "learnt", "exponent", f"steps at the largest {size}"]
    many = len(panels) > 1
    lines = [[*([panel] if many else []), *_summary(explorer, runs)] for panel, explorer, runs in _each(panels)]
    heads = [*([""] if many else []), *heads]
    table = as_rich_table(title, heads, lines, f"{_LEGEND} {note}".strip(), names=len(heads) - 3)
    points = [
        [panel, explorer, f"{x:g}", *_point(runs, i)]
        for panel, explorer, runs in _each(panels)
        for i, x in enumerate(runs.x)
    ]
    columns = ["panel", "explorer", size, "seeds", "learnt", "mean_steps", "median_steps", "limit", "note"]
    return Report(
        shown=[table],
        files={
            "table.md": as_markdown_table(title, heads, lines, _LEGEND, note),
            "steps.csv": as_csv(columns, [[*point, f"{limit:g}", note] for point in points]),
        },
    )


def _each(panels: Panels) -> Iterator[tuple[str, str, Complexity]]:
    for panel, by_explorer in panels.items():
        for explorer, runs in by_explorer.items():
            yield panel, explorer, runs


def _summary(explorer: str, runs: Complexity) -> list[str]:
    made = ~np.isnan(runs.steps)
    fit = runs.fit()
    exponent = f"{fit.exponent.estimate:.2f} [{fit.exponent.low:.2f}, {fit.exponent.high:.2f}]" if fit else "–"
    last = runs.steps[-1][runs.learnt[-1]]
    return [
        explorer,
        f"{int((runs.learnt & made).sum())} of {int(made.sum())}",
        exponent,
        f"{last.mean():,.0f}" if len(last) else "–",
    ]


def _point(runs: Complexity, i: int) -> list[str]:
    made, learnt = ~np.isnan(runs.steps[i]), runs.learnt[i]
    steps = runs.steps[i][made & learnt]
    numbers = [f"{steps.mean():.1f}", f"{np.median(steps):.1f}"] if len(steps) else ["", ""]
    return [str(int(made.sum())), str(len(steps)), *numbers]
