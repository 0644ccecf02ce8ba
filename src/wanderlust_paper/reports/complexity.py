"""Tables of sample complexity against problem size: mean steps, seeds that learnt, fitted exponent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust_paper.figures.scaling import SampleComplexity

Panels = Mapping[str, Mapping[str, SampleComplexity]]

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
