"""The runs of several explorers in one environment: what `compare` and `diagnose` have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import MAX_STEPS
from wanderlust.cli.environment import Environment
from wanderlust.cli.settings import REWARD_RANGE, read_settings
from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.envs.tabular import Tabular
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import run_all
from wanderlust.experiments.store import Store
from wanderlust.training.adaptive import settings_for

_WIDTH_WITHOUT_TERMINAL = 120

Results = dict[str, list[Result]]
"""Explorer to the results of its seeds."""


def console() -> Console:
    """Return where reports go; wide enough for a table where there is no terminal to ask."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL)


def planned(
    environment: Environment,
    env: Tabular,
    explorers: Sequence[str],
    *,
    seeds: int,
    steps: int,
    changes: Sequence[str],
    episodes: int = 10,
    evaluate_every: int | None = None,
) -> list[Run]:
    """Return explorer x seed; whatever is wrong with any of them is said before the first begins.

    `evaluate_every` stands unless the changes say otherwise.
    """
    check_integer("seeds", seeds, low=1)
    check_integer("steps", steps, low=1, high=MAX_STEPS)
    check_integer("episodes", episodes, low=1)
    names = list(dict.fromkeys(explorers))
    if not names:
        raise InvalidSetting(
            "choose at least one explorer, such as --explorers vv-ucb; `wanderlust explorers` lists all."
        )
    settings = read_settings(changes, names)
    usual = {} if evaluate_every is None else {"evaluate_every": evaluate_every}
    for explorer in names:
        _check(env, explorer, steps, settings[explorer])
    return [
        Run(
            kind="environment",
            world=environment.name,
            world_options=environment.options,
            encoder_options=environment.encoder_options,
            explorer=explorer,
            seed=seed,
            settings={**usual, **settings[explorer], "steps": steps},
            episodes=episodes,
        )
        for explorer in names
        for seed in range(seeds)
    ]


def _check(env: Tabular, explorer: str, steps: int, changes: dict[str, object]) -> None:
    """Configure an agent, which complains of whatever is wrong."""
    rest = dict(changes)
    reward_range = rest.pop(REWARD_RANGE, (0.0, 1.0))
    settings, options = settings_for(env, explorer, steps, rest)
    Agent(explorer, n_actions=env.n_actions, reward_range=reward_range, settings=settings, **options)  # type: ignore[arg-type]


def made(runs: Sequence[Run], folder: Path, *, jobs: int | None, quiet: bool) -> tuple[Results, int]:
    """Make the runs that are missing in a folder; return the results of each explorer, and how many runs failed."""
    store = Store(folder)
    outcome = run_all(runs, store, jobs=jobs, progress=Progress(quiet=quiet))
    for failure in outcome.failures:
        # The progress has told of it already, unless that was to be quiet.
        told = f"failed: {failure}\n" if quiet else ""
        print(f"{told}{failure.trace}", end="", file=sys.stderr)
    problems: list[str] = []
    results: Results = {run.explorer: [] for run in runs}
    for stored in store.load_many(runs, problems):
        result = stored.result
        # What is empty is not stored, so a table without lines has lost its columns.
        results[stored.run.explorer].append(result._replace(episodes=result.episodes.reshape(-1, 4)))
    for problem in problems:
        print(problem, file=sys.stderr)
    return results, len(outcome.failures)
