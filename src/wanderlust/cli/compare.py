"""The command `compare`."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from wanderlust.cli import HELP_ONLY
from wanderlust.cli.options import LOCAL, EnvironmentArgument, Exact, ExecutionArgument, RunsOptions

if TYPE_CHECKING or not HELP_ONLY:
    import numpy as np
    from rich.table import Table

    from wanderlust.cli.printing import new_console, new_table, print_table
    from wanderlust.cli.runs import execute_runs, plan_exact_runs, plan_runs, version_note
    from wanderlust.core.errors import InvalidSetting, check_number, counted
    from wanderlust.core.files import check_writable, write_file
    from wanderlust.experiments.comparison import (
        Comparison,
        ExplorerSummary,
        Threshold,
        format_steps,
        solved_threshold,
        steps_to_solve,
        summarize_explorers,
        time_penalties,
        time_penalty_sentence,
    )
    from wanderlust.experiments.environment_run import fine_interval
    from wanderlust.experiments.report.curves import LearningCurves, comparison_figure
    from wanderlust.experiments.report.style import FORMATS, as_files
    from wanderlust.experiments.report.text_tables import as_csv, printable
    from wanderlust.experiments.result import Result

TABLE_FILE = "comparison.csv"
_EXACT_NOTE = (
    "Exact: trained on the environment's model, with its range of rewards. Returns are exact expected values of the "
    "greedy policy; stored runs are used while the model is the same."
)


@dataclass(frozen=True)
class CompareOptions(RunsOptions):
    """The options of `compare`, except those of the environment."""

    episodes: Annotated[int, arg(metavar="N", help="Episodes per evaluation of the greedy policy.")] = 10
    evaluate_every: Annotated[
        int | None,
        arg(metavar="N", help="Steps between two evaluations of the greedy policy; 1/25 of --steps if not given."),
    ] = None
    solved_at: Annotated[
        float | None,
        arg(
            metavar="RETURN",
            help="Mean return that counts as solved; by default the reward threshold, or the optimal return if known.",
        ),
    ] = None
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Folder for the runs; results/compare-ENVIRONMENT if not given.")
    ] = None
    plot: Annotated[Path | None, arg(metavar="FILE", help="Plot the curves as .png, .svg or .pdf.")] = None
    exact: Exact = False


def compare(
    options: Annotated[CompareOptions, arg(name="")],
    environment: EnvironmentArgument,
    execution: ExecutionArgument = LOCAL,
) -> None:
    """Train several explorers in one environment, with several seeds each, and compare how soon they solve it.

    If interrupted, the same command continues: runs that are stored in the folder are not repeated.

    Example: wanderlust compare FrozenLake-v1 --env map_name=8x8 is_slippery=false --seeds 20 --plot lake.png

    Example: wanderlust compare FrozenLake-v1 --exact --steps 100000

    Example: wanderlust compare prison --explorers vv-ucb ucb1 mine:Fading --steps 2000 --jobs 2
    """
    if options.solved_at is not None:
        check_number("solved_at", options.solved_at)
    if options.plot is not None:
        _check_plot(options.plot)
    exact_runs = plan_exact_runs(environment, options, options.evaluate_every) if options.exact else None
    env = environment.make()
    threshold = solved_threshold(env, options.solved_at)
    runs = exact_runs or plan_runs(
        environment, env, options, episodes=options.episodes, evaluate_every=options.evaluate_every
    )
    env.close()
    folder = options.out or Path("results") / f"compare-{environment.file_name}"
    request = Comparison(environment.command_line, threshold, runs)
    all_results, failures = execute_runs(runs, folder, execution)
    request.save(folder)
    completed = {explorer: results for explorer, results in all_results.items() if results}
    if completed:
        show_comparison(request, completed, folder, options.plot)
    sys.exit(int(failures > 0))


def show_comparison(
    request: Comparison, completed: dict[str, list[Result]], folder: Path, plot: Path | None = None
) -> None:
    """Print the table with its notes; write it to the folder, and the plot if a file is given."""
    threshold = request.threshold
    console = new_console(120, highlight=False)
    rows = summarize_explorers(completed, request.steps, threshold)
    preset, exact = request.runs[0].preset, request.runs[0].kind == "model"
    title = printable(f"{request.title}, {counted(request.steps, 'step')}, preset {preset}")
    print_table(_table(title, rows, threshold, request.steps), console)
    interval = int(next(iter(completed.values()))[0].steps[0])
    notes = _notes(rows, threshold, interval, exact=exact)
    all_results = [result for results in completed.values() for result in results]
    notes.append(time_penalty_sentence(time_penalties(all_results), len(all_results)))
    notes.append(_EXACT_NOTE if exact else version_note(request.runs[0]))
    for note in filter(None, notes):
        console.print(printable(note), soft_wrap=True)
    write_file(folder / TABLE_FILE, _csv_table(rows, preset))
    console.print(f"runs and {TABLE_FILE} are in {folder}", soft_wrap=True)
    if plot is not None:
        _write_plot(plot, request.title, preset, completed, threshold)
        console.print(f"plot written to {plot}", soft_wrap=True)


def _check_plot(plot: Path) -> None:
    if plot.suffix[1:].lower() not in FORMATS:
        suffixes = ", ".join(f".{suffix}" for suffix in FORMATS)
        raise InvalidSetting(f"--plot must end in one of {suffixes}, got {str(plot)!r}.")
    check_writable(plot)


def _any_reward(rows: Sequence[ExplorerSummary]) -> bool:
    return any(math.isfinite(row.first_reward) for row in rows)


def _table(title: str, rows: Sequence[ExplorerSummary], threshold: Threshold, budget: int) -> Table:
    first_event = "first reward" if _any_reward(rows) else "first termination"
    headings = ["explorer", "seeds", first_event, "states", "return"]
    if threshold.value is not None:
        headings[2:2] = ["solved (%)", "steps to solve"]
    lines = []
    for row in rows:
        cells = [row.explorer, str(row.seeds)]
        if threshold.value is not None:
            percent, low, high = (100 * part for part in row.solved)
            cells.append(f"{percent:.0f} [{low:.0f}, {high:.0f}]")
        cells += [format_steps(steps, budget) for steps in _shown_steps(row, rows, threshold)]
        error = "" if row.seeds == 1 else f" ± {row.return_error:.2g}"
        cells += [f"{row.states:,.0f}", f"{row.mean_return:.4g}{error}"]
        lines.append(cells)
    return new_table(headings, lines, title=title)


def _shown_steps(row: ExplorerSummary, rows: Sequence[ExplorerSummary], threshold: Threshold) -> list[float]:
    """Return the numbers of steps that the table shows for an explorer."""
    first_event = row.first_reward if _any_reward(rows) else row.first_termination
    return [first_event] if threshold.value is None else [row.steps_to_solve, first_event]


def _notes(rows: Sequence[ExplorerSummary], threshold: Threshold, interval: int, *, exact: bool) -> list[str]:
    fine = interval if exact else fine_interval(interval)
    finer = f", every {fine:,} where one episode is enough" if fine < interval else ""
    advice = " Set it with --solved-at RETURN." if threshold.value is None else ""
    notes = [
        f"{threshold.description}{advice}",
        f"The greedy policy is evaluated every {counted(interval, 'step')}{finer}.",
    ]
    several = any(row.seeds > 1 for row in rows)
    if several:
        notes.append("Steps and states are medians over seeds; >N: not within N steps in at least half of the runs.")
    elif any(math.isinf(steps) for row in rows for steps in _shown_steps(row, rows, threshold)):
        notes.append(">N: not within the N steps of the run.")
    if threshold.value is not None:
        notes.append("Solved: percent of seeds, with the 95 % Wilson interval.")
    error = ", mean ± 2 standard errors" if several else ""
    notes.append(f"Return: undiscounted, of the greedy policy in the last evaluation{error}.")
    at_random = "The evaluated policy can differ: it draws actions of equal value at random."
    if not _any_reward(rows):
        notes.append(
            "No positive reward was received during training; first termination: the first training step that "
            f"terminated an episode. {at_random}"
        )
    elif any(math.isinf(row.first_reward) for row in rows):
        notes.append(f"First reward: the first positive reward of a training step. {at_random}")
    return notes


def _csv_table(rows: Sequence[ExplorerSummary], preset: str) -> str:
    headings = ["explorer", "seeds", "solved_share", "solved_low", "solved_high", "steps_to_solve", "first_reward"]
    headings += ["first_termination", "states", "return_mean", "return_ci95", "preset"]
    lines = []
    for row in rows:
        times = [row.steps_to_solve, row.first_reward, row.first_termination]
        cells = ["" if math.isinf(steps) else f"{steps:g}" for steps in times]
        lines.append(
            [row.explorer, row.seeds, *row.solved, *cells, row.states, row.mean_return, row.return_error, preset]
        )
    return as_csv(headings, lines)


def _write_plot(plot: Path, title: str, preset: str, completed: dict[str, list[Result]], threshold: Threshold) -> None:
    curves = {}
    for explorer, results in completed.items():
        steps = results[0].steps
        times = np.array([steps_to_solve(result, threshold) for result in results])
        curves[explorer] = LearningCurves(
            steps=steps.astype(np.float64),
            returns=np.stack([result.returns for result in results]),
            states=np.stack([result.discovered for result in results]).astype(np.float64),
            solved=None if threshold.value is None else (times[:, None] <= steps[None, :]).mean(axis=0),
        )
    note = "; ".join(filter(None, (f"preset {preset}", threshold.description)))
    draw = functools.partial(comparison_figure, title, curves, note=note)
    write_file(plot, as_files(draw)[plot.suffix[1:].lower()])
