"""What the command `compare` does: several explorers and seeds in one environment, a table, a picture."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from wanderlust.cli import runs as of_explorers
from wanderlust.cli.environment import Environment
from wanderlust.cli.files import check_writable, write_bytes, write_text
from wanderlust.cli.threshold import Threshold, threshold_of
from wanderlust.core.errors import InvalidSetting, check_number
from wanderlust.experiments.reports.figures.comparison import LearningCurves, comparison_figure
from wanderlust.experiments.reports.figures.files import FORMATS, as_files
from wanderlust.experiments.reports.statistics import Interval, paper_percent, wilson_interval
from wanderlust.experiments.reports.tables import as_csv
from wanderlust.experiments.result import Result

TABLE = "comparison.csv"


@dataclass(frozen=True)
class Comparison:
    """What was asked for."""

    environment: Environment
    explorers: tuple[str, ...]
    seeds: int
    steps: int
    changes: tuple[str, ...] = ()
    episodes: int = 10
    solved_at: float | None = None


@dataclass(frozen=True)
class Line:
    """What came of one explorer; times are steps, and infinite where it never happened."""

    explorer: str
    seeds: int
    solved: Interval
    steps_to_solve: float
    """Of these and the next two, the median over the seeds."""
    first_reward: float
    first_end: float
    states: float
    returns: tuple[float, float]
    """Of the last evaluation: mean and ± over the seeds."""


def compare(asked: Comparison, folder: Path, *, jobs: int | None, plot: Path | None, quiet: bool) -> int:
    """Make the runs that are missing, print the table, draw the picture; return 1 if a run failed, else 0."""
    if asked.solved_at is not None:
        check_number("solved_at", asked.solved_at)
    if plot is not None:
        _check_plot(plot)
    env = asked.environment.make()
    threshold = threshold_of(env, asked.solved_at)
    runs = of_explorers.planned(
        asked.environment,
        env,
        asked.explorers,
        seeds=asked.seeds,
        steps=asked.steps,
        changes=asked.changes,
        episodes=asked.episodes,
    )
    env.close()
    results, failed = of_explorers.made(runs, folder, jobs=jobs, quiet=quiet)
    lines = [line_of(explorer, found, threshold) for explorer, found in results.items() if found]
    console = of_explorers.console()
    if lines:
        between = int(next(found for found in results.values() if found)[0].steps[0])
        _print(console, f"{asked.environment.typed}, {asked.steps:,} steps", lines, threshold, asked.steps, between)
        write_text(folder / TABLE, _as_csv(lines))
        console.print(f"runs and {TABLE} are in {folder}", markup=False, soft_wrap=True)
    if plot is not None and lines:
        courses = {name: course_of(found, threshold) for name, found in results.items() if found}
        draw = functools.partial(comparison_figure, asked.environment.typed, courses, note=threshold.in_words)
        write_bytes(plot, as_files(draw)[plot.suffix[1:].lower()])
        console.print(f"drawn to {plot}", markup=False, soft_wrap=True)
    return int(failed > 0)


def _check_plot(plot: Path) -> None:
    if plot.suffix[1:].lower() not in FORMATS:
        known = ", ".join(f".{form}" for form in FORMATS)
        raise InvalidSetting(f"a plot is a file that ends in one of {known}, got {str(plot)!r}.")
    check_writable(plot)


def solved_after(result: Result, threshold: Threshold) -> float:
    """Return after how many steps an evaluation first reached the threshold; infinity if none did."""
    reached = [step for step, value in zip(result.steps, result.returns, strict=True) if threshold.reached(value)]
    return float(reached[0]) if reached else math.inf


def first_reward(result: Result) -> float:
    """Return the first step that was paid more than nothing; infinity if none was."""
    return float(min(result.rewards[result.rewards[:, 0] > 0, 2], default=math.inf))


def first_end(result: Result) -> float:
    """Return the first step with which an episode ended by itself; infinity if none did."""
    return float(min(result.episodes[result.episodes[:, 3] > 0, 0], default=math.inf))


def line_of(explorer: str, results: Sequence[Result], threshold: Threshold) -> Line:
    """Return what came of an explorer's seeds."""
    times = [solved_after(result, threshold) for result in results]
    last = paper_percent([result.returns[-1] for result in results])
    return Line(
        explorer=explorer,
        seeds=len(results),
        solved=wilson_interval(sum(map(math.isfinite, times)), len(times)),
        steps_to_solve=median(times),
        first_reward=median([first_reward(result) for result in results]),
        first_end=median([first_end(result) for result in results]),
        states=median([result.n_discovered for result in results]),
        returns=(last.mean, last.ci),
    )


def median(values: Sequence[float]) -> float:
    """Return the median; between a number and infinity lies infinity."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def course_of(results: Sequence[Result], threshold: Threshold) -> LearningCurves:
    """Return the curves of an explorer's seeds."""
    steps = results[0].steps
    times = np.array([solved_after(result, threshold) for result in results])
    return LearningCurves(
        steps=steps.astype(np.float64),
        returns=np.stack([result.returns for result in results]),
        states=np.stack([result.discovered for result in results]).astype(np.float64),
        solved=None if threshold.at is None else (times[:, None] <= steps[None, :]).mean(axis=0),
    )


def in_steps(steps: float, budget: int) -> str:
    """Return a number of steps; what did not happen within the budget takes longer than that."""
    return f"{steps:,.0f}" if math.isfinite(steps) else f">{budget:,}"


def _print(
    console: Console, title: str, lines: Sequence[Line], threshold: Threshold, budget: int, between: int
) -> None:
    pays = any(math.isfinite(line.first_reward) for line in lines)
    heads = ["explorer", "seeds", "first reward" if pays else "first end", "states", "return"]
    if threshold.at is not None:
        heads[2:2] = ["solved (%)", "steps to solve"]
    table = Table(title=title, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head == "explorer" else "right", no_wrap=True)
    for line in lines:
        share = [100 * part for part in line.solved]
        cells = [line.explorer, str(line.seeds)]
        if threshold.at is not None:
            cells += [f"{share[0]:.0f} [{share[1]:.0f}, {share[2]:.0f}]", in_steps(line.steps_to_solve, budget)]
        cells.append(in_steps(line.first_reward if pays else line.first_end, budget))
        mean, plus_minus = line.returns
        cells += [f"{line.states:,.0f}", f"{mean:.4g}" if line.seeds == 1 else f"{mean:.4g} ± {plus_minus:.2g}"]
        table.add_row(*cells)
    console.print(table)
    notes = [
        f"{threshold.in_words} Policies are evaluated every {between:,} steps.",
        "Steps and states are medians over the seeds; >N: not within the N steps of a run, for half of them or more.",
        "Solved: of the seeds, with Wilson's 95 % interval. Return: the last evaluation's, ± twice its standard error.",
    ]
    if not pays:
        notes.append("No reward above 0 was ever paid; first end: the first step that ended an episode by itself.")
    for note in notes:
        console.print(note, markup=False, soft_wrap=True)


def _as_csv(lines: Sequence[Line]) -> str:
    heads = ["explorer", "seeds", "solved_share", "solved_low", "solved_high", "steps_to_solve", "first_reward"]
    heads += ["first_end", "states", "return_mean", "return_ci95"]
    rows = []
    for line in lines:
        times = [line.steps_to_solve, line.first_reward, line.first_end]
        whens = ["" if math.isinf(steps) else f"{steps:g}" for steps in times]
        rows.append([line.explorer, line.seeds, *line.solved, *whens, line.states, *line.returns])
    return as_csv(heads, rows)
