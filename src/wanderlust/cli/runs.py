"""The runs of several explorers in one environment, as `compare` and `diagnose` need them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wanderlust.agents.settings import MAX_STEPS
from wanderlust.cli.arguments import REWARD_RANGE, RunsOptions, read_settings
from wanderlust.cli.environment_options import EnvironmentOptions
from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.environments.tabular import Tabular
from wanderlust.experiments.code_version import source_files
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.report.text_tables import printable
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store
from wanderlust.training.adaptive import chosen_preset
from wanderlust.training.learn import new_loop

Results = dict[str, list[Result]]
"""Explorer name to the results of its seeds."""


def plan_runs(
    environment: EnvironmentOptions,
    env: Tabular,
    options: RunsOptions,
    *,
    episodes: int = 10,
    evaluate_every: int | None = None,
) -> list[Run]:
    """Return one run per explorer and seed; raise an error if any of them is invalid.

    `evaluate_every` is a default that --set may override.
    """
    check_integer("seeds", options.seeds, low=1)
    check_integer("steps", options.steps, low=1, high=MAX_STEPS)
    check_integer("episodes", episodes, low=1)
    names = list(dict.fromkeys(options.explorers))
    if not names:
        raise InvalidSetting("give at least one explorer, such as --explorers vv-ucb; see `wanderlust explorers`.")
    parsed = read_settings(options.settings, names)
    defaults = {} if evaluate_every is None else {"evaluate_every": evaluate_every}
    preset = chosen_preset(env, options.preset)
    for explorer in names:
        _check_settings(env, explorer, preset, options.steps, parsed[explorer])
    return [
        Run(
            kind="environment",
            world=environment.name,
            world_options=environment.env_options,
            encoder_options=environment.encoder_options,
            explorer=explorer,
            preset=preset,
            seed=seed,
            settings={**defaults, **parsed[explorer], "steps": options.steps},
            episodes=episodes,
            env_version=options.env_version,
        )
        for explorer in names
        for seed in range(options.seeds)
    ]


def version_note(run: Run) -> str:
    """Return a sentence on what identifies the version of the environment in stored runs; "" if it is built-in."""
    if run.env_version:
        return f"Stored runs are used while the environment's version is {run.env_version!r} (--env-version)."
    modules = tuple(dict.fromkeys(run.environment_modules))
    if not modules:
        return ""
    files = [file for module in modules for file in source_files(module).values()]
    if not files:
        return f"Changes of {' and '.join(modules)} cannot be detected; set a version with --env-version."
    count = "1 file" if len(set(files)) == 1 else f"{len(set(files))} files"
    return f"Stored runs are used until the code of {' or '.join(modules)} changes: a hash of {count} identifies it."


def _check_settings(env: Tabular, explorer: str, preset: str, steps: int, settings: dict[str, Any]) -> None:
    """Create an agent, which raises an error for invalid settings."""
    changes = dict(settings)
    reward_range = changes.pop(REWARD_RANGE, (0.0, 1.0))
    new_loop(env, explorer, steps, 0, reward_range, preset, changes)


def execute_runs(runs: Sequence[Run], folder: Path, options: RunsOptions) -> tuple[Results, int]:
    """Execute the runs that are not stored yet; return the results per explorer and the number of failed runs."""
    store = Store(folder)
    outcome = run_all(
        runs, store, jobs=options.jobs, on=options.on, time_limit=options.time_limit, name=folder.name,
        progress=Progress(quiet=options.quiet),
    )  # fmt: skip
    for failure in outcome.failures:
        # Without --quiet, the progress display has printed the failure already.
        message = f"failed: {failure}\n" if options.quiet else ""
        print(f"{message}{failure.trace}", end="", file=sys.stderr)
    return stored_results(runs, store), len(outcome.failures)


def stored_results(runs: Sequence[Run], store: Store) -> Results:
    """Return the results of those runs that are stored; problems are printed."""
    problems: list[str] = []
    results: Results = {run.explorer: [] for run in runs}
    for stored in store.load_many(runs, problems):
        result = stored.result
        # Empty arrays are not stored, so an empty table of episodes has to get its four columns back.
        results[stored.run.explorer].append(result._replace(episodes=result.episodes.reshape(-1, 4)))
    for problem in problems:
        print(printable(problem), file=sys.stderr)
    return results
