"""The runs of several explorers in one environment, as `compare`, `diagnose` and `report` need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wanderlust.agents.settings import MAX_STEPS
from wanderlust.cli.options import REWARD_RANGE, EnvironmentOptions, ExecutionOptions, RunsOptions, read_settings
from wanderlust.core.errors import InvalidSetting, check_integer, counted
from wanderlust.environments.tabular import Tabular
from wanderlust.experiments.comparison import ComparisonReport as Measured
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.report.text_tables import Report, as_line, new_table, print_problems
from wanderlust.experiments.run import Result, Run, source_files
from wanderlust.experiments.store import Store
from wanderlust.experiments.world_run import model_world_of
from wanderlust.training.adaptive import chosen_preset
from wanderlust.training.learn import new_loop
from wanderlust.training.model_training import ModelTraining

TABLE_FILE = "comparison.csv"
_EXACT_NOTE = (
    "Exact: trained on the environment's model, with its range of rewards. Returns are exact expected values of the "
    "greedy policy; stored runs are used while the model is the same."
)
Results = dict[str, list[Result]]
"""Explorer name to the results of its seeds."""


def plan_runs(
    environment: EnvironmentOptions, env: Tabular, options: RunsOptions, *, episodes: int, evaluate_every: int | None
) -> list[Run]:
    """Return one run per explorer and seed; raise an error if any of them is invalid.

    `evaluate_every` is a default that --set may override.
    """
    check_integer("episodes", episodes, low=1)
    preset = chosen_preset(env, options.preset)
    runs = []
    for explorer, settings in _settings_of_explorers(options, evaluate_every).items():
        changes = {name: value for name, value in settings.items() if name not in (REWARD_RANGE, "steps")}
        rewards = settings.get(REWARD_RANGE, (0.0, 1.0))
        new_loop(env, explorer, options.steps, 0, rewards, preset, changes)  # Raises errors of invalid settings.
        first = Run(
            kind="environment",
            world=environment.name,
            world_options=environment.env_options,
            encoder_options=environment.encoder_options,
            explorer=explorer,
            preset=preset,
            settings=settings,
            episodes=episodes,
            env_version=options.env_version,
        )
        runs += [replace(first, seed=seed) for seed in range(options.seeds)]
    return runs


def plan_exact_runs(environment: EnvironmentOptions, options: RunsOptions, evaluate_every: int | None) -> list[Run]:
    """Return runs on the environment's model; raise an error if it has none or a run is invalid."""
    if options.env_version:
        raise InvalidSetting("--env-version is not used with --exact: a hash of the model identifies it; leave it out.")
    runs = []
    for explorer, settings in _settings_of_explorers(options, evaluate_every).items():
        first = Run.of_model(
            environment.name,
            explorer=explorer,
            preset=options.preset or "",
            world_options=environment.env_options,
            settings=environment.exact_settings(settings),
        )
        world, changes = model_world_of(first), first.overrides
        # Raises errors of invalid settings.
        ModelTraining(world, explorer, preset=first.preset, seed=0, undiscounted_returns=True, changes=changes)
        runs += [replace(first, seed=seed) for seed in range(options.seeds)]
    return runs


def _settings_of_explorers(options: RunsOptions, evaluate_every: int | None) -> dict[str, dict[str, Any]]:
    check_integer("seeds", options.seeds, low=1)
    check_integer("steps", options.steps, low=1, high=MAX_STEPS)
    if not options.explorers:
        raise InvalidSetting("give at least one explorer, such as --explorers vv-ucb; see `wanderlust explorers`.")
    defaults = {} if evaluate_every is None else {"evaluate_every": evaluate_every}
    given = read_settings(options.settings, list(dict.fromkeys(options.explorers)))
    return {name: {**defaults, **settings, "steps": options.steps} for name, settings in given.items()}


def version_note(run: Run) -> str:
    """Return a sentence on what identifies the version of the environment in stored runs; "" if it is built-in."""
    if run.env_version:
        return f"Stored runs are used while the environment's version is {run.env_version!r} (--env-version)."
    modules = tuple(dict.fromkeys(run.environment_modules))
    if not modules:
        return ""
    files = {file for module in modules for file in source_files(module).values()}
    if not files:
        return f"Changes of {' and '.join(modules)} cannot be detected; set a version with --env-version."
    code, count = " or ".join(modules), counted(len(files), "file")
    return f"Stored runs are used until the code of {code} changes: a hash of {count} identifies it."


def execute_runs(runs: Sequence[Run], folder: Path, execution: ExecutionOptions) -> tuple[Results, int]:
    """Execute the runs that are not stored yet; return the results per explorer and the number of failed runs."""
    store = Store(folder)
    progress = Progress(quiet=execution.quiet)
    summary = run_all(runs, store, execution, name=folder.name, progress=progress)
    summary.print_failures(quiet=execution.quiet)
    return stored_results(runs, store), len(summary.failures)


def stored_results(runs: Sequence[Run], store: Store) -> Results:
    """Return the results of those runs that are stored; problems are printed."""
    problems: list[str] = []
    results: Results = {run.explorer: [] for run in runs}
    for stored in store.load_many(runs, problems):
        results[stored.run.explorer].append(stored.result)
    print_problems(problems)
    return results


def comparison_report(measured: Measured) -> Report:
    """Return the report of a comparison: a table with its notes, also as CSV."""
    comparison, run = measured.comparison, measured.comparison.runs[0]
    title = f"{comparison.title}, {counted(comparison.steps, 'step')}, preset {run.preset}"
    notes = [*measured.notes, _EXACT_NOTE if run.kind == "model" else version_note(run)]
    table = new_table(measured.headings, measured.cells, title=title)
    return Report([table, *map(as_line, filter(None, notes))], {TABLE_FILE: measured.csv})
