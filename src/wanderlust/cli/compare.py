"""The command `compare`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from wanderlust.cli import options as arguments
from wanderlust.core.errors import InvalidSetting, check_number
from wanderlust.core.files import check_writable, write_file, write_json


@dataclass(frozen=True)
class CompareOptions(arguments.RunsOptions):
    """The options of `compare`, except those of the environment."""

    episodes: arguments.Number = 10
    """Episodes per evaluation of the greedy policy, more if their mean is not precise; none if a model is known."""
    evaluate_every: arguments.OptionalNumber = None
    """Steps between two evaluations of the greedy policy; 1/25 of --steps if not given."""
    solved_at: Annotated[float | None, arg(metavar="RETURN")] = None
    """Mean return that counts as solved; by default from the model, the reward threshold or the best run."""
    out: arguments.OptionalFolder = None
    """Folder for the runs; results/compare-ENVIRONMENT if not given, with a hash for a second, different comparison."""
    plot: arguments.OptionalFile = None
    """Plot the curves as .png, .svg or .pdf."""
    json: arguments.OptionalFile = None
    """Also write the table and its notes as JSON."""
    exact: arguments.Exact = False


def compare(
    options: Annotated[CompareOptions, arg(name="")],
    environment: arguments.EnvironmentArgument,
    execution: arguments.ExecutionArgument = arguments.LOCAL,
) -> None:
    """Train several explorers in one environment, with several seeds each, and compare how soon they solve it.

    If interrupted, the same command continues: runs that are stored in the folder are not repeated.

    Example: wanderlust compare FrozenLake-v1 --env map_name=8x8 is_slippery=false --seeds 20 --plot lake.png

    Example: wanderlust compare FrozenLake-v1 --exact --steps 100000

    Example: wanderlust compare prison --explorers vv-ucb ucb1 mine:Fading --steps 2000 --jobs 2
    """
    from wanderlust.cli.runs import comparison_report, execute_runs, plan_exact_runs, plan_runs
    from wanderlust.experiments.comparison import Comparison, ComparisonReport, comparison_folder, solved_threshold
    from wanderlust.experiments.report.text_tables import FORMATS, new_console, show_report

    if options.solved_at is not None:
        check_number("solved_at", options.solved_at)
    if options.plot is not None:
        if options.plot.suffix[1:].lower() not in FORMATS:
            suffixes = ", ".join(f".{suffix}" for suffix in FORMATS)
            raise InvalidSetting(f"--plot must end in one of {suffixes}, got {str(options.plot)!r}.")
        check_writable(options.plot)
    if options.json is not None:
        check_writable(options.json)
    every = options.evaluate_every
    exact_runs = plan_exact_runs(environment, options, every) if options.exact else None
    env = environment.make()
    runs = exact_runs or plan_runs(environment, env, options, episodes=options.episodes, evaluate_every=every)
    # The setting `horizon` is the time limit of evaluations on a model, and in environments without one.
    horizon = runs[0].settings.get("horizon") if options.exact or env.horizon is None else None
    comparison = Comparison(environment.command_line, solved_threshold(env, options.solved_at, horizon), runs)
    env.close()
    default = Path("results") / f"compare-{environment.file_name}"
    folder = comparison_folder(options.out or default, runs, may_rename=options.out is None)
    results, failures = execute_runs(runs, folder, execution)
    comparison.save(folder)
    if any(results.values()):
        measured = ComparisonReport(comparison, results)
        show_report(comparison_report(measured), folder, new_console())
        if options.json is not None:
            write_json(options.json, measured.json_values)
            print(f"written to {options.json}")
        if options.plot is not None:
            write_file(options.plot, measured.plot(options.plot.suffix[1:].lower()))
            print(f"plot written to {options.plot}")
    sys.exit(int(failures > 0))
